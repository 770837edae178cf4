"""The fork server: waits for runs, and forks for each. It does nothing else, so that whatever happens in a run cannot
happen to it; and it ends when the one it works for has ended. A supervisor forked from it sees one run from outside:
prepares it, waits for it, ends it and leaves nothing behind.
"""

from __future__ import annotations

import errno
import os
import resource
import select
import signal
import socket
import time
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from rightcall.tools.sandbox.inside import kernel, root, wire
from rightcall.tools.sandbox.inside.child import Run
from rightcall.tools.sandbox.inside.cleanup import (
    Group,
    Home,
    RealFolder,
    base_of,
    descendants,
    end_all,
    memory_of,
    reap,
    remove_group,
    tasks_of,
    usable_homes,
)
from rightcall.tools.sandbox.inside.wire import Owner, Request, id_range, interpreter_places, is_root, request_from

# ── overseer ──
# Waits for a run, and counts what it uses, until it has ended or must.

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
        self._shared_before = root.shared_memory()
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
        grown = root.shared_memory() - self._shared_before
        return grown > self._request.memory + scratch + _MARGIN and root.shares_memory(processes)

    def _note_full(self) -> None:
        found = os.fstatvfs(self._scratch)
        self._full = self._full or not (found.f_bfree and found.f_ffree)


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
