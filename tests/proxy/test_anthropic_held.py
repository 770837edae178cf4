"""Answers over Anthropic's messages that are held: until the model was asked again, or because the server is gone."""

from typing import Any

import pytest

from rightcall.proxy.wires.common import Usage as Tokens
from rightcall.types import Call
from support.scripted.parts import Answer, NativeCall, Part, Reasoning, Text
from support.wires.anthropic import (
    LIFTED_CALL,
    accumulated,
    answered,
    block_events,
    data_of,
    editor,
    message_of,
    streamed,
    through_whole,
    told,
)

pytestmark = pytest.mark.promise("H-03")

NO_CITY = '<tool_call>{"name": "weather", "arguments": {"days": 3}}</tool_call>'
_HELD: dict[str, tuple[list[Part], list[Any]]] = {
    "a native call": (
        [Reasoning("Hm."), Text("Well."), NativeCall("weather", '{"days": 3}'), NativeCall("now", {})],
        ["thinking", "Well.", ("now", {})],
    ),
    "a call in the text": ([Text(NO_CITY, 5)], []),
    "a call after prose": ([Text("Well. " + NO_CITY + " So?", 5)], ["Well.  So?"]),
}


@pytest.mark.parametrize("case", _HELD)
def test_another_answer_takes_the_place_of_calls_that_nobody_can_repair(case: str) -> None:
    parts, kept = _HELD[case]
    data = streamed(Answer(parts))
    running = editor(hold=True)
    sent = running.feed(data)
    assert running.flow.broken
    assert b"message_delta" not in sent
    assert b"tool_use" not in sent
    running.flow.replace("Now then.", (Call("weather", {"city": "Bern"}, "toolu_2"),), [])
    running.extra = Tokens(100, 50)
    message = accumulated(sent + running.ready() + running.close())
    assert told(message) == [*kept, "Now then.", ("weather", {"city": "Bern"}), "tool_use"]
    assert (message["usage"]["input_tokens"], message["usage"]["output_tokens"]) == (121, 63)


@pytest.mark.parametrize("case", _HELD)
def test_where_no_better_answer_comes_the_first_one_passes_as_it_was(case: str) -> None:
    data = streamed(Answer(_HELD[case][0]))
    running = editor(hold=True)
    sent = running.feed(data)
    assert running.flow.broken
    running.flow.give_up()
    assert accumulated(sent + running.ready() + running.close()) == accumulated(data)


def test_an_answer_without_a_call_in_place_of_a_broken_one_ends_the_turn() -> None:
    running = editor(hold=True)
    sent = running.feed(streamed(Answer([NativeCall("weather", "{}")])))
    running.flow.replace("I cannot.", (), [])
    assert told(accumulated(sent + running.ready())) == ["I cannot.", "end_turn"]


def test_tokens_of_the_prompt_are_added_where_only_the_beginning_tells_them() -> None:
    block = {"type": "tool_use", "id": "t", "name": "weather", "input": {}}
    running = editor(hold=True)
    sent = running.feed(answered(*block_events(0, block)))
    running.flow.replace("", (Call("now", {}, "t2"),), [])
    running.extra = Tokens(100, 50)
    assert running.wire.usage == Tokens(5, 9)
    usage = accumulated(sent + running.ready())["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (105, 59)


def test_an_answer_without_a_call_that_was_asked_for_gets_those_of_another_one() -> None:
    running = editor(must_call=True)
    sent = running.feed(streamed(Answer([Text("Fine weather.")])))
    assert running.flow.uncalled
    assert b"message_delta" not in sent
    running.flow.replace("", (Call("weather", {"city": "Bern"}, "toolu_2"),), [])
    assert told(accumulated(sent + running.ready())) == ["Fine weather.", ("weather", {"city": "Bern"}), "tool_use"]


@pytest.mark.parametrize("arguments", ["", "{}", {}])
def test_arguments_that_another_answer_gave_as_text_are_an_object_for_the_client(arguments: Any) -> None:
    running = editor(hold=True)
    sent = running.feed(streamed(Answer([NativeCall("weather", "{}")])))
    running.flow.replace("", (Call("now", arguments, None),), [])
    assert told(accumulated(sent + running.ready())) == [("now", {}), "tool_use"]


def test_an_id_that_the_api_would_not_take_back_is_replaced() -> None:
    running = editor(hold=True)
    sent = running.feed(streamed(Answer([NativeCall("weather", "{}")])))
    running.flow.replace("", (Call("now", {}, "functions.now:0"), Call("now", {}, "a-1_B")), [])
    first, second = accumulated(sent + running.ready())["content"]
    assert first["id"].startswith("toolu_")
    assert second["id"] == "a-1_B"


def test_half_a_call_of_a_server_that_is_gone_reaches_nobody() -> None:
    data = streamed(Answer([Text("Well."), NativeCall("weather", {"city": "Bern"}, pieces=3)]))
    running = editor()
    sent = running.feed(data[: data.rindex(b"input_json_delta")]) + running.break_off()
    assert b"Well." in sent
    assert b"tool_use" not in sent
    assert {one.get("index") for one in data_of(sent)} == {None, 0}


def test_half_a_call_in_the_text_of_a_server_that_is_gone_stays_text() -> None:
    data = streamed(Answer([Text(LIFTED_CALL, [LIFTED_CALL[:30], LIFTED_CALL[30:]])]))
    running = editor()
    cut = data[: data.rindex(b"event: content_block_delta")]
    assert running.feed(cut) + running.break_off() == cut


def test_a_call_in_the_text_that_a_native_one_divides_is_none_streamed_or_whole() -> None:
    parts: list[Part] = [
        Text('Open: <tool_call>{"name": "weather", "arguments": {"city": "Be'),
        NativeCall("now", {}),
        Text('rn"}}</tool_call>'),
    ]
    running = editor()
    data = streamed(Answer(parts))
    assert running.feed(data) + running.close() == data
    message = message_of(*parts)
    assert through_whole(message)[0] == message
