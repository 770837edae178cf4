"""Messages that we write ourselves. What a server said is put into them as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Raw, Struct, json

CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"

METHOD_NOT_FOUND: Final = -32601
INTERNAL: Final = -32603


class Answer(Struct, frozen=True):
    """To a request: one of the two."""

    result: Raw | None = None
    error: Raw | None = None


class Refused(Exception):
    """A request that is answered with an error of the protocol."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.answer = failure(code, message, data)
        self.code = code


def failure(code: int, message: str, data: Any = None) -> Answer:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return Answer(error=Raw(json.encode(error)))


def success(result: Mapping[str, Any]) -> Answer:
    return Answer(Raw(json.encode(result)))


def a_response(id: bytes | Raw, answer: Answer) -> bytes:
    """
    >>> a_response(b'"7"', success({"ok": True}))
    b'{"jsonrpc":"2.0","id":"7","result":{"ok":true}}'
    """
    if answer.error is not None:
        return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (bytes(id), bytes(answer.error))
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (bytes(id), bytes(answer.result or b"{}"))


def one_line(message: bytes) -> bytes:
    """The same message without a line end in it, which a server may have written between its fields."""
    return json.format(message, indent=-1) if b"\n" in message or b"\r" in message else message
