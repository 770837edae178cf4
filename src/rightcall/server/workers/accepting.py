"""How workers share one listening socket: each takes a connection only where no other has fewer.

Whoever wakes first would else take all that wait, and serve them for as long as they are kept. So a worker that has
more connections than another leaves a new one to that for a moment, and takes it then if it is still there. One that
was stopped or hangs takes none and holds up nobody: it is waited for no longer once its heart has not beaten for a
while. The numbers stand in memory that all workers see.
"""

from __future__ import annotations

import asyncio
import errno
import mmap
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from struct import Struct as Layout
from time import monotonic
from typing import Final, NamedTuple

PATIENCE: Final = 0.005
"""Seconds for which a connection is left to another worker."""
BEAT: Final = 0.1
"""Seconds between two beats of a worker's heart,"""
STUCK: Final = 0.5
"""and without one after which it is not waited for."""
_TIRED: Final = 1.0
"""Seconds without accepting where the system has no descriptor left."""
_PLACE: Final = Layout("=IId")
_FULL: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Load(NamedTuple):
    """Of one worker: the connections it has open, and how many it has taken in its life."""

    open: int
    taken: int
    beat: float


def reserve(file: int, size: int) -> None:
    """So much of a new file is there. Memory that is mapped from one with holes ends a process whose disk is full."""
    while size:
        size -= os.write(file, bytes(size))


class Board:
    """The loads of all workers. `file` is a descriptor that all of them have; each writes its own place only, and what
    all have in common."""

    def __init__(self, file: int, places: int) -> None:
        self._places = places
        self._memory = mmap.mmap(file, self.size_for(places))

    @staticmethod
    def size_for(places: int) -> int:
        return places * _PLACE.size + 1

    @property
    def is_told(self) -> bool:
        """Whether a worker has told people that the store refuses calls."""
        return bool(self._memory[-1])

    @is_told.setter
    def is_told(self, is_told: bool) -> None:
        self._memory[-1] = is_told

    def load(self, place: int) -> Load:
        return Load(*_PLACE.unpack_from(self._memory, place * _PLACE.size))

    def write(self, place: int, load: Load) -> None:
        _PLACE.pack_into(self._memory, place * _PLACE.size, *load)

    def leave(self, place: int) -> None:
        self.write(place, Load(0, 0, 0.0))

    def others(self, place: int, now: float) -> list[Load]:
        """Those that take connections at this moment."""
        found = [self.load(one) for one in range(self._places) if one != place]
        return [one for one in found if now - one.beat < STUCK]

    def close(self) -> None:
        self._memory.close()


class Acceptor:
    """One worker at the socket. `make` makes the protocol of a new connection; `count` says how many are open."""

    def __init__(
        self, listener: socket.socket, board: Board, place: int, make: Callable[[], asyncio.Protocol],
        count: Callable[[], int],
    ) -> None:  # fmt: skip
        self._listener = listener
        self._board = board
        self._place = place
        self._make = make
        self._count = count
        self._taken = 0
        self._opening: set[asyncio.Task[object]] = set()
        self._timers: list[asyncio.TimerHandle] = []
        self._is_over = False

    def start(self) -> None:
        self._listener.setblocking(False)
        others = self._board.others(self._place, monotonic())
        self._taken = min((one.taken for one in others), default=0)  # who comes later makes up for nothing
        self._beat()
        self._listen()

    def stop(self) -> None:
        """Nothing new from here on; what waits at the socket is another worker's."""
        self._is_over = True
        for timer in self._timers:
            timer.cancel()
        with suppress(OSError, ValueError):
            asyncio.get_running_loop().remove_reader(self._listener)
        self._board.leave(self._place)

    def tell(self) -> None:
        """A connection was closed."""
        if not self._is_over:
            self._board.write(self._place, Load(self._open, self._taken, monotonic()))

    @property
    def _open(self) -> int:
        return self._count() + len(self._opening)

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        now = asyncio.get_running_loop()
        self._timers = [one for one in self._timers if not one.cancelled() and one.when() > now.time()]
        self._timers.append(now.call_later(seconds, work))

    def _beat(self) -> None:
        self.tell()
        self._later(BEAT, self._beat)

    def _listen(self) -> None:
        if not self._is_over:
            asyncio.get_running_loop().add_reader(self._listener, self._came)

    def _came(self) -> None:
        if self._has_more_than_another():
            asyncio.get_running_loop().remove_reader(self._listener)
            self._later(PATIENCE, self._left_over)
        else:
            self._accept()

    def _has_more_than_another(self) -> bool:
        own = (self._open, self._taken)
        return any((one.open, one.taken) < own for one in self._board.others(self._place, monotonic()))

    def _left_over(self) -> None:
        if not self._is_over:
            self._accept()
            self._listen()

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError as why:
            if why.errno in _FULL:
                asyncio.get_running_loop().remove_reader(self._listener)
                self._later(_TIRED, self._listen)
            return  # else another worker was quicker
        self._taken += 1
        with suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = asyncio.get_running_loop().create_task(self._open_connection(connection))
        self._opening.add(task)
        task.add_done_callback(self._opened)
        self.tell()

    async def _open_connection(self, connection: socket.socket) -> object:
        connection.setblocking(False)
        return await asyncio.get_running_loop().connect_accepted_socket(self._make, connection)

    def _opened(self, task: asyncio.Task[object]) -> None:
        self._opening.discard(task)
        if not task.cancelled():
            task.exception()  # a client that has gone already is nobody's matter
        self.tell()
