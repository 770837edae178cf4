"""Which parts of the store may be looked at by a tool, and which of their columns: a closed list.

What is not named here is not shown: the whole call of a question that waits, which a person sees before anything is
redacted, and its digest, from which a short secret in it could be guessed; the conditions and the note of a grant; who
answered; where the policy file lies; keys.

    entries, newest first ─▶ whose? ─▶ rows that are read when they are wanted ─▶ data/list, data/read

A caller sees its own records, and those of others only where the policy lets it (`records = "all"`). A record that is
nobody's, such as that of a policy that was loaded, is not its own.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, TypeVar

from msgspec import DecodeError, Struct
from msgspec.json import decode, encode

from rightcall.base.text import AnswerRoom, cut_end, escaped, render_json
from rightcall.errors import StoreError, ToolFailure
from rightcall.policy.types import REFUSED_SCOPES, Approval, Grant
from rightcall.record.calls import CALLS, USED, CallRecord, call, joined
from rightcall.record.notes import HostNote
from rightcall.record.tables import AuditEntry, EntryKind, Store, Tables

SEARCHED: Final = 20_000
"""The newest records of the audit are looked through, so many and no more: that takes a fraction of a second, in which
the store in memory can do nothing else."""
_PAGE = 1000
_LONGEST_NUMBER = 18
"""Digits of a record's number: more is none, and too much for SQLite."""

Row = dict[str, Any]
Rows = Iterator[Callable[[], Row]]


class Collection(Struct, frozen=True):
    """Some of what the store holds, as rows of the same columns; the first column is the id."""

    columns: tuple[str, ...]
    rows: Callable[[Tables, str | None], Rows]
    """Those of a caller, or with None all of them. Newest first; each is only read when it is called."""
    row: Callable[[Tables, str, str | None], Row | None]
    """The one with that id, if it is that caller's."""
    bounded: bool = True
    """Whether its rows are among the newest records of the audit only."""


def newest_first(tables: Tables) -> Iterator[AuditEntry]:
    """The newest records of the audit, a page at a time: what is not asked for is not read."""
    last = tables.head()[0]
    first = max(0, last - SEARCHED)
    for end in range(last, first, -_PAGE):
        page = islice(tables.entries(max(first, end - _PAGE)), _PAGE)
        yield from reversed([entry for entry in page if entry.seq <= end])


def is_of(tables: Tables, entry: AuditEntry, caller: str | None) -> bool:
    """Whether a record is this caller's; with None every record is."""
    if caller is None:
        return True
    about = tables.entry(entry.call) if entry.kind == "end" else entry
    return about is not None and read_named(about.body)["caller"] == caller


def own(tables: Tables, entries: Iterator[AuditEntry], caller: str | None) -> Iterator[AuditEntry]:
    """Those of a caller."""
    return entries if caller is None else (entry for entry in entries if is_of(tables, entry, caller))


def has_older(tables: Tables) -> bool:
    """Whether there are records that are not looked through."""
    first = next(tables.entries(), None)
    return first is not None and first.seq <= tables.head()[0] - SEARCHED


def moment(at: str) -> str:
    """A time of the audit as results write it.

    >>> moment("2026-01-01 12:00:00.000")
    '2026-01-01T12:00:00.000Z'
    """
    return f"{str(at).replace(' ', 'T', 1)}Z" if at else ""  # text, unless somebody has changed the file


def joined_calls(
    tables: Tables, entries: Iterator[AuditEntry]
) -> Iterator[tuple[AuditEntry, Callable[[], CallRecord] | None]]:
    """Records from the newest back, without the ends of calls: those belong to the calls, which come with them."""
    ends: dict[int, AuditEntry] = {}
    running = frozenset(tables.running())
    for entry in entries:
        if entry.kind == "end":
            ends[entry.call] = entry
        elif entry.kind in CALLS:
            yield entry, partial(joined, entry, ends.pop(entry.seq, None), running)
        else:
            yield entry, None


