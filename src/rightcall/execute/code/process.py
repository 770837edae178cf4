"""Programs that work for a tool: no shell, an environment of our own, a deadline, and no more output than was asked
for. Whatever happens, none is left running."""

import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from time import monotonic

from msgspec import Struct

from rightcall.errors import ToolFailure

_SLICE = 0.05
"""Seconds after which a waiting thread looks up, so that it can be stopped from outside."""
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


def run_program(
    command: Sequence[str], *, env: Mapping[str, str], cwd: str, seconds: float, most: int,
    stdin: bytes | None = None, fds: Sequence[int] = (), enough: Callable[[bytes], bool] | None = None,
    unwanted: Callable[[], bool] = lambda: False,
) -> Finished:  # fmt: skip
    """Run a program to its end, to its deadline, or until it has written `most` bytes. `enough` is given each block as
    it comes and says whether that will do; `unwanted` is asked now and then whether anybody still waits for it. Raises
    ToolFailure when the program cannot be started."""
    deadline = monotonic() + seconds
    try:
        process = subprocess.Popen(
            command, env=dict(env), cwd=cwd, pass_fds=tuple(fds), start_new_session=True,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
    except OSError as error:
        name = os.path.basename(command[0])
        raise ToolFailure(f"{name} could not be started: {os.strerror(error.errno or 0)}") from error
    try:
        return _Conversation(process, stdin or b"", most, enough).until(deadline, unwanted)
    finally:
        _end(process)


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
                for key, _ in selector.select(min(left, _SLICE)):
                    if self._over(key.fileobj):
                        selector.unregister(key.fileobj)
        if self._full:
            return self._finished()
        try:
            code = process.wait(max(deadline - monotonic(), _SLICE))
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
    """It and whatever it has started."""
    if process.poll() is None:
        with suppress(ProcessLookupError):  # it has gone by itself
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
