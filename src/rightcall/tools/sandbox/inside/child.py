"""The side of a run that becomes the program. In namespaces its first process is pid 1, which outlives the program and
takes everything with it when it ends."""

from __future__ import annotations

import array
import builtins
import ctypes
import errno
import fcntl
import importlib.machinery
import io
import os
import resource
import select
import signal
import socket
import stat
import sys
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from math import ceil
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from rightcall.tools.sandbox.inside import kernel, wire
from rightcall.tools.sandbox.inside.kernel import program as filter_program
from rightcall.tools.sandbox.inside.root import Shown, enter_new_root
from rightcall.tools.sandbox.inside.wire import DEVICES, RANDOM, Request, checked_paths, system_places

# ── confine ──
# The last steps before a program runs: whatever it could reach beyond its own is taken from it.

_FILES = 256
_STACK = 8 << 20
_SPARE = 64 << 20
"""What a program may map beyond what it may use. A script may map less: so it hears of it by a MemoryError before it is
ended for it."""


def drop_privileges(uid: int, gid: int, *, other: bool) -> None:
    """No capabilities, none to be had; with `other`, no longer root."""
    kernel.no_new_privileges()
    kernel.no_capabilities_to_gain()
    if other:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    kernel.no_capabilities()


def set_limits(request: Request, tasks: int) -> None:
    """`tasks` is how many of its user there may be in all, threads included."""
    seconds = ceil(request.seconds * (os.cpu_count() or 1)) + 1
    for kind, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_DATA, request.memory + (-min(_SPARE, request.memory) // 4 if request.warm else _SPARE)),
        (resource.RLIMIT_FSIZE, request.scratch),
        (resource.RLIMIT_NPROC, tasks),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_STACK, _STACK),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_RTPRIO, 0),
        (resource.RLIMIT_NICE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def give_pipes(pipes: tuple[int, int, int], uid: int, gid: int) -> None:
    """Whoever opens /dev/stdout or the like opens the pipe once more, by its permissions. What is no pipe is
    everybody's already, such as /dev/null."""
    for pipe in pipes:
        if stat.S_ISFIFO(os.fstat(pipe).st_mode):
            os.fchown(pipe, uid, gid)


def take_pipes(pipes: tuple[int, int, int]) -> None:
    """Standard input, output and error. They come as higher numbers, so none is overwritten before it is taken."""
    for number, pipe in enumerate(pipes):
        os.dup2(pipe, number, inheritable=True)


def close_all_but(kept: int) -> None:
    """Every descriptor but the first three and one of ours."""
    highest = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, kept)
    os.closerange(kept + 1, max(highest, 1 << 16))


# ── program ──
# The program itself: a script in the interpreter that is running already, or another program in its place.

_OURS = "rightcall"


def set_environment(env: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)


def reset_signals(*, warm: bool) -> None:
    """As a new process has them: Python ignores two for itself, which another program would inherit."""
    if warm:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def prepare_start(path: str, argv: list[str], started_with: frozenset[str]) -> Callable[[], int]:
    """What runs a Python file as `python FILE` does: by the interpreter's own function for it, which also tells of
    whatever the file raises. It then returns something other than 0. `started_with` are the modules that every
    interpreter has loaded when it starts."""
    _new_streams()
    _new_main()
    folder = os.path.dirname(path)
    _forget_modules(folder, started_with)
    sys.argv = list(argv)
    sys.orig_argv = [sys.executable, path, *argv[1:]]
    sys.path.insert(0, folder)
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError as error:
        sys.stderr.write(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}\n")
        sys.exit(2)
    fopen, run = ctypes.CDLL(None).fopen, ctypes.pythonapi.PyRun_SimpleFileExFlags
    fopen.restype = ctypes.c_void_p
    file = ctypes.c_void_p(fopen(os.fsencode(path), b"rb"))
    return partial(run, file, os.fsencode(path), ctypes.c_int(1), ctypes.c_void_p())


def lend_packages(packages: dict[str, str]) -> None:
    """Let the script import these by name, behind everything that the interpreter has itself. The folder that they lie
    in may hold others, and is not on the path: where nothing can be mounted it cannot even be listed."""
    if packages:
        sys.meta_path.append(_LentFinder(packages))


