"""How tools were used: calls, success, times, refusals, repairs, and the success metrics against their targets."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from typing import Any, Final, TextIO, cast

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from rightcall.base.text import escaped
from rightcall.cli import OK
from rightcall.cli.options import (
    InputError,
    database_of,
    json_option,
    look_into,
    open_store,
    pointed,
    policy_of,
    server_of,
    store_options,
    whole_number,
)
from rightcall.cli.persons import Row, Signs, chart, fit_columns, levels, moment, signs_for, waiting
from rightcall.cli.terminal import Style, Tint, is_unicode, many, pad, say, style_for, table, visible_width, wrap
from rightcall.errors import PolicyError, StoreError
from rightcall.gate.records import json_text
from rightcall.policy.types import rights_of
from rightcall.record.analytics import (
    UNTOLD,
    Analytics,
    ErrorCount,
    Metric,
    Passed,
    Repairs,
    analytics_of,
    as_design,
    metrics_of,
    persona_name,
    read_analytics,
)
from rightcall.record.calls import OBSERVED, Period
from rightcall.record.listing import Observed, read_observed
from rightcall.record.rollup.periods import count
from rightcall.record.tables import Store, Tables
from rightcall.record.value import PROMPT, Bounds, PackPeriod, Value, read_value

# ── the report ──
# The figures of `rightcall stats` for people: the design's widget with bars, and the metrics beside their targets.

PERIODS: Mapping[Period, str] = {"1hour": "Last hour", "1day": "Last 24h", "1week": "Last 7 days"}
_USUAL: Final[Period] = "1day"
_SLOTS: Mapping[Period, str] = {"1hour": "Each 5 min", "1day": "Each hour", "1week": "Each day"}
_RULE = 28  # as long as the design's
_MOST_ERRORS = 5
_LONGEST_ERROR = 120
_METRIC = 19  # columns of the longest name of a metric
_LEAST_HOW = 30  # columns below which what was counted stands on a line of its own
_MOST_CALLERS = 10
_MOST_MODELS = 5
_MOST_REPAIRED = 10
_NONE_OBSERVED = Observed()


def report(
    figures: Analytics, metrics: Sequence[Metric], style: Style, signs: Signs, observed: Observed = _NONE_OBSERVED
) -> list[str]:
    """Everything, section by section; a section without content is left out."""
    sections = [
        _head(figures, style, signs),
        _section("Top Tools:", _tools(figures, style, signs), style),
        _section("Callers:", _callers(figures, style, signs), style),
        _section("Through the Proxy:", _passed(figures.passed, style, signs), style),
        _section("Refusals by Rule:", _counted(figures.refusals, style, signs), style),
        _section("Mode Observe:", _describe_observed(observed, style, signs), style),
        _section("Repairs by Strategy:", _counted(figures.repairs, style, signs), style),
        _section("Repairs by Provider:", _by_provider(figures, style, signs), style),
        _section("Repairs by Tool:", _repaired(figures.repairs_by_tool, "tool", style, signs), style),
        _section("Errors:", _errors(figures.errors, style), style),
        _section("Success Metrics:", metric_lines(metrics, style, signs), style),
    ]
    lines = [line for section in sections if section for line in (*section, "")]
    return [line.rstrip() for line in lines[:-1]]


def title(caller: str | None, period: Period) -> str:
    return f"{escaped(persona_name(caller), 60)} - {PERIODS[period]}"


def _head(figures: Analytics, style: Style, signs: Signs) -> list[str]:
    words = title(figures.caller, figures.period)
    return [
        *(style.tint(piece, "bold") for piece in wrap(words, style.width)),
        style.tint(signs.rule * min(style.width, max(_RULE, visible_width(words))), "dim"),
        *_fact(f"Total Tool Calls: {figures.total_calls:,}", _kinds(figures), style),
        *_fact(f"Success Rate: {percent(figures.success_rate)}", _of_those_that_ran(figures), style),
        *_fact(f"Avg Execution: {duration(figures.avg_execution_time)}", f"p95 {duration(figures.p95)}", style),
        *(wrap(beside, style.width) if (beside := ", ".join(_beside(figures))) else ()),
        f"{_SLOTS[figures.period]}: {style.tint(levels(figures.timeline, signs), 'cyan')}",
    ]


def _fact(fact: str, more: str, style: Style) -> list[str]:
    """A figure with what it is made of beside it, or below where there is no room."""
    if not more:
        return [fact]
    if visible_width(fact) + visible_width(more) + 4 <= style.width:
        return [f"{fact}  {style.tint(f'({more})', 'dim')}"]
    return [fact, *(style.tint(f"  {piece}", "dim") for piece in wrap(f"({more})", style.width - 2))]


def _kinds(figures: Analytics) -> str:
    passed = f"{figures.passed.calls:,} more passed through the proxy" if figures.passed.calls else ""
    if figures.ran == figures.total_calls:
        return passed
    limits = f", {figures.limit_hits:,} of them by limits" if figures.limit_hits else ""
    parts = {"ran": figures.ran, "running": figures.running, "refused": figures.refused}
    said = ", ".join(f"{number:,} {word}" for word, number in parts.items() if number) + limits
    return f"{said}; {passed}" if passed else said


def _of_those_that_ran(figures: Analytics) -> str:
    if figures.run_success_rate is None or not figures.refused:
        return ""
    return f"of those that ran {percent(figures.run_success_rate)}"


def _beside(figures: Analytics) -> Iterable[str]:
    if figures.tokens:
        yield many(figures.tokens, "token")
    if figures.cached:
        yield f"{figures.cached:,} cached"
    if figures.dry_runs:
        yield many(figures.dry_runs, "dry run")
    if figures.interrupted:
        yield f"{figures.interrupted:,} interrupted"
    if figures.waiting:
        yield f"{figures.waiting:,} waited for a person"


def _section(heading: str, lines: list[str], style: Style) -> list[str]:
    return [style.tint(heading, "bold"), *lines] if lines else []


def _tools(figures: Analytics, style: Style, signs: Signs) -> list[str]:
    rows = [
        Row(f"{number}. {escaped(one.tool)}", one.count, _calls(one.count, one.success_rate, one.avg_time))
        for number, one in enumerate(figures.top_tools, 1)
    ]
    hidden = len(figures.tool_breakdown) - len(rows)
    return [*chart(rows, style, signs, indent=3), *_more(hidden, "tool", style)]


def _callers(figures: Analytics, style: Style, signs: Signs) -> list[str]:
    shares = list(figures.callers.items())
    rows = [
        Row(escaped(caller), share.calls, _calls(share.calls, share.success_rate, share.avg_time))
        for caller, share in shares[:_MOST_CALLERS]
    ]
    return [*chart(rows, style, signs, indent=2), *_more(len(shares) - len(rows), "caller", style)]


def _calls(number: int, success: float | None, time: float | None) -> str:
    """In the design's words; what is not known is left out."""
    rate = "" if success is None else f", {percent(success, 0)} success"
    return f"({many(number, 'call')}{rate}{'' if time is None else f', {duration(time)} avg'})"


