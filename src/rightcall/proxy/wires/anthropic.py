"""Anthropic's messages, as Anthropic, Ollama, llama.cpp, LM Studio, vLLM and LiteLLM serve them."""

from __future__ import annotations

from typing import Any

from rightcall.proxy.events import DROP, SAME, Delta, Ending, Event, Kind
from rightcall.proxy.wire import Asked, Choice, FaultKind, Redo, Usage, WireName
from rightcall.proxy.wires.anthropic_blocks import input_read, new_id, stop_reason, tool_use, usage_of, usage_with
from rightcall.proxy.wires.anthropic_stream import AnthropicStream
from rightcall.proxy.wires.anthropic_teaching import again, taught
from rightcall.proxy.wires.common import Object, a_list, an_object, encode, raw_list, requested
from rightcall.text.framing import sse
from rightcall.types import Call

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Anthropic:
    """`/v1/messages`. Counting tokens and batches, whose paths begin alike, are not for us."""

    name: WireName = "anthropic"

    def is_for(self, method: str, path: str) -> bool:
        return method == "POST" and path.endswith("/v1/messages")

    def asked(self, body: bytes) -> Asked | None:
        request = requested(body)
        if request is None:
            return None
        choice = _choice(request.tool_choice)
        return Asked(str(request.model), request.stream is True, raw_list(request.tools), choice)

    def new_id(self) -> str:
        return new_id()

    def stream(self) -> AnthropicStream:
        return AnthropicStream()

    # ── whole answers ────────────────────────────────────────────────────────────────────────────────────────────

    def whole(self, answer: Any) -> Event | None:
        given = an_object(answer) or {}
        if not isinstance(given.get("content"), list):
            return None
        deltas: list[Delta] = []
        for at, block in enumerate(a_list(given["content"])):
            deltas += _block_read(at, an_object(block) or {})
        deltas.append(Delta(Kind.FINISH, text=str(given.get("stop_reason"))))
        return Event(b"", deltas, answer)

    def written(self, event: Event) -> Any:
        answer: Object = dict(event.data)
        blocks: list[Any] = list(a_list(answer["content"]))
        left_out: set[int] = set()
        for delta in event.deltas:
            if delta.new is SAME:
                continue
            if isinstance(delta.new, Ending):
                blocks += [{"type": "text", "text": delta.new.text}] if delta.new.text else []
                blocks += [tool_use(call) for call in delta.new.calls]
                answer["stop_reason"] = stop_reason(answer.get("stop_reason"), delta.new)
            elif delta.new is DROP or _is_blank(delta):
                left_out.add(delta.lane)
            else:
                blocks[delta.lane] = _rewritten(blocks[delta.lane], delta)
        answer["content"] = [block for at, block in enumerate(blocks) if at not in left_out]
        return answer

    def usage(self, answer: Any) -> Usage:
        return usage_of((an_object(answer) or {}).get("usage"))

    def with_usage(self, answer: Any, extra: Usage) -> Any:
        usage = an_object((an_object(answer) or {}).get("usage"))
        return answer if usage is None else {**answer, "usage": usage_with(usage, extra)}

    # ── asking otherwise ─────────────────────────────────────────────────────────────────────────────────────────

    def again(self, request: Object, redo: Redo) -> Object:
        return again(request, redo)

    def taught(self, request: Object, prompt: str) -> Object:
        return taught(request, prompt)

    # ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────

    def error(self, status: int, kind: FaultKind, message: str) -> bytes:
        by_status = _ERRORS.get(status, "invalid_request_error" if 400 <= status < 500 else "api_error")
        named = "timeout_error" if kind == "timeout" else by_status
        return encode({"type": "error", "error": {"type": named, "message": message}})

    def stream_error(self, kind: FaultKind, message: str) -> bytes:
        return sse(self.error(502, kind, message), "error")


def _choice(given: Any) -> Choice:
    kind = (an_object(given) or {}).get("type")
    if kind == "none":
        return "none"
    return "required" if kind in ("any", "tool") else "auto"


def _block_read(at: int, block: Object) -> list[Delta]:
    """What a block says. Those of other types are the provider's own affair."""
    kind, text = block.get("type"), block.get("text")
    if kind == "text" and isinstance(text, str):
        return [Delta(Kind.TEXT, lane=at, text=text), Delta(Kind.SHUT, lane=at)]
    if kind != "tool_use":
        return []
    arguments = input_read(block.get("input"))
    begin = Delta(Kind.CALL, lane=at, key=at, name=block.get("name"), id=block.get("id"), arguments=arguments)
    return [begin, Delta(Kind.DONE, lane=at, key=at)]


def _is_blank(delta: Delta) -> bool:
    """Whether nothing is left of a text: APIs refuse such blocks when the client sends them back."""
    return delta.kind is Kind.TEXT and not delta.new.strip()


def _rewritten(block: Object, delta: Delta) -> Object:
    if isinstance(delta.new, Call):
        return {**block, "id": delta.new.id, "name": delta.new.name, "input": delta.new.arguments}
    return {**block, "text": delta.new}
