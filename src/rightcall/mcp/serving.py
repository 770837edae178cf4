"""What a client of ours sees of the protocol, in both eras, without any I/O: who it is, its requests, its answers to
questions, what it cancels. How bytes come and go is the business of `StdioServer` below and of `rightcall.server.mcp`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from secrets import randbits, token_hex
from typing import Any, BinaryIO, Final, Protocol, cast

from msgspec import Raw

from rightcall.base.http.answers import JsonLines, TooLong
from rightcall.base.telemetry.spans import NO_SPAN, Span
from rightcall.mcp.messages import (
    CANCELLED,
    CAPABILITIES_KEY,
    HANDSHAKE,
    INTERNAL,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    PROGRESS,
    SERVER_GONE,
    STATELESS,
    VERSION_KEY,
    Answer,
    Bytes,
    Headers,
    Message,
    Peer,
    Refused,
    a_response,
    failed_result,
    fields,
    identity,
    is_text,
    mapping,
    notification,
    one_line,
    peer_of_handshake,
    peer_of_request,
    read,
    read_batch,
    request,
    success,
    value,
)
from rightcall.mcp.session import ServerGone, ServerSlow, spawn

log = logging.getLogger("rightcall")

Emit = Callable[[bytes], None]
MOST_RUNNING = 1_000
"""Requests of one client that may run at a time."""
MOST_BYTES = 4_000_000
"""Of the params of one request."""
UNSUPPORTED_VERSION = -32022
_PROGRESS_KEY = "progressToken"


class Backend(Protocol):
    """What is served."""

    async def introduction(self, client: Client, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        """Capabilities, the server's name and its instructions; `capabilities` are the client's."""
        ...

    async def answer(self, exchange: Exchange) -> Answer:
        """Raises Refused, ServerGone and ServerSlow."""
        ...

    def noticed(self, client: Client, method: str, params: Raw) -> None:
        """A notification of a client's."""
        ...


WITHDRAWN: Final = "The client cancelled it."
STOPPED: Final = "The server was stopped before the tool answered; what it did is not known."


