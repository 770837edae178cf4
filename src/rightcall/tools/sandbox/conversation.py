"""What is asked of the sandbox, and what it answers. And one run as the caller sees it: feeds the program, listens to
it, and stops it when it says too much."""

import os
import re
import secrets
import selectors
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import lru_cache
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Self

from msgspec import Struct, field

from rightcall.errors import ToolFailure
from rightcall.policy.settings import SandboxSettings
from rightcall.tools.process import SLICE
from rightcall.tools.sandbox.inside import kernel, wire
from rightcall.tools.sandbox.inside.wire import is_modest

Tier = Literal["namespaces", "landlock"]
"""How a program is kept in, the better one first."""
LimitName = Literal["seconds", "memory", "processes", "scratch", "output"]


class Limits(Struct, frozen=True):
    """What a program may use: `memory` and `scratch` in megabytes, `output` in bytes, all of them for all of its
    processes together."""

    seconds: float = 4.0
    memory: int = 512
    processes: int = 64
    scratch: int = 128
    output: int = 1_000_000


class Code(Struct, frozen=True):
    """A file that can be read inside, at `path`, and is nowhere else: it goes with the run, whatever ends that. The
    folder of `path` is its own; where nothing can be mounted it is elsewhere, and paths below it are put right."""

    path: str
    content: bytes


class Job(Struct, frozen=True):
    """A program to run. `argv` is the program by its whole path and its arguments, as seen inside. `place` is the path
    at which the scratch folder is seen inside: its working folder and HOME. `visible` are further paths that can be
    read inside, besides the system's own and the interpreter's; `packages` are those among them that a script can
    import, by name. `env` is laid over the few variables of our own. `script` is a Python file inside that the warm
    interpreter runs itself; argv is then what sys.argv shall be. `code` is the program's own file, in a folder beside
    the scratch folder that is there for this run alone. `bind` makes the folder at `place` itself the scratch, instead
    of a sized one in memory."""

    argv: tuple[str, ...]
    place: str
    limits: Limits = Limits()
    visible: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    script: str | None = None
    code: Code | None = None
    bind: bool = False
    packages: Mapping[str, str] = field(default_factory=dict[str, str])


class Ended(Struct, frozen=True):
    """How a program has ended: its exit `code`, or None and the `signal` that ended it. `limits` are those that ended
    it or were hit."""

    code: int | None
    signal: int | None
    limits: tuple[LimitName, ...]
    tier: Tier
    seconds: float


class Scratch(Struct, frozen=True):
    """The scratch folder, open as `fd`, and whose the files in it shall be. Valid only within the call it is given to.
    `place` is where it is seen inside: Job.place, except where nothing can be mounted and it was not to be bound."""

    fd: int
    uid: int
    gid: int
    place: str = ""


class NoSandbox(ToolFailure):
    """There is no isolation here that will do: `why`, and `advice` on what would help, a line each."""

    def __init__(self, why: str, advice: tuple[str, ...] = ()) -> None:
        super().__init__("\n".join([why, *advice]))
        self.why = why
        self.advice = advice


# ── advice ──
# What somebody can do whose machine offers no isolation.

_SWITCHES = {
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sysctl kernel.unprivileged_userns_clone=1"),
    "/proc/sys/user/max_user_namespaces": ("0", "sysctl user.max_user_namespaces=10000"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile that allows userns",
    ),
}


def advice() -> tuple[str, ...]:
    lines: list[str] = []
    for path, (bad, line) in _SWITCHES.items():
        with suppress(OSError), open(path) as file:
            if file.read().strip() == bad:
                lines.append(f"For namespaces: {line}")
    if in_container():
        lines.append(
            "In a container: run it with a seccomp profile that allows unshare and mount (docker run --security-opt "
            "seccomp=unconfined --cap-add SYS_ADMIN), or on a host whose kernel has Landlock"
        )
    elif os.geteuid() != 0 and not lines:
        lines.append("For namespaces: a kernel with CONFIG_USER_NS, and user namespaces allowed for ordinary users")
    if kernel.landlock_version() == 0:
        lines.append(
            "For Landlock: Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK, and landlock in the boot parameter lsm="
        )
    return tuple(lines)


def in_container() -> bool:
    return os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv") or "container" in os.environ


def is_linux() -> bool:
    return sys.platform == "linux"


# ── languages ──
# The languages in which code can run: how a file of each is called, and what runs it.

Language = Literal["python", "javascript"]
PLACE = "/scratch"
"""Where a program sees its scratch folder, if no folder of a person's is it; in the second tier it is elsewhere, and
the paths of a job below it are put right."""
CODE = "/program"
"""Where it sees its own file, if that is not in the scratch folder."""

