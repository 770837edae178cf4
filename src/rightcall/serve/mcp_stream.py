"""The answer to one POST: JSON, or a stream of events where something has to be said before the answer is there, or
where the client can come back for what it has missed; and what it gets when it does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from starlette.types import Receive, Scope, Send

from rightcall.base.http.addresses import header_of, length_of
from rightcall.errors import StoreError
from rightcall.mcp.messages import Message
from rightcall.mcp.serving import Client
from rightcall.serve.callers import entered
from rightcall.serve.mcp_channels import RETRY, Channel, Room, retry

PING: Final = 15.0
"""Seconds of silence after which a stream shows that it is alive."""
SOON: Final = 0.05
"""Seconds that an answer has before a stream for it opens, where its client can come back to one."""
_EVENTS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_JSON: Final = (b"content-type", b"application/json")
Header = tuple[bytes, bytes]
Still = Callable[[], Awaitable[bool]]


class Gone(Exception):
    """The client has closed its connection."""


class Reply:
    """One request under way, and what has been said to it so far. With a `name` its client may come back for it;
    `over` hears when there is nothing more to say."""

    def __init__(
        self, client: Client, body: bytes, message: Message, room: Room, name: str = "",
        over: Callable[[Reply], None] | None = None,
    ) -> None:  # fmt: skip
        self.id = message.id
        self._over = over
        self.channel = Channel(name, room)
        self.answer: bytes | None = None
        """None as long as it is not there, and for a request that the client has cancelled, which gets none."""
        self.can_pause = False
        """Whether its client is given a number to come back with before anything is said."""
        self.is_followed = False
        """Whether it was given any."""
        self.task = asyncio.get_running_loop().create_task(client.request(body, message, self.emit))
        self.task.add_done_callback(self._ended)

    @property
    def has_news(self) -> bool:
        """Whether anything came before the answer."""
        return self.channel.last > (self.answer is not None)

    def emit(self, message: bytes) -> None:
        if not self.task.done():
            self.channel.put(message)

    def _ended(self, task: asyncio.Task[bytes | None]) -> None:
        try:
            self.answer = None if task.cancelled() else task.result()
            if self.answer is not None:
                self.channel.put(self.answer, always=True)
        finally:
            self.channel.end()
            if self._over is not None:
                self._over(self)


class Manner(NamedTuple):
    """How an era of the protocol is answered."""

    status: Callable[[bytes], int]
    """The status of an answer that comes alone."""
    cancels: bool
    """A client that closes the connection cancels its request (new era); else it runs on, and its answer is kept for a
    while (old era)."""
    primed: bool = False
    """A client that knows such streams can come back from the first moment."""


async def stream(
    reply: Reply, scope: Scope, receive: Receive, send: Send, manner: Manner, headers: Sequence[Header] = ()
) -> None:
    """A stream whose token was revoked meanwhile ends like one whose client has left."""
    accept = header_of(scope["headers"], b"accept")
    takes_events = not accept or b"event-stream" in accept or b"*/*" in accept
    eager = reply.can_pause = manner.primed and b"event-stream" in accept
    channel = reply.channel
    await _begun(reply, cancel=manner.cancels)
    if eager and channel.is_over:
        await plain(send, 200, channel.priming() + channel.after(0)[0], [*_EVENTS, *headers], kind=())
        return
    watch = asyncio.ensure_future(_left(receive))
    try:
        with channel.attended():
            while not eager and not channel.is_over and not (takes_events and reply.has_news):
                await _either(channel, watch, None, channel.last)
            if not eager and not (takes_events and reply.has_news):
                if reply.answer is not None:
                    await plain(send, manner.status(reply.answer), reply.answer, headers)
                    return
                if not takes_events:
                    await plain(send, 202, b"", headers)
                    return
            reply.is_followed = bool(channel.name)
            await send({"type": "http.response.start", "status": 200, "headers": [*_EVENTS, *headers]})
            await _follow(channel, 0, watch, send, entered(scope).still, channel.priming() if manner.primed else b"")
    except (Gone, asyncio.CancelledError):
        if manner.cancels:
            reply.task.cancel()
        raise
    finally:
        watch.cancel()


async def _begun(reply: Reply, *, cancel: bool) -> None:
    """Waits for the first that is said, for a moment in which nobody looks whether the client is still there: most
    answers come within it."""
    channel = reply.channel
    timer = asyncio.get_running_loop().call_later(SOON, channel.news.set)
    try:
        await channel.news.wait()
    except asyncio.CancelledError:
        if cancel:
            reply.task.cancel()
        raise
    finally:
        timer.cancel()


async def resumed(channel: Channel, number: int, receive: Receive, send: Send, still: Still) -> None:
    """A stream, from a number on: one of a request, or the standing one, for what has to do with none."""
    watch = asyncio.ensure_future(_left(receive))
    await send({"type": "http.response.start", "status": 200, "headers": _EVENTS})
    channel.pause = None
    first = b": listening\n\n" + retry(RETRY / 1000)
    await _put(send, first)
    try:
        with channel.attended():
            await _follow(channel, number, watch, send, still)
    except Gone:
        if not watch.done():
            await send({"type": "http.response.body", "body": b""})
    finally:
        watch.cancel()


async def _follow(
    channel: Channel, number: int, watch: asyncio.Future[None], send: Send, still: Still, first: bytes = b""
) -> None:
    """Until the stream is over, another connection follows it, or it is to be taken up again later. Raises Gone, also
    where the client's token counts no longer."""
    turn = channel.take()
    is_new = True
    while is_new or await counts(still):
        is_new = False
        if channel.turn != turn:
            await send({"type": "http.response.body", "body": b""})
            return
        events, number = channel.after(number)
        data = first + events
        first = b""
        if channel.is_over or channel.pause is not None:
            data += b"" if channel.is_over else retry(channel.pause or 0.0)
            await send({"type": "http.response.body", "body": data})
            return
        if data:
            await _put(send, data)
        if channel.turn == turn and not await _either(channel, watch, PING, number):
            await _put(send, b": ping\n\n")
    raise Gone


async def _either(channel: Channel, watch: asyncio.Future[None], seconds: float | None = None, number: int = 0) -> bool:
    """Waits for what comes after a number; False when the time was over first. Raises Gone."""
    if channel.last > number or channel.is_over or channel.pause is not None:
        return True
    channel.news.clear()
    news = asyncio.ensure_future(channel.news.wait())
    try:
        done, _ = await asyncio.wait((news, watch), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        news.cancel()
    if watch in done and not channel.is_over:
        raise Gone
    return bool(done)


async def counts(still: Still) -> bool:
    """Whether a token still does; while that cannot be found out, no."""
    try:
        return await still()
    except StoreError:
        return False


async def plain(
    send: Send, status: int, body: bytes = b"", headers: Sequence[Header] = (), kind: Sequence[Header] = (_JSON,)
) -> None:
    about = kind if body else ()
    await send({"type": "http.response.start", "status": status, "headers": [*about, length_of(body), *headers]})
    await send({"type": "http.response.body", "body": body})


async def body_of(receive: Receive) -> bytes:
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _put(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})
