"""Our side of a fork server: starts it, gives it runs, ends it."""

import os
import secrets
import socket
import subprocess
from pathlib import Path
from threading import Lock

from rightcall.execute.sandbox.inside import wire
from rightcall.execute.sandbox.types import NoSandbox

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
