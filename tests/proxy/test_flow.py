"""The engine: text flows, calls are judged, and what nobody changed leaves as the bytes that came."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import json

from rightcall.base.http.answers import TooLong
from rightcall.proxy.flow import Editor, Flow
from rightcall.proxy.gates import Settler
from rightcall.types import Call
from support.every import every
from support.wires.chat import (
    GATE,
    WIRE,
    call_stream,
    chunk,
    fed,
    gate_for,
    seen,
    seen_whole,
    settler,
    text_stream,
    through,
    tool,
    whole_answer,
)

pytestmark = pytest.mark.promise("H-03", "R-09")

GOOD = '<tool_call>{"name": "weather", "arguments": {"city": "Bern", "days": "3"}}</tool_call>'
FENCED = '```json\n{"name": "weather", "arguments": {"city": "Chur"}}\n```'
CUT_OFF = '<tool_call>{"name": "weather", "arguments": {"city": "Be'
WRONG = '<tool_call>{"name": "weather", "arguments": {"days": 3}}</tool_call>'
QUOTED = 'Write `<tool_call>{"name": "weather", "arguments": {"city": "x"}}</tool_call>` to call it.'
NOTES = ("a < b ", "`code` ", '{"k": 1} ', "[1, 2]\n", "<div> ", "Done.\n\n", "»«", " ", "\n", "Hello", "Action: ")

texts = st.lists(st.sampled_from((GOOD, FENCED, WRONG, QUOTED, CUT_OFF, *NOTES)), max_size=6).map("".join)


def cuts(draw: st.DrawFn, text: str) -> list[str]:
    at = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    return [text[start:end] for start, end in zip([0, *at], [*at, len(text)], strict=True)]


@given(st.data(), texts)
def test_a_stream_says_what_the_whole_answer_says_however_it_is_cut(data: st.DataObject, text: str) -> None:
    stream = text_stream(data.draw(st.composite(cuts)(text)))
    sizes = data.draw(st.lists(st.integers(1, 300), max_size=8))
    streamed, whole = seen(through(stream, *sizes)), seen_whole(whole_answer(text))
    assert streamed[:3] == whole[:3]
    assert all(call_id.startswith("call_") for call_id in streamed.ids)


@given(st.data(), st.lists(st.sampled_from((QUOTED, *NOTES)), max_size=6).map("".join))
def test_an_answer_without_a_call_adds_up_to_itself_and_is_never_told_of_one(data: st.DataObject, text: str) -> None:
    stream = text_stream(data.draw(st.composite(cuts)(text)))
    found = seen(through(stream))
    assert (found.text, found.calls, found.finish) == (text, [], "stop")


@every("size", [1, 2, 3, 5, 8, 13, 40, 500])
def test_prose_with_brackets_and_quoted_markup_leaves_as_the_bytes_that_came(size: int) -> None:
    text = f"Use a < b and `x` {{1}} [2] <div>: {QUOTED} Then 3 > 2."
    stream = text_stream([text[at : at + size] for at in range(0, len(text), size)])
    assert through(stream) == stream
    assert through(stream, 7, 7, 7) == stream


def test_right_native_calls_leave_as_the_bytes_that_came() -> None:
    stream = call_stream(("weather", '{"city":  "Bern"}', "a1"), ("Read", '{"file_path": "x"}', "a2"))
    assert through(stream, 10, 100, 1) == stream


def test_broken_native_calls_leave_right_and_the_right_one_beside_them_stays() -> None:
    stream = call_stream(
        ("weather", '{"city":  "Bern"}', "a1"),
        ("read_file", "{'path': 'x', 'limit': '5'}", "a2"),
        ("nobody", "{", "a3"),
    )
    found = seen(through(stream))
    assert found.calls == [
        ("weather", {"city": "Bern"}), ("Read", {"file_path": "x", "limit": 5}), ("nobody", "{"),
    ]  # fmt: skip
    assert found.ids == ["a1", "a2", "a3"]
    assert found.finish == "tool_calls"
    kept = json.encode({"index": 0, "function": {"arguments": '{"ci'}})
    assert kept in through(stream)  # the pieces of the right call are those that came


def test_a_native_call_without_an_id_gets_one() -> None:
    found = seen(through(call_stream(("weather", '{"city": "Bern"}', None))))
    assert found.calls == [("weather", {"city": "Bern"})]
    assert found.ids[0].startswith("call_")


def test_a_call_that_cannot_be_repaired_passes_as_the_model_wrote_it() -> None:
    stream = call_stream(("weather", '{"days": 3}', "a1"))
    flow = Flow(settler())
    assert fed(stream, [], flow) == stream
    assert [did.fate for did in flow.did] == ["left"]


def test_a_call_cut_off_by_the_token_limit_is_not_completed() -> None:
    stream = call_stream(("weather", '{"city": "Be', "a1")).replace(b'"tool_calls"}]', b'"length"}]')
    assert through(stream) == stream
    text = text_stream([CUT_OFF], "length")
    assert through(text) == text


def test_prose_before_a_call_does_not_wait_for_the_call() -> None:
    editor = Editor(WIRE.stream(), Flow(settler()))
    editor.feed(chunk({"role": "assistant", "content": ""}))
    first = editor.feed(chunk({"content": 'I will look. <tool_call>{"na'}))
    first += editor.feed(chunk({"content": 'me": "wea'}))
    assert seen(first).text == "I will look. "
    rest = editor.feed(chunk({"content": 'ther", "arguments": {"city": "Bern"}}</tool_call>'}) + chunk({}, "stop"))
    assert (seen(rest).text, seen(rest).calls) == ("", [("weather", {"city": "Bern"})])


def test_a_role_is_sent_once_also_where_its_chunk_is_sent_in_two_parts() -> None:
    pieces = [
        chunk({"role": "assistant", "content": "Hi <"}),
        chunk({"content": "tool_call>no"}),
        chunk({"content": "pe"}),
    ]
    out = through(b"".join([*pieces, chunk({}, "stop")]))
    assert out.count(b'"role"') == 1
    assert seen(out).text == "Hi <tool_call>nope"


def test_a_call_in_the_text_that_is_also_native_counts_once() -> None:
    stream = chunk({"role": "assistant", "content": GOOD}) + call_stream(
        ("weather", '{"city": "Bern", "days": 3}', "a1")
    )
    flow = Flow(settler())
    found = seen(fed(stream, [], flow))
    assert found.calls == [("weather", {"city": "Bern", "days": 3})]
    assert sorted(did.fate for did in flow.did) == ["repeated", "right"]


def test_an_answer_that_is_nothing_but_a_call_has_no_text_left() -> None:
    assert seen(through(text_stream(["\n\n", GOOD, "\n"])))[:3] == (
        "",
        [("weather", {"city": "Bern", "days": 3})],
        "tool_calls",
    )
    assert seen_whole(whole_answer(f"\n\n{GOOD}\n")).text == ""


def test_one_call_of_a_group_that_is_wrong_stays_in_the_text_and_the_right_one_is_lifted() -> None:
    found = seen(through(text_stream([GOOD + WRONG])))
    assert found.calls == [("weather", {"city": "Bern", "days": 3})]
    assert '"days": 3}' in found.text
    assert "Bern" not in found.text


def test_without_lifting_text_is_none_of_our_affair() -> None:
    stream = text_stream([GOOD])
    assert through(stream, lift=False) == stream


def test_a_call_of_a_tool_nobody_offered_is_not_lifted() -> None:
    stream = text_stream(['<tool_call>{"name": "launch", "arguments": {}}</tool_call>'])
    assert through(stream) == stream


@pytest.mark.promise("V-04")
def test_observing_changes_no_byte_and_tells_what_would_have_been_done() -> None:
    stream = chunk({"content": GOOD}) + call_stream(("read_file", "{'path': 'x'}", "a1"))
    flow = Flow(settler(observe=True))
    assert fed(stream, [], flow) == stream
    assert sorted(did.fate for did in flow.did) == ["lifted", "repaired"]


@pytest.mark.promise("V-04")
def test_a_tool_that_the_policy_only_observes_is_left_as_it_is() -> None:
    gate = gate_for(policy={"gate": {"tools": {"weather": {"mode": "observe"}}}})
    for stream in (text_stream([GOOD]), call_stream(("weather", "{'city': 'Bern', 'days': '3'}", "a1"))):
        assert fed(stream, [], Flow(Settler(gate, new_id=WIRE.new_id))) == stream


# ── asking again ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "stream", [text_stream(["Well. ", WRONG, " So."]), call_stream(("weather", '{"days": 3}', "a1"))]
)
def test_a_held_answer_passes_byte_for_byte_when_the_model_did_no_better(stream: bytes) -> None:
    flow = Flow(settler(), hold=True)
    editor = Editor(WIRE.stream(), flow)
    before = editor.feed(stream)
    assert flow.broken
    assert seen(before).calls == []
    flow.give_up()
    assert seen(before + editor.close()) == seen(stream)


@pytest.mark.parametrize(
    "stream", [text_stream(["Well. ", WRONG, " So."]), call_stream(("weather", '{"days": 3}', "a1"))]
)
def test_a_better_answer_takes_the_place_of_a_held_one(stream: bytes) -> None:
    flow = Flow(settler(), hold=True)
    editor = Editor(WIRE.stream(), flow)
    out = editor.feed(stream)
    flow.replace("Sorry.", (Call("weather", {"city": "Bern"}, "b1"),), [])
    found = seen(out + editor.close())
    assert found.calls == [("weather", {"city": "Bern"})]
    assert found.ids == ["b1"]
    assert found.finish == "tool_calls"
    assert "days" not in found.text
    assert found.text.endswith("Sorry.")


def test_what_the_model_is_told_names_each_call_and_what_is_wrong_with_it() -> None:
    flow = Flow(settler(), hold=True)
    Editor(WIRE.stream(), flow).feed(
        call_stream(("weather", '{"days": 3}', "a1"), ("Read", '{"file_path": "x"}', "a2"))
    )
    redo = flow.redo()
    assert [(call.name, call.id) for call in redo.calls] == [("weather", "a1"), ("Read", "a2")]
    assert "Missing required fields: city" in redo.hints[0]
    assert "accepted" in redo.hints[1]


def test_an_answer_that_had_to_call_and_did_not_waits_for_its_end() -> None:
    flow = Flow(settler(), must_call=True)
    editor = Editor(WIRE.stream(), flow)
    out = editor.feed(text_stream(["I cannot."]))
    assert flow.uncalled
    assert seen(out).finish is None
    flow.give_up()
    assert out + editor.close() == text_stream(["I cannot."])


def test_when_the_server_breaks_down_text_is_kept_and_half_a_call_goes_no_further() -> None:
    for stream in (
        chunk({"content": "Well <tool"}),
        call_stream(("weather", '{"city": "Be', "a1")).split(b'"tool_calls"}]')[0],
    ):
        editor = Editor(WIRE.stream(), Flow(settler()))
        out = seen(editor.feed(stream) + editor.break_off())
        assert out.calls == []
        assert out.text == ("Well <tool" if b"Well" in stream else "")


def test_a_stream_that_gives_no_reason_to_end_still_brings_its_calls() -> None:
    stream = chunk({"content": GOOD}) + b"data: [DONE]\n\n"
    found = seen(through(stream))
    assert (found.calls, found.finish) == ([("weather", {"city": "Bern", "days": 3})], "tool_calls")
    native = call_stream(("read_file", "{'path': 'x'}", "a1")).replace(chunk({}, "tool_calls"), b"")
    assert seen(through(native)).calls == [("Read", {"file_path": "x"})]
    plain = chunk({"content": "Hi"}) + b"data: [DONE]\n\n"
    assert through(plain) == plain


def test_a_stream_that_just_stops_says_that_a_call_was_on_its_way() -> None:
    flow = Flow(settler())
    editor = Editor(WIRE.stream(), flow)
    editor.feed(chunk({"content": GOOD}) + chunk({"content": " So."}))
    assert flow.unended
    plain = Flow(settler())
    Editor(WIRE.stream(), plain).feed(chunk({"content": "Hi"}))
    assert not plain.unended


def test_a_better_answer_without_a_call_ends_as_one() -> None:
    flow = Flow(settler(), hold=True)
    editor = Editor(WIRE.stream(), flow)
    out = editor.feed(call_stream(("weather", '{"days": 3}', "a1")))
    flow.replace("Which city?", (), [])
    assert seen(out + editor.close())[:3] == ("Which city?", [], "stop")


@pytest.mark.parametrize("data", [b'{"choices": ' + b"[" * 20_000, b'{"choices": [], "usage": ' + b'{"a":' * 20_000])
def test_what_is_nested_too_deep_passes(data: bytes) -> None:
    assert through(b"data: " + data + b"\n\n") == b"data: " + data + b"\n\n"
    assert WIRE.asked(data) is None


def test_two_answers_to_one_request_do_not_mix() -> None:
    def both(text: str, finish: str | None) -> bytes:
        choices = [{"index": at, "delta": {"content": text}, "finish_reason": finish} for at in (0, 1)]
        return b"data: " + json.encode({"choices": choices}) + b"\n\n"

    out = through(both(GOOD, None) + both("", "stop"))
    answers: dict[int, list[str]] = {0: [], 1: []}
    for event in out.split(b"\n\n")[:-1]:
        for choice in json.decode(event[6:])["choices"]:
            answers[choice["index"]] += [call["function"]["name"] for call in choice["delta"].get("tool_calls") or []]
    assert answers == {0: ["weather"], 1: ["weather"]}
    assert GATE.catalog.names == ("weather", "Read")


# ── what the token limit cut off ─────────────────────────────────────────────────────────────────────────────────────

RUN = json.encode([tool("run", ["command"], command={"type": "string"}), tool("now", [])])


@pytest.mark.promise("R-08")
@pytest.mark.parametrize("text", ["Action: run\nAction Input: rm -rf /tmp/fo", "Action: now\nAction Input: "])
def test_a_call_in_the_text_that_only_ends_with_the_text_is_none_where_the_limit_cut_it(text: str) -> None:
    gate = gate_for(RUN)
    for finish, calls in (("length", 0), ("stop", 1)):
        stream = text_stream([text], finish)
        out = fed(stream, [], Flow(Settler(gate, new_id=WIRE.new_id)))
        assert len(seen(out).calls) == calls
        assert calls or out == stream


@pytest.mark.promise("R-08")
def test_a_native_call_that_lost_its_arguments_to_the_limit_is_not_made_one_without_any() -> None:
    gate = gate_for(RUN)
    for finish, name in (("length", "Now"), ("tool_calls", "now")):
        stream = call_stream(("Now", "", "a1")).replace(
            b'"finish_reason":"tool_calls"', b'"finish_reason":"%s"' % finish.encode()
        )
        found = seen(fed(stream, [], Flow(Settler(gate, new_id=WIRE.new_id))))
        assert found.calls[0][0] == name


@pytest.mark.promise("R-06")
def test_what_stands_around_a_native_call_is_still_one_text() -> None:
    stream = chunk({"content": f"<think>Perhaps {GOOD}"}) + call_stream(("Read", '{"file_path": "x"}', "a1"))
    late = chunk({"content": " no.</think>"})
    out = through(stream.replace(chunk({}, "tool_calls"), late + chunk({}, "tool_calls")))
    assert seen(out).calls == [("Read", {"file_path": "x"})]


def test_a_call_whose_answer_never_ends_stays_in_the_text() -> None:
    stream = chunk({"content": f"Let me look. {GOOD}"})
    flow = Flow(settler())
    out = fed(stream, [], flow)
    assert (out, flow.unended) == (stream, False)


# ── asking again keeps what was right ────────────────────────────────────────────────────────────────────────────────


@every(
    "stream",
    [
        text_stream([GOOD, " and ", WRONG]),
        text_stream([GOOD + WRONG]),
        chunk({"content": GOOD}) + call_stream(("weather", '{"days": 3}', "a1")),
        chunk({"content": WRONG}) + call_stream(("weather", '{"city": "Bern", "days": 3}', "a1")),
    ],
)
def test_right_calls_beside_a_broken_one_are_kept_and_not_doubled(stream: bytes) -> None:
    flow = Flow(settler(), hold=True)
    editor = Editor(WIRE.stream(), flow)
    out = editor.feed(stream)
    assert "Missing required fields: city" in "".join((*flow.redo().hints, flow.redo().text))
    again = (Call("weather", {"city": "Bern", "days": 3}, "b1"), Call("weather", {"city": "Chur", "days": 3}, "b2"))
    flow.replace("", again, [])
    found = seen(out + editor.close())
    assert found.calls == [("weather", {"city": "Bern", "days": 3}), ("weather", {"city": "Chur", "days": 3})]


@pytest.mark.parametrize(("first", "second", "told"), [("length", "stop", "tool_calls"), ("stop", "length", "length")])
def test_the_reason_is_that_of_the_answer_that_stands_in(first: str, second: str, told: str) -> None:
    flow = Flow(settler(), hold=True)
    editor = Editor(WIRE.stream(), flow)
    out = editor.feed(text_stream([f"{WRONG} So."], first))
    flow.replace("", (Call("weather", {"city": "Bern"}, "b1"),), [], second)
    assert seen(out + editor.close()).finish == told


@pytest.mark.promise("N-16")
def test_every_call_is_counted_once_also_where_answers_are_held() -> None:
    gate = gate_for()
    fed(call_stream(("weather", '{"city": "Bern"}', "a1")), [], Flow(Settler(gate, new_id=WIRE.new_id), hold=True))
    assert gate.stats()["total_calls"] == 1


# ── odd servers, odd modes ───────────────────────────────────────────────────────────────────────────────────────────


def test_calls_that_all_have_the_first_index_are_told_apart_by_their_ids() -> None:
    def piece(call_id: str | None, name: str | None, arguments: str) -> bytes:
        function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
        return chunk({"tool_calls": [{"index": 0, "id": call_id, "type": "function", "function": function}]})

    stream = (
        piece("a", "weather", '{"city": ')
        + piece(None, None, '"Bern"}')
        + piece("b", "Read", "")
        + piece(None, None, '{"file_path": "x"}')
    )
    found = seen(through(stream + chunk({}, "tool_calls")))
    assert found.calls == [("weather", {"city": "Bern"}), ("Read", {"file_path": "x"})]
    assert found.ids == ["a", "b"]


@pytest.mark.promise("N-13", "V-04")
@pytest.mark.parametrize("mode", ["warn", "observe"])
def test_a_wrong_call_is_left_alone_also_where_the_policy_only_warns(mode: str) -> None:
    gate = gate_for(policy={"gate": {"tools": {"weather": {"mode": mode}}}})
    for stream in (
        text_stream([WRONG]),
        call_stream(("weather", '{"days": 3}', "a1")),
        call_stream(("weather", '{"days": 3}', None)),
    ):
        flow = Flow(Settler(gate, new_id=WIRE.new_id))
        assert fed(stream, [], flow) == stream
        assert [did.fate for did in flow.did] == ["left"]


def test_observing_holds_nothing_back() -> None:
    editor = Editor(WIRE.stream(), Flow(settler(observe=True)))
    for event in (
        chunk({"content": "I will look. <tool"}),
        chunk({"content": "_call>{"}),
        *call_stream(("weather", "{}", "a")).split(b"\n\n")[:2],
    ):
        data = event if event.endswith(b"\n\n") else event + b"\n\n"
        assert editor.feed(data) == data


def test_more_than_anybody_should_hold_back_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rightcall.proxy.flow.MOST_HELD", 20_000)
    editor = Editor(WIRE.stream(), Flow(settler()))
    endless = chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "weather", "arguments": "x" * 500}}]})
    with pytest.raises(TooLong):
        editor.feed(endless * 100)


BETWEEN = ["The ", "Action ", "sky ", "is ", "[so] ", "<b> ", "blue.\n", "A ", "`x` ", "{} ", "F", "unction "]


@given(st.data(), texts, st.integers(1, 400))
def test_pieces_of_prose_that_are_skipped_are_read_all_the_same(data: st.DataObject, text: str, size: int) -> None:
    prose = data.draw(st.lists(st.sampled_from(BETWEEN), max_size=20))
    stream = text_stream([*prose, *data.draw(st.composite(cuts)(text)), *prose])
    events = [event + b"\n\n" for event in stream.split(b"\n\n")[:-1]]
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    unskipped = Editor(WIRE.stream(), Flow(settler()))
    unskipped._plain = None  # so that every event is read
    expected = seen(b"".join([*(unskipped.feed(event) for event in events), unskipped.close()]))
    for cut in (events, pieces, [stream]):
        editor = Editor(WIRE.stream(), Flow(settler()))
        assert seen(b"".join([*(editor.feed(piece) for piece in cut), editor.close()]))[:3] == expected[:3]


# ── indexes that the official client's helper for streams can add up ─────────────────────────────────────────────────


def indexes(data: bytes) -> list[int]:
    chunks = [json.decode(event[6:]) for event in data.split(b"\n\n") if event.startswith(b"data: {")]
    choices = [choice for one in chunks for choice in one["choices"]]
    return [call["index"] for choice in choices for call in choice["delta"].get("tool_calls") or []]


def test_a_chunk_that_calls_and_ends_at_once_is_sent_before_what_the_end_brings() -> None:
    call = {"index": 0, "id": "a1", "type": "function", "function": {"name": "Read", "arguments": '{"file_path": "x"}'}}
    out = through(chunk({"content": f"Now. {GOOD}"}) + chunk({"content": " Two.", "tool_calls": [call]}, "tool_calls"))
    assert indexes(out) == [0, 1]
    assert seen(out).calls == [("Read", {"file_path": "x"}), ("weather", {"city": "Bern", "days": 3})]
    assert seen(out)[::2] == ("Now.  Two.", "tool_calls")


def test_where_a_broken_call_is_replaced_the_others_move_up() -> None:
    flow = Flow(settler(), hold=True)
    editor = Editor(WIRE.stream(), flow)
    out = editor.feed(call_stream(("weather", '{"days": 3}', "a1"), ("Read", '{"file_path": "x"}', "a2")))
    flow.replace("", (Call("weather", {"city": "Bern"}, "b1"),), [])
    out += editor.close()
    assert sorted(set(indexes(out))) == [0, 1]
    assert indexes(out) == sorted(indexes(out))
    assert seen(out).calls == [("Read", {"file_path": "x"}), ("weather", {"city": "Bern"})]


def test_an_answer_that_has_told_its_end_keeps_its_right_calls_when_the_server_breaks_down_after_it() -> None:
    flow = Flow(settler(), hold=True)
    editor = Editor(WIRE.stream(), flow)
    out = editor.feed(text_stream([GOOD, " and ", WRONG]).removesuffix(b"data: [DONE]\n\n"))
    found = seen(out + editor.break_off())
    assert found.calls == [("weather", {"city": "Bern", "days": 3})]
    assert "days" in found.text


@pytest.mark.parametrize("hold", [True, False])
def test_a_call_without_arguments_that_text_follows_was_not_cut_off(hold: bool) -> None:
    native = call_stream(("Now", "", "a1")).replace(
        chunk({}, "tool_calls"), chunk({"content": "And"}) + chunk({}, "length")
    )
    out = fed(native, [], Flow(Settler(gate_for(RUN), new_id=WIRE.new_id), hold=hold))
    assert seen(out).calls == [("now", {})]


@pytest.mark.promise("R-06")
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_in_a_field_of_its_own_is_no_text_to_lift_from(field: str) -> None:
    data = chunk({field: f"Perhaps {GOOD}"}) + text_stream(["No."])
    assert through(data, lift=True) == data
