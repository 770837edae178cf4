"""A gateway with scripted servers, and clients of both eras that ask it something."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import json

from rightcall.executor.door import Door
from rightcall.mcp.gateway.gateway import Gateway
from rightcall.mcp.gateway.shared import SharedGateway
from rightcall.mcp.messages import read, value
from rightcall.mcp.serving import Backend, Client
from support.mcp_servers import ScriptedLink, opening

READS: dict[str, Any] = {"effects": ["read"]}
NEW = "io.modelcontextprotocol/"


class Raws(ScriptedLink):
    """Keeps what it is sent as the bytes it is."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.bodies: list[bytes] = []

    def request(self, id: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.bodies.append(body)
        super().request(id, body, headers)


def policy(*servers: str, **more: Any) -> dict[str, Any]:
    return {"version": 1, "servers": {name: {"command": [name], **READS} for name in servers}, **more}


@asynccontextmanager
async def gateway_of(rules: Any, options: Any = None, **links: ScriptedLink) -> AsyncIterator[Gateway]:
    with Door.open("gateway", rules, strict=True, store="memory") as door:
        gateway = Gateway(door, opening(**links), capabilities={}, **(options or {}))
        gateway.start()
        try:
            yield gateway
        finally:
            await gateway.aclose()


@asynccontextmanager
async def shared_of(rules: Any, open_link: Any) -> AsyncIterator[SharedGateway]:
    with Door.open("gateway", rules, strict=True, store="memory") as door:
        shared = SharedGateway(door, open_link)
        shared.start()
        try:
            yield shared
        finally:
            await shared.aclose()


async def line_asked(client: Client, line: bytes) -> Any:
    message = read(line)
    assert message is not None
    found = value(await client.request(line, message, client.send) or b"")
    return found.get("result", found.get("error"))


async def asked(client: Client, method: str, **params: Any) -> Any:
    return await line_asked(client, json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))


async def greeted(
    backend: Backend, caller: str = "gateway", capabilities: Any = None, heard: list[bytes] | None = None
) -> Client:
    """A client of the old era."""
    client = Client(backend, caller, (heard if heard is not None else []).append)
    await asked(client, "initialize", protocolVersion="2025-11-25", capabilities=capabilities or {})
    message = read(b'{"method": "notifications/initialized"}')
    assert message is not None
    client.notified(message)
    return client


async def once(backend: Backend, method: str, caller: str = "gateway", capabilities: Any = None, **params: Any) -> Any:
    """A request of the new era."""
    meta = {f"{NEW}protocolVersion": "2026-07-28", f"{NEW}clientCapabilities": capabilities or {}}
    return await asked(Client(backend, caller, lambda _: None), method, **params, _meta=meta)


def text_of(result: Any) -> str:
    return result["content"][0]["text"]
