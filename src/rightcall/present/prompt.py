"""The system prompt for a model that calls tools in its text (design 002 §10), made of the tools a caller may use."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rightcall.catalog.tool import Tool
from rightcall.present.marks import neutral
from rightcall.present.signature import signature
from rightcall.present.uses import USES, Use
from rightcall.text.escape import escaped, render_json

Examples = Callable[[Tool], Mapping[str, Any] | None]

_OPENING = "You have access to the following tools for investigating the codebase:"
_FORMAT = "To use a tool, include a tool call in your response using this format:"
_GUIDELINES = """\
You can make multiple tool calls in a single response. The tool results will be injected back into your context, and \
you'll be asked to continue your response.

**Tool Use Guidelines**:
1. Use tools to verify your hypotheses before stating them as facts
2. Read code before proposing changes
3. Search for patterns before claiming they don't exist
4. Use git history to understand design decisions
5. Be efficient - don't read entire large files, use line ranges
6. If a tool fails, explain why and try an alternative approach"""
_NO_TOOLS = "No tools are available. Answer from what you know and what you were told; do not write tool calls."
_NO_DESCRIPTION = "(no description available)"
_SHOWN_CALL = ("code/read", {"path": "src/file.ts", "startLine": 1, "endLine": 50})
_ANY_CALL = '<tool_call>{"tool":"tool_name","params":{…}}</tool_call>'
_NO_ARGUMENTS: Mapping[str, Any] = {}
_LONGEST, _LONGEST_EXAMPLE = 300, 1000
_PLAIN_NAME = re.compile(r"[\w./:@-]{1,120}")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")


def system_prompt(tools: Iterable[Tool], *, example: bool = True, examples: Examples | None = None) -> str:
    """The prompt. `example` false leaves the examples of the single tools out; `examples` makes arguments for tools
    for which nobody has declared any.

    Descriptions may come from anywhere: each is one line, escaped and cut, and cannot pass for another tool.
    """
    offered = [tool for tool in tools if not tool.deprecated]
    if not offered:
        return _NO_TOOLS
    calls = {tool.name: call for tool in offered if (call := _example(tool, examples)) is not None}
    described = (_described(tool, calls.get(tool.name) if example else None) for tool in offered)
    names = ", ".join(_name(tool) for tool in offered)
    return "\n\n".join(
        [
            _OPENING,
            *described,
            f"{_FORMAT}\n{_format_line(offered, calls)}",
            _GUIDELINES,
            f"**Current available tools**: {names}",
        ]
    )


def _described(tool: Tool, call: str | None) -> str:
    use = _use(tool)
    first, rest = _split_description(tool.description)
    description, when = (use.description, use.use_when) if use is not None else (first or _NO_DESCRIPTION, rest)
    lines = [
        f"**{_name(tool)}** - {description}",
        f"Params: {neutral(signature(tool, use.params if use is not None else None))}",
    ]
    lines += [f"Example: {call}"] if call is not None else []
    lines += [f"Use when: {when}"] if when else []
    return "\n  ".join(lines)


def _use(tool: Tool) -> Use | None:
    """What we say of a tool, if it is the one we mean: it has those arguments."""
    use = USES.get(tool.name)
    named: Any = tool.schema.get("properties") or {}
    return use if use is not None and all(name in named for name in use.params) else None


def _split_description(description: str) -> tuple[str, str]:
    """The first sentence of a description, and what follows it."""
    first, *rest = _SENTENCE.split(" ".join(description[: 4 * _LONGEST].split()), maxsplit=1)
    return _line(first, _LONGEST).removesuffix("."), _line("".join(rest), _LONGEST)


def _name(tool: Tool) -> str:
    """A name as it is; in quotes where it holds what could pass for more than a name."""
    return tool.name if _PLAIN_NAME.fullmatch(tool.name) else neutral(render_json(tool.name, 120))


def _line(text: str, limit: int) -> str:
    """One line, in which nothing is hidden and nothing special to a model."""
    return neutral(escaped(" ".join(text.split()), limit))


def _example(tool: Tool, examples: Examples | None) -> str | None:
    """A right call of a tool, as a model writes it."""
    use = _use(tool)
    made = examples(tool) if examples is not None else None
    for found in (use.example if use is not None else None, tool.rules.example, made, _NO_ARGUMENTS):
        if found is not None and _fits(tool, dict(found)):
            call = _call(tool.name, found)
            return call if len(call) <= _LONGEST_EXAMPLE else None
    return None


def _fits(tool: Tool, arguments: dict[str, Any]) -> bool:
    try:
        return tool.accepts({**tool.rules.defaults, **arguments})
    except ValueError:
        return False


def _call(name: str, arguments: Mapping[str, Any]) -> str:
    inside = json.dumps({"tool": name, "params": arguments}, ensure_ascii=False, separators=(",", ":"))
    return f"<tool_call>{neutral(escaped(inside))}</tool_call>"


def _format_line(tools: list[Tool], calls: Mapping[str, str]) -> str:
    """The design's own line where that tool is there; else the call of another one, that a model may copy."""
    name, arguments = _SHOWN_CALL
    if any(tool.name == name and _fits(tool, arguments) for tool in tools):
        return _call(name, arguments)
    return next(iter(calls.values()), _ANY_CALL)
