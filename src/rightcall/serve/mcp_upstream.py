"""A server that is reached over streamable HTTP: each request is a POST of its own, answered with JSON or with a stream
of events. Our own HTTP client, as for models (`rightcall.base.http.client`).

In the old era the server remembers a session; one that it has forgotten is opened anew. What it says unasked comes on a
GET that stays open, and a stream that breaks off is taken up again where the server numbers its events.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from msgspec import json

from rightcall.base.http.addresses import header_of, read_address
from rightcall.base.http.client import FOREVER, Client, HttpLimits, Incoming
from rightcall.base.http.errors import HttpError
from rightcall.config_servers import Server
from rightcall.errors import CallError, ConfigError
from rightcall.mcp.eras import STATELESS
from rightcall.mcp.serving_answers import METHOD_NOT_FOUND
from rightcall.mcp.upstream_env import filled
from rightcall.mcp.upstream_link import FORGOTTEN, Heard, ServerGone, SessionExpired
from rightcall.text.escape import escaped
from rightcall.text.framing import ServerSentEvents, TooLong, payload

_LIMITS = HttpLimits(first_byte_seconds=FOREVER, between_seconds=FOREVER, body_bytes=16_000_000)
"""How long a call may take is the caller's to say."""
_AFTER_CANCEL = 30.0
_RESUMES: Final = 2
_PAUSE = 1.0
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.05, 30.0
_DIGITS: Final = 12


class _Place(NamedTuple):
    """In a stream of a server's: where it can be taken up again, and when."""

    last: str = ""
    pause: float = _PAUSE