class Client:
    """One client: a session of the old era, or in the new one a connection or a single request. `send` reaches it
    outside of any request; where nothing does, it is dropped. `context` names the session or connection that its calls
    belong to, and their approvals; a single request has none."""

    def __init__(self, backend: Backend, caller: str, send: Emit, context: str | None = None) -> None:
        self.backend = backend
        self.caller = caller
        self.context = context
        self.send = send
        self.peer = Peer()
        self.capabilities: Mapping[str, Any] = {}
        self.info: Mapping[str, Any] = {}
        self.level: str | None = None
        """Of the log messages it wants to hear."""
        self.may_set_level = False
        """Whether it was told that it can say so."""
        self.transport = "pipe"
        """As telemetry calls it: `tcp` where it comes by HTTP."""
        self.headers: Headers | None = None
        """Those of a client that is a single request over HTTP, which repeat parts of it."""
        self.pausing: Callable[[Raw, float], None] = lambda _, __: None
        """Told that the answer to a request (its id) is to come later, so that nobody need hold a connection for it."""
        self.subscribed: set[str] = set()
        self.is_greeted = False
        self.decides_for_all = True
        """Whether its user may accept a tool's changed definition, which then holds for every caller."""
        self._running: dict[bytes, asyncio.Task[Any]] = {}
        self._withdrawn: set[bytes] = set()
        """Those of them that the client no longer wants."""
        self._asked: dict[int, asyncio.Future[Answer]] = {}

    async def request(self, line: Bytes, message: Message, emit: Emit) -> bytes | None:
        """The response to a request; None for one that the client itself has cancelled. `emit` takes what belongs to it
        and comes before. Every request runs in a task of its own, which is the caller's to make."""
        key = bytes(message.id)
        if identity(message.id) is None:
            return a_response(b"null", failed_result(INVALID_REQUEST, "the id of a request is a string or a number"))
        if not is_text(line):
            return a_response(key, failed_result(PARSE_ERROR, "the request is not valid UTF-8"))
        if key in self._running or len(self._running) >= MOST_RUNNING:
            return a_response(
                key, failed_result(INVALID_REQUEST, "this id is in use, or too many requests run already")
            )
        if len(bytes(message.params)) > MOST_BYTES:
            told = f"the params of a request are {MOST_BYTES // 1_000_000} MB at most"
            return a_response(key, failed_result(INVALID_PARAMS, told))
        task = self._running[key] = cast("asyncio.Task[Any]", asyncio.current_task())
        try:
            return a_response(key, await self._answer(line, message, emit))
        except asyncio.CancelledError:
            if key in self._withdrawn and task.uncancel() == 0:  # else somebody has cancelled the task as well
                return None
            raise
        finally:
            del self._running[key]
            self._withdrawn.discard(key)

    def notified(self, message: Message) -> None:
        if message.method == CANCELLED:
            self._withdraw(bytes(fields(message.params).get("requestId", b"")))
        elif isinstance(message.method, str):
            self.backend.noticed(self, message.method, message.params)

    def answered(self, message: Message) -> None:
        """An answer to a question of ours. One to a question that was never asked is nobody's."""
        number = value(message.id)
        waiting = self._asked.get(number) if isinstance(number, int) else None
        if waiting is not None and not waiting.done():
            waiting.set_result(Answer(error=message.error) if message.error else Answer(message.result or Raw(b"{}")))

    async def ask(self, method: str, params: Mapping[str, Any] | Raw | None, emit: Emit) -> Answer:
        """Ask the client (old era); cancelling it takes the question back."""
        number = randbits(50)  # nobody answers a question before it is asked
        waiting = self._asked[number] = asyncio.get_running_loop().create_future()
        emit(request(number, method, params))
        try:
            return await waiting
        except asyncio.CancelledError:
            emit(notification(CANCELLED, {"requestId": number}))
            raise
        finally:
            self._asked.pop(number, None)

    def leave(self) -> None:
        """The client is gone: nothing of its runs on, and nobody waits for its answers."""
        for key in list(self._running):
            self._withdraw(key)
        self.hang_up()

    def hang_up(self) -> None:
        """The client will answer nothing any more; what it has asked for may still come to its end."""
        for waiting in list(self._asked.values()):
            if not waiting.done():
                waiting.set_result(failed_result(SERVER_GONE, "the client is gone"))

    def has_withdrawn(self, id: Raw) -> bool:
        """Whether it no longer wants the answer to a request that still runs."""
        return bytes(id) in self._withdrawn

    def _withdraw(self, key: bytes) -> None:
        if key in self._running and key not in self._withdrawn:
            self._withdrawn.add(key)
            self._running[key].cancel()

    async def _answer(self, line: Bytes, message: Message, emit: Emit) -> Answer:
        try:
            if message.method == "initialize" and not self._is_modern(message):
                return await self._greet(message)
            exchange = Exchange(self, line, message, emit)
            if message.method == "initialize":
                raise Refused(METHOD_NOT_FOUND, "Method not found", "initialize")
            if message.method == "server/discover":
                return await self._discover(exchange)
            answer = await self.backend.answer(exchange)
            if exchange.outlives:  # what there is to say of it later belongs to no request
                exchange.emit = self.send
            return answer
        except Refused as refused:
            return refused.answer
        except (ServerGone, ServerSlow) as gone:
            return failed_result(SERVER_GONE, str(gone))
        except Exception:
            log.exception("rightcall: an MCP request failed")
            return failed_result(INTERNAL, "RightCall could not handle this request; its log says more")

    def _is_modern(self, message: Message) -> bool:
        """Whether a request is of the era that shakes no hands."""
        return self.headers is not None or VERSION_KEY in mapping(value(fields(message.params).get("_meta", b"")))

    async def _greet(self, message: Message) -> Answer:
        params = mapping(value(message.params))
        wanted = params.get("protocolVersion")
        version = wanted if wanted in HANDSHAKE else HANDSHAKE[-1]
        self.peer = peer_of_handshake({**params, "protocolVersion": version})
        self.capabilities = mapping(params.get("capabilities"))
        self.info = mapping(params.get("clientInfo"))
        self.is_greeted = True
        return success({"protocolVersion": version, **await self.backend.introduction(self, self.capabilities)})

    async def _discover(self, exchange: Exchange) -> Answer:
        if not exchange.peer.stateless:
            raise Refused(METHOD_NOT_FOUND, "Method not found", "server/discover")
        told = await self.backend.introduction(self, exchange.capabilities)
        info = {"_meta": {"io.modelcontextprotocol/serverInfo": told.pop("serverInfo")}}
        fresh = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return success({"supportedVersions": list(STATELESS), **told, **fresh, **info})