# Calls, in the words of the design and in ours

_USAGE = (
    "id", "timestamp", "persona_id", "persona_name", "context_id", "step_id", "tool", "params", "status",
    "execution_time", "error", "result_summary", "tokens_consumed", "success", "cached", "rule", "decision",
)  # fmt: skip
_CALL = (
    "id", "timestamp", "caller", "tool", "params", "status", "decision", "rule", "reason", "execution_time", "error",
    "summary", "tokens", "cached", "sandbox", "ended", "context", "step", "emission", "repairs", "strategy",
    "confidence", "truncated", "problems", "origin", "effects", "approval", "grant", "earlier", "retry_after",
    "provider", "digest", "wire", "model", "written", "retries", "taught",
)  # fmt: skip


def _usage(record: CallRecord) -> Row:
    """The columns of the view `tool_usage_logs`."""
    values = (
        record.id, moment(record.timestamp), record.caller, record.caller, record.context, record.step, record.tool,
        record.params, record.status, record.execution_time, record.error or None, record.summary or None,
        record.tokens, record.status == "success", record.cached, record.rule, record.decision,
    )  # fmt: skip
    return dict(zip(_USAGE, values, strict=True))


_call_fields = attrgetter(*_CALL)


def _call(record: CallRecord) -> Row:
    row: Row = dict(zip(_CALL, _call_fields(record), strict=True))
    row["timestamp"], row["ended"] = moment(record.timestamp), moment(record.ended or "") or None
    return row


def _calls(columns: tuple[str, ...], show: Callable[[CallRecord], Row], kinds: tuple[EntryKind, ...]) -> Collection:
    def rows(tables: Tables, caller: str | None) -> Rows:
        for entry, read in joined_calls(tables, newest_first(tables)):
            if read is not None and entry.kind in kinds and is_of(tables, entry, caller):
                yield lambda read=read: show(read())

    def row(tables: Tables, id: str, caller: str | None) -> Row | None:
        number = _number(id)
        entry = None if number is None else tables.entry(number)
        if entry is None or entry.kind not in kinds or not is_of(tables, entry, caller):
            return None
        found = call(tables, entry.seq)
        return None if found is None else show(found)

    return Collection(columns, rows, row)


# Records of every kind

_AUDIT = ("id", "timestamp", "kind", "call", "caller", "tool", "what")
_MESSAGE = ("id", "timestamp", "what", "caller", "context", "task", "used_tools", "correct")


class _Whom(Struct, frozen=True):
    caller: str | None = None
    tool: str | None = None


class _Named(Struct, frozen=True):
    """What records of different kinds may have in common."""

    caller: str | None = None
    tool: str | None = None
    status: str | None = None
    rule: str | None = None
    what: str | None = None
    data: _Whom | None = None


def read_named(body: bytes) -> Row:
    """Caller, tool, and in a few words what was recorded, wherever a record of that kind has them."""
    try:
        found = decode(body, type=_Named)
    except DecodeError:
        return {"caller": None, "tool": None, "what": "damaged"}
    whom = found.data or _Whom()
    return {
        "caller": found.caller or whom.caller,
        "tool": found.tool or whom.tool,
        "what": found.what or found.status or found.rule,
    }


def _audit(entry: AuditEntry) -> Row:
    return {**_of_entry(entry), "kind": entry.kind, "call": entry.call or None, **read_named(entry.body)}


def _message(entry: AuditEntry) -> Row:
    try:
        told = decode(entry.body, type=HostNote)
    except DecodeError:
        told = HostNote("damaged")
    return {**_of_entry(entry), "what": told.what, **{name: getattr(told.data, name) for name in _MESSAGE[3:]}}


def _of_entry(entry: AuditEntry) -> Row:
    return {"id": entry.seq, "timestamp": moment(entry.at)}


