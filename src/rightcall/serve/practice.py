"""The practice model: what answers behind `rightcall serve` while it has no upstream. It is no model. It calls the
tools it is given, breaks every call on purpose, and says so, so that one can see what RightCall does about it."""

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

from msgspec import json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from rightcall.parse.kinds import is_object
from rightcall.serve.practice_model import MODEL, Part, Said, answer
from rightcall.serve.practice_openai import Chat, Responses
from rightcall.serve.practice_others import Messages, OllamaChat
from rightcall.serve.practice_wires import PracticeWire, question_of
from rightcall.text.tokens import estimate

MOST = 8 * 1024 * 1024
"""Bytes of a question. Nobody practises with more."""

_WIRES: dict[str, PracticeWire] = {
    "/v1/chat/completions": Chat(),
    "/v1/responses": Responses(),
    "/v1/messages": Messages(),
    "/api/chat": OllamaChat(),
}


def practice_app() -> ASGIApp:
    """A new practice model, for all four wires. The way it breaks its calls changes with every call it makes."""
    answers, calls = count(), count()
    chats = [Route(path, _chat(wire, answers, calls), methods=["POST"]) for path, wire in _WIRES.items()]
    lists = [Route("/v1/models", _models), Route("/api/tags", _tags)]
    return Starlette(routes=[*chats, Route("/v1/messages/count_tokens", _count, methods=["POST"]), *lists])


def _chat(wire: PracticeWire, answers: "count[int]", calls: "count[int]") -> Callable[[Request], Awaitable[Response]]:
    async def chat(request: Request) -> Response:
        raw = await _body(request)
        if raw is None:
            return _json(wire.error(f"the request is larger than {MOST} bytes"), 413)
        body = _decoded(raw)
        if body is None:
            return _json(wire.error("the request must be a JSON object"), 400)
        question = question_of(body)
        number = next(answers)
        parts = answer(question, next(calls) if question.tools and question.result is None else 0)
        tokens = (max(1, len(raw) // 4), estimate(_written(parts)))
        if body.get("stream", wire.streams_unasked) is True:
            return StreamingResponse(wire.events(parts, number, tokens), media_type=wire.stream_type)
        return _json(wire.whole(parts, number, tokens))

    return chat


async def _body(request: Request) -> bytes | None:
    """None where it is too large."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST:
            return None
    return body


def _decoded(raw: bytes) -> dict[str, Any] | None:
    try:
        body = json.decode(raw)
    except (ValueError, RecursionError):
        return None
    return body if is_object(body) else None


def _written(parts: list[Part]) -> str:
    return "".join(part.text if isinstance(part, Said) else part.name + part.arguments for part in parts)


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.encode(value), status, media_type="application/json")


async def _count(request: Request) -> Response:
    raw = await _body(request)
    if raw is None:
        return _json(Messages().error(f"the request is larger than {MOST} bytes"), 413)
    return _json({"input_tokens": max(1, len(raw) // 4)})


async def _models(_: Request) -> Response:
    one = {"id": MODEL, "object": "model", "type": "model", "created": 1_763_200_000, "owned_by": "rightcall"}
    one |= {"display_name": "RightCall's practice model", "created_at": "2025-11-15T10:00:00Z"}
    return _json({"object": "list", "data": [one], "has_more": False, "first_id": MODEL, "last_id": MODEL})


async def _tags(_: Request) -> Response:
    details = {"format": "none", "family": "practice", "parameter_size": "0", "quantization_level": "none"}
    one = {"name": MODEL, "model": MODEL, "modified_at": "2025-11-15T10:00:00Z", "size": 0, "digest": "0" * 64}
    return _json({"models": [one | {"details": details}]})
