"""Calls as models write them, and what the gate makes of them: a call that fits, or a refusal."""

import json
from functools import lru_cache
from typing import Any

import pytest

from cases import HERE, Case, exact, table
from rightcall import Gate, Verdict
from support.every import every

TOOLS = {tool["name"]: tool for tool in json.loads((HERE / "tools.json").read_text(encoding="utf-8"))}
FILES = (
    "call_names.jsonl",
    "call_values.jsonl",
    "call_choices.jsonl",
    "call_texts.jsonl",
    "call_faults.jsonl",
    "call_unknown.jsonl",
    "call_rules.jsonl",
    "call_tools.jsonl",
    "call_strategies.jsonl",
    "call_modes.jsonl",
)
CASES = [case for file in FILES for case in table(file)]


@lru_cache
def a_gate(setting: str) -> Gate:
    case: Case = json.loads(setting)
    return Gate([case["tool"]], case.get("policy"), provider=case.get("provider"), host=case.get("host"))


def tool_of(case: Case) -> dict[str, Any]:
    return TOOLS[case["tool"]] if isinstance(case["tool"], str) else case["tool"]


def gate_of(case: Case) -> Gate:
    setting = {key: case[key] for key in ("policy", "provider", "host") if key in case}
    return a_gate(json.dumps({"tool": tool_of(case)} | setting))


def checked(case: Case) -> Verdict:
    return gate_of(case).check(case.get("call", tool_of(case)["name"]), case["emitted"])


@every("case", CASES, parts=2)
def test_a_call_comes_out_right_or_not_at_all(case: Case) -> None:
    verdict = checked(case)
    assert verdict.truncated is case.get("truncated", False)
    if "refused" in case:
        refused(verdict, case)
    else:
        accepted(verdict, case)


def refused(verdict: Verdict, case: Case) -> None:
    assert not verdict.ok
    found = {(problem.code, problem.path) for problem in verdict.problems}
    codes = {code for code, _ in found}
    assert (case["refused"], case["path"]) in found if "path" in case else case["refused"] in codes
    assert "fault" not in codes
    assert verdict.hint
    assert (verdict.strategy, verdict.confidence) == ("failed", 0.0)


def accepted(verdict: Verdict, case: Case) -> None:
    assert verdict.ok
    assert verdict.call is not None
    assert exact(verdict.call.arguments) == exact(case["expected"])
    assert verdict.call.name == case.get("name", tool_of(case)["name"])
    assert [problem.code for problem in verdict.problems] == case.get("problems", [])
    assert [repair.rule for repair in verdict.repairs] == case.get("rules", [repair.rule for repair in verdict.repairs])
    assert verdict.strategy == case.get("strategy", verdict.strategy)
    assert bool(verdict.hint) is bool(verdict.problems)


@pytest.mark.promise("N-12")
@every("case", CASES, parts=2)
def test_every_record_is_whole_and_the_lowest_confidence_counts(case: Case) -> None:
    verdict = checked(case)
    for repair in verdict.repairs:
        assert repair.rule
        assert repair.strategy in ("python_ast", "regex_quotes", "structure", "manual_repair")
        assert 0 < repair.confidence <= 1
    if not verdict.problems:
        assert verdict.confidence == min((repair.confidence for repair in verdict.repairs), default=1.0)
        assert (verdict.strategy == "direct") is (not verdict.repairs)


@pytest.mark.promise("N-01")
@every("case", CASES, parts=2)
def test_a_second_pass_changes_nothing(case: Case) -> None:
    verdict = checked(case)
    if verdict.problems or verdict.mode == "observe" or verdict.call is None or not gate_of(case).catalog.tools:
        return
    again = gate_of(case).check(verdict.call.name, verdict.call.arguments)
    assert again.ok
    assert again.call is not None
    assert again.call.arguments is verdict.call.arguments
    assert (again.strategy, again.repairs) == ("direct", ())


@pytest.mark.promise("N-13")
@every("case", CASES, parts=2)
def test_what_was_given_is_never_changed_in_place(case: Case) -> None:
    before = exact(case["emitted"])
    checked(case)
    assert exact(case["emitted"]) == before


@pytest.mark.promise("N-10", "N-12")
def test_dropping_is_recorded_with_what_was_dropped() -> None:
    verdict = Gate([TOOLS["forecast"]]).check("forecast", {"city": "Bern", "colour": "red"})
    (repair,) = verdict.repairs
    assert (repair.path, repair.before, repair.after, repair.rule) == ("colour", "red", None, "dropped_argument")
