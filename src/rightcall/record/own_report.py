"""`ai/report`: how one caller has used its tools, in the fields of design 002 §15. Never another caller's."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from rightcall.record.analytics import Analytics, ErrorCount, Share, TopTool, analytics, persona_name
from rightcall.record.browsing import looked
from rightcall.record.period import Period
from rightcall.record.tables import Store

USUAL: Final[Period] = "1day"
_MOST_TOOLS, _MOST_ERRORS = 50, 20


class Report(Struct, frozen=True, rename="camel", kw_only=True):
    success: bool = True
    persona_id: str
    persona_name: str
    period: Period
    stats: dict[str, Any]
    tool_breakdown: dict[str, dict[str, Any]]
    """Of the tools that were called most."""


def own_report(store: Store, caller: str, period: Period = USUAL) -> Report:
    """The figures of the period that ends now; the call that asks for them is one of them, and still runs. Rates are
    in percent, times in milliseconds; what cannot be divided yet is null."""
    figures = looked(store, lambda tables: analytics(tables, period=period, caller=caller, now=tables.wall()))
    return Report(
        persona_id=caller,
        persona_name=persona_name(caller),
        period=period,
        stats=_stats(figures),
        tool_breakdown={tool: _share(share) for tool, share in list(figures.tool_breakdown.items())[:_MOST_TOOLS]},
    )


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


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
