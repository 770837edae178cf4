"""What stands between an MCP client and a server costs, in one run: `rightcall wrap`, the gateway of `rightcall serve`
with its audit, and a FastMCP proxy where that is installed. CPU of the process between, for each call; client and
server are processes of their own and do not count. Every answer is looked at.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from bench.proxy_contenders import a_process, cpu_of
from bench.table import Figure, micro
from bench.timing import all_cores

HOSTS_PYTHON = "RIGHTCALL_HOSTS_PYTHON"
"""Names the Python of `make test-hosts`, which has FastMCP; beside the other peers it cannot be installed."""
CALLS, WARM, CLIENTS = 300, 30, 16
SERVER = [sys.executable, str(Path(__file__).with_name("mcp_server.py"))]
OURS = [sys.executable, "-m", "rightcall"]
POLICY = """version = 1
[policy]
repeats = 0
[policy.limits]
all = { minute = 0, hour = 0 }
caller = { minute = 0, hour = 0, burst = 0 }
[servers.files]
command = %s
effects = ["read"]
"""
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Cost(NamedTuple):
    cpu: float
    rate: float


def bridging() -> Iterator[Figure]:
    all_cores()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        policy = folder / "rightcall.toml"
        policy.write_text(POLICY % json.dumps(SERVER))
        direct = over_stdio(SERVER)
        yield Figure("a call at the server itself, stdio", micro(direct.cpu), "", "", "", None)
        empty = folder / "empty"
        empty.mkdir()
        bare = over_stdio([*OURS, "wrap", "--name", "files", "--", *SERVER], empty)
        yield Figure("`wrap`, added to each call", micro(bare.cpu), "", "", "0.6 ms", bare.cpu <= 0.6e-3)
        wrap = over_stdio([*OURS, "wrap", "--policy", str(policy), "--name", "files", "--", *SERVER])
        yield Figure("`wrap` with audit, added to each call", micro(wrap.cpu), "", "", "0.6 ms", wrap.cpu <= 0.6e-3)
        with gateway(folder) as (pid, url):
            one, many = (asyncio.run(over_http(partial(cpu_of, pid), url, "files_read_file", n)) for n in (1, CLIENTS))
        peer = _peer()
    beside, ratio = ("", "") if peer is None else (micro(peer[0].cpu), f"{peer[0].cpu / one.cpu:.1f} ×")
    yield Figure("gateway with audit, each call", micro(one.cpu), beside, ratio, "3 ms", one.cpu <= 3e-3)
    beside, ratio = ("", "") if peer is None else (micro(peer[1].cpu), f"{peer[1].cpu / many.cpu:.1f} ×")
    yield Figure(f"the same, {CLIENTS} clients", micro(many.cpu), beside, ratio, "3 ms", many.cpu <= 3e-3)
    rate = "" if peer is None else f"{peer[1].rate:.0f} calls/s"
    ratio = "" if peer is None else f"{many.rate / peer[1].rate:.1f} ×"
    yield Figure(
        f"{CLIENTS} clients at a time", f"{many.rate:.0f} calls/s", rate, ratio, "300 calls/s", many.rate >= 300
    )


def _peer() -> tuple[Cost, Cost] | None:
    python = sys.executable if find_spec("fastmcp") else os.environ.get(HOSTS_PYTHON, "")
    if not os.path.exists(python):
        return None
    with _fastmcp(python) as (pid, url):
        one, many = (asyncio.run(over_http(partial(cpu_of, pid), url, "read_file", n)) for n in (1, CLIENTS))
    return one, many


# ── stdio ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def over_stdio(command: list[str], folder: Path | None = None, env: dict[str, str] | None = None) -> Cost:
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, env=env
    ) as process:
        try:
            _asked(process, 0, "initialize", HELLO)
            _say(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            _asked(process, 1, "tools/list", {})
            for number in range(WARM):
                _called(process, number)
            before, began = cpu_of(process.pid), time.perf_counter()
            for number in range(CALLS):
                _called(process, number)
            return Cost((cpu_of(process.pid) - before) / CALLS, CALLS / (time.perf_counter() - began))
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(10)


def _called(process: subprocess.Popen[bytes], number: int) -> None:
    params = {"name": "read_file", "arguments": {"path": f"src/{number}.py", "limit": 3}}
    answer = _asked(process, number + 2, "tools/call", params)
    if answer["result"]["content"][0]["text"] != f"src/{number}.py":
        raise RuntimeError(f"a wrong answer: {answer}")


def _asked(process: subprocess.Popen[bytes], id: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    _say(process, {"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def _say(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


# ── HTTP ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def gateway(folder: Path, env: dict[str, str] | None = None, *options: str) -> Iterator[tuple[int, str]]:
    policy = str(folder / "rightcall.toml")  # named: one that is only found is not trusted with commands
    command = [*OURS, "serve", "--port", "0", "--json", "--quiet", "--policy", policy, "--root", str(folder), *options]
    with a_process(command, env) as process:
        assert process.stdout is not None
        yield process.pid, json.loads(process.stdout.readline())["mcp"]


@contextmanager
def _fastmcp(python: str) -> Iterator[tuple[int, str]]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with a_process([python, "-m", "bench.mcp_peer", str(port)]) as process:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield process.pid, f"http://127.0.0.1:{port}/mcp"


async def over_http(
    cpu: Callable[[], float], url: str, tool: str, clients: int, calls: int = CALLS, key: str = "",
    is_shared: bool = False,
) -> Cost:  # fmt: skip
    """So many clients, each with a connection and a session of its own, one call after the other. `cpu` says what was
    spent so far; `key` is their bearer token, where they have one; `is_shared`: all have the session of the first."""
    sessions = [_Client(url, tool, f"c{number}", key) for number in range(clients)]
    await sessions[0].open()
    await asyncio.gather(*(one.join(sessions[0]) if is_shared else one.open() for one in sessions[1:]))
    each = max(20, calls // clients)
    await asyncio.gather(*(one.call(WARM) for one in sessions[:1]))
    before, began = cpu(), time.perf_counter()
    await asyncio.gather(*(one.call(each) for one in sessions))
    taken, wall = cpu() - before, time.perf_counter() - began
    for one in sessions:
        one.close()
    return Cost(taken / (each * clients), each * clients / wall)


class _Client:
    """As little as a client can be: what it costs must not be in the way."""

    def __init__(self, url: str, tool: str, name: str, key: str = "") -> None:
        host, _, path = url.removeprefix("http://").partition("/")
        self._address = host.partition(":")[0], int(host.partition(":")[2])
        self._tool, self._name = tool, name
        self._head = f"POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
        self._head += "accept: application/json, text/event-stream\r\n"
        self._head += f"authorization: Bearer {key}\r\n" if key else ""

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(*self._address)
        head, _ = await self._post({"id": 0, "method": "initialize", "params": HELLO})
        line = next(one for one in head.split(b"\r\n") if one.lower().startswith(b"mcp-session-id"))
        self._head += f"{line.decode()}\r\nmcp-protocol-version: 2025-11-25\r\n"
        await self._post({"method": "notifications/initialized"})

    async def join(self, first: "_Client") -> None:
        """One more connection to the session of the first."""
        self._reader, self._writer = await asyncio.open_connection(*self._address)
        self._head = first._head

    async def call(self, times: int) -> None:
        for number in range(times):
            path = f"{self._name}/{number}.py"
            params = {"name": self._tool, "arguments": {"path": path, "limit": 3}}
            _, body = await self._post({"id": f"{path}?{times}", "method": "tools/call", "params": params})
            if path.encode() not in body or b'"result"' not in body:
                raise RuntimeError(f"a wrong answer: {body[:300]!r}")

    def close(self) -> None:
        self._writer.close()

    async def _post(self, message: dict[str, Any]) -> tuple[bytes, bytes]:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._writer.write(f"{self._head}content-length: {len(body)}\r\n\r\n".encode() + body)
        head = await self._reader.readuntil(b"\r\n\r\n")
        headers = {one.partition(b":")[0].lower(): one.partition(b":")[2].strip() for one in head.split(b"\r\n")[1:]}
        if b"chunked" not in headers.get(b"transfer-encoding", b""):
            return head, await self._reader.readexactly(int(headers.get(b"content-length", b"0")))
        found = b""
        while size := int(await self._reader.readline(), 16):
            found += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readline()
        return head, found