class _LentFinder:
    def __init__(self, packages: dict[str, str]) -> None:
        self._packages = packages

    def find_spec(
        self, name: str, path: object = None, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        place = self._packages.get(name)
        if path is not None or place is None:
            return None
        from importlib.util import spec_from_file_location

        first = os.path.join(place, "__init__.py")
        if os.path.exists(first):
            return spec_from_file_location(name, first, submodule_search_locations=[place])
        if not os.path.isdir(place):
            return spec_from_file_location(name, place)
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [place]
        return spec


def was_interrupted() -> bool:
    """Whether it ended by Ctrl-C: the interpreter knows that, and ends by that signal itself."""
    return getattr(sys, "last_type", None) is KeyboardInterrupt


def _new_main() -> None:
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins  # in the first module it is the module itself, elsewhere its names
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    for name in ("__main__", "__mp_main__"):
        if name in sys.modules:
            sys.modules[name] = main


def _forget_modules(folder: str, started_with: frozenset[str]) -> None:
    """Our own, and those of the library, loaded beforehand, that the program has modules of the same name for."""
    ours = {_OURS}
    beside: set[str] = set()
    with suppress(OSError):
        beside = {name.partition(".")[0] for name in os.listdir(folder)}
    for name in beside - started_with:
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if spec is not None and spec.has_location:  # else it is the interpreter's own, which nothing comes before
            other = importlib.machinery.PathFinder.find_spec(name, [folder])
            if other is not None and other.loader is not None:
                ours.add(name)
    for name in [name for name in sys.modules if name.partition(".")[0] in ours]:
        del sys.modules[name]


def _new_streams() -> None:
    """Buffered as pipes are, in UTF-8."""
    stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "rb", False)), "utf-8", "surrogateescape")
    stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "wb", False)), "utf-8", "surrogateescape")
    stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "wb", False)), "utf-8", "backslashreplace", line_buffering=True
    )
    for stream, name, mode in ((stdin, "stdin", "r"), (stdout, "stdout", "w"), (stderr, "stderr", "w")):
        setattr(stream, "mode", mode)  # noqa: B010  (it is declared as a property)
        stream.buffer.raw.name = f"<{name}>"
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


# ── stand-ins ──
# What the library does in a way that is closed in a sandbox, done in one that is open. A semaphore, for one, has a
# name in /dev/shm, which is everybody's where nothing can be mounted.

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


NAMESPACES = kernel.NEWNS | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWCGROUP
_SHARED_TIER = "landlock"
_SPARE_TASKS = 16


class Run(NamedTuple):
    """What the side that becomes the program has been given."""

    request: Request
    channel: socket.socket
    """To the supervisor."""
    pipes: tuple[int, int, int]
    code: int
    """The program's own file, open; less than 0: there is none."""
    uid: int
    gid: int
    other: bool
    """Whether it is to be another user than we are."""
    tasks: int
    interpreter: list[str]
    temporary: str
    """The folder for temporary files."""


class NoGo(Exception):
    """The supervisor has gone, or does not want it any more."""


def become_first(run: Run) -> int:
    """Pid 1 of its own namespaces. Returns in the process that is to be the program, with the number of tasks that its
    user may have. Whatever is taken from the program is taken from pid 1 before, which has no need of it either."""
    kernel.unshare(NAMESPACES, "new mount, network, ipc, uts and cgroup namespaces")
    shown = Shown(run.interpreter, run.code, run.uid, run.gid)
    enter_new_root(run.request, shown, lambda volume: _offer(run, volume))
    _give_up(run)
    _restrict(["/"], [run.request.place, run.temporary, "/dev/shm"], needed=False)
    tasks = _wait_for_go(run)
    kernel.set_dumpable(False)  # before there is anybody who could look into it
    _filter_calls(run)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # from inside, pid 1 gets no signal that it does not handle
    pid = os.fork()
    if pid:
        _reap(run, pid)
    return tasks


