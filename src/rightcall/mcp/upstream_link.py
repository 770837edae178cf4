"""The way to one server: it carries whole messages, as bytes, and knows nothing of what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

FORGOTTEN: Final = "it has forgotten our session"
"""Why a server is lost that only wants to be greeted again."""


class ServerGone(Exception):
    """The server cannot be reached, did not start, or has ended. The message is for people and models."""


class SessionExpired(ServerGone):
    """The server has forgotten the session, and so has done nothing about this request: it can be made again."""


class Heard(Protocol):
    """Who hears what a server says."""

    def message(self, data: bytes, related: int | None) -> None:
        """One whole message. `related` is the request it belongs to, where the way tells."""
        ...

    def waits(self, id: int) -> bool:
        """Whether the answer to this request is still to come."""
        ...

    def failed(self, id: int, why: ServerGone) -> None:
        """No answer will come to this request."""
        ...

    def paused(self, id: int, seconds: float) -> None:
        """The server goes on with this request after so many seconds, and has closed the stream until then."""
        ...

    def lost(self, why: str, words: str = "") -> None:
        """The server is gone, and every request with it. Told once. `words`: what it wrote last to standard error,
        without secrets. That is for the operator alone: it may tell of any caller's call."""
        ...


class Link(Protocol):
    """Stdio and streamable HTTP. Nothing but `open` and `aclose` ever waits, nothing but `open` raises."""

    async def open(self, heard: Heard) -> None:
        """Raises ServerGone."""
        ...

    def request(self, id: int, body: bytes, headers: Mapping[str, str]) -> None: ...

    def tell(self, body: bytes) -> None:
        """A notification, or an answer to a question of the server's."""
        ...

    def abandon(self, id: int) -> bool:
        """Nobody waits for this answer any more. Whether that tells the server already, so that no notification of
        ours need do so."""
        ...

    def agreed(self, version: str, *, listen: bool) -> None:
        """Which revision is spoken from now on; `listen` opens the stream for what the server says unasked."""
        ...

    async def aclose(self) -> None: ...
