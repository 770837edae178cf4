"""Messages of every API, as data, and what is in them."""

from typing import Any

from rightcall import Call
from rightcall.gate.recover.native import NativeCall, NativeText

TEXT = '{"city": "Bern"}'
DATA = {"city": "Bern"}


def call(name: Any = "weather", arguments: Any = TEXT, id: str | None = "c1", *, partial: bool = False) -> NativeCall:
    return NativeCall(name, arguments, id, partial)


def said(text: str) -> NativeText:
    return NativeText(text)


def thought(text: str) -> NativeText:
    return NativeText(text, reasoning=True)


def tool_call(name: Any = "weather", arguments: Any = TEXT, id: str = "c1") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool_use(**more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "c1", "name": "weather", "input": DATA, **more}


def item(**more: Any) -> dict[str, Any]:
    """A function call of OpenAI's Responses, which has an id that is not the call's."""
    return {
        "type": "function_call", "id": "fc_9", "call_id": "c1", "name": "weather", "arguments": TEXT,
        "status": "completed", **more,
    }  # fmt: skip


def assistant(**more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, **more}


def choice(message: Any, finish: str = "tool_calls", index: int = 0) -> dict[str, Any]:
    return {"index": index, "message": message, "finish_reason": finish}


def candidate(*parts: Any, finish: str = "STOP") -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": [*parts]}, "finishReason": finish}]}


