"""Ollama's own chat, `/api/chat`. Its calls come whole, with an object for arguments and, from older servers, no id."""

from __future__ import annotations

from typing import Any

from rightcall.proxy.events import Delta, Ending, Event, Kind
from rightcall.proxy.wire import Asked, FaultKind, Redo, Usage, WireName
from rightcall.proxy.wires.common import Object, a_list, a_number, an_object, encode, raw_list, requested
from rightcall.proxy.wires.ollama_stream import OllamaStream, call_deltas, rewritten_message, with_ending, with_usage
from rightcall.proxy.wires.ollama_teaching import again, taught


class Ollama:
    """`/api/chat`."""

    name: WireName = "ollama"

    def is_for(self, method: str, path: str) -> bool:
        return method == "POST" and path.endswith("/api/chat")

    def asked(self, body: bytes) -> Asked | None:
        request = requested(body)
        if request is None:
            return None
        # It streams unless told not to, and knows no way to say that a tool must be called.
        return Asked(str(request.model), request.stream is not False, raw_list(request.tools))

    def new_id(self) -> str:
        return ""

    def stream(self) -> OllamaStream:
        return OllamaStream()

    # ── whole answers ────────────────────────────────────────────────────────────────────────────────────────────

    def whole(self, answer: Any) -> Event | None:
        given = an_object(answer)
        message = an_object(given.get("message")) if given is not None else None
        if given is None or message is None:
            return None
        deltas: list[Delta] = []
        content = message.get("content")
        if isinstance(content, str):
            deltas.append(Delta(Kind.TEXT, text=content))
        for at, call in enumerate(a_list(message.get("tool_calls"))):
            deltas += call_deltas(at, call)
        deltas.append(Delta(Kind.FINISH, text=str(given.get("done_reason") or "")))
        return Event(b"", deltas, answer)

    def written(self, event: Event) -> Any:
        answer: Object = dict(event.data)
        if event.same:
            return answer
        message = rewritten_message(an_object(answer.get("message")) or {}, event.deltas)
        ending = event.deltas[-1].new
        if isinstance(ending, Ending):
            message = with_ending(message, ending)
            if ending.reason and "done_reason" in answer:
                answer["done_reason"] = ending.reason
        return {**answer, "message": message}

    def usage(self, answer: Any) -> Usage:
        given = an_object(answer) or {}
        return Usage(a_number(given.get("prompt_eval_count")), a_number(given.get("eval_count")))

    def with_usage(self, answer: Any, extra: Usage) -> Any:
        return with_usage(answer, extra)

    # ── asking otherwise ─────────────────────────────────────────────────────────────────────────────────────────

    def again(self, request: Object, redo: Redo) -> Object:
        return again(request, redo)

    def taught(self, request: Object, prompt: str) -> Object:
        return taught(request, prompt)

    # ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────

    def error(self, status: int, kind: FaultKind, message: str) -> bytes:  # noqa: ARG002 - other APIs name them
        return encode({"error": message})

    def stream_error(self, kind: FaultKind, message: str) -> bytes:
        return self.error(502, kind, message) + b"\n"
