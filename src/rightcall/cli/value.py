"""The report of `rightcall stats --value`: what RightCall was worth, each figure between two bounds."""

import sys
from argparse import Namespace
from collections.abc import Mapping

from msgspec import to_builtins

from rightcall.base.text import escaped
from rightcall.cli.persons import moment
from rightcall.cli.terminal import Style, is_unicode, many, style_for, table, wrap
from rightcall.gate.records import json_text
from rightcall.record.analytics import UNTOLD
from rightcall.record.tables import Store
from rightcall.record.value import PROMPT, Bounds, PackPeriod, Value, read_value

_WEEK = "7d"
_MOST_ROWS = 8
_MOST_PACKS = 6


def value_lines(store: Store, options: Namespace) -> list[str]:
    """What `--value` prints."""
    found = read(
        store,
        options.since or _WEEK,
        options.caller,
        PROMPT if options.prompt_tokens is None else options.prompt_tokens,
    )
    if options.json:
        return [json_text({"value": to_builtins(found)}, ascii_only=not is_unicode(sys.stdout))]
    return report_value(found, style_for(sys.stdout))


def read(store: Store, since: str, caller: str | None, prompt: int) -> Value:
    begin = moment(since, "--since")
    return store.look(lambda tables: read_value(tables, begin, caller=caller, prompt=prompt))


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
