"""Calls in a text are under the same policy as any others: strategies, modes, events, statistics, native twins."""

from typing import Any

import pytest

from rightcall import Event, Gate

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
    assert "switched off by the policy" in verdict.problems[0].message
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
