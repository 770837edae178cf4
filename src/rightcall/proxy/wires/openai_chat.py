"""OpenAI's chat completions, as OpenAI, Ollama, llama.cpp, LM Studio, vLLM and most others serve them."""

from __future__ import annotations

from typing import Any

from rightcall.proxy.events import DROP, SAME, Delta, Ending, Event, Kind
from rightcall.proxy.wire import Asked, Choice, FaultKind, Redo, Usage, WireName
from rightcall.proxy.wires.common import (
    Object,
    a_list,
    a_number,
    an_object,
    arguments_text,
    encode,
    objects,
    random_id,
    raw_list,
    requested,
)
from rightcall.proxy.wires.openai_chat_stream import OpenAIChatStream, finish_reason, tool_call, usage_of, with_usage
from rightcall.proxy.wires.openai_chat_teaching import again, taught
from rightcall.types import Call

LEGACY = "function_call"
"""The key of the one call of OpenAI's older dialect."""


class OpenAIChat:
    """`/v1/chat/completions`."""

    name: WireName = "openai_chat"

    def is_for(self, method: str, path: str) -> bool:
        return method == "POST" and path.endswith("/chat/completions")

    def asked(self, body: bytes) -> Asked | None:
        request = requested(body)
        if request is None:
            return None
        choice, answers = _choice(request.tool_choice), a_number(request.n) or 1
        return Asked(str(request.model), request.stream is True, raw_list(request.tools), choice, answers)

    def new_id(self) -> str:
        return random_id("call_")

    def stream(self) -> OpenAIChatStream:
        return OpenAIChatStream()

    # ── whole answers ────────────────────────────────────────────────────────────────────────────────────────────

    def whole(self, answer: Any) -> Event | None:
        choices = objects((an_object(answer) or {}).get("choices"))
        if not choices:
            return None
        deltas: list[Delta] = []
        for nth, choice in enumerate(choices):
            message = an_object(choice.get("message")) or {}
            content = message.get("content")
            if isinstance(content, str):
                deltas.append(Delta(Kind.TEXT, nth, text=content))
            for at, given in enumerate(a_list(message.get("tool_calls"))):
                deltas += _native(nth, at, an_object(given))
            deltas += _native(nth, LEGACY, an_object(message.get(LEGACY)))
            deltas.append(Delta(Kind.FINISH, nth, text=str(choice.get("finish_reason"))))
        return Event(b"", deltas, answer)

    def written(self, event: Event) -> Any:
        answer: Object = dict(event.data)
        answer["choices"] = [
            _choice_written(choice, [delta for delta in event.deltas if delta.answer == nth])
            for nth, choice in enumerate(objects(answer["choices"]))
        ]
        return answer

    def usage(self, answer: Any) -> Usage:
        return usage_of((an_object(answer) or {}).get("usage"))

    def with_usage(self, answer: Any, extra: Usage) -> Any:
        return with_usage(answer, extra)

    # ── asking otherwise ─────────────────────────────────────────────────────────────────────────────────────────

    def again(self, request: Object, redo: Redo) -> Object:
        return again(request, redo)

    def taught(self, request: Object, prompt: str) -> Object:
        return taught(request, prompt)

    # ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────

    def error(self, status: int, kind: FaultKind, message: str) -> bytes:  # noqa: ARG002 - other APIs name the status
        return encode({"error": {"message": message, "type": "rightcall_error", "param": None, "code": kind}})

    def stream_error(self, kind: FaultKind, message: str) -> bytes:
        return b"data: %s\n\n" % self.error(502, kind, message)


def _choice(given: Any) -> Choice:
    if given == "none":
        return "none"
    allowed = an_object((an_object(given) or {}).get("allowed_tools"))
    if allowed is not None:
        return "required" if allowed.get("mode") == "required" else "auto"
    return "auto" if given is None or given == "auto" else "required"


def _native(answer: int, key: Any, call: Object | None) -> list[Delta]:
    """A call of a message. One that is not for a function is the provider's own affair."""
    function = call if key == LEGACY else an_object(call.get("function")) if call is not None else None
    if call is None or function is None:
        return []
    arguments = function.get("arguments")
    given_id = call.get("id") if key != LEGACY else "-"
    begin = Delta(
        Kind.CALL, answer, key=key, name=function.get("name"), id=given_id,
        arguments="" if arguments is None else arguments,
    )  # fmt: skip
    return [begin, Delta(Kind.DONE, answer, key=key)]


def _choice_written(choice: Object, deltas: list[Delta]) -> Object:
    if all(delta.new is SAME for delta in deltas):
        return choice
    message = dict(an_object(choice.get("message")) or {})
    calls = list(a_list(message.get("tool_calls")))
    dropped: set[int] = set()
    finish = choice.get("finish_reason")
    for delta in deltas:
        if delta.kind is Kind.TEXT and delta.new is not SAME:
            message["content"] = delta.new or None
        elif delta.kind is Kind.CALL and delta.key == LEGACY:
            _legacy_written(message, delta)
        elif delta.kind is Kind.CALL and isinstance(delta.new, Call):
            calls[delta.key] = _rewritten(calls[delta.key], delta.new)
        elif delta.kind is Kind.CALL and delta.new is DROP:
            dropped.add(delta.key)
        elif isinstance(delta.new, Ending):
            message["content"] = f"{message.get('content') or ''}{delta.new.text}" or None
            calls += [tool_call(call) for call in delta.new.calls]
            finish = finish_reason(finish, delta.new)
    kept = [call for at, call in enumerate(calls) if at not in dropped]
    if kept or "tool_calls" in message:
        message["tool_calls"] = kept
    return {**choice, "message": message, "finish_reason": finish}


def _legacy_written(message: Object, delta: Delta) -> None:
    if delta.new is DROP:
        message.pop(LEGACY, None)
    elif isinstance(delta.new, Call):
        arguments = arguments_text(delta.new.arguments)
        message[LEGACY] = {**message[LEGACY], "name": delta.new.name, "arguments": arguments}


def _rewritten(given: Object, call: Call) -> Object:
    function = an_object(given.get("function")) or {}
    arguments: Any = call.arguments
    if not isinstance(function.get("arguments"), dict):  # a server that sends objects has clients that expect them
        arguments = arguments_text(arguments)
    return {**given, "id": call.id, "function": {**function, "name": call.name, "arguments": arguments}}
