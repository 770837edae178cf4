"""Refusals of our own, in a shape that OpenAI's, Anthropic's and Ollama's clients all show sensibly."""

from http import HTTPStatus
from typing import Literal

from msgspec import json
from starlette.types import Send

from rightcall.serve.browsers import NEVER_A_PAGE

Reason = Literal[
    "wrong_token",
    "wrong_caller",
    "tokens_unavailable",
    "navigation",
    "operator_only",
    "foreign_host",
    "foreign_origin",
    "not_local",
    "not_found",
    "bad_request",
    "slow_head",
    "slow_body",
    "slow_reader",
    "large_head",
    "large_body",
    "too_many_connections",
]

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    503: "overloaded_error",
}


def error_body(status: int, code: str, message: str) -> bytes:
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")
    return json.encode({"type": "error", "error": {"message": message, "type": kind, "code": code}})


def raw_error(status: int, code: Reason, message: str) -> bytes:
    """A whole answer as bytes, for a connection that ends with it."""
    body = error_body(status, code, message)
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n".encode()
    head += b"".join(b"%b: %b\r\n" % header for header in NEVER_A_PAGE)
    return head + b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body) + body


async def send_error(send: Send, status: int, code: Reason, message: str) -> None:
    body = error_body(status, code, message)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
