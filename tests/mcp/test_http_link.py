"""Servers over HTTP that close their streams and mean to go on: polled until they answer, from where they were."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from starlette.types import ASGIApp, Receive, Scope, Send

from rightcall.mcp.links import HttpLink
from rightcall.mcp.session import FORGOTTEN, ServerGone
from rightcall.policy.settings import Server
from rightcall.server.app import running

pytestmark = pytest.mark.promise("H-52")

EVENTS = [(b"content-type", b"text/event-stream")]


class Scripted:
    """Answers each request with the next of its bodies (or statuses); `asked` is what it was asked."""

    def __init__(self, *script: bytes | int) -> None:
        self._script = list(script)
        self.asked: list[tuple[str, str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = dict(scope["headers"])
        self.asked.append((scope["method"], headers.get(b"last-event-id", b"").decode()))
        told = self._script.pop(0) if self._script else 404
        status, body = (told, b"") if isinstance(told, int) else (200, told)
        opened = [*EVENTS, (b"mcp-session-id", b"s")]
        await send({"type": "http.response.start", "status": status, "headers": opened})
        await send({"type": "http.response.body", "body": body})


class Listener:
    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.pauses: list[float] = []
        self.over = asyncio.Event()

    def message(self, data: bytes, related: int | None) -> None:
        message = json.decode(data)
        if "method" in message or "id" in message:  # else it is no message
            self.heard.append(message.get("method") or message.get("result") or message["error"]["message"])
        if "id" in message:
            self.over.set()

    def waits(self, id: int) -> bool:
        return not self.over.is_set()

    def failed(self, id: int, why: ServerGone) -> None:
        if not self.over.is_set():
            self.heard.append(str(why))
            self.over.set()

    def paused(self, id: int, seconds: float) -> None:
        self.pauses.append(seconds)

    def lost(self, why: str, words: str = "") -> None: ...


def asked(server: ASGIApp, done: Callable[[Listener], bool], *, listen: bool = False) -> Listener:
    async def main(port: int) -> Listener:
        listener = Listener()
        link = HttpLink(Server("a", url=f"http://127.0.0.1:{port}/mcp"))
        await link.open(listener)
        link.request(1, b"{}", {})
        async with asyncio.timeout(25):
            await listener.over.wait()
            if listen:
                link.agreed("2025-11-25", listen=True)
            while not done(listener):
                await asyncio.sleep(0.005)
        await link.aclose()
        return listener

    with running(server) as (_, port):
        return asyncio.run(main(port))


def priming(number: int, retry: int = 0) -> bytes:
    return b"id: %d\nretry: %d\ndata: \n\n" % (number, retry)


ANSWER = b'id: 9\ndata: {"jsonrpc": "2.0", "id": 1, "result": "done"}\n\n'


def test_a_server_may_close_the_stream_as_often_as_it_likes_while_it_goes_on() -> None:
    server = Scripted(*(priming(number) for number in range(1, 7)), ANSWER)
    listener = asked(server, lambda _: True)
    assert listener.heard == ["done"]
    assert server.asked[:7] == [("POST", ""), *(("GET", str(number)) for number in range(1, 7))]
    assert listener.pauses == [0.05] * 6  # a server that says 0 does not make us run in circles


@pytest.mark.parametrize(
    ("script", "requests"),
    [
        ((priming(1), b"", b"", b""), 3),  # nothing new, twice
        ((priming(1), 400), 2),
        ((b": nothing to come back to\n\n",), 1),
    ],
)
def test_a_stream_that_leads_nowhere_is_given_up(script: tuple[bytes | int, ...], requests: int) -> None:
    server = Scripted(*script)
    listener = asked(server, lambda _: True)
    assert listener.heard == ["it closed the stream without an answer"]
    assert [method for method, _ in server.asked if method != "DELETE"] == ["POST", *["GET"] * (requests - 1)]


def test_the_standing_stream_is_taken_up_where_it_was_and_anew_where_the_server_has_forgotten() -> None:
    news = b'id: 5\nretry: 10\ndata: {"jsonrpc": "2.0", "method": "notifications/x"}\n\n'
    server = Scripted(ANSWER, news, 400, news)
    module = "rightcall.mcp.links._PAUSE"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, 0.01)
        listener = asked(server, lambda listener: listener.heard.count("notifications/x") == 2, listen=True)
    assert listener.heard == ["done", "notifications/x", "notifications/x"]
    assert server.asked[1:4] == [("GET", ""), ("GET", "5"), ("GET", "")]


class Refusing:
    """Answers every request in the same way."""

    def __init__(self, status: int, body: bytes = b"", **headers: str) -> None:
        self._status, self._body = status, body
        self._headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": self._status, "headers": self._headers})
            await send({"type": "http.response.body", "body": self._body})


JSON = {"content_type": "application/json; charset=utf-8"}
SESSION = {"mcp_session_id": "s"}
NO_METHOD = b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no such method"}}'


@pytest.mark.parametrize(
    ("server", "told"),
    [
        (Refusing(302, location="http://a.example/mcp"), "it has moved to http://a.example/mcp: write that into"),
        (Refusing(401), "it wants a login: run `rightcall login a`"),
        (Refusing(403), "status 403: it does not accept what [servers.a] sends to identify us"),
        (Refusing(400), "the server answered with status 400"),
        (Refusing(404), "the server answered with status 404"),
        (Refusing(404, b"", **SESSION), FORGOTTEN),
        (Refusing(404, NO_METHOD, **JSON), "no such method"),
        (Refusing(404, NO_METHOD, **JSON, **SESSION), "no such method"),
        (Refusing(404, b'{"error": "Session not found"}', **JSON, **SESSION), FORGOTTEN),
        (Refusing(404, b'{"error": "Session not found"}', **JSON), "the server answered with status 404"),
        (Refusing(405, b"{}", **JSON), "the server answered with status 405"),
        (Refusing(500), "it answered with status 500 and no message"),
        (Refusing(200), "it answered with status 200 and no message"),
        (Refusing(500, NO_METHOD, content_type="text/event-stream"), "it answered with status 500 and no message"),
    ],
)  # fmt: skip
def test_a_server_that_says_no_is_told_in_words_that_help(
    server: Refusing, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (heard,) = asked(server, lambda _: True).heard
    assert told in heard
