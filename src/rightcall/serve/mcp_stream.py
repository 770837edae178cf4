"""The answer to one POST: JSON, or a stream of events where something has to be said before the answer is there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from starlette.types import Receive, Scope, Send

from rightcall.errors import StoreError
from rightcall.mcp.messages import Message
from rightcall.mcp.serving import Client
from rightcall.mcp.serving_answers import one_line
from rightcall.serve.addresses import header_of, length_of
from rightcall.serve.callers import entered
from rightcall.text.framing import sse

PING: Final = 15.0
"""Seconds of silence after which a stream shows that it is alive."""
MOST_BYTES: Final = 32_000_000
"""Of events that may wait for a client that takes none; further ones are left out."""
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
    """One request under way, and what has been said to it so far."""

    def __init__(self, client: Client, body: bytes, message: Message) -> None:
        self.events: list[bytes] = []
        self._bytes = 0
        self.news = asyncio.Event()
        self.task = asyncio.get_running_loop().create_task(client.request(body, message, self.emit))
        self.task.add_done_callback(lambda _: self.news.set())

    def emit(self, message: bytes) -> None:
        if self._bytes < MOST_BYTES and not self.task.done():
            self.events.append(message)
            self._bytes += len(message) + 100
            self.news.set()

    def taken(self) -> list[bytes]:
        events, self.events = self.events, []
        self._bytes = 0
        self.news.clear()
        if self.task.done():
            self.news.set()
        return events

    def result(self) -> bytes | None:
        """The response; None for a request that the client has cancelled, which gets none."""
        return self.task.result()


async def stream(
    reply: Reply, scope: Scope, receive: Receive, send: Send, *, status: Callable[[bytes], int], cancel: bool,
    headers: Sequence[Header] = (),
) -> None:  # fmt: skip
    """`cancel`: a client that closes the connection cancels its request (new era); else it runs on, and its answer is
    lost (old era). A stream whose token was revoked meanwhile ends like one whose client has left."""
    still = entered(scope).still
    accept = header_of(scope["headers"], b"accept")
    takes_events = not accept or b"event-stream" in accept or b"*/*" in accept
    watch = asyncio.ensure_future(_left(receive))
    try:
        while not reply.task.done() and not (takes_events and reply.events):
            await _either(reply, watch)
        if reply.task.done() and not (takes_events and reply.events):
            body = reply.result()
            if body is not None:
                await plain(send, status(body), body, headers)
            elif takes_events:
                await send({"type": "http.response.start", "status": 200, "headers": [*_EVENTS, *headers]})
                await send({"type": "http.response.body", "body": b""})
            else:
                await plain(send, 202, b"", headers)
            return
        await send({"type": "http.response.start", "status": 200, "headers": [*_EVENTS, *headers]})
        while True:
            if not await counts(still):
                raise Gone
            for event in reply.taken():
                await _put(send, sse(one_line(event), "message"))
            if reply.task.done():
                break
            if not await _either(reply, watch, PING):
                await _put(send, b": ping\n\n")
        last = reply.result()
        await send({"type": "http.response.body", "body": b"" if last is None else sse(one_line(last), "message")})
    except (Gone, asyncio.CancelledError):
        if cancel:
            reply.task.cancel()
        raise
    finally:
        watch.cancel()


async def _either(reply: Reply, watch: asyncio.Future[None], seconds: float | None = None) -> bool:
    """Waits for news; False when the time was over first. Raises Gone."""
    news = asyncio.ensure_future(reply.news.wait())
    try:
        done, _ = await asyncio.wait((news, watch), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        news.cancel()
    if watch in done and not reply.task.done():
        raise Gone
    return bool(done)


async def standing_stream(queue: asyncio.Queue[bytes | None], receive: Receive, send: Send, still: Still) -> None:
    """What has to do with no request, for as long as the client listens and its token counts (`still`); None in the
    queue ends it."""
    watch = asyncio.ensure_future(_left(receive))
    await send({"type": "http.response.start", "status": 200, "headers": _EVENTS})
    await _put(send, b": listening\n\n")
    try:
        while not watch.done() and await counts(still):
            news = asyncio.ensure_future(queue.get())
            done, _ = await asyncio.wait((news, watch), timeout=PING, return_when=asyncio.FIRST_COMPLETED)
            if news not in done:
                news.cancel()
                if watch not in done:
                    await _put(send, b": ping\n\n")
                continue
            event = news.result()
            if event is None or not await counts(still):
                break
            await _put(send, sse(one_line(event), "message"))
        await send({"type": "http.response.body", "body": b""})
    finally:
        watch.cancel()


async def counts(still: Still) -> bool:
    """Whether a token still does; while that cannot be found out, no."""
    try:
        return await still()
    except StoreError:
        return False


async def plain(send: Send, status: int, body: bytes = b"", headers: Sequence[Header] = ()) -> None:
    kind = [_JSON] if body else []
    await send({"type": "http.response.start", "status": status, "headers": [*kind, length_of(body), *headers]})
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
