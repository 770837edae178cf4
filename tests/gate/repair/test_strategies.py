"""The strategies: named, in order, each of which can be switched off."""

from itertools import combinations
from typing import Any, get_args

import pytest

from rightcall import Gate, Repair
from rightcall.base.json.marks import NAMES, REPAIRING, RULES, STRATEGIES, used
from rightcall.types import StrategyName
from support.every import every


def repair(strategy: StrategyName) -> Repair:
    return Repair("a", 1, 2, strategy, "rule")


@pytest.mark.promise("N-02")
def test_the_registry_is_ordered_named_and_explained() -> None:
    assert NAMES == ("direct", "python_ast", "regex_quotes", "structure", "manual_repair", "llm", "failed")
    assert set(NAMES) == set(get_args(StrategyName))
    assert all(STRATEGIES.values())
    assert {"direct", "llm", "failed"} | REPAIRING == set(NAMES)
    assert all(strategy in REPAIRING for rule in RULES.values() for strategy in rule.strategies)


@pytest.mark.promise("N-02", "N-16")
def test_a_call_is_counted_under_the_last_strategy_it_needed() -> None:
    assert used(()) == "direct"
    assert used([repair("structure"), repair("python_ast")]) == "structure"
    assert used([repair("manual_repair"), repair("regex_quotes")]) == "manual_repair"


TOOL = {
    "name": "t",
    "parameters": {
        "type": "object",
        "required": ["city"],
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "unit": {"enum": ["celsius", "kelvin"]},
            "settings": {"type": "string", "contentMediaType": "application/json"},
        },
    },
}
CALLS: list[Any] = [
    {"city": "Bern"},
    '{"city": "Bern", "days": 3}',
    "{'city': 'Bern', 'days': None}",
    "{“city”: “Bern”}",
    '{"city": "Bern" "days": 3}',
    {"City": "Bern"},
    {"place": "Bern"},
    {"city": "Bern", "days": "3"},
    {"city": "Bern", "tags": "['a', 'b']"},
    {"city": "Bern", "tags": '["a"]'},
    {"city": "Bern", "tags": "a, b"},
    {"city": "Bern", "unit": "K"},
    {"city": "Bern", "unit": "C"},
    {"city": "Bern", "settings": "{'a': True}"},
    {"city": "Bern", "settings": {"a": True}},
    {"arguments": {"city": "Bern"}},
    {"arguments": "{'city': 'Bern'}"},
    "t(city='Bern')",
    "<city>Bern</city>",
]
SUBSETS = [subset for size in range(5) for subset in combinations(sorted(REPAIRING), size)]


@pytest.mark.promise("N-02", "N-15")
@every("subset", SUBSETS, ids=lambda subset: "+".join(subset) or "none")
def test_a_strategy_that_is_off_changes_nothing(subset: tuple[StrategyName, ...]) -> None:
    rules = {"values": {"unit": {"c": "celsius"}}, "aliases": {"place": "city"}}
    gate = Gate(
        [TOOL], {"gate": {"providers": {"p": {"strategies": list(subset)}}, "tools": {"t": rules}}}, provider="p"
    )
    for call in CALLS:
        verdict = gate.check("t", call)
        assert {repair.strategy for repair in verdict.repairs} <= set(subset), call
        assert verdict.strategy in {*subset, "direct", "failed"}, call
        if not subset and verdict.ok:
            assert verdict.call is not None
            assert verdict.call.arguments is call or verdict.strategy == "direct"


@pytest.mark.promise("N-02")
def test_more_strategies_never_refuse_what_fewer_accept() -> None:
    def answers(subset: tuple[str, ...]) -> set[int]:
        gate = Gate([TOOL], {"gate": {"providers": {"p": {"strategies": list(subset)}}}}, provider="p")
        return {number for number, call in enumerate(CALLS) if gate.check("t", call).ok}

    everything = answers(tuple(REPAIRING))
    assert len(everything) == len(CALLS)
    assert answers(()) == {0, 1}
    assert all(answers(subset) <= everything for subset in SUBSETS)
