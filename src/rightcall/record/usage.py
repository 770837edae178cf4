"""How tools were used, in the fields of design 002 §15: `ai/report` for the caller that asks, and never another's;
`analytics/tool-usage` for any caller or all of them, with providers, models and repair rates.

Rates are in percent, times in milliseconds; what cannot be divided yet is null. The call that asks is one of the calls,
and still runs.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final, TypeVar

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.record.analytics import (
    EVERYONE,
    UNTOLD,
    Analytics,
    ErrorCount,
    Repairs,
    Share,
    TopTool,
    analytics,
    persona_name,
)
from rightcall.record.browsing import look_up
from rightcall.record.period import Period
from rightcall.record.tables import Store
from rightcall.text.escape import render_json

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
        tool_breakdown=_each(figures.tool_breakdown, _share),
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
        since=_moment(figures.since),
        until=_moment(figures.until),
        stats=_stats(figures) | {"refused": figures.refused, "limitHits": figures.limit_hits},
        tool_breakdown=_each(figures.tool_breakdown, _share),
        callers=_each(figures.callers, _share),
        providers=_each(figures.providers, _share),
        repairs={
            "byTool": _each(figures.repairs_by_tool, _repaired),
            "byProvider": _each(figures.repairs_by_provider, _repaired),
            "byModel": _each(figures.repairs_by_model, _repaired),
        },
        truncated=any(len(table) > _MOST for table in (*tables, figures.repairs_by_model)),
    )


def _figures(store: Store, caller: str | None, period: Period) -> Analytics:
    return look_up(store, lambda tables: analytics(tables, period=period, caller=caller, now=tables.wall()))


def _moment(at: str) -> str:
    return f"{at.replace(' ', 'T', 1)}Z"


def _each(named: Mapping[str, T], show: Any) -> dict[str, dict[str, Any]]:
    """Those with the most calls."""
    return {name or UNTOLD: show(one) for name, one in islice(named.items(), _MOST)}


def _stats(figures: Analytics) -> dict[str, Any]:
    return {
        "totalCalls": figures.total_calls,
        "successRate": _rounded(figures.success_rate),
        "avgExecutionTime": _rounded(figures.avg_execution_time),
        "topTools": _top_tools(figures.top_tools),
        "errors": _errors(figures.errors[:_MOST_ERRORS]),
    }


def _top_tools(tools: Iterable[TopTool]) -> list[dict[str, Any]]:
    return [{"tool": one.tool, "count": one.count, "avgTime": _rounded(one.avg_time)} for one in tools]


def _errors(errors: Iterable[ErrorCount]) -> list[dict[str, Any]]:
    return [{"tool": one.tool, "error": one.error, "count": one.count} for one in errors]


def _share(share: Share) -> dict[str, Any]:
    return {
        "calls": share.calls,
        "successRate": _rounded(share.success_rate),
        "avgTime": _rounded(share.avg_time),
    }


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
