"""Counts by provider, tool and strategy, in the shape of the argument normaliser's design."""

import pytest

from rightcall import Gate
from rightcall.base.json.marks import NAMES as ALL
from rightcall.gate.gate import statistics

NAMES = tuple(name for name in ALL if name != "llm")
"""What is always counted; the last resort is listed once it has helped."""

TOOLS = [
    {"name": name, "parameters": {"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string"}, "days": {"type": "integer"}}}}
    for name in ("forecast", "history")
]  # fmt: skip


@pytest.mark.promise("N-16")
def test_every_call_is_counted_once_under_its_strategy() -> None:
    gate = Gate(TOOLS, {"gate": {"tools": {"forecast": {"aliases": {"zz": "city"}}}}}, provider="ollama")
    calls = {
        "direct": {"city": "Bern"},
        "python_ast": "{'city': 'Bern'}",
        "regex_quotes": "{“city”: “Bern”}",
        "structure": {"city": "Bern", "days": "3"},
        "manual_repair": {"zz": "Bern"},
        "failed": {"days": 3},
    }
    assert tuple(calls) == NAMES
    for strategy, arguments in calls.items():
        assert gate.check("forecast", arguments).strategy == strategy
    assert gate.stats() == {
        "provider": "ollama",
        "total_calls": 6,
        "normalizations": dict.fromkeys(NAMES, 1),
        "failures": 1,
        "success_rate": pytest.approx(500 / 6),
        "tools": {
            "forecast": {
                "total_calls": 6,
                "normalizations": dict.fromkeys(NAMES, 1),
                "failures": 1,
                "success_rate": pytest.approx(500 / 6),
            }
        },
    }


@pytest.mark.promise("N-16")
def test_tools_are_counted_apart_and_together() -> None:
    gate = Gate(TOOLS)
    gate.check("forecast", {"city": "Bern"})
    gate.check("forecast", '{"city": "Bern"}')
    gate.check("History", {"city": "Bern"})
    gate.check("nothing_like_it", {})
    stats = gate.stats()
    assert {name: figures["total_calls"] for name, figures in stats["tools"].items()} == {
        "forecast": 2,
        "history": 1,
        "(unknown)": 1,
    }
    assert (stats["total_calls"], stats["failures"], stats["success_rate"]) == (4, 1, 75.0)
    assert stats["provider"] == "unknown"


@pytest.mark.promise("N-16")
def test_before_the_first_call_nothing_has_failed() -> None:
    stats = Gate(TOOLS, provider="p").stats()
    assert stats == {
        "provider": "p",
        "total_calls": 0,
        "normalizations": dict.fromkeys(NAMES, 0),
        "failures": 0,
        "success_rate": 100.0,
        "tools": {},
    }


@pytest.mark.promise("N-16")
def test_what_is_let_through_although_it_does_not_fit_counts_as_failed() -> None:
    gate = Gate(TOOLS, {"gate": {"mode": "warn"}})
    assert gate.check("forecast", {"days": 3}).ok
    assert gate.stats()["failures"] == 1


@pytest.mark.promise("N-16")
def test_names_that_models_invent_do_not_fill_the_memory() -> None:
    gate = Gate(TOOLS)
    for number in range(50):
        gate.check(f"invented_{number}_by_a_model", {})
    assert list(gate.stats()["tools"]) == ["(unknown)"]


@pytest.mark.promise("N-16")
def test_a_gate_without_tools_counts_too() -> None:
    gate = Gate()
    assert gate.stats()["normalizations"] == dict.fromkeys(NAMES, 0)
    gate.check("anything", {"a": 1})
    assert (gate.stats()["total_calls"], gate.stats()["success_rate"]) == (1, 100.0)


def test_figures_are_what_the_counters_say() -> None:
    stats = statistics("p", {"a": [3, 0, 0, 0, 0, 0, 1], "b": [0, 0, 0, 0, 0, 0, 0]})
    assert (stats["total_calls"], stats["success_rate"], list(stats["tools"])) == (4, 75.0, ["a"])
