"""The gateway's endpoint `/mcp`, asked as HTTP would ask it, with one scripted server behind it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from msgspec import json

from rightcall.executor.door import Door
from rightcall.mcp.gateway.shared import SharedGateway
from rightcall.server.access import Entered, enter
from rightcall.server.mcp import Endpoint, Still
from support.mcp_servers import ScriptedLink, opening

POLICY = {"version": 1, "servers": {"a": {"command": ["a"], "effects": ["read"]}}}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
ROUTED: dict[str, Any] = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call", "mcp_name": "a_echo"}


async def always() -> bool:
    return True


class Answer:
    """What was sent back so far."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.is_over = False

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message["body"]
            self.is_over = not message.get("more_body")

    @property
    def json(self) -> Any:
        return json.decode(self.body)

    @property
    def events(self) -> list[Any]:
        return [json.decode(line[6:]) for line in self.body.split(b"\n") if line.startswith(b"data: {")]


class Site:
    def __init__(self, endpoint: Endpoint, link: ScriptedLink) -> None:
        self.endpoint = endpoint
        self.link = link

    async def ask(
        self, method: str = "POST", body: Any = None, *, gone: asyncio.Event | None = None, caller: str = "gateway",
        still: Still = always, **headers: Any,
    ) -> Answer:  # fmt: skip
        """`gone` set: the client closes the connection; `caller` is whom its token speaks for."""
        answer = Answer()
        data = body if isinstance(body, bytes) else json.encode(body)
        messages = [{"type": "http.request", "body": data}] if method == "POST" else []

        async def receive() -> Any:
            if messages:
                return messages.pop()
            await (gone or asyncio.Event()).wait()
            return {"type": "http.disconnect"}

        named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": method, "path": "/mcp", "headers": named}
        enter(scope, Entered(caller, operator=False, still=still))
        await self.endpoint(scope, receive, answer.send)
        return answer

    async def session(self, **headers: Any) -> dict[str, Any]:
        answer = await self.ask(body={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}, **headers)
        own = {"mcp_session_id": answer.headers["mcp-session-id"], **headers}
        await self.ask(body={"jsonrpc": "2.0", "method": "notifications/initialized"}, **own)
        return own


def call(id: int = 1, text: str = "hi", **more: Any) -> dict[str, Any]:
    params = {"name": "a_echo", "arguments": {"text": text}, **more}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


@asynccontextmanager
async def site_of(link: ScriptedLink) -> AsyncIterator[Site]:
    with Door.open("gateway", POLICY, strict=True) as door:
        gateway = SharedGateway(door, opening(a=link))
        gateway.start()
        endpoint = Endpoint(gateway)
        try:
            yield Site(endpoint, link)
        finally:
            endpoint.stop()
            await gateway.aclose()


def run(work: Callable[[Site], Coroutine[Any, Any, Any]], link: ScriptedLink | None = None) -> Any:
    async def main() -> Any:
        async with site_of(link or ScriptedLink()) as site:
            return await work(site)

    return asyncio.run(main())
