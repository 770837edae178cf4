"""The whole server, proxy and MCP gateway, over one store with tokens of several callers; and clients that ask it."""

import http.client
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import json

from rightcall import load_policy
from rightcall.executor.door import Door
from rightcall.mcp.gateway.shared import SharedGateway
from rightcall.proxy.gates import Options
from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import Store
from rightcall.server.access import Access, Callers, TokenRequest, make_token, revoke_tokens
from rightcall.server.app import Parts, assemble, running
from rightcall.server.mcp import Endpoint
from rightcall.server.recording import Backlog, Recording
from support.gateways import ScriptedLink, opening
from support.scripted.server import Raw, ScriptedUpstream

OWN = "the-token-of-the-server-itself"
POLICY: dict[str, Any] = {
    "version": 1,
    "servers": {"r": {"command": ["r"], "effects": ["read"]}, "w": {"command": ["w"], "effects": ["write"]}},
    "policy": {"repeats": 0},
    "callers": {"eve": {"limits": {"minute": 3}}, "zoe": {"deny": ["r/echo"]}},
}
_NEW = "io.modelcontextprotocol/"
META = {f"{_NEW}protocolVersion": "2026-07-28", f"{_NEW}clientCapabilities": {"elicitation": {"form": {}}}}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


class Got(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.decode(self.body)

    @property
    def code(self) -> Any:
        """Of an error, in whatever shape."""
        found = json.decode(self.body) if self.body[:1] == b"{" else {}
        return found.get("error", {}).get("code") if isinstance(found.get("error"), dict) else None


class Site(NamedTuple):
    store: Store
    address: tuple[str, int]
    upstream: ScriptedUpstream
    links: dict[str, ScriptedLink]
    tokens: dict[str, str]

    def token(self, caller: str, seconds: int | None = None) -> str:
        return self.store.transact(lambda tables: make_token(tables, TokenRequest(caller, "ann", seconds)))[1]

    def revoke(self, caller: str) -> None:
        self.store.transact(lambda tables: revoke_tokens(tables, "ann", caller=caller))

    def ask(self, method: str, path: str, headers: Any = (), body: Any = None) -> Got:
        """`headers` are pairs, so that one can stand twice."""
        connection = http.client.HTTPConnection(*self.address, timeout=20)
        try:
            connection.putrequest(method, path)
            pairs = headers.items() if isinstance(headers, dict) else headers
            data = b"" if body is None else json.encode(body)
            for name, value in [*pairs, ("content-length", str(len(data)))]:
                connection.putheader(name, value.encode() if isinstance(value, str) else value)
            connection.endheaders(data or None)
            answer = connection.getresponse()
            found = answer.read()
            return Got(answer.status, {name.lower(): value for name, value in answer.getheaders()}, found)
        finally:
            connection.close()

    def mcp(self, caller: str, body: Any, **headers: str) -> Got:
        """A message at /mcp, with the token of a caller."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("POST", f"/{self.tokens[caller]}/mcp", {"content-type": "application/json", **named}, body)

    def session(self, caller: str) -> str:
        hello = self.mcp(caller, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
        return hello.headers["mcp-session-id"]

    def call(self, caller: str, tool: str = "r_echo", text: str = "hi", **more: Any) -> Any:
        """A call of the new era, which stands for itself; its result."""
        params = {"name": tool, "arguments": {"text": text}, "_meta": META, **more}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        routed = {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call", "mcp_name": tool}
        return self.mcp(caller, message, **routed).json


def text_of(answer: Any) -> str:
    return " ".join(part["text"] for part in answer["result"].get("content", ()))


@contextmanager
def site_of(kind: str, folder: Path, *, token: str | None = OWN, policy: Any = None) -> Iterator[Site]:
    """`kind` is the store's: memory or sqlite. Tokens are looked at anew with each request."""
    store = MemoryStore() if kind == "memory" else SqliteStore(folder / "audit.db")
    rules = load_policy(policy or POLICY)
    links = {name: ScriptedLink() for name in rules.servers}
    with closing(store), ScriptedUpstream() as upstream:
        upstream.routes["/v1/models"] = Raw(b'{"data": []}', headers={"content-type": "application/json"})
        door = Door.open("gateway", rules, strict=True, store=store)
        service = assemble(
            upstream.address, rules, Options(), Access(token, bound_to="127.0.0.1"),
            Parts(
                Recording(store, rules, owned=False, backlog=Backlog(0.0)), Callers(store, fresh=0.0, soon=0.0),
                mcp=Endpoint(SharedGateway(door, opening(**links))),
            ),
        )  # fmt: skip
        with running(service.app) as address:
            site = Site(store, address, upstream, links, {"": token or ""})
            for caller in ("ada", "eve", "zoe"):
                site.tokens[caller] = site.token(caller)
            yield site
