"""What a request to Anthropic's messages asks for, and how it is asked otherwise: again, or with the tools told."""

from typing import Any

import pytest
from msgspec import json

from rightcall.proxy.teaching import tool_prompt
from rightcall.proxy.wires.common import Asked, FaultKind, Redo, Usage
from rightcall.types import Call
from support.every import every
from support.wires.anthropic import GATE, TOOLS, WIRE, data_of, through_whole

pytestmark = pytest.mark.promise("H-03")


@every(
    ("method", "path", "ours"),
    [
        ("POST", "/v1/messages", True),
        ("POST", "/anthropic/v1/messages", True),
        ("GET", "/v1/messages", False),
        ("POST", "/v1/messages/count_tokens", False),
        ("POST", "/v1/messages/batches", False),
        ("POST", "/v1/threads/t1/messages", False),
    ],
)
def test_only_messages_are_for_this_wire(method: str, path: str, ours: bool) -> None:
    assert WIRE.is_for(method, path) is ours


@every(
    ("choice", "meant"),
    [
        (None, "auto"),
        ({"type": "auto", "disable_parallel_tool_use": True}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "tool", "name": "weather"}, "required"),
        ({"type": "none"}, "none"),
        ("nonsense", "auto"),
    ],
)
def test_a_request_says_what_it_asks_for(choice: Any, meant: Any) -> None:
    tools = json.encode(TOOLS)
    body = b'{"model": "m", "messages": [], "stream": true, "tools": %s, "tool_choice": %s}' % (
        tools,
        json.encode(choice),
    )
    assert WIRE.asked(body) == Asked("m", True, tools, meant)


@every("body", [b"", b"[]", b'{"model": "m"', b"\xff", b'{"messages": ' + b"[" * 100_000])
def test_a_request_that_nobody_can_read_is_not_judged(body: bytes) -> None:
    assert WIRE.asked(body) is None


def test_a_request_without_tools_has_none() -> None:
    assert WIRE.asked(b'{"tools": [ ], "stream": "yes"}') == Asked("", False, b"")


@every("answer", [None, [], "x", {"type": "error", "error": {}}, {"content": "text"}])
def test_what_is_no_message_is_no_answer(answer: Any) -> None:
    assert WIRE.whole(answer) is None


def test_blocks_that_are_none_pass() -> None:
    answer = {"content": [None, "x", {"type": "text"}, {"type": "text", "text": 5}, {"type": "tool_use"}]}
    assert through_whole(answer)[0] == answer


def test_tokens_of_the_prompt_count_with_those_of_the_cache() -> None:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 500, "output_tokens": 7}
    assert WIRE.usage({"usage": usage}) == Usage(543, 7)
    assert WIRE.usage({"usage": {"input_tokens": None}}) == WIRE.usage({}) == WIRE.usage(None) == Usage()
    added = WIRE.with_usage({"id": 1, "usage": usage}, Usage(543, 7))
    assert added == {"id": 1, "usage": usage | {"input_tokens": 546, "output_tokens": 14}}
    assert WIRE.usage(added) == Usage(2 * 543, 14)
    assert WIRE.with_usage({"id": 1}, Usage(1, 1)) == {"id": 1}


# ── asking again ─────────────────────────────────────────────────────────────────────────────────────────────────

