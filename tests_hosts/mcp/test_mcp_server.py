"""`rightcall mcp` and the gateway of `rightcall serve`, as processes, with the official clients of both eras."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import mcp_types
import pytest
from mcp import Client, StdioServerParameters
from msgspec import json

from gatewaying.running import HOSTILE, texts

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
OURS = [sys.executable, "-m", "rightcall"]
SERVERS = f'[servers.x]\ncommand = {json.encode(HOSTILE).decode()}\neffects = ["read"]\n'


def stdio(*options: str) -> StdioServerParameters:
    return StdioServerParameters(command=OURS[0], args=[*OURS[1:], "mcp", *options], env=dict(os.environ))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / ".env").write_text("KEY=secret\n")
    return tmp_path


@pytest.mark.promise("H-04", "C-01")
@ERAS
def test_the_code_tools_are_an_mcp_server(project: Path, era: str) -> None:
    async def main() -> list[Any]:
        async with Client(stdio("--root", str(project)), mode=era) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            read = await client.call_tool("code_read", {"file": "a.py"})
            secret = await client.call_tool("code_read", {"path": ".env"})
            unknown = await client.call_tool("code_raed_it", {"path": "a.py"})
            return [names, read, secret, unknown]

    names, read, secret, unknown = asyncio.run(main())
    assert names[:4] == ["code_read", "code_search", "code_list", "code_diff"]
    assert not read.is_error
    assert read.structured_content["content"] == "x = 1\n"
    assert "x = 1" in texts(read)
    assert secret.is_error
    assert "KEY" not in texts(secret)
    assert unknown.is_error
    assert "Did you mean" in texts(unknown)
    assert (project / ".rightcall" / "audit.db").exists()


@pytest.mark.promise("H-04", "P-06")
@ERAS
def test_servers_join_the_code_tools_and_both_ask_through_the_client(project: Path, era: str) -> None:
    (project / "rightcall.toml").write_text(
        f'version = 1\n[policy.approval]\ntools = ["code/read", "x/echo"]\n{SERVERS}'
    )
    shown: list[str] = []

    async def person(_: Any, params: Any) -> Any:
        shown.append(params.message)
        return mcp_types.ElicitResult(action="accept", content={"ok": True})

    async def main() -> list[str]:
        server = stdio("--root", str(project), "--policy", str(project / "rightcall.toml"), "--servers")
        async with Client(server, mode=era, elicitation_callback=person) as client:
            await client.list_tools()
            read = await client.call_tool("code_read", {"path": "a.py"})
            return [texts(read), texts(await client.call_tool("x_echo", {"text": "hi"}))]

    read, echo = asyncio.run(main())
    assert "x = 1" in read
    assert echo == "hi"
    assert ['"code/read"' in shown[0], '"x/echo"' in shown[1]] == [True, True]


@contextmanager
def serving(folder: Path) -> Iterator[dict[str, Any]]:
    command = [
        *OURS,
        "serve",
        "--port",
        "0",
        "--json",
        "--root",
        str(folder),
        "--policy",
        str(folder / "rightcall.toml"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            told = json.decode(process.stdout.readline())
            yield told
        finally:
            process.terminate()
            told["said"] = process.stderr.read().decode()
            told["code"] = process.wait(60)


@pytest.mark.promise("H-04")
@ERAS
def test_serve_joins_the_servers_of_the_policy_behind_its_token(tmp_path: Path, era: str) -> None:
    (tmp_path / "rightcall.toml").write_text(f"version = 1\n{SERVERS}")

    async def main(url: str) -> str:
        async with Client(url, mode=era) as client:
            return texts(await client.call_tool("x_echo", {"text": "served"}))

    with serving(tmp_path) as told:
        assert asyncio.run(main(told["mcp"])) == "served"
        with urlopen(f"{told['url']}/health") as answer:
            health = json.decode(answer.read())
        without = Request(f"{told['address']}/mcp", data=b"{}", method="POST")
        with pytest.raises(OSError, match="401"):
            urlopen(without)
    assert health["mcp"]["x"]["state"] == "ready"
    assert "mcp: x has joined: 14 tools" in told["said"]
    assert told["code"] == 143


@pytest.mark.promise("A-01")
def test_calls_through_the_gateway_stand_in_the_audit(tmp_path: Path) -> None:
    (tmp_path / "rightcall.toml").write_text(f"version = 1\n{SERVERS}")

    async def main(url: str) -> None:
        async with Client(url) as client:
            await client.call_tool("x_echo", {"txt": "kept"})

    with serving(tmp_path) as told:
        asyncio.run(main(told["mcp"]))
    tail = subprocess.run([*OURS, "audit", "tail", "--root", str(tmp_path)], capture_output=True, text=True, check=True)
    assert "x/echo" in tail.stdout
    assert "success" in tail.stdout
