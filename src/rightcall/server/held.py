"""Tokens for us in what a client sends: they end here (I-07). Nobody behind sees one, be it an upstream, an MCP server
or a model, wherever the client has put it.

    a header     is taken out of the request
    an address   is refused
    a body       is refused: a tool's arguments, an answer to a server's question, a message to a model

Tokens for us are the server's own, those of the store (`rct_…`), and those of identity providers.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from rightcall.identity.speakers import Speakers, readings, unescaped

if TYPE_CHECKING:
    from starlette.types import Message, Receive

PREFIX: Final = "rct_"
"""How every token of a caller begins, so that secret scanners and our own redaction know one."""
_SHORTEST: Final = 16
"""Of anything that can be a token."""
_OF_CALLERS: Final = re.compile(rb"rct_[A-Za-z0-9_-]{43}")
_WITH_BODY: Final[frozenset[bytes]] = frozenset((b"content-length", b"transfer-encoding"))

_VALUE: Final = itemgetter(1)

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

    def without(self, headers: list[Header]) -> list[Header]:
        if not self._may_be_in(b"\n".join(map(_VALUE, headers))):
            return headers
        return [one for one in headers if not self.is_in(one[1])]

    def _may_be_in(self, text: bytes) -> bool:
        """One look at all headers, which settles most requests. Of those without quoting and encoding (`readings`) only
        one reading is left."""
        if self._speakers.is_on or text.find(b"%") >= 0 or text.lower().find(b"basic") >= 0:
            return True
        return self._is_ours(text)

    def is_in_body(self, body: bytes) -> bool:
        """Whether a body holds one that is meant for us."""
        return len(body) >= _SHORTEST and (self._is_ours(unescaped(body)) or self._speakers.is_meant_in(body))

    def _is_ours(self, text: bytes) -> bool:
        own = self._own
        if own is not None and text.find(own) >= 0:  # `in` takes several times as long
            return True
        return text.find(b"rct_") >= 0 and _OF_CALLERS.search(text) is not None

    async def searched(self, receive: Receive, headers: list[Header]) -> Receive | None:
        """The same request with its body read whole; None where that holds a token."""
        if _WITH_BODY.isdisjoint(dict(headers)):
            return receive
        message = await receive()
        if message.get("more_body"):
            message = await _whole(message, receive)
        if message["type"] == "http.request" and self.is_in_body(message.get("body", b"")):
            return None
        waiting = [message]

        async def again() -> Message:
            return waiting.pop() if waiting else await receive()

        return again


async def _whole(message: Message, receive: Receive) -> Message:
    """A body as one message; or that its client has left before all of it had come."""
    pieces = [message.get("body", b"")]
    while message.get("more_body"):
        message = await receive()
        if message["type"] != "http.request":
            return message
        pieces.append(message.get("body", b""))
    return {"type": "http.request", "body": b"".join(pieces)}