CACHED = {"cache_control": {"type": "ephemeral"}}
QUESTION = {"role": "user", "content": "Weather?"}
ASKED: dict[str, Any] = {"model": "m", "max_tokens": 9, "stream": True, "messages": [QUESTION], "tools": TOOLS, "x": 1}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_the_model_is_told_what_is_wrong_with_each_of_its_calls() -> None:
    calls = (
        Call("weather", {"days": 3}, "t1"),
        Call("weather", '{"days": 4}', "t2"),
        Call("get.weather", '{"city": "Be', "t3"),
    )
    request = WIRE.again(ASKED, Redo("Well.", calls, ("city is missing", "city too", "unreadable")))
    assert request == ASKED | {
        "stream": False,
        "messages": [
            QUESTION,
            {
                "role": "assistant",
                "content": [
                    _text("Well."),
                    {"type": "tool_use", "id": "t1", "name": "weather", "input": {"days": 3}},
                    {"type": "tool_use", "id": "t2", "name": "weather", "input": {"days": 4}},
                    {"type": "tool_use", "id": "t3", "name": "get_weather", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    _refused("t1", "city is missing"),
                    _refused("t2", "city too"),
                    _refused("t3", 'unreadable\n\nThe arguments as you wrote them:\n{"city": "Be'),
                ],
            },
        ],
    }
    assert ASKED["messages"] == [QUESTION]


def _refused(call_id: str, hint: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": hint, "is_error": True}


def test_a_call_in_the_text_is_answered_in_text() -> None:
    messages = WIRE.again(ASKED, Redo("<tool_call>{}", (), (), "city is missing"))["messages"]
    assert messages == [
        QUESTION,
        {"role": "assistant", "content": [_text("<tool_call>{}")]},
        {"role": "user", "content": [_text("city is missing")]},
    ]


@pytest.mark.parametrize(
    "begun", ["It is", [{"type": "text", "text": "It is", "cache_control": {"type": "ephemeral"}}]]
)
def test_roles_take_turns_though_the_client_began_the_answer(begun: Any) -> None:
    request = ASKED | {"messages": [QUESTION, {"role": "assistant", "content": begun}]}
    messages = WIRE.again(request, Redo(" ", (Call("now", {"x": 1}, "t1"),), ("no x",)))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[1]["content"] == [
        begun[0] if isinstance(begun, list) else _text(begun),
        {"type": "tool_use", "id": "t1", "name": "now", "input": {"x": 1}},
    ]


def test_an_answer_of_nothing_leaves_no_empty_message() -> None:
    messages = WIRE.again(ASKED, Redo("", (), (), "Call a tool."))["messages"]
    assert messages == [{"role": "user", "content": [_text("Weather?"), _text("Call a tool.")]}]


def test_asking_again_goes_without_thoughts_that_the_api_would_miss() -> None:
    clear = [{"type": "clear_thinking_20251015"}, {"type": "clear_tool_uses_20250919"}]
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    request = WIRE.again(ASKED | thinking | {"context_management": {"edits": clear}}, Redo("a", (), (), "b"))
    assert "thinking" not in request
    assert request["context_management"] == {"edits": clear[1:]}
    request = WIRE.again(ASKED | thinking | {"context_management": {"edits": clear[:1]}}, Redo("a", (), (), "b"))
    assert "context_management" not in request


# ── tools in the prompt ──────────────────────────────────────────────────────────────────────────────────────────


@every(
    ("system", "expected"),
    [
        (None, "TOOLS"),
        ("", "TOOLS"),
        ("Be brief.", "Be brief.\n\nTOOLS"),
        ([_text("Be brief.") | CACHED], [_text("Be brief.") | CACHED, _text("TOOLS")]),
    ],
)
def test_the_tools_are_told_among_the_instructions(system: Any, expected: Any) -> None:
    given = ASKED | {"tool_choice": {"type": "any"}} | ({} if system is None else {"system": system})
    kept = {key: value for key, value in ASKED.items() if key != "tools"}
    assert WIRE.taught(given, "TOOLS") == kept | {"system": expected}


def test_calls_and_results_of_the_conversation_become_text() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
    thought = {"type": "thinking", "thinking": "Bern.", "signature": "s"}
    call = {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Bern"}} | CACHED
    results = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "Sun."},
        {"type": "tool_result", "tool_use_id": "t2", "content": [picture, _text("Rain."), _text("Cold.")]} | CACHED,
        {"type": "tool_result", "tool_use_id": "t3", "content": "No such city.", "is_error": True},
        {"type": "tool_result", "tool_use_id": "t4"},
    ]
    conversation = [
        QUESTION,
        {"role": "assistant", "content": [thought, _text("Well."), call]},
        {"role": "user", "content": [*results, _text("And?")], "x": 1},
    ]
    assert WIRE.taught(ASKED | {"messages": conversation}, "TOOLS")["messages"] == [
        QUESTION,
        {
            "role": "assistant",
            "content": [
                thought,
                _text("Well."),
                _text('<tool_call>{"name":"weather","arguments":{"city":"Bern"}}</tool_call>') | CACHED,
            ],
        },
        {
            "role": "user",
            "content": [
                _text("<tool_response>\nSun.\n</tool_response>"),
                picture,
                _text("<tool_response>\nRain.\nCold.\n</tool_response>") | CACHED,
                _text("<tool_response>\nError: No such city.\n</tool_response>"),
                _text("<tool_response>\n\n</tool_response>"),
                _text("And?"),
            ],
            "x": 1,
        },
    ]


def test_a_taught_call_is_one_that_the_gate_reads_again() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": '<Bern> "&" \''}}
    message = {"role": "assistant", "content": [call]}
    taught = WIRE.taught(ASKED | {"messages": [message]}, tool_prompt(GATE.catalog))
    (read,) = GATE.read(taught["messages"][0]["content"][0]["text"]).calls
    assert read.ok
    assert read.call is not None
    assert (read.call.name, read.call.arguments) == (call["name"], call["input"])
    assert "weather" in taught["system"]


# ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────────


@every(
    ("status", "kind", "named"),
    [
        (400, "internal", "invalid_request_error"),
        (401, "refused", "authentication_error"),
        (403, "refused", "permission_error"),
        (413, "too_large", "request_too_large"),
        (418, "refused", "invalid_request_error"),
        (429, "refused", "rate_limit_error"),
        (500, "internal", "api_error"),
        (502, "unreachable", "api_error"),
        (503, "refused", "overloaded_error"),
        (504, "timeout", "timeout_error"),
        (529, "refused", "overloaded_error"),
    ],
)
def test_an_error_has_the_word_of_this_api(status: int, kind: FaultKind, named: str) -> None:
    said = {"type": named, "message": 'no "luck"'}
    assert json.decode(WIRE.error(status, kind, 'no "luck"')) == {"type": "error", "error": said}


@pytest.mark.parametrize(("kind", "named"), [("timeout", "timeout_error"), ("broken", "api_error")])
def test_an_error_amid_a_stream_is_an_event_of_it(kind: FaultKind, named: str) -> None:
    said = {"type": named, "message": "gone"}
    assert data_of(WIRE.stream_error(kind, "gone")) == [{"type": "error", "error": said}]
