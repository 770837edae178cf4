"""A cluster on loopback: a PostgreSQL server, nodes that run `rightcall serve`, and a balancer before them.

    with Cluster.started() as cluster: cluster.ask("POST", "/v1/chat/completions", {...})

Everything is a process of its own, and all of them are gone afterwards.
"""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from support import tool_server
from support.postgres import Server, _free_port, versions

HERE = Path(__file__).resolve().parents[2]
CALLER_LIMIT = 1_000_000
HAPROXY = """
global
    maxconn 2000
defaults
    mode http
    timeout connect 1s
    timeout client 1h
    timeout server 1h
    timeout queue 5s
    option redispatch
    retries 2
frontend clients
    bind 127.0.0.1:{port}
    default_backend nodes
backend nodes
    balance roundrobin
    option httpchk
    http-check send meth GET uri /health/ready ver HTTP/1.1 hdr host 127.0.0.1:{port}
    http-check expect status 200
    stick-table type string len 128 size 100k expire 1h
    stick store-response res.hdr(mcp-session-id)
    stick match req.hdr(mcp-session-id)
{nodes}
"""


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class ServeNode:
    """One `rightcall serve`, which can be killed and started again at the same port."""

    def __init__(self, folder: Path, policy: Path, token: str, balancer: int) -> None:
        self.folder = folder
        self.port = _free_port()
        self._policy = policy
        self._balancer = balancer
        self._environment = {**os.environ, "RIGHTCALL_TOKEN": token, "XDG_STATE_HOME": str(folder / "state")}
        self.process: subprocess.Popen[Any] | None = None

    def start(self) -> None:
        command = [
            sys.executable, "-c", "import sys; from rightcall.cli import main; sys.exit(main())", "serve", "--port",
            str(self.port), "--policy", str(self._policy), "--root", str(self.folder), "--json", "--quiet",
            "--no-console", "--allow-host", f"127.0.0.1:{self._balancer}",
        ]  # fmt: skip
        self.folder.mkdir(exist_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, env=self._environment, cwd=self.folder,
                start_new_session=True,
            )  # fmt: skip

    def await_ready(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            raise AssertionError((self.folder / "log").read_text()[-2000:])

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        end(self.process)

    def stop(self) -> None:
        if self.process is not None:
            end(self.process)


class Cluster:
    def __init__(self, server: Server, url: str, folder: Path, count: int) -> None:
        self.server = server
        self.url = url
        self.folder = folder
        self.token = secrets.token_urlsafe(24)
        self.policy = folder / "rightcall.toml"
        self.policy.write_text(_policy(url, folder))
        self.port = _free_port()
        self.nodes = [
            ServeNode(folder / f"node{number}", self.policy, self.token, self.port) for number in range(1, count + 1)
        ]
        self.balancer: subprocess.Popen[Any] | None = None
        self.balanced_by = ""

    @classmethod
    @contextmanager
    def started(
        cls, binaries: Path | None = None, *, count: int = 3, own_balancer: bool = False
    ) -> "Iterator[Cluster]":
        with ExitStack() as stack:
            server = stack.enter_context(Server.started(binaries or versions()[-1], "synchronous_commit=on"))
            url = stack.enter_context(server.database())
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rc-cluster-")))
            cluster = cls(server, url, folder, count)
            stack.callback(cluster.stop)
            cluster.start(own_balancer=own_balancer)
            yield cluster

    def start(self, *, own_balancer: bool = False) -> None:
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            node.await_ready()
        haproxy = None if own_balancer else haproxy_command()
        if haproxy:
            self.balanced_by = "HAProxy"
            lines = "\n".join(
                f"    server node{number} 127.0.0.1:{node.port} check inter 500ms fall 2 rise 1 observe layer4"
                for number, node in enumerate(self.nodes, 1)
            )
            file = self.folder / "haproxy.cfg"
            file.write_text(HAPROXY.format(port=self.port, nodes=lines))
            command = [haproxy, "-db", "-f", str(file)]
        else:
            self.balanced_by = "scripts/balancer.py"
            ports = [str(node.port) for node in self.nodes]
            command = [sys.executable, str(HERE / "scripts" / "balancer.py"), str(self.port), *ports]
        with (self.folder / "balancer.log").open("ab") as log:
            self.balancer = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        self._await_balancer()

    def _await_balancer(self) -> None:
        deadline = time.monotonic() + 20
        while True:
            with suppress(OSError):
                if self.ask("GET", "/health").status == 200:
                    return
            if time.monotonic() > deadline:
                raise AssertionError((self.folder / "balancer.log").read_text()[-2000:])
            time.sleep(0.05)

    def stop(self) -> None:
        """Like Ctrl-C: each finishes what it does."""
        if self.balancer is not None:
            end(self.balancer)
        for node in self.nodes:
            node.stop()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, *, port: int = 0
    ) -> Answer:
        """Through the balancer, on a connection of its own; or of one node."""
        connection = HTTPConnection("127.0.0.1", port or self.port, timeout=30)
        sent = {"x-rightcall-token": self.token, "content-type": "application/json", **(headers or {})}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def complete(self, *, port: int = 0) -> Answer:
        """A question to the practice model, which answers with a call that has to be repaired."""
        tool = {
            "type": "function",
            "function": {
                "name": "get_weather",
                "parameters": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                    "required": ["city", "days"],
                },
            },
        }
        said = {"model": "practice", "messages": [{"role": "user", "content": "Weather in Bern, 3 days?"}]}
        return self.ask("POST", "/v1/chat/completions", {**said, "tools": [tool]}, port=port)

    def connections(self) -> int:
        """Of all nodes, to the server."""
        found = self.server.run("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rightcall'")
        return found[0][0]


class McpClient:
    """A client of the old era, whose session lives on one node."""

    def __init__(self, cluster: Cluster, port: int = 0) -> None:
        self._cluster = cluster
        self._port = port
        self._number = 0
        self._headers = {"accept": "application/json, text/event-stream"}
        told = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}}
        answer = self.request("initialize", told)
        self._headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, params: dict[str, Any]) -> Answer:
        self._number += 1
        return self._post({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})

    def call(self, tool: str, **arguments: Any) -> Answer:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def leave(self) -> None:
        self._cluster.ask("DELETE", "/mcp", None, self._headers, port=self._port)

    def _post(self, message: dict[str, Any]) -> Answer:
        return self._cluster.ask("POST", "/mcp", message, self._headers, port=self._port)


def end(process: "subprocess.Popen[Any]") -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _policy(url: str, folder: Path) -> str:
    tools = folder / "tools"
    tools.mkdir()
    command = json.dumps(tool_server.server(tools)["command"])
    wide = f"{{ minute = {CALLER_LIMIT}, hour = 0, burst = 0 }}"
    return f"""version = 1

[store]
url = "{url}"

[policy]
stage = "full"
write = "allow"
limits = {{ all = {wide}, caller = {wide} }}
repeats = 0

[servers.notes]
command = {command}
effects = {{ echo = ["read"], fail = ["read"], wait = ["read"], save = ["write"] }}
"""


def haproxy_command() -> str | None:
    """Debian has it where only root looks."""
    return shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin")
