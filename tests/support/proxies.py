"""What the tests of the proxy share: the proxy in a thread in front of a scripted upstream, and plain HTTP to either.

with proxied() as rig:
    rig.upstream.play([Answer([Text("Hi")])])
    post(rig.address, "/v1/chat/completions", {...})
"""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from msgspec import json
from starlette.types import ASGIApp

from rightcall import load_policy
from rightcall.proxy.gates import Options
from rightcall.server.access import Access
from rightcall.server.app import assemble, running
from support.scripted.server import ScriptedUpstream
from support.wires.chat import TOOLS

CHAT, RESPONSES, MESSAGES, OLLAMA = "/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat"


class Rig(NamedTuple):
    """`address` is the proxy's base URL, `direct` the upstream's own."""

    upstream: ScriptedUpstream
    address: str
    direct: str


class Got(NamedTuple):
    """An answer to a plain request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.decode(self.body)


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """An application of ours on a loopback port of its own, in a thread; its base URL."""
    with running(app) as (host, port):
        yield f"http://{host}:{port}"


def request(
    method: str, address: str, target: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> Got:
    """One plain request, on a connection of its own."""
    where = urlsplit(address)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=20)
    try:
        connection.request(method, where.path + target, body, headers or {})
        answer = connection.getresponse()
        body = answer.read()
        return Got(answer.status, {name.lower(): value for name, value in answer.getheaders()}, body)
    finally:
        connection.close()


def post(address: str, target: str, body: Any, headers: dict[str, str] | None = None) -> Got:
    """A request with JSON in it."""
    return request("POST", address, target, json.encode(body), {"content-type": "application/json"} | (headers or {}))


@contextmanager
def proxied(**settings: Any) -> Iterator[Rig]:
    """The proxy in front of a scripted upstream, both in threads of this process."""
    with ScriptedUpstream() as upstream, in_front_of(upstream.address, **settings) as address:
        yield Rig(upstream, address, upstream.address)


@contextmanager
def in_front_of(upstream: str, **settings: Any) -> Iterator[str]:
    """The proxy in front of anything, as `rightcall proxy --no-auth` puts it together; `settings` are its options."""
    access = Access(None, bound_to="127.0.0.1")
    with serving(assemble(upstream, load_policy(), Options(**settings), access).app) as address:
        yield address


def request_for(path: str, stream: bool) -> dict[str, Any]:
    """A request over the API of this path, with tools."""
    tools = json.decode(TOOLS)
    said = [{"role": "user", "content": "Weather in Bern?"}]
    if path == RESPONSES:
        flat = [{"type": "function", **tool["function"]} for tool in tools]
        return {"model": "m", "input": said, "tools": flat, "stream": stream}
    if path == MESSAGES:
        own = [{"name": one["function"]["name"], "input_schema": one["function"]["parameters"]} for one in tools]
        return {"model": "m", "max_tokens": 100, "messages": said, "tools": own, "stream": stream}
    return {"model": "m", "messages": said, "tools": tools, "stream": stream}
