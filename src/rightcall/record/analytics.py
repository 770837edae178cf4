"""One pass over the audit that counts what analytics and metrics need, without keeping the records.

    begin, refused ─▶ a call        end ─▶ what came of it        waiting ─▶ a question, no call yet
    proxied ─▶ a call that a client may run, counted apart        message ─▶ what the host told

A call belongs to the period in which it was recorded; what came of it counts whenever it was written.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from math import fsum
from typing import Any, Final, Literal, NamedTuple, TypeVar

from msgspec import DecodeError, Struct
from msgspec.json import Decoder
from msgspec.structs import asdict

from rightcall.base.text import render_json
from rightcall.errors import StoreError, ToolFailure
from rightcall.policy.types import Status
from rightcall.record.browse import look_up, moment
from rightcall.record.calls import Period, PeriodSlots, window_of
from rightcall.record.notes import HostNote
from rightcall.record.tables import AuditEntry, Store, Tables

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


def add_tallies(tallies: Iterable[Tally]) -> Tally:
    """Several tallies as one, its times in order."""
    total = Tally()
    for one in tallies:
        for name in ("calls", "refused", "succeeded", "failed", "interrupted", "cached", "tokens"):
            setattr(total, name, getattr(total, name) + getattr(one, name))
        total.times.extend(one.times)
        total.errors.update(one.errors)
    total.times = array("d", sorted(total.times))
    return total


class Counts:
    """Everything that was counted in one window, of one caller or (None) of all."""

    def __init__(self, window: PeriodSlots, caller: str | None) -> None:
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
        self.turns: Counter[str] = Counter()
        self.tool_turns: Counter[str] = Counter()
        """By caller, as a loop told them: how often models were asked, and how often they called a tool."""
        self.debugging: set[Asker] = set()
        self.diagnoses: dict[Asker, bool] = {}
        """Whether it was right; those that somebody has checked."""
        self._open: dict[int, Tally] = {}
        self._at_last_message: dict[Asker, int] = {}

    def by(self, part: Part) -> dict[str, Tally]:
        """The calls of each tool, provider, model or caller."""
        groups: dict[str, list[Tally]] = {}
        for key, tally in self.tallies.items():
            groups.setdefault(getattr(key, part), []).append(tally)
        return {name: add_tallies(tallies) for name, tallies in groups.items()}

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
        return sum(tally.calls for key, tally in self.tallies.items() if key.caller == caller and not key.refused)

    def close(self, tables: Tables) -> None:
        """Nothing more comes. What has begun, has not ended and runs in no living process was interrupted."""
        alive = set(tables.running()) if self._open else set[int]()
        for seq, tally in self._open.items():
            tally.interrupted += seq not in alive
        for tally in self.tallies.values():
            tally.times = array("d", sorted(tally.times))  # so that adding them up has only to merge them
        self.total = add_tallies(self.tallies.values())


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
_read_told = Decoder(HostNote).decode


# ── analytics ──
# How tools were used: the figures of the design's `ToolAnalytics`, and what else the audit tells.
#
# A call is a record `begin` or `refused`. Those that only passed through the proxy are counted apart: what came of them
# nobody knows here. `success_rate` is of all calls that have an outcome, refused ones included:
# what a caller met with. `run_success_rate` is of those that ran: how well the tools work.

Counted = TypeVar("Counted", str, tuple[str, str])

TOP: Final = 10
"""Tools in `top_tools`; `tool_breakdown` has them all."""
UNTOLD: Final = "not reported"
"""In place of a provider or a model that nobody told."""
EVERYONE: Final = "*"
"""In place of a caller, where all are counted together."""


class TopTool(Struct, frozen=True):
    tool: str
    count: int
    avg_time: float | None
    success_rate: float | None


class ErrorCount(Struct, frozen=True):
    tool: str
    error: str
    count: int


class Share(Struct, frozen=True):
    """The calls of one tool, or of one caller. Times in milliseconds; None where there is nothing to divide."""

    calls: int
    success_rate: float | None
    avg_time: float | None
    p95: float | None


class Repairs(Struct, frozen=True):
    """Calls of one tool, provider, model or caller, by how they were made to fit. Those that passed through the proxy
    are among them."""

    calls: int
    """= `direct` + `repaired` + `failed`"""
    direct: int
    """They fitted as they were written."""
    repaired: int
    failed: int
    """No strategy made them fit."""
    repair_rate: float
    """Of all calls, those that were repaired."""
    success_rate: float
    """Of all calls, those that fitted in the end (design 003): direct or repaired."""
    strategies: Mapping[str, int]
    """Of the repaired ones, how many by which."""


class Adoption(Struct, frozen=True):
    """Turns of models in the tool loop (design 002 §17)."""

    turns: int
    tool_turns: int
    """Those in which a tool was called."""
    rate: float | None


class Passed(Struct, frozen=True):
    """Calls that went from a model to its client through the proxy, which ran them or did not."""

    calls: int
    fates: Mapping[str, int]
    """right, repaired, lifted, left, unknown, repeated; would-repair and would-lift under `--mode observe`."""
    tools: Mapping[str, int]
    models: Mapping[str, int]
    callers: Mapping[str, int]


class Analytics(Struct, frozen=True):
    """One period, of one caller or (None) of all. Rates from 0 to 100, times in milliseconds; None: no such call."""

    caller: str | None
    period: Period
    since: str
    until: str
    total_calls: int
    """= `ran` + `refused` + `running`"""
    success_rate: float | None
    ran: int
    """= `succeeded` + `failed` + `interrupted`"""
    run_success_rate: float | None
    succeeded: int
    failed: int
    refused: int
    interrupted: int
    """Their process ended before they did."""
    running: int
    dry_runs: int
    """Calls that ran and changed nothing, since they were only to show what would happen."""
    waiting: int
    """Questions to a person. Not calls: once it is allowed, the call is made again."""
    avg_execution_time: float | None
    p95: float | None
    top_tools: tuple[TopTool, ...]
    errors: tuple[ErrorCount, ...]
    refusals: Mapping[str, int]
    """By rule."""
    limit_hits: int
    repairs: Mapping[str, int]
    """Calls that did not fit as they were written, by strategy; `failed` where none helped. Those that passed through
    the proxy are among them."""
    cached: int
    tokens: int
    timeline: tuple[int, ...]
    """Calls in each slot of the period, `period.SLOTS` long."""
    tool_breakdown: Mapping[str, Share]
    callers: Mapping[str, Share]
    """Empty when one caller was asked for."""
    passed: Passed
    """Not among `total_calls`."""
    providers: Mapping[str, Share] = {}
    """By the provider of the model that wrote the call; `UNTOLD` where nobody told."""
    repairs_by_tool: Mapping[str, Repairs] = {}
    repairs_by_provider: Mapping[str, Repairs] = {}
    repairs_by_model: Mapping[str, Repairs] = {}
    adoption: Adoption = Adoption(0, 0, None)
    adoption_by_caller: Mapping[str, Adoption] = {}
    """Those with the most turns first."""


def read_analytics(tables: Tables, *, period: Period, caller: str | None = None, now: str) -> Analytics:
    """The figures of the period that ends `now` (UTC, as the store's clock writes it)."""
    return analytics_of(count(tables, period=period, caller=caller, now=now))


def analytics_of(counts: Counts) -> Analytics:
    tools, everything = counts.by("tool"), counts.total
    refusals = counts.rules(refused=True)
    shares = {tool: _share(tally) for tool, tally in _largest(tools)}
    errors = {(tool, error): times for tool, tally in tools.items() for error, times in tally.errors.items()}
    return Analytics(
        caller=counts.caller,
        period=counts.window.period,
        since=counts.window.since,
        until=counts.window.until,
        total_calls=everything.calls,
        success_rate=_success_rate(everything),
        ran=everything.ran,
        run_success_rate=rate(everything.succeeded, everything.ran),
        succeeded=everything.succeeded,
        failed=everything.failed,
        refused=everything.refused,
        interrupted=everything.interrupted,
        running=everything.running,
        dry_runs=counts.rules(refused=False)["dry_run"],
        waiting=counts.waiting,
        avg_execution_time=mean(everything.times),
        p95=percentile(everything.times, 95),
        top_tools=tuple(
            TopTool(tool, share.calls, share.avg_time, share.success_rate) for tool, share in [*shares.items()][:TOP]
        ),
        errors=tuple(ErrorCount(tool, error, times) for (tool, error), times in _most_first(errors)),
        refusals=dict(_most_first(refusals)),
        limit_hits=sum(times for rule, times in refusals.items() if rule.startswith("limit:")),
        repairs={name: times for name, times in _most_first(counts.strategies()) if name != "direct"},
        cached=everything.cached,
        tokens=everything.tokens,
        timeline=tuple(counts.slots),
        tool_breakdown=shares,
        callers={} if counts.caller is not None else {who: _share(one) for who, one in _largest(counts.by("caller"))},
        passed=_passed(counts),
        providers={name or UNTOLD: _share(tally) for name, tally in _largest(counts.by("provider"))},
        repairs_by_tool=_repairs_by(counts, "tool"),
        repairs_by_provider=_repairs_by(counts, "provider"),
        repairs_by_model=_repairs_by(counts, "model"),
        adoption=_adoption(counts.turns.total(), counts.tool_turns.total()),
        adoption_by_caller={
            caller: _adoption(turns, counts.tool_turns[caller]) for caller, turns in _most_first(counts.turns)
        },
    )


def _adoption(turns: int, tool_turns: int) -> Adoption:
    return Adoption(turns, tool_turns, rate(tool_turns, turns))


def as_design(figures: Analytics) -> dict[str, Any]:
    """The same in exactly the shape of `ToolAnalytics` in design 002 §15. It knows no "none": that is 0 there."""
    return {
        "personaId": EVERYONE if figures.caller is None else figures.caller,
        "personaName": persona_name(figures.caller),
        "period": figures.period,
        "stats": {
            "totalCalls": figures.total_calls,
            "successRate": figures.success_rate or 0.0,
            "avgExecutionTime": figures.avg_execution_time or 0.0,
            "topTools": [
                {"tool": one.tool, "count": one.count, "avgTime": one.avg_time or 0.0} for one in figures.top_tools
            ],
            "errors": [asdict(one) for one in figures.errors],
        },
        "toolBreakdown": {
            tool: {"calls": one.calls, "successRate": one.success_rate or 0.0, "avgTime": one.avg_time or 0.0}
            for tool, one in figures.tool_breakdown.items()
        },
    }


def persona_name(caller: str | None) -> str:
    """A caller's id as a name for people.

    >>> persona_name("claude-assistant"), persona_name(None)
    ('Claude Assistant', 'All Callers')
    """
    if caller is None:
        return "All Callers"
    words = caller.replace("-", " ").replace("_", " ").split()
    return " ".join(word[0].upper() + word[1:] for word in words) or caller


def rate(part: int, whole: int) -> float | None:
    """In percent.

    >>> rate(1, 8), rate(0, 0)
    (12.5, None)
    """
    return 100 * part / whole if whole else None


def mean(times: Sequence[float]) -> float | None:
    return fsum(times) / len(times) if times else None


def percentile(ascending: Sequence[float], percent: int) -> float | None:
    """By nearest rank: the smallest of the values that at least `percent` of them do not exceed. Never interpolated,
    so it is a time that a call really took.

    >>> percentile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 95), percentile(range(1, 101), 95)
    (10, 95)
    """
    return ascending[-(len(ascending) * -percent // 100) - 1] if ascending else None


def _passed(counts: Counts) -> Passed:
    counters: tuple[Counter[str], ...] = Counter(), Counter(), Counter(), Counter()
    for key, times in counts.passed.items():
        names = key.rule.removeprefix("proxy:"), key.tool, key.model, key.caller
        for counter, name in zip(counters, names, strict=True):
            counter[name] += times
    return Passed(counts.passed.total(), *(dict(_most_first(counter)) for counter in counters))


def _repairs_by(counts: Counts, part: Part) -> dict[str, Repairs]:
    found = {name: _repairs(strategies) for name, strategies in counts.strategies_by(part).items()}
    return {name or UNTOLD: one for name, one in sorted(found.items(), key=lambda pair: (-pair[1].calls, pair[0]))}


def _repairs(strategies: Counter[str]) -> Repairs:
    calls, direct, failed = strategies.total(), strategies["direct"], strategies["failed"]
    return Repairs(
        calls=calls,
        direct=direct,
        repaired=calls - direct - failed,
        failed=failed,
        repair_rate=100 * (calls - direct - failed) / calls,
        success_rate=100 * (calls - failed) / calls,
        strategies={name: times for name, times in _most_first(strategies) if name not in ("direct", "failed")},
    )


def _success_rate(tally: Tally) -> float | None:
    return rate(tally.succeeded, tally.calls - tally.running)


def _share(tally: Tally) -> Share:
    return Share(tally.calls, _success_rate(tally), mean(tally.times), percentile(tally.times, 95))


def _largest(tallies: Mapping[str, Tally]) -> list[tuple[str, Tally]]:
    return sorted(tallies.items(), key=lambda pair: (-pair[1].calls, pair[0]))


def _most_first(counter: Mapping[Counted, int]) -> list[tuple[Counted, int]]:
    return sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))


# ── usage ──
# How tools were used, in the fields of design 002 §15: `ai/report` for the caller that asks, and never another's;
# `analytics/tool-usage` for any caller or all of them, with providers, models and repair rates.
#
# Rates are in percent, times in milliseconds; what cannot be divided yet is null. The call that asks is one of the
# calls, and still runs.

T = TypeVar("T")

USUAL: Final[Period] = "1day"
_MOST, _MOST_ERRORS = 50, 20


class Report(Struct, frozen=True, rename="camel", kw_only=True):
    """`ai/report`"""

    success: bool = True
    persona_id: str
    persona_name: str
    period: Period
    stats: dict[str, Any]
    tool_breakdown: dict[str, dict[str, Any]]
    """Of the tools that were called most."""


class Usage(Report, frozen=True, rename="camel", kw_only=True):
    """`analytics/tool-usage`. Everything is sorted by the number of calls, the largest first."""

    since: str
    until: str
    """UTC."""
    callers: dict[str, dict[str, Any]]
    """Empty where one was asked for."""
    adoption: dict[str, dict[str, Any]]
    """By caller: turns in the tool loop, and those in which a tool was called."""
    providers: dict[str, dict[str, Any]]
    repairs: dict[str, dict[str, dict[str, Any]]]
    """`byTool`, `byProvider` and `byModel`: calls that fitted, were repaired and failed to fit. Calls that went through
    the proxy to another program are among them, and among nothing else here."""
    truncated: bool
    """Whether there are more names than are listed."""


def own_report(store: Store, caller: str, period: Period = USUAL) -> Report:
    """The figures of the period that ends now."""
    figures = _figures(store, caller, period)
    return Report(
        persona_id=caller,
        persona_name=persona_name(caller),
        period=period,
        stats=_stats(figures),
        tool_breakdown=_each(figures.tool_breakdown, _share_usage),
    )


def tool_usage(store: Store, asking: str, persona: str | None, period: Period = USUAL, *, all_records: bool) -> Usage:
    """The figures of one persona, or (`*`, or None where the caller may see everybody's) of all. Whoever may only see
    its own records gets those, and for another name a ToolFailure: the same whether that name is known or not."""
    whom = persona if persona is not None else EVERYONE if all_records else asking
    if whom != asking and not all_records:
        raise ToolFailure(
            f"analytics/tool-usage: `personaId` is {render_json(whom, 100)}, but you may see your own usage only. "
            "Leave `personaId` out."
        )
    everybody = whom == EVERYONE and all_records  # a caller may be called `*`
    figures = _figures(store, None if everybody else whom, period)
    tables = (figures.tool_breakdown, figures.callers, figures.providers, figures.repairs_by_tool)
    return Usage(
        persona_id=whom,
        persona_name=persona_name(figures.caller),
        period=period,
        since=moment(figures.since),
        until=moment(figures.until),
        stats=_stats(figures)
        | {"refused": figures.refused, "limitHits": figures.limit_hits, "adoption": _adopted(figures.adoption)},
        tool_breakdown=_each(figures.tool_breakdown, _share_usage),
        callers=_each(figures.callers, _share_usage),
        adoption=_each(figures.adoption_by_caller, _adopted),
        providers=_each(figures.providers, _share_usage),
        repairs={
            "byTool": _each(figures.repairs_by_tool, _repaired),
            "byProvider": _each(figures.repairs_by_provider, _repaired),
            "byModel": _each(figures.repairs_by_model, _repaired),
        },
        truncated=any(len(table) > _MOST for table in (*tables, figures.repairs_by_model)),
    )


def _figures(store: Store, caller: str | None, period: Period) -> Analytics:
    return look_up(store, lambda tables: read_analytics(tables, period=period, caller=caller, now=tables.wall()))


def _each(named: Mapping[str, T], show: Any) -> dict[str, dict[str, Any]]:
    """Those with the most calls."""
    return {name or UNTOLD: show(one) for name, one in islice(named.items(), _MOST)}


def _stats(figures: Analytics) -> dict[str, Any]:
    return {
        "totalCalls": figures.total_calls,
        "successRate": _rounded(figures.success_rate),
        "avgExecutionTime": _rounded(figures.avg_execution_time),
        "topTools": [
            {"tool": one.tool, "count": one.count, "avgTime": _rounded(one.avg_time)} for one in figures.top_tools
        ],
        "errors": [asdict(one) for one in figures.errors[:_MOST_ERRORS]],
    }


def _share_usage(share: Share) -> dict[str, Any]:
    return {
        "calls": share.calls,
        "successRate": _rounded(share.success_rate),
        "avgTime": _rounded(share.avg_time),
    }


def _adopted(adoption: Adoption) -> dict[str, Any]:
    return {"turns": adoption.turns, "toolTurns": adoption.tool_turns, "rate": _rounded(adoption.rate)}


def _repaired(repairs: Repairs) -> dict[str, Any]:
    return {
        "calls": repairs.calls,
        "direct": repairs.direct,
        "repaired": repairs.repaired,
        "failed": repairs.failed,
        "repairRate": _rounded(repairs.repair_rate),
        "successRate": _rounded(repairs.success_rate),
        "strategies": dict(repairs.strategies),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
