"""One run, from outside: prepares it, waits for it, ends it and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import time
from contextlib import suppress
from typing import Any, NamedTuple

from rightcall.execute.sandbox.inside import kernel, wire
from rightcall.execute.sandbox.inside.ending import end_all
from rightcall.execute.sandbox.inside.groups import Group, Home
from rightcall.execute.sandbox.inside.inner import Run
from rightcall.execute.sandbox.inside.overseer import Overseer, Unwanted, Ways
from rightcall.execute.sandbox.inside.owners import Owner, is_root
from rightcall.execute.sandbox.inside.real_folder import RealFolder, base_of
from rightcall.execute.sandbox.inside.request import Request, request_from
from rightcall.execute.sandbox.inside.watching import tasks_of


class Server(NamedTuple):
    """What the fork server has found out once, for all runs."""

    interpreter: list[str]
    homes: list[Home]
    """Where control groups can be made."""


class Given(NamedTuple):
    """What a run starts with: the way to the sandbox, the program's pipes, and a pipe that ends with the server."""

    token: str
    control: socket.socket
    pipes: tuple[int, int, int]
    life: int


def supervise(given: Given, server: Server) -> Run:
    """Returns in the process that is to become the program; the supervisor itself never does."""
    supervisor = _Supervisor(given, server)
    pid = os.getpid()
    try:
        run = supervisor.begin()
        if run is not None:
            return run
    except (Unwanted, EOFError, BrokenPipeError, ConnectionResetError):
        pass
    except (kernel.Step, OSError, ValueError) as error:
        supervisor.tell({"broken" if supervisor.begun else "failed": str(error)})
    except Exception as error:  # noqa: BLE001  (a fault of ours: the program is ended, and it is said what it was)
        supervisor.tell({"broken": f"{type(error).__name__}: {error}"})
    finally:
        if os.getpid() == pid:
            supervisor.clean_up()
            os._exit(0)
    raise AssertionError


class _Supervisor:
    def __init__(self, given: Given, server: Server) -> None:
        self._given = given
        self._server = server
        self._owner: Owner | None = None
        self._folder: RealFolder | None = None
        self._group: Group | None = None
        self._has_pid1 = False
        self._first = 0
        self.begun = False
        """Whether the program was let go."""

    def begin(self) -> Run | None:
        """None in the supervisor, when all is over."""
        message, files = wire.receive(self._given.control)
        request = request_from(message)
        code = files[0] if request.code else -1
        uid, gid = os.geteuid(), os.getegid()
        if is_root():
            self._owner = Owner()
            uid = gid = self._owner.id
        self._has_pid1 = request.tier == "namespaces"
        temporary = "/tmp"
        if not self._has_pid1:
            kernel.adopt_orphans()
        if not self._has_pid1 or request.bind:
            self._folder = RealFolder(request, uid, gid)
            self._folder.prepare(None if self._has_pid1 else base_of(self._given.token), code)
            request, temporary = self._folder.request, self._folder.temporary
        tasks = request.processes + self._other_tasks(uid)
        if self._has_pid1:
            self._separate(uid, gid)
        ours, theirs = socket.socketpair()
        self._first = os.fork()
        if self._first == 0:
            kernel.die_with_parent()
            self._forget()
            ours.close()
            other = self._owner is not None
            interpreter = self._server.interpreter
            return Run(request, theirs, self._given.pipes, code, uid, gid, other, tasks, interpreter, temporary)
        theirs.close()
        for file in (*self._given.pipes, *files):
            os.close(file)
        self._join_group(request)
        ways = Ways(self._given.control, ours, self._first, os.pidfd_open(self._first), self._given.life)
        self._oversee(Overseer(request, ways, self._folder, self._group, has_pid1=self._has_pid1), request, uid, gid)
        return None

    def tell(self, message: dict[str, Any]) -> None:
        with suppress(OSError):
            wire.send(self._given.control, message)

    def clean_up(self) -> None:
        """Whatever has happened. What it leaves, the server finds by the token."""
        self._end()
        with suppress(OSError):
            if self._folder is not None:
                self._folder.close()
        if self._group is not None:
            self._group.close()

    def _forget(self) -> None:
        """In the side that becomes the program: what is the supervisor's alone."""
        self._given.control.close()
        os.close(self._given.life)
        if self._owner is not None:
            self._owner.close()

    def _other_tasks(self, uid: int) -> int:
        """How many its user has besides: pid 1, and ourselves where we go to the new namespace of users as well."""
        if self._owner is not None:
            return int(self._has_pid1)
        return 2 if self._has_pid1 else tasks_of(uid)

    def _separate(self, uid: int, gid: int) -> None:
        """For the processes to come, a namespace of pids; for an ordinary user, one of users first, which gives him the
        right to do the rest."""
        if self._owner is None:
            kernel.unshare(kernel.NEWUSER, "new user namespace")
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", f"{uid} {uid} 1"),
                ("gid_map", f"{gid} {gid} 1"),
            ):
                try:
                    with open(f"/proc/self/{name}", "w") as file:
                        file.write(text)
                except OSError as error:
                    raise kernel.Step(f"write {name} of the new user namespace", error.errno or 0) from None
        kernel.unshare(kernel.NEWPID, "new pid namespace")

    def _join_group(self, request: Request) -> None:
        """Without one it goes as well: what it uses is counted in any case."""
        if self._server.homes:
            memory = request.memory + request.scratch
            self._group = Group(self._server.homes, self._given.token, memory, request.processes + int(self._has_pid1))
            self._group.join(self._first)

    def _oversee(self, overseer: Overseer, request: Request, uid: int, gid: int) -> None:
        files = overseer.wait_ready()
        scratch = self._folder.open() if self._folder is not None else files[0]
        ready = {"ready": True, "uid": uid, "gid": gid, "place": request.place}
        wire.send(self._given.control, ready, (scratch,))
        overseer.wait_go()
        self.begun = True
        began = time.monotonic()
        overseer.begin()
        failed = overseer.watch(began + request.seconds, scratch)
        seconds = time.monotonic() - began
        self._end()
        if failed is not None:
            self.tell({"unstarted" if overseer.unstarted else "failed": failed})
            return
        overseer.note_limits()
        code = -signal.SIGKILL if overseer.code is None else overseer.code
        self.tell({"ended": code, "limits": overseer.limits, "seconds": seconds})
        os.close(scratch)
        overseer.wait_gone()

    def _end(self) -> None:
        """Every process of the run. The end of pid 1 is the end of all; it has come when there is a status."""
        if not self._first:
            return
        if self._has_pid1:
            with suppress(ProcessLookupError, ChildProcessError):
                if os.waitpid(self._first, os.WNOHANG)[0] == 0:
                    os.kill(self._first, signal.SIGKILL)
                    os.waitpid(self._first, 0)
        else:
            end_all(self._owner.id if self._owner is not None else None)
        self._first = 0
