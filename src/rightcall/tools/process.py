"""Programs that work for a tool: no shell, an environment of our own, a deadline, and no more output than was asked
for. Whatever happens, none is left running: not even when we are killed."""

import atexit
import os
import selectors
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from errno import ECANCELED
from functools import lru_cache, partial
from math import ceil
from threading import Event, Lock, Thread
from time import monotonic

from msgspec import Struct

from rightcall.errors import ToolFailure

# ── programs ──
# Which git and which ripgrep are started: those of this machine, never one that lies in what is looked at, wherever
# PATH leads. Tools such as npm and direnv put folders of a project on it.

_SYSTEM = ("/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin")
"""Where programs are installed. They count even below the root: whoever could put one there owns the machine, and with
the root `/` nothing lies outside."""


def program(name: str, root: str) -> str | None:
    """The whole path of an installed program; None when there is none, or only below the root."""
    return _find_program(name, os.path.realpath(root), os.environ.get("PATH", os.defpath))


def search_path(program: str, root: str) -> str:
    """The PATH for a program: its own folder, and those of the system, by the same rule."""
    return _path_of(program, os.path.realpath(root))


@lru_cache(64)
def _path_of(program: str, root: str) -> str:
    folders = dict.fromkeys((os.path.dirname(program), "/usr/bin", "/bin"))
    return os.pathsep.join(folder for folder in folders if _counts(folder, root))


@lru_cache(64)
def _find_program(name: str, root: str, path: str) -> str | None:
    for folder in dict.fromkeys(path.split(os.pathsep)):
        whole = os.path.join(folder, name)
        if _counts(folder, root) and _runs(whole) and (_is_system(folder, root) or not _below(whole, root)):
            return whole
    return None


def _counts(folder: str, root: str) -> bool:
    return os.path.isabs(folder) and (_is_system(folder, root) or not _below(folder, root))


def _is_system(folder: str, root: str) -> bool:
    """Whether a folder of the system lies below the root."""
    return folder.rstrip("/") in _SYSTEM and _below(folder, root)


def _below(path: str, root: str) -> bool:
    """At or below the root, as it is written or when every link is followed."""
    top = root.rstrip("/") + "/"
    return any(f"{one}/".startswith(top) for one in (os.path.normpath(path), os.path.realpath(path)))


