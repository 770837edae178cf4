"""OpenAI's Responses, as OpenAI, Ollama, llama.cpp, LM Studio, vLLM and others serve them.

A server that keeps answers itself (`previous_response_id`, `conversation`) has kept this one as its model wrote it. A
call that only the proxy made native is unknown to it: a client that then sends no more than the call's result is told
so by the server. Clients that send the whole conversation each time, as with `store: false`, have no such trouble.
"""

from __future__ import annotations

from typing import Any

from rightcall.proxy.events import Delta, Ending, Event, Kind
from rightcall.proxy.wire import Asked, Choice, FaultKind, Redo, Usage, WireName
from rightcall.proxy.wires.common import Object, a_list, an_object, encode, random_id, raw_list, requested
from rightcall.proxy.wires.openai_responses_items import Item, Output, ended, new_items, output_written
from rightcall.proxy.wires.openai_responses_reading import finish_reason, usage_of
from rightcall.proxy.wires.openai_responses_stream import OpenAIResponsesStream, with_usage
from rightcall.proxy.wires.openai_responses_teaching import again, taught


class OpenAIResponses:
    """`/v1/responses`."""

    name: WireName = "openai_responses"

    def is_for(self, method: str, path: str) -> bool:
        return method == "POST" and path.endswith("/responses")

    def asked(self, body: bytes) -> Asked | None:
        request = requested(body)
        if request is None:
            return None
        choice = _choice(request.tool_choice)
        return Asked(str(request.model), request.stream is True, raw_list(request.tools), choice)

    def new_id(self) -> str:
        return random_id("call_")

    def stream(self) -> OpenAIResponsesStream:
        return OpenAIResponsesStream()

    # ── whole answers ────────────────────────────────────────────────────────────────────────────────────────────

    def whole(self, answer: Any) -> Event | None:
        response = an_object(answer)
        if response is None or not isinstance(response.get("output"), list):
            return None
        return Event(b"", _read(response)[2], answer)

    def written(self, event: Event) -> Any:
        response: Object = event.data
        if event.same:
            return dict(response)
        output, items, _ = _read(response)
        more: list[Object] = []
        for delta in event.deltas:
            output.decided(delta)
            if isinstance(delta.new, Ending):
                more = new_items(delta.new.text, delta.new.calls)
                if delta.new.reason:
                    response = ended(response, delta.new.reason)
        return output_written(response, items, more)

    def usage(self, answer: Any) -> Usage:
        return usage_of(an_object(answer) or {})

    def with_usage(self, answer: Any, extra: Usage) -> Any:
        return with_usage(answer, extra)

    # ── asking otherwise ─────────────────────────────────────────────────────────────────────────────────────────

    def again(self, request: Object, redo: Redo) -> Object:
        return again(request, redo)

    def taught(self, request: Object, prompt: str) -> Object:
        return taught(request, prompt)

    # ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────

    def error(self, status: int, kind: FaultKind, message: str) -> bytes:  # noqa: ARG002 - other APIs name the status
        return encode({"error": _error(kind, message)})

    def stream_error(self, kind: FaultKind, message: str) -> bytes:
        """Both shapes that clients know: the documented one is flat, and the service itself sends an object."""
        error = _error(kind, message)
        flat = {"type": "error", "code": kind, "message": message, "param": None, "sequence_number": 0, "error": error}
        return b"event: error\ndata: %s\n\n" % encode(flat)


def _error(kind: FaultKind, message: str) -> Object:
    return {"message": message, "type": "rightcall_error", "param": None, "code": kind}


def _read(response: Object) -> tuple[Output, list[Item | None], list[Delta]]:
    """The output of a whole answer. Reading it twice gives the same numbers, so decisions can be put back."""
    output = Output()
    given = a_list(response.get("output"))
    items = output.matched(given)
    deltas: list[Delta] = []
    for told, item in zip(given, items, strict=True):
        if item is not None:
            deltas += output.told(item, an_object(told) or {})
    deltas.append(Delta(Kind.FINISH, text=finish_reason(response)))
    return output, items, deltas


def _choice(given: Any) -> Choice:
    """A tool that the server runs itself may be asked for; that is nothing that we could miss."""
    if given == "none":
        return "none"
    if given == "required":
        return "required"
    choice = an_object(given) or {}
    required = choice.get("type") == "function" or choice.get("mode") == "required"
    return "required" if required else "auto"
