"""Waits for a run, and counts what it uses, until it has ended or must."""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from contextlib import suppress
from typing import NamedTuple

from rightcall.execute.sandbox.inside import mapped, wire
from rightcall.execute.sandbox.inside.ending import reap
from rightcall.execute.sandbox.inside.groups import Group
from rightcall.execute.sandbox.inside.real_folder import RealFolder
from rightcall.execute.sandbox.inside.request import Request
from rightcall.execute.sandbox.inside.watching import descendants, memory_of

_FASTEST = 8e9
"""Bytes a second that memory can be filled with, more or less: how soon one has to look again."""
_SOONEST, _LATEST = 0.004, 0.05
_FOLDERS_EVERY = 0.05
_MARGIN = 256 << 20
"""Memory that others may share meanwhile, without the program being blamed for it."""


class Unwanted(Exception):
    """Whoever asked for the run has gone, or the server has."""


class Ways(NamedTuple):
    """Where news come from: the sandbox, the inner side, the first process's end, the server's end."""

    control: socket.socket
    inner: socket.socket
    first: int
    pidfd: int
    life: int


class Overseer:
    def __init__(
        self, request: Request, ways: Ways, folder: RealFolder | None, group: Group | None, *, has_pid1: bool
    ) -> None:
        self._request = request
        self._ways = ways
        self._folder = folder
        self._group = group
        self._has_pid1 = has_pid1
        self._listening = True
        self._folder_due = 0.0
        self._scratch = -1
        self._full = False
        self._shared_before = mapped.shared_memory()
        self.limits: list[str] = []
        self.unstarted = False
        """Whether what failed was the program itself, after the set-up."""
        self.code: int | None = None
        """Its exit status, or minus the signal that ended it; None: it was ended by us."""

    def wait_ready(self) -> list[int]:
        """The files that the inner side sends when all is prepared."""
        while True:
            for file in self._events(None):
                if file == self._ways.control.fileno():
                    raise Unwanted
                try:
                    message, files = wire.receive(self._ways.inner)
                except (EOFError, OSError):
                    raise ValueError("the first process has ended during the set-up") from None
                if "failed" in message:
                    raise ValueError(message["failed"])
                return files

    def wait_go(self) -> None:
        """The set-up may go on meanwhile, and fail."""
        for file in self._events(None):
            if file == self._ways.control.fileno():
                wire.receive(self._ways.control)
                return
            raise ValueError(self._heard() or "the first process has ended before the program")

    def begin(self) -> None:
        grouped = self._group is not None and "pids" in self._group.kinds
        with suppress(OSError):  # the set-up has failed meanwhile; why is waiting to be heard
            wire.send(self._ways.inner, {"go": True, "grouped": grouped})

    def wait_gone(self) -> None:
        """Until the sandbox has taken what it wants of the scratch folder."""
        self._listening = False
        while True:
            if self._ways.control.fileno() in self._events(None, ended=True):
                wire.receive(self._ways.control)

    def watch(self, deadline: float, scratch: int) -> str | None:
        """Returns why the program has not even begun, if so. `scratch` is its folder, open."""
        pause = _SOONEST
        self._scratch = scratch
        self._folder_due = time.monotonic() + _FOLDERS_EVERY
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                self.limits.append("seconds")
                return None
            for file in self._events(min(left, pause)):
                if file == self._ways.control.fileno():
                    message, _ = wire.receive(self._ways.control)
                    self.limits.append(message["limit"])
                    return None
                if file == self._ways.inner.fileno():
                    failed = self._heard()
                    if failed is not None or self.code is not None:
                        return failed
                else:
                    self._note_end()
                    return None
            began = time.monotonic()
            used = self._count()
            if self.limits:
                return None
            room = (self._request.memory - used) / _FASTEST
            pause = min(max(room, _SOONEST, 2 * (time.monotonic() - began)), _LATEST)

    def note_limits(self) -> None:
        """After the end: limits that did not need us to be kept."""
        if self._folder is None:
            self._note_full()
        elif self._folder.used([], self._request.scratch) >= self._request.scratch:
            self._full = True
        reached = {
            "seconds": self.code == -signal.SIGXCPU,
            "memory": self._group is not None and self._group.ran_out(),
            "processes": self._group is not None and self._group.refused(),
            "scratch": self.code == -signal.SIGXFSZ or self._full,
        }
        self.limits += [name for name, hit in reached.items() if hit and name not in self.limits]

    def _events(self, timeout: float | None, *, ended: bool = False) -> list[int]:
        """What is to be looked at next, in this order; raises when the server has gone, whatever else there is."""
        ways = self._ways
        files = [ways.control.fileno()]
        if self._listening:
            files.append(ways.inner.fileno())
        if not ended:
            files.append(ways.pidfd)
        poll = select.poll()
        for file in (*files, ways.life):
            poll.register(file, select.POLLIN)
        found = [file for file, _ in poll.poll(None if timeout is None else max(timeout, 0.0) * 1000)]
        if ways.life in found:
            raise Unwanted
        return sorted(found, key=files.index)

    def _heard(self) -> str | None:
        """News from the inner side; a program that has begun has closed it."""
        try:
            message, _ = wire.receive(self._ways.inner)
        except (EOFError, OSError):
            self._listening = False
            return None
        if "ended" in message:
            self.code = message["ended"]
        self.unstarted = "unstarted" in message
        return message.get("failed", message.get("unstarted"))

    def _note_end(self) -> None:
        """Without pid 1 the program is our child, and so are the orphans it leaves."""
        code = reap(self._ways.first)
        if not self._has_pid1 and code is not None:
            self.code = code

    def _count(self) -> int:
        """The memory that is used."""
        if not self._has_pid1:
            self._note_end()
        processes = descendants(self._ways.first if self._has_pid1 else os.getpid())
        used = memory_of(processes, self._request.memory)
        if used > self._request.memory or self._is_memory_hidden(processes):
            self.limits.append("memory")
        if self._folder is not None and time.monotonic() >= self._folder_due:
            began = time.monotonic()
            if self._folder.used(processes, self._request.scratch) > self._request.scratch:
                self.limits.append("scratch")
            self._folder_due = time.monotonic() + max(_FOLDERS_EVERY, 4 * (time.monotonic() - began))
        elif self._folder is None:
            self._note_full()
        return used

    def _is_memory_hidden(self, processes: list[int]) -> bool:
        """More than is in the sum of the processes: a group knows. Without one, memory that is shared and hardly mapped
        shows only in what the machine holds."""
        if self._group is not None and "memory" in self._group.kinds:
            return self._group.ran_out()
        scratch = self._request.scratch if self._folder is None else 0  # it lies in memory
        grown = mapped.shared_memory() - self._shared_before
        return grown > self._request.memory + scratch + _MARGIN and mapped.shares_memory(processes)

    def _note_full(self) -> None:
        found = os.fstatvfs(self._scratch)
        self._full = self._full or not (found.f_bfree and found.f_ffree)
