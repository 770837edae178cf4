"""A server whose process lives but neither hears nor answers is not ready: its calls end, and it is started again.

The servers are real processes, each of a few lines.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from rightcall.executor.door import Door
from rightcall.mcp import links
from rightcall.mcp import upstream as upstreams
from rightcall.mcp.gateway.gateway import Gateway
from rightcall.mcp.links import ProcessLink
from rightcall.mcp.session import ServerGone, Session
from rightcall.policy.settings import Server

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

OPEN = """
import os, sys
def there(number):
    try:
        return os.fstat(number)
    except OSError:
        return None
sys.exit(" ".join(str(number) for number in range(1024) if there(number)))
"""

FAULTS: dict[str, tuple[str, str]] = {
    "it closes its input": ("input", "it closed its input"),
    "it closes its output": ("output", "it closed its output"),
    "it stops reading": ("stuck", "it has read nothing for 0.2 seconds"),
}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstreams, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(links, "UNREAD_SECONDS", 0.2)


class Loop:
    """Runs a coroutine on one kind of event loop; `rightcall serve` has uvloop's."""

    def __init__(self, factory: Callable[[], asyncio.AbstractEventLoop]) -> None:
        self._factory = factory

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=self._factory) as runner:
            return runner.run(work)


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def loop(request: pytest.FixtureRequest) -> Loop:
    return Loop(request.param)


def with_gateway(loop: Loop, tmp_path: Path, how: str, work: Callable[[Gateway], Awaitable[Any]]) -> Any:
    command = [sys.executable, "-S", "-c", SERVER, how, str(tmp_path / "started")]

    async def main() -> Any:
        with Door.open("gateway", {"servers": {"s": {"command": command}}}, strict=True, store="memory") as door:
            gateway = Gateway(door, ProcessLink, capabilities={})
            gateway.start()
            try:
                async with asyncio.timeout(25):
                    return await work(gateway)
            finally:
                await gateway.aclose()

    return loop.run(main())


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
def test_a_server_that_neither_hears_nor_answers_is_lost_and_started_again(
    loop: Loop, tmp_path: Path, how: str, why: str
) -> None:
    async def work(gateway: Gateway) -> tuple[str, Any, str, Any]:
        upstream = gateway.upstream("s")
        assert upstream is not None
        told = await pinged(await upstream.ready(), how)
        lost = gateway.state()["s"]
        again = await pinged(await upstream.ready(), "")
        return told, lost, again, gateway.state()["s"]

    told, lost, again, back = with_gateway(loop, tmp_path, how, work)
    assert told.startswith(why)
    assert lost["state"] != "ready"
    assert again == "answered"
    assert (back["state"], back["starts"], back["problem"]) == ("ready", 2, None)


def test_a_server_that_says_nothing_to_the_handshake_is_never_ready_and_tried_again(
    loop: Loop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstreams, "STARTING", 0.5)

    async def work(gateway: Gateway) -> tuple[Any, Any]:
        upstream = gateway.upstream("s")
        assert upstream is not None
        first = gateway.state()["s"]
        await upstream.ready(10.0)
        return first, gateway.state()["s"]

    first, back = with_gateway(loop, tmp_path, "mute", work)
    assert first["state"] == "starting"
    assert back["state"] == "ready"
    assert back["starts"] >= 2


def ended(loop: Loop, code: str, *arguments: str) -> tuple[str, str]:
    """Why a server was lost, and its last words."""

    async def main() -> tuple[str, str]:
        link = ProcessLink(Server("s", command=(sys.executable, "-S", "-c", code, *arguments)))
        lost: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()

        class Heard:
            def lost(self, why: str, words: str = "") -> None:
                lost.set_result((why, words))

        await link.open(Heard())  # type: ignore[arg-type]
        try:
            async with asyncio.timeout(25):
                return await lost
        finally:
            await link.aclose()

    return loop.run(main())


def test_a_server_that_ends_says_why_rather_than_that_its_pipes_closed(loop: Loop) -> None:
    assert ended(loop, "import sys; sys.exit(3)") == ("it ended with exit code 3", "")


def test_a_server_that_ends_before_its_pipes_are_connected_still_says_why(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = subprocess.Popen

    def start_and_wait(*given: Any, **named: Any) -> Any:
        process = started(*given, **named)
        process.wait()
        return process

    monkeypatch.setattr("subprocess.Popen", start_and_wait)
    assert ended(loop, "import sys; sys.exit('no such table')") == (
        "it ended with exit code 1",
        "; its last words: no such table",
    )


def test_a_server_whose_child_keeps_its_pipes_has_ended_all_the_same(loop: Loop) -> None:
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(60)'])"
    assert ended(loop, code)[0] == "it ended with exit code 0"


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_server_gets_its_three_pipes_and_no_other_descriptor(loop: Loop) -> None:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    try:
        assert ended(loop, OPEN)[1] == "; its last words: 0 1 2"
    finally:
        os.close(read)
        os.close(write)
