"""The sessions of clients of the old era: who shook hands, and the stream on which they hear what nobody asked for."""

from __future__ import annotations

from secrets import token_urlsafe
from time import monotonic
from typing import Final

from msgspec import Raw
from starlette.types import Receive, Send

from rightcall.mcp.gateway_shared import SharedGateway
from rightcall.mcp.messages import Message
from rightcall.mcp.serving import Client, new_context
from rightcall.serve.callers import Entered
from rightcall.serve.mcp_channels import MOST_BYTES, Channel, Ended, Room, place_of
from rightcall.serve.mcp_stream import Reply, Still, resumed

MOST: Final = 1_000
IDLE: Final = 3_600.0
"""Seconds after which a session without a request or a stream is forgotten; its client opens another."""
_STANDING: Final = "standing"
"""The name of the stream for what has to do with no request."""
_WAITING: Final = 1_000
_FEW, _SMALL = 4, 10_000
"""Large messages wait only where few do; a client that never listens must not fill our memory."""


class Session:
    """One client, with its place for news."""

    def __init__(self, gateway: SharedGateway, opened_by: Entered, ended: Ended[Reply], room: Room) -> None:
        self.id = token_urlsafe(24)
        self.client = Client(gateway, opened_by.caller, self._send, new_context())
        self.client.decides_for_all = opened_by.operator
        self.client.pausing = self._pause
        self.seen = monotonic()
        self._standing = Channel(_STANDING, room, MOST_BYTES)  # what waits there is limited by `_send`
        self._room = room
        self._ended = ended
        self._running: dict[str, Reply] = {}
        self._opened = 0
        self._listens = 0

    @property
    def is_idle(self) -> bool:
        return not self._listens and monotonic() - self.seen > IDLE

    def is_of(self, entered: Entered) -> bool:
        return (self.client.caller, self.client.decides_for_all) == (entered.caller, entered.operator)

    def touch(self) -> None:
        self.seen = monotonic()

    def reply(self, body: bytes, message: Message) -> Reply:
        """Answer a request. Its client may come back for the answer until some time after it is there."""
        self._opened += 1
        name = str(self._opened)
        reply = self._running[name] = Reply(self.client, body, message, self._room, name, self._finished)
        return reply

    def place(self, event_id: str) -> tuple[Channel, int] | None:
        """The stream and the number that its client has heard last; without an id the standing stream, and all that
        was not sent yet. None where there is no such stream, or no longer."""
        if not event_id:
            return self._standing, self._standing.sent
        name, number = place_of(event_id) or ("", 0)
        if name == _STANDING:
            return self._standing, number
        reply = self._running.get(name) or self._ended.find(self, name)
        return (reply.channel, number) if reply is not None else None

    async def follow(self, place: tuple[Channel, int], receive: Receive, send: Send, still: Still) -> None:
        self._listens += 1
        try:
            await resumed(*place, receive, send, still)
        finally:
            self._listens -= 1
            self.touch()

    def end(self) -> None:
        self._standing.end()
        self._ended.forget(self)

    def _finished(self, reply: Reply) -> None:
        name = reply.channel.name
        del self._running[name]
        if reply.is_followed:
            self._ended.keep(self, name, reply, reply.channel.size)

    def _pause(self, id: Raw, seconds: float) -> None:
        for reply in self._running.values():
            if bytes(reply.id) == bytes(id) and reply.can_pause:
                reply.channel.suspend(seconds)

    def _send(self, message: bytes) -> None:
        waiting = self._standing.waiting
        if waiting < _FEW or (waiting < _WAITING and len(message) < _SMALL):
            self._standing.put(message)


class Sessions:
    """All of them. A session is found by its id and by its caller: with another's id alone nobody gets anywhere."""

    def __init__(self, gateway: SharedGateway) -> None:
        self._gateway = gateway
        self._open: dict[str, Session] = {}
        self._ended = Ended[Reply]()
        self.room = Room()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, entered: Entered) -> Session | None:
        """A new one; None when there are too many."""
        if len(self._open) >= MOST:
            self.tidy()
        if len(self._open) >= MOST:
            return None
        session = Session(self._gateway, entered, self._ended, self.room)
        self._open[session.id] = session
        return session

    def tidy(self) -> None:
        self._ended.tidy()
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