def _offer(run: Run, volume: int) -> None:
    """Let the sandbox fill the scratch folder."""
    scratch = os.open("scratch", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=volume)
    wire.send(run.channel, {"ready": True}, (scratch,))
    os.close(scratch)


def _give_up(run: Run) -> None:
    """Descriptors and privileges."""
    os.umask(0o022)
    if run.other:
        give_pipes(run.pipes, run.uid, run.gid)
    take_pipes(run.pipes)
    close_all_but(run.channel.fileno())
    drop_privileges(run.uid, run.gid, other=run.other)
    kernel.die_with_parent()


def _wait_for_go(run: Run) -> int:
    """How many tasks its user may have. A group that counts them knows when one is refused, so it must be the first to
    refuse."""
    try:
        message, _ = wire.receive(run.channel)
    except (EOFError, OSError):
        raise NoGo from None
    return run.tasks + (_SPARE_TASKS if message["grouped"] else 0)


def _reap(run: Run, program_pid: int) -> NoReturn:
    """What is left to pid 1: to wait for the program, and for the orphans it leaves."""
    os.closerange(0, 3)
    while True:
        pid, status = os.wait()
        if pid == program_pid:
            wire.send(run.channel, {"ended": os.waitstatus_to_exitcode(status)})
            os._exit(0)


def become_ready(run: Run) -> int:
    """As `become_first`, where nothing can be mounted: what is outside stays where it is, and Landlock has to keep it
    apart."""
    _give_up(run)
    request = run.request
    code = [os.path.dirname(request.code)] if request.code else []
    visible = [*system_places(), *checked_paths(run.interpreter, request.visible), *code, *RANDOM]
    _restrict(visible, [request.place, run.temporary], needed=True)
    wire.send(run.channel, {"ready": True})  # not before: what is filled would be removed under one's hands
    return _wait_for_go(run)


def confine_self(run: Run, tasks: int) -> None:
    """In the process that is to be the program: from here on it can do no more than the program may."""
    request = run.request
    os.setsid()
    os.chdir(request.place)
    set_limits(request, tasks)
    kernel.die_with_parent()
    kernel.set_dumpable(True)
    if request.tier == _SHARED_TIER:
        _filter_calls(run)


def _filter_calls(run: Run) -> None:
    """In namespaces it holds for pid 1 too, which the program is forked from."""
    shared = run.request.tier == _SHARED_TIER
    owner = shared and not run.other
    version = kernel.landlock_version() if shared else 0
    kernel.install_filter(
        filter_program(
            "aarch64" if kernel.machine() == "aarch64" else "x86_64",
            disk=shared or run.request.bind,
            shared=shared,
            owner=owner,
            alone=os.getpid() if owner and version < kernel.SIGNALS_SINCE else None,
            truncate=not shared or version >= kernel.TRUNCATE_SINCE,
        )
    )


def _restrict(read: list[str], write: list[str], *, needed: bool) -> None:
    """In namespaces there is nothing to be seen but what may be read, so that Landlock only comes on top."""
    if needed or kernel.landlock_version():
        kernel.restrict(read, write, DEVICES)


def environment(run: Run) -> dict[str, str]:
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": run.request.place,
        "USER": "sandbox",
        "LOGNAME": "sandbox",  # where users have no names, programs ask here
        "TMPDIR": run.temporary,
        "LANG": "C.UTF-8",
        "XDG_CACHE_HOME": f"{run.temporary}/cache",  # what libraries keep for themselves is none of the result
        "XDG_CONFIG_HOME": f"{run.temporary}/config",
        "OPENSSL_CONF": "/dev/null",  # the system's own cannot be read, which OpenSSL takes for a fault
        **run.request.env,
    }


def replace_self(run: Run) -> None:
    """Become the program, by its name; if that is not possible, say so and end."""
    argv = run.request.argv
    reset_signals(warm=False)
    try:
        os.execve(argv[0], argv, environment(run))
    except OSError as error:
        wire.send(run.channel, {"unstarted": f"{argv[0]}: {error.strerror}"})
        os._exit(125)


def adapt_library(run: Run) -> None:
    """For a script where nothing can be mounted."""
    if run.request.tier == _SHARED_TIER:
        do_without_shared_memory_files()
