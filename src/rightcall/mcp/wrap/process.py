"""The wrapped server as a process: started with its own pipes, ended with everything it has started."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import Final, Literal

from rightcall.base.text import escaped
from rightcall.errors import ConfigError
from rightcall.mcp.messages import Id, value

GRACE: Final = 3.0
"""Seconds a server has to end by itself once nobody talks to it any more."""
HURRY: Final = 1.5
"""Seconds after it was told to end: clients wait two before they kill, and then nobody is left to end the server."""

_POSIX: Final = os.name == "posix"


class Ending:
    """Waits until a thread says that it is over, or one side has gone while nobody was reading from the client, or
    writing to the server."""

    def __init__(self, client: int, server: int) -> None:
        self._over = threading.Event()
        self._client = client
        self._server = server
        self._heard, self._said = os.pipe() if _POSIX else (-1, -1)

    def say(self) -> None:
        if not self._over.is_set():
            self._over.set()
            if _POSIX:
                os.write(self._said, b".")

    def wait(self) -> bool:
        """Whether it is the server that has closed its input. Signals are heard meanwhile."""
        if not _POSIX:
            while not self._over.wait(0.5):  # a wait without end would not hear Ctrl-C
                pass
            return False
        from select import POLLIN, poll

        watched = poll()
        watched.register(self._heard, POLLIN)
        watched.register(self._client, 0)  # only that it has gone: what it says is for the thread that reads it
        watched.register(self._server, 0)
        return any(number == self._server for number, _ in watched.poll())


class Server:
    """Its standard error is ours: it goes where it would go without us."""

    def __init__(self, command: Sequence[str]) -> None:
        """Raises ConfigError when it cannot be started."""
        try:
            # In a group of its own, so that whatever it starts can be ended with it.
            self._process = subprocess.Popen(
                _find_command(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
                process_group=0 if _POSIX else None,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise ConfigError(f"the server cannot be started: {escaped(command[0], 200)!r}: {why}") from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self.input = self._input.fileno()
        self.output = self._output.fileno()

    def close_input(self) -> None:
        with suppress(OSError):
            self._input.close()

    def ended(self, within: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(within)
        return self._process.returncode is not None

    @property
    def code(self) -> int:
        """Its exit code, as a shell gives it for one that a signal ended."""
        code = self._process.returncode
        return 1 if code is None else 128 - code if code < 0 else code

    def tell(self, number: int) -> None:
        """A signal for the server and all that it has started."""
        with suppress(OSError):
            if _POSIX:
                os.killpg(self._process.pid, number)
            else:
                self._process.terminate()

    def end(self, grace: float) -> None:
        """Wait, then ask, then make sure."""
        if not self.ended(grace):
            self.hurry(signal.SIGTERM)
        self.tell(signal.SIGTERM)  # what it has left behind

    def hurry(self, number: int) -> None:
        """Ask by a signal, then make sure."""
        self.tell(number)
        if not self.ended(HURRY):
            self.tell(signal.SIGKILL if _POSIX else signal.SIGTERM)
            self.ended(HURRY)


def _find_command(command: Sequence[str]) -> list[str]:
    """On Windows `npx` is `npx.cmd`, which is only found by looking for it."""
    if _POSIX:
        return list(command)
    from shutil import which

    return [which(command[0]) or command[0], *command[1:]]


# ── lines ──
# Lines between two processes, with bounded memory: a line up to a limit is handed over whole, a longer one in pieces.
#
# Blocking reads and writes on plain descriptors: one thread for each direction costs least, and a reader who is slow
# slows down the writer and nothing else.

Part = Literal["line", "head", "middle", "tail", "rest"]
"""`line`: a whole one. `head`, `middle`, `tail`: pieces of one that is too long. `rest`: the end came before its
end."""

CHUNK: Final = 1 << 16
_NEAR: Final = 4096
_ID: Final = rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")'
_FIRST: Final = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"\s*[,}]")
_LAST: Final = re.compile(rb",\s*" + _ID + rb"\s*\}\s*$")


def parts(source: int, most: int) -> Iterator[tuple[Part, bytes]]:
    """What comes from a descriptor until its end; no piece is much longer than `most`."""
    kept: list[bytes] = []
    size, long = 0, False
    while chunk := _read(source):
        start = 0
        while (end := chunk.find(b"\n", start) + 1) > 0:
            piece = chunk[start:end]
            if long:
                yield "tail", piece
            else:
                yield "line", b"".join((*kept, piece)) if kept else piece
            kept, size, long, start = [], 0, False, end
        rest = chunk[start:]
        if long and rest:
            yield "middle", rest
        elif rest:
            kept.append(rest)
            size += len(rest)
            if size > most:
                yield "head", b"".join(kept)
                kept, long = [], True
    if kept:
        yield "rest", b"".join(kept)


def _read(source: int) -> bytes:
    try:
        return os.read(source, CHUNK)
    except OSError:  # whoever wrote is gone; some systems say so instead of ending the stream
        return b""


def id_of(head: bytes, tail: bytes) -> Id | None:
    """The id of a message that is not read: where it stands first, as most write it, or last."""
    found = _FIRST.match(head[:_NEAR]) or _LAST.search(tail[-_NEAR:])
    return None if found is None else value(found[1])


class Output:
    """Where lines go. Several threads may send; a line that is sent in pieces is never torn by another."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._open = False
        """In the middle of a line."""
        self._waiting: list[bytes] = []

    def send(self, line: bytes) -> None:
        """A whole line with its end. Raises OSError when nobody reads any more."""
        with self._lock:
            if self._open:
                self._waiting.append(line)
            else:
                self._write(line)

    def piece(self, data: bytes) -> None:
        """A piece of a line. What others send meanwhile follows after the last."""
        with self._lock:
            self._open = True
            self._write(data)

    def last(self, data: bytes) -> None:
        """The end of a line that was sent in pieces."""
        with self._lock:
            self._open = False
            waiting, self._waiting = self._waiting, []
            for line in (data, *waiting):
                self._write(line)

    def half(self, data: bytes) -> None:
        """A line that will never be complete: it gets an end, so that what follows can be read."""
        with self._lock:
            torn, self._open = self._open, False
            waiting, self._waiting = self._waiting, []
            if data or torn:
                self._write(data + b"\n")
            for line in waiting:
                self._write(line)

    def close(self, within: float) -> bool:
        """Nothing is written from now on; False when somebody still writes after so many seconds."""
        if not self._lock.acquire(timeout=within):
            return False
        self._target = -1  # its number may soon mean another file
        self._lock.release()
        return True

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._target, view) :]


