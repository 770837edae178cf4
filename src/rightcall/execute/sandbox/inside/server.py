"""The fork server: waits for runs, and forks for each. It does nothing else, so that whatever happens in a run cannot
happen to it; and it ends when the one it works for has ended."""

from __future__ import annotations

import os
import select
import signal
import socket
from contextlib import suppress
from typing import NamedTuple, NoReturn

from rightcall.execute.sandbox.inside import folders, kernel, wire
from rightcall.execute.sandbox.inside.groups import remove_group, usable_homes
from rightcall.execute.sandbox.inside.owners import id_range
from rightcall.execute.sandbox.inside.places import interpreter_places
from rightcall.execute.sandbox.inside.real_folder import base_of
from rightcall.execute.sandbox.inside.supervisor import Given, Server
from rightcall.execute.sandbox.inside.watching import descendants


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
        self.facts = Server(interpreter_places(), usable_homes())

    def wait_for_run(self) -> Given:
        """Returns in the child of each run."""
        for file in (self._requests.fileno(), self._holder):
            self._poll.register(file, select.POLLIN)
        while True:
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
        control, *pipes = files
        token: str = message["token"]
        pid = os.fork()
        if pid == 0:
            others = [run.control for run in self._runs.values()]
            for file in (*self._runs, *others, self._life_write, self._holder):
                os.close(file)
            self._requests.close()
            return Given(token, socket.socket(fileno=control), (pipes[0], pipes[1], pipes[2]), self._life_read)
        for pipe in pipes:
            os.close(pipe)
        pidfd = os.pidfd_open(pid)
        self._runs[pidfd] = _Started(pid, token, control)
        self._poll.register(pidfd, select.POLLIN)
        return None

    def _ended(self, pidfd: int) -> None:
        self._poll.unregister(pidfd)
        run = self._runs.pop(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(run.pid, 0)
        if status:
            self._end_orphans()
            folders.remove(base_of(run.token))
            remove_group(self.facts.homes, run.token)
        os.close(run.control)

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


def _children() -> list[int]:
    below = descendants(os.getpid())
    return [pid for pid in below if _parent(pid) == os.getpid()]


def _parent(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/stat", "rb") as file:
        return int(file.read(4096).rpartition(b")")[2].split()[1])
    return 0
