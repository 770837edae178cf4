"""The sessions of clients of the old era: who shook hands, and the stream on which they hear what nobody asked for."""

from __future__ import annotations

import asyncio
from secrets import token_urlsafe
from time import monotonic
from typing import Final

from starlette.types import Receive, Send

from rightcall.mcp.gateway_shared import SharedGateway
from rightcall.mcp.serving import Client, new_context
from rightcall.serve.callers import Entered
from rightcall.serve.mcp_stream import Still, standing_stream

MOST: Final = 1_000
IDLE: Final = 3_600.0
"""Seconds after which a session without a request or a stream is forgotten; its client opens another."""
_WAITING: Final = 1_000
_FEW, _SMALL = 4, 10_000
"""Large messages wait only where few do; a client that never listens must not fill our memory."""


class Session:
    """One client, with its place for news."""

    def __init__(self, gateway: SharedGateway, opened_by: Entered) -> None:
        self.id = token_urlsafe(24)
        self.client = Client(gateway, opened_by.caller, self._send, new_context())
        self.client.decides_for_all = opened_by.operator
        self.seen = monotonic()
        self._news: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._listens = 0

    @property
    def is_idle(self) -> bool:
        return not self._listens and monotonic() - self.seen > IDLE

    def is_of(self, entered: Entered) -> bool:
        return (self.client.caller, self.client.decides_for_all) == (entered.caller, entered.operator)

    def touch(self) -> None:
        self.seen = monotonic()

    async def standing(self, receive: Receive, send: Send, still: Still) -> None:
        """A second one takes the place of the first: clients open it anew when a connection breaks."""
        if self._listens:
            self._news.put_nowait(None)
        self._news = asyncio.Queue() if self._listens else self._news
        self._listens += 1
        try:
            await standing_stream(self._news, receive, send, still)
        finally:
            self._listens -= 1
            self.touch()

    def end(self) -> None:
        self._news.put_nowait(None)

    def _send(self, message: bytes) -> None:
        waiting = self._news.qsize()
        if waiting < _FEW or (waiting < _WAITING and len(message) < _SMALL):
            self._news.put_nowait(message)


class Sessions:
    """All of them. A session is found by its id and by its caller: with another's id alone nobody gets anywhere."""

    def __init__(self, gateway: SharedGateway) -> None:
        self._gateway = gateway
        self._open: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._open)

    def open(self, entered: Entered) -> Session | None:
        """A new one; None when there are too many."""
        if len(self._open) >= MOST:
            self.tidy()
        if len(self._open) >= MOST:
            return None
        session = Session(self._gateway, entered)
        self._open[session.id] = session
        return session

    def tidy(self) -> None:
        for session in [one for one in self._open.values() if one.is_idle]:
            self.close(session)

    def find(self, id: str, entered: Entered) -> Session | None:
        session = self._open.get(id)
        return session if session is not None and session.is_of(entered) else None

    def close(self, session: Session) -> None:
        if self._open.pop(session.id, None) is not None:
            self._gateway.gone(session.client)
            session.end()

    def end(self) -> None:
        for session in list(self._open.values()):
            self.close(session)