# ── both ends ──
# The two ends between which `wrap` stands, for requests of its own as well: ids that nobody else uses, and time.

log = logging.getLogger("rightcall")

Send = Callable[[bytes], None]
"""Takes a line with its end; raises OSError when nobody reads any more."""

_END: Final = b"\n"


class Ends:
    """Sending never raises: who is gone is noticed by whoever reads from there."""

    def __init__(self, client: Send, server: Send) -> None:
        self._client = client
        self._server = server
        self._lists, self._questions = (f"rightcall-{token_hex(16)}-" for _ in "ab")
        """The server sees the one and the client the other: neither knows what an id for the other begins with."""
        self.client_lost = False
        """Nobody reads our answers any more."""
        self.server_lost = False
        """Nor does the server read what it is sent."""

    def to_client(self, line: bytes) -> bool:
        sent = _sent(self._client, line)
        self.client_lost = self.client_lost or not sent
        return sent

    def to_server(self, line: bytes) -> bool:
        sent = _sent(self._server, line)
        self.server_lost = self.server_lost or not sent
        return sent

    def list_id(self) -> str:
        """For a request of our own to the server."""
        return self._lists + token_hex(8)

    def question_id(self) -> str:
        """For one to the client. Whoever knows other ids of ours cannot tell this one."""
        return self._questions + token_hex(16)

    def is_question(self, id: Id | None) -> bool:
        return isinstance(id, str) and id.startswith(self._questions)

    def is_own(self, id: Id | None) -> bool:
        return isinstance(id, str) and id.startswith((self._lists, self._questions))

    def later(self, seconds: float, work: Callable[[], None]) -> Callable[[], None]:
        """What it returns calls it off."""
        timer = threading.Timer(seconds, _guarded(work))
        timer.daemon = True
        timer.start()
        return timer.cancel

    def soon(self, work: Callable[[], None]) -> None:
        """In a thread of its own: who reads from one end must never wait for the other, or both wait for ever."""
        threading.Thread(target=_guarded(work), daemon=True).start()


def _sent(send: Send, line: bytes) -> bool:
    try:
        send(line if line.endswith(_END) else line + _END)
    except OSError:
        return False
    return True


def _guarded(work: Callable[[], None]) -> Callable[[], None]:
    def done() -> None:
        try:
            work()
        except Exception:
            log.exception("rightcall: a call that was held could not go on")

    return done
