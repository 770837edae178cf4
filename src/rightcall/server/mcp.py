"""The gateway's endpoint, `/mcp`: streamable HTTP, in both eras.

    POST    one message; a request is answered with JSON, or with a stream where something comes before the answer
    GET     old era: the stream for what has to do with no request; with `Last-Event-ID` any stream, from there on
    DELETE  old era: the end of a session

Token, Host and Origin are checked before anything comes here (`rightcall.server.access`). Whose rights count is said by
the token, never by what a client calls itself.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from secrets import token_urlsafe
from time import monotonic
from typing import Any, Final, NamedTuple

from msgspec import Raw
from starlette.types import Message as Event
from starlette.types import Receive, Scope, Send

from rightcall.base.http.answers import header_of, length_of, sse
from rightcall.errors import StoreError
from rightcall.executor.calls import Speaking
from rightcall.mcp.gateway.shared import SharedGateway
from rightcall.mcp.messages import (
    HANDSHAKE,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    VERSION_KEY,
    Message,
    a_response,
    failed_result,
    fields,
    header_text,
    mapping,
    one_line,
    read,
    read_batch,
    value,
)
from rightcall.mcp.serving import UNSUPPORTED_VERSION, Client, new_context
from rightcall.server.access import Entered, Gone, body_of, entrance_of
from rightcall.server.channels import MOST_BYTES, RETRY, Channel, Ended, Room, place_of, retry

# ── streams ──
# The answer to one POST: JSON, or a stream of events where something has to be said before the answer is there, or
# where the client can come back for what it has missed; and what it gets when it does.

PING: Final = 15.0
"""Seconds of silence after which a stream shows that it is alive."""
_LOOKING: Final = 0.05
"""Seconds between two looks whether anything runs."""
SOON: Final = 0.05
"""Seconds that an answer has before a stream for it opens, where its client can come back to one."""
_STREAM: Final = b"text/event-stream"
_KINDS: Final = (b"application/json", b"application/*", b"*/*", _STREAM)
_EVENTS: Final = [
    (b"content-type", _STREAM),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_JSON: Final = (b"content-type", b"application/json")
_NEVER: Final = re.compile(rb"\bq=0(\.0*)?\s*$")
Header = tuple[bytes, bytes]
Still = Callable[[], Awaitable[bool]]


class Reply:
    """One request under way, and what has been said to it so far. With a `name` its client may come back for it;
    `over` hears when there is nothing more to say."""

    def __init__(
        self, client: Client, body: bytes, message: Message, room: Room, name: str = "",
        over: Callable[[Reply], None] | None = None,
    ) -> None:  # fmt: skip
        self.id = message.id
        self._over = over
        self.channel = Channel(name, room)
        self.room = room
        self.answer: bytes | None = None
        """None as long as it is not there, and for a request that the client has cancelled, which gets none."""
        self.can_pause = False
        """Whether its client is given a number to come back with before anything is said."""
        self.is_followed = False
        """Whether it was given any."""
        self.task = asyncio.get_running_loop().create_task(self._run(client, body, message))

    @property
    def has_news(self) -> bool:
        """Whether anything came before the answer."""
        return self.channel.last > (self.answer is not None)

    def emit(self, message: bytes) -> None:
        if not self.channel.is_over:
            self.channel.put(message)

    async def _run(self, client: Client, body: bytes, message: Message) -> None:
        """Ends here and not in a callback of the task, which would be one round of the loop later."""
        try:
            self.answer = await client.request(body, message, self.emit)
            if self.answer is not None:
                self.channel.put(self.answer, always=True)
        finally:
            self.end()

    def end(self) -> None:
        """Nothing more will be said. A second time changes nothing."""
        if not self.channel.is_over:
            self.channel.end()
            if self._over is not None:
                self._over(self)


class Manner(NamedTuple):
    """How an era of the protocol is answered."""

    status: Callable[[bytes], int]
    """The status of an answer that comes alone."""
    primed: bool = False
    """A client that knows such streams can come back from the first moment."""


async def stream(
    reply: Reply, scope: Scope, receive: Receive, send: Send, manner: Manner, headers: Sequence[Header] = ()
) -> None:
    """A stream whose token was revoked meanwhile ends like one whose client has left."""
    accept = _accepted(first_headers(scope).get(b"accept", b""))
    eager = reply.can_pause = manner.primed and _STREAM in accept
    channel = reply.channel
    await reply.room.first_of(channel, SOON)  # nobody looks meanwhile whether the client is still there
    prefers_json = next((one for one in accept if one in _KINDS), _STREAM) != _STREAM
    if eager and prefers_json and channel.is_over and reply.answer is not None and not reply.has_news:
        await plain(send, manner.status(reply.answer), reply.answer, headers)
        return
    takes_events = _STREAM in accept or b"*/*" in accept
    watch = asyncio.ensure_future(_left(receive))
    try:
        with channel.attended():
            while not eager and not channel.is_over and not (takes_events and reply.has_news):
                await _either(channel, watch, None, channel.last)
            if not eager and not (takes_events and reply.has_news):
                if reply.answer is not None:
                    await plain(send, manner.status(reply.answer), reply.answer, headers)
                    return
                if not takes_events:
                    await plain(send, 202, b"", headers)
                    return
            reply.is_followed = bool(channel.name)
            await send({"type": "http.response.start", "status": 200, "headers": [*_EVENTS, *headers]})
            await _follow(
                channel, 0, watch, send, entrance_of(scope).still, channel.priming() if manner.primed else b""
            )
    finally:
        watch.cancel()


@lru_cache(maxsize=64)  # the same few with every request
def _accepted(accept: bytes) -> tuple[bytes, ...]:
    """What a client takes by its header, as it orders it, without what that names to refuse it.

    >>> _accepted(b"application/json;q=0, text/event-stream;q=0.5"), _accepted(b"")
    ((b'text/event-stream',), (b'*/*',))
    """
    kinds = [one.partition(b";") for one in (accept or b"*/*").lower().split(b",")]
    return tuple(kind.strip() for kind, _, about in kinds if not _NEVER.search(about))


async def resume_stream(channel: Channel, number: int, receive: Receive, send: Send, still: Still) -> None:
    """A stream, from a number on: one of a request, or the standing one, for what has to do with none."""
    watch = asyncio.ensure_future(_left(receive))
    await send({"type": "http.response.start", "status": 200, "headers": _EVENTS})
    channel.pause = None
    first = b": listening\n\n" + retry(RETRY / 1000)
    await _put(send, first)
    try:
        with channel.attended():
            await _follow(channel, number, watch, send, still)
    except Gone:
        if not watch.done():
            await send({"type": "http.response.body", "body": b""})
    finally:
        watch.cancel()


async def _follow(
    channel: Channel, number: int, watch: asyncio.Future[None], send: Send, still: Still, first: bytes = b""
) -> None:
    """Until the stream is over, another connection follows it, or it is to be taken up again later. Raises Gone, also
    where the client's token counts no longer."""
    turn = channel.take()
    is_new = True
    while is_new or await counts(still):
        is_new = False
        if channel.turn != turn:
            await send({"type": "http.response.body", "body": b""})
            return
        events, number = channel.after(number)
        data = first + events
        first = b""
        if channel.is_over or channel.pause is not None:
            data += b"" if channel.is_over else retry(channel.pause or 0.0)
            await send({"type": "http.response.body", "body": data})
            return
        if data:
            await _put(send, data)
        if channel.turn == turn and not await _either(channel, watch, PING, number):
            await _put(send, b": ping\n\n")
    raise Gone