def _entries(columns: tuple[str, ...], show: Callable[[AuditEntry], Row], kind: str | None = None) -> Collection:
    def rows(tables: Tables, caller: str | None) -> Rows:
        found = own(tables, newest_first(tables), caller)
        return (partial(show, entry) for entry in found if kind in (None, entry.kind))

    def row(tables: Tables, id: str, caller: str | None) -> Row | None:
        number = _number(id)
        entry = None if number is None else tables.entry(number)
        is_there = entry is not None and kind in (None, entry.kind) and is_of(tables, entry, caller)
        return show(entry) if entry is not None and is_there else None

    return Collection(columns, rows, row)


def _number(id: str) -> int | None:
    """
    >>> _number("12"), _number("-1"), _number("9" * 400)
    (12, None, None)
    """
    return int(id) if id.isascii() and id.isdecimal() and len(id) <= _LONGEST_NUMBER else None


# What processes share beside the audit

_APPROVAL = ("id", "kind", "caller", "tool", "why", "asked", "status", "answered", "used_by")
_GRANT = ("id", "caller", "tool", "uses", "made")
_HELD = ("id", "timestamp", "caller", "tool", "refusals", "rule")


def _approval(approval: Approval) -> Row:
    row = {name: getattr(approval, name) for name in _APPROVAL}
    times = {"asked": moment(approval.asked), "answered": moment(approval.answered) or None}
    return row | times | {"used_by": approval.used_by or None}


def _grant(grant: Grant) -> Row:
    return {name: getattr(grant, name) for name in _GRANT} | {"made": moment(grant.made)}


def _held(tables: Tables) -> list[Row]:
    """Calls that were refused within the last hour, and how often; the id is the record of the last time."""
    last = ((tables.nth_last(scope, 1), times) for scope, times in tables.scopes(REFUSED_SCOPES))
    found = sorted(((mark.call, times) for mark, times in last if mark is not None), reverse=True)
    records = ((call(tables, number), times) for number, times in found)
    return [_refused(record, times) for record, times in records if record is not None]


def _refused(record: CallRecord, times: int) -> Row:
    values = record.id, moment(record.timestamp), record.caller, record.tool, times, record.rule
    return dict(zip(_HELD, values, strict=True))


def _few(columns: tuple[str, ...], newest: Callable[[Tables], list[Row]]) -> Collection:
    """A table that is read as a whole. Each of its rows has a caller."""

    def found(tables: Tables, caller: str | None) -> Iterator[Row]:
        return (row for row in newest(tables) if caller is None or row["caller"] == caller)

    def rows(tables: Tables, caller: str | None) -> Rows:
        return ((lambda row=row: row) for row in found(tables, caller))

    def row(tables: Tables, id: str, caller: str | None) -> Row | None:
        return next((row for row in found(tables, caller) if str(row["id"]) == id), None)

    return Collection(columns, rows, row, bounded=False)


COLLECTIONS: Final[Mapping[str, Collection]] = MappingProxyType(
    {
        "tool_usage_logs": _calls(_USAGE, _usage, USED),
        "calls": _calls(_CALL, _call, CALLS),
        "audit": _entries(_AUDIT, _audit),
        "messages": _entries(_MESSAGE, _message, "message"),
        "approvals": _few(_APPROVAL, lambda tables: [_approval(one) for one in reversed(tables.approvals())]),
        "grants": _few(_GRANT, lambda tables: [_grant(one) for one in reversed(tables.all_grants())]),
        "quarantine": _few(_HELD, _held),
    }
)
"""By name, as models ask for them."""


# ── browsing ──
# `data/list` and `data/read`: a bounded look at the audit's own tables. Nothing that is asked becomes part of a
# question to the database: names are looked up in closed lists, values are compared here.
#
# A collection, a column or a record that does not exist is a ToolFailure that names what there is.

T = TypeVar("T")
More = Mapping[str, Collection]

