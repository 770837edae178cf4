"""Statistics of several gates added up, in the shape that `Gate.stats()` has."""

from typing import Any


def merged(one: dict[str, Any] | None, other: dict[str, Any]) -> dict[str, Any]:
    """The sum of two statistics; the provider is that of the first."""
    if one is None:
        return other
    total = {**one, **_counts(one, other)}
    tools: dict[str, Any] = dict(one.get("tools", {}))
    for name, stats in other.get("tools", {}).items():
        tools[name] = {**tools[name], **_counts(tools[name], stats)} if name in tools else stats
    return {**total, "tools": tools}


def _counts(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    calls = one["total_calls"] + other["total_calls"]
    failures = one["failures"] + other["failures"]
    ways = {**one["normalizations"], **other["normalizations"]}
    return {
        "total_calls": calls,
        "normalizations": {
            way: one["normalizations"].get(way, 0) + other["normalizations"].get(way, 0) for way in ways
        },
        "failures": failures,
        "success_rate": 100.0 * (calls - failures) / calls if calls else 0.0,
    }
