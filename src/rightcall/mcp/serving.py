"""What a client of ours sees of the protocol, in both eras, without any I/O: who it is, its requests, its answers to
questions, what it cancels. How bytes come and go is the business of `stdio_server` and of `rightcall.serve.mcp`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from secrets import randbits, token_hex
from typing import Any, Protocol

from msgspec import Raw

from rightcall.mcp.eras import (
    CAPABILITIES_KEY,
    HANDSHAKE,
    STATELESS,
    VERSION_KEY,
    Peer,
    peer_of_handshake,
    peer_of_request,
)
from rightcall.mcp.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    SERVER_GONE,
    Bytes,
    Message,
    fields,
    mapping,
    notification,
    request,
    value,
)
from rightcall.mcp.mirrors import Headers
from rightcall.mcp.serving_answers import (
    CANCELLED,
    INTERNAL,
    METHOD_NOT_FOUND,
    PROGRESS,
    Answer,
    Refused,
    a_response,
    failure,
    success,
)
from rightcall.mcp.upstream_link import ServerGone
from rightcall.mcp.upstream_session import ServerSlow

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
        self.headers: Headers | None = None
        """Those of a client that is a single request over HTTP, which repeat parts of it."""
        self.pausing: Callable[[Raw, float], None] = lambda _, __: None
        """Told that the answer to a request (its id) is to come later, so that nobody need hold a connection for it."""
        self.subscribed: set[str] = set()
        self.is_greeted = False
        self.decides_for_all = True
        """Whether its user may accept a tool's changed definition, which then holds for every caller."""
        self._running: dict[bytes, asyncio.Task[Answer]] = {}
        self._asked: dict[int, asyncio.Future[Answer]] = {}

    async def request(self, line: Bytes, message: Message, emit: Emit) -> bytes | None:
        """The response to a request; None for one that the client itself has cancelled. `emit` takes what belongs to it
        and comes before."""
        key = bytes(message.id)
        if key in self._running or len(self._running) >= MOST_RUNNING:
            return a_response(key, failure(INVALID_REQUEST, "this id is in use, or too many requests run already"))
        if len(bytes(message.params)) > MOST_BYTES:
            told = f"the params of a request are {MOST_BYTES // 1_000_000} MB at most"
            return a_response(key, failure(INVALID_PARAMS, told))
        task = asyncio.get_running_loop().create_task(self._answer(line, message, emit))
        self._running[key] = task
        try:
            return a_response(key, await task)
        except asyncio.CancelledError:
            if task.cancelled() and not _is_cancelled():
                return None
            task.cancel()
            raise
        finally:
            self._running.pop(key, None)

    def notified(self, message: Message) -> None:
        if message.method == CANCELLED:
            task = self._running.get(bytes(fields(message.params).get("requestId", b"")))
            if task is not None:
                task.cancel()
        elif isinstance(message.method, str):
            self.backend.noticed(self, message.method, message.params)

    def answered(self, message: Message) -> None:
        """An answer to a question of ours. One to a question that was never asked is nobody's."""
        number = value(message.id)
        waiting = self._asked.get(number) if isinstance(number, int) else None
        if waiting is not None and not waiting.done():
            waiting.set_result(Answer(error=message.error) if message.error else Answer(message.result or Raw(b"{}")))

    async def ask(self, method: str, params: Mapping[str, Any] | Raw, emit: Emit) -> Answer:
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
        for task in list(self._running.values()):
            task.cancel()
        self.hang_up()

    def hang_up(self) -> None:
        """The client will answer nothing any more; what it has asked for may still come to its end."""
        for waiting in list(self._asked.values()):
            if not waiting.done():
                waiting.set_result(failure(SERVER_GONE, "the client is gone"))

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
            return failure(SERVER_GONE, str(gone))
        except Exception:
            log.exception("rightcall: an MCP request failed")
            return failure(INTERNAL, "RightCall could not handle this request; its log says more")

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
        self.questions: Questions | None = None
        """Where a client of the new era is asked: it cannot be, while its request runs."""

    @property
    def party(self) -> object:
        return self.client

    @property
    def wants_progress(self) -> bool:
        return self.token is not None

    @property
    def outlives(self) -> bool:
        return "task" in self.params

    def progress(self, params: dict[str, Raw]) -> None:
        self.emit(notification(PROGRESS, {**params, _PROGRESS_KEY: self.token}))

    def paused(self, seconds: float) -> None:
        """The server will go on with this request later, and has closed the connection until then."""
        self.client.pausing(self.id, seconds)

    def can(self, capability: str) -> bool:
        return isinstance(self.capabilities.get(capability), dict)

    async def ask(self, method: str, params: Mapping[str, Any] | Raw) -> Answer:
        """Ask this very client, in its own era."""
        if not self.peer.stateless:
            return await self.client.ask(method, params, self.emit)
        if self.questions is None:
            return failure(SERVER_GONE, "this client cannot be asked while its request runs")
        return await self.questions.ask(method, params)


class Questions(Protocol):
    async def ask(self, method: str, params: Mapping[str, Any] | Raw) -> Answer: ...


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


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