NO_MORE: Final[More] = MappingProxyType({})
USUAL: Final = 20
MOST: Final = 100
"""Records in one answer of `data/list`."""
_HOLDERS: Final = (dict, list, tuple)
_LISTED, _READ = 300, 20_000
"""Characters of one value, in a list and where one record is read."""


class ListedRecords(Struct, frozen=True, rename="camel", kw_only=True):
    """`data/list`"""

    success: bool = True
    collection: str
    records: list[Row]
    """Newest first."""
    total: int
    """How many there are that fit the filter, among those that were looked through."""
    truncated: bool
    """Whether there are more, or may be more among records that were not looked through."""


class FoundRecord(Struct, frozen=True, rename="camel", kw_only=True):
    """`data/read`"""

    success: bool = True
    collection: str
    record: Row


def list_records(
    store: Store, collection: str, only: Mapping[str, Any] | None = None, limit: int = USUAL, more: More = NO_MORE, *,
    whose: str | None = None,
) -> ListedRecords:  # fmt: skip
    """The newest records of a collection, `only` those with these values in these columns, and with `whose` only those
    of that caller. `more` are collections that do not lie in the store."""
    found = _collection("data/list", collection, more)
    wanted = dict(only or {})
    _check(collection, found, wanted)
    most = min(max(limit, 1), MOST)
    return look_up(store, lambda tables: _listed(tables, collection, found, found.rows(tables, whose), wanted, most))


def read_record(
    store: Store, collection: str, id: str | int, more: More = NO_MORE, *, whose: str | None = None
) -> FoundRecord:
    """One record of a collection, whole as far as its values are not very long. Another caller's is as unknown as one
    that does not exist."""
    found = _collection("data/read", collection, more)
    row = look_up(store, lambda tables: found.row(tables, _id_text(id), whose))
    if row is None:
        there = f"data/list with collection {collection!r} shows those that there are"
        raise ToolFailure(f"data/read: `id` names no record of {collection}: {render_json(id, 100)}; {there}.")
    return FoundRecord(collection=collection, record=_cut(row, _READ))


def look_up(store: Store, work: Callable[[Tables], T]) -> T:
    """What a look into the store finds, or a ToolFailure. It says nothing of where the store lies."""
    try:
        return store.look(work)
    except StoreError as error:
        fault = f"The audit cannot be read now ({error.fault})"
    except (DecodeError, UnicodeDecodeError):
        fault = "A record of the audit cannot be read: somebody has changed it"
    raise ToolFailure(f"{fault}. A person has to look at it, for example with `rightcall audit verify`.")


def _listed(tables: Tables, name: str, collection: Collection, rows: Rows, wanted: Row, limit: int) -> ListedRecords:
    records: list[Row] = []
    total, room = 0, AnswerRoom()
    for read in rows:
        if wanted or total < limit:
            row = read()
            if not all(_same(row[column], value) for column, value in wanted.items()):
                continue
            if total < limit and room.take(kept := _cut(row, _LISTED)):
                records.append(kept)
        total += 1
    more = total > len(records) or (collection.bounded and has_older(tables))
    return ListedRecords(collection=name, records=records, total=total, truncated=more)


def _collection(tool: str, name: str, more: More) -> Collection:
    found = COLLECTIONS.get(name) or more.get(name)
    if found is None:
        known = ", ".join((*COLLECTIONS, *more))
        raise ToolFailure(f"{tool}: `collection` must be one of {known}; {render_json(name, 100)} is none of them.")
    return found


def _check(name: str, collection: Collection, wanted: Row) -> None:
    for column, value in wanted.items():
        if column not in collection.columns:
            known = f"Its columns are {', '.join(collection.columns)}"
            raise ToolFailure(
                f"data/list: `filter` names {render_json(column, 100)}, which {name} does not have. {known}."
            )
        if isinstance(value, _HOLDERS):
            right = "Give a text, a number, true, false or null"
            raise ToolFailure(f"data/list: `filter.{column}` must be one value, to which the column is equal. {right}.")


