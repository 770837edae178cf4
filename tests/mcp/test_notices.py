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

pytestmark = pytest.mark.promise("P-06")

SECRET = "do-not-tell-4711"
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


@pytest.mark.parametrize("way", ["wrap", "gateway"])
def test_a_command_is_told_of_a_call_that_waits(tmp_path: Path, way: str) -> None:
    served = tmp_path / "served"
    served.mkdir()
    pipe = tmp_path / "told"
    os.mkfifo(pipe)
    keep = f"import sys; open({str(pipe)!r}, 'wb').write(sys.stdin.buffer.read())"
    server: list[str] = tool_server.server(served)["command"]
    (tmp_path / "own.toml").write_text(POLICY % (json.dumps([sys.executable, "-S", "-c", keep]), json.dumps(server)))
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
