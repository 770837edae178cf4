"""How tools were used: the figures of the design's `ToolAnalytics`, and what else the audit tells.

A call is a record `begin` or `refused`. Those that only passed through the proxy are counted apart: what came of them
nobody knows here. `success_rate` is of all calls that have an outcome, refused ones included:
what a caller met with. `run_success_rate` is of those that ran: how well the tools work.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any, Final, TypeVar

from msgspec import Struct

from rightcall.record.counting import Counts, Part, Tally, count
from rightcall.record.period import Period
from rightcall.record.tables import Tables

Key = TypeVar("Key", str, tuple[str, str])

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


class Passed(Struct, frozen=True):
    """Calls that went from a model to its client through the proxy, which ran them or did not."""

    calls: int
    fates: Mapping[str, int]
    """right, repaired, lifted, left, unknown, repeated; would-repair and would-lift under `--observe`."""
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


def analytics(tables: Tables, *, period: Period, caller: str | None = None, now: str) -> Analytics:
    """The figures of the period that ends `now` (UTC, as the store's clock writes it)."""
    return analytics_of(count(tables, period=period, caller=caller, now=now))


def analytics_of(counts: Counts) -> Analytics:
    tools, everything = counts.by_tool(), counts.total
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
        callers={} if counts.caller is not None else {who: _share(one) for who, one in _largest(counts.by_caller())},
        passed=_passed(counts),
        providers={name or UNTOLD: _share(tally) for name, tally in _largest(counts.by_provider())},
        repairs_by_tool=_repairs_by(counts, "tool"),
        repairs_by_provider=_repairs_by(counts, "provider"),
        repairs_by_model=_repairs_by(counts, "model"),
    )


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
            "errors": [{"tool": one.tool, "error": one.error, "count": one.count} for one in figures.errors],
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
    fates: Counter[str] = Counter()
    tools: Counter[str] = Counter()
    models: Counter[str] = Counter()
    callers: Counter[str] = Counter()
    for key, times in counts.passed.items():
        fates[key.rule.removeprefix("proxy:")] += times
        tools[key.tool] += times
        models[key.model] += times
        callers[key.caller] += times
    named = (dict(_most_first(counter)) for counter in (fates, tools, models, callers))
    return Passed(counts.passed.total(), *named)


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


def _most_first(counter: Mapping[Key, int]) -> list[tuple[Key, int]]:
    return sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
