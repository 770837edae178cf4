"""`rightcall serve --workers N` as people start it: processes, and what tests ask them.

with serving_with(folder, 2) as server:
    server.ask().status
    server.worker_pids()
"""

import http.client
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from msgspec import json

from support import tool_server
from support.cli import environment
from support.proxies import Got, request

PATIENCE = 60.0
NEW = "2026-07-28"
_META = "io.modelcontextprotocol/"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


class Server(NamedTuple):
    process: "subprocess.Popen[str]"
    told: dict[str, Any]
    opened: "list[Connection]"

    @property
    def url(self) -> str:
        return self.told["url"]

    def ask(self, path: str = "/v1/models") -> Got:
        return request("GET", self.url, path)

    def connect(self) -> "Connection":
        self.opened.append(Connection(self.url))
        return self.opened[-1]

    def hang_up(self) -> None:
        while self.opened:
            self.opened.pop().close()

    def connections(self, count: int) -> "list[Connection]":
        return [self.connect() for _ in range(count)]

    def at_each(self, workers: int = 2) -> "dict[str, Connection]":
        """A connection to every worker, by its name."""
        found: dict[str, Connection] = {}
        until = monotonic() + PATIENCE
        while len(found) < workers:
            assert monotonic() < until
            one = self.connect()
            found.setdefault(one.worker, one)
        return found

    def worker_pids(self) -> list[int]:
        pid = self.process.pid
        kids = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [int(one) for one in kids if b"--worker" in _line(one)]

    def counted(self) -> int:
        """Requests of the proxy, by the figures."""
        text = self.ask("/metrics").body.decode()
        lines = [line for line in text.splitlines() if line.startswith("rightcall_requests_total")]
        return sum(int(line.rpartition(" ")[2]) for line in lines)

    def until(self, is_so: Any) -> None:
        end = monotonic() + PATIENCE
        while not is_so():
            assert monotonic() < end, "it took too long"
            sleep(0.05)


class Connection:
    """One that is kept, to whichever worker has taken it."""

    def __init__(self, url: str, host: str | None = None) -> None:
        where = urlsplit(url)
        self._path = where.path
        self._own = {} if host is None else {"host": host}
        self._open = http.client.HTTPConnection(where.hostname or "", where.port, timeout=30)
        self.worker: str = self.get("/health").json.get("worker", {}).get("name", "")

    def get(self, path: str) -> Got:
        return self._asked("GET", path, None, {})

    def mcp(self, method: str, params: Any = None, **headers: str) -> Got:
        body = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        if not method.startswith("notifications/"):
            body["id"] = 1
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        accept = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        return self._asked("POST", "/mcp", json.encode(body), accept | named)

    def initialize(self) -> str:
        """The session that this connection's worker has opened."""
        got = self.mcp("initialize", HELLO)
        session = got.headers["mcp-session-id"]
        assert self.mcp("notifications/initialized", mcp_session_id=session).status == 202
        return session

    def call(self, tool: str, arguments: Any, session: str) -> Got:
        return self.mcp("tools/call", {"name": tool, "arguments": arguments}, mcp_session_id=session)

    def call_alone(self, tool: str, arguments: Any, capabilities: Any = None, **more: Any) -> Got:
        """In the era that has no sessions."""
        meta = {f"{_META}protocolVersion": NEW, f"{_META}clientCapabilities": capabilities or {}}
        params = {"name": tool, "arguments": arguments, "_meta": meta, **more}
        return self.mcp("tools/call", params, mcp_protocol_version=NEW, mcp_method="tools/call", mcp_name=tool)

    def listen(self, session: str) -> http.client.HTTPResponse:
        """The stream of a session for what nobody asked for, once it is open."""
        self._open.request("GET", f"{self._path}/mcp", headers={"mcp-session-id": session})
        answer = self._open.getresponse()
        assert answer.readline() == b": listening\n"
        return answer

    def say(self, data: bytes) -> bytes:
        """Exactly these bytes, and all that comes until the server closes the connection."""
        self._open.sock.sendall(data)
        with self._open.sock.makefile("rb") as answer:
            return answer.read()

    def delete(self, session: str) -> Got:
        return self._asked("DELETE", "/mcp", None, {"mcp-session-id": session})

    def close(self) -> None:
        self._open.close()

    def _asked(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Got:
        self._open.request(method, self._path + path, body, self._own | headers)
        answer = self._open.getresponse()
        data = answer.read()
        return Got(answer.status, {name.lower(): value for name, value in answer.getheaders()}, data)


def with_server(folder: Path) -> str:
    """A policy with an MCP server that is a process, which leaves a line for every start."""
    command = json.encode(tool_server.server(folder)["command"]).decode()
    policy = f'version = 1\n[servers.tools]\ncommand = {command}\n[servers.tools.effects]\necho = ["read"]\n'
    (folder / "rightcall.toml").write_text(policy)
    return "rightcall.toml"


@contextmanager
def serving_with(folder: Path, workers: int, *arguments: str, **more: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "rightcall", "serve", "--workers", str(workers), "--port", "0", "--json"]
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under `nohup` it is ignored, also by whatever is started
    with (folder / "stderr").open("w") as log:
        process = subprocess.Popen(
            [*command, *arguments],
            cwd=folder,
            env=environment() | more,
            stdout=subprocess.PIPE,
            text=True,
            stderr=log,
        )
    opened: list[Connection] = []
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first, (folder / "stderr").read_text()
        yield Server(process, json.decode(first), opened)
    finally:
        for one in opened:
            one.close()
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE)
        process.kill()
        process.communicate()


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return b"rightcall" in _line(str(pid))


def _line(pid: str) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
