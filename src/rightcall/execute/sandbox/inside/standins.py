"""What the library does in a way that is closed in a sandbox, done in one that is open. A semaphore, for one, has a
name in /dev/shm, which is everybody's where nothing can be mounted."""

from __future__ import annotations

import array
import errno
import fcntl
import os
import select
import sys
import termios
import threading
import time
from importlib import import_module
from typing import Any

_RECURSIVE = 0
_MOST = 60_000
"""What fits into a pipe. Whoever asks for more wants no limit: a queue without one asks for two thousand millions."""


class PipeSemLock:
    """`_multiprocessing.SemLock` on a pipe: as many bytes in it as it can be acquired times. It goes to forked children
    with the pipe, not to spawned ones."""

    SEM_VALUE_MAX = 0x7FFFFFFF

    def __init__(self, kind: int, value: int, maxvalue: int, name: str, unlink: bool) -> None:
        if not unlink:
            raise OSError(errno.EPERM, "Only the start method 'fork' works in this sandbox", name)
        self.kind, self.maxvalue, self.name = kind, maxvalue, None
        self._read, self._write = os.pipe()
        self.handle = self._read
        os.set_blocking(self._read, False)
        self._endless = value > _MOST
        if value:
            os.write(self._write, b"." * min(value, _MOST))
        self._mine, self._owner = 0, 0

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        if self.kind == _RECURSIVE and self._is_mine():
            self._mine += 1
            return True
        limit = None if timeout is None else time.monotonic() + max(timeout, 0.0)
        while True:
            try:
                if not self._endless:
                    os.read(self._read, 1)
            except BlockingIOError:
                left = None if limit is None else limit - time.monotonic()
                if not block or (left is not None and left <= 0):
                    return False
                select.select([self._read], [], [], left)
                continue
            self._mine, self._owner = self._mine + 1, threading.get_ident()
            return True

    def release(self) -> None:
        if self.kind == _RECURSIVE:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._mine > 1:
                self._mine -= 1
                return
        elif self._get_value() >= self.maxvalue:
            raise ValueError("semaphore or lock released too many times")
        self._mine -= 1
        if not self._endless:
            os.write(self._write, b".")

    __enter__ = acquire

    def __exit__(self, *_: object) -> None:
        self.release()

    def _count(self) -> int:
        return self._mine

    def _is_mine(self) -> bool:
        return self._mine > 0 and self._owner == threading.get_ident()

    def _get_value(self) -> int:
        waiting = array.array("i", [0])
        fcntl.ioctl(self._read, termios.FIONREAD, waiting)
        return waiting[0]

    def _is_zero(self) -> bool:
        return self._get_value() == 0

    def _after_fork(self) -> None:
        self._mine = 0

    def __del__(self) -> None:
        if hasattr(self, "_write"):
            os.close(self._read)
            os.close(self._write)


_multiprocessing: Any = import_module("_multiprocessing")
_heap: Any = import_module("multiprocessing.heap")


def do_without_shared_memory_files() -> None:
    """Where /dev/shm is not ours: semaphores on pipes, shared values in the folder for temporary files."""
    _multiprocessing.SemLock = PipeSemLock
    _heap.Arena._dir_candidates = []


def prefer_fork() -> None:
    """In every tier: from Python 3.14 on processes are started by a server that needs a named socket."""
    if sys.version_info >= (3, 14):
        context: Any = import_module("multiprocessing.context")
        context._default_context._default_context = context._concrete_contexts["fork"]
