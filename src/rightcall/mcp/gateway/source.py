"""The servers of the policy as a source of tools for an executor: a gateway without clients, in a thread and an event
loop of its own, so that it can be asked from any other. `rightcall.executor.servers` says what an executor needs.

A server is told that nobody here can be asked anything (no elicitation, no sampling, no roots).
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final, TypeVar, cast

from msgspec import Raw

from rightcall.base.text import wire_name
from rightcall.errors import ToolFailure
from rightcall.executor.door import Door
from rightcall.executor.rights import other_names
from rightcall.mcp.gateway.forward import asks
from rightcall.mcp.gateway.gateway import Gateway
from rightcall.mcp.gateway.names import ToolEntry
from rightcall.mcp.messages import Answer, Refused, header_value, mapping, mirrored, value
from rightcall.mcp.serving import Exchange
from rightcall.mcp.upstream.links import open_link
from rightcall.mcp.upstream.session import ServerGone, ServerSlow, Session, SessionExpired
from rightcall.mcp.upstream.upstream import envelope_for, headers_for

log = logging.getLogger("rightcall")

T = TypeVar("T")

CLOSING: Final = 15.0
"""Seconds in which servers must have ended; then they are left to see the end of their input."""
_LATE: Final = 3.0
"""Seconds beyond what a list may take, in which it is given up whatever it does."""
_CALL: Final = "tools/call"


class ServerSource:
    """`own` tells the names of the executor's other tools. Nothing is started before it is asked for."""

    def __init__(self, door: Door, own: Callable[[], Iterable[str]]) -> None:
        self._door = door
        self._own = _Names(own)
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._gateway: Gateway | None = None
        self._is_closed = False

    @property
    def version(self) -> int:
        return 0 if self._gateway is None else self._gateway.table.version

    def tools(self) -> Mapping[str, tuple[str, str]]:
        """In the order of the servers and of their lists."""
        if self._gateway is None:
            return {}
        if any(map(self._own.has, self._gateway.table.wires())):  # a function has been registered under that name
            self._begin(self._renamed(self._gateway)).result(_LATE)
        table, spaces = self._gateway.table, [one.name for one in self._gateway.upstreams()]
        pairs = [(space, name) for space in spaces for name in table.of(space)]
        return {wire: pair for pair in pairs if (wire := table.wire(*pair)) is not None}

    def away(self) -> Mapping[str, str]:
        upstreams = [] if self._gateway is None else self._gateway.upstreams()
        return {one.name: _why(one.state, one.problem) for one in upstreams if one.session is None}

    def settle(self, seconds: float) -> None:
        with suppress(TimeoutError, ToolFailure):
            self._begin(self._settled(seconds)).result(seconds + _LATE)

    async def asettle(self, seconds: float) -> None:
        with suppress(ToolFailure):
            await asyncio.wrap_future(self._begin(self._settled(seconds)))

    def follow(self) -> None:
        with suppress(ToolFailure):
            self._begin(self._settled(0.0))

    async def call(self, server: str, tool: str, arguments: Mapping[str, Any]) -> Any:
        answer = await asyncio.wrap_future(self._begin(self._asked(server, tool, arguments)))
        return _plain(server, answer)

    def close(self) -> None:
        """From any thread but its own. In a forked child the servers are the parent's."""
        with self._lock:
            loop, self._loop, self._is_closed = self._loop, None, True
        if loop is None or self._thread is None or os.getpid() != self._process:
            return
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._closed(), loop).result(CLOSING)
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join(CLOSING)
        if not self._thread.is_alive():
            loop.close()

    def _begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._is_closed:
                work.close()
                raise ToolFailure("The executor was closed, and its servers with it.")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="rightcall-servers", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    # ── in the loop ──────────────────────────────────────────────────────────────────────────────────────────────

    def _joined(self) -> Gateway:
        """The gateway, with the servers that the policy has at this moment."""
        if self._gateway is None:
            self._gateway = Gateway(self._door, open_link, capabilities={}, own=self._own, news=log.info)
        self._gateway.start()
        return self._gateway

    async def _renamed(self, gateway: Gateway) -> None:
        gateway.table.rename()

    async def _settled(self, seconds: float) -> None:
        await self._joined().refreshed(seconds)

    async def _asked(self, server: str, tool: str, arguments: Mapping[str, Any]) -> Answer:
        gateway = self._joined()
        upstream = gateway.upstream(server)
        entry = gateway.table.of(server).get(tool)
        if upstream is None or entry is None:
            raise ToolFailure(f"The server {server} has no tool {tool} any more.")
        seconds = upstream.server.timeout
        try:
            try:
                return await _put(await upstream.ready(), gateway, entry, arguments, seconds)
            except SessionExpired:  # it has not looked at the request
                return await _put(await upstream.ready(), gateway, entry, arguments, seconds)
        except ServerSlow as slow:
            raise ToolFailure(
                f"The server {server} {slow}. The call was cancelled; whether it had an effect is not known."
            ) from None
        except ServerGone as gone:
            raise ToolFailure(f"The server {server} gave no answer: {gone}.") from None

    async def _closed(self) -> None:
        others = [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
        if self._gateway is not None:
            await self._gateway.aclose()
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


async def _put(
    session: Session, gateway: Gateway, entry: ToolEntry, arguments: Mapping[str, Any], seconds: float
) -> Answer:
    agreed = session.agreed
    assert agreed is not None
    params: dict[str, Any] = {"name": entry.name, "arguments": arguments}
    if agreed.era == "old":
        return await session.request(_CALL, params, seconds)
    headers = headers_for(_CALL, agreed.version, header_value(entry.name)) | mirrored(entry.mirrors, arguments)
    params["_meta"] = envelope_for(gateway.hello, agreed.version)
    return await session.request(_CALL, params, seconds, headers=headers)


class ServerAnswer(ToolFailure):
    """What a server says went wrong, in its own words."""

    plain = False


def _plain(server: str, answer: Answer) -> Any:
    """The result as data: what the server gives as data, else its text, else all its pieces. Raises ServerAnswer for
    an error of the tool, ToolFailure for what is no result."""
    if answer.result is None:
        raise ServerAnswer(str(mapping(value(answer.error or b"")).get("message") or "The server reported an error."))
    result = mapping(value(answer.result))
    if asks(answer):
        raise ToolFailure(f"The server {server} asks its user something first, and nobody can be asked here.")
    content = result.get("content")
    pieces = cast("list[Any]", content) if isinstance(content, list) else []
    texts = [one["text"] for one in map(mapping, pieces) if isinstance(one.get("text"), str)]
    if result.get("isError") is True:
        raise ServerAnswer("\n".join(texts) or "The tool reported an error.")
    structured = result.get("structuredContent")
    if structured is not None:
        return structured
    return "\n".join(texts) if len(texts) == len(pieces) else pieces


def _why(state: str, problem: str) -> str:
    if state == "starting" and not problem:
        return "has not started yet"
    return f"is not running: {problem or 'it was not started'}"


class _Names:
    """The executor's other tools, as the gateway asks for its own: by name alone, since none of them runs there."""

    def __init__(self, own: Callable[[], Iterable[str]]) -> None:
        self._own = own
        self._known: tuple[frozenset[str], dict[str, tuple[str, ...]]] = frozenset(), {}

    def names(self) -> Mapping[str, tuple[str, ...]]:
        names = frozenset(self._own())
        if names != self._known[0]:
            self._known = names, {wire_name(name): _others(name) for name in sorted(names)}
        return self._known[1]

    def has(self, name: str) -> bool:
        return name in self._own() or name in self.names()

    def listed(self, caller: str) -> list[Raw]:
        del caller
        return []

    async def call(self, exchange: Exchange) -> Answer:
        raise Refused(-32601, "Method not found", exchange.method)


def _others(name: str) -> tuple[str, ...]:
    space, _, rest = name.partition("/")
    return (name, other_names(space, rest)[1]) if rest else (name,)