class Exchange:
    """One request: what is asked, by whom, and how to say something before the answer."""

    def __init__(self, client: Client, line: Bytes, message: Message, emit: Emit) -> None:
        self.client = client
        self.caller = client.caller
        self.id = message.id
        self.method: str = message.method
        self.line = line
        self.params = fields(message.params)
        self.emit = emit
        self.headers = client.headers
        self.meta: Mapping[str, Any] = mapping(value(self.params.get("_meta", b"")))
        self.peer = _checked(client, self.meta)
        self.capabilities = mapping(self.meta.get(CAPABILITIES_KEY)) if self.peer.stateless else client.capabilities
        self.token: Any = self.meta.get(_PROGRESS_KEY)
        self.span: Span = NO_SPAN
        """What follows it, where telemetry is on."""
        self.questions: Questions | None = None
        """Where a client of the new era is asked: it cannot be, while its request runs."""
        self.given_up = ""
        """Why nobody waits for it any more, where that is known."""

    @property
    def party(self) -> object:
        return self.client

    @property
    def wants_progress(self) -> bool:
        return self.token is not None

    @property
    def outlives(self) -> bool:
        return "task" in self.params

    @property
    def why_cut_off(self) -> str:
        """For the record, where it is cancelled: only what its client has done is said to be the client's doing."""
        return self.given_up or (WITHDRAWN if self.client.has_withdrawn(self.id) else STOPPED)

    def progress(self, params: dict[str, Raw]) -> None:
        self.emit(notification(PROGRESS, {**params, _PROGRESS_KEY: self.token}))

    def paused(self, seconds: float) -> None:
        """The server will go on with this request later, and has closed the connection until then."""
        self.client.pausing(self.id, seconds)

    def can(self, capability: str) -> bool:
        return isinstance(self.capabilities.get(capability), dict)

    async def ask(self, method: str, params: Mapping[str, Any] | Raw | None) -> Answer:
        """Ask this very client, in its own era."""
        if not self.peer.stateless:
            return await self.client.ask(method, params, self.emit)
        if self.questions is None:
            return failed_result(SERVER_GONE, "this client cannot be asked while its request runs")
        return await self.questions.ask(method, params)


class Questions(Protocol):
    async def ask(self, method: str, params: Mapping[str, Any] | Raw | None) -> Answer: ...


def new_context() -> str:
    """The name of one session in the record. Not the session's id, with which somebody could act for its client."""
    return f"mcp-{token_hex(8)}"


def _checked(client: Client, meta: Mapping[str, Any]) -> Peer:
    """Whether a request is one of the client's era, and complete."""
    if VERSION_KEY not in meta:
        if not client.is_greeted:
            raise Refused(INVALID_PARAMS, "first shake hands (initialize), or send the envelope of 2026-07-28 in _meta")
        return client.peer
    version = meta[VERSION_KEY]
    if client.is_greeted:
        raise Refused(INVALID_REQUEST, "this session began with a handshake: its requests have no envelope")
    if not isinstance(version, str) or CAPABILITIES_KEY not in meta:
        raise Refused(INVALID_PARAMS, f"params._meta needs {VERSION_KEY} and {CAPABILITIES_KEY}")
    if version not in STATELESS:
        told = {"supported": list(STATELESS), "requested": version}
        raise Refused(UNSUPPORTED_VERSION, "Unsupported protocol version", told)
    return peer_of_request(meta, client.peer)


# ── stdio sink ──
# What is written for a client, by a thread of its own: a client that does not read holds up nobody, and has to read
# before more is done for it.

MOST: Final = 8_000_000
"""Bytes that may wait to be read before nothing more is taken from the client."""
HOPELESS: Final = 64_000_000
"""Bytes after which a client that does not read hears nothing more."""


class Sink:
    """Filled from the event loop, emptied by its thread."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._news = threading.Condition()
        self._is_over = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._progress = asyncio.Event()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        threading.Thread(target=self._write, name="rightcall stdout", daemon=True).start()

    def put(self, data: bytes) -> None:
        with self._news:
            if not self._is_over and self._size + len(data) <= HOPELESS:
                self._waiting.append(data)
                self._size += len(data)
                self._news.notify()

    async def has_room(self, ended: asyncio.Event) -> None:
        """Returns also once the client has `ended`: then there is little left to do for it."""
        while self._size > MOST and not ended.is_set():
            self._progress.clear()
            waits = [asyncio.ensure_future(one.wait()) for one in (self._progress, ended)]
            try:
                if self._size > MOST:
                    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in waits:
                    one.cancel()

    async def written(self, seconds: float) -> None:
        """Wait until all is written, so long at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._size:
                    self._progress.clear()
                    if self._size:
                        await self._progress.wait()

    def _write(self) -> None:
        while True:
            with self._news:
                while not self._waiting:
                    self._news.wait()
                data = self._waiting.popleft()
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[self._file.write(rest) or 0 :]
            except (OSError, ValueError):  # nobody reads any more; the end of the input follows
                self._done(None)
                return
            self._done(len(data))

    def _done(self, size: int | None) -> None:
        """None: nothing will be written any more."""
        with self._news:
            self._is_over = self._is_over or size is None
            self._size = 0 if size is None else self._size - size
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended before
                self._loop.call_soon_threadsafe(self._progress.set)


