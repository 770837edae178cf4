"""Counts of calls by strategy, in the shape that the argument normaliser's design gives them."""

from collections.abc import Mapping
from typing import Any

from rightcall.normalise.strategies import NAMES

Counter = list[int]
"""One number per strategy, in their order."""


def statistics(provider: str, counters: Mapping[str, Counter]) -> dict[str, Any]:
    """The figures of all tools together, and under `tools` of each one that was called."""
    total = [sum(column) for column in zip(*counters.values(), strict=True)] or [0] * len(NAMES)
    tools = {name: _figures(counter) for name, counter in counters.items() if any(counter)}
    return {"provider": provider, **_figures(total), "tools": tools}


def _figures(counter: Counter) -> dict[str, Any]:
    calls, failures = sum(counter), counter[-1]
    return {
        "total_calls": calls,
        "normalizations": dict(zip(NAMES, counter, strict=True)),
        "failures": failures,
        "success_rate": (calls - failures) / max(calls, 1) * 100 if calls else 100.0,
    }
