"""How tools were used: calls, success, times, refusals, repairs, and the success metrics against their targets."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from msgspec import Struct, to_builtins

from rightcall.cli import OK
from rightcall.cli.bars import Signs, signs_for
from rightcall.cli.options import json_option
from rightcall.cli.output import is_unicode, json_text
from rightcall.cli.stats_report import PERIODS, report, title
from rightcall.cli.store_options import open_store, store_options
from rightcall.cli.terminal import Style, say, style_for, wrap
from rightcall.record.analytics import Analytics, analytics, analytics_of, as_design
from rightcall.record.counting import count
from rightcall.record.metrics import Metric, metrics_of
from rightcall.record.period import Period
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.record.tables import Store, Tables

EXAMPLES = """\
examples:
  rightcall stats
  rightcall stats --as teacher --period 1week
  rightcall stats --period 1hour --watch
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

    @property
    def empty(self) -> bool:
        told = any(metric.value is not None for metric in self.metrics)
        figures = self.figures
        return not told and not figures.total_calls and not figures.waiting and not figures.passed.calls


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--as", dest="caller", metavar="CALLER", help="only the calls of this caller (default: of all)")
    parser.add_argument(
        "--period", choices=list(PERIODS), default="1day", help="how far back from now (default: %(default)s)"
    )
    parser.add_argument("--watch", action="store_true", help=f"look again every {EVERY:g} seconds, until Ctrl-C")
    json_option(parser, "all figures")
    store_options(parser)


def run(options: Namespace) -> int:
    store = open_store(options)
    try:
        if options.watch:
            watch(lambda: _lines(store, options), sys.stdout)
        else:
            say(*_lines(store, options))
    finally:
        store.close()
    return OK


def _lines(store: "Store", options: Namespace) -> list[str]:
    found = store.look(lambda tables: look(tables, options.period, options.caller))
    if options.json:
        return [json_text(record(found), ascii_only=not is_unicode(sys.stdout))]
    return drawn(found, style_for(sys.stdout), signs_for(sys.stdout))


def look(tables: "Tables", period: Period, caller: str | None) -> Look:
    """One pass over the period up to now; a second one only to say who else there is."""
    now = tables.wall()
    counts = count(tables, period=period, caller=caller, now=now)
    newest = tables.newest(1, ("begin", "refused", "proxied"))
    found = Look(analytics_of(counts), metrics_of(counts), newest[0].at if newest else None)
    if caller is None or not found.empty or not newest:
        return found
    others = analytics(tables, period=period, now=now)
    return Look(found.figures, found.metrics, found.last, tuple({**others.callers, **others.passed.callers}))


def record(found: Look) -> dict[str, Any]:
    """What `--json` prints: our figures, the metrics, and the same figures in the design's shape."""
    figures: dict[str, Any] = to_builtins(found.figures)
    return {"analytics": figures, "metrics": to_builtins(found.metrics), "toolAnalytics": as_design(found.figures)}


def drawn(found: Look, style: Style, signs: Signs) -> list[str]:
    """What people see."""
    if found.empty:
        return [line for text in _nothing(found) for line in wrap(text, style.width)]
    return report(found.figures, found.metrics, style, signs)


def _nothing(found: Look) -> list[str]:
    """There is nothing to show: why, and what to try."""
    if found.last is None:
        return [
            "Nothing is recorded here yet.",
            "Run a tool with `rightcall call TOOL ARGS --as CALLER` and look again.",
            "--policy FILE, --root DIR or --db FILE say where else to look.",
        ]
    heading = f"{title(found.figures.caller, found.figures.period)}: no calls."
    if found.callers:
        names = [escaped(name, 40) for name in found.callers[:_MOST_NAMES]]
        more = len(found.callers) - len(names)
        return [heading, f"Callers in this period: {', '.join(names)}{f' and {more:,} more' if more else ''}."]
    advice = "" if found.figures.period == "1week" else "; try --period 1week"
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
    import os

    try:
        height = os.get_terminal_size(stream.fileno()).lines
    except (OSError, ValueError):
        height = 0
    shown = lines[: height - 1] if height > 1 else lines
    return "\x1b[H" + "".join(f"{line}\x1b[K\n" for line in shown) + "\x1b[J"
