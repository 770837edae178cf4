"""Native messages of every API, taken apart: the calls as they were given, the prose in its place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall import Call
from rightcall.gate.recover.native import NativeCall, Unpacked, unpack
from support.every import every
from support.recover.native_messages import (
    MALFORMED,
    NOTED,
    READ,
    assistant,
    candidate,
    choice,
    item,
    said,
    tool_call,
    tool_use,
)

pytestmark = pytest.mark.promise("R-02")


@every("name", READ)
def test_a_native_message_is_taken_apart_in_order(name: str) -> None:
    message, parts, finish = READ[name]
    assert unpack(message) == Unpacked(tuple(parts), finish, ())


@every("name", MALFORMED)
def test_a_malformed_call_is_still_a_call_so_that_the_gate_can_refuse_it(name: str) -> None:
    message, expected = MALFORMED[name]
    assert unpack(message).parts == (expected,)
    assert unpack(message).notes == ()


@every("name", NOTED)
def test_what_is_not_taken_for_a_call_is_not_dropped_in_silence(name: str) -> None:
    message, parts, codes = NOTED[name]
    unpacked = unpack(message)
    assert unpacked.parts == tuple(parts)
    assert [note.code for note in unpacked.notes] == codes
    assert all(note.message and note.message.isprintable() for note in unpacked.notes)


@every("kind", ["server_tool_use", "mcp_call", "web_search_call", "tool.execution", "\x1b[2K_call"])
def test_the_note_on_a_call_of_the_provider_says_whose_it_is(kind: str) -> None:
    (note,) = unpack([{"type": kind, "name": "weather", "input": {}}]).notes
    assert note.message.endswith("is not a call to a declared tool; its provider runs it")
    assert "\x1b" not in note.message


@every(
    "content",
    [
        {"type": "image", "source": {}},
        {"type": "web_search_tool_result", "content": [{"type": "text", "text": "<tool_call>"}]},
        {"type": "tool_result", "tool_use_id": "c1", "content": "<tool_call>"},
        {"type": "function_call_output", "call_id": "c1", "output": "<tool_call>"},
        {"type": "redacted_thinking", "data": "x"},
    ],
)
def test_results_and_pictures_are_neither_prose_nor_calls(content: dict[str, Any]) -> None:
    assert unpack([content]) == Unpacked((), None, ())


@every("arguments", [{"city": "Bern"}, '{"city": "Bern"}', "{'city': 'Be", {}, ""])
@every(
    "wrap",
    [
        lambda arguments: assistant(tool_calls=[tool_call(arguments=arguments)]),
        lambda arguments: {"choices": [choice(assistant(tool_calls=[tool_call(arguments=arguments)]))]},
        lambda arguments: assistant(function_call={"name": "weather", "arguments": arguments}),
        lambda arguments: {"output": [item(arguments=arguments)]},
        lambda arguments: {"type": "message", "role": "assistant", "content": [tool_use(input=arguments)]},
        lambda arguments: candidate({"functionCall": {"name": "weather", "args": arguments}}),
        lambda arguments: {"method": "tools/call", "params": {"name": "weather", "arguments": arguments}},
        lambda arguments: {"name": "weather", "arguments": arguments},
        lambda arguments: Call("weather", arguments),
    ],
)
def test_arguments_are_the_object_that_was_given(wrap: Any, arguments: Any) -> None:
    (only,) = unpack(wrap(arguments)).parts
    assert isinstance(only, NativeCall)
    assert only.arguments is arguments
    assert only.name == "weather"


NAMES = st.text(min_size=1, max_size=12)
VALUES = st.dictionaries(st.text(max_size=8), st.none() | st.integers() | st.text(max_size=8), max_size=4)
CALLS = st.lists(st.tuples(NAMES, VALUES), max_size=6)


@given(CALLS, st.text(min_size=1, max_size=30))
def test_any_calls_come_back_exactly_from_every_api(calls: list[tuple[str, dict[str, Any]]], text: str) -> None:
    told = [(name, given, f"c{number}") for number, (name, given) in enumerate(calls)]
    messages = [
        assistant(content=text, tool_calls=[tool_call(*one) for one in told]),
        assistant(content=[{"type": "text", "text": text}, *(tool_use(name=a, input=b, id=c) for a, b, c in told)]),
        {
            "output": [
                {"type": "output_text", "text": text},
                *(item(name=a, arguments=b, call_id=c) for a, b, c in told),
            ]
        },
        candidate({"text": text}, *({"functionCall": {"name": a, "args": b, "id": c}} for a, b, c in told)),
    ]
    for message in messages:
        prose, *found = unpack(message).parts
        assert prose == said(text)
        assert found == [NativeCall(*one, partial=False) for one in told]
