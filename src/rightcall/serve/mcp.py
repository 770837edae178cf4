"""The gateway's endpoint, `/mcp`: streamable HTTP, in both eras.

    POST    one message; a request is answered with JSON, or with a stream where something comes before the answer
    GET     old era: the stream for what has to do with no request; with `Last-Event-ID` any stream, from there on
    DELETE  old era: the end of a session

Token, Host and Origin are checked before anything comes here (`rightcall.serve.access`). Whose rights count is said by
the token, never by what a client calls itself.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from starlette.types import Receive, Scope, Send

from rightcall.base.http.addresses import header_of
from rightcall.mcp.eras import HANDSHAKE, VERSION_KEY
from rightcall.mcp.gateway_shared import SharedGateway
from rightcall.mcp.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Message,
    fields,
    mapping,
    read,
    read_batch,
    value,
)
from rightcall.mcp.mirrors import HEADER_MISMATCH, header_text
from rightcall.mcp.serving import UNSUPPORTED_VERSION, Client
from rightcall.mcp.serving_answers import METHOD_NOT_FOUND, a_response, failure
from rightcall.serve.callers import entered
from rightcall.serve.mcp_sessions import Session, Sessions
from rightcall.serve.mcp_stream import Gone, Manner, Reply, body_of, plain, stream

_STATUS: Final = {
    PARSE_ERROR: 400, INVALID_REQUEST: 400, INVALID_PARAMS: 400, HEADER_MISMATCH: 400, -32021: 400,
    UNSUPPORTED_VERSION: 400, METHOD_NOT_FOUND: 404,
}  # fmt: skip
PRIMED_SINCE: Final = "2025-11-25"
"""The first revision whose clients know that a stream may begin with an event that says nothing."""
_NAMED: Final = {
    "tools/call": "name", "prompts/get": "name", "resources/read": "uri",
    "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
}  # fmt: skip
_VERSION, _METHOD, _NAME = b"mcp-protocol-version", b"mcp-method", b"mcp-name"


class Endpoint:
    """An ASGI application for one path."""

    def __init__(self, gateway: SharedGateway) -> None:
        self.gateway = gateway
        self.sessions = Sessions(gateway)
        gateway.tidying.append(self.sessions.tidy)

    def stop(self) -> None:
        """End the streams that would stay open for ever, so that the server can stop."""
        self.gateway.end_news()
        self.sessions.end()

    async def aclose(self) -> None:
        """Stop the servers, and close the door with everything on disk."""
        self.stop()
        await self.gateway.aclose()
        await asyncio.to_thread(self.gateway.door.close)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        version = _read_header(scope["headers"], _VERSION)
        try:
            if version and version not in HANDSHAKE:
                await self._new(scope, receive, send)
            else:
                await self._old(scope, receive, send)
        except Gone:
            return

    # ── the new era: each request stands for itself ──────────────────────────────────────────────────────────────

    async def _new(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await plain(send, 405, b"", [(b"allow", b"POST")])
            return
        body = await body_of(receive)
        message = read(body)
        if message is None or not isinstance(message.method, str):
            known = read_batch(body) is not None or message is not None
            await _fail(send, 400, INVALID_REQUEST if known else PARSE_ERROR, "the body is one JSON-RPC request")
            return
        if not message.is_request:
            await plain(send, 202)
            return
        if wrong := _mismatch(message, scope["headers"]):
            await _fail(send, 400, HEADER_MISMATCH, wrong, message.id)
            return
        client = Client(self.gateway, entered(scope).caller, lambda _: None)
        client.decides_for_all = entered(scope).operator
        client.headers = scope["headers"]
        reply = Reply(client, body, message, self.sessions.room)
        try:
            await stream(reply, scope, receive, send, Manner(_status, cancels=True))
        finally:
            client.leave()

    # ── the old era: sessions ────────────────────────────────────────────────────────────────────────────────────

    async def _old(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = header_of(scope["headers"], b"mcp-session-id").decode("latin-1")
        session = self.sessions.find(given, entered(scope)) if given else None
        if given and session is None:
            await _fail(send, 404, INVALID_REQUEST, "Session not found")
        elif scope["method"] == "POST":
            await self._post(session, scope, receive, send)
        elif session is None or scope["method"] not in ("GET", "DELETE"):
            status = 400 if scope["method"] in ("GET", "DELETE") else 405
            await _fail(send, status, INVALID_REQUEST, "this needs a session: POST initialize first")
        elif scope["method"] == "DELETE":
            self.sessions.close(session)
            await plain(send, 200)
        else:
            place = session.place(header_of(scope["headers"], b"last-event-id").decode("latin-1"))
            if place is None:
                await _fail(send, 400, INVALID_REQUEST, "Last-Event-ID names no stream of this session, or no longer")
                return
            await session.follow(place, receive, send, entered(scope).still)

    async def _post(self, session: Session | None, scope: Scope, receive: Receive, send: Send) -> None:
        body = await body_of(receive)
        message = read(body)
        if message is None:
            await self._batch(session, body, send)
            return
        if session is None:
            if message.method != "initialize" or not message.is_request:
                await _fail(send, 400, INVALID_REQUEST, "Missing session ID: POST initialize first", message.id)
                return
            session = self.sessions.open(entered(scope))
            if session is None:
                await _fail(send, 503, -32603, "too many sessions are open", message.id)
                return
        if message.is_request:
            session.touch()
            extra = [(b"mcp-session-id", session.id.encode())] if message.method == "initialize" else []
            primed = session.client.peer.version >= PRIMED_SINCE
            reply = session.reply(body, message)
            manner = Manner(_fine, cancels=False, primed=primed)
            await stream(reply, scope, receive, send, manner, extra)
            session.touch()
        elif message.is_response or isinstance(message.method, str):
            (session.client.answered if message.is_response else session.client.notified)(message)
            await plain(send, 202)
        else:
            await _fail(send, 400, INVALID_REQUEST, "this is no message: it has no method and no id")

    async def _batch(self, session: Session | None, body: bytes, send: Send) -> None:
        """Several messages at once, as the revision 2025-03-26 has them."""
        batch = read_batch(body)
        if batch is None:
            await _fail(send, 400, PARSE_ERROR, "the body is one JSON-RPC message")
            return
        if session is None or not batch:
            await _fail(send, 400, INVALID_REQUEST, "a batch needs a session, and messages")
            return
        replies = await asyncio.gather(*(self._one(session, bytes(one)) for one in batch))
        found = [one for one in replies if one is not None]
        await plain(send, 200 if found else 202, b"[%b]" % b",".join(found) if found else b"")

    async def _one(self, session: Session, line: bytes) -> bytes | None:
        message = read(line)
        if message is None:
            return a_response(b"null", failure(INVALID_REQUEST, "this is no message"))
        if message.is_request:
            return await session.client.request(line, message, session.client.send)
        (session.client.answered if message.is_response else session.client.notified)(message)
        return None


def _mismatch(message: Message, headers: list[tuple[bytes, bytes]]) -> str | None:
    """What routes a request must be what it says (2026-07-28)."""
    for name in (_VERSION, _METHOD, _NAME):
        if sum(key == name for key, _ in headers) > 1:
            return f"Header mismatch: {name.decode()} is there twice"
    params = fields(message.params)
    meta = mapping(value(params.get("_meta", b"")))
    if VERSION_KEY in meta and _read_header(headers, _VERSION) != meta[VERSION_KEY]:
        return "Header mismatch: mcp-protocol-version does not match the version in the request's _meta"
    if _read_header(headers, _METHOD) != message.method:
        return "Header mismatch: mcp-method does not match the request's method"
    key = _NAMED.get(message.method)
    named = value(params.get(key, b"")) if key else None
    if named is not None and header_text(header_of(headers, _NAME)) != named:
        return f"Header mismatch: mcp-name does not match the request's {key}"
    return None


def _read_header(headers: list[tuple[bytes, bytes]], name: bytes) -> str:
    """Without the blanks around it, which mean nothing in HTTP."""
    return header_of(headers, name).strip(b" \t").decode("latin-1")


def _fine(_: bytes) -> int:
    return 200


def _status(response: bytes) -> int:
    error = mapping(value(response)).get("error") if b'"error"' in response[:400] else None
    code: Any = mapping(error).get("code")
    return _STATUS.get(code, 200) if isinstance(code, int) else 200


async def _fail(send: Send, status: int, code: int, text: str, id: Any = b"null") -> None:
    await plain(send, status, a_response(bytes(id) or b"null", failure(code, text)))
