"""Pages of calls, the newest first: by caller, tool, model, decision, rule, repair, outcome, context, time and words.

    rollup: in which hours can there be such calls? ─▶ which numbers? ─▶ records of the audit, joined with their ends

A page is found within a time that it may take. What was not looked through by then is said, and where to go on: a
search for words has to read the records, some ten thousand in the usual time; everything else reads what it shows.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from time import monotonic
from typing import Any, Final

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from rightcall.record.calls import CALLS, LIFTED, OBSERVED, CallRecord, Would, call, counted_as, joined, would_of
from rightcall.record.rollup.rollup import Rollup
from rightcall.record.rollup.tables import HOUR, LINE, PARTS, read_repairs
from rightcall.record.tables import AuditEntry, Store, Tables, encode

ANY_REPAIR: Final = "*"
USUAL_SECONDS: Final = 0.2
_CHUNK = 4_000
"""Records between two looks at the clock."""
_ALL = 2**62


class CallQuery(Struct, frozen=True):
    """Which calls are asked for; None means any."""

    caller: str | None = None
    tool: str | None = None
    provider: str | None = None
    model: str | None = None
    decision: str | None = None
    rule: str | None = None
    strategy: str | None = None
    """How it was made to fit (`counted_as`); `*` (`ANY_REPAIR`): in any way, or in none, but not as it was written."""
    status: str | None = None
    context: str | None = None
    text: str | None = None
    """Words that stand in the record of the call or of its end, in upper or lower case."""
    since: str | None = None
    until: str | None = None
    """Times in UTC, as the audit writes them; both belong to the period."""

    def has(self, record: CallRecord) -> bool:
        """All but the words."""
        return (
            all(getattr(self, name) in (None, getattr(record, name)) for name in _COMPARED)
            and (self.strategy is None or self.has_strategy(counted_as(record.strategy, record.origin, record.rule)))
            and (self.since is None or record.timestamp >= self.since)
            and (self.until is None or record.timestamp <= self.until)
        )

    def has_strategy(self, counted: str) -> bool:
        return counted not in ("direct", LIFTED) if self.strategy == ANY_REPAIR else counted == self.strategy


_COMPARED = ("caller", "tool", "provider", "model", "decision", "rule", "status", "context")


ANY_CALL: Final = CallQuery()


class CallPage(Struct, frozen=True):
    calls: tuple[CallRecord, ...]
    """The newest first."""
    before: int | None
    """What to ask for next: calls with a smaller number. None: there are none."""
    complete: bool
    """Whether the page is as full as it can be; else the time was over, and going on at `before` may find more."""
    looked_back_to: str
    """The time of the oldest record that was looked at, UTC; empty where all were."""


def list_calls(
    store: Store, wanted: CallQuery = ANY_CALL, *, before: int | None = None, limit: int = 50,
    seconds: float = USUAL_SECONDS,
) -> CallPage:  # fmt: skip
    """A page of calls, the newest first, before the record of that number. Takes about so many seconds at most."""
    return store.look(lambda tables: find_page(tables, wanted, before=before, limit=limit, seconds=seconds))


def find_page(
    tables: Tables, wanted: CallQuery, *, before: int | None = None, limit: int = 50, seconds: float = USUAL_SECONDS
) -> CallPage:
    return _Search(tables, wanted, limit, monotonic() + seconds).page(_ALL if before is None else before)


class _Search:
    """One page. It goes back through the numbers, and stops when the page is full or the time is over."""

    def __init__(self, tables: Tables, wanted: CallQuery, limit: int, deadline: float) -> None:
        self._tables = tables
        self._wanted = wanted
        self._limit = limit
        self._deadline = deadline
        self._running = frozenset(tables.running())
        self._needle = None if not wanted.text else encode(wanted.text)[1:-1].lower()
        self._ends: dict[int, AuditEntry] = {}
        """Of calls that were not yet come by."""
        self._found: list[CallRecord] = []

    def page(self, before: int) -> CallPage:
        rollup = self._tables.rollup()
        rollup.catch_up(self._tables, max(0.0, self._deadline - monotonic()) / 2)
        with rollup.reading():
            counted = min(rollup.mark().seq, self._tables.head()[0])
            last = min(before - 1, self._tables.head()[0])
            oldest = self._tables.oldest()
            parts: list[tuple[int, int, Callable[[int, int], Iterator[CallRecord]]]] = []
            if last > counted:  # what nobody has counted yet
                parts.append((counted + 1, last, self._read))
            ask = self._from_rollup(rollup)
            parts += [(max(low, oldest), min(high, last, counted), ask) for low, high in self._ranges(rollup)]
            for low, high, source in parts:
                for top in range(high, low - 1, -_CHUNK):
                    bottom = max(low, top - _CHUNK + 1)
                    for record in source(bottom, top):
                        if len(self._found) == self._limit:
                            return self._page(self._found[-1].id, True, self._found[-1].timestamp)
                        self._found.append(record)
                    if monotonic() >= self._deadline and bottom > oldest:
                        entry = self._tables.entry(bottom)
                        return self._page(bottom, False, "" if entry is None else entry.at)
        return self._page(None, True, "")

    def _page(self, before: int | None, complete: bool, back_to: str) -> CallPage:
        return CallPage(tuple(self._found), before, complete, back_to)

    def _read(self, low: int, high: int) -> Iterator[CallRecord]:
        """Every record between two numbers is read, from the last to the first."""
        for entry in reversed(list(islice(self._tables.entries(low - 1), high - low + 1))):
            if entry.kind == "end":
                self._ends[entry.call] = entry
            elif entry.kind in CALLS:
                end = self._ends.pop(entry.seq, None)
                if end is None and entry.kind == "begin":  # perhaps on the page before
                    end = next((one for one in self._tables.belonging(entry.seq) if one.kind == "end"), None)
                if self._speaks_of(entry, end):
                    record = joined(entry, end, self._running)
                    if self._wanted.has(record):
                        yield record

    def _speaks_of(self, entry: AuditEntry, end: AuditEntry | None) -> bool:
        if self._needle is None:
            return True
        return self._needle in entry.body.lower() or (end is not None and self._needle in end.body.lower())

    def _from_rollup(self, rollup: Rollup) -> Callable[[int, int], Iterator[CallRecord]]:
        if self._needle is not None:
            return self._read
        conditions, values = self._conditions()
        question = (
            "SELECT seq FROM calls JOIN kinds ON kinds.id = calls.kind JOIN lines ON lines.id = kinds.line"
            f" WHERE seq >= ? AND seq <= ?{conditions} ORDER BY seq DESC LIMIT {self._limit + 1}"
        )

        def asked(low: int, high: int) -> Iterator[CallRecord]:
            while True:
                found = rollup.ask(question, low, high, *values)
                for (seq,) in found:
                    record = call(self._tables, seq)
                    if record is not None and self._wanted.has(record):
                        yield record
                if len(found) <= self._limit:
                    return
                high = found[-1][0] - 1

        return asked

    def _conditions(self) -> tuple[str, list[Any]]:
        wanted = self._wanted
        names = ("caller", "tool", "provider", "model", "decision", "rule")
        pairs = [(f"{name} = ?", getattr(wanted, name)) for name in names]
        if wanted.strategy == ANY_REPAIR:
            pairs.append((f"strategy NOT IN (?, '{LIFTED}')", "direct"))
        else:
            pairs.append(("strategy = ?", wanted.strategy))
        if wanted.status in ("pending", "interrupted"):  # which of the two it is, only the running ones tell
            pairs.append(("status IN (?, 'interrupted')", "pending"))
        else:
            pairs.append(("status = ?", wanted.status))
        pairs.append(("context = (SELECT id FROM contexts WHERE name = ?)", wanted.context))
        pairs += [("at >= ?", wanted.since), ("at <= ?", wanted.until)]
        given = [(condition, value) for condition, value in pairs if value is not None]
        return "".join(f" AND {condition}" for condition, _ in given), [value for _, value in given]

    def _ranges(self, rollup: Rollup) -> list[tuple[int, int]]:
        """Numbers between which such calls can be, the highest first: those of the hours in which there are some."""
        wanted = self._wanted
        if wanted.context is not None:
            found = rollup.ask(
                "SELECT min(seq), max(seq) FROM calls WHERE context = (SELECT id FROM contexts WHERE name = ?)",
                wanted.context,
            )
            return [(low, high) for low, high in found if low is not None]
        hours, given = self._hours()
        cells, values = self._cells()
        if not given and not cells:
            return [(0, _ALL)]
        spans = rollup.ask(f"SELECT low, high, start FROM spans WHERE {hours} ORDER BY high DESC", *given)
        if cells:
            question = f"SELECT start, waiting, repairs FROM cells WHERE {cells} AND start IN"
            rows = rollup.ask(f"{question} (SELECT start FROM spans WHERE {hours})", *values, *given)
            among = {start for start, waiting, repairs in rows if self._may_fit(waiting, repairs)}
            spans = [span for span in spans if span[2] in among]
        return _merged([(low, high) for low, high, _ in spans])

    def _hours(self) -> tuple[str, list[Any]]:
        """A condition on hours, by rule and time, and its values."""
        wanted, found, values = self._wanted, f"length(start) = {HOUR}", list[Any]()
        if wanted.rule is not None:
            own = "" if wanted.caller is None else " AND caller = ?"
            rules = f"SELECT 1 FROM rules WHERE rules.start = spans.start AND rule = ?{own}"
            waiting = "SELECT 1 FROM cells WHERE cells.start = spans.start AND part = '' AND waiting > 0"
            found += f" AND (EXISTS ({rules}) OR EXISTS ({waiting}))"
            values += [wanted.rule, *(() if wanted.caller is None else (wanted.caller,))]
        for column, value in (("last >= ?", wanted.since), ("first <= ?", wanted.until)):
            if value is not None:
                found += f" AND {column}"
                values.append(value)
        return found, values

    def _cells(self) -> tuple[str, list[str]]:
        """A condition on their cells, by caller, tool, provider, model and outcome, and its values; empty where nothing
        of that is asked for."""
        wanted = self._wanted
        names = {part: name for part in PARTS if (name := getattr(wanted, part)) is not None}
        column = {"failed": "failed", "success": "succeeded", "refused": "refused", "waiting": "waiting",
                  "proxied": "proxied"}.get(wanted.status or "")  # fmt: skip
        if not names and not column and wanted.strategy in (None, "direct"):
            return "", []
        some = f" AND {column} > 0" if column else ""
        if len(names) > 1:
            lines = f"SELECT CAST(id AS TEXT) FROM lines WHERE {' AND '.join(f'{part} = ?' for part in names)}"
            return f"part = '{LINE}' AND name IN ({lines}){some}", [*names.values()]
        part, name = next(iter(names.items()), ("", ""))
        return f"part = '{part}' AND name = ?{some}", [name]

    def _may_fit(self, waiting: int, repairs: bytes) -> bool:
        """Of a question that waits it is not counted how it was repaired."""
        if self._wanted.strategy in (None, "direct") or waiting:
            return True
        return any(map(self._wanted.has_strategy, read_repairs(repairs)))


# ── what was only observed ──


class Observed(Struct, frozen=True):
    """Calls that ran because a door only observes, and what would have become of them otherwise."""

    calls: int = 0
    refused: Mapping[str, int] = {}
    asked: Mapping[str, int] = {}
    """How many a rule would have refused, or asked a person about; the most frequent first."""
    complete: bool = True
    """Whether all of the period were looked at, and not only the newest."""


class _ObservedCall(Struct, frozen=True, gc=False):
    """The few fields of `CallBody` that are counted."""

    caller: str
    rule: str
    reason: str = ""


_read_observed = Decoder(_ObservedCall).decode
_RULE = encode(OBSERVED)


def read_observed(
    tables: Tables, *, since: str, until: str, caller: str | None = None, seconds: float = 1.0
) -> Observed:
    """Of the calls of a period, those that were only observed, from the newest back. Takes about so many seconds at
    most."""
    deadline, found, whole = monotonic() + seconds, list[_ObservedCall](), True
    last, oldest = tables.head()[0], max(1, tables.oldest())
    end = last
    while end >= oldest and (whole := end == last or monotonic() < deadline):
        first = max(0, end - _CHUNK)
        entries = [one for one in islice(tables.entries(first), end - first) if one.seq <= end]
        if entries and all(one.at < since for one in entries):
            break
        end = first
        for one in entries:
            if one.kind == "begin" and since <= one.at <= until and _RULE in one.body:
                with suppress(DecodeError):  # somebody else wrote it
                    found.append(_read_observed(one.body))
    calls = [one for one in found if one.rule == OBSERVED and caller in (None, one.caller)]
    would = Counter(told for one in calls if (told := would_of(one.rule, one.reason)) is not None)
    refused, asked = _by_rule(would, "would-refuse"), _by_rule(would, "would-ask")
    return Observed(len(calls), refused, asked, whole)


def _by_rule(times: Counter[tuple[Would, str]], would: Would) -> dict[str, int]:
    own = [(rule, number) for (kind, rule), number in times.items() if kind == would]
    return dict(sorted(own, key=lambda pair: (-pair[1], pair[0])))


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges by their ends, the highest first, as ranges that do not overlap.

    >>> _merged([(8, 9), (5, 7), (2, 6), (1, 3)])
    [(8, 9), (1, 7)]
    """
    found: list[tuple[int, int]] = []
    for low, high in ranges:
        if found and high >= found[-1][0]:
            found[-1] = min(low, found[-1][0]), found[-1][1]
        else:
            found.append((low, high))
    return found
