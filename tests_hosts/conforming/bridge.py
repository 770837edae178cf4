"""Streamable HTTP in front of a server over stdio, since the conformance suite speaks HTTP only: what one side says is
passed on to the other, and nothing is checked. A session of the old era has a process of its own; the requests of the
new era share one, so that they get ids of their own there."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any
from uuid import uuid4

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

STATUS = {-32700: 400, -32600: 400, -32602: 400, -32020: 400, -32021: 400, -32022: 400, -32601: 404}
HANDSHAKE = "2025-11-25"
"""The last revision with sessions."""
DISCOVER = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "server/discover",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "bridge", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
"""What the shared process hears first: it stays in the era that it begins in."""
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
Message = dict[str, Any]


class Waiting:
    """A request of the client, and what was said to it."""

    def __init__(self, message: Message) -> None:
        self.id = message["id"]
        self.is_listening = message["method"] == "subscriptions/listen"
        self.token = (message.get("params") or {}).get("_meta", {}).get("progressToken")
        self.said: asyncio.Queue[Message] = asyncio.Queue()


class Child:
    """One process, started with its first message."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[int, Waiting] = {}
        self._ids = count(1)
        self._starting = asyncio.Lock()
        self.unasked: asyncio.Queue[Message] = asyncio.Queue()

    async def tell(self, message: Message) -> None:
        async with self._starting:
            if self._process is None:
                pipe = asyncio.subprocess.PIPE
                self._process = await asyncio.create_subprocess_exec(
                    *self._command, stdin=pipe, stdout=pipe, limit=10_000_000
                )
                self._reading = asyncio.create_task(self._read(self._process))
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        await self._process.stdin.drain()

    async def ask(self, message: Message) -> Waiting:
        number = next(self._ids)
        waiting = self._waiting[number] = Waiting(message)
        await self.tell({**message, "id": number})
        return waiting

    async def aclose(self) -> None:
        if self._process is not None and self._reading is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            await self._process.wait()
            await self._reading

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            message = json.loads(line)
            if "method" not in message:
                waiting = self._waiting.pop(message["id"])
                waiting.said.put_nowait({**message, "id": waiting.id})
            else:
                self._spoken(message)

    def _spoken(self, message: Message) -> None:
        """To the request that it says it belongs to, else to the newest that is no subscription."""
        params = message.get("params") or {}
        number = params.get("_meta", {}).get(SUBSCRIPTION)
        if number is not None:
            waiting = self._waiting[number]
            params["_meta"][SUBSCRIPTION] = waiting.id
            waiting.said.put_nowait(message)
            return
        open_ones = [one for one in self._waiting.values() if not one.is_listening]
        token = params.get("progressToken")
        meant = [one for one in open_ones if token is None or one.token == token]
        (meant[-1].said if meant else self.unasked).put_nowait(message)


class Bridge:
    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._sessions: dict[str, Child] = {}
        self._sharing: asyncio.Task[Child] | None = None

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        shared = [await self._sharing] if self._sharing is not None else []
        await asyncio.gather(*(one.aclose() for one in (*shared, *self._sessions.values())))

    async def _shared(self) -> Child:
        async def begun() -> Child:
            child = Child(self._command)
            await (await child.ask(DISCOVER)).said.get()
            return child

        self._sharing = self._sharing or asyncio.create_task(begun())
        return await self._sharing

    async def __call__(self, request: Request) -> Response:
        is_new = request.headers.get("mcp-protocol-version", HANDSHAKE) > HANDSHAKE
        session = request.headers.get("mcp-session-id", "")
        child = await self._shared() if is_new else self._sessions.get(session)
        if request.method == "POST":
            message = await request.json()
            if child is None and message.get("method") == "initialize":
                session = uuid4().hex
                child = self._sessions[session] = Child(self._command)
            if child is not None:
                return await self._post(child, message, {} if is_new else {"mcp-session-id": session})
        if child is None or is_new:
            return Response(status_code=404 if session else 405)
        if request.method == "DELETE":
            await self._sessions.pop(session).aclose()
            return Response()
        return StreamingResponse(_events(child.unasked, None), media_type="text/event-stream")

    async def _post(self, child: Child, message: Message, headers: dict[str, str]) -> Response:
        if "id" not in message or "method" not in message:
            await child.tell(message)
            return Response(status_code=202)
        said = (await child.ask(message)).said
        first = await said.get()
        if "method" in first:
            return StreamingResponse(_events(said, first), media_type="text/event-stream", headers=headers)
        code = first.get("error", {}).get("code")
        return JSONResponse(first, status_code=200 if headers else STATUS.get(code, 200), headers=headers)


async def _events(said: asyncio.Queue[Message], first: Message | None) -> AsyncIterator[str]:
    """Until the answer."""
    message = first
    while message is None or "method" in message:
        if message is not None:
            yield f"event: message\ndata: {json.dumps(message)}\n\n"
        message = await said.get()
    yield f"event: message\ndata: {json.dumps(message)}\n\n"


def bridge(command: list[str]) -> Starlette:
    """An ASGI application with the endpoint `/mcp`."""
    relay = Bridge(command)

    async def endpoint(request: Request) -> Response:
        return await relay(request)

    return Starlette(routes=[Route("/mcp", endpoint, methods=["GET", "POST", "DELETE"])], lifespan=relay.lifespan)
