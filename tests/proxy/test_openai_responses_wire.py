"""OpenAI's Responses through the engine: what is right keeps its bytes, what is broken comes out right."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.proxy.wires.common import Usage as Tokens
from rightcall.types import Call
from support.every import every
from support.scripted.parts import NativeCall, Part, Pieces, Reasoning, Text
from support.wires.responses import (
    CALL,
    WIRE,
    accumulated,
    answered,
    editor,
    events,
    heard,
    numbered,
    sse,
    stream,
    through,
    told,
    whole,
)

pytestmark = pytest.mark.promise("H-03")

QUOTED = f"Write `{CALL}` to ask; a < b, {{1: 2}}, <div>, and <tool_call> is a tag.\n\n"
RIGHT: list[Part] = [
    Reasoning("They want Bern."),
    Text(QUOTED),
    NativeCall("weather", '{"city": "Bern",  "days": 3}'),
    NativeCall("now", "{}"),
    NativeCall("somebody_elses", {"x": 1}),
]
CALLED = ("weather", '{"city":"Bern","days":3}')
WIL = CALL.replace("Bern", "Wil")
TO_WIL = ("weather", '{"city":"Wil","days":3}')

BROKEN: dict[str, tuple[list[Part], list[Any]]] = {
    "a number as text": ([NativeCall("weather", '{"city":"Bern","days":"3"}')], [CALLED]),
    "another name": ([NativeCall("Weather", '{"city":"Bern","days":3}')], [CALLED]),
    "Python quotes": ([NativeCall("weather", "{'city': 'Bern', 'days': 3}", pieces=4)], [CALLED]),
    "no arguments for none": ([NativeCall("Now", "")], [("now", "{}")]),
    "another argument": (
        [Text("Well. "), NativeCall("weather", {"City": "Bern", "days": 3}), NativeCall("now", "{}")],
        ["Well. ", CALLED, ("now", "{}")],
    ),
    "a call for a text": ([Text(CALL)], [CALLED]),
    "a call amid prose": ([Text(f"Let me see.\n\n{CALL}\n\nDone.")], ["Let me see.\n\n\n\nDone.", CALLED]),
    "calls in two texts": ([Text(CALL), Text("And"), Text(f"\n{WIL}\n")], ["And", CALLED, TO_WIL]),
    "two calls in one text": ([Text(f"{CALL}\n{WIL}")], [CALLED, TO_WIL]),
    "a thought, then a call in the text": ([Reasoning("Hm."), Text(CALL)], ["reasoning", CALLED]),
    "a call in the text, then a thought and a native one": (
        [Text(CALL), Reasoning("Hm."), NativeCall("weather", '{"city":"Wil","days":"3"}')],
        ["reasoning", TO_WIL, CALLED],
    ),
    "a call in the text that is also native": ([Text(CALL), NativeCall("weather", CALLED[1])], [CALLED]),
}
PIECES: list[Pieces] = [1, 3, 7, 20, 1000, None]


def in_pieces(parts: list[Part], pieces: Pieces) -> list[Part]:
    made: list[Part] = []
    for part in parts:
        match part:
            case Text(text):
                made.append(Text(text, pieces))
            case NativeCall():
                made.append(NativeCall(part.name, part.arguments, part.id, pieces))
            case _:
                made.append(part)
    return made


# ── nothing is broken ────────────────────────────────────────────────────────────────────────────────────────────


@every("pieces", PIECES)
def test_a_right_stream_keeps_its_bytes(pieces: Pieces) -> None:
    data = stream(*in_pieces(RIGHT, pieces), extra={"x_new": [1.5, None]})
    assert through(data) == data
    assert through(data, hold=True) == data
    assert through(data, lift=False) == data


def test_a_right_answer_stays_as_it_is() -> None:
    answer = whole(*RIGHT, extra={"x_new": 1})
    assert answered(answer) == answer


def test_events_that_nobody_knows_keep_their_bytes() -> None:
    data = (
        b": hello\n\n"
        + sse({"type": "response.created", "response": {"id": "r"}}, {"type": "response.dreamt", "output_index": 0})
        + b"data: {broken\n\ndata: [1]\n\nevent: keepalive\ndata: {}\n\ndata: [DONE]\n\n"
        + sse({"type": "response.output_item.added", "output_index": 0, "item": None})
        + sse({"type": "response.output_text.delta", "output_index": [], "item_id": {}, "content_index": {}})
        + sse({"type": "response.x.delta", "output_index": 0, "content_index": []})
    )
    assert through(data) == data


def test_text_flows_on_before_the_answer_is_over() -> None:
    data = stream(Text("Bern is nice. It lies on the Aare."))
    half = data.index(b"event: response.output_text.delta", data.index(b'"delta":"nice. "'))
    assert editor().feed(data[:half]) == data[:half]


def test_a_refusal_does_not_wait_for_text() -> None:
    item = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    data = numbered(
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **at, "part": {"type": "refusal", "refusal": ""}},
        {"type": "response.refusal.delta", **at, "delta": "I can"},
    )
    assert editor().feed(data) == data


# ── what is broken comes out right ───────────────────────────────────────────────────────────────────────────────


@every("pieces", PIECES)
@every("name", BROKEN)
def test_a_broken_stream_comes_out_right_in_every_event(name: str, pieces: Pieces) -> None:
    parts, wanted = BROKEN[name]
    client = heard(through(stream(*in_pieces(parts, pieces))))
    assert told(client.items) == told(client.final["output"]) == wanted
    assert client.final["status"] == "completed"


@every("name", BROKEN)
def test_a_broken_answer_comes_out_right(name: str) -> None:
    parts, wanted = BROKEN[name]
    answer = answered(whole(*parts, extra={"x_new": 1}))
    assert told(answer["output"]) == wanted
    assert (answer["status"], answer["x_new"]) == ("completed", 1)


@every("name", BROKEN)
def test_the_official_client_puts_it_together(name: str) -> None:
    parts, wanted = BROKEN[name]
    response = accumulated(through(stream(*parts)))
    assert told(response["output"]) == wanted


@given(st.lists(st.integers(0, 5000), max_size=6), st.sampled_from(sorted(BROKEN)))
def test_it_does_not_matter_where_the_stream_is_cut(cuts: list[int], name: str) -> None:
    parts, wanted = BROKEN[name]
    data = stream(*parts)
    assert told(heard(through(data, *sorted(cut for cut in cuts if cut < len(data)))).items) == wanted


def test_every_single_cut_gives_the_same_outcome() -> None:
    data = stream(Text(f"So: {CALL}"), NativeCall("Weather", "{'city': 'Wil'}"))
    for cut in range(1, len(data), 37):
        assert told(heard(through(data, cut)).items) == ["So: ", ("weather", '{"city":"Wil"}'), CALLED]


def test_ids_and_unknown_fields_survive() -> None:
    client = heard(through(stream(NativeCall("Weather", "{'city': 'Bern'}", id="call_7"), extra={"x_new": 1})))
    (item,) = client.items
    assert (item["id"], item["call_id"], item["status"], item["x_new"]) == ("fc_0001_0", "call_7", "completed", 1)
    assert client.final["x_new"] == 1


def test_a_lifted_call_looks_like_a_native_one() -> None:
    happened = events(through(stream(Text(CALL), extra={"x_new": 1})))
    assert [one["type"].removeprefix("response.") for one in happened] == [
        "created", "in_progress", "output_item.added", "function_call_arguments.delta",
        "function_call_arguments.done", "output_item.done", "completed",
    ]  # fmt: skip
    (item,) = happened[-1]["response"]["output"]
    assert item == happened[-2]["item"]
    assert item["id"].startswith("fc_")
    assert item["call_id"].startswith("call_")
    assert happened[2]["item"] == {**item, "status": "in_progress", "arguments": ""}


def test_an_answer_that_was_cut_off_stays_cut_off() -> None:
    for answer in (
        heard(through(stream(Text(CALL), finish="incomplete"))).final,
        answered(whole(Text(CALL), finish="incomplete")),
    ):
        assert told(answer["output"]) == [CALLED]
        assert answer["status"] == "incomplete"
        assert answer["incomplete_details"] == {"reason": "max_output_tokens"}


def test_the_reason_of_the_end_is_told() -> None:
    for finish, reason in (("completed", "completed"), ("incomplete", "max_output_tokens")):
        event = WIRE.whole(whole(Text("x"), finish=finish))
        assert event is not None
        assert event.deltas[-1].text == reason


def test_a_server_that_sends_output_text_tells_the_text_that_is_left() -> None:
    answer = answered({**whole(Text("Well."), Text(f"Now {CALL}")), "output_text": f"Well.Now {CALL}"})
    assert answer["output_text"] == "Well.Now "


def test_a_call_that_nobody_can_repair_passes_as_it_was_written() -> None:
    data = stream(NativeCall("weather", '{"ci', pieces=2), NativeCall("weather", "{}"))
    assert through(data) == data


def test_the_tools_of_others_are_left_alone() -> None:
    namespaced = {"type": "function_call", "id": "fc_1", "call_id": "c", "namespace": "crm", "name": "Weather"}
    items: list[dict[str, Any]] = [
        {**namespaced, "arguments": "{'city': 1}"},
        {"type": "custom_tool_call", "id": "ct_1", "call_id": "d", "name": "weather", "input": CALL},
        {"type": "mcp_call", "id": "m_1", "name": "Weather", "arguments": "{'city': 1}"},
    ]
    data = numbered(
        {"type": "response.output_item.added", "output_index": 0, "item": {**namespaced, "arguments": ""}},
        {
            "type": "response.function_call_arguments.delta",
            "output_index": 0,
            "item_id": "fc_1",
            "delta": "{'city': 1}",
        },
        *[{"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(items)],
        {"type": "response.completed", "response": {"id": "r", "output": items}},
    )
    assert through(data) == data
    assert answered({"output": items})["output"] == items


# ── parts of one message ─────────────────────────────────────────────────────────────────────────────────────────


def message_events(*texts: str) -> bytes:
    """A message of several parts, each a text that comes in two pieces."""
    at = {"item_id": "msg_1", "output_index": 0}
    parts = [{"type": "output_text", "text": text, "annotations": [], "x_new": 1} for text in texts]
    empty: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    item = {**empty, "content": parts}
    happened: list[dict[str, Any]] = [{"type": "response.output_item.added", "output_index": 0, "item": empty}]
    for index, part in enumerate(parts):
        here, text = at | {"content_index": index}, texts[index]
        happened += [
            {"type": "response.content_part.added", **here, "part": {**part, "text": ""}},
            {"type": "response.output_text.delta", **here, "delta": text[:9], "logprobs": [1]},
            {"type": "response.output_text.delta", **here, "delta": text[9:], "logprobs": [2]},
            {"type": "response.output_text.annotation.added", **here, "annotation": {}, "annotation_index": 0},
            {"type": "response.output_text.done", **here, "text": text, "logprobs": [1, 2]},
            {"type": "response.content_part.done", **here, "part": part},
        ]
    happened.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    return numbered(
        {"type": "response.created", "response": {"id": "r", "output": []}},
        *happened,
        {"type": "response.completed", "response": {"id": "r", "output": [item]}},
    )


@every(
    ("texts", "left"),
    [
        ((CALL, "Wait for it."), ["Wait for it.", CALLED]),
        (("Wait for it.", CALL), ["Wait for it.", CALLED]),
        (("Wait for it.", CALL, "Done now."), ["Wait for it.|Done now.", CALLED]),
        ((CALL, WIL), [CALLED, TO_WIL]),
        ((f"Wait.{CALL}", "Done now."), ["Wait.|Done now.", CALLED]),
    ],
)
def test_a_part_that_was_a_call_disappears_and_the_others_move_up(texts: tuple[str, ...], left: list[Any]) -> None:
    data = through(message_events(*texts))
    client = heard(data)
    assert told(client.items) == left
    assert told(accumulated(data)["output"]) == left
    at = [one["content_index"] for one in events(data) if one["type"] == "response.content_part.added"]
    assert at == list(range(len(at)))
    for one in client.items:
        assert all(part["x_new"] == 1 for part in one.get("content", []))


def test_several_right_parts_keep_their_bytes() -> None:
    data = message_events("One text is here.", "And here is another.")
    assert through(data) == data


# ── tokens, and asking again ─────────────────────────────────────────────────────────────────────────────────────


def test_tokens_of_other_tries_are_added_at_the_end_of_the_stream() -> None:
    for part in (Text("Well."), Text(CALL)):
        running = editor()
        running.extra = Tokens(100, 7)
        final = heard(running.feed(stream(part)) + running.close()).final
        assert running.wire.usage == Tokens(21, 13)
        usage = final["usage"]
        assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (121, 20, 141)
        assert usage["output_tokens_details"] == {"reasoning_tokens": 0}


def test_tokens_of_other_tries_are_added_to_an_answer() -> None:
    answer = whole(Text("Well."))
    assert WIRE.usage(answer) == Tokens(21, 13)
    assert WIRE.usage(WIRE.with_usage(answer, Tokens(100, 7))) == Tokens(121, 20)
    assert WIRE.usage({"usage": None}) == WIRE.usage([]) == Tokens()


@pytest.mark.parametrize(
    ("parts", "left"),
    [
        ([Text("Well. "), NativeCall("weather", "{}", pieces=1)], ["Well. "]),
        ([NativeCall("weather", "{}"), NativeCall("now", "{}")], [("now", "{}")]),
        ([Reasoning("Hm."), Text('<tool_call>{"name": "weather", "arguments": {}}</tool_call>')], ["reasoning"]),
    ],
)
def test_another_answer_takes_the_place_of_calls_that_nobody_can_repair(parts: list[Part], left: list[Any]) -> None:
    running = editor(hold=True)
    data = running.feed(stream(*parts))
    assert len(running.flow.broken) == 1
    running.flow.replace("Now: ", (Call("weather", {"city": "Bern", "days": 3}, "call_1"),), [])
    data += running.ready() + running.close()
    assert told(heard(data).items) == [*left, "Now: ", CALLED]
    assert told(accumulated(data)["output"]) == [*left, "Now: ", CALLED]


def test_a_held_answer_that_is_given_up_passes_as_it_came() -> None:
    data = stream(Text("Well. "), NativeCall("weather", "{}", pieces=1), NativeCall("now", "{}"))
    running = editor(hold=True)
    out = running.feed(data)
    assert out == data[: data.index(b"event: response.output_item.added", data.index(b"output_item.done"))]
    running.flow.give_up()
    assert out + running.ready() + running.close() == data


def test_another_answer_takes_the_place_of_a_whole_one() -> None:
    event = WIRE.whole(whole(Text("Well. "), NativeCall("weather", "{}")))
    assert event is not None
    running = editor(hold=True)
    running.flow.take(event)
    running.flow.replace("Now: ", (Call("weather", {"city": "Bern", "days": 3}, "call_1"),), [])
    assert told(WIRE.written(event)["output"]) == ["Well. ", "Now: ", CALLED]
