"""A server whose process lives but neither hears nor answers is not ready: its calls end, and it is started again.

The servers are real processes, each of a few lines.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from rightcall.config_servers import Server
from rightcall.door import Door
from rightcall.mcp import upstream as upstreams
from rightcall.mcp import upstream_process
from rightcall.mcp.gateway import Gateway
from rightcall.mcp.upstream_link import ServerGone
from rightcall.mcp.upstream_process import ProcessLink
from rightcall.mcp.upstream_session import Session

pytestmark = pytest.mark.promise("X-07")

SERVER = """
import json, os, sys, time
how, marker = sys.argv[1:3]
first = not os.path.exists(marker)
open(marker, "a").close()
while how == "mute" and first and sys.stdin.buffer.readline():
    pass
while line := sys.stdin.buffer.readline():
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    match asked["method"]:
        case "initialize":
            answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}},
                                "serverInfo": {"name": "s", "version": "1"}}
        case "tools/list":
            answer["result"] = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
        case "ping" if first and how in ("input", "output"):
            os.close(0 if how == "input" else 1)
            time.sleep(60)
        case "ping" if first and how == "stuck":
            time.sleep(60)
        case "ping":
            answer["result"] = {}
        case _:
            answer["error"] = {"code": -32601, "message": "no"}
    os.write(1, json.dumps(answer).encode() + b"\\n")
"""

FAULTS: dict[str, tuple[str, str]] = {
    "it closes its input": ("input", "it closed its input"),
    "it closes its output": ("output", "it closed its output"),
    "it stops reading": ("stuck", "it has read nothing for 0.2 seconds"),
}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstreams, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(upstream_process, "UNREAD_SECONDS", 0.2)


def with_gateway(tmp_path: Path, how: str, work: Callable[[Gateway], Awaitable[Any]]) -> Any:
    command = [sys.executable, "-S", "-c", SERVER, how, str(tmp_path / "started")]

    async def main() -> Any:
        with Door.open("gateway", {"servers": {"s": {"command": command}}}, strict=True, store="memory") as door:
            gateway = Gateway(door, ProcessLink, capabilities={}, follows=False)
            gateway.start()
            try:
                async with asyncio.timeout(20):
                    return await work(gateway)
            finally:
                await gateway.aclose()

    return asyncio.run(main())


async def pinged(session: Session, how: str) -> str:
    """What becomes of a request to it; one that stops reading gets more than a pipe holds."""
    padding = {"_meta": {"padding": "x" * 4_000_000}} if how == "stuck" else {}
    try:
        first = asyncio.ensure_future(session.request("ping", {}, 10.0))
        await asyncio.sleep(0)
        await asyncio.gather(first, session.request("ping", padding, 10.0))
    except ServerGone as gone:
        return str(gone)
    return "answered"


@pytest.mark.parametrize(("how", "why"), FAULTS.values(), ids=FAULTS.keys())
def test_a_server_that_neither_hears_nor_answers_is_lost_and_started_again(tmp_path: Path, how: str, why: str) -> None:
    async def work(gateway: Gateway) -> tuple[str, Any, str, Any]:
        upstream = gateway.upstream("s")
        assert upstream is not None
        told = await pinged(await upstream.ready(), how)
        lost = gateway.state()["s"]
        again = await pinged(await upstream.ready(), "")
        return told, lost, again, gateway.state()["s"]

    told, lost, again, back = with_gateway(tmp_path, how, work)
    assert told.startswith(why)
    assert lost["state"] != "ready"
    assert again == "answered"
    assert (back["state"], back["starts"], back["problem"]) == ("ready", 2, None)


def test_a_server_that_says_nothing_to_the_handshake_is_never_ready_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstreams, "STARTING", 0.5)

    async def work(gateway: Gateway) -> tuple[Any, Any]:
        upstream = gateway.upstream("s")
        assert upstream is not None
        first = gateway.state()["s"]
        await upstream.ready(10.0)
        return first, gateway.state()["s"]

    first, back = with_gateway(tmp_path, "mute", work)
    assert first["state"] == "starting"
    assert (back["state"], back["starts"]) == ("ready", 2)


def test_a_server_that_ends_says_why_rather_than_that_its_pipes_closed(tmp_path: Path) -> None:
    async def main() -> str:
        link = ProcessLink(Server("s", command=(sys.executable, "-S", "-c", "import sys; sys.exit(3)")))
        lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        class Heard:
            def lost(self, why: str, words: str = "") -> None:
                del words
                lost.set_result(why)

        await link.open(Heard())  # type: ignore[arg-type]
        try:
            return await lost
        finally:
            await link.aclose()

    assert asyncio.run(main()) == "it ended with exit code 3"
