"""A server that leaves the tools out is noticed, and one that uses them is never suspected."""

from typing import Any

import pytest
from msgspec import json

from rightcall.proxy.teaching import CHARACTERS_PER_TOKEN, MOST_READ, UNCALLED, least_tokens, refused_tools, why_ignored
from rightcall.proxy.wires.common import Asked, Choice, Usage, WireName
from support.every import every
from support.pace import process_time

pytestmark = pytest.mark.promise("H-03")


def tool(name: str, description: str, *arguments: str) -> dict[str, Any]:
    properties = {argument: {"type": "string"} for argument in arguments}
    return {"name": name, "description": description, "parameters": {"type": "object", "properties": properties}}


TOOLS = [
    {"type": "function", "function": function}
    for function in (
        tool("get_weather", "Get the weather forecast for a city, for up to ten days.", "city", "days"),
        tool("search_web", "Search the web and give back the titles and addresses found.", "query", "max_results"),
        tool("send_email", "Send an email to one person.", "to", "subject", "body"),
        tool("set_timer", "Start a timer that rings after some minutes.", "minutes", "label"),
    )
]
CHAT = {"messages": [{"role": "user", "content": "What is the weather in Paris?"}], "tools": TOOLS}
WITHOUT, WITH = 37, 118
"""Tokens of that prompt as SmolLM2 counts them: by its own template, which has no place for tools, and with the tools
beside it in as few words as can be (a line for each, with its name, the names of its arguments and its description)."""


def why(
    request: dict[str, Any] | None = None, *, prompt: int | None = None, completion: int | None = None,
    choice: Choice = "auto", wire: WireName = "openai_chat",
) -> str | None:  # fmt: skip
    given = CHAT if request is None else request
    tools = given.get("tools")
    asked = Asked("m", False, json.encode(tools) if tools else b"", choice)
    return why_ignored(asked, given, Usage(prompt, completion), wire=wire)


# ── required, and not called ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_without_the_call_that_was_required_gives_it_away() -> None:
    assert why(choice="required") == UNCALLED
    assert why(choice="required", prompt=WITH) == UNCALLED


@pytest.mark.parametrize(
    "given",
    [
        {"request": {**CHAT, "max_tokens": 16}, "completion": 16},
        {"request": {**CHAT, "max_completion_tokens": 16}, "completion": 17},
        {"request": {"messages": CHAT["messages"]}},
    ],
)
def test_an_end_that_the_client_set_and_a_request_without_tools_do_not(given: dict[str, Any]) -> None:
    assert why(choice="required", **given) is None
    assert why(prompt=WITHOUT, **given) is None


def test_who_wants_no_call_misses_none() -> None:
    assert why(choice="none", prompt=WITHOUT) is None


# ── too few tokens ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_prompt_too_short_for_the_tools_gives_it_away() -> None:
    found = why(prompt=WITHOUT)
    assert found is not None
    assert "37 tokens" in found


@every("prompt", [WITH, None, 0, 1])
def test_a_prompt_that_could_hold_them_or_was_not_counted_does_not(prompt: int | None) -> None:
    assert why(prompt=prompt) is None


def test_ollama_is_not_judged_by_tokens_since_it_leaves_out_those_in_its_cache() -> None:
    assert why(prompt=WITHOUT, wire="ollama") is None


def test_beside_long_messages_nothing_can_be_told() -> None:
    long = {**CHAT, "messages": [{"role": "system", "content": "Be kind to everybody. " * 200}]}
    assert all(why(long, prompt=prompt) is None for prompt in range(0, 2000, 50))


@every(
    "request_",
    [
        {"system": "Be brief, and call tools.", "messages": CHAT["messages"]},
        {
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
        },
        {"instructions": "Be brief.", "input": "What is the weather?"},
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": "What is the weather?"}]}]},
    ],
)
def test_the_requests_of_every_api_are_understood(request_: dict[str, Any]) -> None:
    flat = [each["function"] for each in TOOLS]
    assert why({**request_, "tools": flat}, prompt=30) is not None
    assert why({**request_, "tools": flat}, prompt=WITH) is None