def _counted(counts: Mapping[str, int], style: Style, signs: Signs) -> list[str]:
    return chart([Row(escaped(name), number, f"{number:,}") for name, number in counts.items()], style, signs)


def _describe_observed(observed: Observed, style: Style, signs: Signs) -> list[str]:
    """Calls that ran because nothing is refused there yet: what would have become of them."""
    if not observed.calls:
        return []
    least = "" if observed.complete else "at least "
    numbers = [sum(rules.values()) for rules in (observed.refused, observed.asked)]
    said = f"{least}{many(observed.calls, 'call')}: {numbers[0]:,} would be refused, {numbers[1]:,} asked about"
    lines = wrap(said, style.width)
    for word, rules in (("refuse", observed.refused), ("ask", observed.asked)):
        rows = [Row(escaped(rule, 60), times, f"{times:,}") for rule, times in rules.items()]
        lines += [f"would {word}:", *chart(rows, style, signs, indent=2)] if rows else []
    return lines


def _by_provider(figures: Analytics, style: Style, signs: Signs) -> list[str]:
    """Left out where nobody told the provider: it would say the same as the whole."""
    named = figures.repairs_by_provider
    return _repaired(named, "provider", style, signs) if any(name != UNTOLD for name in named) else []


def _repaired(named: Mapping[str, Repairs], word: str, style: Style, signs: Signs) -> list[str]:
    """Those of which a call was repaired or could not be."""
    found = [(name, one) for name, one in named.items() if one.repaired or one.failed]
    rows = [Row(escaped(name, 60), one.repair_rate, _rates(one)) for name, one in found[:_MOST_REPAIRED]]
    return [*chart(rows, style, signs, indent=2), *_more(len(found) - len(rows), word, style)]