READ: dict[str, tuple[Any, list[NativeCall | NativeText], str | None]] = {
    # OpenAI chat
    "chat message": (assistant(tool_calls=[tool_call()]), [call()], None),
    "chat message with prose": (assistant(content="Well.", tool_calls=[tool_call()]), [said("Well."), call()], None),
    "chat message with empty prose": (assistant(content="", tool_calls=[tool_call()]), [call()], None),
    "chat message without a call": (assistant(content="Hello."), [said("Hello.")], None),
    "chat message in parts": (
        assistant(content=[{"type": "text", "text": "a"}, "b", {"type": "refusal", "refusal": "c"}]),
        [said("a"), said("b"), said("c")],
        None,
    ),
    "several calls in order": (
        assistant(tool_calls=[tool_call("a", id="1"), tool_call("b", id="2"), tool_call("a", id="3")]),
        [call("a", id="1"), call("b", id="2"), call("a", id="3")],
        None,
    ),
    "calls that share one id": (
        assistant(tool_calls=[tool_call(), tool_call(arguments="{}")]),
        [call(), call(arguments="{}")],
        None,
    ),
    "custom tool": (
        assistant(tool_calls=[{"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}]),
        [call("sql", "SELECT 1")],
        None,
    ),
    "legacy function call": (
        assistant(function_call={"name": "weather", "arguments": TEXT}, refusal=None),
        [call(id=None)],
        None,
    ),
    "empty legacy function call": (assistant(content="x", function_call={}, tool_calls=""), [said("x")], None),
    "refusal": (assistant(refusal="No."), [said("No.")], None),
    "spoken answer": (assistant(audio={"id": "a", "transcript": "Good day."}), [said("Good day.")], None),
    "reasoning_content": (
        assistant(reasoning_content="Hm.", content="Yes.", tool_calls=[tool_call()]),
        [thought("Hm."), said("Yes."), call()],
        None,
    ),
    "reasoning": (assistant(reasoning="Hm.", content="Yes."), [thought("Hm."), said("Yes.")], None),
    "whole completion": (
        {"id": "x", "object": "chat.completion", "choices": [choice(assistant(tool_calls=[tool_call()]))]},
        [call()],
        "tool_calls",
    ),
    "completion that was cut": ({"choices": [choice(assistant(content="a"), "length")]}, [said("a")], "length"),
    "one choice": (choice(assistant(content="a"), "stop"), [said("a")], "stop"),
    "old completion": ({"choices": [{"text": "a", "finish_reason": "stop"}]}, [said("a")], "stop"),
    "no choices": ({"choices": []}, [], None),
    "choice that is text": ({"choices": ["a"]}, [said("a")], None),
    # Ollama
    "Ollama chat": (
        {
            "model": "m", "done": True, "done_reason": "stop",
            "message": assistant(
                thinking="Hm.", content="", tool_calls=[{"function": {"name": "weather", "arguments": DATA}}]
            ),
        },
        [thought("Hm."), call(arguments=DATA, id=None)],
        "stop",
    ),
    "Ollama chat that was cut": ({"message": assistant(content="a"), "done_reason": "length"}, [said("a")], "length"),
    "Ollama generate": (
        {"response": "a", "thinking": "Hm.", "done": True, "done_reason": "stop"},
        [thought("Hm."), said("a")],
        "stop",
    ),
    # OpenAI Responses
    "Responses": (
        {
            "object": "response", "status": "completed", "incomplete_details": None, "reasoning": {"effort": "low"},
            "text": {"format": {"type": "text"}},
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "content": [
                    {"type": "reasoning_text", "text": "Long."}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Well."}]},
                item(),
                {"type": "custom_tool_call", "id": "x", "call_id": "c2", "name": "sql", "input": "SELECT 1"},
            ],
        },
        [thought("Hm."), thought("Long."), said("Well."), call(), call("sql", "SELECT 1", "c2")],
        "completed",
    ),
    "Responses items": ([item(), item(call_id="c2")], [call(), call(id="c2")], None),
    "Responses item": (item(), [call()], None),
    "Responses pieces": (
        [{"type": "summary_text", "text": "a"}, {"type": "reasoning_text", "text": "b"}, {"type": "text", "text": "c"}],
        [thought("a"), thought("b"), said("c")],
        None,
    ),
    "Responses that was cut": (
        {
            "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
            "output": [item(status="incomplete")],
        },
        [call(partial=True)],
        "length",
    ),
    "Responses that was filtered": (
        {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []},
        [],
        "content_filter",
    ),
    "Responses item under way": (item(status="in_progress"), [call(partial=True)], None),
    # Anthropic
    "Anthropic message": (
        {
            "type": "message", "role": "assistant", "stop_reason": "tool_use",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "redacted_thinking", "data": "e"},
                {"type": "text", "text": "Well."},
                tool_use(),
                {"type": "text", "text": "And:"},
                tool_use(id="c2"),
            ],
        },
        [thought("Hm."), said("Well."), call(arguments=DATA), said("And:"), call(arguments=DATA, id="c2")],
        "tool_use",
    ),
    "Anthropic message that was cut": (
        {"type": "message", "role": "assistant", "content": [tool_use()], "stop_reason": "max_tokens"},
        [call(arguments=DATA)],
        "length",
    ),
    "Anthropic message that filled the window": (
        {"content": "a", "role": "assistant", "stop_reason": "model_context_window_exceeded"},
        [said("a")],
        "length",
    ),
    "Anthropic blocks": ([{"type": "text", "text": "a"}, tool_use()], [said("a"), call(arguments=DATA)], None),
    "Anthropic block": (tool_use(), [call(arguments=DATA)], None),
    # Gemini
    "Gemini": (
        candidate(
            {"text": "Hm.", "thought": True},
            {"text": "Well."},
            {"functionCall": {"name": "weather", "args": DATA, "id": "c1"}, "thoughtSignature": "s"},
        ),
        [thought("Hm."), said("Well."), call(arguments=DATA)],
        "STOP",
    ),
    "Gemini in snake case": (
        {"role": "model", "parts": [{"function_call": {"name": "weather", "args": DATA}}]},
        [call(arguments=DATA, id=None)],
        None,
    ),
    "Gemini that was cut": (candidate({"text": "a"}, finish="MAX_TOKENS"), [said("a")], "length"),
    "Gemini with nothing": ({"candidates": [{"finishReason": "SAFETY"}]}, [], "SAFETY"),
    "Gemini call in pieces": (
        {"parts": [{"functionCall": {"name": "weather", "args": DATA, "willContinue": True}}]},
        [call(arguments=DATA, id=None, partial=True)],
        None,
    ),
    "Gemini with an image": (candidate({"inlineData": {"data": "x"}}, {"text": "a"}), [said("a")], "STOP"),
    "Gemini interaction": (
        {
            "status": "requires_action",
            "steps": [
                {"type": "user_input", "content": [{"type": "text", "text": "Weather?"}]},
                {"type": "thought", "summary": [{"type": "text", "text": "Hm."}], "signature": "s"},
                {"type": "model_output", "content": [{"type": "text", "text": "Well."}]},
                {"type": "function_call", "id": "c1", "name": "weather", "arguments": DATA},
            ],
        },
        [thought("Hm."), said("Well."), call(arguments=DATA)],
        "requires_action",
    ),
    # others
    "Bedrock": (
        {
            "stopReason": "max_tokens",
            "output": {"message": {"role": "assistant", "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}},
                {"text": "Well."},
                {"toolUse": {"toolUseId": "c1", "name": "weather", "input": DATA}},
            ]}},
        },
        [thought("Hm."), said("Well."), call(arguments=DATA)],
        "length",
    ),
    "Mistral with thinking in pieces": (
        choice(assistant(content=[
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "a"},
        ]), "model_length"),
        [thought("Hm."), said("a")],
        "length",
    ),
    "Mistral conversation": (
        {"object": "conversation.response", "outputs": [
            {"type": "message.output", "role": "assistant", "content": "Well."},
            {"type": "function.call", "id": "e", "tool_call_id": "c1", "name": "weather", "arguments": TEXT}]},
        [said("Well."), call()],
        None,
    ),
    "Cohere": (
        {"finish_reason": "TOOL_CALL", "message": {"tool_plan": "Hm.", "tool_calls": [tool_call()]}},
        [thought("Hm."), call()],
        "TOOL_CALL",
    ),
    "MCP request": (
        {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "weather", "arguments": DATA}},
        [call(arguments=DATA, id="7")],
        None,
    ),
    "MCP request without arguments": (
        {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "weather"}},
        [call(arguments=None, id="a")],
        None,
    ),
    "MCP batch": (
        [{"method": "tools/call", "id": n, "params": {"name": "weather", "arguments": DATA}} for n in (0, 1)],
        [call(arguments=DATA, id="0"), call(arguments=DATA, id="1")],
        None,
    ),
    "bare call": ({"name": "weather", "arguments": DATA}, [call(arguments=DATA, id=None)], None),
    "bare call with its type": (tool_call(), [call()], None),
    "bare call without its type": ({"function": {"name": "weather", "arguments": TEXT}}, [call(id=None)], None),
    "bare call in other words": ({"tool": "weather", "params": DATA, "id": "c1"}, [call(arguments=DATA)], None),
    "bare call as an action": ({"action": "weather", "action_input": "Bern"}, [call(arguments="Bern", id=None)], None),
    "bare call whose function is a name": ({"function": "weather", "args": TEXT}, [call(id=None)], None),
    "bare call with a word of MCP": ({"name": "get", "arguments": {}, "method": "GET"}, [call("get", {}, None)], None),
    "bare call with content": (
        {"content": "Well.", "name": "weather", "arguments": TEXT},
        [said("Well."), call(id=None)],
        None,
    ),
    "list of calls": ([tool_call(), {"name": "b", "arguments": {}}], [call(), call("b", {}, None)], None),
    "Call": (Call("weather", DATA, "c1"), [call(arguments=DATA)], None),
    "list of Calls": ([Call("weather", TEXT), Call("b", {})], [call(id=None), call("b", {}, None)], None),
    "text": ("Hello.", [said("Hello.")], None),
    "nothing in a list": ([], [], None),
    # LangChain, as data
    "LangChain message": (
        {
            "type": "ai", "content": "Well.", "response_metadata": {"finish_reason": "length"},
            "tool_calls": [{"type": "tool_call", "name": "weather", "args": DATA, "id": "c1"}],
            "invalid_tool_calls": [{"type": "invalid_tool_call", "name": "b", "args": "{'a'", "id": "c2"}],
        },
        [said("Well."), call(arguments=DATA), call("b", "{'a'", "c2")],
        "length",
    ),
    "LangChain message with raw calls only": (
        {"type": "ai", "content": "", "additional_kwargs": {"tool_calls": [tool_call()], "reasoning_content": "Hm."}},
        [thought("Hm."), call()],
        None,
    ),
    "LangChain message with a raw function call": (
        {"type": "ai", "content": "", "tool_calls": [], "additional_kwargs": {
            "function_call": {"name": "weather", "arguments": TEXT}}},
        [call(id=None)],
        None,
    ),
    "LangChain reasoning block": ([{"type": "reasoning", "reasoning": "Hm."}], [thought("Hm.")], None),
}  # fmt: skip


