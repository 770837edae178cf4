"""A gateway with scripted MCP servers in memory, clients of both eras that ask it something, and its endpoint `/mcp`,
asked as HTTP would ask it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import json

from rightcall.executor.door import Door
from rightcall.mcp.gateway.gateway import Gateway
from rightcall.mcp.gateway.shared import SharedGateway
from rightcall.mcp.messages import read, value
from rightcall.mcp.serving import Backend, Client
from rightcall.mcp.session import Heard, ServerGone
from rightcall.policy.settings import Server
from rightcall.server.access import Entered, enter
from rightcall.server.mcp import Endpoint, Still

Answering = Callable[[str, dict[str, Any]], Any]
TOOL = {
    "name": "echo",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def old_server(method: str, params: dict[str, Any]) -> Any:
    """A server of the old era with one tool. None is no answer; an exception is an error."""
    match method:
        case "initialize":
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}}, "serverInfo": {}}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            return {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
    raise LookupError(method)


class Wrong(Exception):
    """An error of the server's own."""

    def __init__(self, code: int, message: str, **data: Any) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


class ScriptedLink:
    """Answers at once. `sent` is everything it was sent."""

    first = 1

    def __init__(self, answering: Answering = old_server) -> None:
        self._answering = answering
        self.heard: Heard | None = None
        self.sent: list[dict[str, Any]] = []
        self.closed = False

    async def open(self, heard: Heard) -> None:
        self.heard = heard

    def request(self, id: int, body: bytes, headers: Mapping[str, str]) -> None:
        message = json.decode(body)
        self.sent.append(message | {"headers": dict(headers)})
        try:
            answer = self._answering(message["method"], message["params"])
        except Wrong as wrong:
            self.say({"id": id, "error": wrong.error})
            return
        except LookupError as why:
            self.say({"id": id, "error": {"code": -32601, "message": str(why)}})
            return
        if answer is not None:
            self.say({"id": id, "result": answer})

    def tell(self, body: bytes) -> None:
        self.sent.append(json.decode(body))

    def abandon(self, id: int) -> bool:
        return False

    def agreed(self, version: str, *, listen: bool) -> None:
        pass

    async def aclose(self, *, failed: bool = False) -> None:
        self.closed = True

    def say(self, message: Any, related: int | None = None) -> None:
        assert self.heard is not None
        self.heard.message(json.encode({"jsonrpc": "2.0", **message}) + b"\n", related)

    def said(self, method: str) -> list[dict[str, Any]]:
        return [one for one in self.sent if one.get("method") == method]


class Absent(ScriptedLink):
    async def open(self, heard: Heard) -> None:
        raise ServerGone("there is no such program")


def opening(**links: ScriptedLink) -> Callable[[Server], ScriptedLink]:
    return lambda server: links[server.name]


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


def endings(gateway: Any) -> list[tuple[str, str]]:
    """How the records of the calls have ended."""
    entries = gateway.door.store.look(lambda tables: list(tables.entries()))
    bodies = [json.decode(one.body) for one in entries if one.kind == "end"]
    return [(one["status"], one.get("summary") or one.get("error") or "") for one in bodies]


def text_of(result: Any) -> str:
    return result["content"][0]["text"]


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
