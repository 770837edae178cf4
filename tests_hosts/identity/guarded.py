"""`rightcall serve` as a process, with identity on: its gateway believes the tokens of a provider, and behind it is a
server with the tool `tools_echo`."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from support.tool_server import server as tool_server

RIGHTCALL = [sys.executable, "-m", "rightcall.cli"]


class Guarded:
    """A gateway that runs: its addresses, and what it recorded."""

    def __init__(self, folder: Path, told: dict[str, str]) -> None:
        self._folder = folder
        self.mcp = f"{told['address']}/mcp"
        self.console = told["console"]
        self.told = told

    def records(self) -> list[dict[str, Any]]:
        done = subprocess.run(
            [*RIGHTCALL, "audit", "export"], cwd=self._folder, env=environment(self._folder), capture_output=True,
            text=True, timeout=60, check=True,
        )  # fmt: skip
        return [json.loads(line) for line in done.stdout.splitlines()]


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "XDG_STATE_HOME": str(folder / "state"), **more}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


POLICY = """\
version = 1
[policy]
repeats = 0
{servers}
[identity]
issuer = "{issuer}"
audience = "http://127.0.0.1:{port}/mcp"
scopes = ["mcp:read"]
{more}
[identity.map]
"group:engineers" = {{ caller = "staff/{{sub}}", may = "approve", person = "{{sub}}" }}
"subject:machine" = {{ caller = "machines" }}
"""


def tools(folder: Path) -> str:
    """A server with the tool `echo`."""
    (behind := folder / "behind").mkdir()
    command = json.dumps(tool_server(behind)["command"])
    return f'[servers.tools]\ncommand = {command}\neffects = {{ echo = ["read"] }}'


@contextmanager
def guarded(issuer: str, folder: Path, servers: str = "", more: str = "", **variables: str) -> Generator[Guarded]:
    """`servers` are the tables of the servers behind it, `more` lines of `[identity]`."""
    port = free_port()
    policy = folder / "rightcall.toml"
    policy.write_text(POLICY.format(servers=servers or tools(folder), issuer=issuer, port=port, more=more))
    serve = [*RIGHTCALL, "serve", "--practice", "--json", "--port", str(port), "--policy", str(policy)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            serve, cwd=folder, env=environment(folder, **variables), stdout=subprocess.PIPE, stderr=log, text=True
        )
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line, (folder / "log").read_text()
            drain = threading.Thread(target=_drain, args=(process.stdout, folder / "out"))
            drain.start()
            yield Guarded(folder, json.loads(line))
            process.terminate()
            drain.join(timeout=30)
        finally:
            process.kill()
            process.wait(timeout=30)
            process.stdout.close()


def _drain(lines: IO[str], file: Path) -> None:
    """What it prints meanwhile; nobody reading would stop it."""
    with file.open("w") as out:
        out.writelines(lines)
