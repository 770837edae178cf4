"""Servers of the official SDK over streamable HTTP, in a thread of their own: one that speaks both eras, and those that
know only one."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import mcp_types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from starlette.types import ASGIApp, Receive, Scope, Send

from rightcall.server.app import running

FORM = {"type": "object", "properties": {"name": {"type": "string"}}}


def modern_server() -> MCPServer:
    mcp = MCPServer("modern")

    @mcp.tool()
    def add(a: int, b: int) -> int:
        return a + b

    @mcp.tool()
    async def count(ctx: Context) -> str:
        for step in (1, 2):
            await ctx.report_progress(step, 2)
        return "counted"

    @mcp.tool()
    def fail() -> str:
        raise ValueError("on purpose")

    @mcp.tool()
    async def greet(ctx: Context) -> Any:
        """Asks for a name, as a result, and goes on with the answer."""
        found = (ctx.input_responses or {}).get("who")
        if found is None:
            params = mcp_types.ElicitRequestFormParams(message="Who?", requested_schema=FORM)
            return mcp_types.InputRequiredResult(
                input_requests={"who": mcp_types.ElicitRequest(params=params)}, request_state="state of the server"
            )
        return f"hello {found.content['name']}, {ctx.request_state}"

    @mcp.resource("memo://one")
    def one() -> str:
        return "a memo"

    @mcp.resource("memo://{name}")
    def named(name: str) -> str:
        return f"memo {name}"

    @mcp.prompt()
    def ask(topic: str) -> str:
        return f"Tell me about {topic}"

    return mcp


class OldOnly:
    """A server before which nobody speaks the new revision."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        version = dict(scope.get("headers", ())).get(b"mcp-protocol-version", b"")
        if scope["type"] == "http" and version == b"2026-07-28":
            await send({"type": "http.response.start", "status": 400, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"Unsupported protocol version"})
            return
        await self._app(scope, receive, send)


class NewOnly:
    """A server with which nobody shakes hands."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        version = dict(scope.get("headers", ())).get(b"mcp-protocol-version", b"")
        if scope["type"] == "http" and version != b"2026-07-28":
            await send({"type": "http.response.start", "status": 400, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"Unsupported protocol version"})
            return
        await self._app(scope, receive, send)


class Forgetful:
    """Forgets every session once it is told to."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.forgets = False
        self.forgotten: set[bytes] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = dict(scope.get("headers", ())).get(b"mcp-session-id", b"")
        if session and (self.forgets or session in self.forgotten):
            self.forgets = False
            self.forgotten.add(session)
            await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._app(scope, receive, send)


@contextmanager
def served(app: ASGIApp) -> Generator[str]:
    with running(app) as (host, port):
        yield f"http://{host}:{port}/mcp"
