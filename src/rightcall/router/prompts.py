"""What the router's models are asked, in the words of design 004, with the definitions of the tools and the day of the
request beside them.

Requests and results are fenced: whatever stands in them, they are data, and change neither the question nor the form of
its answer. What a server wrote of its tools is one escaped line each.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.json import encode

from rightcall.base.text import escaped, estimate, render_json
from rightcall.catalog.tool import Tool
from rightcall.executor.messages import content, error_content, marked, neutral
from rightcall.executor.prompt import argument_notes, day_of, signature
from rightcall.router.packet import Message, Packet, SelectedTool, request_of, results_of

RESULT_TOKENS = 2000
"""Of one result, in a prompt."""

_LONGEST = 300
_LONGEST_OTHER, MOST_OTHERS = 120, 5
"""Of a tool that was not chosen; and so many of them the reviewer is shown."""
MOST_NAMED = 40
"""Tools that an answering model is told the names of."""
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
{made}{results}
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

DEFINITION OF THE SELECTED TOOL:
{definition}
{others}{made}{doubts}
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
_OTHERS = """
OTHER TOOLS, the likeliest first:
{others}
"""
_DOUBTS = """
DOUBTS (measured without reading the request as you can; they may be wrong):
{doubts}
"""

_ANSWER = "Answer the user in plain words. You cannot use tools now: write no tool calls and no markup of any."
_WITH_RESULTS = " Tools were used for this request; their results stand below it. Build your answer on them."
_WITHOUT = " No tool was used: {why}. Never claim that one was, or that anything was done."
_TOOLS = " Tools that can be used here, when the user asks for what they do: {tools}."
_ASK_BACK = (
    "The user's request cannot be carried out yet, since something is missing: {missing} Ask the user for it in one "
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


def selection(packet: Packet, tools: Iterable[Tool], room: int = 0) -> list[Message]:
    """The question for a choice among these tools, the likeliest first. `room` is for how many tokens their arguments
    are explained: for the likeliest tools as long as it lasts."""
    offered = list(tools)
    results = told_results(packet)
    return _conversation(
        _SELECTOR,
        _SELECTION.format(
            catalogue="\n".join(_catalogue(offered, room)),
            request=marked(request_of(packet), "the user's request"),
            session=_line(packet.header.session_id) or "none",
            intent=packet.intent.user_intent or "unknown",
            names=", ".join(_line(tool.name) for tool in offered),
            made=_made(packet, "- Request made: {day}\n"),
            results=_SO_FAR.format(results=results) if results else "",
        ),
    )


def _catalogue(tools: list[Tool], room: int) -> list[str]:
    """Every tool with its signature; with notes on its arguments as long as there is room."""
    room -= sum(estimate(described(tool)) for tool in tools)
    lines: list[str] = []
    for tool in tools:
        notes = argument_notes(tool)
        room -= sum(map(estimate, notes))
        lines.append(described(tool, notes if room >= 0 else ()))
    return lines


def _made(packet: Packet, line: str) -> str:
    """When the request was made, so that "tomorrow" is a date: also for one that goes on days later."""
    day = day_of(packet.header.created, minutes=True)
    return line.format(day=day) if day else ""


def broken(why: str, hint: str | None) -> str:
    """What a selecting model is told of a reply that cannot be used."""
    return _BROKEN.format(why=why, hint=f"{hint}\n" if hint else "")


def review(
    packet: Packet, selected: SelectedTool, tool: Tool | None = None, doubts: Iterable[str] = (),
    others: Sequence[Tool] = (),
) -> list[Message]:  # fmt: skip
    """The question for a review. `tool` is the definition of the selected one, `others` are the nearest of the rest."""
    raised = "\n".join(f"- {_line(doubt)}" for doubt in doubts)
    about = _line(tool.description) if tool is not None else ""
    rest = "\n".join(f"- {_line(one.name)}: {_line(one.description, _LONGEST_OTHER)}" for one in others[:MOST_OTHERS])
    return _conversation(
        _REVIEWER,
        _REVIEW.format(
            request=marked(request_of(packet), "the user's request"),
            tool=f"{_line(selected.tool_name)}{f' ({about})' if about else ''}",
            params=marked(encode(selected.params).decode(), "the parameters of the selected tool"),
            reasoning=marked(selected.selection_reasoning, "what the selector says of it"),
            definition=_definition(tool),
            others=_OTHERS.format(others=rest) if rest else "",
            made=_made(packet, "\nREQUEST MADE: {day}\n"),
            doubts=_DOUBTS.format(doubts=raised) if raised else "",
        ),
    )


def _definition(tool: Tool | None) -> str:
    """What a reviewer needs to judge the values and the danger; the description stands beside the name."""
    if tool is None:
        return "Not known"
    effects = ", ".join(sorted(tool.effects)) if tool.effects_declared else "not declared: it may do anything"
    notes = [f"  {note}" for note in argument_notes(tool)]
    return "\n".join([f"Parameters: {neutral(signature(tool))}", *notes, f"Effects: {effects}"])


def answer(packet: Packet, why: str, tools: Sequence[str] = ()) -> list[Message]:
    """The question for the final answer; `why` says why there is no result, where there is none, and `tools` are those
    that there are, for a user who asks what can be done."""
    results = told_results(packet)
    system = _ANSWER + (_WITH_RESULTS if results else _WITHOUT.format(why=why) if why else "")
    if tools:
        more = len(tools) - MOST_NAMED
        named = [*map(_line, tools[:MOST_NAMED]), *([f"and {more} more"] if more > 0 else [])]
        system += _TOOLS.format(tools=", ".join(named))
    system += _made(packet, " The request was made on {day}.")
    return _conversation(system, "\n\n".join(filter(None, (request_of(packet), results))))


def ask_back(packet: Packet, missing: Iterable[str]) -> list[Message]:
    system = _ASK_BACK.format(missing=sentence(", ".join(map(_line, missing)) or "what exactly is wanted"))
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


def described(tool: Tool, notes: Iterable[str] = ()) -> str:
    """One tool of the list."""
    lines = [
        f"- {_line(tool.name)}: {_line(tool.description) or '(no description)'}",
        f"  Parameters: {neutral(signature(tool))}",
        *(f"    {note}" for note in notes),
    ]
    if tool.effects_declared and not _ASKS.isdisjoint(tool.effects):
        lines.append("  Note: Requires user approval")
    return "\n".join(lines)


def sentence(text: str) -> str:
    """
    >>> sentence("city, date"), sentence("Which city?")
    ('city, date.', 'Which city?')
    """
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _line(text: str, longest: int = _LONGEST) -> str:
    """One line, which cannot pass for another tool or another part of the prompt."""
    return neutral(escaped(" ".join(text.split()), longest))


def _conversation(system: str, user: str) -> list[Message]:
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]