def _runs(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and os.access(path, os.X_OK)
    except (OSError, ValueError):
        return False


# ── limits ──
# What a program may use, set from outside right after its start: seconds of CPU, so that it cannot go on for long when
# the one who watches its deadline has been killed, and memory. Only Linux lets a process do that to another; elsewhere
# the deadline has to do.

MEMORY = 1 << 30
"""Bytes of its own that a program may write to. Files that it only maps, such as git's packs, do not count: the system
takes those pages back when it needs them."""


def limit(process: int, seconds: float, *, memory: int = MEMORY, threads: int | None = None) -> None:
    """`seconds` is its deadline; with several threads it may use that much in each (None: as many as there are cores).
    It writes no core file: what it had in memory is nobody's business."""
    if sys.platform != "linux":
        return
    import resource

    spent = ceil(seconds) * (threads or os.cpu_count() or 1) + 1
    for kind, most in (
        (resource.RLIMIT_CPU, spent),
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(OSError, ValueError):  # it has gone already
            _, hard = resource.prlimit(process, kind)
            if hard == resource.RLIM_INFINITY or hard > most:  # never more than it has
                resource.prlimit(process, kind, (most, most))


SLICE = 0.05
"""Seconds after which a waiting thread looks up, so that it can be stopped from outside."""
_STARTING = 5.0
"""Seconds that a start is waited for by somebody who does not want it any more."""
_BLOCK = 1 << 16
_ERRORS = 10_000
"""Bytes of what a program complains about; nobody but us reads them."""


class Finished(Struct, frozen=True):
    """What a program has said. `code` is None when it was ended by us: `late`, or `full` (it said too much)."""

    out: bytes
    err: bytes
    code: int | None
    late: bool = False
    full: bool = False


class Program(Struct, frozen=True):
    """A command, the surroundings it runs in, and what it may use."""

    command: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    stdin: bytes | None = None
    fds: Sequence[int] = ()
    owner: object = None
    """Closes its descriptors when nothing refers to it any more: it lives at least as long as this."""
    memory: int = MEMORY
    threads: int | None = None
    first: Callable[[], None] | None = None
    """Is done by the thread that starts it, which ends then."""

    def start(self, seconds: float) -> "subprocess.Popen[bytes]":
        """Raises OSError. The system ends it where we cannot any more."""
        if self.first is not None:
            self.first()
        process = subprocess.Popen(
            self.command, env=dict(self.env), cwd=self.cwd, pass_fds=tuple(self.fds), start_new_session=True,
            stdin=subprocess.DEVNULL if self.stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
        limit(process.pid, seconds, memory=self.memory, threads=self.threads)
        return process


def run_program(
    program: Program, *, seconds: float, most: int, enough: Callable[[bytes], bool] | None = None,
    unwanted: Callable[[], bool] = lambda: False,
) -> Finished:  # fmt: skip
    """Run a program to its end, to its deadline, or until it has written `most` bytes. `enough` is given each block as
    it comes and says whether that will do; `unwanted` is asked now and then whether anybody still waits for it. Raises
    ToolFailure when the program cannot be started."""
    deadline = monotonic() + seconds
    process = _Process(os.path.basename(program.command[0]), partial(program.start, seconds))
    try:
        return _Conversation(process.started(), program.stdin or b"", most, enough).until(deadline, unwanted)
    finally:
        process.end()


class _Process:
    """A program from its start to its end. A thread of its own starts it: what stops ours, a signal or a timeout, can
    then not come between the start and our knowing of it."""

    def __init__(self, name: str, make: "Callable[[], subprocess.Popen[bytes]]") -> None:
        self._name = name
        self._make = make
        self._process: subprocess.Popen[bytes] | None = None
        self._error: OSError | None = None
        self._lock = Lock()
        self._settled = Event()
        self._unwanted = False

    def started(self) -> "subprocess.Popen[bytes]":
        try:
            Thread(target=self._start, name="rightcall-start", daemon=True).start()
        except RuntimeError as error:
            self._settled.set()
            raise ToolFailure("Nothing can be started: there are too many threads, or the program ends") from error
        self._settled.wait()
        if self._process is None:
            number = self._error.errno if self._error else None
            raise ToolFailure(f"{self._name} could not be started: {os.strerror(number or 0)}")
        return self._process

    def end(self) -> None:
        """It and whatever it has started. If it is just being started, that is waited for: it may need descriptors that
        we close next."""
        self._settled.wait(_STARTING)
        with self._lock:
            self._unwanted = True
            process = self._process
        if process is not None:
            _end(process)

    def _start(self) -> None:
        try:
            process = _running.start(self._make)
            with self._lock:
                self._process = process
            if self._unwanted:
                _end(process)
        except OSError as error:
            self._error = error
        finally:
            self._settled.set()


class _Running:
    """The programs that work for this process. Its threads are not waited for when it ends, so their programs are ended
    here: before the folders they work in are removed."""

    def __init__(self) -> None:
        self._all: set[subprocess.Popen[bytes]] = set()
        self._lock = Lock()
        self._maker = 0
        self._over = False

    def start(self, make: "Callable[[], subprocess.Popen[bytes]]") -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._maker != os.getpid():  # in a child after a fork: what the parent has started is the parent's
                self._all, self._maker = set(), os.getpid()
                atexit.register(self._end_all)
            if self._over:
                raise OSError(ECANCELED, "we are about to end")
            process = make()
            self._all.add(process)
            return process

    def discard(self, process: "subprocess.Popen[bytes]") -> None:
        self._all.discard(process)

    def forget(self) -> None:
        """In a child after a fork: who held the lock is not here."""
        self._lock = Lock()

    def _end_all(self) -> None:
        if self._maker != os.getpid():
            return
        with self._lock:
            self._over = True
        for process in tuple(self._all):
            _kill(process)


class _Conversation:
    """Feeds a program and listens to it, both at once, so that neither can wait for the other for ever."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", stdin: bytes, most: int, enough: Callable[[bytes], bool] | None
    ) -> None:
        self._process = process
        self._left = memoryview(stdin)
        self._most = most
        self._enough = enough
        self._out: list[bytes] = []
        self._err: list[bytes] = []
        self._said = self._complained = 0
        self._full = False

    def until(self, deadline: float, unwanted: Callable[[], bool]) -> Finished:
        process = self._process
        with selectors.DefaultSelector() as selector:
            for pipe, events in (
                (process.stdout, selectors.EVENT_READ),
                (process.stderr, selectors.EVENT_READ),
                (process.stdin, selectors.EVENT_WRITE),
            ):
                if pipe is not None:
                    os.set_blocking(pipe.fileno(), False)
                    selector.register(pipe, events)
            while selector.get_map() and not self._full:
                left = deadline - monotonic()
                if left <= 0 or unwanted():
                    return self._finished(late=True)
                for key, _ in selector.select(min(left, SLICE)):
                    if self._over(key.fileobj):
                        selector.unregister(key.fileobj)
        if self._full:
            return self._finished()
        try:
            code = process.wait(max(deadline - monotonic(), SLICE))
        except subprocess.TimeoutExpired:  # it has closed its pipes and goes on all the same
            return self._finished(late=True)
        return self._finished(code)

    def _over(self, pipe: object) -> bool:
        """One step with a pipe; whether that was the last."""
        process = self._process
        if pipe is process.stdin:
            return self._fed()
        source = process.stdout if pipe is process.stdout else process.stderr
        assert source is not None
        block = os.read(source.fileno(), _BLOCK)
        if source is process.stderr:
            if self._complained < _ERRORS:
                self._err.append(block)
                self._complained += len(block)
        elif block:
            self._out.append(block)
            self._said += len(block)
            self._full = self._said > self._most or (self._enough is not None and self._enough(block))
        return not block

    def _fed(self) -> bool:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            self._left = self._left[os.write(pipe.fileno(), self._left[:_BLOCK]) :]
        except BrokenPipeError:
            self._left = self._left[:0]
        if not self._left:
            pipe.close()
        return not self._left

    def _finished(self, code: int | None = None, *, late: bool = False) -> Finished:
        out, err = b"".join(self._out), b"".join(self._err)
        return Finished(out[: self._most], err[:_ERRORS], code, late, self._full)


def _end(process: "subprocess.Popen[bytes]") -> None:
    _kill(process)
    _running.discard(process)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """It and whatever it has started."""
    if process.poll() is None:
        with suppress(ProcessLookupError):  # it has gone by itself
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


_running = _Running()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_running.forget)
