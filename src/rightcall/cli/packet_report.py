"""A packet's story for people, and packets in a list. Whatever users, models and tools said is shown escaped."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rightcall.cli.audit_lines import TINTS, column, fitting, took
from rightcall.cli.output import json_text
from rightcall.cli.packet_ways import approval_ways, ways_on
from rightcall.cli.render import labelled, value_text
from rightcall.cli.terminal import Style, Tint, count, harmless_lines, pad, table, visible_width
from rightcall.route.packets_hidden import story_of
from rightcall.text.escape import cut_counted, escaped
from rightcall.text.redact import Redactor

if TYPE_CHECKING:
    from rightcall.record.reading import CallRecord
    from rightcall.route.packets import Listed
    from rightcall.route.types import Candidate, Packet, ReflectionLog, SelectedTool, ToolRouting

_LONGEST = 4000
_NAME = 40
_STATES: dict[str, Tint] = {
    "received": "dim", "processing": "cyan", "waiting": "yellow", "answered": "green", "failed": "red",
}  # fmt: skip
_INTENTS = {"call": "a tool is needed", "ask": "a value is missing, so the user is asked", "none": "no tool is needed"}


def story(packet: "Packet", threshold: float, secret_names: Iterable[str], style: Style, where: str = "") -> list[str]:
    """From the request to the answer, line by line. Secrets are hidden, also those that a waiting packet keeps. `where`
    are the options that a command needs to find it again."""
    packet = story_of(packet, Redactor(os.urandom(32), secret_names))
    state = packet.status.state
    lines = [style.tint(f"packet {escaped(packet.header.packet_id, 60)}: {state}", _STATES[state], "bold")]
    for label, texts in _sections(packet, threshold, where):
        lines += labelled(label, texts, style)
    return lines


def _sections(packet: "Packet", threshold: float, where: str) -> Iterator[tuple[str, list[str]]]:
    routing = packet.tool_routing
    yield "request", _text(packet.content.original_prompt)
    yield "from", [_origin(packet)]
    yield "why", _text(packet.status.why)
    yield "intent", intent_lines(packet)
    yield "tools", tools_lines(packet.context.available_mcp_tools)
    yield "candidates", _candidates(routing.candidates)
    yield "chosen", chosen_lines(routing.selected_tool) if routing.selected_tool else []
    yield "alternatives", [line for tool in routing.alternative_tools for line in alternative_lines(tool)]
    yield "review", review_lines(routing)
    yield "confidence", confidence_lines(routing, threshold) if routing.selected_tool else []
    yield "execution", [_status(routing)]
    yield "approval", approval_ways(routing.approval, where) if routing.approval else []
    yield "to go on", ways_on(packet, where)
    yield "result", result_lines(routing)
    yield "answer", _text(packet.content.answer or "")
    yield "steps", _steps(packet.reasoning.reflection_log)


def _text(text: str) -> list[str]:
    return harmless_lines(cut_counted(text, _LONGEST)) if text else []


def _origin(packet: "Packet") -> str:
    header = packet.header
    session = f", session {escaped(header.session_id, 200)}" if header.session_id else ""
    return f"{escaped(header.caller, 200)}{session}, {escaped(header.created, 40)} UTC"


def intent_lines(packet: "Packet") -> list[str]:
    found = packet.intent.detected
    if found is None:
        return _text(packet.intent.user_intent)
    sure = "" if found.sure else ", too close to tell"
    scores = ", ".join(f"{escaped(name, 20)} {score:.2f}" for name, score in found.scores.items())
    lines = [f"{_INTENTS[found.answer]} (probability of a call {found.probability:.2f}{sure})"]
    lines += [f"scores: {scores}"] if scores else []
    lines += [f"missing: {', '.join(escaped(one, _NAME) for one in found.missing)}"] if found.missing else []
    return lines + [f"- {line}" for one in found.why for line in _text(one)]


def tools_lines(names: tuple[str, ...]) -> list[str]:
    if not names:
        return []
    few = ", ".join(escaped(name, _NAME) for name in names[:8])
    return [f"{count(names, 'tool')}: {few}{', …' if len(names) > 8 else ''}"]


def _candidates(found: "tuple[Candidate, ...]") -> list[str]:
    width = min(_NAME, max((visible_width(escaped(one.name, _NAME)) for one in found), default=0))
    return [
        f"{pad(escaped(one.name, _NAME), width)}  {one.confidence:.2f}  {escaped('; '.join(one.why), 300)}".rstrip()
        for one in found
    ]


def chosen_lines(tool: "SelectedTool") -> list[str]:
    lines = [f"{escaped(tool.tool_name, 200)}  {value_text(tool.params)}"]
    lines += [f"because: {line}" for line in _text(tool.selection_reasoning)]
    return [*lines, f"its own confidence: {tool.selection_confidence:.2f}"]


def alternative_lines(tool: "SelectedTool") -> list[str]:
    why = f": {escaped(tool.selection_reasoning, 300)}" if tool.selection_reasoning else ""
    return [f"{escaped(tool.tool_name, 200)}  {cut_counted(json_text(tool.params), 200)}{why}"]


def review_lines(routing: "ToolRouting") -> list[str]:
    if routing.review_approved is None:
        said = routing.review_reasoning or routing.review_confidence
        return ["none that counts", *_text(routing.review_reasoning)] if said else []
    verdict = "approved" if routing.review_approved else "not approved"
    return [f"{verdict}, confidence {routing.review_confidence:.2f}", *_text(routing.review_reasoning)]


def confidence_lines(routing: "ToolRouting", threshold: float) -> list[str]:
    reached = routing.confidence >= threshold
    against = "reaches" if reached else "is below"
    parts = ", ".join(f"{escaped(name, 40)} {value:.2f}" for name, value in routing.evidence.items())
    lines = [f"{routing.confidence:.2f} {against} the threshold, which is {threshold:g} now"]
    return [*lines, f"made of: {parts}"] if parts else lines


def _status(routing: "ToolRouting") -> str:
    rounds = f"{routing.reinjection_count} of {routing.max_reinjections} reinjections"
    return f"{routing.execution_status.replace('_', ' ')}, {rounds}"


def result_lines(routing: "ToolRouting") -> list[str]:
    result = routing.execution_result
    if result is None:
        return []
    lines = [f"{'success' if result.success else 'failed'} after {result.execution_time_ms} ms"]
    lines += _text(result.error or "")
    if result.output is not None:
        lines += _text(result.output) if isinstance(result.output, str) else [value_text(result.output)]
    return lines


def _steps(log: "tuple[ReflectionLog, ...]") -> list[str]:
    return [line for one in log for line in _step(one)]


def _step(step: "ReflectionLog") -> list[str]:
    when = escaped(step.at[11:] or "-", 20)
    sure = f"{step.confidence:.2f}" if step.confidence is not None else "    "
    took = f"{step.milliseconds:,.1f} ms"
    first, *more = _text(step.summary) or [""]
    return [f"{when:<12}  {escaped(step.step, _NAME):<17}  {sure}  {took:>11}  {first}".rstrip(), *more]


def records(found: "Sequence[CallRecord]", missing: str, style: Style) -> list[str]:
    """The calls that belong to it; `missing` says why nobody could look."""
    if missing:
        return labelled("audit", harmless_lines(missing), style)
    if not found:
        return labelled("audit", ["no call of it is recorded"], style)
    width = min(_NAME, max(visible_width(escaped(one.tool, _NAME)) for one in found))
    return labelled("audit", [_record(one, width, style) for one in found], style)


def _record(record: "CallRecord", width: int, style: Style) -> str:
    status = style.tint(pad(record.status, 11), TINTS[record.status])
    time = took(record)
    return f"{column(record.tool, width)}  {status}  {time:>9}  rightcall audit show {record.id}"


def listing(found: "Sequence[Listed]", style: Style) -> list[str]:
    rows: list[list[str]] = []
    for one in found:
        if one.fault:
            rows.append([one.id, "", style.tint("damaged", "red"), "", fitting(escaped(one.fault), 60)])
        else:
            state = style.tint(one.state, _STATES[one.state])
            status = one.status.replace("_", " ")
            rows.append([one.id, escaped(one.created[:19], 19), state, status, fitting(escaped(one.request), 60)])
    return table(["id", "created (UTC)", "state", "tool", "request"], rows, style, left=5)
