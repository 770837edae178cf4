"""The fork server: waits for runs, and forks for each. It does nothing else, so that whatever happens in a run cannot
happen to it; and it ends when the one it works for has ended."""

from __future__ import annotations

import errno
import os
import resource
import select
import signal
import socket
from contextlib import suppress
from typing import NamedTuple, NoReturn

from rightcall.tools.sandbox.inside import kernel, root, wire
from rightcall.tools.sandbox.inside.cgroups import remove_group, usable_homes
from rightcall.tools.sandbox.inside.cleanup import base_of, descendants
from rightcall.tools.sandbox.inside.supervisor import Given, Server
from rightcall.tools.sandbox.inside.wire import id_range, interpreter_places

_FILES = 4
"""That come with a request: the way to the sandbox, and the program's pipes."""
_FILES_OF_A_RUN, _SPARE_FILES = 2, 12
_ENOUGH_FILES = 1 << 14


class _Started(NamedTuple):
    """A supervisor. Its way to the sandbox is kept open here as well, until it is no longer among the processes: so
    whoever waits for the other end to be closed knows that nothing is left."""

    pid: int
    token: str
    control: int


class ForkServer:
    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._holder = os.pidfd_open(os.getppid())
        self._life_read, self._life_write = os.pipe()
        self._poll = select.poll()
        self._runs: dict[int, _Started] = {}
        """By the descriptor that tells of their end."""
        kernel.adopt_orphans()  # what a supervisor leaves that was killed comes to us, and is ended
        id_range()  # once for all
        _raise_limit()
        self._own = len(os.listdir("/proc/self/fd"))
        self.facts = Server(interpreter_places(), usable_homes())

    def wait_for_run(self) -> Given:
        """Returns in the child of each run."""
        self._poll.register(self._holder, select.POLLIN)
        while True:
            # who is not listened to waits; its end is heard all the same
            self._poll.register(self._requests.fileno(), select.POLLIN if self._has_room() else 0)
            found = {file for file, _ in self._poll.poll()}
            if self._holder in found:
                self._end()
            if self._requests.fileno() in found:
                given = self._fork()
                if given is not None:
                    return given
            for pidfd in found & self._runs.keys():
                self._ended(pidfd)

    def _fork(self) -> Given | None:
        try:
            message, files = wire.receive(self._requests)
        except (EOFError, OSError):
            self._end()
        try:
            return self._forked(message["token"], files)
        except OSError as error:  # for want of processes, memory or descriptors: that passes
            with suppress(OSError):
                if files:
                    with socket.socket(fileno=files.pop(0)) as control:
                        wire.send(control, {"failed": f"start a process for it: {error.strerror}"})
            for file in files:
                os.close(file)
            return None

    def _forked(self, token: str, files: list[int]) -> Given | None:
        if len(files) != _FILES:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        control, *pipes = files
        pid = os.fork()
        if pid == 0:
            others = [run.control for run in self._runs.values()]
            for file in (*self._runs, *others, self._life_write, self._holder):
                os.close(file)
            self._requests.close()
            return Given(token, socket.socket(fileno=control), (pipes[0], pipes[1], pipes[2]), self._life_read)
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self._clear(token)
            raise
        for pipe in pipes:
            os.close(pipe)
        self._runs[pidfd] = _Started(pid, token, control)
        self._poll.register(pidfd, select.POLLIN)
        return None

    def _has_room(self) -> bool:
        """Whether there can be one more: each takes descriptors of ours for as long as it lasts."""
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        used = self._own + _FILES_OF_A_RUN * len(self._runs)
        return not self._runs or most == resource.RLIM_INFINITY or used + _SPARE_FILES <= most

    def _ended(self, pidfd: int) -> None:
        self._poll.unregister(pidfd)
        run = self._runs.pop(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(run.pid, 0)
        if status:
            self._clear(run.token)
        os.close(run.control)

    def _clear(self, token: str) -> None:
        """What a supervisor has left that was ended before it could clean up."""
        self._end_orphans()
        root.remove(base_of(token))
        remove_group(self.facts.homes, token)

    def _end_orphans(self) -> None:
        """Children that we have not forked."""
        ours = {run.pid for run in self._runs.values()}
        while orphans := set(_children()) - ours:
            for pid in orphans:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                with suppress(OSError):
                    os.waitpid(pid, 0)

    def _end(self) -> NoReturn:
        """Close the pipe that the supervisors watch, and wait until they have cleaned up."""
        os.close(self._life_write)
        with suppress(ChildProcessError):
            while True:
                os.wait()
        os._exit(0)


def _raise_limit() -> None:
    """As many descriptors as we may have, within reason: whoever started us may need few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _ENOUGH_FILES if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _children() -> list[int]:
    below = descendants(os.getpid())
    return [pid for pid in below if _parent(pid) == os.getpid()]


def _parent(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read(4096).rpartition(b")")[2].split()[1])
    return 0
