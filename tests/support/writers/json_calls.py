"""Formats whose calls are JSON objects, between tags, after a marker, in a fence or bare.

From the chat templates of Hermes, Qwen, Granite, Mistral, Llama 3, Command-R, Nemotron, Jamba, Hunyuan, Apertus,
InternLM, Phi-4, xLAM, GigaChat, LongCat and ERNIE.
"""

import json
from collections.abc import Callable

from support.writers.base import WORD_NAME, Call, Writer, compact

Shape = Callable[[int, Call], str]


def keyed(name: str, arguments: str) -> Shape:
    """An object with these two keys."""
    return lambda _at, call: compact({name: call[0], arguments: call[1]})


NAMED = keyed("name", "arguments")


def each(opening: str, closing: str, shape: Shape = NAMED, between: str = "\n") -> Callable[[list[Call]], str]:
    """Every call in markup of its own."""
    return lambda calls: between.join(f"{opening}{shape(at, call)}{closing}" for at, call in enumerate(calls))


def together(
    opening: str, closing: str, shape: Shape = NAMED, between: str = ", ", brackets: tuple[str, str] = ("[", "]")
) -> Callable[[list[Call]], str]:
    """All calls in one list in one piece of markup."""

    def write(calls: list[Call]) -> str:
        items = between.join(shape(at, call) for at, call in enumerate(calls))
        return f"{opening}{brackets[0]}{items}{brackets[1]}{closing}"

    return write


def _mistral(at: int, call: Call) -> str:
    return compact({"name": call[0], "arguments": call[1], "id": f"a1B2c3D4{at % 10}"})


def _cohere(at: int, call: Call) -> str:
    return compact({"tool_call_id": str(at), "tool_name": call[0], "parameters": call[1]})


def _cohere_plan(_at: int, call: Call) -> str:
    laid_out = json.dumps({"tool_name": call[0], "parameters": call[1]}, ensure_ascii=False, indent=4)
    return "\n".join(f"    {line}" for line in laid_out.split("\n"))


def _granite(calls: list[Call]) -> str:
    items = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return "<|tool_call|>" + json.dumps(items, ensure_ascii=False, indent=4)


def _apertus(_at: int, call: Call) -> str:
    return compact({call[0]: call[1]})


def _escaped(_at: int, call: Call) -> str:
    return json.dumps({"name": call[0], "arguments": call[1]})


def _as_text(_at: int, call: Call) -> str:
    """The arguments as JSON in a string, as an API sends them."""
    return compact({"name": call[0], "arguments": compact(call[1])})


def _api(at: int, call: Call) -> str:
    return compact(
        {"id": f"call_{at}", "type": "function", "function": {"name": call[0], "arguments": compact(call[1])}}
    )


def _named_first(_at: int, call: Call) -> str:
    return f"{call[0]}>{compact(call[1])}"


def _prompted(_at: int, call: Call) -> str:
    return f"{call[0]}\n{compact(call[1])}"


def _mistral_args(_at: int, call: Call) -> str:
    return f"{call[0]}[ARGS]{compact(call[1])}"


def _mistral_id(at: int, call: Call) -> str:
    return f"{call[0]}[CALL_ID]a1B2c3D4{at % 10}[ARGS]{compact(call[1])}"


def _mistral_bare(_at: int, call: Call) -> str:
    return f"{call[0]}{compact(call[1])}"


def _react(calls: list[Call]) -> str:
    (name, arguments), *_ = calls
    return f"Action: {name}\nAction Input: {compact(arguments)}"


def _react_thought(calls: list[Call]) -> str:
    return f"Thought: I have to look this up first.\n{_react(calls)}"


def _ernie(calls: list[Call]) -> str:
    return "<think>\nThe user wants facts.\n</think>\n\n\n" + each("<tool_call>\n", "\n</tool_call>\n", between="")(
        calls
    )


PARAMETERS = keyed("name", "parameters")

JSON_CALLS = (
    Writer("hermes", each("<tool_call>\n", "\n</tool_call>")),
    Writer("hermes_tool_params", each("<tool_call>", "</tool_call>", keyed("tool", "params"))),
    Writer("hermes_text", each("<tool_call>\n", "\n</tool_call>", _as_text)),
    Writer("reka", each("<tool_call>\n", "\n</tool_call>", _escaped, "")),
    Writer("ernie", _ernie, quiet=False),
    Writer("longcat", each("<longcat_tool_call>\n", "\n</longcat_tool_call>")),
    Writer("fenced_object", each("```json\n", "\n```"), own_line=True),
    Writer("fenced_list", together("```json\n", "\n```"), own_line=True),
    Writer("bare_object", each("", ""), own_line=True),
    Writer("bare_list", together("", ""), own_line=True),
    Writer("api_object", each("", "", _api), own_line=True),
    Writer("api_list", together('{"tool_calls": ', "}", _api), own_line=True),
    Writer("structured_chat", each("Action:\n```\n", "\n```", keyed("action", "action_input")), own_line=True),
    Writer("xlam", together("", "", brackets=("[\n", "\n]"), between=",\n"), own_line=True),
    Writer("mistral", together("[TOOL_CALLS] ", "", _mistral)),
    Writer("mistral_args", each("[TOOL_CALLS]", "", _mistral_args, ""), names=WORD_NAME),
    Writer("mistral_call_id", each("[TOOL_CALLS]", "", _mistral_id, ""), names=WORD_NAME),
    Writer("mistral_name", each("[TOOL_CALLS]", "", _mistral_bare, ""), names=WORD_NAME),
    Writer("llama3_bare", each("", "", PARAMETERS, "; "), own_line=True),
    Writer("llama3_tag", lambda calls: "<|python_tag|>" + each("", "", PARAMETERS, "; ")(calls)),
    Writer("granite", _granite),
    Writer("granite_20b", each("<function_call> ", "")),
    Writer("nemotron", together("<TOOLCALL>", "</TOOLCALL>")),
    Writer("jamba", together("<tool_calls>", "</tool_calls>", between=",\n    ", brackets=("[\n    ", "\n]"))),
    Writer("hunyuan_list", together("<tool_calls>", "</tool_calls>")),
    Writer("minimax_m1", together("<tool_calls>", "</tool_calls>", between="\n", brackets=("\n", "\n"))),
    Writer("command_r7b", together("<|START_ACTION|>", "<|END_ACTION|>", _cohere, ",\n    ", ("[\n    ", "\n]"))),
    Writer("command_r_plus", together("Action:\n```json\n", "```", _cohere_plan, ",\n", ("[\n", "\n]")), own_line=True),
    Writer("phi4_mini", together("functools", "")),
    Writer("internlm", each("<|action_start|><|plugin|>\n", "<|action_end|>", PARAMETERS, "")),
    Writer("apertus", together("<|tools_prefix|>", "<|tools_suffix|>", _apertus)),
    Writer("functionary_v31", each("<function=", "</function>", _named_first, "")),
    Writer("functionary_v32", each(">>>", "", _prompted, ""), names=WORD_NAME, needs_tools=True),
    Writer("gigachat3", each("<|message_sep|>\n\nfunction call<|role_sep|>\n", ""), several=False),
    Writer("gigachat31", each("<|function_call|>", ""), several=False),
    Writer("react", _react, several=False, own_line=True),
    Writer("react_thought", _react_thought, several=False, own_line=True, quiet=False),
)
