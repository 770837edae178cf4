"""Ollama's chat through the engine: what it sends is understood, and what leaves is what its clients read."""

from typing import Any

import pytest
from msgspec import json
from ollama import ChatResponse

from rightcall.policy.watch import load_policy
from rightcall.proxy.flow import Editor, Flow
from rightcall.proxy.gates import Gates, Settler
from rightcall.proxy.wires.common import Asked, Redo, Usage
from rightcall.proxy.wires.ollama import Ollama
from rightcall.types import Call
from support.every import every
from support.scripted import ollama as scripted_ollama
from support.scripted.parts import Answer, NativeCall, Reasoning, Text

pytestmark = pytest.mark.promise("H-03")

WEATHER = {
    "name": "weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
TOOLS = json.encode([{"type": "function", "function": WEATHER}])
GATE = Gates(load_policy(None), "local").of(TOOLS)
WIRE = Ollama()
IN_TEXT = '<tool_call>{"name": "weather", "arguments": {"city": "Bern", "days": "3"}}</tool_call>'
BERN = ("weather", {"city": "Bern", "days": 3})


def flow(**settings: Any) -> Flow:
    assert GATE is not None
    return Flow(Settler(GATE), **settings)


def streamed(data: bytes, size: int = 0, extra: Usage | None = None) -> bytes:
    editor = Editor(WIRE.stream(), flow())
    editor.extra = extra
    pieces = [data[at : at + size] for at in range(0, len(data), size)] if size else [data]
    return b"".join([*(editor.feed(piece) for piece in pieces), editor.close()])


def whole(answer: dict[str, Any]) -> dict[str, Any]:
    event = WIRE.whole(answer)
    assert event is not None
    taken = flow()
    taken.take(event)
    taken.end()
    return WIRE.written(event)


def stream_of(answer: Answer) -> bytes:
    return b"".join(scripted_ollama.events(answer, {"model": "m"}))


def lines_of(data: bytes) -> list[ChatResponse]:
    """What the official client reads."""
    assert data.endswith(b"\n")
    return [ChatResponse(**json.decode(line)) for line in data.splitlines()]


def calls_of(lines: list[ChatResponse]) -> list[tuple[str, Any]]:
    calls = [call for line in lines for call in line.message.tool_calls or []]
    return [(call.function.name, dict(call.function.arguments)) for call in calls]


def text_of(lines: list[ChatResponse]) -> str:
    return "".join(line.message.content or "" for line in lines)


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@every(("said", "stream"), [({}, True), ({"stream": True}, True), ({"stream": None}, True), ({"stream": False}, False)])
def test_a_request_streams_unless_it_says_otherwise(said: dict[str, Any], stream: bool) -> None:
    assert WIRE.asked(json.encode({"model": "m", **said})) == Asked("m", stream, b"")


def test_the_tools_of_a_request_are_kept_as_they_stand() -> None:
    asked = WIRE.asked(b'{"model": "m", "tools":  [ {"type": "function"} ], "messages": []}')
    assert asked == Asked("m", True, b'[ {"type": "function"} ]')


@every("body", [b"", b"[]", b"{", b"\xff", b'{"model": "\xff"}'])
def test_a_request_that_cannot_be_read_asks_for_nothing_we_know(body: bytes) -> None:
    assert WIRE.asked(body) is None


def test_only_a_chat_is_a_chat() -> None:
    assert WIRE.is_for("POST", "/api/chat")
    assert WIRE.is_for("POST", "/prefix/api/chat")
    assert not WIRE.is_for("GET", "/api/chat")
    assert not WIRE.is_for("POST", "/api/generate")


# ── what is right stays ──────────────────────────────────────────────────────────────────────────────────────────────


@every("size", [0, 1, 7, 100])
def test_a_right_answer_leaves_as_the_bytes_that_came(size: int) -> None:
    answer = Answer(
        [Reasoning("Hm, <tool_call>."), Text("It is a < b, `x` {1}."), NativeCall("weather", {"city": "Bern"})],
        extra={"unheard_of": [1, {"a": None}]},
    )
    data = stream_of(answer)
    assert streamed(data, size) == data


def test_a_right_whole_answer_is_the_same() -> None:
    answer = json.decode(
        scripted_ollama.whole(Answer([Text("Hi"), NativeCall("weather", {"city": "x"})]), {"model": "m"})
    )
    assert whole(answer) == answer


@every(
    "line",
    [
        b'{"error":"model runner has unexpectedly stopped"}\n',
        b"\n",
        b"<html>\n",
        b"[1]\n",
        b'{"message":"no object"}\n',
        b'{"message":{"content":7,"tool_calls":{"function":1}},"done":"yes"}\n',
        b'{"message":{"tool_calls":[null,7,{},{"function":null}]}}\n',
        b'{"done":tr',
    ],
)
def test_lines_that_say_nothing_we_know_pass(line: bytes) -> None:
    assert streamed(line) == line


def test_a_call_without_an_id_gets_none() -> None:
    line = {"message": {"role": "assistant", "tool_calls": [{"function": {"name": "weather", "arguments": {}}}]}}
    line["message"]["tool_calls"][0]["function"]["arguments"] = {"CITY": "Bern"}
    out = json.decode(streamed(json.encode({**line, "done": True}) + b"\n"))
    assert out["message"]["tool_calls"] == [{"function": {"name": "weather", "arguments": {"city": "Bern"}}}]


# ── what is wrong is repaired ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("arguments", [{"CITY": "Bern", "days": "3"}, "{'city': 'Bern', 'days': 3}"])
def test_a_broken_native_call_is_written_anew_in_its_place(arguments: Any) -> None:
    data = stream_of(Answer([Text("Well."), NativeCall("Weather", arguments, id="c7")], extra={"odd": 1}))
    out = streamed(data)
    assert calls_of(lines_of(out)) == [BERN]
    line = next(json.decode(line) for line in out.splitlines() if b"tool_calls" in line)
    assert line["message"]["tool_calls"] == [
        {"id": "c7", "function": {"index": 0, "name": "weather", "arguments": BERN[1]}, "odd": 1}
    ]
    assert [at for at, (one, other) in enumerate(zip(data.splitlines(), out.splitlines(), strict=True)) if one != other]


def test_of_several_calls_in_a_line_only_the_broken_one_changes() -> None:
    right = {"function": {"name": "weather", "arguments": {"city": "x"}}}
    broken = {"function": {"name": "weather", "arguments": {"city": "y", "days": "2"}}, "odd": True}
    foreign = {"function": {"name": "nobody_knows", "arguments": {"z": 1}}}
    line = {"message": {"role": "assistant", "content": "", "tool_calls": [right, None, broken, foreign]}, "done": True}
    mended = {"function": {"name": "weather", "arguments": {"city": "y", "days": 2}}, "odd": True}
    assert json.decode(streamed(json.encode(line) + b"\n"))["message"]["tool_calls"] == [right, None, mended, foreign]
    assert whole(line)["message"]["tool_calls"] == [right, None, mended, foreign]


@every("pieces", [1, 2, 5, 13, 500])
def test_a_call_in_the_text_becomes_a_line_of_its_own_before_the_end(pieces: int) -> None:
    data = stream_of(Answer([Text(f"Let me see.\n{IN_TEXT}", pieces)]))
    out = streamed(data)
    lines = lines_of(out)
    assert (calls_of(lines), text_of(lines).rstrip()) == ([BERN], "Let me see.")
    assert calls_of(lines[-2:-1]) == [BERN]
    assert [line.done for line in lines] == [False] * (len(lines) - 1) + [True]
    assert out.splitlines()[-1] == data.splitlines()[-1]
    assert b"eval_count" not in out.splitlines()[-2]
    assert lines[-2].model == "m"


def test_a_lifted_call_counts_on_from_the_native_ones() -> None:
    out = streamed(stream_of(Answer([NativeCall("weather", {"city": "x"}), Text(IN_TEXT)])))
    indexes = [call["function"]["index"] for line in out.splitlines() for call in _calls(json.decode(line))]
    assert indexes == [0, 1]


def _calls(line: dict[str, Any]) -> list[Any]:
    return line["message"].get("tool_calls", [])


def test_a_last_line_that_carries_the_message_carries_the_call_too() -> None:
    line = {"model": "m", "message": {"role": "assistant", "content": IN_TEXT, "thinking": "hm"}, "done": True}
    line |= {"done_reason": "stop", "eval_count": 5}
    call = {"function": {"index": 0, "name": "weather", "arguments": BERN[1]}}
    message = {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [call]}
    assert json.decode(streamed(json.encode(line) + b"\n")) == {**line, "message": message}
    assert whole(line) == {**line, "message": message}


def test_a_last_line_without_a_message_stays_without() -> None:
    first = {"message": {"role": "assistant", "content": IN_TEXT}, "done": False}
    out = streamed(json.encode(first) + b"\n" + b'{"done":true}\n')
    assert out.endswith(b'\n{"done":true}\n')
    assert calls_of(lines_of(out.splitlines()[0] + b"\n")) == [BERN]


def test_thinking_beside_a_lifted_text_is_kept() -> None:
    first = {"message": {"role": "assistant", "content": IN_TEXT, "thinking": "Why not"}, "done": False}
    last = {"message": {"role": "assistant", "content": ""}, "done": True}
    lines = lines_of(streamed(json.encode(first) + b"\n" + json.encode(last) + b"\n"))
    assert [line.message.thinking for line in lines] == ["Why not", None, None]
    assert (text_of(lines), calls_of(lines)) == ("", [BERN])


def test_text_that_leaves_in_two_parts_is_said_once() -> None:
    text = "A long sentence, and then maybe <tool_call"
    editor = Editor(WIRE.stream(), flow())
    line = {"message": {"role": "assistant", "content": text, "thinking": "t"}, "logprobs": [], "done": False}
    out = [editor.feed(json.encode(line) + b"\n")]
    more = {"message": {"role": "assistant", "content": "> is"}, "done": False}
    out += [editor.feed(json.encode({**more, "message": {"role": "assistant", "content": ""}}) + b"\n")]
    assert text_of(lines_of(b"".join(out))) == "A long sentence, and then maybe "
    out += [editor.feed(json.encode(more) + b"\n"), editor.close()]
    lines = lines_of(b"".join(out))
    assert text_of(lines) == text + "> is"
    assert [line.message.thinking for line in lines if line.message.thinking] == ["t"]
    assert b"".join(out).count(b"logprobs") == 1


# ── asking again ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_that_stands_in_for_another_takes_its_place() -> None:
    taken = flow(hold=True)
    editor = Editor(WIRE.stream(), taken)
    held = editor.feed(stream_of(Answer([Text("Well. "), NativeCall("weather", {"days": 3}), Text("So.")])))
    assert taken.broken
    taken.replace("Here.", (Call(*BERN),), [])
    editor.extra = Usage(100, 10)
    lines = lines_of(held + editor.close())
    assert (text_of(lines), calls_of(lines)) == ("Well. So.Here.", [BERN])
    assert (lines[-1].prompt_eval_count, lines[-1].eval_count) == (121, 23)


def test_tokens_of_other_tries_are_added_to_the_last_line_alone() -> None:
    data = stream_of(Answer([Text("Hi there")]))
    out = streamed(data, extra=Usage(100, 10))
    assert out.splitlines()[:-1] == data.splitlines()[:-1]
    last = json.decode(out.splitlines()[-1])
    assert last == {**json.decode(data.splitlines()[-1]), "prompt_eval_count": 121, "eval_count": 23}
    assert WIRE.usage(WIRE.with_usage(last, Usage(1, None))) == Usage(122, 23)
    assert WIRE.usage({"prompt_eval_count": True}) == Usage()


def test_a_stream_tells_its_tokens_at_its_end() -> None:
    stream = WIRE.stream()
    assert stream.usage == Usage()
    for line in scripted_ollama.events(Answer([Text("Hi")]), {"model": "m"}):
        stream.read(line)
    assert stream.usage == Usage(21, 13)


REQUEST = {"model": "m", "tools": [1], "options": {"seed": 1}, "messages": [{"role": "user", "content": "Weather?"}]}


def test_a_model_is_asked_again_with_its_own_call_and_what_is_wrong() -> None:
    redo = Redo("Well.", (Call("weather", '{"days": 3}', "c1"), Call("weather", {}, "")), ("Add city.", "Also."))
    assert WIRE.again(REQUEST, redo) == {
        **REQUEST,
        "stream": False,
        "messages": [
            *REQUEST["messages"],
            {
                "role": "assistant",
                "content": "Well.",
                "tool_calls": [
                    {"id": "c1", "function": {"name": "weather", "arguments": {"days": 3}}},
                    {"function": {"name": "weather", "arguments": {}}},
                ],
            },
            {"role": "tool", "tool_name": "weather", "content": "Add city.", "tool_call_id": "c1"},
            {"role": "tool", "tool_name": "weather", "content": "Also."},
        ],
    }


@pytest.mark.parametrize("arguments", ["{'days': ", "[1]", "\ud800"])
def test_arguments_that_ollama_would_refuse_are_told_in_text(arguments: str) -> None:
    asked = WIRE.again(REQUEST, Redo("", (Call("weather", arguments, "c1"),), ("Add city.",)))
    *_, own, hint = asked["messages"]
    assert own["role"] == "assistant"
    assert "weather" in own["content"]
    assert "tool_calls" not in own
    assert hint == {"role": "user", "content": "Add city."}


def test_a_call_in_the_text_is_answered_in_text() -> None:
    asked = WIRE.again(REQUEST, Redo("<tool_call>{", (), (), "That was no JSON."))
    assert asked["messages"][1:] == [
        {"role": "assistant", "content": "<tool_call>{"},
        {"role": "user", "content": "That was no JSON."},
    ]


def test_a_model_without_tools_is_told_everything_in_text() -> None:
    call = {"function": {"name": "weather", "arguments": {"city": "Bern"}}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?", "images": ["aGk="]},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_name": "weather", "content": "Rain"},
    ]
    taught = WIRE.taught({**REQUEST, "messages": messages}, "TOOLS")
    assert taught == {
        "model": "m",
        "options": {"seed": 1},
        "messages": [
            {"role": "system", "content": "Be brief.\n\nTOOLS"},
            messages[1],
            {
                "role": "assistant",
                "content": '<tool_call>{"name":"weather","arguments":{"city":"Bern"}}</tool_call>',
            },
            {"role": "user", "content": "<tool_response>\nRain\n</tool_response>"},
        ],
    }
    assert WIRE.taught(REQUEST, "TOOLS")["messages"][0] == {"role": "system", "content": "TOOLS"}


# ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_errors_are_in_ollamas_own_words() -> None:
    assert WIRE.error(502, "unreachable", 'no "server"') == b'{"error":"no \\"server\\""}'
    assert WIRE.stream_error("broken", "gone") == b'{"error":"gone"}\n'


@every("answer", [None, [], {}, {"error": "x"}, {"message": "x"}, {"models": []}])
def test_what_is_no_answer_is_none(answer: Any) -> None:
    assert WIRE.whole(answer) is None
    assert WIRE.usage(answer) == Usage()
