"""Tools that run other tools, and tools that have given way to others."""

import json
from typing import Any

import pytest

from rightcall import Call, Gate
from support.every import every

TEXT = {"type": "string"}
SEND = {
    "name": "send_mail",
    "parameters": {"type": "object", "required": ["to", "body"], "properties": {
        "to": TEXT, "body": TEXT, "copies": {"type": "integer"}}},
}  # fmt: skip
BATCH = {
    "name": "run_all",
    "parameters": {"type": "object", "required": ["calls"], "properties": {"calls": {"type": "array"}}},
}
WRITE = {"name": "write", "parameters": {"type": "object", "required": ["file", "text"], "properties": {
    "file": TEXT, "text": TEXT}}}  # fmt: skip
OLD = {"name": "write_old", "parameters": {"type": "object", "required": ["path"], "properties": {
    "path": TEXT, "file": TEXT, "text": TEXT}}}  # fmt: skip
POLICY = {
    "gate": {
        "tools": {
            "run_all": {"batch": {"list": "calls", "name": ["tool"], "arguments": ["arguments"]}},
            "write_old": {"replaced_by": "write", "replacement_arguments": {"path": "file"}},
        }
    }
}


@pytest.fixture(scope="module")
def gate() -> Gate:
    return Gate([SEND, BATCH, WRITE, OLD], POLICY)


def call(tool: str, arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


@pytest.mark.promise("V-06", "N-01")
def test_a_batch_of_right_calls_is_left_alone(gate: Gate) -> None:
    arguments = {"calls": [call("send_mail", {"to": "a", "body": "x"}), call("unheard_of", {"any": 1})]}
    verdict = gate.check("run_all", arguments)
    assert verdict.call is not None
    assert (verdict.ok, verdict.strategy, verdict.call.arguments is arguments) == (True, "direct", True)


@pytest.mark.promise("V-06")
def test_every_inner_call_is_repaired_by_its_own_tool(gate: Gate) -> None:
    right = call("send_mail", {"to": "a", "body": "x"})
    wrong = call("sendMail", "{'To': 'b', 'message': 'y', 'copies': 'two'}")
    verdict = gate.check("run_all", {"calls": [right, wrong]})
    assert verdict.call is not None
    assert verdict.call.arguments == {"calls": [right, call("send_mail", {"to": "b", "body": "y", "copies": 2})]}
    assert verdict.call.arguments["calls"][0] is right
    assert {repair.path.partition(".")[0] for repair in verdict.repairs} == {"calls[1]"}
    assert verdict.confidence == min(repair.confidence for repair in verdict.repairs)


@pytest.mark.promise("V-06")
@every(
    ("inner", "path"),
    [
        (call("send_mail", {"to": "a"}), "calls[0].body"),
        (call("send_mail", {"to": "a", "body": "x", "copies": "some"}), "calls[0].copies"),
        (call("send_mail", "no arguments"), "calls[0]"),
        (call("write_old", {"path": 5, "zzz": []}), "calls[0]"),
        ({"arguments": {}}, "calls[0]"),
        ("send_mail", "calls[0]"),
    ],
)
def test_a_wrong_inner_call_refuses_the_batch_and_says_which(gate: Gate, inner: Any, path: str) -> None:
    verdict = gate.check("run_all", {"calls": [inner]})
    assert not verdict.ok
    assert path in {problem.path for problem in verdict.problems if problem.code == "inner_call"}


@pytest.mark.promise("V-06")
def test_all_wrong_inner_calls_are_told_at_once(gate: Gate) -> None:
    verdict = gate.check("run_all", {"calls": [call("send_mail", {"to": "a"}), call("send_mail", {"body": "x"})]})
    assert {problem.path for problem in verdict.problems} == {"calls[0].body", "calls[1].to"}


@pytest.mark.promise("V-06")
def test_a_batch_that_its_schema_wants_as_text_is_looked_into_and_stays_text() -> None:
    gate = Gate([SEND, {"name": "run_all", "parameters": {"type": "object", "properties": {"calls": TEXT}}}], POLICY)

    def check(calls: Any) -> Any:
        return gate.check("run_all", {"calls": json.dumps(calls)})

    assert [problem.path for problem in check([call("send_mail", {"to": "a"})]).problems] == ["calls[0].body"]
    assert check([call("send_mail", {"to": "a", "body": "x"})]).strategy == "direct"
    fixed = check([call("sendMail", {"to": "a", "body": "x"})]).call.arguments["calls"]
    assert json.loads(fixed) == [call("send_mail", {"to": "a", "body": "x"})]
    twice = gate.check("run_all", {"calls": '[{"tool": "send_mail", "tool": "other", "arguments": {}}]'})
    assert not twice.ok
    assert not check(call("send_mail", {"to": "a"})).ok


@pytest.mark.promise("V-06", "N-13")
def test_batches_in_batches_have_a_bottom(gate: Gate) -> None:
    nested: dict[str, Any] = {"calls": [call("send_mail", {"to": "a"})]}
    for _ in range(2):
        nested = {"calls": [call("run_all", nested)]}
    assert not gate.check("run_all", nested).ok
    for _ in range(50):
        nested = {"calls": [call("run_all", nested)]}
    gate.check("run_all", nested)


@pytest.mark.promise("V-07")
def test_a_deprecated_tool_is_mapped_where_the_arguments_allow(gate: Gate) -> None:
    verdict = gate.check("write_old", "{'path': 'a.md', 'text': 'x'}", call_id="c")
    assert verdict.ok
    assert verdict.call == Call("write", {"file": "a.md", "text": "x"}, "c")
    assert verdict.found == Call("write_old", {"path": "a.md", "text": "x"}, "c")
    assert {repair.rule for repair in verdict.repairs} == {"single_quotes", "tool_replaced"}
    assert verdict.strategy == "manual_repair"


@pytest.mark.promise("V-07")
def test_a_deprecated_tool_whose_arguments_do_not_fit_names_its_replacement(gate: Gate) -> None:
    verdict = gate.check("write_old", {"path": "a.md"})
    assert not verdict.ok
    assert [problem.code for problem in verdict.problems] == ["deprecated_tool", "missing"]
    assert "`write`" in (verdict.hint or "")
    assert verdict.retry


@pytest.mark.promise("V-07", "V-04")
def test_a_deprecated_tool_is_only_observed_in_observe() -> None:
    gate = Gate([WRITE, OLD], {"gate": {**POLICY["gate"], "mode": "observe"}})
    verdict = gate.check("write_old", {"path": "a.md", "text": "x"})
    assert (verdict.ok, verdict.call) == (True, Call("write_old", {"path": "a.md", "text": "x"}))
    assert "deprecated_tool" in {problem.code for problem in verdict.problems}


@pytest.mark.promise("V-07", "N-06", "N-13")
def test_two_sources_for_one_argument_of_the_replacement_are_refused(gate: Gate) -> None:
    assert not gate.check("write_old", {"path": "a.md", "file": "b.md", "text": "x"}).ok
