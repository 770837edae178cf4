"""Workers write calls straight to the standard input of a server that all of them use; only answers pass the parent.

    worker w1 ──▶ ┌ the pipe that is the server's standard input
    worker w2 ──▶ ┤
    parent    ──▶ └ everything else: long lines, and whatever finds the pipe full

The system writes a short line to a pipe whole or not at all. A long one may take several writes, so the parent alone
writes it, behind a lock that keeps the workers out. No worker waits for that lock: who does not get it, or finds the
pipe full, gives the line to the parent. Which calls of a worker run stands in memory that the parent sees, also of one
that was killed. Where the system has no `/proc`, every line goes through the parent.
"""

from __future__ import annotations

import asyncio
import fcntl
import mmap
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from msgspec import Struct

from rightcall.mcp.messages import one_line
from rightcall.server.workers.accepting import reserve

ATOMIC: Final = 4096
"""Bytes that are written to a pipe whole or not at all (PIPE_BUF)."""
PLACES: Final = 256
"""Calls of one worker that may run at a server before further ones go through the parent."""
_SIZE: Final = PLACES * 8
_PAUSE: Final = 0.001
_PATIENCE: Final = 1.0
"""Seconds in which a worker must have written its line: one that was stopped meanwhile would hold up all others."""
_CALL: Final = b'"method":"tools/call"'
_HEAD: Final = 80
"""Bytes of a request in which its method stands."""


class Way(Struct, frozen=True):
    """What a worker needs to write to a server by itself."""

    pipe: str
    lock: str
    calls: str


class Calls:
    """The calls of one worker that run at a server, by their numbers: each has one place, which is 0 while free."""

    def __init__(self, path: str, *, new: bool) -> None:
        file = os.open(path, os.O_RDWR | (os.O_CREAT | os.O_EXCL if new else 0), 0o600)
        try:
            if new:
                reserve(file, _SIZE)
            self._memory = mmap.mmap(file, _SIZE)
        finally:
            os.close(file)
        self._numbers = memoryview(self._memory).cast("Q")

    def add(self, number: int) -> bool:
        """False where its place is taken."""
        place = number % PLACES
        if self._numbers[place]:
            return False
        self._numbers[place] = number
        return True

    def remove(self, number: int) -> None:
        if self._numbers[number % PLACES] == number:
            self._numbers[number % PLACES] = 0

    def all(self) -> list[int]:
        return [one for one in self._numbers if one]

    def close(self) -> None:
        self._numbers.release()
        self._memory.close()


class DirectInput:
    """A worker's way. Raises OSError where there is none."""

    def __init__(self, way: Way) -> None:
        self._pipe = os.open(way.pipe, os.O_WRONLY | os.O_NONBLOCK)
        try:
            self._lock = os.open(way.lock, os.O_RDWR)
        except OSError:
            os.close(self._pipe)
            raise
        try:
            self._calls = Calls(way.calls, new=False)
        except OSError:
            os.close(self._pipe)
            os.close(self._lock)
            raise

    def write(self, number: int, body: bytes) -> bool:
        """Whether it was a call, and is written."""
        line = one_line(body) + b"\n"
        if len(line) > ATOMIC or _CALL not in line[:_HEAD] or not self._calls.add(number):
            return False
        try:
            fcntl.flock(self._lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            try:
                os.write(self._pipe, line)
            finally:
                fcntl.flock(self._lock, fcntl.LOCK_UN)
        except OSError:  # the parent writes a long line, the pipe is full, or the server has ended
            self._calls.remove(number)
            return False
        return True

    def close(self) -> None:
        os.close(self._pipe)
        os.close(self._lock)
        self._calls.close()


class SharedInput(asyncio.WriteTransport):
    """The parent's end, in place of the transport of the pipe: each line is written by itself, a long one behind the
    lock. `stuck` is called where a worker that was stopped holds it."""

    def __init__(self, transport: asyncio.WriteTransport, pipe: int, lock: str, stuck: Callable[[], None]) -> None:
        super().__init__()
        self._transport = transport
        self._stuck = stuck
        self._lock = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            self._pipe = os.dup(pipe)
        except OSError:
            os.close(self._lock)
            raise
        os.set_blocking(self._pipe, False)
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._has_lock = False
        self._tries = 0
        self._later: asyncio.TimerHandle | None = None
        self._waits = False
        self._is_closed = False

    @property
    def path(self) -> str:
        return f"/proc/{os.getpid()}/fd/{self._pipe}"

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """One line."""
        self._lines.append(bytes(data))
        self._size += len(data)
        if not self._waits and self._later is None:
            self._flush()

    def get_write_buffer_size(self) -> int:
        return self._size

    def is_closing(self) -> bool:
        return self._is_closed or self._transport.is_closing()

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._lines.clear()
            self._stop_waiting()
            os.close(self._pipe)
            os.close(self._lock)
            self._transport.close()

    def _flush(self) -> None:
        self._later = None
        while self._lines and not self._is_closed:
            line = self._lines[0]
            if len(line) > ATOMIC and not self._has_lock and not self._take_lock():
                return
            try:
                count = os.write(self._pipe, line)
            except BlockingIOError:
                count = 0
            except OSError:  # nobody reads it any more
                self._lines.clear()
                self._transport.abort()
                return
            self._size -= count
            if count < len(line):
                self._lines[0] = line[count:]
                if not self._waits:
                    self._waits = True
                    asyncio.get_running_loop().add_writer(self._pipe, self._flush)
                return
            self._lines.popleft()
            if self._has_lock:
                fcntl.flock(self._lock, fcntl.LOCK_UN)
                self._has_lock = False
        self._stop_waiting()

    def _take_lock(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._tries += 1
            if self._tries * _PAUSE > _PATIENCE:
                self._stuck()
            else:
                self._later = asyncio.get_running_loop().call_later(_PAUSE, self._flush)
            return False
        self._tries, self._has_lock = 0, True
        return True

    def _stop_waiting(self) -> None:
        if self._waits:
            self._waits = False
            with suppress(OSError, ValueError):
                asyncio.get_running_loop().remove_writer(self._pipe)
        if self._later is not None:
            self._later.cancel()
            self._later = None
