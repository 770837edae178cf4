"""One pass over the audit that counts what analytics and metrics need, without keeping the records.

    begin, refused ─▶ a call        end ─▶ what came of it        waiting ─▶ a question, no call yet
    proxied ─▶ a call that a client may run, counted apart        message ─▶ what the host told

A call belongs to the period in which it was recorded; what came of it counts whenever it was written.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Final, Literal, NamedTuple

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from rightcall.errors import StoreError
from rightcall.record.notes import Told
from rightcall.record.period import Period, Window, window_of
from rightcall.record.tables import AuditEntry, Tables
from rightcall.types_running import Status

LONGEST_ERROR: Final = 200
"""Characters by which errors are told apart."""

Asker = tuple[str, str | None]
"""A caller, and the context it works in."""


class Key(NamedTuple):
    """What calls are counted by."""

    refused: bool
    caller: str
    tool: str
    rule: str
    strategy: str
    provider: str
    model: str


class Passing(NamedTuple):
    """What calls that passed through the proxy are counted by."""

    rule: str
    strategy: str
    tool: str
    model: str
    caller: str
    provider: str


Part = Literal["tool", "provider", "model", "caller"]
"""By what repairs are counted, of the calls that were decided here and of those that passed through the proxy."""


class Tally:
    """Calls of one kind, added up."""

    __slots__ = ("cached", "calls", "errors", "failed", "interrupted", "refused", "succeeded", "times", "tokens")

    def __init__(self) -> None:
        self.calls = self.refused = self.succeeded = self.failed = self.interrupted = self.cached = self.tokens = 0
        self.times = array("d")
        """Milliseconds of each call that came to its end."""
        self.errors: Counter[str] = Counter()

    @property
    def ran(self) -> int:
        """Those of which it is known what came."""
        return self.succeeded + self.failed + self.interrupted

    @property
    def running(self) -> int:
        return self.calls - self.refused - self.ran

    def end(self, end: "_End") -> None:
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
        self.times.append(end.execution_time)


def added(tallies: Iterable[Tally]) -> Tally:
    """Several tallies as one, its times in order."""
    total = Tally()
    for one in tallies:
        total.calls += one.calls
        total.refused += one.refused
        total.succeeded += one.succeeded
        total.failed += one.failed
        total.interrupted += one.interrupted
        total.cached += one.cached
        total.tokens += one.tokens
        total.times.extend(one.times)
        total.errors.update(one.errors)
    total.times = array("d", sorted(total.times))
    return total


class Counts:
    """Everything that was counted in one window, of one caller or (None) of all."""

    def __init__(self, window: Window, caller: str | None) -> None:
        self.window = window
        self.caller = caller
        self.tallies: dict[Key, Tally] = {}
        self.total = Tally()
        """All of them together, once everything was taken."""
        self.slots = [0] * len(window.slots)
        self.waiting = 0
        self.passed: Counter[Passing] = Counter()
        """Calls that passed through the proxy: nobody knows here what came of them."""
        self.begun: dict[Asker, int] = {}
        """Calls that began, by caller and context; None is the context of those that named none."""
        self.messages = 0
        self.messages_with_tools = 0
        self.debugging: set[Asker] = set()
        self.diagnoses: dict[Asker, bool] = {}
        """Whether it was right; those that somebody has checked."""
        self._open: dict[int, Tally] = {}
        self._at_last_message: dict[Asker, int] = {}

    def by_caller(self) -> dict[str, Tally]:
        return self._added_by(lambda key: key.caller)

    def by_tool(self) -> dict[str, Tally]:
        return self._added_by(lambda key: key.tool)

    def by_provider(self) -> dict[str, Tally]:
        return self._added_by(lambda key: key.provider)

    def rules(self, *, refused: bool) -> Counter[str]:
        """Calls by the rule that refused them, or that let them begin."""
        return _calls((key.rule, tally) for key, tally in self.tallies.items() if key.refused is refused)

    def strategies(self) -> Counter[str]:
        """Calls by how they were made to fit, those that passed through the proxy included."""
        found = _calls((key.strategy, tally) for key, tally in self.tallies.items())
        for key, times in self.passed.items():
            found[key.strategy] += times
        return found

    def strategies_by(self, part: Part) -> dict[str, Counter[str]]:
        """The same, for each tool, provider, model or caller."""
        found: dict[str, Counter[str]] = {}
        calls = ((key, tally.calls) for key, tally in self.tallies.items())
        for key, times in chain(calls, self.passed.items()):
            found.setdefault(getattr(key, part), Counter())[key.strategy] += times
        return found

    def _added_by(self, part: Callable[[Key], str]) -> dict[str, Tally]:
        groups: dict[str, list[Tally]] = {}
        for key, tally in self.tallies.items():
            groups.setdefault(part(key), []).append(tally)
        return {name: added(tallies) for name, tallies in groups.items()}

    def take(self, entry: AuditEntry) -> None:
        """Count one record. Called in the order in which they were written."""
        kind = entry.kind
        if kind == "end":
            tally = self._open.pop(entry.call, None)
            if tally is not None:
                tally.end(_read_end(entry.body))
        elif kind in _COUNTED and self.window.since <= entry.at <= self.window.until:
            if kind == "message":
                self._told(_read_told(entry.body))
            else:
                self._called(entry, _read_call(entry.body))

    def _called(self, entry: AuditEntry, call: "_Call") -> None:
        caller = call.caller
        if self.caller is not None and caller != self.caller:
            return
        if entry.kind == "waiting":
            self.waiting += 1
            return
        if entry.kind == "proxied":
            self.passed[Passing(call.rule, call.strategy, call.tool, call.model, caller, call.provider)] += 1
            return
        refused = entry.kind == "refused"
        # a plain tuple finds it as well, and is made in a third of the time
        key = (refused, caller, call.tool, call.rule, call.strategy, call.provider, call.model)
        tally = self.tallies.get(key)  # pyright: ignore[reportArgumentType]
        if tally is None:
            tally = self.tallies[Key(*key)] = Tally()
        tally.calls += 1
        self.slots[bisect_right(self.window.slots, entry.at) - 1] += 1
        if refused:
            tally.refused += 1
            return
        self._open[entry.seq] = tally
        asker = (caller, call.context)
        self.begun[asker] = self.begun.get(asker, 0) + 1

    def _told(self, told: Told) -> None:
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

    def _begun_by(self, asker: Asker) -> int:
        """Calls that began in a context; for no context, those of the caller in any."""
        caller, context = asker
        if context is not None:
            return self.begun.get(asker, 0)
        return sum(tally.calls for key, tally in self.tallies.items() if key.caller == caller and not key.refused)

    def close(self, tables: Tables) -> None:
        """Nothing more comes. What has begun, has not ended and runs in no living process was interrupted."""
        alive = set(tables.running()) if self._open else set[int]()
        for seq, tally in self._open.items():
            tally.interrupted += seq not in alive
        for tally in self.tallies.values():
            tally.times = array("d", sorted(tally.times))  # so that adding them up has only to merge them
        self.total = added(self.tallies.values())


def _calls(named: Iterable[tuple[str, Tally]]) -> Counter[str]:
    calls: Counter[str] = Counter()
    for name, tally in named:
        calls[name] += tally.calls
    return calls


def count(tables: Tables, *, period: Period, caller: str | None = None, now: str) -> Counts:
    """One pass over the records of a period. Raises StoreError for a record that cannot be read."""
    counts = Counts(window_of(period, now), caller)
    first = next(tables.entries(since=counts.window.since), None)
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


_COUNTED = frozenset(("begin", "refused", "waiting", "proxied", "message"))


class _Call(Struct, frozen=True, gc=False):
    """The few fields of `entries.CallBody` that are counted: what is not named here is skipped, not built."""

    caller: str
    tool: str
    rule: str
    context: str | None = None
    strategy: str = "direct"
    model: str = ""
    provider: str = ""


class _End(Struct, frozen=True, gc=False):
    """Of `entries.EndBody`."""

    status: Status
    execution_time: float = 0.0
    error: str | None = None
    tokens: int = 0
    cached: bool = False


_read_call = Decoder(_Call).decode
_read_end = Decoder(_End).decode
_read_told = Decoder(Told).decode
