"""The last resort at an executor: who may use it, what is recorded of it, and that side effects wait for a person."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, MemoryStore, tool
from rightcall.executor.calls import Written
from rightcall.gate.gate import Gate
from rightcall.record.notes import RESCUE
from support.rescue import POLICY, Says

READS = {"gate": {"llm": POLICY["gate"]["llm"] | {"side_effects": False}}}
MISNAMED = {"new_time": "17:00", "label": "Music"}
RIGHT = '{"new_time": "17:00", "new_label": "Music"}'


def run(says: Says, policy: dict[str, Any], call: Any = None, *, effects: Any = ("read",), caller: str = "ann") -> Any:
    """What came of one call, what ran, and what was recorded of the last resort."""
    ran: list[Any] = []

    @tool(name="set_alarm", effects=list(effects))
    def set_alarm(new_time: str, new_label: str = "") -> str:
        ran.append((new_time, new_label))
        return "set"

    store = MemoryStore()
    with Executor.open_sync(policy=policy, tools=[set_alarm], store=store, last_resort=says) as executor:
        outcome = executor.run(call or {"name": "set_alarm", "arguments": MISNAMED}, caller)
        entries = store.look(lambda tables: list(tables.entries()))
    notes = [entry.body for entry in entries if entry.kind == "message"]
    return outcome, ran, [body for body in notes if RESCUE.encode() in body]


@pytest.mark.promise("L-04")
def test_a_call_that_reads_runs_and_both_are_recorded() -> None:
    outcome, ran, notes = run(Says(RIGHT), READS)
    assert (outcome.status, ran) == ("success", [("17:00", "Music")])
    assert len(notes) == 1
    assert b'"taken":true' in notes[0]
    assert b'"tokens":7' in notes[0]
    assert b"Music" not in notes[0]


@pytest.mark.promise("L-04")
def test_an_answer_that_lies_is_recorded_and_nothing_runs() -> None:
    outcome, ran, notes = run(Says('{"new_time": "18:00", "new_label": "Music"}'), READS)
    assert (outcome.status, ran) == ("refused", [])
    assert b'"taken":false' in notes[0]
    assert b"18:00" not in notes[0]


@pytest.mark.promise("L-04")
def test_a_call_with_side_effects_is_put_to_no_model_unless_the_policy_says_so() -> None:
    says = Says(RIGHT)
    outcome, ran, notes = run(says, READS, effects=["write"])
    assert (outcome.status, ran, notes, says.asked) == ("refused", [], [], [])


@pytest.mark.promise("L-04")
def test_a_call_with_side_effects_waits_for_a_person_even_then() -> None:
    policy = {**POLICY, "policy": {"write": "allow"}}
    outcome, ran, _ = run(Says(RIGHT), policy, effects=["write"])
    assert (outcome.status, ran) == ("waiting", [])


@pytest.mark.promise("L-04")
def test_nobody_spends_the_budget_on_a_tool_that_he_may_not_use() -> None:
    says = Says(RIGHT)
    policy = {**READS, "callers": {"eve": {"deny": ["set_alarm"]}}}
    outcome, ran, notes = run(says, policy, caller="eve")
    assert (outcome.status, ran, notes, says.asked) == ("refused", [], [], [])


def test_calls_in_a_text_are_put_to_it_too() -> None:
    says = Says(RIGHT)
    text = '<tool_call>{"name": "set_alarm", "arguments": {"new_time": "17:00", "label": "Music"}}</tool_call>'
    outcome, ran, _ = run(says, READS, {"role": "assistant", "content": text})
    assert (outcome.status, ran) == ("success", [("17:00", "Music")])


@pytest.mark.promise("L-04")
def test_under_another_policy_what_a_model_put_together_is_refused_again() -> None:
    tools = [{"name": "set_alarm", "parameters": {"type": "object", "required": ["new_time"], "properties": {
        "new_time": {"type": "string"}, "new_label": {"type": "string"}}}}]  # fmt: skip
    first = Gate(tools, POLICY, last_resort=Says(RIGHT))
    refused = first.check("set_alarm", MISNAMED)
    better = asyncio.run(first.rescue(refused))
    assert better.ok
    written = Written(better, "set_alarm", gate=first, refused=refused)
    assert written.checked_by(first).verdict is better
    assert not written.checked_by(Gate(tools)).verdict.ok


def test_a_text_that_could_not_be_read_is_in_the_record(tmp_path: Path) -> None:
    @tool(effects=["read"])
    def look(city: str) -> str:
        return city

    store = MemoryStore()
    with Executor.open_sync(tmp_path, tools=[look], store=store) as executor:
        executor.run({"name": "look", "arguments": '{"city": "Bern" "or" "not"}'}, "ann")
        entries = store.look(lambda tables: list(tables.entries()))
    assert any(b'\\"Bern\\" \\"or\\"' in entry.body for entry in entries)


def test_an_executor_that_cannot_ask_the_model_of_its_policy_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with Executor.open_sync(policy=READS, store="memory"):
        assert "last_resort" in caplog.text