MALFORMED: dict[str, tuple[Any, NativeCall]] = {
    "name is a number": (assistant(tool_calls=[tool_call(5)]), call(5)),
    "name is missing": (assistant(tool_calls=[{"id": "c1", "function": {"arguments": TEXT}}]), call(None)),
    "function is missing": (assistant(tool_calls=[{"id": "c1", "type": "function"}]), call(None, None)),
    "function is null": (assistant(tool_calls=[{"id": "c1", "function": None}]), call(None, None)),
    "entry is null": (assistant(tool_calls=[None]), call(None, None, None)),
    "entry is text": (assistant(tool_calls=["weather(Bern)"]), call(None, "weather(Bern)", None)),
    "calls are no list": (assistant(tool_calls=tool_call()), call()),
    "calls are text": (assistant(tool_calls='[{"name": "a"}]'), call(None, '[{"name": "a"}]', None)),
    "arguments are missing": (
        assistant(tool_calls=[{"id": "c1", "function": {"name": "weather"}}]),
        call(arguments=None),
    ),
    "arguments are a list": (assistant(tool_calls=[tool_call(arguments=["Bern"])]), call(arguments=["Bern"])),
    "id is an object": ({"name": "weather", "arguments": TEXT, "id": {}}, call(id=None)),
    "id is empty": (tool_call(id=""), call(id=None)),
    "input is missing": ([{"type": "tool_use", "id": "c1", "name": "weather"}], call(arguments=None)),
    "functionCall is empty": (candidate({"functionCall": {}}), call(None, None, None)),
    "params are missing": ({"method": "tools/call", "id": "c1"}, call(None, None)),
    "params are a list": ({"method": "tools/call", "id": "c1", "params": [1]}, call(None, [1])),
    "name is null": ({"name": None, "arguments": TEXT}, call(None, id=None)),
}


