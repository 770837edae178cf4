"""The command line in tests: in this process, as a process of its own, or at a real terminal with somebody who reads
and types; and policy files that are found there and trusted."""

import fcntl
import io
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from codecs import getincrementaldecoder
from collections.abc import Sequence
from pathlib import Path
from select import select
from typing import Any, NamedTuple, Self

import pytest

from rightcall.cli import main
from rightcall.policy.trust import give, offer

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TOOLS = str(EXAMPLES / "tools.json")


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


class Runner:
    """`run("check", …)` in this process; what it prints and its exit code come back."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, stdin: str | bytes = b"", columns: int = 100) -> Done:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        self._monkeypatch.setenv("NO_COLOR", "1")
        self._monkeypatch.setenv("COLUMNS", str(columns))
        code = main(list(arguments))
        out, err = self._capsys.readouterr()
        return Done(code, out, err)


def environment(**more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return kept | {"PYTHONPATH": str(ROOT / "src")} | more


def start(*arguments: str, **more: str) -> subprocess.Popen[bytes]:
    """The command as a process with pipes at all its ends."""
    return subprocess.Popen(
        [sys.executable, "-m", "rightcall.cli", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**more),
    )


LONGEST = 30.0
"""Seconds to wait for what never comes; a test that fails takes this long."""


RIGHTCALL = (sys.executable, "-m", "rightcall.cli")


class Terminal:
    """`rightcall …`, or another command, in a pseudo terminal."""

    def __init__(self, *arguments: str, columns: int = 100, command: Sequence[str] = RIGHTCALL, **more: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self._process = subprocess.Popen(
            [*command, *arguments],
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


def trust(file: Path) -> Path:
    """As a person who was shown it."""
    give(offer(str(file)))
    return file


def write_trusted(file: Path, text: str) -> Path:
    file.write_text(text)
    return trust(file)
