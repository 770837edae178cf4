"""Anthropic messages, as the service sends them."""

from collections.abc import Iterator
from typing import Any

from msgspec import json

from support.scripted.parts import Answer, Failure, NativeCall, Part, Reasoning, Text, cut, dumped, event

PATH = "/v1/messages"
STREAM = "text/event-stream; charset=utf-8"
HEADERS = {"request-id": "req_011CV0001", "anthropic-organization-id": "org-0001"}


def whole(answer: Answer, request: dict[str, Any]) -> bytes:
    blocks = [block(answer, part) for part in answer.parts]
    message = _message(answer, request, answer.usage.completion)
    return json.encode(message | {"content": blocks, "stop_reason": stop(answer), **answer.extra})


def stop(answer: Answer) -> str:
    return answer.finish or ("tool_use" if answer.calls else "end_turn")


def _message(answer: Answer, request: dict[str, Any], produced: int) -> dict[str, Any]:
    return {
        "model": request.get("model"),
        "id": f"msg_{answer.id}",
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": answer.usage.prompt,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": produced,
            "service_tier": "standard",
        },
    }


def block(answer: Answer, part: Part) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"type": "text", "text": text, **answer.extra}
        case Reasoning(text):
            return {"type": "thinking", "thinking": text, "signature": part.signature}
        case NativeCall():
            return {
                "type": "tool_use",
                "id": answer.numbered("toolu", part),
                "name": part.name,
                "input": part.value,
                **answer.extra,
            }


def events(answer: Answer, request: dict[str, Any]) -> list[bytes]:
    happened: list[dict[str, Any]] = [{"type": "message_start", "message": _message(answer, request, 1)}]
    for index, part in enumerate(answer.parts):
        happened.extend(_block_events(answer, index, part))
    happened += [
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop(answer), "stop_sequence": None},
            "usage": {
                "input_tokens": answer.usage.prompt,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": answer.usage.completion,
            },
        },
        {"type": "message_stop"},
    ]
    # The service pings once, after the first block was opened.
    happened.insert(2 if answer.parts else 1, {"type": "ping"})
    return [event(one["type"], _padded(one | answer.extra, number)) for number, one in enumerate(happened)]


def _padded(fields: dict[str, Any], number: int) -> str:
    """The service puts blanks before the last bracket, so that lengths tell nothing."""
    return dumped(fields)[:-1] + " " * (number * 7 % 13) + "}"


def _block_events(answer: Answer, index: int, part: Part) -> Iterator[dict[str, Any]]:
    full = block(answer, part)
    match part:
        case Text():
            begun = full | {"text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in cut(part.text, part.pieces)]
        case Reasoning():
            begun = full | {"thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in cut(part.text, part.pieces)]
            deltas.append({"type": "signature_delta", "signature": part.signature})
        case NativeCall():
            begun = full | {"input": {}}
            pieces = ["", *cut(part.text, part.pieces)]
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    yield {"type": "content_block_start", "index": index, "content_block": begun}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def error(failure: Failure) -> bytes:
    said = {"type": failure.kind, "message": failure.message}
    return json.encode({"type": "error", "error": said, "request_id": HEADERS["request-id"]})


def error_event(message: str) -> bytes:
    return event("error", {"type": "error", "error": {"type": "overloaded_error", "message": message}})


def counted() -> bytes:
    return json.encode({"input_tokens": 21})
