"""A worker: what its parent has told it, what it tells its parent, and how it serves, gives way and ends."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import socket
from collections.abc import Callable, Mapping
from itertools import count
from time import monotonic, thread_time
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct, json
from starlette.types import ASGIApp

from rightcall.base.http.answers import ServeLimits
from rightcall.record.sqlite_file import BELL
from rightcall.server.app import Running, Told
from rightcall.server.health import Condition
from rightcall.server.recording import Metrics
from rightcall.server.workers.accepting import Acceptor, Board
from rightcall.server.workers.frames import Frames, received
from rightcall.server.workers.handover import Adopt, Handover
from rightcall.server.workers.relays import opening

if TYPE_CHECKING:
    from rightcall.server.mcp import Endpoint
    from rightcall.server.protocol import LimitedProtocol

CHANNEL: Final = "RIGHTCALL_WORKER_CHANNEL"
"""The environment variable with the descriptor on which a worker hears its parent."""
HELLO, READY, POLICY, LEAD, RETIRE, STOP, NOW = b"h", b"R", b"p", b"l", b"r", b"s", b"S"
FIGURES, SAID, ASK, WHOLE = b"f", b"F", b"M", b"m"
"""What parent and worker say to each other; see `frames`."""

SAYING: Final = 0.2
"""Seconds after which a worker says its figures, while there are new ones,"""
_QUIET: Final = 1.0
"""while nobody asks for anything,"""
_DEAR, _LATEST = 50, 1.0
"""and where they take long to make: so many times the CPU they took, and at the latest."""
_WAITING: Final = 2.0
"""Seconds in which the parent must have added up all figures."""
RETIRING: Final = 600.0
"""Seconds in which a worker that was replaced may finish what it has begun."""
_LOOKING: Final = 0.2
LEAST: Final = 100
"""Connections that each worker has room for, however many workers there are."""


class Hello(Struct, frozen=True):
    """What a worker is told first."""

    name: str
    """Unlike that of any other worker of this server, also of those that are gone."""
    place: int
    workers: int
    token: str | None
    url: str
    """The upstream's."""
    folder: str
    """Private to this server: `NAME.sock` of each worker, and `servers.sock` of the parent."""
    listener: int
    board: int
    places: int
    bell: tuple[int, int] = -1, -1
    console: int | None = None
    """Descriptors, which the worker has inherited."""


