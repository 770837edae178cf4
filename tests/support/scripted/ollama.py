"""Ollama's own chat, as its server sends it."""

from typing import Any

from msgspec import json

from support.scripted.parts import Answer, Failure, NativeCall, Reasoning, Text, cut

PATH = "/api/chat"
STREAM = "application/x-ndjson"
HEADERS: dict[str, str] = {}
CREATED_AT = "2026-11-15T10:00:00.123456789Z"


def whole(answer: Answer, request: dict[str, Any]) -> bytes:
    text = "".join(part.text for part in answer.parts if isinstance(part, Text))
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if thought := "".join(part.text for part in answer.parts if isinstance(part, Reasoning)):
        message["thinking"] = thought
    if answer.calls:
        message["tool_calls"] = [_call(answer, place, call) for place, call in enumerate(answer.calls)]
    return json.encode(_line(answer, request, message | answer.extra, done=True))


def _call(answer: Answer, place: int, call: NativeCall) -> dict[str, Any]:
    function = {"index": place, "name": call.name, "arguments": call.value}
    return {"id": answer.numbered("call", call), "function": function, **answer.extra}


def _line(answer: Answer, request: dict[str, Any], message: dict[str, Any], *, done: bool) -> dict[str, Any]:
    line = {"model": request.get("model"), "created_at": CREATED_AT, "message": message, "done": done}
    if done:
        line |= {
            "done_reason": answer.finish or "stop",
            "total_duration": 4883583458,
            "load_duration": 1334875,
            "prompt_eval_count": answer.usage.prompt,
            "prompt_eval_duration": 342546000,
            "eval_count": answer.usage.completion,
            "eval_duration": 4535599000,
        }
    return line | answer.extra


def events(answer: Answer, request: dict[str, Any]) -> list[bytes]:
    messages: list[dict[str, Any]] = []
    calls = 0
    for part in answer.parts:
        match part:
            case Text():
                messages.extend({"content": piece} for piece in cut(part.text, part.pieces))
            case Reasoning():
                messages.extend({"content": "", "thinking": piece} for piece in cut(part.text, part.pieces))
            case NativeCall():
                messages.append({"content": "", "tool_calls": [_call(answer, calls, part)]})
                calls += 1
    lines = [_line(answer, request, {"role": "assistant", **message}, done=False) for message in messages]
    lines.append(_line(answer, request, {"role": "assistant", "content": ""}, done=True))
    return [json.encode(line) + b"\n" for line in lines]


def error(failure: Failure) -> bytes:
    return json.encode({"error": failure.message})


def error_event(message: str) -> bytes:
    return json.encode({"error": message}) + b"\n"


def tags() -> bytes:
    details = {
        "parent_model": "",
        "format": "gguf",
        "family": "llama",
        "families": ["llama"],
        "parameter_size": "3.2B",
        "quantization_level": "Q4_K_M",
    }
    one = {
        "name": "scripted:latest",
        "model": "scripted:latest",
        "modified_at": CREATED_AT,
        "size": 2019393189,
        "digest": "a80c4f17acd55265feec403c7aef86be0c25983ab279d83f3bcd3abbcb5b8b72",
        "details": details,
    }
    return json.encode({"models": [one]})
