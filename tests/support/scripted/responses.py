"""The OpenAI Responses API, as the service sends it."""

from collections.abc import Iterator
from typing import Any

from support.scripted.parts import CREATED, Answer, NativeCall, Part, Reasoning, Text, cut, event, printed

PATH = "/v1/responses"
STREAM = "text/event-stream; charset=utf-8"
HEADERS = {"x-request-id": "req_0001", "openai-processing-ms": "42", "openai-version": "2020-10-01"}


def whole(answer: Answer, request: dict[str, Any]) -> bytes:
    return printed(_response(answer, request, _ending(answer)))


def _ending(answer: Answer) -> str:
    return answer.finish or "completed"


def _response(answer: Answer, request: dict[str, Any], status: str) -> dict[str, Any]:
    running = status == "in_progress"
    items = [] if running else [item(answer, place, part, status) for place, part in enumerate(answer.parts)]
    return {
        "id": f"resp_{answer.id}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": request.get("instructions"),
        "max_output_tokens": None,
        "model": request.get("model"),
        "output": items,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [{"strict": True, "description": None, **tool} for tool in request.get("tools") or []],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None if running else usage(answer),
        "user": None,
        "metadata": {},
        **answer.extra,
    }


def usage(answer: Answer) -> dict[str, Any]:
    prompt, completion = answer.usage.prompt, answer.usage.completion
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": prompt + completion,
    }


def item(answer: Answer, place: int, part: Part, status: str = "completed") -> dict[str, Any]:
    """One item of the output; while it is in progress it is empty."""
    empty = status == "in_progress"
    match part:
        case Text(text):
            content = [] if empty else [_text(text)]
            return {
                "id": f"msg_{answer.id}_{place}",
                "type": "message",
                "status": status,
                "content": content,
                "role": "assistant",
                **answer.extra,
            }
        case Reasoning(text):
            summary = [] if empty else [{"type": "summary_text", "text": text}]
            return {"id": f"rs_{answer.id}_{place}", "type": "reasoning", "summary": summary}
        case NativeCall():
            return {
                "id": f"fc_{answer.id}_{place}",
                "type": "function_call",
                "status": status,
                "arguments": "" if empty else part.text,
                "call_id": answer.numbered("call", part),
                "name": part.name,
                **answer.extra,
            }


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def events(answer: Answer, request: dict[str, Any]) -> list[bytes]:
    status = _ending(answer)
    begun = _response(answer, request, "in_progress")
    ended = _response(answer, request, status)
    happened = [{"type": f"response.{word}", "response": begun} for word in ("created", "in_progress")]
    for place, part in enumerate(answer.parts):
        happened.extend(_item_events(answer, place, part))
    happened.append({"type": f"response.{status}", "response": ended})
    return [
        event(one["type"], {"type": one["type"], "sequence_number": number, **one, **answer.extra})
        for number, one in enumerate(happened)
    ]


def _item_events(answer: Answer, place: int, part: Part) -> Iterator[dict[str, Any]]:
    begun, ended = item(answer, place, part, "in_progress"), item(answer, place, part)
    yield {"type": "response.output_item.added", "output_index": place, "item": begun}
    at = {"item_id": begun["id"], "output_index": place}
    match part:
        case Text():
            yield from _text_events(part, at)
        case Reasoning():
            yield from _reasoning_events(part, at)
        case NativeCall():
            for piece in cut(part.text, part.pieces):
                yield {"type": "response.function_call_arguments.delta", **at, "delta": piece, "obfuscation": "aX9"}
            yield {"type": "response.function_call_arguments.done", **at, "arguments": part.text}
    yield {"type": "response.output_item.done", "output_index": place, "item": ended}


def _text_events(part: Text, item_at: dict[str, Any]) -> Iterator[dict[str, Any]]:
    at = item_at | {"content_index": 0}
    yield {"type": "response.content_part.added", **at, "part": _text("")}
    for piece in cut(part.text, part.pieces):
        yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": [], "obfuscation": "aX9"}
    yield {"type": "response.output_text.done", **at, "text": part.text, "logprobs": []}
    yield {"type": "response.content_part.done", **at, "part": _text(part.text)}


def _reasoning_events(part: Reasoning, item_at: dict[str, Any]) -> Iterator[dict[str, Any]]:
    at = item_at | {"summary_index": 0}
    about = "response.reasoning_summary"
    yield {"type": f"{about}_part.added", **at, "part": {"type": "summary_text", "text": ""}}
    for piece in cut(part.text, part.pieces):
        yield {"type": f"{about}_text.delta", **at, "delta": piece, "obfuscation": "aX9"}
    yield {"type": f"{about}_text.done", **at, "text": part.text}
    yield {"type": f"{about}_part.done", **at, "part": {"type": "summary_text", "text": part.text}}


def error_event(message: str) -> bytes:
    return event(
        "error", {"type": "error", "sequence_number": 99, "code": "server_error", "message": message, "param": None}
    )