def _rates(one: Repairs) -> str:
    failed = f", {percent(100 - one.success_rate, 0)} failed" if one.failed else ""
    return f"({many(one.calls, 'call')}, {percent(one.repair_rate, 0)} repaired{failed})"


def _passed(passed: Passed, style: Style, signs: Signs) -> list[str]:
    """Calls that a client may have run: what became of them on their way, and which models wrote them."""
    if not passed.calls:
        return []
    models = [f"{escaped(name or '(not named)', 60)} {number:,}" for name, number in passed.models.items()]
    more = f" and {many(len(models) - _MOST_MODELS, 'more model')}" if len(models) > _MOST_MODELS else ""
    said = f"{many(passed.calls, 'call')}, by model: {', '.join(models[:_MOST_MODELS])}{more}"
    return [*wrap(said, style.width), *_counted(passed.fates, style, signs)]


def _errors(errors: Sequence[ErrorCount], style: Style) -> list[str]:
    lines: list[str] = []
    for one in errors[:_MOST_ERRORS]:
        text = f"{one.count:,}x {escaped(one.tool, 40)}: {escaped(one.error, _LONGEST_ERROR)}"
        first, *rest = wrap(text, style.width - 3)
        lines += [first, *("   " + piece for piece in rest)]
    return [*lines, *_more(len(errors) - _MOST_ERRORS, "error", style)]


def _more(number: int, word: str, style: Style) -> list[str]:
    return [style.tint(f"and {many(number, f'more {word}')}; --json has them all", "dim")] if number > 0 else []


def metric_lines(metrics: Sequence[Metric], style: Style, signs: Signs) -> list[str]:
    """A line for each where there is room, else a few."""
    wide = style.width >= 2 + _METRIC + 2 + 7 + 2 + 4 + 2 + 12
    draw: Callable[[Metric, Style, Signs], list[str]] = _metric_row if wide else _metric_block
    return [line for metric in metrics for line in draw(metric, style, signs)]


def _metric_row(metric: Metric, style: Style, signs: Signs) -> list[str]:
    sign, word, tint = _state(metric, signs)
    name = f"{style.tint(sign, tint)} {pad(metric.name, _METRIC)}"
    row = f"{name}  {_value(metric, signs):>7}  {metric.target:<4}  {style.tint(pad(word, 12), tint)}"
    left = visible_width(row) + 2
    if style.width - left < _LEAST_HOW:
        return [row, *(style.tint(f"  {piece}", "dim") for piece in wrap(metric.how, style.width - 2))]
    first, *rest = [style.tint(piece, "dim") for piece in wrap(metric.how, style.width - left)]
    return [f"{row}  {first}", *(" " * left + piece for piece in rest)]


def _metric_block(metric: Metric, style: Style, signs: Signs) -> list[str]:
    sign, word, tint = _state(metric, signs)
    value = "" if metric.value is None else f"{_value(metric, signs)}, "
    return [
        fit_columns(f"{style.tint(sign, tint)} {metric.name}: {style.tint(word, tint)}", style.width, signs),
        f"  {value}target {metric.target}",
        *(style.tint(f"  {piece}", "dim") for piece in wrap(metric.how, style.width - 2)),
    ]


def _state(metric: Metric, signs: Signs) -> tuple[str, str, Tint]:
    if metric.met is None:
        return signs.unknown, metric.missing, "dim"
    return (signs.passed, "pass", "green") if metric.met else (signs.missed, "miss", "red")


def _value(metric: Metric, signs: Signs) -> str:
    if metric.value is None:
        return signs.unknown
    if metric.unit == "%":
        return percent(metric.value)
    if metric.unit == "s":
        return duration(metric.value * 1000)
    return f"{metric.value:,.2f}".rstrip("0").rstrip(".")


def percent(value: float | None, digits: int = 1) -> str:
    """Rounded, but never up to 100 or down to 0 where that would hide something.

    >>> percent(94.49), percent(99.99), percent(0.001), percent(100), percent(98.2, 0)
    ('94.5%', '99.9%', '0.1%', '100.0%', '98%')
    """
    if value is None:
        return "-"
    least = 10**-digits
    rounded = round(value, digits)
    if 0 < value < 100:
        rounded = min(max(rounded, least), 100 - least)
    return f"{rounded:.{digits}f}%"


