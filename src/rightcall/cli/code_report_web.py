"""Pages, searches and the use of tools, for people: what the tools of `web/` and `analytics/` found."""

from collections.abc import Iterator
from typing import Any

from rightcall.cli.code_report_text import Fields, lines_of, safe
from rightcall.cli.terminal import Style, many


def page(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    """The text as it is, below where it comes from."""
    if result.get("title"):
        yield style.tint(safe(result["title"]), "bold")
    yield style.tint(safe(result["url"]), "dim")
    yield from lines_of(result["content"])


def page_goes_on(result: Fields) -> str:
    following = result["start"] + len(result["content"])
    return f"{result['length']:,} characters in all; start {following} goes on"


def hits(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    for number, hit in enumerate(result["results"], 1):
        yield f"{number}. {style.tint(safe(hit['title']), 'bold')}"
        yield f"   {style.tint(safe(hit['url']), 'cyan')}"
        if hit.get("snippet"):
            yield f"   {safe(hit['snippet'])}"
    if not result["results"]:
        yield "no results"


def usage(result: Fields, style: Style, _arguments: Fields) -> Iterator[str]:
    """The figures that `rightcall stats` has more of."""
    import sys

    from rightcall.cli.bars import Row, chart, signs_for  # late, as below: no other report needs charts
    from rightcall.cli.stats_report import percent

    stats, repairs = result["stats"], result["repairs"]
    yield style.tint(f"{safe(result['personaName'])}, {result['period']}", "bold")
    yield f"{many(stats['totalCalls'], 'call')}, {percent(stats['successRate'])} success"
    tables: list[tuple[str, Fields, Fields]] = [
        ("tools", result["toolBreakdown"], repairs["byTool"]),
        ("callers", result["callers"], {}),
        ("providers", result["providers"], repairs["byProvider"]),
    ]
    for title, shares, rates in tables:
        if shares:
            yield style.tint(f"{title}:", "bold")
            rows = [Row(safe(name), share["calls"], _told(share, rates.get(name))) for name, share in shares.items()]
            yield from chart(rows, style, signs_for(sys.stdout), indent=2)


def _told(share: dict[str, Any], repairs: dict[str, Any] | None) -> str:
    from rightcall.cli.stats_report import duration, percent

    told = [many(share["calls"], "call")]
    told += [] if share["successRate"] is None else [f"{percent(share['successRate'], 0)} success"]
    told += [] if share["avgTime"] is None else [f"{duration(share['avgTime'])} avg"]
    told += [f"{percent(repairs['repairRate'], 0)} repaired"] if repairs and repairs["repaired"] else []
    return f"({', '.join(told)})"
