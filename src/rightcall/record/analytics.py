"""How tools were used: the figures of the design's `ToolAnalytics`, what else the audit tells, and the seven success
metrics of design 002 §17, each against its target, with what was counted for it.

A call is a record `begin` or `refused`. Those that only passed through the proxy are counted apart: what came of them
nobody knows here. `success_rate` is of all calls that have an outcome, refused ones included:
what a caller met with. `run_success_rate` is of those that ran: how well the tools work.

Four of the metrics come from the calls alone. Adoption, depth and accuracy need what only the host knows (`notes.py`):
where it told nothing, they have no value, and nobody guesses one.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from rightcall.base.text import render_json
from rightcall.errors import ToolFailure
from rightcall.record.browse import look_up, moment
from rightcall.record.calls import LIFTED, Period
from rightcall.record.counts import Counts, Part, Tally
from rightcall.record.rollup.periods import count
from rightcall.record.tables import Store, Tables

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
    """= `direct` + `lifted` + `repaired` + `failed`"""
    direct: int
    """Right as written: a tool call of the API whose name and arguments needed no repair."""
    lifted: int
    """Right, but written into the text, and taken out of it."""
    repaired: int
    failed: int
    """No strategy made them fit."""
    repair_rate: float
    """Of all calls, those that were repaired."""
    success_rate: float
    """Of all calls, those that fitted in the end (design 003): direct, lifted or repaired."""
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
    timeline: tuple[int, ...] = ()
    """Calls in each slot of the period."""


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
        avg_execution_time=everything.times.mean(),
        p95=everything.times.percentile(95),
        top_tools=tuple(
            TopTool(tool, share.calls, share.avg_time, share.success_rate) for tool, share in [*shares.items()][:TOP]
        ),
        errors=tuple(ErrorCount(tool, error, times) for (tool, error), times in _most_first(errors)),
        refusals=dict(_most_first(refusals)),
        limit_hits=sum(times for rule, times in refusals.items() if rule.startswith("limit:")),
        repairs={name: times for name, times in _most_first(everything.strategies) if name not in ("direct", LIFTED)},
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


def _passed(counts: Counts) -> Passed:
    fates: Counter[str] = Counter()
    for rule, times in counts.ruled["proxied"].items():
        fates[rule.removeprefix("proxy:")] += times
    counters = (fates, *(counts.passed_by(part) for part in ("tool", "model", "caller")))
    named = (dict(_most_first(counter)) for counter in counters)
    return Passed(counts.total.proxied, *named, timeline=tuple(counts.passed_slots))


def _repairs_by(counts: Counts, part: Part) -> dict[str, Repairs]:
    found = {name: repairs_of(strategies) for name, strategies in counts.strategies_by(part).items()}
    return {name or UNTOLD: one for name, one in sorted(found.items(), key=lambda pair: (-pair[1].calls, pair[0]))}


def repairs_of(strategies: Counter[str]) -> Repairs:
    """Of at least one call."""
    calls, direct, failed, lifted = strategies.total(), *(strategies[one] for one in _NO_REPAIR)
    repaired = calls - direct - lifted - failed
    return Repairs(
        calls=calls,
        direct=direct,
        lifted=lifted,
        repaired=repaired,
        failed=failed,
        repair_rate=100 * repaired / calls,
        success_rate=100 * (calls - failed) / calls,
        strategies={name: times for name, times in _most_first(strategies) if name not in _NO_REPAIR},
    )


_NO_REPAIR = ("direct", "failed", LIFTED)


def _success_rate(tally: Tally) -> float | None:
    return rate(tally.succeeded, tally.calls - tally.running)


def _share(tally: Tally) -> Share:
    return Share(tally.calls, _success_rate(tally), tally.times.mean(), tally.times.percentile(95))


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
        "lifted": repairs.lifted,
        "repaired": repairs.repaired,
        "failed": repairs.failed,
        "repairRate": _rounded(repairs.repair_rate),
        "successRate": _rounded(repairs.success_rate),
        "strategies": dict(repairs.strategies),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


# ── the success metrics ──

NO_CALLS: Final = "no calls"

Unit = Literal["%", "s", ""]


class Metric(Struct, frozen=True):
    """One figure against its target. `met` is None where there is no value; `missing` then says why in two words."""

    name: str
    value: float | None
    target: str
    """In the design's words, such as `>50%`."""
    met: bool | None
    how: str
    """What was counted, or what would have to be told."""
    unit: Unit = ""
    missing: str = ""


