"""What the policy says of hosts, providers and strategies holds for names as well as for arguments."""

from typing import Any

import pytest

from rightcall import Event, Gate

TEXT = {"type": "string"}
READ: dict[str, Any] = {"name": "read_file", "parameters": {"type": "object", "properties": {"path": TEXT}}}


@pytest.mark.promise("N-10", "V-04")
@pytest.mark.parametrize(("gate", "host", "ok"), [("keep", "refuse", False), ("drop", "keep", True)])
def test_the_host_decides_over_unknown_arguments(gate: str, host: str, ok: bool) -> None:
    policy = {"gate": {"unknown_argument": gate, "hosts": {"hook": {"unknown_argument": host}}}}
    verdict = Gate([READ], policy=policy, host="hook").check("read_file", {"path": "a", "colour": "red"})
    assert verdict.ok is ok


@pytest.mark.promise("N-02", "N-15")
@pytest.mark.parametrize("name", ["ReadFile", "fs.read_file"])
def test_a_provider_without_repair_has_no_names_mapped(name: str) -> None:
    assert Gate([READ]).check(name, {"path": "a"}).ok
    verdict = Gate([READ], provider="anthropic").check(name, {"path": "a"})
    assert not verdict.ok
    assert verdict.problems[0].code == "unknown_tool"


@pytest.mark.promise("V-06")
def test_batches_that_are_nested_too_deeply_are_refused() -> None:
    gate = Gate(packs=["composio"])
    call: dict[str, Any] = {"tool_slug": "composio_search_web", "arguments": {}}
    for _ in range(6):
        call = {"tool_slug": "composio_multi_execute_tool", "arguments": {"tools": [call]}}
    assert not gate.check("composio_multi_execute_tool", call["arguments"]).ok


BUDGET: dict[str, Any] = {
    "type": "object",
    "properties": {"min": {"type": "integer"}, "max": {"type": "integer"}},
}
FIND: dict[str, Any] = {"name": "find", "parameters": {"type": "object", "properties": {"q": TEXT, "budget": BUDGET}}}


@pytest.mark.promise("N-06")
def test_what_was_flattened_joins_what_was_given() -> None:
    verdict = Gate([FIND]).check("find", {"q": "x", "budget.max": 5, "budget": {"min": 1}})
    assert verdict.ok
    assert verdict.call is not None
    assert verdict.call.arguments == {"q": "x", "budget": {"min": 1, "max": 5}}


@pytest.mark.promise("N-06", "N-13")
@pytest.mark.parametrize(
    "arguments",
    [
        {"budget.max": 1, "budget/max": 2},
        {"budget.max": 1, "budget": {"max": 2}},
        {"max": 1, "Max": 2},
    ],
)
def test_two_values_for_one_place_are_refused(arguments: dict[str, Any]) -> None:
    assert not Gate([FIND]).check("find", arguments).ok


@pytest.mark.promise("N-13")
@pytest.mark.parametrize(
    "text",
    [
        "<parameter=q>shoes</parameter> and <parameter=budget>{}</parameter>",
        "<parameter=q>shoes</parameter>\n<parameter=bud",
        '<parameter=budget>{"max": 1, "max": 2}</parameter>',
    ],
)
def test_tags_are_read_to_the_bottom(text: str) -> None:
    assert not Gate([FIND]).check("find", text).ok


@pytest.mark.promise("N-13")
def test_a_gate_without_tools_refuses_what_can_be_read_in_two_ways() -> None:
    assert Gate().check("any", "{'a': 1}").ok
    assert not Gate().check("any", '{"a": "x" "y" "z"}').ok


@pytest.mark.promise("N-09")
def test_a_default_belongs_to_the_call_it_was_filled_into() -> None:
    policy = {"gate": {"tools": {"find": {"defaults": {"tags": []}}}}}
    tags = {"type": "array", "items": TEXT}
    tool = {"name": "find", "parameters": {"type": "object", "properties": {"q": TEXT, "tags": tags}}}
    gate = Gate([tool], policy=policy)
    first, second = gate.check("find", {"q": "x"}).call, gate.check("find", {"q": "x"}).call
    assert first is not None
    assert second is not None
    first.arguments["tags"].append("mine")
    assert second.arguments["tags"] == []
    assert gate.check("find", {"q": "x"}).call == second


TOOL = {"name": "pay", "parameters": {"type": "object", "properties": {"cents": {"type": "integer"}}}}
DAMAGED = '<tool_call>{"name": "pay", "arguments": {"cents": 5,}}</tool_call>'
CUT = '<tool_call>{"name": "pay", "arguments": {"cents": 5'


def policy(**settings: Any) -> dict[str, Any]:
    return {"version": 1, "gate": settings}


@pytest.mark.promise("N-02")
@pytest.mark.parametrize("settings", [{"repair": False}, {"strategies": ["regex_quotes"]}])
def test_a_repair_that_is_switched_off_is_not_made_in_a_text(settings: dict[str, Any]) -> None:
    gate = Gate([TOOL], policy(providers={"mine": settings}), provider="mine")
    (verdict,) = gate.read(DAMAGED).calls
    assert not verdict.ok
    assert "disabled by the policy" in verdict.problems[0].message
    assert Gate([TOOL]).read(DAMAGED).calls[0].ok


@pytest.mark.promise("R-05")
def test_a_watched_call_hands_out_what_the_model_wrote() -> None:
    (verdict,) = Gate([TOOL], policy(mode="observe")).read(DAMAGED).calls
    assert verdict.call is not None
    assert verdict.call.arguments == {"cents": 5}


@pytest.mark.promise("V-05", "N-16")
def test_a_call_that_could_not_be_read_is_told_and_counted() -> None:
    events: list[Event] = []
    gate = Gate([TOOL], on_event=events.append)
    assert not gate.read(CUT).calls[0].ok
    assert [event.name for event in events] == ["tool_validation_failed"]
    assert gate.stats()["failures"] == 1


@pytest.mark.promise("R-02")
@pytest.mark.parametrize("name", ["pay", "Pay"])
def test_a_call_that_a_server_left_in_the_text_runs_once(name: str) -> None:
    text = f'<tool_call>{{"name": "{name}", "arguments": {{"cents": "5"}}}}</tool_call>'
    native = [{"id": "c", "type": "function", "function": {"name": "pay", "arguments": '{"cents": 5}'}}]
    reading = Gate([TOOL]).read({"role": "assistant", "content": text, "tool_calls": native})
    assert [place.format for place in reading.places] == ["native"]
    assert [note.code for note in reading.notes] == ["repeated"]


@pytest.mark.promise("R-08")
@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_what_the_token_limit_cut_off_is_not_ok(reason: str) -> None:
    complete = '<tool_call>{"name": "pay", "arguments": {"cents": "5"'
    assert Gate([TOOL]).read(complete).calls[0].truncated
    assert not Gate([TOOL]).read(complete, reason).calls[0].ok
