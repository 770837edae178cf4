"""What is asked over OpenAI's Responses: which requests are ours, how they are asked otherwise, and errors."""

from typing import Any

import openai
import pytest
from msgspec import json

from rightcall.gate.gate import functions
from rightcall.proxy.wires.common import Redo
from rightcall.types import Call
from support.every import every
from support.wires.responses import REQUEST, TOOLS, WIRE, accumulated, sse

pytestmark = pytest.mark.promise("H-03")

ASKED = {"role": "user", "content": "How is Bern?"}
REDO = Redo("Well.", (Call("weather", "{'ci", "call_1"), Call("now", {}, "call_2")), ("Say city.", "Not yet."))


@pytest.mark.parametrize("path", ["/v1/responses", "/responses", "/some-token/openai/v1/responses"])
def test_asking_for_a_response_is_ours(path: str) -> None:
    assert WIRE.is_for("POST", path)


@every(
    ("method", "path"),
    [
        ("GET", "/v1/responses"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("POST", "/v1/responses/compact"),
        ("DELETE", "/v1/responses/resp_1"),
        ("POST", "/v1/chat/completions"),
    ],
)
def test_everything_else_is_not(method: str, path: str) -> None:
    assert not WIRE.is_for(method, path)


@every(
    ("choice", "meaning"),
    [
        (None, "auto"),
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "name": "weather"}, "required"),
        ({"type": "allowed_tools", "mode": "required", "tools": []}, "required"),
        ({"type": "allowed_tools", "mode": "auto", "tools": []}, "auto"),
        ({"type": "web_search"}, "auto"),
        ({"type": "custom", "name": "sql"}, "auto"),
    ],
)
def test_whether_a_tool_must_be_called_is_understood(choice: Any, meaning: str) -> None:
    asked = WIRE.asked(json.encode({**REQUEST, "tool_choice": choice}))
    assert asked is not None
    assert (asked.model, asked.stream, asked.choice) == ("m", True, meaning)
    assert json.decode(asked.tools) == TOOLS


@every("body", [b"", b"[]", b"{", b'{"model": "\xff"}', b"null"])
def test_what_is_no_request_passes(body: bytes) -> None:
    assert WIRE.asked(body) is None


def test_functions_without_parameters_count_and_tools_of_the_server_do_not() -> None:
    assert [tool["name"] for tool in functions(TOOLS)] == ["weather", "now"]


def test_the_model_is_asked_again_with_its_own_calls_and_what_is_wrong_with_them() -> None:
    again = WIRE.again({**REQUEST, "stream_options": {}, "background": True, "previous_response_id": "resp_0"}, REDO)
    assert again == {
        "model": "m",
        "tools": TOOLS,
        "stream": False,
        "previous_response_id": "resp_0",
        "input": [
            ASKED,
            {"role": "assistant", "content": "Well."},
            {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "{'ci"},
            {"type": "function_call", "call_id": "call_2", "name": "now", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "Say city."},
            {"type": "function_call_output", "call_id": "call_2", "output": "Not yet."},
        ],
    }
    assert REQUEST["input"] == "How is Bern?"


def test_the_model_is_told_what_was_wrong_with_a_call_in_its_text() -> None:
    again = WIRE.again({**REQUEST, "input": [ASKED]}, Redo("<tool_call>{", (), (), "Close it."))
    said = [{"role": "assistant", "content": "<tool_call>{"}, {"role": "user", "content": "Close it."}]
    assert again["input"] == [ASKED, *said]


def test_a_conversation_that_the_server_keeps_is_not_told_twice() -> None:
    again = WIRE.again({**REQUEST, "conversation": "conv_1"}, REDO)
    assert [item["type"] for item in again["input"]] == ["function_call_output", "function_call_output"]


def test_a_model_without_tools_is_taught_them() -> None:
    given = [
        ASKED,
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "weather", "arguments": '{"city": "Bern"}'},
        {"type": "function_call", "id": "fc_2", "call_id": "b", "name": "now", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "Rain."},
        {"type": "function_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "Noon."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And?"}]},
    ]
    request = {**REQUEST, "instructions": "Be brief.", "tool_choice": "required", "max_tool_calls": 2, "input": given}
    assert WIRE.taught(request, "TOOLS") == {
        "model": "m",
        "stream": True,
        "instructions": "Be brief.\n\nTOOLS",
        "tools": TOOLS[2:],
        "input": [
            ASKED,
            {
                "role": "assistant",
                "content": '<tool_call>{"name":"weather","arguments":{"city":"Bern"}}</tool_call>\n'
                '<tool_call>{"name":"now","arguments":{}}</tool_call>',
            },
            {
                "role": "user",
                "content": "<tool_response>\nRain.\n</tool_response>\n<tool_response>\nNoon.\n</tool_response>",
            },
            given[-1],
        ],
    }
    assert request["input"] is given


def test_a_request_without_instructions_or_a_list_is_taught_too() -> None:
    taught = WIRE.taught({**REQUEST, "instructions": None, "tools": TOOLS[:1]}, "TOOLS")
    assert taught == {"model": "m", "stream": True, "instructions": "TOOLS", "input": "How is Bern?"}


def test_an_error_has_the_shape_of_openais() -> None:
    assert json.decode(WIRE.error(502, "unreachable", "Nobody there.")) == {
        "error": {"message": "Nobody there.", "type": "rightcall_error", "param": None, "code": "unreachable"}
    }


def test_an_error_in_a_stream_reaches_the_official_client() -> None:
    data = sse({"type": "response.created", "response": {"id": "r", "output": []}})
    with pytest.raises(openai.APIError, match=r"It broke\.") as raised:
        accumulated(data + WIRE.stream_error("broken", "It broke."))
    assert raised.value.code == "broken"
