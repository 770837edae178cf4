"""How well calls come out, over time and by whom: what fitted before and after repair, what ran well, how long it took,
how much tools are used. Every chart has a table with the same numbers, and an export of it (designs 002 §15-17, 003).
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from json import dumps
from typing import Any, Final, TypeVar, get_args
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightcall.console.charts import Chart, Drawing, Series, bars, lines, rounded
from rightcall.console.page import Page, look, render, site_of
from rightcall.console.pages.live import link_to, unspelled
from rightcall.console.pages.tools import PERIODS, period_of
from rightcall.record.analytics import UNTOLD, Analytics, Metric, Repairs, analytics_of, metrics_of, repairs_of
from rightcall.record.calls import LIFTED, Period, window_of
from rightcall.record.counts import Counts, Part
from rightcall.record.export import csv_line
from rightcall.record.figures import SECONDS, Figures, Fit, Point, figures_of, fit_of_all, fit_over_time, read_series
from rightcall.record.rollup.periods import count_within
from rightcall.record.tables import Store, Tables

PARTS: Final[Mapping[Part, str]] = {"tool": "tool", "model": "model", "provider": "provider", "caller": "caller"}
_P = TypeVar("_P", Fit, Point)
_LONGEST: Final = 200
_MOST_NAMES: Final = 40
"""Rows of a table on the page; an export has all."""


class Asked(Struct, frozen=True):
    """What the address asks for."""

    period: Period
    by: Part
    caller: str | None

    def query(self, **more: str) -> str:
        said = {"period": self.period, "by": self.by} | ({} if self.caller is None else {"caller": self.caller})
        return urlencode(said | more)

    def live(self, **said: str) -> str:
        """The address of the calls that a figure counts."""
        return link_to(self.period, **{"caller": self.caller or ""} | said)

    def of_row(self, table: str, name: str, column: str) -> str:
        """The same of a figure of a row; empty where no filter means just these calls."""
        side = {"errors": "tool", "adoption": ""}.get(table, self.by)
        if side in ("", "provider") or name == UNTOLD or column not in _FILTERS:
            return ""
        return self.live(**{side: name}, **_FILTERS[column])


class Table(Struct, frozen=True):
    """A table with its export."""

    id: str
    title: str
    columns: list[str]
    rows: list[list[Any]]


class View(Struct, frozen=True, kw_only=True):
    """All that the page shows."""

    figures: Analytics
    total: Figures
    fit: Fit
    """Of the whole period."""
    metrics: list[Metric]
    charts: list[Chart]
    tables: list[Table]
    callers: list[str]
    uncounted: int
    """Records that are not yet among these figures."""


def asked_of(request: Request) -> Asked:
    said = request.query_params
    by: Part = next((one for one in get_args(Part) if one == said.get("by")), "tool")
    caller = unspelled(said.get("caller", ""))[:_LONGEST]
    return Asked(period_of(request), by, caller or None)


async def show(request: Request) -> Response:
    asked, site = asked_of(request), site_of(request)
    await look(request, lambda _: None)
    # The two halves are kept apart: another side of the same period needs only the second.
    sums = await site.kept.get(("sums", asked.period, asked.caller), lambda: read_sums(site.store, asked))
    parts = await site.kept.get(("parts", asked), lambda: read_parts(site.store, asked))
    view = view_of(asked, sums, parts)
    return render(request, "analytics", view=view, asked=asked, periods=PERIODS, parts=PARTS, most=_MOST_NAMES)


def read_view(store: Store, asked: Asked) -> View:
    return view_of(asked, read_sums(store, asked), read_parts(store, asked))


class Sums(Struct, frozen=True):
    """What was counted in the period."""

    counts: Counts
    figures: Analytics
    left: int
    """Records that are not yet counted."""


class Parts(Struct, frozen=True):
    """The same over time, by one side of the calls."""

    fits: dict[str, tuple[Fit, ...]]
    points: dict[str, tuple[Point, ...]]
    everything: Sequence[Point]
    strategies: dict[str, tuple[Point, ...]]


def read_sums(store: Store, asked: Asked) -> Sums:
    def work(tables: Tables) -> tuple[Counts, int]:
        return count_within(tables, window_of(asked.period, tables.wall()), asked.caller, SECONDS)

    counts, left = store.look(work)
    return Sums(counts, analytics_of(counts), left)


def read_parts(store: Store, asked: Asked) -> Parts:
    period, caller = asked.period, asked.caller
    return Parts(
        store.look(lambda tables: fit_over_time(tables, period, asked.by, caller=caller, now=tables.wall())),
        read_series(store, period, asked.by, caller=caller),
        read_series(store, period, "all", caller=caller).get("", ()),
        read_series(store, period, "strategy", caller=caller),
    )


def view_of(asked: Asked, sums: Sums, parts: Parts) -> View:
    figures, all_fits = sums.figures, fit_of_all(parts.fits)
    return View(
        figures=figures,
        total=figures_of(sums.counts.total),
        fit=_fit(sums.counts.total.strategies),
        metrics=metrics_of(sums.counts),
        charts=[*_fit_charts(asked.by, all_fits, parts), *_use_charts(asked.by, parts)],
        tables=list(_tables(asked, figures, sums.counts)),
        uncounted=sums.left,
        callers=sorted(figures.callers or ({asked.caller} if asked.caller else ())),
    )


_NONE: Final = "No call was recorded in this period. Send one through the proxy, or choose a longer period."


def _fit(strategies: Counter[str]) -> Fit:
    """Of the whole period. A chart begins at a whole hour or day, and so may have some calls more."""
    if not strategies:
        return Fit("")
    found = repairs_of(strategies)
    return Fit("", found.calls, found.repaired, found.failed, found.lifted)


def _fit_charts(by: Part, fits: Sequence[Fit], parts: Parts) -> Iterable[Chart]:
    """How calls fitted their tools."""
    yield lines(
        Drawing(
            id="fit",
            title="Right before and after repair",
            desc="The part of calls that were right as written, and after RightCall lifted and repaired them.",
            starts=[one.start for one in fits],
            series=[
                Series("as written", [one.before for one in fits]),
                Series("after repair", [one.after for one in fits]),
            ],
            unit="%",
            nothing=_NONE,
        )
    )
    yield bars(
        Drawing(
            id="strategies",
            title="Repairs by strategy",
            desc="How many calls did not fit their tool, by the strategy that repaired them.",
            starts=_starts(parts.strategies),
            series=[
                Series("nothing helped" if name == "failed" else name, [one.calls for one in found])
                for name, found in parts.strategies.items()
                if name not in ("direct", LIFTED)
            ],
            nothing="No call of this period needed a repair.",
        )
    )
    yield lines(
        Drawing(
            id=f"fit-{by}",
            title=f"Right after repair, by {by}",
            desc=f"The part of calls that fitted in the end, for each {by} with the most calls.",
            starts=_starts(parts.fits),
            series=_each(parts.fits, lambda one: one.after),
            unit="%",
            nothing=_NONE,
        )
    )


def _use_charts(by: Part, parts: Parts) -> Iterable[Chart]:
    """How much tools were used, how well they ran, and how long they took."""
    points, everything = parts.points, parts.everything
    ran = {name: found for name, found in points.items() if any(_success(one) is not None for one in found)}
    yield bars(
        Drawing(
            id=f"calls-{by}",
            title=f"Calls by {by}",
            desc=f"How many calls were made, by {by}, those through the proxy included.",
            starts=_starts(points),
            series=_each(points, lambda one: one.calls + one.proxied),
            nothing=_NONE,
        )
    )
    yield lines(
        Drawing(
            id=f"success-{by}",
            title=f"Ran well, by {by}",
            desc=f"Of the calls that ran here, the part that succeeded, for each {by} with the most calls.",
            starts=_starts(points),
            series=_each(ran, _success),
            unit="%",
            nothing="No call ran here in this period. What calls through the proxy came to is known to their clients.",
        )
    )
    yield lines(
        Drawing(
            id="latency",
            title="How long calls took",
            desc="Half of all calls took no longer than p50, 95 of 100 no longer than p95.",
            starts=[one.start for one in everything],
            series=[Series("p50", [one.p50 for one in everything]), Series("p95", [one.p95 for one in everything])],
            unit="ms",
            nothing="No call came to its end here in this period.",
        )
    )


def _each(found: Mapping[str, Sequence[_P]], value: Callable[[_P], float | None]) -> list[Series]:
    return [Series(name or UNTOLD, [value(one) for one in points]) for name, points in found.items()]


def _starts(found: Mapping[str, Sequence[Point | Fit]]) -> list[str]:
    return [one.start for one in next(iter(found.values()), ())]


def _success(point: Point) -> float | None:
    ran = point.succeeded + point.failed + point.interrupted
    return 100 * point.succeeded / ran if ran else None


_FILTERS: Final[Mapping[str, Mapping[str, str]]] = {
    "calls": {}, "right as written": {"repair": "none"}, "lifted": {"repair": "lifted"}, "repaired": {"repair": "any"},
    "did not fit": {"repair": "left"}, "times": {"status": "failed"},
}  # fmt: skip
"""What shows the calls that a column counts."""
_COLUMNS: Final = (
    "calls", "right as written", "lifted", "repaired", "did not fit", "before (%)", "after (%)", "ran well (%)",
    "mean (ms)", "p50 (ms)", "p95 (ms)", "p99 (ms)",
)  # fmt: skip


def _tables(asked: Asked, figures: Analytics, counts: Counts) -> Iterable[Table]:
    repairs = _repairs_of(figures, asked.by, counts)
    tallies = counts.by(asked.by)
    rows: list[list[Any]] = []
    for name, one in repairs.items():
        tally = tallies.get("" if name == UNTOLD else name)
        timed = None if tally is None else figures_of(tally)
        ran = 0 if timed is None else timed.succeeded + timed.failed + timed.interrupted
        well = None if timed is None or not ran else 100 * timed.succeeded / ran
        times = [None] * 4 if timed is None else [timed.mean, timed.p50, timed.p95, timed.p99]
        before = 100 * one.direct / one.calls
        found = [one.calls, one.direct, one.lifted, one.repaired, one.failed, before, one.success_rate, well, *times]
        rows.append([name, *(rounded(value) for value in found)])
    yield Table(f"by-{asked.by}", f"By {asked.by}", [asked.by, *_COLUMNS], rows)
    yield Table(
        "adoption", "Adoption", ["caller", "turns", "turns with a tool", "rate (%)"],
        [[name, one.turns, one.tool_turns, rounded(one.rate)] for name, one in figures.adoption_by_caller.items()],
    )  # fmt: skip
    yield Table(
        "errors", "Errors", ["tool", "error", "times"],
        [[one.tool, one.error, one.count] for one in figures.errors],
    )  # fmt: skip


def _repairs_of(figures: Analytics, by: Part, counts: Counts) -> Mapping[str, Repairs]:
    known = {
        "tool": figures.repairs_by_tool, "provider": figures.repairs_by_provider, "model": figures.repairs_by_model,
    }  # fmt: skip
    if by in known:
        return known[by]
    largest = sorted(counts.strategies_by(by).items(), key=lambda pair: (-pair[1].total(), pair[0]))
    return {name or UNTOLD: repairs_of(one) for name, one in largest}


# ── export ──


async def export(request: Request) -> Response:
    """One table of the page, whole."""
    asked, store = asked_of(request), site_of(request).store
    wanted, kind = request.query_params.get("table", ""), request.query_params.get("format", "csv")
    await look(request, lambda _: None)
    view = await asyncio.to_thread(read_view, store, asked)
    found = next((one for one in (*view.charts, *view.tables, _metrics(view)) if one.id == wanted), None)
    if found is None or kind not in ("csv", "jsonl"):
        return render(
            request, "message", 404, title="No such table", text="Export a table of the page, as csv or jsonl.",
            back=("/analytics", "Analytics"),
        )  # fmt: skip
    name = f"{found.id}-{asked.period}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.{kind}"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    if kind == "csv":
        text = "".join(csv_line(row) for row in (found.columns, *found.rows))
        return Response(text, headers=headers, media_type="text/csv; charset=utf-8")
    text = "".join(dumps(dict(zip(found.columns, row, strict=True))) + "\n" for row in found.rows)
    return Response(text, headers=headers, media_type="application/x-ndjson")


def _metrics(view: View) -> Table:
    rows = [[one.name, rounded(one.value), one.target, one.met, one.how] for one in view.metrics]
    return Table("metrics", "Success metrics", ["metric", "value", "target", "met", "how"], rows)


PAGE = Page(
    "analytics", "Analytics", "chart", "/analytics",
    [Route("/analytics", show), Route("/analytics/export", export)],
)  # fmt: skip
