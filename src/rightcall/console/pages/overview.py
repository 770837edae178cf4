"""The first page: what needs a person, what happened, and whether the record is sound."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightcall.console.bench import added_policy
from rightcall.console.page import Page, look, render, site_of
from rightcall.console.pages.live import Row, link_to, rows_of_calls
from rightcall.console.pages.tools import PERIODS, period_of, usage_of
from rightcall.executor.question import time_left
from rightcall.policy.types import Approval
from rightcall.record.analytics import Analytics, analytics_of
from rightcall.record.calls import SLOTS, Period, page_of_calls
from rightcall.record.rollup.periods import count
from rightcall.record.tables import Store, Tables
from rightcall.record.verify import Verified, last_verified

_RECENT: Final = 8
_MOST_WAITING: Final = 5
_MOST_ROWS: Final = 6


class Waiting(Struct, frozen=True):
    approval: Approval
    left: str

    @property
    def why(self) -> str:
        """Without the rule before it."""
        return self.approval.why.partition(": ")[2] or self.approval.why


class Bar(Struct, frozen=True):
    """One bar of a chart: its height from 0 to 100, and what it says."""

    height: float
    value: int
    passed: int
    """Of them, through the proxy."""
    label: str


class Share(Struct, frozen=True):
    """One line of a ranking, with its part of the largest from 0 to 100."""

    name: str
    value: int
    part: float
    link: str = ""


class Troubled(Struct, frozen=True):
    """How often calls of a tool went wrong, and how."""

    name: str
    calls: int
    refused: int
    unfit: int
    failed: int

    @property
    def all(self) -> int:
        """A call that did not fit was refused, or passed on by the proxy."""
        return max(self.refused, self.unfit) + self.failed


class Overview(Struct, frozen=True, kw_only=True):
    figures: Analytics
    waiting: list[Waiting]
    recent: list[Row]
    saved: int
    """Calls that would have failed as they were written, and were repaired."""
    lifted: int
    """Calls that no client would have seen: right, but written into the text."""
    unfit: int
    """Calls that nothing made fit: refused here, or passed on as they were."""
    bars: list[Bar]
    refusals: list[Share]
    tools: list[Share]
    troubled: list[Troubled]
    """Tools whose calls go wrong most often."""
    servers: list[tuple[str, dict[str, Any]]]
    audit: dict[str, Any] | None
    verified: Verified | None
    """When the chain was last verified."""
    practises: bool
    """Whether the calls are those of the practice client."""


async def show(request: Request) -> Response:
    site, period = site_of(request), period_of(request)
    state = dict(site.state())
    sums = await site.kept.get(("figures", period), lambda: _sums(site.store, period))
    found = await look(request, lambda tables: read_overview(tables, site.store, sums, state))
    added = await asyncio.to_thread(added_policy, site.policy(), site.root)
    return render(
        request, "overview", overview=found, period=period, periods=PERIODS, live=partial(link_to, period), added=added,
        urlencode=urlencode,
    )  # fmt: skip


class Sums(Struct, frozen=True):
    """What was counted in a period."""

    figures: Analytics
    troubled: list[Troubled]


def _sums(store: Store, period: Period) -> Sums:
    counts = store.look(lambda tables: count(tables, period=period, now=tables.wall()))
    used = usage_of(counts)
    found = [Troubled(name, one.all, one.refused, one.unfit, one.failed) for name, one in used.items()]
    found.sort(key=lambda one: (-one.all, one.name))
    return Sums(analytics_of(counts), [one for one in found[:_MOST_ROWS] if one.all])


def read_overview(tables: Tables, store: Store, sums: Sums, state: dict[str, Any]) -> Overview:
    now, figures = store.clock.now(), sums.figures
    waits = [one for one in tables.approvals("waiting") if one.expires_at > now][:_MOST_WAITING]
    servers: dict[str, Any] = state.get("mcp") or {}
    period = figures.period
    called = Counter({name: one.calls for name, one in figures.tool_breakdown.items()}) + Counter(figures.passed.tools)
    return Overview(
        figures=figures,
        waiting=[Waiting(one, time_left(one.expires_at, now)) for one in waits],
        recent=rows_of_calls(tables, page_of_calls(tables, limit=_RECENT).calls, now),
        saved=sum(times for name, times in figures.repairs.items() if name not in ("direct", "failed")),
        lifted=sum(one.lifted for one in figures.repairs_by_tool.values()),
        bars=_bars(figures),
        refusals=shares(figures.refusals.items(), lambda rule: link_to(period, rule=rule, status="refused")),
        unfit=figures.repairs.get("failed", 0),
        tools=shares(called.items(), lambda tool: link_to(period, tool=tool)),
        troubled=sums.troubled,
        servers=sorted(servers.items()),
        audit=state.get("audit"),
        verified=last_verified(store),
        practises=bool(state.get("practice")),
    )


def _bars(figures: Analytics) -> list[Bar]:
    passed = figures.passed.timeline
    values = [here + there for here, there in zip(figures.timeline, passed, strict=True)]
    most = max((*values, 1))
    _, length = SLOTS[figures.period]
    count = len(values)
    unit = int(length.total_seconds())
    return [
        Bar(round(100 * value / most, 1), value, passed[at], _ago((count - at) * unit, unit))
        for at, value in enumerate(values)
    ]


def _ago(seconds: int, unit: int) -> str:
    """When a slot began, in the unit of its length.

    >>> _ago(3600, 300), _ago(7200, 3600), _ago(86400 * 3, 86400)
    ('60 min ago', '2 h ago', '3 d ago')
    """
    if unit < 3600:
        return f"{seconds // 60} min ago"
    return f"{seconds // 3600} h ago" if unit < 86_400 else f"{seconds // 86_400} d ago"


def shares(counted: Iterable[tuple[str, int]], link: Callable[[str], str]) -> list[Share]:
    """The largest few, each with a link to its calls."""
    ranked: Sequence[tuple[str, int]] = sorted(counted, key=lambda one: (-one[1], one[0]))[:_MOST_ROWS]
    most = max((value for _, value in ranked), default=1) or 1
    return [Share(name, value, round(100 * value / most, 1), link(name)) for name, value in ranked]


PAGE = Page("overview", "Overview", "home", "/", [Route("/", show)])
