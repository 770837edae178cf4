"""The wrapped server as a process: started with its own pipes, ended with everything it has started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from rightcall.errors import ConfigError
from rightcall.text.escape import escaped

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
