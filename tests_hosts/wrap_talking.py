"""A client that speaks in raw lines, so that every byte can be compared."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
SCRIPTED = HERE / "wrap_scripted.py"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def scripted(how: str = "") -> list[str]:
    return [sys.executable, str(SCRIPTED), how]


def wrapped(command: Sequence[str], *options: str) -> list[str]:
    return [sys.executable, "-m", "rightcall", "wrap", *options, "--", *command]


class Talk:
    """One server, or one wrapped server, at the other end of two pipes."""

    def __init__(self, command: Sequence[str], folder: Path, *, quiet: bool = True) -> None:
        self.process = subprocess.Popen(
            list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=ENVIRONMENT,
            stderr=subprocess.DEVNULL if quiet else subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        self.info: dict[str, Any] = {}

    def __enter__(self) -> "Talk":
        return self

    def __exit__(self, *_: object) -> None:
        if not self.input.closed:
            with suppress(BrokenPipeError):
                self.input.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.output.close()
        if self.process.stderr is not None:
            self.process.stderr.close()

    def send(self, message: Any) -> None:
        self.input.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
        self.input.flush()

    def line(self) -> bytes:
        return self.output.readline()

    def hear(self) -> Any:
        line = self.line()
        return json.loads(line) if line else None

    def ask(self, id: Any, method: str, params: Any = None) -> Any:
        """A request, and the first response to it."""
        body = {"jsonrpc": "2.0", "id": id, "method": method}
        self.send(body if params is None else {**body, "params": params})
        while line := self.line():
            message = _read(line)
            if message.get("id") == id and "method" not in message:
                return message
        return None

    def greet(self, version: str = "2025-11-25", **capabilities: Any) -> "Talk":
        params = {
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "raw", "version": "1"},
        }
        self.info = self.ask("hello", "initialize", params)["result"]["serverInfo"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def call(self, id: Any, name: str, arguments: Any) -> Any:
        return self.ask(id, "tools/call", {"name": name, "arguments": arguments})

    def close(self, within: float = 60) -> int:
        """No more from us; the exit code."""
        self.input.close()
        return self.process.wait(within)


def _read(line: bytes) -> dict[str, Any]:
    """As clients do: what is no message is passed over."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}
