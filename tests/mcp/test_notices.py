"""`[approvals] notify` from end to end: real processes of `rightcall wrap` and of the gateway, each with a real MCP
server behind it, and a real command that is told while the call still waits."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support import tool_server
from support.cli import environment
from support.proxies import post

pytestmark = pytest.mark.promise("P-06")

SECRET = "do-not-tell-4711"
RIGHTCALL = [sys.executable, "-m", "rightcall"]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "desk", "version": "1"}}
POLICY = """\
[policy]
stage = "full"
write = "ask"
execute = "ask"
[approvals]
notify = %s
[servers.notes]
command = %s
effects = { echo = ["read"], fail = ["read"], wait = ["read"], save = ["write"] }
"""


def asked(process: "subprocess.Popen[bytes]", id: int, method: str, params: dict[str, Any]) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    while True:
        answer = json.loads(process.stdout.readline())
        if answer.get("id") == id:
            return answer["result"]


def over_http(url: str, method: str, params: dict[str, Any], headers: dict[str, str]) -> tuple[Any, dict[str, str]]:
    """The result of one request, which may come as a stream of events, and the headers of the answer."""
    got = post(url, "", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers)
    assert got.status == 200, got
    lines = got.body.decode().splitlines()
    events = [line.removeprefix("data:") for line in lines if line.startswith("data:")] or lines
    return next(
        found["result"] for line in events if "result" in (found := json.loads(line.strip() or "{}"))
    ), got.headers


def told_by(pipe: Path) -> list[str]:
    """A command that writes what it is told into a pipe."""
    keep = f"import sys; open({str(pipe)!r}, 'wb').write(sys.stdin.buffer.read())"
    return [sys.executable, "-S", "-c", keep]


@pytest.mark.parametrize("way", ["wrap", "gateway"])
def test_a_command_is_told_of_a_call_that_waits(tmp_path: Path, way: str) -> None:
    served = tmp_path / "served"
    served.mkdir()
    pipe = tmp_path / "told"
    os.mkfifo(pipe)
    server: list[str] = tool_server.server(served)["command"]
    (tmp_path / "own.toml").write_text(POLICY % (json.dumps(told_by(pipe)), json.dumps(server)))
    words = ["--policy", "own.toml", "--name", "notes", "--", *server] if way == "wrap" else ["--policy", "own.toml"]
    command = [sys.executable, "-m", "rightcall", *(["wrap"] if way == "wrap" else ["mcp", "--servers", "--no-code"])]
    with (
        subprocess.Popen(
            [*command, *words], cwd=tmp_path, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process,
        ThreadPoolExecutor(1) as reading,
    ):  # fmt: skip
        try:
            heard = reading.submit(pipe.read_bytes)  # until the command has said it
            asked(process, 1, "initialize", HELLO)
            names = [one["name"] for one in asked(process, 2, "tools/list", {})["tools"]]
            name = next(one for one in names if one.endswith("save"))
            answer = asked(process, 3, "tools/call", {"name": name, "arguments": {"text": SECRET}})
            assert answer["isError"] is True, answer
            notice = heard.result(20)
        finally:
            process.kill()
            if not heard.done():  # whoever reads must not wait for ever
                os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))
    told = json.loads(notice)
    assert told["id"] in answer["content"][0]["text"]
    assert told["tool"].endswith("save")
    assert set(told) == {"id", "tool", "caller"}
    assert SECRET.encode() not in notice


def test_the_gateway_over_http_tells_of_a_call_that_waits(tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    pipe = tmp_path / "told"
    os.mkfifo(pipe)
    server: list[str] = tool_server.server(served)["command"]
    (tmp_path / "own.toml").write_text(POLICY % (json.dumps(told_by(pipe)), json.dumps(server)))
    with (
        subprocess.Popen(
            [*RIGHTCALL, "serve", "--policy", "own.toml", "--no-auth", "--no-console", "--port", "0", "--json"],
            cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as process,
        ThreadPoolExecutor(1) as reading,
    ):  # fmt: skip
        heard = reading.submit(pipe.read_bytes)
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            url, headers = told["mcp"], {"accept": "application/json, text/event-stream"}
            headers |= {"mcp-session-id": over_http(url, "initialize", HELLO, headers)[1]["mcp-session-id"]}
            names = [one["name"] for one in over_http(url, "tools/list", {}, headers)[0]["tools"]]
            name = next(one for one in names if one.endswith("save"))
            answer, _ = over_http(url, "tools/call", {"name": name, "arguments": {"text": SECRET}}, headers)
            assert answer["isError"] is True, answer
            notice = heard.result(20)
        finally:
            process.kill()
            if not heard.done():
                os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))
    found = json.loads(notice)
    assert found["id"] in answer["content"][0]["text"]
    assert set(found) == {"id", "tool", "caller"}
    assert SECRET.encode() not in notice


@pytest.mark.parametrize("way", [("wrap", "--", "true"), ("mcp",), ("serve", "--no-auth", "--port", "0")])
def test_a_command_that_does_not_exist_is_told_at_the_start(tmp_path: Path, way: tuple[str, ...]) -> None:
    (tmp_path / "own.toml").write_text('[approvals]\nnotify = ["no-such-program"]\n')
    with subprocess.Popen(
        [*RIGHTCALL, way[0], "--policy", "own.toml", *way[1:]], cwd=tmp_path, env=environment(),
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        said = "approvals.notify: program 'no-such-program' not found: nobody is told when a call waits"
        found = any(said in line for line in process.stderr)
        process.kill()
    assert found
