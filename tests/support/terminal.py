"""A command at a real terminal, with somebody who reads and types."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from codecs import getincrementaldecoder
from select import select
from typing import Self

from support.cli import environment

LONGEST = 30.0
"""Seconds to wait for what never comes; a test that fails takes this long."""


class Terminal:
    """`rightcall …` in a pseudo terminal."""

    def __init__(self, *arguments: str, columns: int = 100, **more: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rightcall.cli", *arguments],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env=environment(NO_COLOR="1", TERM="dumb", **more),
        )  # fmt: skip
        os.close(slave)
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self.seen = ""

    def until(self, text: str) -> str:
        """What is printed up to a text that has to come."""
        start = len(self.seen)
        while text not in self.seen[start:]:
            assert self._read(), f"{text!r} never came; only {self.seen!r}"
        return self.seen[start:]

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        os.kill(self._process.pid, signal.SIGINT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # a test that fails leaves nothing behind
        self._process.wait(LONGEST)
        os.close(self._master)

    def end(self) -> tuple[int, str]:
        """Its exit code, and everything that was on the screen."""
        while self._read():
            pass
        return self._process.wait(LONGEST), self.seen.replace("\r\n", "\n")

    def _read(self) -> bool:
        ready, _, _ = select([self._master], [], [], LONGEST)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other end is gone
            return False
        self.seen += self._decoder.decode(data)
        return bool(data)
