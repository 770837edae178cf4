"""MCP over workers: a request that belongs to what another worker has is answered by that one, whole and as a stream.

    client ─▶ any worker ─▶ the socket of the worker that has the session ─▶ its endpoint
           ◀─────────────────────────────────────────────────────────────

Sessions of the old era, calls that wait for answers and tasks of the new one carry the name of their worker. Where that
is gone, they are as unknown as any, which clients are told as the specification says. The worker that took the
connection has checked the token, and looks again while an answer streams.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, msgpack
from starlette.types import Message, Receive, Scope, Send

from rightcall.base.http.answers import header_of
from rightcall.mcp.gateway.forward import MARK, TASKS, names_in
from rightcall.mcp.messages import HANDSHAKE, fields, header_text, mapping, read, value
from rightcall.record.tables import NO_IDENTITY
from rightcall.server.access import Entered, Gone, body_of, enter, entrance_of, replayed
from rightcall.server.mcp import Endpoint, counts, plain
from rightcall.server.workers.frames import Frames, connected, listening

_GO, _HEAD, _BODY, _START, _DATA, _END, _LEFT = b"g", b"q", b"b", b"s", b"d", b"z", b"l"
ACCEPTING: Final = 2.0
"""Seconds in which a worker must say that it takes a request. One that does not has not seen it, and never will."""
RECENT: Final = 60.0
"""A session that was used within so many seconds will be used again."""
_MANY: Final = 64
"""Pieces of an answer that may wait for a client."""
_OWNER: Final = re.compile(r"(w[0-9]{1,9})\.")
_STATE: Final = b"requestState"
_LISTEN: Final = "subscriptions/listen"


class _Asked(Struct, frozen=True, array_like=True):
    method: str
    headers: list[tuple[bytes, bytes]]
    caller: str
    operator: bool
    identity: tuple[str, str] = NO_IDENTITY


class _Begun(Struct, frozen=True, array_like=True):
    status: int
    headers: list[tuple[bytes, bytes]]


def owner_of(name: object) -> str:
    """The worker that a session, a state or a task names; empty where it names none.

    >>> owner_of("w3.Kf0"), owner_of("rightcall-gateway.w12.Kf0"), owner_of("Kf0"), owner_of(7)
    ('w3', 'w12', '', '')
    """
    if not isinstance(name, str):
        return ""
    found = _OWNER.match(name.removeprefix(MARK))
    return found[1] if found else ""


class Forwarding:
    """In front of the endpoint of one worker, which is called `name`; `folder` holds the sockets of all."""

    def __init__(self, endpoint: Endpoint, name: str, folder: str) -> None:
        self._endpoint = endpoint
        self._name = name
        self._folder = folder
        self._server: asyncio.AbstractServer | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await listening(self._path(self._name), lambda: _Served(self).frames)

    async def aclose(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def drain(self) -> None:
        while self._serving:
            await asyncio.wait(self._serving)
        await self._endpoint.drain()

    @property
    def is_needed(self) -> bool:
        return bool(self._serving) or self._endpoint.sessions.used_within(RECENT) or self._endpoint.gateway.is_busy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = scope["headers"]
        version = header_of(headers, b"mcp-protocol-version").strip(b" \t").decode("latin-1")
        if version and version not in HANDSHAKE:
            try:
                owner, receive = await _owner_of_request(scope, receive)
            except Gone:
                return
        else:
            owner = owner_of(header_of(headers, b"mcp-session-id").decode("latin-1"))
        if owner and owner != self._name:
            exchange = _Passed(self._path(owner))
            if await exchange.is_taken():
                await exchange.run(scope, receive, send)
                return
        await self._endpoint(scope, receive, send)

    def serve(self, exchange: _Served, asked: _Asked) -> None:
        """Answer a request that another worker was given."""
        scope: dict[str, Any] = {
            "type": "http", "method": asked.method, "path": "/mcp", "raw_path": b"/mcp", "query_string": b"",
            "headers": asked.headers,
        }  # fmt: skip
        enter(scope, Entered(asked.caller, asked.operator, identity=asked.identity))
        task = asyncio.get_running_loop().create_task(self._answer(scope, exchange))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        exchange.task = task

    async def _answer(self, scope: Scope, exchange: _Served) -> None:
        try:
            await self._endpoint(scope, exchange.receive, exchange.send)
        finally:
            exchange.frames.close()

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, f"{name}.sock")


async def _owner_of_request(scope: Scope, receive: Receive) -> tuple[str, Receive]:
    """Whose a request of the new era is, which has no session; and the request, which was read for that."""
    headers = scope["headers"]
    method = header_of(headers, b"mcp-method").strip(b" \t").decode("latin-1")
    if method.startswith("tasks/"):
        return owner_of(header_text(header_of(headers, b"mcp-name"))), receive
    if scope["method"] != "POST":
        return "", receive
    body = await body_of(receive)
    owner = ""
    if _STATE in body or method == _LISTEN:
        message = read(body)
        params = fields(message.params) if message is not None else {}
        owner = owner_of(value(params.get("requestState", b"")))
        if not owner and method == _LISTEN:
            owner = _owner_of_tasks(mapping(value(params.get("notifications", b""))))
    return owner, replayed({"type": "http.request", "body": body}, receive)


def _owner_of_tasks(wanted: Mapping[str, Any]) -> str:
    """Whoever listens for tasks hears of those of one worker: a client has all of its from the same, or listens
    twice."""
    return next((owner for one in names_in(wanted, TASKS) if (owner := owner_of(one))), "")


class _Passed:
    """A request, on its way to the worker that it belongs to."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._came: asyncio.Queue[tuple[bytes, bytes] | None] = asyncio.Queue()
        self._frames = Frames(self._heard, lambda: self._came.put_nowait(None))

    def _heard(self, kind: bytes, content: bytes) -> None:
        self._came.put_nowait((kind, content))
        if self._came.qsize() > _MANY:
            self._frames.hold(True)

    async def _next(self) -> tuple[bytes, bytes] | None:
        found = await self._came.get()
        if self._came.qsize() < _MANY // 2:
            self._frames.hold(False)
        return found

    async def is_taken(self) -> bool:
        """Whether that worker lives and listens. Nothing of the request was sent so far."""
        if not await connected(self._frames, self._path, ACCEPTING):
            return False
        try:
            async with asyncio.timeout(ACCEPTING):
                found = await self._next()
        except TimeoutError:
            found = None
        if found is None:
            self._frames.close()
        return found is not None

    async def run(self, scope: Scope, receive: Receive, send: Send) -> None:
        entered = entrance_of(scope)
        asked = _Asked(scope["method"], scope["headers"], entered.caller, entered.operator, entered.identity)
        try:
            body = await body_of(receive)
        except Gone:
            self._frames.close()
            return
        self._frames.send(_HEAD, msgpack.encode(asked))
        self._frames.send(_BODY, body)
        watch = asyncio.ensure_future(self._left(receive))
        try:
            await self._pass_on(send, entered)
            self._frames.send(_LEFT)
        finally:
            watch.cancel()
            self._frames.close()

    async def _left(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._frames.send(_LEFT)
        self._frames.close()

    async def _pass_on(self, send: Send, entered: Entered) -> None:
        """Until the answer is whole; to return before cuts the connection, so that nobody takes a half for the
        whole."""
        begun = await self._next()
        if begun is None:
            await plain(send, 502, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the worker that had '
                        b'this session has ended"}}')  # fmt: skip
            return
        told = msgpack.decode(begun[1], type=_Begun)
        streams = header_of(told.headers, b"content-type").startswith(b"text/event-stream")
        await send({"type": "http.response.start", "status": told.status, "headers": told.headers})
        while (found := await self._next()) is not None:
            kind, data = found
            if streams and not await counts(entered.still):
                return
            await send({"type": "http.response.body", "body": data, "more_body": kind == _DATA})
            if kind == _END:
                return


class _Served:
    """A request that another worker passes on, at the worker that it belongs to."""

    def __init__(self, forwarding: Forwarding) -> None:
        self._forwarding = forwarding
        self._asked: _Asked | None = None
        self._came: asyncio.Queue[Message] = asyncio.Queue()
        self.task: asyncio.Task[None] | None = None
        self._has_left = False
        self.frames = _Greeting(self._heard, self._end_orphan)

    def _heard(self, kind: bytes, content: bytes) -> None:
        if kind == _HEAD:
            self._asked = msgpack.decode(content, type=_Asked)
        elif kind == _BODY and self._asked is not None:
            self._came.put_nowait({"type": "http.request", "body": content, "more_body": False})
            self._forwarding.serve(self, self._asked)
        elif kind == _LEFT:
            self._has_left = True
            self._came.put_nowait({"type": "http.disconnect"})

    def _end_orphan(self) -> None:
        """Without a word it is not the client that has left, but the other worker that was stopped."""
        if self.task is not None and not self._has_left:
            self.task.cancel()

    async def receive(self) -> Message:
        return await self._came.get()

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            begun = _Begun(message["status"], list(message.get("headers", ())))
            self.frames.send(_START, msgpack.encode(begun))
        else:
            self.frames.send(_DATA if message.get("more_body") else _END, message.get("body", b""))
        await self.frames.drain()


class _Greeting(Frames):
    """Says at once that it is there: one that was stopped does not, and is sent nothing."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.send(_GO)
