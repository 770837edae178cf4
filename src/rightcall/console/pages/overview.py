"""The first page: what needs a person, what happened, and whether the record is sound."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, get_args

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rightcall.base.letters import visible
from rightcall.console.page import LONGEST_LINKED, Page, look, render, site_of
from rightcall.console.pages.live import Row, rows_of_calls
from rightcall.executor.question import time_left
from rightcall.policy.types import Approval
from rightcall.record.analytics import Analytics, read_analytics
from rightcall.record.calls import SLOTS, Period, page_of_calls
from rightcall.record.tables import Store, Tables
from rightcall.record.verify import Verified, last_verified

_RECENT: Final = 8
_MOST_WAITING: Final = 5
_MOST_ROWS: Final = 6
PERIODS: Final = {"1hour": "Last hour", "1day": "Last 24 hours", "1week": "Last 7 days"}


class Waiting(Struct, frozen=True):
    approval: Approval
    left: str


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
    servers: list[tuple[str, dict[str, Any]]]
    audit: dict[str, Any] | None
    verified: Verified | None
    """When the chain was last verified."""


async def show(request: Request) -> Response:
    asked = request.query_params.get("period")
    period: Period = next((one for one in get_args(Period) if one == asked), "1day")
    site = site_of(request)
    state = dict(site.state())
    figures = await site.kept.get(("figures", period), lambda: _figures(site.store, period))
    found = await look(request, lambda tables: read_overview(tables, site.store, figures, state))
    return render(request, "overview", overview=found, period=period, periods=PERIODS)


def _figures(store: Store, period: Period) -> Analytics:
    return store.look(lambda tables: read_analytics(tables, period=period, now=tables.wall()))


def read_overview(tables: Tables, store: Store, figures: Analytics, state: dict[str, Any]) -> Overview:
    now = store.clock.now()
    waits = [one for one in tables.approvals("waiting") if one.expires_at > now][:_MOST_WAITING]
    servers: dict[str, Any] = state.get("mcp") or {}
    called = Counter({name: one.calls for name, one in figures.tool_breakdown.items()}) + Counter(figures.passed.tools)
    return Overview(
        figures=figures,
        waiting=[Waiting(one, time_left(one.expires_at, now)) for one in waits],
        recent=rows_of_calls(tables, page_of_calls(tables, limit=_RECENT).calls, now),
        saved=sum(times for name, times in figures.repairs.items() if name not in ("direct", "failed")),
        lifted=sum(one.lifted for one in figures.repairs_by_tool.values()),
        bars=_bars(figures),
        refusals=shares(figures.refusals.items(), "rule"),
        unfit=figures.repairs.get("failed", 0),
        tools=shares(called.items(), "tool"),
        servers=sorted(servers.items()),
        audit=state.get("audit"),
        verified=last_verified(store),
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


def shares(counted: Iterable[tuple[str, int]], filter_name: str) -> list[Share]:
    """The largest few, each with a link to its calls."""
    from urllib.parse import urlencode

    ranked: Sequence[tuple[str, int]] = sorted(counted, key=lambda one: (-one[1], one[0]))[:_MOST_ROWS]
    most = max((value for _, value in ranked), default=1) or 1
    return [
        Share(
            name,
            value,
            round(100 * value / most, 1),
            f"/live?{urlencode({filter_name: visible(name[:LONGEST_LINKED])})}",
        )
        for name, value in ranked
    ]


PAGE = Page("overview", "Overview", "home", "/", [Route("/", show)])