def read_metrics(tables: Tables, *, period: Period, caller: str | None = None, now: str) -> list[Metric]:
    """The metrics of the period that ends `now` (UTC, as the store's clock writes it)."""
    return metrics_of(count(tables, period=period, caller=caller, now=now))


def metrics_of(counts: Counts) -> list[Metric]:
    everything, refusals = counts.total, counts.rules(refused=True)
    return [
        _adoption_metric(counts),
        _depth(counts),
        _accuracy(counts),
        _success(everything),
        _response_time(everything),
        _limit_hits(refusals, everything),
        _violations(refusals, counts.rules(refused=False), everything),
    ]


def _adoption_metric(counts: Counts) -> Metric:
    """Messages in which a tool ran, of all messages."""
    how = f"{counts.messages_with_tools:,} of {_many(counts.messages, 'message')} used tools"
    value = rate(counts.messages_with_tools, counts.messages)
    return _percent("Tool Adoption", value, 50, how, ("the host has to call note_message", UNTOLD))


def _depth(counts: Counts) -> Metric:
    """Calls that ran for each debugging task. A task is a caller's context that was noted as `debug`."""
    name, target, tasks = "Investigation Depth", "3+", len(counts.debugging)
    if not tasks:
        return Metric(name, None, target, None, 'the host has to call note_message with task="debug"', missing=UNTOLD)
    calls = sum(counts.begun.get(task, 0) for task in counts.debugging)
    how = f"{_many(calls, 'call')} in {_many(tasks, 'debugging task')}"
    return Metric(name, calls / tasks, target, calls / tasks >= 3, how)


def _accuracy(counts: Counts) -> Metric:
    """Diagnoses that turned out right, of those that a person has checked."""
    right, checked = sum(counts.diagnoses.values()), len(counts.diagnoses)
    how = f"{right:,} of {checked:,} checked {'diagnosis' if checked == 1 else 'diagnoses'} right"
    missing = "the host has to call note_diagnosis", UNTOLD
    return _percent("Diagnosis Accuracy", rate(right, checked), 70, how, missing)


def _success(everything: Tally) -> Metric:
    """Of what ran. A refused call is no failure of a tool."""
    how = f"{everything.succeeded:,} of {_many(everything.ran, 'call')} that ran succeeded"
    value = rate(everything.succeeded, everything.ran)
    return _percent("Tool Success Rate", value, 90, how, ("no call has run", NO_CALLS))


def _response_time(everything: Tally) -> Metric:
    """The mean, in seconds."""
    name, target, milliseconds = "Response Time", "<2s", everything.times.mean()
    if milliseconds is None:
        return Metric(name, None, target, None, "no call has come to its end", "s", NO_CALLS)
    how = f"mean of {_many(len(everything.times), 'call')}"
    return Metric(name, milliseconds / 1000, target, milliseconds / 1000 < 2, how, "s")


def _limit_hits(refusals: Counter[str], everything: Tally) -> Metric:
    """Calls refused by a limit, of all calls."""
    hits = _with(refusals, "limit:")
    how = f"{hits:,} of {_many(everything.calls, 'call')} refused by a limit"
    return _percent("Rate Limit Hits", rate(hits, everything.calls), -5, how, ("no call was made", NO_CALLS))


def _violations(refusals: Counter[str], permissions: Counter[str], everything: Tally) -> Metric:
    """Calls that began although a path rule decided about them: such a rule only ever refuses, so a single one means
    that the policy did not hold. What a tool opened by itself is not in the audit, and not measured here."""
    name, target, outside = "Security Violations", "0", refusals["path:outside"]
    if not everything.calls:
        return Metric(name, None, target, None, "no call was made", missing=NO_CALLS)
    through = _with(permissions, "path:")
    how = f"{through:,} let through, {_with(refusals, 'path:'):,} refused by path rules"
    if outside:
        how += f" ({outside:,} outside the root)"
    return Metric(name, float(through), target, through == 0, how)


def _percent(name: str, value: float | None, bound: int, how: str, missing: tuple[str, str]) -> Metric:
    """A share that is to be above a bound, or below a negative one. `missing`: what to say where there is no value."""
    target = f"<{-bound}%" if bound < 0 else f">{bound}%"
    if value is None:
        return Metric(name, None, target, None, missing[0], "%", missing[1])
    return Metric(name, value, target, value < -bound if bound < 0 else value > bound, how, "%")


def _with(rules: Counter[str], prefix: str) -> int:
    return sum(times for rule, times in rules.items() if rule.startswith(prefix))


def _many(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
