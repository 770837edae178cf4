"""Running the command line in tests: in this process, or as a process of its own."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rightcall.cli import main

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