NOTED: dict[str, tuple[Any, list[NativeCall | NativeText], list[str]]] = {
    "several choices": (
        {"choices": [choice(assistant(content="a"), "stop"), choice(assistant(tool_calls=[tool_call()]), index=1)]},
        [said("a")],
        ["too_many"],
    ),
    "several candidates": (
        {"candidates": [{"content": {"parts": [{"text": text}]}} for text in "abc"]},
        [said("a")],
        ["too_many"],
    ),
    "server tool of Anthropic": (
        [{"type": "server_tool_use", "id": "s", "name": "weather", "input": DATA}, tool_use()],
        [call(arguments=DATA)],
        ["elsewhere"],
    ),
    "server tool of Mistral": ([{"type": "tool.execution", "name": "weather", "arguments": TEXT}], [], ["elsewhere"]),
    "MCP call that OpenAI runs": (
        [{"type": "mcp_call", "name": "weather", "arguments": TEXT}, item()],
        [call()],
        ["elsewhere"],
    ),
    "MCP call that Anthropic runs": ([{"type": "mcp_tool_use", "name": "weather", "input": DATA}], [], ["elsewhere"]),
    "server tool among the calls": (
        assistant(tool_calls=[{"type": "web_search_call", "function": {"name": "x", "arguments": TEXT}}, tool_call()]),
        [call()],
        ["elsewhere"],
    ),
    "code that Gemini runs": (candidate({"executableCode": {"code": "1"}}), [], ["elsewhere"]),
    "built-in tool": ([{"type": "computer_call", "call_id": "c", "action": {"type": "click"}}], [], ["elsewhere"]),
    "unknown block with content": ([{"type": "novelty", "content": "<tool_call>"}], [], ["unreadable"]),
    "unknown block with a call": ([{"type": "novelty", "name": "weather", "arguments": TEXT}], [], ["unreadable"]),
    "call inside a thought": (
        candidate({"thought": True, "functionCall": {"name": "weather", "args": DATA}}),
        [],
        ["reasoning"],
    ),
    "call in the content and in the list": (
        {"type": "ai", "content": [{"type": "text", "text": "a"}, tool_use(input={})],
         "tool_calls": [{"name": "weather", "args": DATA, "id": "c1", "type": "tool_call"}]},
        [said("a"), call(arguments=DATA)],
        ["repeated"],
    ),
    "call in both dialects": (
        assistant(tool_calls=[tool_call()], function_call={"name": "weather", "arguments": TEXT}),
        [call()],
        ["repeated"],
    ),
    "call with an object in both dialects": (
        assistant(tool_calls=[tool_call(arguments=DATA)], function_call={"name": "weather", "arguments": DATA}),
        [call(arguments=DATA)],
        ["repeated"],
    ),
    "different calls in both dialects": (
        assistant(tool_calls=[tool_call()], function_call={"name": "weather", "arguments": "{}"}),
        [call(), call(arguments="{}", id=None)],
        [],
    ),
    "call that Gemini threw away": (
        {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "bad\x1b[2K: print(weather("}]},
        [],
        ["unreadable"],
    ),
    "message of the user": ({"role": "user", "content": "<tool_call>{}</tool_call>"}, [], ["quoted"]),
    "message of a tool, by its type": ({"type": "tool", "content": "x", "tool_call_id": "c1"}, [], ["quoted"]),
    "history": (
        [{"role": "user", "content": "q"}, assistant(content="a"), {"role": "tool", "content": "r"}],
        [said("a")],
        ["quoted", "quoted"],
    ),
    "MCP request for something else": ({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, [], ["unreadable"]),
    "definition of a tool": (
        {"name": "weather", "description": "Tells it.", "parameters": {"type": "object", "properties": {}}},
        [],
        ["unreadable"],
    ),
    "definition of a tool without a word": (
        {"type": None, "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}},
        [],
        ["unreadable"],
    ),
    "stream chunk": ({"choices": [{"delta": {"content": "a"}}]}, [], ["unreadable"]),
    "unknown object": ({"foo": 1}, [], ["unreadable"]),
    "name alone": ({"name": "weather"}, [], ["unreadable"]),
    "nothing": (None, [], ["unreadable"]),
    "bytes": (b'{"name": "a", "arguments": {}}', [], ["unreadable"]),
    "number": (7, [], ["unreadable"]),
    "content that is a number": (assistant(content=7), [], ["unreadable"]),
    "text that is a number": ([{"type": "text", "text": 7}], [], ["unreadable"]),
    "unknown block among others": ([{"type": "novelty", "x": 1}, tool_use()], [call(arguments=DATA)], ["unreadable"]),
}  # fmt: skip