def duration(milliseconds: float | None) -> str:
    """A time in a few characters.

    >>> duration(0.42), duration(234.4), duration(12_340), duration(None)
    ('0.4ms', '234ms', '12.3s', '-')
    """
    if milliseconds is None:
        return "-"
    if milliseconds >= 10_000:
        return f"{milliseconds / 1000:,.1f}s"
    return f"{milliseconds:.1f}ms" if milliseconds < 10 else f"{milliseconds:.0f}ms"


EXAMPLES = """\
examples:
  rightcall stats
  rightcall stats --as teacher --period 1week
  rightcall stats --period 1hour --watch
  rightcall stats --value --since 30d
  rightcall stats --json
"""

EVERY = 2.0
"""Seconds between two looks of --watch."""
_MOST_NAMES = 8


class Look(Struct, frozen=True):
    """What one look into the store found."""

    figures: Analytics
    metrics: list[Metric]
    last: str | None
    """When the last call was recorded, whichever period that is in; None when there was none."""
    callers: tuple[str, ...] = ()
    """Who else called in this period; looked for only where the one that was asked for did not."""
    observed: Observed = _NONE_OBSERVED

    @property
    def empty(self) -> bool:
        told = any(metric.value is not None for metric in self.metrics)
        figures = self.figures
        return not told and not figures.total_calls and not figures.waiting and not figures.passed.calls


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--as", dest="caller", metavar="CALLER", help="Count only the calls of this caller (default: all)"
    )
    parser.add_argument("--period", choices=list(PERIODS), help=f"Count this long back from now (default: {_USUAL})")
    parser.add_argument("--value", action="store_true", help="Show what would have failed without RightCall instead")
    parser.add_argument("--since", metavar="WHEN", help="With --value: since a date or a time ago (default: 7d)")
    parser.add_argument(
        "--prompt-tokens", metavar="N", type=whole_number("tokens"),
        help=f"With --value: tokens of the prompt that a retry sends again (default: {PROMPT})",
    )  # fmt: skip
    parser.add_argument("--watch", action="store_true", help=f"Refresh every {EVERY:g} seconds until Ctrl-C")
    json_option(parser)
    store_options(parser)


def budgets(store: "Store", options: Namespace) -> list[dict[str, Any]]:
    """What callers with a budget have used up today. A policy that cannot be read keeps nobody from the figures."""
    try:
        settings = policy_of(options).settings
    except PolicyError:
        return []
    spent = {one.caller: one for one in store.look(lambda tables: tables.spending())}
    found: list[dict[str, Any]] = []
    for caller in sorted({*spent, *settings.callers} if options.caller is None else {options.caller}):
        rights = rights_of(settings, caller)
        used = spent.get(caller)
        if rights.calls_per_day or rights.tokens_per_day:
            found.append(
                {"caller": caller, "calls": used.calls if used else 0, "calls_per_day": rights.calls_per_day or None,
                 "tokens": used.tokens if used else 0, "tokens_per_day": rights.tokens_per_day or None}
            )  # fmt: skip
    return found


def budget_lines(found: list[dict[str, Any]], style: Style) -> list[str]:
    if not found:
        return []
    lines = ["", style.tint("Budgets Today:", "bold")]
    for one in found:
        words = [
            f"{one[kind]:,} of {one[f'{kind}_per_day']:,} {kind}"
            for kind in ("calls", "tokens")
            if one[f"{kind}_per_day"]
        ]
        lines.append(f"  {escaped(one['caller'], 40)}: {', '.join(words)}")
    return [*lines, "  They reset at 00:00 UTC."]


def run(options: Namespace) -> int:
    if options.since is not None and not options.value:
        raise InputError("`--since` needs `--value`; for the other figures pass `--period`")
    if options.prompt_tokens is not None and not options.value:
        raise InputError("`--prompt-tokens` needs `--value`")
    if options.period is not None and options.value:
        raise InputError("`--period` and `--value` cannot be combined; pass `--since`, such as `--since 1d`")
    with closing(_opened(options)) as store:
        if options.watch:
            watch(lambda: _lines(store, options), sys.stdout)
        else:
            with waiting(lambda seconds: f"Counting the records … {seconds:.0f} s", every=1.0):
                lines = _lines(store, options)
            say(*lines)
    return OK


def _opened(options: Namespace) -> "Store":
    """Where nothing can be written, what is recorded can be read all the same."""
    try:
        return open_store(options)
    except StoreError as error:
        if error.fault not in ("read-only", "denied"):
            raise
        return cast("Store", look_into(options))