def _same(value: Any, wanted: Any) -> bool:
    """Whether a column has the value that was asked for; a text may be asked for where a number or a yes stands.

    >>> _same(5, "5"), _same(True, "true"), _same(True, 1), _same(None, None), _same("5", 5)
    (True, True, True, True, False)
    """
    if isinstance(wanted, str) and isinstance(value, bool | int | float):
        return encode(value).decode() == wanted
    return not isinstance(value, _HOLDERS) and value == wanted


def _id_text(id: str | int) -> str:
    """A number that is too long to be written out is no record's."""
    return id if isinstance(id, str) else str(id) if id.bit_length() < 64 else ""


def _cut(row: Row, most: int) -> Row:
    return {column: _short(value, most) for column, value in row.items()}


def _short(value: Any, most: int) -> Any:
    """A value of at most so many characters: a text loses its end; anything else becomes the beginning of its JSON."""
    if isinstance(value, str):
        return cut_end(value, most)
    return render_json(value, most) if _is_larger(value, most) else value


def _is_larger(value: object, most: int) -> bool:
    return isinstance(value, _HOLDERS) and len(encode(value)) > most


# ── log lines ──
# `debug/logs`: what happened, a line each and the newest first, from all processes that share the store.
#
# 2026-01-01T12:00:00.000Z #12 teacher code/read success 12.5 ms stage:read-only
# 2026-01-01T12:00:01.000Z #14 teacher file/save refused allowlist: Tool 'file/save' is not whitelisted for AI use
# 2026-01-01T12:00:02.000Z #15 proxy Read proxied proxy:repaired
# 2026-01-01T12:00:03.000Z #16 policy loaded

USUAL_LINES: Final = 50
MOST_LINES: Final = 500
_LONGEST_NAME, _LONGEST_WHY = 60, 200


class Logs(Struct, frozen=True, rename="camel", kw_only=True):
    success: bool = True
    lines: list[str]
    """Newest first."""
    truncated: bool
    """Whether there are older ones."""


def log_lines(store: Store, limit: int = USUAL_LINES, whose: str | None = None) -> Logs:
    """With `whose` only the lines about that caller."""
    limit = min(max(limit, 1), MOST_LINES)
    found = look_up(store, lambda tables: list(islice(_lines(tables, whose), limit + 1)))
    return Logs(lines=found[:limit], truncated=len(found) > limit)


def _lines(tables: Tables, whose: str | None) -> Iterator[str]:
    for entry, read in joined_calls(tables, newest_first(tables)):
        if is_of(tables, entry, whose):
            yield _other(entry) if read is None else _line(read())


def _line(call: CallRecord) -> str:
    took = "" if call.execution_time is None else f"{call.execution_time:.1f} ms"
    words = [moment(call.timestamp), f"#{call.id}", _word(call.caller), _word(call.tool), call.status, took]
    why = escaped(call.error or "", _LONGEST_WHY)
    words.append(f"{_word(call.rule)}: {why}" if why else _word(call.rule))
    return " ".join(word for word in words if word)


def _other(entry: AuditEntry) -> str:
    """Of a record that is no call: only what `data/list` shows of it as well."""
    named = read_named(entry.body)
    about = (_word(str(named[key])) for key in ("what", "caller", "tool") if named[key])
    return " ".join((moment(entry.at), f"#{entry.seq}", _word(entry.kind), *about))


def _word(text: str) -> str:
    """A name as one word: one that holds blanks is put in quotes, so that it cannot pass for several.

    >>> _word("code/read"), _word("x success 1 ms"), _word("")
    ('code/read', '"x success 1 ms"', '')
    """
    safe = escaped(text, _LONGEST_NAME)
    return safe if not any(sign in safe for sign in ' "') else render_json(text, _LONGEST_NAME)
