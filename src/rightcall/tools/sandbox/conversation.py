"""One run as the caller sees it: feeds the program, listens to it, and stops it when it says too much."""

import os
import secrets
import selectors
import socket
import subprocess
from collections.abc import Callable
from contextlib import ExitStack, suppress
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Self

from rightcall.errors import ToolFailure
from rightcall.tools.process import SLICE
from rightcall.tools.sandbox.inside import wire
from rightcall.tools.sandbox.types import Ended, Job, LimitName, NoSandbox, Scratch, Tier

# ── holding ──
# Our side of a fork server: starts it, gives it runs, ends it.

_BOOT = str(Path(__file__).parent / "inside" / "boot.py")
_STARTING = 20.0
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
        self._socket.settimeout(_STARTING)
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
