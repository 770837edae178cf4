"""What the span of a request to a model tells: the model, tokens, why it ended, and what was done about its calls.

    chat MODEL     CLIENT   belongs to what the client's headers name; the upstream's headers name this one

Messages stand in it only where that is asked for (`captures_content`), in the form that the conventions give them, and
without secrets. Nothing here is called where no span is live.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from rightcall.base.telemetry.conventions import Value, repairs_told
from rightcall.base.text import escaped
from rightcall.proxy.flow import collect_answer
from rightcall.proxy.wires.common import an_object

if TYPE_CHECKING:
    from rightcall.base.telemetry.spans import Span
    from rightcall.proxy.wires.common import Event, Usage
    from rightcall.server.recording import Facts

_LONGEST: Final = 200
_MOST_MESSAGES: Final = 100
_MOST_HEARD: Final = 1_000_000
"""Bytes of a stream in which its first event is looked for: it may repeat the whole request."""


def tell_request(span: Span, facts: Facts, upstream: str) -> None:
    """Which model is asked, and where it is."""
    if facts.model:
        span.aim(escaped(facts.model, _LONGEST))
    told: dict[str, Value] = {"server.address": upstream, "rightcall.wire": facts.wire}
    if facts.caller:
        told["rightcall.caller"] = facts.caller
    if facts.stream:
        told["gen_ai.request.stream"] = True
    span.tell(told)


def tell_usage(span: Span, usage: Usage, reason: str | None, answer: Any = None) -> None:
    """What the model's server tells of its answer."""
    told: dict[str, Value] = {}
    if usage.prompt is not None:
        told["gen_ai.usage.input_tokens"] = usage.prompt
    if usage.completion is not None:
        told["gen_ai.usage.output_tokens"] = usage.completion
    if reason:
        told["gen_ai.response.finish_reasons"] = (escaped(reason, _LONGEST),)
    for key in ("id", "model"):
        found: Any = (an_object(answer) or {}).get(key)
        if isinstance(found, str) and found:
            told[f"gen_ai.response.{key}"] = escaped(found, _LONGEST)
    span.tell(told)


class FirstEvent:
    """Hears a stream until an event tells id and model of the answer, which the first one does in every API."""

    def __init__(self) -> None:
        self.answer: dict[str, Any] | None = None
        self._line = b""
        self._heard = 0

    def hear(self, data: bytes) -> None:
        if self.answer is not None or self._heard > _MOST_HEARD:
            return
        self._heard += len(data)
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            try:
                said = an_object(msgspec.json.decode(line.removeprefix(b"data:")))
            except (msgspec.MsgspecError, UnicodeError, RecursionError):
                continue
            said = said or {}
            for one in (said, an_object(said.get("message")), an_object(said.get("response"))):
                if one is not None and (one.get("id") or one.get("model")):
                    self.answer = one
                    return


def tell_facts(span: Span, facts: Facts) -> None:
    """What was done about its calls, and how it ended."""
    if facts.did:
        span.tell(repairs_told(one for did in facts.did for one in did.repairs))
        span.tell({"rightcall.calls": len(facts.did)})
    if facts.retries:
        span.tell({"rightcall.retries": facts.retries})
    if facts.taught:
        span.tell({"rightcall.taught": True})
    if facts.status:
        span.tell({"http.response.status_code": facts.status})
    if facts.fault:
        span.fail(facts.fault)
    elif facts.status >= 400:
        span.fail(str(facts.status))


# ── content ──


def tell_input(span: Span, body: bytes) -> None:
    """What the model is asked, where content is asked for."""
    if not span.wants_content:
        return
    try:
        asked = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return
    said = an_object(asked) or {}
    given = said.get("messages", said.get("input"))
    messages: list[Any] = [given] if isinstance(given, str) else _listed(given)
    span.tell_content("gen_ai.input.messages", [_message(one) for one in messages[-_MOST_MESSAGES:]])
    told = said.get("instructions", said.get("system"))  # what stands among the messages is told there
    if told:
        span.tell_content("gen_ai.system_instructions", list(_parts(told)))
    if tools := _listed(said.get("tools")):
        span.tell_content("gen_ai.tool.definitions", tools)


def tell_output(span: Span, event: Event, reason: str | None) -> None:
    """What the client gets of the model's answer, where content is asked for."""
    if not span.wants_content:
        return
    text, calls = collect_answer(event)
    parts: list[Any] = [{"type": "text", "content": text}] if text else []
    parts += [{"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments} for call in calls]
    answer = {"role": "assistant", "parts": parts, "finish_reason": reason or ""}
    span.tell_content("gen_ai.output.messages", [answer])


def _message(message: Any) -> dict[str, Any]:
    """A message of any API in the form of the conventions."""
    said = an_object(message) or {"content": message}
    role = said.get("role") or said.get("type") or "user"
    if role == "tool":
        answer = {"type": "tool_call_response", "id": said.get("tool_call_id"), "response": said.get("content")}
        return {"role": role, "parts": [answer]}
    return {"role": role, "parts": [*_parts(said.get("content")), *_calls(said.get("tool_calls"))]}


def _parts(content: Any) -> Iterator[dict[str, Any]]:
    for block in [content] if isinstance(content, str) else _listed(content):
        said = an_object(block) or {"text": str(block)}
        if isinstance(said.get("text"), str):
            yield {"type": "text", "content": said["text"]}
        else:  # a call, a result, or what nobody here knows: as it is, apart from pictures and sounds
            yield {key: one for key, one in said.items() if key not in ("source", "image_url", "input_audio", "file")}


def _calls(calls: Any) -> Iterator[dict[str, Any]]:
    for call in _listed(calls):
        said = an_object(call) or {}
        about = an_object(said.get("function")) or {}
        yield {
            "type": "tool_call", "id": said.get("id"), "name": about.get("name"), "arguments": about.get("arguments"),
        }  # fmt: skip


def _listed(given: Any) -> list[Any]:
    return cast("list[Any]", given) if isinstance(given, list) else []
