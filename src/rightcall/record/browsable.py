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
from typing import Any, Final

from msgspec import DecodeError, Struct
from msgspec.json import decode
from msgspec.structs import asdict

from rightcall.record.notes import Told
from rightcall.record.reading import CALLS, USED, CallRecord, call, joined
from rightcall.record.tables import AuditEntry, EntryKind, Tables
from rightcall.types_running import Approval, Grant

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
        told = decode(entry.body, type=Told)
    except DecodeError:
        told = Told("damaged")
    return {**_of_entry(entry), "what": told.what, **asdict(told.data)}


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
_REFUSED = "refused\0"
"""How scopes begin in which refusals are counted (`keys.refused_scope`)."""


def _approval(approval: Approval) -> Row:
    row = {name: getattr(approval, name) for name in _APPROVAL}
    times = {"asked": moment(approval.asked), "answered": moment(approval.answered) or None}
    return row | times | {"used_by": approval.used_by or None}


def _grant(grant: Grant) -> Row:
    return {name: getattr(grant, name) for name in _GRANT} | {"made": moment(grant.made)}


def _held(tables: Tables) -> list[Row]:
    """Calls that were refused within the last hour, and how often; the id is the record of the last time."""
    last = ((tables.nth_last(scope, 1), times) for scope, times in tables.scopes(_REFUSED))
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
