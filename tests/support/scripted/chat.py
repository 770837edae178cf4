"""OpenAI chat completions, as the service sends them."""

from typing import Any

from msgspec import json

from support.scripted.parts import CREATED, Answer, Failure, NativeCall, Part, Reasoning, Text, cut, event, printed

PATH = "/v1/chat/completions"
STREAM = "text/event-stream; charset=utf-8"
HEADERS = {"x-request-id": "req_0001", "openai-processing-ms": "42", "openai-version": "2020-10-01"}


def whole(answer: Answer, request: dict[str, Any]) -> bytes:
    choices = [_choice(answer, place, parts) for place, parts in enumerate([answer.parts, *answer.others])]
    return printed(
        {
            "id": f"chatcmpl-{answer.id}",
            "object": "chat.completion",
            "created": CREATED,
            "model": request.get("model"),
            "choices": choices,
            "usage": usage(answer),
            "service_tier": "default",
            "system_fingerprint": "fp_44709d6fcb",
            **answer.extra,
        }
    )


def _choice(answer: Answer, place: int, parts: list[Part]) -> dict[str, Any]:
    text = "".join(part.text for part in parts if isinstance(part, Text))
    calls = [part for part in parts if isinstance(part, NativeCall)]
    thought = "".join(part.text for part in parts if isinstance(part, Reasoning))
    message: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else "")}
    if thought:
        message["reasoning_content"] = thought
    if calls:
        message["tool_calls"] = [
            {
                "id": answer.numbered("call", call),
                "type": "function",
                "function": {"name": call.name, "arguments": call.text},
            }
            for call in calls
        ]
    message |= {"refusal": None, "annotations": [], **answer.extra}
    return {"index": place, "message": message, "logprobs": None, "finish_reason": finish(answer, parts)}


def finish(answer: Answer, parts: list[Part]) -> str:
    return answer.finish or ("tool_calls" if any(isinstance(part, NativeCall) for part in parts) else "stop")


def usage(answer: Answer) -> dict[str, Any]:
    prompt, completion = answer.usage.prompt, answer.usage.completion
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def events(answer: Answer, request: dict[str, Any]) -> list[bytes]:
    counted = bool((request.get("stream_options") or {}).get("include_usage"))

    def chunk(choices: list[Any], used: Any = None) -> bytes:
        fields: dict[str, Any] = {
            "id": f"chatcmpl-{answer.id}",
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": request.get("model"),
            "service_tier": "default",
            "system_fingerprint": "fp_44709d6fcb",
            "choices": choices,
        }
        return event(None, fields | ({"usage": used} if counted else {}) | {"obfuscation": "aX9", **answer.extra})

    def delta(place: int, change: dict[str, Any], reason: str | None = None) -> bytes:
        return chunk([{"index": place, "delta": change, "logprobs": None, "finish_reason": reason}])

    sent: list[bytes] = []
    for place, parts in enumerate([answer.parts, *answer.others]):
        sent.extend(delta(place, change) for change in _deltas(answer, parts))
        sent.append(delta(place, {}, finish(answer, parts)))
    if counted:
        sent.append(chunk([], usage(answer)))
    return [*sent, event(None, "[DONE]")]


def _deltas(answer: Answer, parts: list[Part]) -> list[dict[str, Any]]:
    """The first one has the role; a call's first one has its name and id."""
    deltas: list[dict[str, Any]] = []
    calls = 0
    for part in parts:
        match part:
            case Text():
                deltas.extend({"content": piece} for piece in cut(part.text, part.pieces))
            case Reasoning():
                deltas.extend({"reasoning_content": piece} for piece in cut(part.text, part.pieces))
            case NativeCall():
                function = {"name": part.name, "arguments": ""}
                opened = {"index": calls, "id": answer.numbered("call", part), "type": "function", "function": function}
                deltas.append({"tool_calls": [opened]})
                deltas.extend(
                    {"tool_calls": [{"index": calls, "function": {"arguments": piece}}]}
                    for piece in cut(part.text, part.pieces)
                )
                calls += 1
    if deltas and "tool_calls" in deltas[0]:
        return [{"role": "assistant", "content": None, **deltas[0], "refusal": None}, *deltas[1:]]
    return [{"role": "assistant", "content": "", "refusal": None}, *deltas]


def error(failure: Failure) -> bytes:
    return printed({"error": {"message": failure.message, "type": failure.kind, "param": None, "code": None}})


def error_event(message: str) -> bytes:
    """Not in OpenAI's papers, but what its service, vLLM and llama.cpp send."""
    return event(None, {"error": {"message": message, "type": "server_error", "param": None, "code": None}})


def models() -> bytes:
    one = {"id": "scripted", "object": "model", "created": CREATED, "owned_by": "tests"}
    return json.encode({"object": "list", "data": [one]})
