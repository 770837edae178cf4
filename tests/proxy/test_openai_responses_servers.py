"""Servers that tell less than OpenAI's own Responses, or nonsense."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.proxy.wires.common import Usage as Tokens
from rightcall.types import Call
from support.scripted.parts import NativeCall, Reasoning, Text, event
from support.wires.responses import CALL, WIRE, accumulated, answered, editor, events, heard, sse, stream, through, told

pytestmark = pytest.mark.promise("H-03")

CALLED = ("weather", '{"city":"Bern","days":3}')
WIL = CALL.replace("Bern", "Wil")
TO_WIL = ("weather", '{"city":"Wil","days":3}')

ITEMS: list[dict[str, Any]] = [
    {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": f"Look. {CALL}"}]},
    {
        "type": "function_call",
        "id": "f",
        "call_id": "c",
        "name": "Weather",
        "arguments": "{'city': 'Wil', 'days': '3'}",
    },
    {"type": "message", "id": "n", "role": "assistant", "content": [{"type": "output_text", "text": WIL}]},
]
MENDED = ["Look. ", TO_WIL, CALLED]
CREATED = {"type": "response.created", "response": {"id": "r"}}
COMPLETED = {"type": "response.completed", "response": {"id": "r", "output": ITEMS}}
DONE = [{"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(ITEMS)]


def test_a_server_that_sends_items_whole_is_understood() -> None:
    data = through(sse(CREATED, *DONE, COMPLETED))
    assert told(events(data)[-1]["response"]["output"]) == MENDED
    done = [one for one in events(data) if one["type"] == "response.output_item.done"]
    assert told([one["item"] for one in done]) == MENDED
    assert [one["output_index"] for one in done] == [0, 1, 2]
    assert b"sequence_number" not in data
    assert told(accumulated(data)["output"]) == MENDED


def test_a_server_that_sends_items_whole_and_right_keeps_its_bytes() -> None:
    item = {**ITEMS[1], "name": "weather", "arguments": '{"city": "Wil"}'}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    data = sse(CREATED, done, {"type": "response.completed", "response": {"id": "r", "output": [item]}})
    assert through(data) == data


def test_a_server_that_sends_only_the_end_is_understood() -> None:
    assert told(events(through(sse(CREATED, COMPLETED, named=False)))[-1]["response"]["output"]) == MENDED


def test_a_server_that_leaves_the_output_to_the_items_is_understood() -> None:
    data = through(sse(CREATED, *DONE, {"type": "response.completed", "response": {"id": "r"}}))
    assert events(data)[-1]["response"] == {"id": "r"}
    assert told(accumulated(data)["output"]) == MENDED


def test_a_server_that_numbers_nothing_is_understood() -> None:
    """llama.cpp tells items by their ids alone."""
    item = {**ITEMS[1], "arguments": ""}
    data = through(
        sse(
            CREATED,
            {"type": "response.output_item.added", "item": {**ITEMS[0], "content": []}},
            {"type": "response.output_text.delta", "item_id": "m", "delta": f"Look. {CALL}"},
            {"type": "response.output_text.done", "item_id": "m", "text": f"Look. {CALL}"},
            {"type": "response.output_item.done", "item": ITEMS[0]},
            {"type": "response.output_item.added", "item": item},
            {"type": "response.function_call_arguments.delta", "item_id": "f", "delta": ITEMS[1]["arguments"]},
            {"type": "response.output_item.done", "item": ITEMS[1]},
            {"type": "response.completed", "response": {"id": "r", "output": ITEMS[:2]}},
        )
    )
    happened = events(data)
    assert told(happened[-1]["response"]["output"]) == ["Look. ", TO_WIL, CALLED]
    assert [one["delta"] for one in happened if "delta" in one] == ["Look. ", TO_WIL[1], CALLED[1]]
    assert all("output_index" not in one for one in happened[:8])


def test_other_ids_at_the_end_do_not_make_two_calls_of_one() -> None:
    renamed = [{**item, "id": f"other_{at}"} for at, item in enumerate(ITEMS)]
    data = through(sse(CREATED, *DONE, {"type": "response.completed", "response": {"id": "r", "output": renamed}}))
    assert told(events(data)[-1]["response"]["output"]) == MENDED


def test_the_same_id_for_two_items_does_not_make_one_of_them() -> None:
    twice = [{**ITEMS[1], "id": "x"}, {**ITEMS[1], "id": "x", "call_id": "d", "name": "now", "arguments": "{}"}]
    assert told(answered({"output": twice})["output"]) == [TO_WIL, ("now", "{}")]


def test_arguments_that_come_with_the_first_event_are_not_taken_twice() -> None:
    for early in ("", ITEMS[1]["arguments"]):
        begun = {"type": "response.output_item.added", "output_index": 0, "item": {**ITEMS[1], "arguments": early}}
        final = {"type": "response.completed", "response": {"id": "r", "output": [ITEMS[1]]}}
        done = {"type": "response.output_item.done", "output_index": 0, "item": ITEMS[1]}
        happened = events(through(sse(CREATED, begun, done, final)))
        assert happened[1]["item"]["arguments"] == (TO_WIL[1] if early else "")
        assert told([happened[2]["item"], *happened[3]["response"]["output"]]) == [TO_WIL, TO_WIL]
        piece = {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": ITEMS[1]["arguments"]}
        happened = events(through(sse(CREATED, begun, piece, done, final)))
        assert (happened[1]["item"]["arguments"], happened[2]["delta"]) == ("", TO_WIL[1])


def test_a_call_without_an_id_gets_one_that_all_events_tell() -> None:
    item = {**ITEMS[1], "call_id": None, "name": "weather", "arguments": '{"city": "Wil"}'}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    final = {"type": "response.completed", "response": {"id": "r", "output": [item]}}
    happened = events(through(sse(CREATED, done, final)))
    given = happened[1]["item"]["call_id"]
    assert given.startswith("call_")
    assert happened[2]["response"]["output"][0]["call_id"] == given


def test_a_stream_that_breaks_off_leaves_what_came() -> None:
    data = stream(Text("Well. "), NativeCall("Weather", "{'city': 'Bern'}", pieces=4))
    part = data[: data.index(b"function_call_arguments.done") + 40]
    assert through(part) == part


def test_a_server_that_breaks_down_leaves_no_half_call() -> None:
    data = stream(Text("Well. "), NativeCall("Weather", "{'city': 'Bern'}", pieces=4))
    running = editor()
    out = running.feed(data[: data.index(b"function_call_arguments.done") + 40]) + running.break_off()
    assert out == data[: data.index(b"event: response.output_item.added", data.index(b"output_item.done"))]


def test_a_model_that_did_not_call_is_given_another_try_before_the_end() -> None:
    running = editor(must_call=True)
    out = running.feed(stream(Text("I cannot.")))
    assert running.flow.uncalled
    running.flow.replace("", (Call("weather", {"city": "Bern", "days": 3}, "call_1"),), [])
    client = heard(out + running.ready() + running.close())
    assert told(client.items) == ["I cannot.", CALLED]


# ── servers that tell nonsense ───────────────────────────────────────────────────────────────────────────────────

HAPPENED = events(
    stream(Reasoning("Hm."), Text(f"So {CALL}", pieces=9), NativeCall("Weather", "{'city': 'Bern'}", pieces=4))
)
NONSENSE = st.sampled_from([None, True, -1, 7, 1.5, "", "m", [], {}, [None], {"type": "message"}, {"output": [3]}])
KEYS = st.sampled_from(
    ["type", "item", "part", "response", "delta", "text", "output_index", "content_index", "item_id"]
)


@given(st.lists(st.tuples(st.integers(0, len(HAPPENED) - 1), KEYS, NONSENSE), max_size=8), st.randoms(), st.booleans())
def test_whatever_a_server_sends_nothing_raises(changes: list[tuple[int, str, Any]], random: Any, hold: bool) -> None:
    happened = [dict(one) for one in HAPPENED]
    for at, key, value in changes:
        if isinstance(happened[at].get(key), dict) and random.random() < 0.5:
            happened[at][key] = {**happened[at][key], random.choice(["type", "id", "content", "output", "name"]): value}
        else:
            happened[at][key] = value
    if random.random() < 0.3:
        random.shuffle(happened)
    running = editor(hold=hold)
    running.extra = Tokens(1, 1)
    out = running.feed(b"".join(event(None, one) for one in happened))
    running.flow.give_up()
    assert events(out + running.ready() + running.close())


WORDS = st.sampled_from(["type", "content", "arguments", "name", "id", "text", "message", "function_call"])
PART = st.dictionaries(WORDS, NONSENSE | WORDS, max_size=3)
ITEM = st.dictionaries(WORDS, NONSENSE | WORDS | st.lists(PART, max_size=2), max_size=4)


@given(st.lists(ITEM, max_size=2))
def test_whatever_a_server_answers_nothing_raises(output: list[Any]) -> None:
    answer = answered({"output": output, "usage": output})
    assert len(answer["output"]) == len(output)
    assert WIRE.usage(answer) == Tokens()
    assert WIRE.whole(output) is None