_ENDINGS: dict[str, Language] = {
    ".py": "python", ".pyw": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript",
}  # fmt: skip
_SYSTEM = ("/usr/", "/bin/", "/lib/", "/lib64/")
_HEAP = 0.75
"""The share of the memory that JavaScript's values may take: beyond it node says so itself, and is not just killed."""
_LIBRARY = re.compile(r"^\s*(?:\S+ => )?(/.*) \(0x[0-9a-f]+\)$", re.M)
_MODULE = re.compile(r"^(?:import\s*(?:[\w*{\"']|\.meta)|export\s|await\s|(?:const|let|var)\s[^=]*=\s*await\s)", re.M)
"""What begins a line of code that is a module, and is an error elsewhere."""


def language_of(path: str) -> Language | None:
    """By the ending of a file's name."""
    return _ENDINGS.get(os.path.splitext(path)[1].lower())


def file_name(language: Language, code: str, taken: frozenset[str] = frozenset()) -> str:
    """What a file with this code is called, beside others. JavaScript that imports in the way of modules must be named
    as one."""
    ending = ".py"
    if language == "javascript":
        ending = ".mjs" if _MODULE.search(code) and not re.search(r"\brequire\s*\(", code) else ".js"
    name = "main"
    while f"{name}{ending}" in taken:
        name = f"_{name}"
    return f"{name}{ending}"


def code_for(name: str, content: bytes, *taken: str) -> Code:
    """A program's own file, in a folder that is none of those that are `taken`."""
    folder = CODE
    while any(f"{path}/".startswith(f"{folder}/") for path in taken):
        folder += "_"
    return Code(f"{folder}/{name}", content)


def limits_of(settings: SandboxSettings) -> Limits:
    return Limits(settings.seconds, settings.memory, settings.processes, settings.scratch, settings.output)


def job_for(
    language: Language, settings: SandboxSettings, place: str, script: str | Code, arguments: tuple[str, ...] = (),
) -> Job:  # fmt: skip
    """Run the file `script`, as it is seen inside, or a file that is there for this run alone. Raises ToolFailure where
    nothing is there to run it."""
    limits, seen = limits_of(settings), settings.visible
    code = script if isinstance(script, Code) else None
    path = script.path if isinstance(script, Code) else script
    if language == "python":
        return Job((path, *arguments), place, limits, visible=seen, script=path, code=code)
    node = node_program(settings)
    heap = f"--max-old-space-size={max(int(settings.memory * _HEAP), 16)}"
    return Job((node, heap, path, *arguments), place, limits, visible=(*_belongings(node), *seen), code=code)


def node_program(settings: SandboxSettings) -> str:
    """The program that runs JavaScript, by its whole path."""
    found = shutil.which(settings.node or "node")
    if found is None:
        named = f"`{settings.node}` ([sandbox] node)" if settings.node else "`node` on the PATH"
        raise ToolFailure(f"JavaScript needs Node.js, but {named} was not found")
    return os.path.realpath(found)


@lru_cache(8)
def _belongings(program: str) -> tuple[str, ...]:
    """What must be seen for a program that is not the system's to run, and no more: what lies beside it may be
    somebody's home."""
    if program.startswith(_SYSTEM):
        return ()
    return (program, *_libraries(program), *_packages(os.path.dirname(os.path.dirname(program))))


def _packages(prefix: str) -> tuple[str, ...]:
    """Those of an installation of node, npm for one, where there is proof that it is one."""
    packages = os.path.join(prefix, "lib", "node_modules")
    proven = os.path.isdir(os.path.join(packages, "npm")) or os.path.isdir(os.path.join(prefix, "include", "node"))
    modest = is_modest(prefix) and os.path.realpath(prefix) != os.path.realpath(os.curdir)
    return (packages,) if proven and modest and os.path.isdir(packages) else ()


def _libraries(program: str) -> tuple[str, ...]:
    """The files with shared code that the system's loader finds for it; it is not started for that."""
    ldd = shutil.which("ldd", path="/usr/bin:/bin")
    if ldd is None:
        return ()
    try:
        listed = subprocess.run(
            [ldd, program], env={}, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=5.0, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ()
    found = _LIBRARY.findall(listed.stdout.decode(errors="surrogateescape"))
    return tuple(path for path in found if not path.startswith(_SYSTEM) and os.path.isfile(path))


# ── holding ──
# Our side of a fork server: starts it, gives it runs, ends it.

_BOOT = str(Path(__file__).parent / "inside" / "boot.py")
_ENDING = 60.0
"""Seconds that the server has, which waits until everything is cleaned up: much, so that nothing outlives us."""
_open: "set[socket.socket]" = set()
"""Our ends of all conversations. A child that we fork must not hold them: what they keep running ends when they are
closed."""


def close_in_child() -> None:
    for conversation in tuple(_open):
        conversation.close()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=close_in_child)