def _lines(store: "Store", options: Namespace) -> list[str]:
    if options.value:
        return value_lines(store, options)
    found = store.look(lambda tables: look(tables, options.period or _USUAL, options.caller))
    limited = budgets(store, options)
    if options.json:
        told = record(found) | ({"budgets": limited} if limited else {})
        return [json_text(told, ascii_only=not is_unicode(sys.stdout))]
    style, where = style_for(sys.stdout), server_of(options) or database_of(options)
    lines = [pointed(line, options) for line in drawn(found, style, signs_for(sys.stdout), where)]
    return [*lines, *budget_lines(limited, style)]


def look(tables: "Tables", period: Period, caller: str | None) -> Look:
    """One pass over the period up to now; a second one only to say who else there is."""
    now = tables.wall()
    counts = count(tables, period=period, caller=caller, now=now)
    newest = tables.newest(1, ("begin", "refused", "proxied"))
    found = Look(analytics_of(counts), metrics_of(counts), newest[0].at if newest else None)
    if counts.rules(refused=False)[OBSERVED]:
        window = counts.window
        found = replace(found, observed=read_observed(tables, since=window.since, until=window.until, caller=caller))
    if caller is None or not found.empty or not newest:
        return found
    others = read_analytics(tables, period=period, now=now)
    return Look(found.figures, found.metrics, found.last, tuple({**others.callers, **others.passed.callers}))


def record(found: Look) -> dict[str, Any]:
    """What `--json` prints: our figures, the metrics, and the same figures in the design's shape."""
    figures: dict[str, Any] = to_builtins(found.figures)
    told = {"analytics": figures, "metrics": to_builtins(found.metrics), "toolAnalytics": as_design(found.figures)}
    return told | ({"observed": to_builtins(found.observed)} if found.observed.calls else {})


def drawn(found: Look, style: Style, signs: Signs, where: str = "") -> list[str]:
    """What people see."""
    if found.empty:
        lines = _nothing(found, where)
        return [line for text in lines for line in ([text] if "`" in text else wrap(text, style.width))]
    return report(found.figures, found.metrics, style, signs, found.observed)


def _nothing(found: Look, where: str) -> list[str]:
    """There is nothing to show: why, and what to try."""
    if found.last is None:
        return [
            f"No calls are recorded yet{f' in {escaped(where)}' if where else ''}.",
            "Record one: `rightcall run ping '{}'`. Or send requests through the proxy: `rightcall serve`.",
            "To look elsewhere, pass `--store FILE`, `--policy FILE` or `--root DIR`.",
        ]
    heading = f"{title(found.figures.caller, found.figures.period)}: no calls."
    if found.callers:
        names = [escaped(name, 40) for name in found.callers[:_MOST_NAMES]]
        more = len(found.callers) - len(names)
        return [heading, f"Callers in this period: {', '.join(names)}{f' and {more:,} more' if more else ''}."]
    ago = datetime.fromisoformat(found.figures.until) - datetime.fromisoformat(found.last)
    helps = found.last < found.figures.since and ago < timedelta(7)
    advice = "; try --period 1week" if helps and found.figures.period != "1week" else ""
    return [heading, f"The last call was recorded on {found.last} UTC{advice}."]


def watch(draw: Callable[[], list[str]], stream: TextIO, pause: Callable[[float], object] | None = None) -> None:
    """Draws again and again, until the user interrupts it. On a terminal each look takes the place of the last."""
    if pause is None:
        from time import sleep as pause
    first = True
    while True:
        lines = draw()
        if stream.isatty():
            stream.write(("\x1b[2J" if first else "") + on_screen(lines, stream))
        else:
            gap = "" if first or len(lines) == 1 else "\n"
            stream.write(gap + "".join(f"{line}\n" for line in lines))
        stream.flush()
        first = False
        pause(EVERY)


def on_screen(lines: list[str], stream: TextIO) -> str:
    """Lines from the top of the screen on, as many as it has; what stood there before goes."""
    try:
        height = os.get_terminal_size(stream.fileno()).lines
    except (OSError, ValueError):
        height = 0
    shown = lines[: height - 1] if height > 1 else lines
    return "\x1b[H" + "".join(f"{line}\x1b[K\n" for line in shown) + "\x1b[J"


# ── --value ──
# What RightCall was worth, each figure between two bounds.

_WEEK = "7d"
_MOST_ROWS = 8
_MOST_PACKS = 6


