"""An upstream that says what a test tells it to: a real server on a loopback port, in a thread, for all four wires.

    with ScriptedUpstream([Answer([Text("Hi")]), Answer([NativeCall("read", {"path": "a"})])]) as upstream:
        ...  # a client of upstream.address
        upstream.requests[0].json

A script is a list, played in order, or a function of the request. Paths that are no chat have fixed answers, which
`routes` replaces; everything under /echo gives back what was sent. One server may serve many tests: `play` begins anew.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

from support.scripted import anthropic, chat, ollama, responses
from support.scripted.http import Received, Reply, read_request, send
from support.scripted.parts import (
    Answer,
    Dies,
    Fails,
    Failure,
    NativeCall,
    Raw,
    Reasoning,
    Scripted,
    Stalls,
    Text,
    Usage,
)

__all__ = [
    "Answer",
    "Dies",
    "Fails",
    "Failure",
    "NativeCall",
    "Raw",
    "Reasoning",
    "Received",
    "ScriptedUpstream",
    "Stalls",
    "Text",
    "Usage",
    "reply_for",
]

_WIRES: dict[str, Any] = {wire.PATH: wire for wire in (chat, responses, anthropic, ollama)}
_FIXED = {
    "/v1/models": Raw(chat.models()),
    "/v1/messages/count_tokens": Raw(anthropic.counted()),
    "/api/tags": Raw(ollama.tags()),
    "/": Raw(b"Ollama is running", content_type="text/plain; charset=utf-8"),
}
_OVER = Failure(500, "the test's script is over", "server_error")
_PATIENCE = 20.0

Script = Iterable[Scripted] | Callable[[Received], Scripted]


class ScriptedUpstream:
    """See the module. `requests` are those to the four chat paths and to all others alike, in order of arrival."""

    def __init__(self, script: Script = ()) -> None:
        self.routes: dict[str, Raw | Failure] = {}
        self.requests: list[Received] = []
        self.hung_up = 0
        """How many clients left before they had their whole answer."""
        self._happened = threading.Condition()
        self._stalled = 0
        self._connections: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._released = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.play(script)

    def play(self, script: Script) -> Self:
        """From here on this script; what was received until now is forgotten."""
        with self._happened:
            self._script = script if callable(script) else iter(list(script))
            self.requests = []
            self.routes = {}
            self.hung_up = self._stalled = 0
        return self

    def release(self) -> None:
        """What stalls goes on."""
        self._loop.call_soon_threadsafe(self._released.set)

    def wait_for_requests(self, count: int) -> list[Received]:
        self._wait(lambda: len(self.requests) >= count, f"{count} requests")
        return self.requests

    def wait_for_stall(self, count: int = 1) -> None:
        """Until so many answers stand still, everything before that sent."""
        self._wait(lambda: self._stalled >= count, f"{count} stalled answers")

    def wait_for_hang_up(self, count: int = 1) -> None:
        """Until so many clients have left in the middle of an answer."""
        self._wait(lambda: self.hung_up >= count, f"{count} clients gone")

    def _wait(self, reached: Callable[[], bool], what: str) -> None:
        with self._happened:
            assert self._happened.wait_for(reached, _PATIENCE), f"waited {_PATIENCE} s for {what}"

    # ── the server ────────────────────────────────────────────────────────────────────────────────────────────────────

    def __enter__(self) -> Self:
        self._server = self._loop.run_until_complete(asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=512))
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._thread.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._stop())
        self._loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _stop(self) -> None:
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader, writer)) is not None:
            with self._happened:
                self.requests.append(request)
                reply = self._reply(request)
                self._happened.notify_all()
            try:
                whole = await send(reply, request, writer, lambda: self._stall(reader))
            except ConnectionError:
                self._tell("hung_up")
                raise
            if not whole:
                return

    async def _stall(self, reader: asyncio.StreamReader) -> None:
        """Until the test says so, or the client leaves."""
        self._released.clear()
        self._tell("_stalled")
        waiting = [asyncio.ensure_future(self._released.wait()), asyncio.ensure_future(reader.read(1))]
        done, left = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in left:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        if waiting[1] in done:
            raise ConnectionResetError("the client left")

    def _tell(self, count: str) -> None:
        with self._happened:
            setattr(self, count, getattr(self, count) + 1)
            self._happened.notify_all()

    def _reply(self, request: Received) -> Reply:
        if request.path.startswith("/echo"):
            told = {"x-echo-method": request.method, "x-echo-target": request.target}
            return _raw(Raw(request.body, headers=told, content_type=request.header("content-type") or "text/plain"))
        fixed = self.routes.get(request.path) or _FIXED.get(request.path)
        if fixed is not None:
            return reply_for(fixed, request)
        if request.path not in _WIRES or request.method != "POST":
            return _raw(Raw(b'{"detail":"Not Found"}', 404))
        return reply_for(self._script(request) if callable(self._script) else next(self._script, _OVER), request)


def reply_for(scripted: Scripted, request: Received) -> Reply:
    """The bytes of an answer to a request, on the wire the request came by."""
    wire = _WIRES.get(request.path, chat)
    match scripted:
        case Answer():
            return _answer(wire, scripted, request)
        case Raw():
            return _raw(scripted)
        case Failure():
            kind = "application/json; charset=utf-8"
            error = getattr(wire, "error", chat.error)(scripted)
            return _raw(Raw(error, scripted.status, wire.HEADERS | scripted.headers, kind))
        case Dies():
            return _dying(_answer(wire, scripted.answer, request), scripted)
        case Stalls():
            return _answer(wire, scripted.answer, request).but(stalls_after=scripted.after)
        case Fails():
            reply = _answer(wire, scripted.answer, request)
            return reply.but(pieces=[*list(reply.pieces)[: scripted.after], wire.error_event(scripted.message)])


def _answer(wire: Any, answer: Answer, request: Received) -> Reply:
    body = request.json
    if body.get("stream", wire is ollama):  # Ollama streams unless told not to
        return Reply(200, wire.HEADERS | {"content-type": wire.STREAM}, wire.events(answer, body))
    body = wire.whole(answer, body)
    return Reply(200, wire.HEADERS | {"content-type": "application/json"}, [body], length=len(body))


def _dying(reply: Reply, fault: Dies) -> Reply:
    pieces = list(reply.pieces)
    if reply.length is not None:
        return reply.but(pieces=[pieces[0][: len(pieces[0]) // 2]], dies=True)
    last = pieces[fault.after]
    kept = pieces[: fault.after] + ([last[: len(last) // 2]] if fault.half else [])
    return reply.but(pieces=kept, dies=True, until_closed=fault.silent)


def _raw(raw: Raw) -> Reply:
    headers = {"content-type": raw.content_type, **raw.headers}
    if raw.pieces is not None:
        return Reply(raw.status, headers, raw.pieces, length=raw.length, dies=raw.length is not None)
    length = len(raw.body) if raw.length is None else raw.length
    return Reply(raw.status, headers, [raw.body], length=length, dies=length != len(raw.body))
