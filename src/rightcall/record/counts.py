"""What is counted of the calls in a period, and one pass over the audit that counts it, without keeping the records.

    begin, refused ─▶ a call        end ─▶ what came of it        waiting ─▶ a question, no call yet
    proxied ─▶ a call that a client may run, counted apart        message ─▶ what the host told

A call belongs to the period in which it was recorded; what came of it counts whenever it was written. A long audit is
not passed over each time: `rollup.count` fills the same `Counts` from what is kept beside it.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import accumulate
from math import ceil, fsum, log
from typing import Final, Literal, NamedTuple, TypeVar

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from rightcall.errors import StoreError
from rightcall.policy.types import Status
from rightcall.record.calls import PeriodSlots, counted_as
from rightcall.record.notes import HostNote
from rightcall.record.tables import AuditEntry, Tables

LONGEST_ERROR: Final = 200
"""Characters by which errors are told apart."""

Asker = tuple[str, str | None]
"""A caller, and the context it works in."""


class Line(NamedTuple):
    """What calls are counted by."""

    caller: str
    tool: str
    provider: str
    model: str


Counted = TypeVar("Counted", int, str)
Part = Literal["tool", "provider", "model", "caller"]
"""By what repairs are counted, of the calls that were decided here and of those that passed through the proxy."""


# ── durations ──
# How long calls took. Few are kept as they are. Of many only the slot is kept that each falls into: slots get wider
# with the time, so that whatever stands for all times in one is at most `ERROR` away from each of them, and slots of
# different hours, tools or machines are added up by adding numbers. All slots are one large number, with a lane of bits
# for each: a thousand of them are added in milliseconds.

ERROR: Final = 0.025
"""How far a percentile may be from the time that it stands for, as a part of that time."""
_GROWTH: Final = (1 + ERROR) / (1 - ERROR)
_LOG: Final = log(_GROWTH)
_LEAST: Final = 0.001
"""Milliseconds; what takes less is in slot 0."""
_MOST: Final = 1e12
"""Thirty years; what a record says to have taken more is in the last slot."""


def slot_of(milliseconds: float) -> int:
    return ceil(log(min(milliseconds, _MOST) / _LEAST) / _LOG) if milliseconds > _LEAST else 0


def time_of(slot: int) -> float:
    """What stands for all times in a slot.

    >>> all(abs(time_of(slot_of(time)) - time) <= ERROR * time for time in (0.0011, 1, 19.99, 4711, 1e9))
    True
    """
    return 2 * _LEAST * _GROWTH**slot / (_GROWTH + 1) if slot else 0.0


LANE: Final = 32
"""Bits of a slot: it has room for four thousand million calls."""


def in_slots(counts: Mapping[int, int]) -> int:
    """So many calls in each slot, as one number.

    >>> lanes_of(in_slots({2: 5}) + in_slots({0: 1, 2: 1})).tolist()
    [1, 0, 6]
    """
    return sum(times << slot * LANE for slot, times in counts.items())


def lanes_of(slots: int) -> "array[int]":
    """The calls in each slot, from the first on."""
    lanes = array("I")
    lanes.frombytes(slots.to_bytes(-(-slots.bit_length() // LANE) * LANE // 8, "little"))
    if sys.byteorder == "big":
        lanes.byteswap()
    return lanes


def add_counts(own: dict[Counted, int], more: Mapping[Counted, int]) -> None:
    """As `Counter.update` does, which takes much longer for a few."""
    for name, times in more.items():
        own[name] = own.get(name, 0) + times


class Durations:
    """Milliseconds of calls: `exact` ones, or `slots` in which they were counted, never both."""

    __slots__ = ("exact", "rest", "slots")

    def __init__(self) -> None:
        self.exact = array("d")
        self.slots = 0
        self.rest = 0.0
        """The sum of those in slots."""

    def __len__(self) -> int:
        return len(self.exact) + sum(lanes_of(self.slots))

    def add(self, other: "Durations") -> None:
        if other.exact:
            self.exact.extend(other.exact)
        self.add_slots(other.slots, other.rest)

    def add_slots(self, slots: int, total: float) -> None:
        self.slots += slots
        self.rest += total

    def sort(self) -> None:
        """So that adding them up has only to merge them."""
        self.exact = array("d", sorted(self.exact))

    def mean(self) -> float | None:
        number = len(self)
        return (fsum(self.exact) + self.rest) / number if number else None

    def percentile(self, percent: int) -> float | None:
        """By nearest rank; at most `ERROR` away from it where they are in slots."""
        if not self.slots:
            return percentile(sorted(self.exact), percent)
        through = list(accumulate(lanes_of(self.slots)))
        return time_of(bisect_left(through, -(through[-1] * -percent // 100)))


def percentile(ascending: Sequence[float], percent: int) -> float | None:
    """By nearest rank: the smallest of the values that at least `percent` of them do not exceed. Never interpolated,
    so it is a time that a call really took.

    >>> percentile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 95), percentile(range(1, 101), 95)
    (10, 95)
    """
    return ascending[-(len(ascending) * -percent // 100) - 1] if ascending else None


class Tally:
    """Calls of one kind, added up."""

    __slots__ = (
        "cached", "calls", "errors", "failed", "interrupted", "proxied", "refused", "strategies", "succeeded", "times",
        "tokens",
    )  # fmt: skip

    def __init__(self) -> None:
        self.calls = self.refused = self.succeeded = self.failed = self.interrupted = self.cached = self.tokens = 0
        self.proxied = 0
        """Calls that passed through the proxy, which are not among `calls`: nobody knows here what came of them."""
        self.strategies: Counter[str] = Counter()
        """How calls were made to fit, those that passed through the proxy included."""
        self.times = Durations()
        """Of each call that came to its end."""
        self.errors: Counter[str] = Counter()
        """Of a line or a tool; elsewhere they are not added up."""

    @property
    def ran(self) -> int:
        """Those of which it is known what came."""
        return self.succeeded + self.failed + self.interrupted

    @property
    def running(self) -> int:
        return self.calls - self.refused - self.ran

    def add(self, other: "Tally") -> None:
        self.calls += other.calls
        self.refused += other.refused
        self.succeeded += other.succeeded
        self.failed += other.failed
        self.interrupted += other.interrupted
        self.cached += other.cached
        self.tokens += other.tokens
        self.proxied += other.proxied
        self.times.add(other.times)
        add_counts(self.strategies, other.strategies)

    def end(self, end: "Outcome") -> None:
        """What came of one call."""
        self.tokens += end.tokens
        self.cached += end.cached
        if end.status == "success":
            self.succeeded += 1
        elif end.status == "interrupted":
            self.interrupted += 1
            return
        else:
            self.failed += 1
            self.errors[(end.error or "no reason given")[:LONGEST_ERROR]] += 1
        self.times.exact.append(end.execution_time)


class Counts:
    """Everything that was counted in one window, of one caller or (None) of all."""

    def __init__(self, window: PeriodSlots, caller: str | None) -> None:
        self.window = window
        self.caller = caller
        self.tallies: dict[Line, Tally] = {}
        self.ruled: dict[str, Counter[str]] = {"begin": Counter(), "refused": Counter(), "proxied": Counter()}
        """By the rule that let calls begin, that refused them, or what became of them in the proxy."""
        self.parts: dict[Part | Literal[""], dict[str, Tally]]
        self.parts = {"": {}, "caller": {}, "tool": {}, "provider": {}, "model": {}}
        """Calls that are not in `tallies`: all of them, and those of each tool, caller, provider and model. Once
        everything was taken, those of the tallies, too."""
        self.slots = [0] * len(window.slots)
        self.passed_slots = [0] * len(window.slots)
        """The same of calls that passed through the proxy."""
        self.waiting = 0
        self.begun: dict[Asker, int] = {}
        """Calls that began, by caller and context; None is the context of those that named none."""
        self.messages = 0
        self.messages_with_tools = 0
        self.turns: Counter[str] = Counter()
        self.tool_turns: Counter[str] = Counter()
        """By caller, as a loop told them: how often models were asked, and how often they called a tool."""
        self.debugging: set[Asker] = set()
        self.diagnoses: dict[Asker, bool] = {}
        """Whether it was right; those that somebody has checked."""
        self._open: dict[int, Tally] = {}
        self._at_last_message: dict[Asker, int] = {}

    @property
    def total(self) -> Tally:
        """All of them together, once everything was taken."""
        return self.parts[""].get("") or Tally()

    def by(self, part: Part) -> dict[str, Tally]:
        """The calls of each tool, provider, model or caller, once everything was taken."""
        return {name: tally for name, tally in self.parts[part].items() if tally.calls}

    def passed_by(self, part: Part) -> Counter[str]:
        """The calls of each that passed through the proxy."""
        return Counter({name: tally.proxied for name, tally in self.parts[part].items() if tally.proxied})

    def rules(self, *, refused: bool) -> Counter[str]:
        """Calls by the rule that refused them, or that let them begin."""
        return self.ruled["refused" if refused else "begin"]

    def strategies_by(self, part: Part) -> dict[str, Counter[str]]:
        """Calls by how they were made to fit, for each tool, provider, model or caller."""
        return {name: tally.strategies for name, tally in self.parts[part].items() if tally.strategies}

    def take(self, entry: AuditEntry) -> None:
        """Count one record. Called in the order in which they were written."""
        kind = entry.kind
        if kind == "end":
            tally = self._open.pop(entry.call, None)
            if tally is not None:
                tally.end(read_outcome(entry.body))
        elif kind in COUNTED and self.window.since <= entry.at <= self.window.until:
            if kind == "message":
                self._told(read_told(entry.body))
            else:
                self._called(entry, read_counted(entry.body))

    def _called(self, entry: AuditEntry, call: "CountedCall") -> None:
        caller = call.caller
        if self.caller is not None and caller != self.caller:
            return
        if entry.kind == "waiting":
            self.waiting += 1
            return
        # a plain tuple finds it as well, and is made in a third of the time
        line = (caller, call.tool, call.provider, call.model)
        tally = self.tallies.get(line)  # pyright: ignore[reportArgumentType]
        if tally is None:
            tally = self.tallies[Line(*line)] = Tally()
        tally.strategies[call.fitted] += 1
        self.ruled[entry.kind][call.rule] += 1
        slot = bisect_right(self.window.slots, entry.at) - 1
        if entry.kind == "proxied":
            tally.proxied += 1
            self.passed_slots[slot] += 1
            return
        tally.calls += 1
        self.slots[slot] += 1
        if entry.kind == "refused":
            tally.refused += 1
            return
        self._open[entry.seq] = tally
        asker = (caller, call.context)
        self.begun[asker] = self.begun.get(asker, 0) + 1

    def _told(self, told: HostNote) -> None:
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
            begun = self._begun_by(asker)
            used = begun > self._at_last_message.get(asker, 0) if said.used_tools is None else said.used_tools
            self._at_last_message[asker] = begun
            self.messages += 1
            self.messages_with_tools += used
            if said.turns:
                self.turns[said.caller] += said.turns
                self.tool_turns[said.caller] += said.tool_turns

    def _begun_by(self, asker: Asker) -> int:
        """Calls that began in a context; for no context, those of the caller in any."""
        caller, context = asker
        if context is not None:
            return self.begun.get(asker, 0)
        return sum(tally.calls - tally.refused for line, tally in self.tallies.items() if line.caller == caller)

    def close(self, alive: Set[int]) -> None:
        """Nothing more comes. What has begun, has not ended and runs in no living process was interrupted."""
        for seq, tally in self._open.items():
            tally.interrupted += seq not in alive
        self.settle()

    def settle(self) -> None:
        """Add them up. What was taken off again to the last is not there."""
        for line, tally in self.tallies.items():
            tally.times.sort()
            for part, groups in self.parts.items():
                name = getattr(line, part) if part else ""
                group = groups.get(name)
                if group is None:
                    group = groups[name] = Tally()
                group.add(tally)
                if part == "tool":
                    add_counts(group.errors, tally.errors)
        for part, groups in self.parts.items():
            self.parts[part] = {name: tally for name, tally in groups.items() if tally.calls or tally.proxied}
            for tally in self.parts[part].values():
                tally.times.sort()
                tally.strategies, tally.errors = +tally.strategies, +tally.errors
        self.ruled = {kind: +rules for kind, rules in self.ruled.items()}


def running_in(tables: Tables) -> Set[int]:
    """The calls that run in a living process. To be asked before a look that takes long: it sees the records as they
    were at its beginning, and a process that ended since has told the end of its calls after that."""
    return frozenset(tables.running())


def pass_over(tables: Tables, window: PeriodSlots, caller: str | None = None, alive: Set[int] | None = None) -> Counts:
    """One pass over the records of a period. Raises StoreError for a record that cannot be read."""
    counts = Counts(window, caller)
    alive = running_in(tables) if alive is None else alive
    first = next(tables.entries(since=window.since), None)
    if first is None:
        return counts
    entry = first
    try:
        # From there on by number and not by time: when the date is set back, an end can look older than its call.
        for entry in tables.entries(first.seq - 1):
            counts.take(entry)
    except (DecodeError, UnicodeDecodeError) as error:
        raise unreadable(entry.seq, str(error)) from error
    counts.close(alive)
    return counts


def unreadable(seq: int, why: str) -> StoreError:
    return StoreError(
        f"record {seq} of the audit cannot be read ({why}); `rightcall audit verify` looks for changes", "corrupt"
    )


COUNTED = frozenset(("begin", "refused", "waiting", "proxied", "message"))


class CountedCall(Struct, frozen=True, gc=False):
    """The few fields of `entries.CallBody` that are counted: what is not named here is skipped, not built."""

    caller: str
    tool: str
    rule: str
    context: str | None = None
    strategy: str = "direct"
    model: str = ""
    provider: str = ""
    decision: str = ""
    origin: str = "native"

    @property
    def fitted(self) -> str:
        """The strategy that it counts under."""
        return counted_as(self.strategy, self.origin, self.rule)


class Outcome(Struct, frozen=True, gc=False):
    """Of `entries.EndBody`."""

    status: Status
    execution_time: float = 0.0
    error: str | None = None
    tokens: int = 0
    cached: bool = False


read_counted = Decoder(CountedCall).decode
read_outcome = Decoder(Outcome).decode
read_told = Decoder(HostNote).decode