class HttpLink:
    """The way to one server over HTTP."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._heard: Heard | None = None
        self._client: Client | None = None
        self._target = "/"
        self._own: list[tuple[bytes, bytes]] = []
        self._session: str | None = None
        self._version = ""
        self._asks: dict[int, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._telling: asyncio.Task[None] | None = None
        self._is_lost = False

    async def open(self, heard: Heard) -> None:
        self._heard = heard
        parts = urlsplit(self._server.url)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            rule = f"[servers.{self._server.name}] url"
            address = read_address(f"{parts.scheme}://{parts.netloc}", rule, "keys come from the client, in a header")
        except ConfigError as wrong:
            raise ServerGone(str(wrong)) from None
        self._client = Client(address, _LIMITS)
        own = filled(self._server.headers, f"[servers.{self._server.name}] headers")
        self._own = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in own.items()]

    def request(self, id: int, body: bytes, headers: Mapping[str, str]) -> None:
        task = self._spawn(self._ask(id, body, headers))
        self._asks[id] = task
        task.add_done_callback(lambda _: self._asks.pop(id, None))

    def tell(self, body: bytes) -> None:
        self._telling = self._spawn(self._told(body, self._telling))

    def abandon(self, id: int) -> bool:
        task = self._asks.get(id)
        if self._version in STATELESS:
            if task is not None:
                task.cancel()  # to close the stream is to cancel the request
            return True
        if task is not None:
            asyncio.get_running_loop().call_later(_AFTER_CANCEL, task.cancel)
        return False

    def agreed(self, version: str, *, listen: bool) -> None:
        self._version = version
        if listen and self._session is not None:
            self._spawn(self._listen())

    async def aclose(self) -> None:
        if self._session is not None and not self._is_lost:
            with suppress(HttpError, CallError, TimeoutError):
                async with asyncio.timeout(2.0):
                    (await self._send("DELETE", b"", {})).release()
        self._is_lost = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def _ask(self, id: int, body: bytes, headers: Mapping[str, str]) -> None:
        if self._telling is not None and not self._telling.done():
            await asyncio.wait([self._telling])  # what was told before is to arrive before
        try:
            incoming = await self._send("POST", body, headers)
            try:
                await self._answered(id, incoming)
            finally:
                incoming.release()
            why = "it closed the stream without an answer"
        except (HttpError, CallError) as error:
            why = escaped(str(error), 300)
        except TooLong:
            why = "it sent an event that does not end"
        self._fail(id, ServerGone(why))

    async def _answered(self, id: int, incoming: Incoming) -> None:
        assert self._heard is not None
        kind = header_of(incoming.headers, b"content-type").partition(b";")[0].strip().lower()
        status = incoming.status
        if self._session is None and (given := header_of(incoming.headers, b"mcp-session-id")):
            self._session = given.decode("latin-1")
        if status == 404 and self._session is not None and kind != b"application/json":
            self._forgotten(id)
        elif kind == b"application/json":
            await self._whole(id, incoming)
        elif status < 300 and kind == b"text/event-stream":
            await self._followed(id, incoming)
        else:
            self._refused(id, incoming)

    async def _whole(self, id: int, incoming: Incoming) -> None:
        assert self._heard is not None
        body = await incoming.read_all()
        if incoming.status == 404 and self._session is not None and b"session" in body.lower():
            self._forgotten(id)
            return
        self._heard.message(body, id)
        if incoming.status >= 400 and self._heard.waits(id):
            self._refused(id, incoming)

    def _refused(self, id: int, incoming: Incoming) -> None:
        """A status that says no. A server that does not know a method may say so this way only."""
        assert self._heard is not None
        status = incoming.status
        if 300 <= status < 400:
            where = escaped(header_of(incoming.headers, b"location").decode("latin-1"), 200)
            self._fail(id, ServerGone(f"it has moved to {where}: write that into [servers.{self._server.name}] url"))
        elif status in (401, 403):
            told = f"status {status}: it wants credentials, which [servers.{self._server.name}] headers can give"
            self._fail(id, ServerGone(f"it answered with {told}"))
        elif 400 <= status < 500:
            error = {"code": METHOD_NOT_FOUND, "message": f"the server answered with status {status}"}
            self._heard.message(json.encode({"jsonrpc": "2.0", "id": id, "error": error}), id)
        else:
            self._fail(id, ServerGone(f"it answered with status {status} and no message"))

    def _forgotten(self, id: int) -> None:
        self._fail(id, SessionExpired(FORGOTTEN))
        self._session = None
        self._lose(FORGOTTEN)

    async def _followed(self, id: int, incoming: Incoming) -> None:
        """What comes on a stream, until the answer has. One that ends before is taken up again where its events have
        numbers: servers close a connection on purpose where an answer takes its time."""
        assert self._heard is not None
        place = await self._events(id, incoming, _Place())
        tries = 0
        while place.last and self._heard.waits(id) and tries < _RESUMES:
            self._heard.paused(id, place.pause)
            await asyncio.sleep(place.pause)
            again = await self._send("GET", b"", {"last-event-id": place.last})
            try:
                if again.status != 200:
                    return
                before, place = place, await self._events(id, again, place)
            finally:
                again.release()
            tries = 0 if place.last != before.last else tries + 1

    async def _events(self, id: int | None, incoming: Incoming, place: _Place) -> _Place:
        """Where a stream was when it ended, or when the answer was there."""
        assert self._heard is not None
        framing = ServerSentEvents()
        while data := await incoming.read():
            for event in framing.feed(data):
                place = _marked(event, place)
                if (message := payload(event)) and message.strip():
                    self._heard.message(message, id)
            if id is not None and not self._heard.waits(id):
                break
        return place

    # ── what needs no answer ─────────────────────────────────────────────────────────────────────────────────────

    async def _told(self, body: bytes, before: asyncio.Task[None] | None) -> None:
        if before is not None and not before.done():
            await asyncio.wait([before])
        with suppress(HttpError, CallError):
            (await self._send("POST", body, {})).release()

    async def _listen(self) -> None:
        """The standing stream. Servers need not have one."""
        place, pause = _Place(), _PAUSE
        while not self._is_lost:
            try:
                incoming = await self._send("GET", b"", {"last-event-id": place.last} if place.last else {})
                try:
                    if incoming.status == 200:
                        pause = _PAUSE
                        place = await self._events(None, incoming, place)
                    elif place.last:
                        place = _Place()  # it has forgotten where we were
                    else:
                        return
                finally:
                    incoming.release()
            except (HttpError, CallError, TooLong):
                pass
            await asyncio.sleep(max(pause, place.pause))
            pause = min(pause * 2, _LONGEST_PAUSE)

    # ── the connection ───────────────────────────────────────────────────────────────────────────────────────────

    async def _send(self, method: str, body: bytes, headers: Mapping[str, str]) -> Incoming:
        assert self._client is not None
        accept = b"text/event-stream" if method == "GET" else b"application/json, text/event-stream"
        sent = [*self._own, (b"accept", accept), (b"accept-encoding", b"identity")]
        if body:
            sent.append((b"content-type", b"application/json"))
        if self._session is not None:
            sent.append((b"mcp-session-id", self._session.encode("latin-1")))
        if self._version and "mcp-protocol-version" not in headers:
            sent.append((b"mcp-protocol-version", self._version.encode()))
        sent += [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        return await self._client.send(method, self._target, sent, body)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _fail(self, id: int, why: ServerGone) -> None:
        if self._heard is not None:
            self._heard.failed(id, why)

    def _lose(self, why: str) -> None:
        if not self._is_lost and self._heard is not None:
            self._is_lost = True
            self._heard.lost(why)


def _marked(event: bytes, place: _Place) -> _Place:
    """With the event's number, and after how many seconds the server wants to be asked again."""
    if b"id:" not in event and b"retry:" not in event:
        return place
    last, pause = place.last, place.pause
    for line in event.splitlines():
        name, _, rest = line.partition(b":")
        if name == b"id":
            last = rest.strip().decode("latin-1") or last
        elif name == b"retry" and rest.strip().isdigit() and len(rest) < _DIGITS:
            pause = min(max(int(rest) / 1000, _SHORTEST_PAUSE), _LONGEST_PAUSE)
    return _Place(last, pause)