# ── stdio server ──
# A server of our own over standard input and output, for one client: lines in, lines out, in the era it begins in.

GRACE = 10.0
"""Seconds in which what runs may come to its end after the client has closed its end."""
FLUSHING = 2.0
"""Seconds in which the last answers must have been read."""
_PIECE = 65_536
_AHEAD = 1_000
"""Lines that may wait to be looked at before no more are read."""


class StdioServer:
    """`source` and `sink` are the raw files; both are used from threads of their own, so that they may be pipes,
    terminals or files. A client that reads nothing gets nothing more done, and can be left all the same. `ending` is
    called when the client has closed its end: what would never come to an end is to end then."""

    def __init__(
        self, backend: Backend, caller: str, source: BinaryIO, sink: BinaryIO, ending: Callable[[], None] = lambda: None
    ) -> None:
        self.client = Client(backend, caller, self._send, new_context())
        self._source = source
        self._sink = Sink(sink)
        self._ending = ending
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until the client closes its end; what it has asked for before is answered, within limits."""
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        room = threading.Semaphore(_AHEAD)
        ended = asyncio.Event()

        def put(line: bytes | None) -> None:
            with suppress(RuntimeError):  # the loop has ended before
                loop.call_soon_threadsafe(lines.put_nowait, line)
                if line is None:
                    loop.call_soon_threadsafe(ended.set)

        self._sink.start(loop)
        thread = threading.Thread(target=_read, args=(self._source, put, room), name="rightcall stdin", daemon=True)
        thread.start()
        while (line := await lines.get()) is not None:
            await self._sink.has_room(ended)
            room.release()
            self._take(line)
        self._ending()
        self.client.hang_up()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=GRACE)
        self.client.leave()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._sink.written(FLUSHING)

    def _take(self, line: bytes) -> None:
        message = read(line)
        if message is None:
            if (batch := read_batch(line)) is not None:
                spawn(self._tasks, self._batch([bytes(one) for one in batch]))
            elif line.strip():
                self._send(
                    a_response(b"null", failed_result(PARSE_ERROR, "a message is one line with one JSON object"))
                )
        elif message.is_request:
            spawn(self._tasks, self._answer(line))
        elif message.is_response:
            self.client.answered(message)
        elif isinstance(message.method, str):
            self.client.notified(message)
        else:
            self._send(
                a_response(b"null", failed_result(INVALID_REQUEST, "this is not a message: it has no method and no id"))
            )

    async def _answer(self, line: Bytes) -> None:
        reply = await self._reply(line)
        if reply is not None:
            self._send(reply)

    async def _batch(self, lines: list[bytes]) -> None:
        """Several messages at once, as the revision 2025-03-26 has them."""
        replies = await asyncio.gather(*map(self._reply, lines))
        found = [reply for reply in replies if reply is not None]
        if found or not lines:
            wrong = a_response(b"null", failed_result(INVALID_REQUEST, "an empty batch"))
            self._send(b"[%b]" % b",".join(found) if found else wrong)

    async def _reply(self, line: Bytes) -> bytes | None:
        message = read(line)
        if message is not None and message.is_request:
            return await self.client.request(line, message, self._send)
        if message is not None and message.is_response:
            self.client.answered(message)
        elif message is not None:
            self.client.notified(message)
        return None

    def _send(self, message: bytes) -> None:
        self._sink.put(one_line(message) + b"\n")


def _read(source: BinaryIO, put: Callable[[bytes | None], None], room: threading.Semaphore) -> None:
    framing = JsonLines()
    number = source.fileno()
    try:
        while data := os.read(number, _PIECE):
            for line in framing.feed(data):
                room.acquire()
                put(line)
        if rest := framing.rest():
            put(rest)
    except (OSError, ValueError, TooLong):
        pass
    finally:
        put(None)