def value_lines(store: Store, options: Namespace) -> list[str]:
    """What `--value` prints."""
    begin = moment(_WEEK if options.since is None else options.since, "--since")
    prompt = PROMPT if options.prompt_tokens is None else options.prompt_tokens
    found = store.look(lambda tables: read_value(tables, begin, caller=options.caller, prompt=prompt))
    if found.since > found.until:
        raise InputError("`--since` lies in the future")
    if options.json:
        return [json_text({"value": to_builtins(found)}, ascii_only=not is_unicode(sys.stdout))]
    return report_value(found, style_for(sys.stdout))


def report_value(found: Value, style: Style) -> list[str]:
    total, saved = found.total, found.saved
    heading = style.tint(f"Without RightCall, from {_day(found.since)} to {_day(found.until)} UTC", "bold")
    if not total.calls:
        return [heading, "No calls are recorded in this period. Try `--since 30d`."]
    lines = [
        heading,
        f"Calls that would have failed: {between(total)} of {total.calls:,} ({_share(total)})",
        f"Right as written: {total.right:,}. Not repaired either: {total.failed:,}.",
        f"Retries saved: {_range(saved.retries_at_least, saved.retries_at_most)}",
        f"Tokens saved: {_range(saved.tokens_at_least, saved.tokens_at_most)}",
    ]
    for name, parts in (("Model", found.models), ("Provider", found.providers), ("Tool", found.tools)):
        lines += _part(name, parts, style)
    lines += _packs(found.packs, style)
    return [*lines, "", *_how(found, style)]


def summary(found: Value) -> str:
    """One line of it, for other commands."""
    calls = many(found.total.calls, "call")
    return f"{between(found.total)} of {calls} since {found.since[:10]} would have failed without RightCall"


def between(bounds: Bounds) -> str:
    return _range(bounds.at_least, bounds.at_most)


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _share(bounds: Bounds) -> str:
    low, high = (round(100 * one / bounds.calls, 1) for one in (bounds.at_least, bounds.at_most))
    return f"{low:g} %" if low == high else f"{low:g} to {high:g} %"


def _day(at: str) -> str:
    return at[:16]


def _part(name: str, parts: Mapping[str, Bounds], style: Style) -> list[str]:
    """Left out where nobody told the name: it would say the same as the whole."""
    helped = {one: bounds for one, bounds in parts.items() if bounds.at_most or bounds.failed}
    if not helped or set(helped) == {""}:
        return []
    rows = [
        (escaped(one or UNTOLD, 40), f"{bounds.calls:,}", between(bounds), f"{bounds.failed:,}")
        for one, bounds in list(helped.items())[:_MOST_ROWS]
    ]
    hidden = len(helped) - len(rows)
    more = [style.tint(f"and {many(hidden, 'more')}; --json has them all", "dim")] if hidden else []
    return ["", *table((name, "calls", "would have failed", "not repaired"), rows, style), *more]


def _packs(packs: tuple[PackPeriod, ...], style: Style) -> list[str]:
    if len(packs) < 2:
        return []
    rows = [
        (one.packs[:8] or "(none)", _day(one.since), f"{one.calls:,}", _percent(one.right, one.calls),
         _percent(one.repaired, one.calls), _percent(one.failed, one.calls))
        for one in packs[-_MOST_PACKS:]
    ]  # fmt: skip
    return ["", *table(("Rule packs", "since", "calls", "right", "repaired", "failed"), rows, style)]


def _percent(some: int, calls: int) -> str:
    return f"{100 * some / calls:.1f} %"


def _how(found: Value, style: Style) -> list[str]:
    saved = found.saved
    proof = "all records of the period" if found.complete else f"the records since {_day(found.proven_since)}"
    tries = (
        f"the higher one assumes {saved.tries:g}, the average of {many(saved.sequences, 'recorded case')}"
        if saved.sequences
        else "so does the higher one, because no retry was recorded"
    )
    said = (
        f"Calls: the lower figure counts calls that strict JSON or the schema would certainly refuse, in {proof}; "
        "the higher one counts every call that was not right as written. "
        f"Retries: the lower figure assumes one retry for each of these calls; {tries}. "
        "Tokens: the lower figure counts writing these calls again; the higher one adds an estimated "
        f"{saved.prompt:,} tokens of prompt for each retry (--prompt-tokens N)."
    )
    return [style.tint(line, "dim") for line in wrap(said, style.width)]
