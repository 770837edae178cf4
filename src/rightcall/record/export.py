"""Records of every kind, searched and exported: which of them are asked for, pages of them from the newest back, and
each with its hash and the hash before it, as a JSON line or a row of CSV, ASCII throughout.

    RecordFilter ─┬─▶ page_of_records   some of the newest, and where older ones begin
                  └─▶ exported          all of them in order ─▶ json_line, csv_row
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from csv import writer
from io import StringIO
from itertools import islice
from json import JSONEncoder
from typing import Any, Final, cast

from msgspec import DecodeError, Struct, json

from rightcall.record.tables import START, AuditEntry, Tables, encode
from rightcall.record.verify import checkpoints, heads_through

COLUMNS: Final = (
    "seq",
    "at",
    "kind",
    "call",
    "caller",
    "tool",
    "decision",
    "rule",
    "status",
    "body",
    "prev",
    "hash",
    "node",
)
"""Of the CSV; from `caller` to `status` they repeat what stands in the body."""
SEARCHED: Final = 20_000
"""Records that one page is searched in: a fraction of a second; the next page goes on behind them."""
_PAGE: Final = 1000
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_ascii_json = JSONEncoder(ensure_ascii=True).encode

Exported = tuple[AuditEntry, bytes | None]
"""A record, and the hash of the one before it (None: that one is pruned, and nothing says what it was)."""


class RecordFilter(Struct, frozen=True):
    """Which records are asked for; None means any. What belongs to a call is found with it."""

    kind: str | None = None
    caller: str | None = None
    tool: str | None = None
    decision: str | None = None
    rule: str | None = None
    text: str | None = None
    """Somewhere in the record, in any case of letters."""
    since: str | None = None
    until: str | None = None
    """Times in UTC; the second one is left out itself."""

    def matcher(self, entry_of: Callable[[int], AuditEntry | None]) -> Callable[[AuditEntry], bool]:
        """Says of each record whether it is asked for. `entry_of` finds the call of one that belongs to it."""
        about = {name: getattr(self, name) for name in ("caller", "tool", "decision", "rule")}
        wanted = {name: value for name, value in about.items() if value is not None}
        words = [encode(value) for value in wanted.values()]
        text = None if self.text is None else self.text.casefold()

        def names(entry: AuditEntry) -> bool:
            if not all(word in entry.body for word in words):  # a quick look, before it is read
                return False
            body = body_of(entry)
            data: Any = body.get("data")
            told = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
            return all(value in (body.get(name), told.get(name)) for name, value in wanted.items())

        def has(entry: AuditEntry) -> bool:
            if self.kind not in (None, entry.kind) or not self._within(entry.at):
                return False
            if text is not None and text not in text_of(entry).casefold():
                return False
            if not wanted:
                return True
            whose = entry_of(entry.call) if entry.call else entry
            return whose is not None and names(whose)

        return has

    def _within(self, at: str) -> bool:
        return (self.since is None or at >= self.since) and (self.until is None or at < self.until)


_ANY: Final = RecordFilter()


# ── pages ──


class RecordPage(Struct, frozen=True):
    """Some records, the newest first, and where older ones begin."""

    records: list[AuditEntry]
    before: int | None
    """The number that the next page is asked for with; None where there is nothing older."""


def page_of_records(
    tables: Tables, wanted: RecordFilter = _ANY, *, before: int | None = None, limit: int = 50
) -> RecordPage:
    """The records of that kind with a number below `before`. Only so many are looked through at a time: a page may have
    few, or none, and still say where to go on."""
    oldest, end = tables.oldest(), tables.head()[0]
    if wanted.until is not None:
        end = _last_before(tables, wanted.until, oldest, end)
    end = end if before is None else min(end, before - 1)
    lowest = max(0, end - SEARCHED)
    near: dict[int, AuditEntry] = {}  # most calls are not far from their ends
    has = wanted.matcher(lambda seq: near.get(seq) or tables.entry(seq))
    found: list[AuditEntry] = []
    while end > lowest and len(found) < limit:
        first = max(lowest, end - _PAGE)
        entries = [one for one in islice(tables.entries(first), end - first) if one.seq <= end]
        if entries and wanted.since is not None and all(one.at < wanted.since for one in entries):
            return RecordPage(found, None)
        end = first
        near |= {one.seq: one for one in entries}
        for entry in reversed(entries):
            if has(entry):
                found.append(entry)
                if len(found) >= limit:
                    end = entry.seq - 1
                    break
    return RecordPage(found, end + 1 if 0 < oldest <= end else None)


def _last_before(tables: Tables, until: str, oldest: int, head: int) -> int:
    """The last record before a time, as far as the clock never went back."""

    def at(seq: int) -> str:
        entry = tables.entry(seq)
        return "" if entry is None else entry.at

    numbers = range(max(1, oldest), head + 1)
    return numbers.start + bisect_left(numbers, until, key=at) - 1


# ── export ──


def exported(
    tables: Tables, wanted: RecordFilter = _ANY, *, after: int = 0, through: int | None = None
) -> Iterator[Exported]:
    """The records that are asked for, in order, with numbers above `after` and up to `through`."""
    first = next(iter(tables.entries(after, since=wanted.since)), None)
    if first is None:
        return
    has = wanted.matcher(tables.entry)
    before = _before(tables, first)
    for entry in tables.entries(first.seq - 1):
        if through is not None and entry.seq > through:
            return
        if has(entry):
            yield entry, before.get(entry.node, START)
        before[entry.node] = entry.hash


def _before(tables: Tables, first: AuditEntry) -> dict[int, bytes | None]:
    """The hash that the next record of each chain goes on from; None where it is not known any more."""
    if tables.chains() is not None:
        return {node: found for node, (_, found) in heads_through(tables, first.seq - 1).items()}
    previous = tables.entry(first.seq - 1)
    return {first.node: previous.hash if previous is not None else _before_first(tables, first)}


def _before_first(tables: Tables, first: AuditEntry) -> bytes | None:
    if first.seq == 1:
        return START
    return next((one.hash for one in checkpoints(tables) if one.seq == first.seq - 1), None)


def body_of(entry: AuditEntry) -> dict[str, Any]:
    """What a record holds, empty when it cannot be read."""
    try:
        body: Any = json.decode(entry.body)
    except DecodeError:
        return {}
    return cast("dict[str, Any]", body) if isinstance(body, dict) else {}


def entry_record(entry: AuditEntry) -> dict[str, Any]:
    return {
        "seq": entry.seq, "kind": entry.kind, "call": entry.call, "at": entry.at, "hash": entry.hash.hex(),
        "body": value_of(entry),
    }  # fmt: skip


def value_of(entry: AuditEntry) -> Any:
    """The body of a record; as text where it is not JSON."""
    try:
        return json.decode(entry.body)
    except DecodeError:  # somebody else wrote it
        return text_of(entry)


def text_of(entry: AuditEntry) -> str:
    """The body as it is, so that its hash can be computed again."""
    return entry.body.decode("utf-8", "backslashreplace")


def json_line(entry: AuditEntry, before: bytes | None) -> str:
    line = {
        "seq": entry.seq, "kind": entry.kind, "call": entry.call, "at": entry.at, "body": text_of(entry),
        "prev": None if before is None else before.hex(), "hash": entry.hash.hex(),
        **({"node": entry.node} if entry.node else {}),
    }  # fmt: skip
    return _ascii_json(line) + "\n"


def csv_row(entry: AuditEntry, before: bytes | None) -> str:
    """One row below `COLUMNS`."""
    body = body_of(entry)
    told = [body.get(name, "") for name in COLUMNS[4:9]]
    prev = "" if before is None else before.hex()
    cells = [entry.at, entry.kind, str(entry.call), *told, text_of(entry), prev, entry.hash.hex()]
    return csv_line([entry.seq, *cells, entry.node])


def csv_line(values: Sequence[Any]) -> str:
    """Values as a row of CSV; numbers stay numbers, everything else is a `cell`."""
    line = StringIO()
    writer(line, lineterminator="\n").writerow([one if type(one) in (int, float) else cell(one) for one in values])
    return line.getvalue()


def cell(value: Any) -> str:
    """Text that no spreadsheet takes for a formula, and no terminal for a command.

    >>> cell("=1+1"), cell("-2"), cell("plain"), cell(None)
    ("'=1+1", "'-2", 'plain', '')
    """
    if value is None:
        return ""
    text = value if isinstance(value, str) else _ascii_json(value)
    plain = text.encode("ascii", "backslashreplace").decode()
    plain = "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in plain)
    return "'" + plain if plain.startswith(_FORMULA) else plain