WORDS = "word and word, "


@every(
    "request_",
    [
        {"messages": [{"role": "user", "content": WORDS * 600_000}]},
        {"messages": [{"role": "user", "content": " --- \n" * 1_000_000}]},
        {"messages": [{"role": "user", "content": [{"text": ""}] * 400_000}]},
        {"messages": [{"role": "assistant", "content": "a"}] * 400_000},
        {"input": WORDS * 600_000},
        {"messages": [], "tools": [tool("a", " --- \n" * 1_000_000)]},
        {"messages": [], "tools": [tool("a", WORDS, *map(str, range(300_000)))]},
        {"messages": [], "tools": [tool("a", WORDS * 100)] * 3_000},
    ],
    ids=["words", "rules", "parts", "messages", "input", "description", "arguments", "tools"],
)
def test_however_long_a_request_is_only_a_little_of_it_is_read(request_: dict[str, Any]) -> None:
    """The client waits for its answer, and so does everybody else: ten megabytes would take a second and more."""

    def seconds() -> float:
        began = process_time()
        why({"tools": TOOLS, **request_}, prompt=1_000)
        return process_time() - began

    found = why({"tools": TOOLS, **request_}, prompt=1_000)
    assert any(seconds() < 0.25 for _ in range(3))
    assert found is None or request_.get("tools"), found


def test_what_was_read_of_long_tools_is_enough_to_tell() -> None:
    long = [tool(f"tool_{nth}", WORDS * 100, "one", "two") for nth in range(1_000)]
    assert MOST_READ // CHARACTERS_PER_TOKEN // 2 < least_tokens(long) <= MOST_READ // CHARACTERS_PER_TOKEN * 2
    assert why({**CHAT, "tools": long}, prompt=WITHOUT) is not None
    assert why({**CHAT, "tools": long}, prompt=400_000) is None


def test_what_no_prompt_holds_does_not_count() -> None:
    flat = [each["function"] for each in TOOLS]
    assert least_tokens([{**each, "defer_loading": True} for each in flat]) == 0
    assert least_tokens([{"type": "web_search"}]) == 0
    assert least_tokens([tool("a", "=" * 4000 + "\n" + " " * 4000)]) == least_tokens([tool("a", "")])


@every("tools", [None, 7, "x", [None], [{"function": 3}], [{"function": {"name": 3}}]])
def test_tools_that_are_none_take_no_tokens(tools: Any) -> None:
    assert least_tokens(tools) == 0


def test_the_least_is_well_below_what_a_terse_template_takes() -> None:
    """Names, descriptions and arguments alone, at five characters a token."""
    for each in TOOLS:
        function = each["function"]
        terse = f"{function['name']}({', '.join(function['parameters']['properties'])}): {function['description']}"
        assert least_tokens([each]) < len(terse) / 4


# ── servers that say so ──────────────────────────────────────────────────────────────────────────────────────────────

REFUSALS = [
    (400, '{"error":"registry.ollama.ai/library/smollm2:135m does not support tools"}'),
    (400, '{"error":{"message":"stablelm2:latest does not support tools","type":"api_error","param":null}}'),
    (400, r'{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","code":400}'),  # noqa: E501
    (400, '{"error":{"message":"tool_choice=\\"required\\" requires --tool-call-parser to be set"}}'),
    (500, '{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}'),
    (500, '{"error":{"code":500,"message":"Unsupported param: tools","type":"server_error"}}'),
    (500, '{"error":{"code":500,"message":"Cannot use tools with stream","type":"server_error"}}'),
    (404, '{"error":{"message":"No endpoints found that support tool use. To learn more, visit: https://x","code":404}}'),
    (400, '{"error":{"message":"`tools` is not supported with this model"}}'),
    (400, '{"error":{"message":"tools is not supported in this model. For a list of supported models, refer to x"}}'),
    (405, '{"message":"deepinfra error: Tool calling is not supported for model: a/b-24B","status":"failure"}'),
    (400, '{"error":{"message":"<400> InternalError.Algo.InvalidParameter: The tool call is not supported."}}'),
    (400, '{"error":{"message":"Function calling is not enabled for models/gemma-3"}}'),
    (400, '{"message":"This model doesn\'t support tool use in streaming mode."}'),
    (400, '{"error":{"message":"Unrecognized request argument supplied: tools","type":"invalid_request_error"}}'),
    (400, '{"error":{"message":"The chat template of this model does not support tools."}}'),
    (422, '{"detail":[{"type":"extra_forbidden","loc":["body","tools"],"msg":"Extra inputs are not permitted"}]}'),
    (400, "model does not support tools"),
    (400, '{"detail":"Tool calls are not supported"}'),
]  # fmt: skip

