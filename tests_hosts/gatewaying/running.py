"""A gateway with its endpoint on a port of this machine, for as long as a test needs it."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from msgspec import Struct

from rightcall.base.http.answers import ServeLimits
from rightcall.executor.door import Door
from rightcall.mcp.gateway.gateway import Gateway
from rightcall.mcp.gateway.shared import SharedGateway
from rightcall.mcp.links import open_link
from rightcall.server.access import Access, Callers, TokenRequest, make_token
from rightcall.server.app import Entrance, Health, Running, Span, Told, bind, build_app
from rightcall.server.mcp import Endpoint
from rightcall.server.recording import Metrics

HERE = Path(__file__).parent
HOSTILE = [sys.executable, str(HERE / "hostile.py")]
READS = {"effects": ["read"]}


class Site(Struct, frozen=True):
    """A gateway that runs."""

    url: str
    shared: SharedGateway
    endpoint: Endpoint
    news: list[str]

    def client(self, mode: str, **options: Any) -> Client:
        return Client(self.url, mode=mode, **options)

    def url_for(self, caller: str) -> str:
        """With a token that speaks for this caller."""
        token = self.door.store.transact(lambda tables: make_token(tables, TokenRequest(caller, "ann")))[1]
        return self.url.replace("/mcp", f"/{token}/mcp")

    @property
    def door(self) -> Door:
        return self.shared.door

    @property
    def gateway(self) -> Gateway:
        """Of clients that can do nothing."""
        return self.shared.first


@asynccontextmanager
async def gateway(servers: Mapping[str, Any], policy: Mapping[str, Any] | None = None) -> AsyncGenerator[Site]:
    """With these servers, under a policy that sets no limits of its own."""
    told: list[str] = []
    limits = {"all": {"minute": 0, "hour": 0}, "caller": {"minute": 0, "hour": 0, "burst": 0}}
    rules = {"version": 1, "policy": {"repeats": 0, "limits": limits}, **(policy or {}), "servers": servers}
    door = Door.open("gateway", rules, strict=True)
    endpoint = Endpoint(SharedGateway(door, open_link, news=told.append))
    bound = bind("127.0.0.1", 0)
    port = bound.getsockname()[1]
    app = build_app(
        Entrance(Access(None, bound_to="127.0.0.1"), Callers(door.store)), Metrics(dict),
        Health({}, lambda: {"mcp": endpoint.gateway.state()}), beside={"/mcp": endpoint},
        span=Span([endpoint.gateway.start], [endpoint.aclose]),
    )  # fmt: skip
    server = Running(app, bound, ServeLimits(grace_seconds=1), told=Told(stopping=lambda _: endpoint.stop()))
    running = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        yield Site(f"http://127.0.0.1:{port}/mcp", endpoint.gateway, endpoint, told)
    finally:
        server.should_exit = True
        await running
        bound.close()


def texts(result: Any) -> str:
    return "".join(block.text for block in result.content if block.type == "text")