async def _either(channel: Channel, watch: asyncio.Future[None], seconds: float | None = None, number: int = 0) -> bool:
    """Waits for what comes after a number; False when the time was over first. Raises Gone."""
    if channel.last > number or channel.is_over or channel.pause is not None:
        return True
    channel.news.clear()
    news = asyncio.ensure_future(channel.news.wait())
    try:
        done, _ = await asyncio.wait((news, watch), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        news.cancel()
    if watch in done and not channel.is_over:
        raise Gone
    return bool(done)


async def counts(still: Still) -> bool:
    """Whether a token still does; while that cannot be found out, no."""
    try:
        return await still()
    except StoreError:
        return False


async def plain(
    send: Send, status: int, body: bytes = b"", headers: Sequence[Header] = (), kind: Sequence[Header] = (_JSON,)
) -> None:
    about = kind if body else ()
    await send({"type": "http.response.start", "status": status, "headers": [*about, length_of(body), *headers]})
    await send({"type": "http.response.body", "body": body})


STOPPED: Final = "RightCall was stopped before this answer was complete. What a tool did until then is not known."


class Outlet:
    """Where one request is answered: `send`, with what is needed to end it when the server is stopped."""

    __slots__ = ("_is_over", "_is_stream", "_send", "id")

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_stream: bool | None = None
        self._is_over = False
        self.id = b""
        """That of the request, once it was read."""

    async def __call__(self, message: Event) -> None:
        if message["type"] == "http.response.start":
            self._is_stream = message["headers"][:1] == _EVENTS[:1]
        else:
            self._is_over = not message.get("more_body", False)
        await self._send(message)

    async def stop(self) -> bool:
        """Tell the client that no answer comes; False where half of one is sent."""
        error = a_response(self.id or b"null", failed_result(-32603, STOPPED, {"code": "stopped"}))
        if self._is_stream is None:
            await plain(self, 503, error)
        elif self._is_stream and not self._is_over:
            await self({"type": "http.response.body", "body": sse(one_line(error), "message") if self.id else b""})
        return self._is_over


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _put(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


# ── sessions ──
# The sessions of clients of the old era: who shook hands, and the stream on which they hear what nobody asked for.

MOST: Final = 1_000
IDLE: Final = 3_600.0
"""Seconds after which a session without a request or a stream is forgotten; its client opens another."""
_STANDING: Final = "standing"
"""The name of the stream for what has to do with no request."""
_WAITING: Final = 1_000
_FEW, _SMALL = 4, 10_000
"""Large messages wait only where few do; a client that never listens must not fill our memory."""


class Session:
    """One client, with its place for news."""

    def __init__(
        self, gateway: SharedGateway, opened_by: Entered, ended: Ended[Reply], room: Room, place: str = ""
    ) -> None:
        self.id = f"{place}.{token_urlsafe(24)}" if place else token_urlsafe(24)
        self.client = Client(gateway, opened_by.caller, self._send, new_context())
        self.client.decides_for_all = opened_by.operator
        self._identity = opened_by.identity
        self.client.pausing = self._pause
        self.client.transport = "tcp"
        self.seen = monotonic()
        self._standing = Channel(_STANDING, room, MOST_BYTES)  # what waits there is limited by `_send`
        self._room = room
        self._ended = ended
        self._running: dict[str, Reply] = {}
        self._opened = 0
        self._listens = 0

    @property
    def is_idle(self) -> bool:
        return not self._listens and monotonic() - self.seen > IDLE

    def is_of(self, entered: Entered) -> bool:
        own = self.client.caller, self.client.decides_for_all, self._identity
        return own == (entered.caller, entered.operator, entered.identity)

    def touch(self) -> None:
        self.seen = monotonic()

    def reply(self, body: bytes, message: Message) -> Reply:
        """Answer a request. Its client may come back for the answer until some time after it is there."""
        self._opened += 1
        name = str(self._opened)
        reply = self._running[name] = Reply(self.client, body, message, self._room, name, self._finished)
        return reply

    def place(self, event_id: str) -> tuple[Channel, int] | None:
        """The stream and the number that its client has heard last; without an id the standing stream, and all that
        was not sent yet. None where there is no such stream, or no longer."""
        if not event_id:
            return self._standing, self._standing.sent
        name, number = place_of(event_id) or ("", 0)
        if name == _STANDING:
            return self._standing, number
        reply = self._running.get(name) or self._ended.find(self, name)
        return (reply.channel, number) if reply is not None else None

    async def follow(self, place: tuple[Channel, int], receive: Receive, send: Send, still: Still) -> None:
        self._listens += 1
        try:
            await resume_stream(*place, receive, send, still)
        finally:
            self._listens -= 1
            self.touch()

    def quieten(self) -> None:
        """It hears and answers nothing any more but what it has asked for."""
        self._standing.end()
        self.client.hang_up()

    def end(self) -> None:
        self._standing.end()
        self._ended.forget(self)

    def _finished(self, reply: Reply) -> None:
        name = reply.channel.name
        del self._running[name]
        if reply.is_followed:
            self._ended.keep(self, name, reply, reply.channel.size)

    def _pause(self, id: Raw, seconds: float) -> None:
        for reply in self._running.values():
            if bytes(reply.id) == bytes(id) and reply.can_pause:
                reply.channel.suspend(seconds)

    def _send(self, message: bytes) -> None:
        waiting = self._standing.waiting
        if waiting < _FEW or (waiting < _WAITING and len(message) < _SMALL):
            self._standing.put(message)


class Sessions:
    """All of them. A session is found by its id and by its caller: with another's id alone nobody gets anywhere."""

    def __init__(self, gateway: SharedGateway, place: str = "") -> None:
        self._gateway = gateway
        self._place = place
        self._open: dict[str, Session] = {}
        self._ended = Ended[Reply]()
        self.room = Room()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, entered: Entered) -> Session | None:
        """A new one; None when there are too many."""
        if len(self._open) >= MOST:
            self.tidy()
        if len(self._open) >= MOST:
            return None
        session = Session(self._gateway, entered, self._ended, self.room, self._place)
        self._open[session.id] = session
        return session

    def used_within(self, seconds: float) -> bool:
        now = monotonic()
        return any(now - session.seen < seconds for session in self._open.values())

    def tidy(self) -> None:
        self._ended.tidy()
        for session in [one for one in self._open.values() if one.is_idle]:
            self.close(session)

    def find(self, id: str, entered: Entered) -> Session | None:
        session = self._open.get(id)
        return session if session is not None and session.is_of(entered) else None

    def close(self, session: Session) -> None:
        if self._open.pop(session.id, None) is not None:
            self._gateway.gone(session.client)
            session.end()

    def quieten(self) -> None:
        for session in self._open.values():
            session.quieten()

    def end(self) -> None:
        for session in list(self._open.values()):
            self.close(session)


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
_FIRST: Final = "rightcall.headers"
_VERSION, _METHOD, _NAME = b"mcp-protocol-version", b"mcp-method", b"mcp-name"


class Endpoint:
    """An ASGI application for one path. `place` names the process, where several are one server: its sessions are found
    by it."""

    def __init__(self, gateway: SharedGateway, place: str = "") -> None:
        self.gateway = gateway
        self.sessions = Sessions(gateway, place)
        gateway.tidying.append(self.sessions.tidy)

    def stop(self) -> None:
        """End the streams that would stay open for ever, so that the server can stop. What was asked for runs on."""
        self.gateway.end_news()
        self.sessions.quieten()

    async def drain(self) -> None:
        """Until all is answered that was asked for, also where nobody has kept the connection."""
        while self.gateway.is_answering:
            await asyncio.sleep(_LOOKING)

    async def aclose(self) -> None:
        """Stop the servers, and close the door with everything on disk."""
        self.stop()
        await self.gateway.cut_off()
        self.sessions.end()
        await self.gateway.aclose()
        await asyncio.to_thread(self.gateway.door.close)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        version = first_headers(scope).get(_VERSION, b"").strip(b" \t").decode("latin-1")
        outlet = Outlet(send)
        try:
            with self.gateway.door.telemetry.around(scope["headers"]), Speaking(entrance_of(scope).identity):
                if version and version not in HANDSHAKE:
                    await self._new(scope, receive, outlet)
                else:
                    await self._old(scope, receive, outlet)
        except Gone:
            return
        except asyncio.CancelledError:  # by us: its client waits
            if not await outlet.stop():
                raise

    # ── the new era: each request stands for itself ──────────────────────────────────────────────────────────────

    async def _new(self, scope: Scope, receive: Receive, send: Outlet) -> None:
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
        send.id = bytes(message.id)
        if wrong := _mismatch(message, scope["headers"]):
            await _fail(send, 400, HEADER_MISMATCH, wrong, message.id)
            return
        client = Client(self.gateway, entrance_of(scope).caller, lambda _: None)
        client.decides_for_all = entrance_of(scope).operator
        client.headers = scope["headers"]
        client.transport = "tcp"
        reply = Reply(client, body, message, self.sessions.room)
        try:
            await stream(reply, scope, receive, send, Manner(_status))
        except asyncio.CancelledError:
            if not reply.task.cancelling():
                reply.task.cancel()
            await asyncio.wait((reply.task,))  # until that is recorded
            reply.end()  # where it had not even begun
            raise
        except Exception:  # its client has left, or cannot be answered: what it asked for ends
            client.leave()
            raise

    # ── the old era: sessions ────────────────────────────────────────────────────────────────────────────────────

    async def _old(self, scope: Scope, receive: Receive, send: Outlet) -> None:
        given = first_headers(scope).get(b"mcp-session-id", b"").decode("latin-1")
        session = self.sessions.find(given, entrance_of(scope)) if given else None
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
            await session.follow(place, receive, send, entrance_of(scope).still)

    async def _post(self, session: Session | None, scope: Scope, receive: Receive, send: Outlet) -> None:
        body = await body_of(receive)
        message = read(body)
        if message is None:
            await self._batch(session, body, send)
            return
        if session is None:
            if message.method != "initialize" or not message.is_request:
                await _fail(send, 400, INVALID_REQUEST, "Missing session ID: POST initialize first", message.id)
                return
            session = self.sessions.open(entrance_of(scope))
            if session is None:
                await _fail(send, 503, -32603, "too many sessions are open", message.id)
                return
        if message.is_request:
            session.touch()
            send.id = bytes(message.id)
            extra = [(b"mcp-session-id", session.id.encode())] if message.method == "initialize" else []
            manner = _PRIMED if session.client.peer.version >= PRIMED_SINCE else _PLAIN
            await stream(session.reply(body, message), scope, receive, send, manner, extra)
            session.touch()
        elif message.is_response or isinstance(message.method, str):
            (session.client.answered if message.is_response else session.client.notified)(message)
            await plain(send, 202)
        else:
            await _fail(send, 400, INVALID_REQUEST, "this is not a message: it has no method and no id")

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
            return a_response(b"null", failed_result(INVALID_REQUEST, "this is not a message"))
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


def first_headers(scope: Scope) -> dict[bytes, bytes]:
    """Of each name the first. Made once: looking through the list for each costs more."""
    found = scope.get(_FIRST)
    if found is None:
        found = scope[_FIRST] = dict(reversed(scope["headers"]))
    return found


def _fine(_: bytes) -> int:
    return 200


_PLAIN, _PRIMED = Manner(_fine), Manner(_fine, primed=True)


def _status(response: bytes) -> int:
    error = mapping(value(response)).get("error") if b'"error"' in response[:400] else None
    code: Any = mapping(error).get("code")
    return _STATUS.get(code, 200) if isinstance(code, int) else 200


async def _fail(send: Send, status: int, code: int, text: str, id: Any = b"null") -> None:
    await plain(send, status, a_response(bytes(id) or b"null", failed_result(code, text)))
