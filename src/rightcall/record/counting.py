"""One pass over the audit that counts what analytics and metrics need, without keeping the records.

    begin, refused ─▶ a call        end ─▶ what came of it        waiting ─▶ a question, no call yet
    message ─▶ what the host told

A call belongs to the period in which it was recorded; what came of it counts whenever it was written.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, get_args

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from rightcall.errors import ConfigError, StoreError
from rightcall.record.clock import written
from rightcall.record.tables import Entry, Tables
from rightcall.text.escape import escaped
from rightcall.types_running import Status

Period = Literal["1hour", "1day", "1week"]

SLOTS: Final[Mapping[Period, tuple[int, timedelta]]] = {
    "1hour": (12, timedelta(minutes=5)),
    "1day": (24, timedelta(hours=1)),
    "1week": (7, timedelta(days=1)),
}
"""Into how many slots of what length a period is cut, to show when the calls were."""

LONGEST_ERROR: Final = 200
"""Characters by which errors are told apart."""

Asker = tuple[str, str | None]
"""A caller, and the context it works in."""


class Window(Struct, frozen=True):
    """A period that ends now: the first and the last moment that belong to it, and where each slot begins."""

    period: Period
    since: str
    until: str
    slots: tuple[str, ...]


def window_of(period: Period, now: str) -> Window:
    """The period up to `now` (UTC, as the store's clock writes it).

    >>> window_of("1hour", "2026-01-01 12:00:00.000").since
    '2026-01-01 11:00:00.000'
    """
    if period not in SLOTS:
        known = ", ".join(get_args(Period))
        raise ConfigError(f"period: {escaped(str(period), 40)!r} is no period; known are {known}")
    end = _moment(now)
    number, length = SLOTS[period]
    starts = tuple(written((end - length * left).timestamp()) for left in range(number, 0, -1))
    return Window(period, starts[0], written(end.timestamp()), starts)


def _moment(now: str) -> datetime:
    try:
        read = datetime.fromisoformat(now)
    except ValueError:
        right = "write it in UTC, as in '2026-01-31 12:00:00.000'"
        raise ConfigError(f"now: {escaped(now, 40)!r} is no time; {right}") from None
    return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)


class Tally:
    """The calls of one tool by one caller, added up."""

    __slots__ = ("cached", "calls", "failed", "interrupted", "refused", "succeeded", "times", "tokens")

    def __init__(self) -> None:
        self.calls = self.refused = self.succeeded = self.failed = self.interrupted = self.cached = self.tokens = 0
        self.times = array("d")
        """Milliseconds of each call that came to its end."""

    @property
    def ran(self) -> int:
        """Those of which it is known what came."""
        return self.succeeded + self.failed + self.interrupted

    @property
    def running(self) -> int:
        return self.calls - self.refused - self.ran

    def add(self, other: "Tally") -> None:
        for name in Tally.__slots__:
            if name != "times":
                setattr(self, name, getattr(self, name) + getattr(other, name))
        self.times.extend(other.times)


class Counts:
    """Everything that was counted in one window, of one caller or (None) of all."""

    def __init__(self, window: Window, caller: str | None) -> None:
        self.window = window
        self.caller = caller
        self.tallies: dict[tuple[str, str], Tally] = {}
        """By caller and tool."""
        self.slots = [0] * len(window.slots)
        self.refusals: Counter[str] = Counter()
        self.let_through: Counter[str] = Counter()
        """By the rule that let a call begin."""
        self.strategies: Counter[str] = Counter()
        self.errors: Counter[tuple[str, str]] = Counter()
        self.waiting = 0
        self.messages = 0
        self.messages_with_tools = 0
        self.contexts: Counter[Asker] = Counter()
        """Calls that began, by caller and context."""
        self.debugging: set[Asker] = set()
        self.diagnoses: dict[Asker, bool] = {}
        """Whether it was right; those that somebody has checked."""
        self._open: dict[int, tuple[str, Tally]] = {}
        self._since_message: set[Asker] = set()

    def take(self, entry: Entry) -> None:
        """Count one record. Called in the order in which they were written."""
        if entry.kind == "end":
            self._ended(entry)
        elif entry.kind in _COUNTED and self.window.since <= entry.at <= self.window.until:
            if entry.kind == "message":
                self._told(_read_told(entry.body))
            else:
                self._called(entry, _read_call(entry.body))

    def _called(self, entry: Entry, call: "_Call") -> None:
        caller = call.caller
        if self.caller is not None and caller != self.caller:
            return
        if entry.kind == "waiting":
            self.waiting += 1
            return
        tally = self.tallies.get((caller, call.tool))
        if tally is None:
            tally = self.tallies[caller, call.tool] = Tally()
        tally.calls += 1
        self.slots[bisect_right(self.window.slots, entry.at) - 1] += 1
        self.strategies[call.strategy] += 1
        if entry.kind == "refused":
            tally.refused += 1
            self.refusals[call.rule] += 1
            return
        self.let_through[call.rule] += 1
        self._open[entry.seq] = (call.tool, tally)
        self._since_message.add((caller, None))
        if call.context is not None:
            self._since_message.add((caller, call.context))
            self.contexts[caller, call.context] += 1

    def _ended(self, entry: Entry) -> None:
        begun = self._open.pop(entry.call, None)
        if begun is None:
            return
        tool, tally = begun
        end = _read_end(entry.body)
        tally.tokens += end.tokens
        tally.cached += end.cached
        if end.status == "success":
            tally.succeeded += 1
        elif end.status == "interrupted":
            tally.interrupted += 1
            return
        else:
            tally.failed += 1
            self.errors[tool, (end.error or "no reason given")[:LONGEST_ERROR]] += 1
        tally.times.append(end.execution_time)

    def _told(self, told: "_Told") -> None:
        said = told.data
        if self.caller is not None and said.caller != self.caller:
            return
        asker = (said.caller, said.context)
        if said.context is not None and said.task == "debug":
            self.debugging.add(asker)
        if told.what == "diagnosis":
            if said.correct is not None:
                self.diagnoses[asker] = said.correct
        elif told.what == "message":
            used = said.used_tools if said.used_tools is not None else asker in self._since_message
            self.messages += 1
            self.messages_with_tools += used
            self._since_message.discard(asker)

    def close(self, tables: Tables) -> None:
        """What has begun, has not ended and runs in no living process was interrupted."""
        alive = set(tables.running()) if self._open else set[int]()
        for seq, (_, tally) in self._open.items():
            tally.interrupted += seq not in alive
        for tally in self.tallies.values():
            tally.times = array("d", sorted(tally.times))


def count(tables: Tables, *, period: Period, caller: str | None = None, now: str) -> Counts:
    """One pass over the records of a period. Raises StoreError for a record that cannot be read."""
    counts = Counts(window_of(period, now), caller)
    first = next(iter(tables.entries(since=counts.window.since)), None)
    if first is None:
        return counts
    entry = first
    try:
        # From there on by number and not by time: when the date is set back, an end can look older than its call.
        for entry in tables.entries(first.seq - 1):
            counts.take(entry)
    except (DecodeError, UnicodeDecodeError) as error:
        raise StoreError(
            f"record {entry.seq} of the audit cannot be read ({error}); `rightcall audit verify` looks for changes",
            "corrupt",
        ) from error
    counts.close(tables)
    return counts


_COUNTED = frozenset(("begin", "refused", "waiting", "message"))


class _Call(Struct, frozen=True, gc=False):
    """The few fields of `entries.CallBody` that are counted: what is not named here is skipped, not built."""

    caller: str
    tool: str
    rule: str
    context: str | None = None
    strategy: str = "direct"


class _End(Struct, frozen=True, gc=False):
    """Of `entries.EndBody`."""

    status: Status
    execution_time: float = 0.0
    error: str | None = None
    tokens: int = 0
    cached: bool = False


class _Said(Struct, frozen=True, gc=False):
    """What `notes.py` writes."""

    caller: str = ""
    context: str | None = None
    task: str | None = None
    used_tools: bool | None = None
    correct: bool | None = None


class _Told(Struct, frozen=True):
    what: str
    data: _Said = _Said()


_read_call = Decoder(_Call).decode
_read_end = Decoder(_End).decode
_read_told = Decoder(_Told).decode