class Server:
    """A fork server that runs. It has an empty environment and nothing open but our socket, and it ends with us."""

    def __init__(self, python: str) -> None:
        self.python = python
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [python, "-I", "-X", "utf8", _BOOT, str(theirs.fileno())], env={}, cwd="/",
                    pass_fds=(theirs.fileno(),), start_new_session=True,
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                )  # fmt: skip
            except OSError as error:
                ours.close()
                raise NoSandbox(f"{python} could not be started: {error.strerror}") from error
        _open.add(ours)
        self._socket = ours
        self._holder = os.getpid()
        self._lock = Lock()
        try:
            self.groups: dict[str, int] = self._hello()
            """What control groups can limit here, and the version of their interface."""
        except BaseException:  # whoever waits may be stopped at any moment: then nobody would end it
            self._process.kill()
            self.close()
            raise

    def _hello(self) -> dict[str, int]:
        """Its first words: it is ready, and which control groups it can use."""
        self._socket.settimeout(20.0)
        try:
            message, _ = wire.receive(self._socket)
        except (EOFError, OSError):
            said = self._last_words()
            raise NoSandbox(f"The fork server did not start with {self.python}{': ' if said else ''}{said}") from None
        self._socket.settimeout(None)
        return message["groups"]

    def _last_words(self) -> str:
        self._process.kill()
        assert self._process.stderr is not None
        lines = self._process.stderr.read(1 << 16).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def begin(self, pipes: tuple[int, int, int], ways: tuple[socket.socket, socket.socket]) -> socket.socket:
        """The conversation with the supervisor of a new run, through the first of a pair of sockets. Closing it ends
        the run."""
        ours, theirs = ways
        _open.add(ours)
        try:
            with theirs, self._lock:
                wire.send(self._socket, {"token": secrets.token_hex(8)}, (theirs.fileno(), *pipes))
        except BaseException:
            end_conversation(ours)
            raise
        return ours

    def close(self) -> None:
        """It ends what still runs, then itself. In a child that we have forked it is not ours to end."""
        if self._holder != os.getpid():
            return
        end_conversation(self._socket)
        try:
            self._process.wait(_ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()


def end_conversation(conversation: socket.socket) -> None:
    _open.discard(conversation)
    conversation.close()


Out = Callable[[Literal["stdout", "stderr"], bytes], None]

_BLOCK = 1 << 16
_CLEANING = 60.0
"""Seconds that the supervisor has to clean up: much, so that it never outlives us, also on a slow disk."""


class ServerGone(Exception):
    """The fork server has ended before the program began."""


class Conversation:
    """From the request to the end. `with` makes sure that, whatever happens, nothing is left of the run."""

    def __init__(self, server: Server, job: Job, tier: Tier, stdin: bytes | None, out: Out) -> None:
        self._job = job
        self._tier: Tier = tier
        self._left = memoryview(stdin or b"")
        self._out = out
        self._said = 0
        self._limits: list[LimitName] = []
        self._pipes: dict[FileIO, Literal["stdout", "stderr", "stdin"]] = {}
        self._scratch: Scratch | None = None
        self._control = self._begun(server, feed=bool(stdin))

    def _begun(self, server: Server, *, feed: bool) -> socket.socket:
        """Pipes are files from the first moment: whatever interrupts us, somebody closes them."""
        with ExitStack() as stack, ExitStack() as theirs:
            try:
                out, err = _pipe(stack, theirs), _pipe(stack, theirs)
                if feed:
                    given, feeding = _pipe(theirs, stack)
                else:
                    given, feeding = theirs.enter_context(FileIO(os.devnull, "r")), None
                ways = socket.socketpair()
            except OSError as error:
                raise NoSandbox(f"No pipes could be had for a program: {error.strerror}") from error
            try:
                control = server.begin((given.fileno(), out[1].fileno(), err[1].fileno()), ways)
            except OSError as error:
                raise ServerGone from error
            stack.pop_all()
        self._pipes = {out[0]: "stdout", err[0]: "stderr"}
        if feeding is not None:
            self._pipes[feeding] = "stdin"
        return control

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the run if it has not ended, and wait until nothing is left of it."""
        for pipe in self._pipes:
            pipe.close()
        if self._scratch is not None:
            os.close(self._scratch.fd)
        try:
            self._control.settimeout(_CLEANING)
            self._control.shutdown(socket.SHUT_WR)
            while self._control.recv(_BLOCK):
                pass
        except OSError:
            pass
        finally:
            end_conversation(self._control)

    def prepare(self) -> Scratch:
        """Everything but the program itself. Raises NoSandbox with the step that failed."""
        try:
            self._ask()
            with selectors.DefaultSelector() as selector:
                selector.register(self._control, selectors.EVENT_READ)
                while not selector.select(SLICE):
                    pass
            message, files = wire.receive(self._control)
        except (OSError, EOFError) as error:
            raise ServerGone from error
        _raise_failure(message)
        self._scratch = Scratch(files[0], message["uid"], message["gid"], message["place"])
        return self._scratch

    def _ask(self) -> None:
        """The code goes as a file that has no name anywhere: nothing of it can be left behind."""
        request, code = _request(self._job, self._tier), self._job.code
        if code is None:
            wire.send(self._control, request)
            return
        with open(os.memfd_create("code", os.MFD_CLOEXEC), "wb") as file:
            file.write(code.content)
            file.flush()
            wire.send(self._control, request, (file.fileno(),))

    def listen(self) -> Ended:
        """Let the program begin, and go on until it has ended and all that it said has been heard."""
        answer: dict[str, Any] | None = None
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            for pipe, name in self._pipes.items():
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, selectors.EVENT_WRITE if name == "stdin" else selectors.EVENT_READ)
            self._send({"go": True})
            while answer is None or _still_read(selector, self._pipes):
                for key, _ in selector.select(SLICE):
                    if key.fileobj is self._control:
                        answer = self._heard()
                        selector.unregister(self._control)
                    elif isinstance(key.fileobj, FileIO) and self._over(key.fileobj):
                        selector.unregister(key.fileobj)
                        key.fileobj.close()
        return self._ended(answer)

    def _heard(self) -> dict[str, Any]:
        try:
            message, _ = wire.receive(self._control)
        except (OSError, EOFError):
            raise NoSandbox("The supervisor of the program was ended from outside, and the program with it") from None
        _raise_failure(message)
        return message

    def _over(self, pipe: FileIO) -> bool:
        """One step with a pipe; whether that was the last."""
        name = self._pipes[pipe]
        if name == "stdin":
            return self._fed(pipe)
        block = os.read(pipe.fileno(), _BLOCK)
        room = self._job.limits.output - self._said
        self._said += len(block)
        if block[:room] and room > 0:
            self._out(name, block[:room])
        if len(block) > room and not self._limits:
            self._limits.append("output")
            self._send({"limit": "output"})
        return not block

    def _fed(self, pipe: FileIO) -> bool:
        try:
            self._left = self._left[os.write(pipe.fileno(), self._left[:_BLOCK]) :]
        except BrokenPipeError:
            self._left = self._left[:0]
        return not self._left

    def _send(self, message: dict[str, Any]) -> None:
        with suppress(OSError):  # it has ended by itself; what it says about that is waiting
            wire.send(self._control, message)

    def _ended(self, answer: dict[str, Any]) -> Ended:
        code: int = answer["ended"]
        told: list[LimitName] = answer["limits"]
        limits: tuple[LimitName, ...] = (*self._limits, *(name for name in told if name not in self._limits))
        return Ended(code if code >= 0 else None, -code if code < 0 else None, limits, self._tier, answer["seconds"])


def _pipe(reading: ExitStack, writing: ExitStack) -> tuple[FileIO, FileIO]:
    """Its ends are closed by those who read and write."""
    read, write = os.pipe()
    return reading.enter_context(FileIO(read, "r")), writing.enter_context(FileIO(write, "w"))


def _still_read(selector: selectors.BaseSelector, pipes: dict[FileIO, Literal["stdout", "stderr", "stdin"]]) -> bool:
    return any(isinstance(key.fileobj, FileIO) and pipes[key.fileobj] != "stdin" for key in selector.get_map().values())


def _raise_failure(message: dict[str, Any]) -> None:
    if "unstarted" in message:
        raise ToolFailure(f"The program could not be started in the sandbox: {message['unstarted']}")
    if "broken" in message:
        raise ToolFailure(f"The program was ended, as its supervisor failed: {message['broken']}")
    if "failed" in message:
        raise NoSandbox(f"The sandbox could not be set up: {message['failed']}")


def _request(job: Job, tier: Tier) -> dict[str, Any]:
    limits = job.limits
    return {
        "tier": tier,
        "argv": list(job.argv),
        "place": os.path.normpath(job.place),
        "bind": job.bind,
        "script": job.script,
        "code": "" if job.code is None else job.code.path,
        "visible": [os.path.normpath(path) for path in job.visible],
        "env": dict(job.env),
        "packages": dict(job.packages),
        "seconds": limits.seconds,
        "memory": limits.memory << 20,
        "processes": limits.processes,
        "scratch": limits.scratch << 20,
    }
