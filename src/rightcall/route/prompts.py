"""What the models are asked, in the words of design 004. Requests and results are fenced: whatever stands in them, they
are data, and change neither the question nor the form of its answer."""

from collections.abc import Iterable
from typing import Any

from msgspec.json import encode

from rightcall.catalog import Tool
from rightcall.present.marks import marked, neutral
from rightcall.present.messages import content, error_content
from rightcall.present.signature import signature
from rightcall.route.asking import Message
from rightcall.route.story import request_of, results_of
from rightcall.route.types import Packet, SelectedTool
from rightcall.text.escape import escaped, render_json

RESULT_TOKENS = 2000
"""Of one result, in a prompt."""

_LONGEST = 300
_ASKS = frozenset(("write", "execute"))

_SELECTOR = "You are a precise tool selector. Output only valid JSON."
_SELECTION = """\
You are a tool selector. Given the user's request, select the most appropriate tool.

AVAILABLE TOOLS:
{catalogue}

USER REQUEST:
{request}

CONTEXT FROM PACKET:
- Session: {session}
- Intent: {intent}
- Available tools: {names}
{results}
Respond ONLY with valid JSON in this exact format:
{{
    "selected_tool": "tool_name",
    "params": {{"param1": "value1"}},
    "reasoning": "Brief explanation of why this tool was selected",
    "confidence": 0.0 to 1.0,
    "alternatives": [
        {{"tool": "alt_tool", "params": {{}}, "reason": "why this could also work"}}
    ]
}}

If NO tool is appropriate, respond with:
{{
    "selected_tool": null,
    "reasoning": "Why no tool is needed",
    "confidence": 1.0
}}"""
_SO_FAR = """
RESULTS SO FAR (if they are enough to answer the request, no further tool is appropriate):
{results}
"""
_BROKEN = "That cannot be used: {why}.\n{hint}Respond again, ONLY with valid JSON in the format you were given."

_REVIEWER = "You are a careful reviewer ensuring tool selections are appropriate."
_REVIEW = """\
Review this tool selection for the given request.

USER REQUEST:
{request}

SELECTED TOOL: {tool}
PARAMETERS:
{params}
SELECTION REASONING:
{reasoning}

Evaluate:
1. Is this the right tool for the task?
2. Are the parameters correct and safe?
3. Could this cause unintended side effects?

Respond with JSON, the reasoning in one short sentence:
{{
    "approved": true/false,
    "confidence": 0.0 to 1.0,
    "reasoning": "Your assessment"
}}"""

_ANSWER = "Answer the user in plain words. You cannot use tools now: write no tool calls and no markup of any."
_WITH_RESULTS = " Tools were used for this request; their results stand below it. Build your answer on them."
_WITHOUT = " No tool was used: {why}. Never claim that one was, or that anything was done."
_ASK_BACK = (
    "The user's request cannot be carried out yet, since something is missing: {missing}. Ask the user for it in one "
    "short, friendly question. Do nothing else: write no tool calls and no answer to the request."
)
ONLY_JSON = "That cannot be read. Respond again, ONLY with the JSON object: nothing before it, nothing after it."
IN_WORDS = "That was a tool call, and no tool can be used now. Answer in words."

NUMBER: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
REVIEW_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "confidence": NUMBER, "reasoning": {"type": "string"}},
    "required": ["approved", "confidence", "reasoning"],
    "additionalProperties": False,
}


def selection_schema(names: Iterable[str]) -> dict[str, Any]:
    """The form of a selection: one of these tools, or none."""
    known = list(names)
    alternative = {
        "type": "object",
        "properties": {"tool": {"enum": known}, "params": {"type": "object"}, "reason": {"type": "string"}},
        "required": ["tool"],
    }
    return {
        "type": "object",
        "properties": {
            "selected_tool": {"enum": [*known, None]},
            "params": {"type": "object"},
            "reasoning": {"type": "string"},
            "confidence": NUMBER,
            "alternatives": {"type": "array", "items": alternative, "maxItems": 3},
        },
        "required": ["selected_tool", "params", "reasoning", "confidence"],
    }


def selection(packet: Packet, tools: Iterable[Tool]) -> list[Message]:
    offered = list(tools)
    results = told_results(packet)
    return _conversation(
        _SELECTOR,
        _SELECTION.format(
            catalogue="\n".join(map(_described, offered)),
            request=marked(request_of(packet), "the user's request"),
            session=_line(packet.header.session_id) or "none",
            intent=packet.intent.user_intent or "unknown",
            names=", ".join(_line(tool.name) for tool in offered),
            results=_SO_FAR.format(results=results) if results else "",
        ),
    )


def broken(why: str, hint: str | None) -> str:
    """What a selecting model is told of a reply that cannot be used."""
    return _BROKEN.format(why=why, hint=f"{hint}\n" if hint else "")


def review(packet: Packet, selected: SelectedTool, tool: Tool | None = None) -> list[Message]:
    about = _line(tool.description) if tool is not None else ""
    return _conversation(
        _REVIEWER,
        _REVIEW.format(
            request=marked(request_of(packet), "the user's request"),
            tool=f"{_line(selected.tool_name)}{f' ({about})' if about else ''}",
            params=marked(encode(selected.params).decode(), "the parameters of the selected tool"),
            reasoning=marked(selected.selection_reasoning, "what the selector says of it"),
        ),
    )


def answer(packet: Packet, why: str) -> list[Message]:
    """The question for the final answer; `why` says why there is no result, where there is none."""
    results = told_results(packet)
    system = _ANSWER + (_WITH_RESULTS if results else _WITHOUT.format(why=why) if why else "")
    return _conversation(system, "\n\n".join(filter(None, (request_of(packet), results))))


def ask_back(packet: Packet, missing: Iterable[str]) -> list[Message]:
    system = _ASK_BACK.format(missing=", ".join(map(_line, missing)) or "what exactly is wanted")
    return _conversation(system, request_of(packet))


def told_results(packet: Packet) -> str:
    """What tools gave so far, each marked as that tool's data."""
    return "\n".join(_describe_result(one) for one in results_of(packet))


def _describe_result(result: dict[str, Any]) -> str:
    tool, error = str(result.get("tool", "")), result.get("error")
    shown_call = f"{_line(tool)} {neutral(render_json(result.get('params'), _LONGEST))}"
    if result.get("success"):
        return f"{shown_call} gave:\n{content(tool, result.get('output'), RESULT_TOKENS).text}"
    said = error_content(str(error), tool=tool) if error else "Error: it gave no reason."
    rest = "" if result.get("output") is None else f"\n{content(tool, result['output'], RESULT_TOKENS).text}"
    return f"{shown_call} did not succeed:\n{said}{rest}"


def _described(tool: Tool) -> str:
    lines = [
        f"- {_line(tool.name)}: {_line(tool.description) or '(no description)'}",
        f"  Parameters: {neutral(signature(tool))}",
    ]
    if tool.effects_declared and not _ASKS.isdisjoint(tool.effects):
        lines.append("  Note: Requires user approval")
    return "\n".join(lines)


def _line(text: str) -> str:
    """One line, which cannot pass for another tool or another part of the prompt."""
    return neutral(escaped(" ".join(text.split()), _LONGEST))


def _conversation(system: str, user: str) -> list[Message]:
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]
