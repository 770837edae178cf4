"""Tokens for us in what a client sends: they end here (I-07). Nobody behind sees one, be it an upstream, an MCP server
or a model, wherever the client has put it.

    a header     is taken out of the request
    an address   is refused
    a body       is refused: a tool's arguments, an answer to a server's question, a message to a model

Tokens for us are the server's own, those of the store (`rct_…`), and those of identity providers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from rightcall.identity.speakers import Speakers, readings, unescaped

if TYPE_CHECKING:
    from starlette.types import Message, Receive

PREFIX: Final = "rct_"
"""How every token of a caller begins, so that secret scanners and our own redaction know one."""
_SHORTEST: Final = 16
"""Of anything that can be a token."""
_OF_CALLERS: Final = re.compile(rb"rct_[A-Za-z0-9_-]{43}")
_WITH_BODY: Final = (b"content-length", b"transfer-encoding")

Header = tuple[bytes, bytes]


class Held:
    """`own` is the server's token, where it has one; `speakers` knows those of identity providers."""

    def __init__(self, own: str | None, speakers: Speakers) -> None:
        self._own = None if own is None else own.encode()
        self._speakers = speakers

    def is_in(self, text: bytes) -> bool:
        """Whether a header or an address holds one, right or wrong, in any usual spelling."""
        if len(text) < _SHORTEST:
            return False
        return any(self._is_ours(one) for one in readings(text)) or self._speakers.is_held_in(text)

    def without(self, headers: Iterable[Header]) -> list[Header]:
        return [one for one in headers if not self.is_in(one[1])]

    def is_in_body(self, body: bytes) -> bool:
        """Whether a body holds one that is meant for us."""
        return len(body) >= _SHORTEST and (self._is_ours(unescaped(body)) or self._speakers.is_meant_in(body))

    def _is_ours(self, text: bytes) -> bool:
        own = self._own
        return (own is not None and own in text) or (b"rct_" in text and _OF_CALLERS.search(text) is not None)

    async def searched(self, receive: Receive, headers: Iterable[Header]) -> Receive | None:
        """The same request with its body read whole; None where that holds a token."""
        if not any(name in _WITH_BODY and value != b"0" for name, value in headers):
            return receive
        pieces: list[bytes] = []
        message: Message = {"more_body": True}
        while message.get("more_body") and (message := await receive())["type"] == "http.request":
            pieces.append(message.get("body", b""))
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if self.is_in_body(body):
            return None
        left = message if message["type"] == "http.disconnect" else {"type": "http.request", "body": body}
        waiting: list[Message] = [left]

        async def again() -> Message:
            return waiting.pop() if waiting else await receive()

        return again
