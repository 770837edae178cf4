"""Anthropic's messages through the engine: what is right keeps its bytes, what is broken comes out right."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from rightcall.proxy.wires.common import Usage as Tokens
from rightcall.types import Call
from support.every import every
from support.scripted.parts import Answer, NativeCall, Part, Pieces, Reasoning, Text
from support.wires.anthropic import (
    BEGIN,
    LIFTED_CALL,
    accumulated,
    answered,
    block_events,
    data_of,
    editor,
    happened,
    message_of,
    streamed,
    through,
    through_whole,
    told,
)

pytestmark = pytest.mark.promise("H-03")

QUOTED = f"Write `{LIFTED_CALL}` to ask; a < b, {{1: 2}}, <div>, and <tool_call> is a tag.\n\n"
RIGHT = [
    Reasoning("They want Bern."),
    Text(QUOTED),
    NativeCall("weather", {"city": "Bern", "days": 3}),
    NativeCall("now", ""),
    NativeCall("somebody_elses", {"x": 1}),
]
CALLED = ("weather", {"city": "Bern", "days": 3})

BROKEN: dict[str, tuple[list[Part], list[Any]]] = {
    "a number as text": ([NativeCall("weather", '{"city": "Bern", "days": "3"}')], [CALLED, "tool_use"]),
    "another name": ([NativeCall("Weather", '{"city": "Bern", "days": 3}')], [CALLED, "tool_use"]),
    "Python quotes": ([NativeCall("weather", "{'city': 'Bern', 'days': 3}", pieces=4)], [CALLED, "tool_use"]),
    "another argument": (
        [Text("Well. "), NativeCall("weather", {"City": "Bern", "days": 3}), NativeCall("now", {})],
        ["Well. ", CALLED, ("now", {}), "tool_use"],
    ),
    "a call for a text": ([Text(LIFTED_CALL)], [CALLED, "tool_use"]),
    "a call amid prose": (
        [Text(f"Let me see.\n\n{LIFTED_CALL}\n\nDone.")],
        ["Let me see.\n\n\n\nDone.", CALLED, "tool_use"],
    ),
    "calls in two texts": (
        [Text(LIFTED_CALL), Text("And"), Text(f"\n{LIFTED_CALL.replace('Bern', 'Wil')}\n")],
        ["And", CALLED, ("weather", {"city": "Wil", "days": 3}), "tool_use"],
    ),
    "two calls in one text": (
        [Text(f"{LIFTED_CALL}\n{LIFTED_CALL.replace('Bern', 'Wil')}")],
        [CALLED, ("weather", {"city": "Wil", "days": 3}), "tool_use"],
    ),
    "a thought, then a call in the text": (
        [Reasoning("Bern."), Text(LIFTED_CALL), Reasoning("More."), Text("Wait.")],
        ["thinking", "thinking", "Wait.", CALLED, "tool_use"],
    ),
    "a call in the text beside native ones": (
        [Text(LIFTED_CALL), NativeCall("now", {}), NativeCall("weather", {"city": "Wil", "days": "1"})],
        [("now", {}), ("weather", {"city": "Wil", "days": 1}), CALLED, "tool_use"],
    ),
    "a call in the text that is there natively too": (
        [Text(LIFTED_CALL), NativeCall("weather", {"city": "Bern", "days": "3"})],
        [CALLED, "tool_use"],
    ),
}
"""What the server says, and what the client should read."""


# ── what is right ────────────────────────────────────────────────────────────────────────────────────────────────


@every("pieces", [1, 3, 8, 40, 500, None])
def test_a_right_stream_keeps_its_bytes_however_it_is_cut(pieces: Pieces) -> None:
    data = streamed(Answer([*RIGHT, Text(QUOTED, pieces)], extra={"x_new": [1.5]}))
    assert through(data) == data
    assert through(data, lift=False, hold=True) == data
    assert accumulated(through(data, range(0, len(data), 7))) == accumulated(data)


def test_a_right_whole_answer_stays_and_says_so() -> None:
    message = message_of(*RIGHT, extra={"x_new": 1})
    written, event = through_whole(message)
    assert event.same
    assert written == message


def test_blocks_and_events_of_other_kinds_keep_their_bytes() -> None:
    blocks = [
        {"type": "redacted_thinking", "data": "xx"},
        {"type": "server_tool_use", "id": "s1", "name": "weather", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
        {"type": "text", "text": "", "citations": []},
        {"type": "of_tomorrow"},
    ]
    pieces = [
        {"type": "input_json_delta", "partial_json": '{"days": "3"}'},
        {"type": "text_delta", "text": ""},
        {"type": "citations_delta", "citation": {"type": "char_location"}},
        {"type": "of_tomorrow", "text": LIFTED_CALL},
    ]
    begin = {"type": "message_start", "message": {"usage": {"input_tokens": "many"}}}
    every = [one for index, block in enumerate(blocks) for one in block_events(index, block, *pieces)]
    end = [{"type": "ping"}, {"type": "message_delta", "delta": {}}, {"type": "error", "error": {}}]
    deep = b'data: {"type": "message_delta", "usage": ' + b"[" * 9000 + b"]" * 9000 + b"}\n\n"
    odd = b": a comment\n\nevent: odd\ndata: []\n\ndata: {half\n\nda"
    data = happened(begin, *every, *end) + deep + odd
    assert through(data) == data


# ── what is broken ───────────────────────────────────────────────────────────────────────────────────────────────


@every("case", BROKEN)
def test_what_is_broken_comes_out_right_in_a_stream_and_whole(case: str) -> None:
    parts, expected = BROKEN[case]
    assert told(accumulated(through(streamed(Answer(parts))))) == expected
    assert told(through_whole(message_of(*parts))[0]) == expected


@every("case", BROKEN)
def test_every_way_to_cut_the_answer_gives_the_same_message(case: str) -> None:
    parts, expected = BROKEN[case]
    for size in (1, 2, 5, 11, 200):
        cut = [Text(part.text, size) if isinstance(part, Text) else part for part in parts]
        data = streamed(Answer(cut))
        assert _read(through(data)) == expected
        assert _read(through(data, range(0, len(data), size))) == expected


@given(st.data())
def test_it_matters_nowhere_where_the_bytes_are_cut(data: st.DataObject) -> None:
    parts, expected = BROKEN[data.draw(st.sampled_from(sorted(BROKEN)))]
    stream = streamed(Answer(parts)).replace(b"\n", data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"])))
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=30))
    assert _read(through(stream, cuts).replace(b"\r\n", b"\n").replace(b"\r", b"\n")) == expected


def _read(stream: bytes) -> list[Any]:
    """A stream as `told`, read by hand: every number of a block is that of its place."""
    blocks: list[dict[str, Any]] = []
    inputs: dict[int, str] = {}
    reason = None
    for one in data_of(stream):
        match one["type"]:
            case "content_block_start":
                assert one["index"] == len(blocks)
                blocks.append(one["content_block"])
            case "content_block_delta":
                assert one["index"] == len(blocks) - 1
                blocks[-1]["text"] = blocks[-1].get("text", "") + one["delta"].get("text", "")
                inputs[one["index"]] = inputs.get(one["index"], "") + one["delta"].get("partial_json", "")
            case "content_block_stop":
                assert one["index"] == len(blocks) - 1
                if blocks[-1]["type"] == "tool_use":
                    blocks[-1]["input"] = json.decode(inputs[one["index"]] or "{}")
            case "message_delta":
                reason = one["delta"]["stop_reason"]
            case _:
                pass
    return told({"content": blocks, "stop_reason": reason})


def test_a_repaired_call_is_one_piece_with_its_id_and_its_unknown_fields() -> None:
    call = NativeCall("Weather", "{'city': 'Bern'}", id="toolu_x", pieces=3)
    written = data_of(through(streamed(Answer([call], extra={"x_new": 7}))))
    block = {"type": "tool_use", "id": "toolu_x", "name": "weather", "input": {}, "x_new": 7}
    assert [one for one in written if "index" in one] == [
        {"type": "content_block_start", "index": 0, "content_block": block, "x_new": 7},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "input_json_delta", "partial_json": '{"city":"Bern"}'},
        },
        {"type": "content_block_stop", "index": 0, "x_new": 7},
    ]


def test_a_rewritten_whole_answer_keeps_its_unknown_fields_and_its_ids() -> None:
    call = NativeCall("weather", {"city": "Bern", "days": "3"}, id="toolu_x")
    message = message_of(Text(f"Well.\n{LIFTED_CALL.replace('Bern', 'Wil')}"), call, extra={"x_new": 7})
    written, event = through_whole(message)
    new = written["content"].pop()
    assert not event.same
    assert (new["name"], new["input"], new["id"][:6]) == ("weather", {"city": "Wil", "days": 3}, "toolu_")
    message["content"][0]["text"] = "Well.\n"
    message["content"][1]["input"]["days"] = 3
    assert written == message


def test_an_input_that_came_with_the_beginning_of_its_block_is_repaired_too() -> None:
    block = {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Bern", "days": "3"}}
    assert told(accumulated(through(answered(*block_events(0, block))))) == [CALLED, "tool_use"]


def test_an_input_that_is_the_text_of_an_object_becomes_one() -> None:
    message = message_of(NativeCall("weather", {}))
    message["content"][0]["input"] = '{"city": "Bern", "days": 3}'
    assert told(through_whole(message)[0]) == [CALLED, "tool_use"]


def test_a_text_that_came_with_the_beginning_of_its_block_is_read_too() -> None:
    first = {"type": "text", "text": f"Well. {LIFTED_CALL[:20]}"}
    rest = {"type": "text_delta", "text": f"{LIFTED_CALL[20:]}"}
    assert told(accumulated(through(answered(*block_events(0, first, rest))))) == ["Well. ", CALLED, "tool_use"]


def test_a_call_without_an_id_gets_one() -> None:
    block = {"type": "tool_use", "id": "", "name": "now", "input": {}}
    written = accumulated(through(answered(*block_events(0, block))))
    assert written["content"][0]["id"].startswith("toolu_")


def test_a_rewritten_event_keeps_its_line_ends_and_what_stands_beside_its_data() -> None:
    data = (
        streamed(Answer([Text(f"Well.{LIFTED_CALL}", 500)]))
        .replace(b"data: ", b"id: 5\ndata: ")
        .replace(b"\n", b"\r\n")
    )
    piece = b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Well."}}'
    assert b"\r\n\r\nevent: content_block_delta\r\nid: 5\r\ndata: %s\r\n\r\n" % piece in through(data)


def test_what_belongs_to_a_block_that_was_lifted_goes_with_it_and_later_blocks_move_up() -> None:
    cited = {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "x"}}
    data = answered(
        *block_events(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": LIFTED_CALL}, cited),
        *block_events(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "So."}, cited),
        *block_events(2, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}, "new": 1}),
    )
    written = through(data)
    assert _read(written) == ["So.", "server_tool_use", CALLED, "tool_use"]
    assert [one["index"] for one in data_of(written) if one.get("delta") == cited] == [0]
    assert next(one for one in data_of(written) if one.get("index") == 1)["content_block"]["new"] == 1


def test_numbers_of_blocks_that_a_server_repeats_do_not_mix_its_calls_up() -> None:
    blocks = [{"type": "tool_use", "id": f"t{n}", "name": "weather", "input": {}} for n in range(2)]
    pieces = [{"type": "input_json_delta", "partial_json": f"{{'city': '{city}'}}"} for city in ("Bern", "Wil")]
    data = answered(*block_events(0, blocks[0], pieces[0]), *block_events(0, blocks[1], pieces[1]))
    inputs = [one["delta"]["partial_json"] for one in data_of(through(data)) if "partial_json" in one.get("delta", {})]
    assert inputs == ['{"city":"Bern"}', '{"city":"Wil"}']


def test_a_block_that_was_never_ended_has_nothing_to_do_with_the_next_of_its_number() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "weather", "input": {}}
    theirs = {"type": "server_tool_use", "id": "s1", "name": "weather", "input": {}}
    piece = {"type": "input_json_delta", "partial_json": "{'city': 'Bern'}"}
    written = data_of(through(answered(*block_events(0, call, piece)[:2], *block_events(0, theirs, piece))))
    inputs = [one["delta"]["partial_json"] for one in written if "partial_json" in one.get("delta", {})]
    assert inputs == ['{"city":"Bern"}', "{'city': 'Bern'}"]


def test_a_call_that_nobody_can_repair_passes_as_it_was_written() -> None:
    data = streamed(Answer([NativeCall("weather", '{"days": 3}'), NativeCall("weather", '{"city": "Be')]))
    assert through(data) == data


def test_text_flows_on_while_it_comes() -> None:
    data = streamed(Answer([Text("One two three. <tool")]))
    running = editor()
    sent = running.feed(data[: data.index(b"three")])
    assert b"One " in sent
    assert b"content_block_start" in sent


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
def test_an_answer_that_was_cut_off_stays_cut_off(reason: str) -> None:
    answer = Answer([Text(LIFTED_CALL)], finish=reason)
    assert _read(through(streamed(answer))) == [CALLED, reason]
    assert told(through_whole(message_of(Text(LIFTED_CALL), finish=reason))[0]) == [CALLED, reason]


def test_a_server_that_gives_no_reason_gets_one_for_a_lifted_call() -> None:
    block = block_events(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": LIFTED_CALL})
    data = happened(BEGIN, *block, {"type": "message_stop"})
    assert told(accumulated(through(data))) == [CALLED, "tool_use"]
    prose = data.replace(b"weather", b"another")
    assert through(prose) == prose


def test_every_event_that_tells_the_reason_tells_the_same() -> None:
    block = block_events(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": LIFTED_CALL})
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
    written = data_of(through(happened(BEGIN, *block, end, end, {"type": "message_stop"})))
    assert [one["delta"]["stop_reason"] for one in written if one["type"] == "message_delta"] == ["tool_use"] * 2


# ── whatever comes ───────────────────────────────────────────────────────────────────────────────────────────────

_ODD = st.sampled_from([None, -1, True, 1.5, "", "x", [], {}, [[]], {"type": "text"}, 10**30])


@given(st.data())
def test_nothing_that_a_server_sends_raises_or_stays_behind(data: st.DataObject) -> None:
    parts = BROKEN[data.draw(st.sampled_from(sorted(BROKEN)))][0]
    events = data_of(streamed(Answer(parts)))
    for _ in range(data.draw(st.integers(1, 4))):
        _damage(data.draw(st.sampled_from(events)), data)
    raw = b"".join(b"data: %s\n\n" % json.encode(one) for one in data.draw(st.permutations(events)))
    running = editor(hold=data.draw(st.booleans()))
    sent = running.feed(raw)
    if running.flow.broken:
        running.flow.replace("", (Call("now", {}, "t2"),), [])
        running.extra = Tokens(1, 1)
    sent += running.ready() + running.close()
    assert not running.flow.waiting
    assert all(json.decode(one.partition(b"data: ")[2]) for one in sent.split(b"\n\n")[:-1])


def _damage(given: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(given))) if given else "type"
    if isinstance(given.get(key), dict) and data.draw(st.booleans()):
        _damage(given[key], data)
    else:
        given[key] = data.draw(_ODD)


@every("reason", [None, ["end_turn"], {}, 5])
def test_a_reason_that_is_no_word_is_replaced_like_any_other(reason: Any) -> None:
    message = message_of(Text(LIFTED_CALL)) | {"stop_reason": reason}
    assert told(through_whole(message)[0]) == [CALLED, "tool_use"]