class Seat:
    """The worker's end of the channel. What comes is answered in the event loop of the server."""

    def __init__(self, channel: socket.socket, hello: Hello) -> None:
        self.hello = hello
        self.listener = socket.socket(fileno=hello.listener)
        self.console = None if hello.console is None else socket.socket(fileno=hello.console)
        self.board = Board(hello.board, hello.places)
        os.close(hello.board)
        BELL.hang(*hello.bell)
        self.orders: dict[bytes, Callable[[bytes], None]] = {}
        """What to do about what the parent says."""
        self.opening = opening(os.path.join(hello.folder, "servers.sock"), hello.name)
        """How it reaches MCP servers: those that are processes run once, at the parent."""
        self.answered: Callable[[], int] = lambda: 0
        """How many requests it has answered."""
        self.is_leading = hello.name == "w1"  # until the parent says it
        self._is_orphaned = False
        self._channel = channel
        self._frames = Frames(self._heard, self._orphaned)
        self._asked: dict[bytes, asyncio.Future[str]] = {}
        self._numbers = count(1)
        self._handover: Handover | None = None

    def told(self) -> dict[str, Any]:
        """For `/health`."""
        return {"name": self.hello.name, "of": self.hello.workers, "answered": self.answered()}

    def endpoint(self, mcp: Endpoint) -> ASGIApp:
        """The gateway's endpoint, which knows whose a session is."""
        self._handover = Handover(mcp, self.hello.name, self.hello.folder)
        return self._handover

    def limits(self) -> ServeLimits:
        """Of one worker: what a server has for its connections is divided."""
        whole = ServeLimits()
        return ServeLimits(connections=max(LEAST, -(-whole.connections // self.hello.workers)))

    async def join(self) -> None:
        await asyncio.get_running_loop().create_unix_connection(lambda: self._frames, sock=self._channel)

    def welcome(self, adopt: Adopt) -> None:
        """Take connections from other workers."""
        if self._handover is not None:
            self._handover.start(adopt)

    def ready(self, told: Mapping[str, Any]) -> None:
        self._frames.send(READY, json.encode(told))

    def say(self, figures: str, number: bytes = b"") -> None:
        self._frames.send(SAID, number + b"\n" + figures.encode())

    async def whole(self, own: Callable[[], str]) -> str:
        """The figures of all workers; where the parent does not answer, the own ones."""
        number = b"%d" % next(self._numbers)
        waiting = self._asked[number] = asyncio.get_running_loop().create_future()
        self._frames.send(ASK, number)
        try:
            async with asyncio.timeout(_WAITING):
                return await waiting
        except TimeoutError:
            return own()
        finally:
            del self._asked[number]

    @property
    def is_needed(self) -> bool:
        """Whether clients will come back for what only this worker has."""
        return self._handover is not None and self._handover.is_needed

    async def cut_off(self) -> None:
        """Take nothing from other workers any more."""
        if self._handover is not None:
            await self._handover.aclose()

    async def aclose(self) -> None:
        await self.cut_off()
        if self._is_orphaned:
            shutil.rmtree(self.hello.folder, ignore_errors=True)  # else the parent does

    def _heard(self, kind: bytes, content: bytes) -> None:
        if kind == WHOLE:
            number, _, text = content.partition(b"\n")
            waiting = self._asked.get(number)
            if waiting is not None and not waiting.done():
                waiting.set_result(text.decode())
            return
        if kind == LEAD:
            self.is_leading = content == b"1"
        order = self.orders.get(kind)
        if order is not None:
            order(content)

    def _orphaned(self) -> None:
        """Nobody starts a worker anew whose parent is gone, and nobody stops it."""
        self._is_orphaned = True
        self._heard(STOP, b"")


def take_seat(descriptor: int) -> Seat:
    """What the parent has left at this descriptor. Raises EOFError where there is no parent any more."""
    channel = socket.socket(fileno=descriptor)
    kind, content = received(channel)
    if kind != HELLO:
        raise EOFError
    return Seat(channel, json.decode(content, type=Hello))


class WorkerServer(Running):
    """Takes connections from the socket that all workers share."""

    def __init__(self, app: ASGIApp, seat: Seat, metrics: Metrics, condition: Condition, told: Told) -> None:
        super().__init__(app, seat.listener, seat.limits(), told=told, metrics=metrics)
        cast("type[LimitedProtocol]", self.config.http).keeps = "/mcp"
        self._seat = seat
        self._metrics = metrics
        self._condition = condition
        self._acceptor: Acceptor | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        seat.answered = lambda: self.server_state.total_requests
        metrics.others = lambda: seat.whole(metrics.text)
        seat.orders |= {
            FIGURES: lambda number: seat.say(metrics.text(), number),
            RETIRE: lambda _: self.retire(),
            STOP: lambda _: self.stop(),
            NOW: lambda _: self._stop_now(),
        }

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        del sockets
        await self._seat.join()
        await super().startup([])
        seat = self._seat
        self.crowd.changed = self._changed

        self._acceptor = Acceptor(seat.listener, seat.board, seat.hello.place, self._make, self.crowd.__len__)
        self._acceptor.start()
        seat.welcome(self._adopt)
        self._spawn(self._say_figures())
        gc.freeze()  # what is loaded is never garbage, and need not be searched in each worker

    def _make(self) -> LimitedProtocol:
        kind: Any = self.config.http_protocol_class
        made: LimitedProtocol = kind(
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )  # fmt: skip
        if self._condition.draining:
            made.retire()
        return made

    async def _adopt(self, client: socket.socket, request: bytes) -> None:
        """Serve a connection that another worker has accepted."""
        made = self._make()
        made.handed = request
        await asyncio.get_running_loop().connect_accepted_socket(lambda: made, client)
        self._changed()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._acceptor is not None:
            self._acceptor.stop()
        await self._seat.cut_off()
        self._condition.draining = True
        for task in self._tasks:
            task.cancel()
        await super().shutdown(sockets)
        self._seat.say(self._metrics.text())
        await self._seat.aclose()
        await asyncio.sleep(0)  # the last figures are to leave

    def retire(self) -> None:
        """Another worker has taken this one's place: answer what comes on open connections, and end with the last."""
        if self._condition.draining:
            return
        self._condition.draining = True
        if self._acceptor is not None:
            self._acceptor.stop()
        for connection in list(self.server_state.connections):
            cast("LimitedProtocol", connection).retire()
        self._spawn(self._until_unused())

    async def _until_unused(self) -> None:
        until = monotonic() + RETIRING
        while monotonic() < until and (self.server_state.connections or self._seat.is_needed):
            await asyncio.sleep(_LOOKING)
        self.stop()

    def _stop_now(self) -> None:
        self.force_exit = True
        self.stop()

    def _changed(self) -> None:
        if self._acceptor is not None:
            self._acceptor.tell()

    async def _say_figures(self) -> None:
        """So that they are not lost with a worker that is killed."""
        said, answered, at = "", -1, 0.0
        while True:
            now, began = monotonic(), thread_time()
            if self.server_state.total_requests != answered or now - at >= _QUIET:
                answered, at = self.server_state.total_requests, now
                text = self._metrics.text()
                if text != said:
                    said = text
                    self._seat.say(text)
            await asyncio.sleep(min(max(SAYING, (thread_time() - began) * _DEAR), _LATEST))

    def _spawn(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
