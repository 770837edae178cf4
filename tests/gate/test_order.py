"""The order is fixed: tool name, argument names, values, types, defaults, rules."""

from typing import Any

import pytest

from rightcall import Gate

TOOL = {
    "name": "run_code",
    "parameters": {
        "type": "object",
        "properties": {
            "code": {"type": "string"},
            "runtime": {"type": "string", "enum": ["python", "terminal", "output"]},
            "times": {"type": "integer"},
        },
    },
}
RULES: dict[str, Any] = {
    "aliases": {"command": "code", "language": "runtime"},
    "values": {"runtime": {"bash": "terminal"}, "times": {"twice": "two"}},
    "defaults": {"runtime": "output"},
    "required_unless": {"code": {"runtime": ["output"]}},
}
STEPS = {"tool_style": 0, "alias": 1, "value_alias": 2, "number_word": 3}


@pytest.fixture
def gate() -> Gate:
    return Gate([TOOL], {"gate": {"tools": {"run_code": RULES}}})


@pytest.mark.promise("N-18")
def test_the_list_of_repairs_shows_the_order(gate: Gate) -> None:
    verdict = gate.check("runCode", {"command": "ls", "times": "twice"})
    rules = [repair.rule for repair in verdict.repairs]
    assert rules == ["tool_style", "alias", "value_alias", "number_word"]
    assert [STEPS[rule] for rule in rules] == sorted(STEPS[rule] for rule in rules)
    assert verdict.call is not None
    assert verdict.call.name == "run_code"
    assert verdict.call.arguments == {"code": "ls", "times": 2, "runtime": "output"}


@pytest.mark.promise("N-18")
def test_reading_comes_before_names(gate: Gate) -> None:
    verdict = gate.check("runCode", "{'command': 'ls'}")
    assert [repair.rule for repair in verdict.repairs] == ["tool_style", "single_quotes", "alias"]


@pytest.mark.promise("N-18")
def test_names_come_before_values(gate: Gate) -> None:
    verdict = gate.check("run_code", {"code": "ls", "language": "bash"})
    assert [(repair.path, repair.rule) for repair in verdict.repairs] == [
        ("language", "alias"),
        ("runtime", "value_alias"),
    ]


@pytest.mark.promise("N-18")
def test_values_come_before_types(gate: Gate) -> None:
    verdict = gate.check("run_code", {"times": "twice"})
    steps = [(repair.before, repair.after) for repair in verdict.repairs]
    assert steps == [("twice", "two"), ("two", 2)]


@pytest.mark.promise("N-18", "N-09")
def test_types_come_before_defaults(gate: Gate) -> None:
    """An argument that stands for nothing is left out first; then its default is missing, and filled in."""
    verdict = gate.check("run_code", {"runtime": "n/a"})
    assert verdict.call is not None
    assert verdict.call.arguments == {"runtime": "output"}
    assert [repair.rule for repair in verdict.repairs] == ["null_optional"]


@pytest.mark.promise("N-18", "V-02")
def test_defaults_come_before_rules(gate: Gate) -> None:
    """Without its default the runtime would be open, and `code` required."""
    assert gate.check("run_code", {}).ok
    assert [problem.path for problem in gate.check("run_code", {"runtime": "python"}).problems] == ["code"]


@pytest.mark.promise("N-18", "V-02")
def test_rules_see_what_the_repairs_made(gate: Gate) -> None:
    assert gate.check("run_code", {"language": "output"}).ok
    assert not gate.check("run_code", {"language": "bash"}).ok