OTHERS = [
    (400, '{"error":{"message":"Invalid schema for function \'a\': schema must be of type \\"object\\""}}'),
    (400, '{"error":{"message":"tools.22.custom.input_schema: JSON schema is invalid. Learn about tool use at x."}}'),
    (400, '{"error":{"message":"Tool 17 function has invalid \'parameters\' schema: None is not of type \'array\'"}}'),
    (400, '{"error":{"message":"This model\'s maximum context length is 4096 tokens, messages and tools have 9000"}}'),
    (400, '{"error":{"message":"Invalid \'tools\': array too long. Expected at most 128, but got 200."}}'),
    (400, '{"error":{"message":"Unknown parameter: \'tools[0].function.strict\'."}}'),
    (400, '{"error":{"message":"Unsupported parameter: \'tool_choice\'"}}'),
    (400, '{"error":{"message":"This model does not support parallel tool calls"}}'),
    (400, '{"error":{"message":"m does not support tool_choice"}}'),
    (400, '{"error":{"message":"m does not support tools of type web_search"}}'),
    (400, '{"error":{"message":"Hosted tool \'web_search\' is not supported with this model"}}'),
    (400, '{"error":{"message":"Tool use with function calling is unsupported"}}'),
    (400, '{"error":{"message":"tools are not supported when response_format is set"}}'),
    (400, '{"error":{"message":"json mode cannot be combined with tool/function calling"}}'),
    (400, '{"error":{"message":"When using `tool_choice`, `tools` must be set."}}'),
    (404, '{"error":{"message":"No endpoints found that support the provided \'tool_choice\' value."}}'),
    (404, '{"error":{"message":"No endpoints found for a/b:free."}}'),
    (404, '{"error":"model \\"x\\" not found, try pulling it first"}'),
    (422, '{"detail":[{"type":"extra_forbidden","loc":["body","tools",0,"function","strict"],"msg":"Extra inputs"}]}'),
    (422, '{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required"}]}'),
    (400, '{"message":"Message has tool role, but there was no previous assistant message with a tool call!"}'),
    (400, json.encode({"message": "'input': {'messages': " + "x" * 600 + "llama2 does not support tools"}).decode()),
    (401, '{"error":"llama2 does not support tools"}'),
    (429, '{"error":"llama2 does not support tools"}'),
    (200, '{"error":"llama2 does not support tools"}'),
    (500, "<html>" + "x" * 70_000 + "does not support tools"),
    (500, ""),
    (500, "[]"),
    (400, '{"error":{"error":{"message":[1,{"a":null}]}}}'),
]  # fmt: skip


@every(("status", "body"), REFUSALS)
def test_a_server_that_takes_no_tools_is_understood(status: int, body: str) -> None:
    assert refused_tools(status, body.encode())


@every(("status", "body"), OTHERS)
def test_an_error_about_something_else_is_the_clients(status: int, body: str) -> None:
    assert not refused_tools(status, body.encode())


def test_hostile_errors_are_no_refusals_and_take_no_time() -> None:
    assert not refused_tools(400, b'{"error":' * 5000)
    assert not refused_tools(400, b'{"error":' * 900 + b"1" + b"}" * 900)
    assert not refused_tools(400, b"\xff\xfe")
    assert not refused_tools(400, json.encode({"error": "tool choice requires " * 28}))
