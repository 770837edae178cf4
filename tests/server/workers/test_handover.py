"""Connections that one worker gives to another: nothing of them is half taken."""

import asyncio
import os
import socket
import stat
import struct
from contextlib import ExitStack
from pathlib import Path
from time import sleep
from typing import Any, cast

import pytest

from rightcall.server.protocol import CONNECTION
from rightcall.server.workers import handover
from rightcall.server.workers.handover import Handover

pytestmark = pytest.mark.promise("H-03", "S-03")
REQUEST = b"POST /mcp HTTP/1.1\r\n\r\n"


async def taken(
    folder: Path,
    *pieces: bytes,
    length: int = len(REQUEST),
    files: bool = True,
    is_ending: bool = False,
    stopped: float = 0.0,
) -> list[bytes]:
    """What a worker has adopted of what came, and whether it can speak to the client. `stopped` for so many seconds,
    it sees only then that it came."""
    found: list[bytes] = []

    async def adopt(client: socket.socket, request: bytes) -> None:
        found.append(request)
        client.send(b"hello")
        client.close()

    here = Handover(cast("Any", None), "w1", str(folder))
    here.start(adopt)
    loop = asyncio.get_running_loop()
    client, ours = socket.socketpair()
    with socket.socket(socket.AF_UNIX) as way, client:
        way.setblocking(False)
        await loop.sock_connect(way, str(folder / "w1.sock"))
        assert await loop.sock_recv(way, 1) == b"g"
        ending = asyncio.create_task(here.aclose()) if is_ending else None
        await asyncio.sleep(0)
        with ours:
            socket.send_fds(way, [struct.pack(">Q", length)], [ours.fileno()] if files else [])
        for piece in pieces:
            await loop.sock_sendall(way, piece)
        sleep(stopped)  # the whole process
        way.shutdown(socket.SHUT_WR)
        client.setblocking(False)
        said = await asyncio.wait_for(loop.sock_recv(client, 10), 10)  # nobody else has it: else it would wait
        found.append(said)
    await (ending or here.aclose())
    return found


def test_a_whole_request_is_taken_with_its_connection(tmp_path: Path) -> None:
    assert asyncio.run(taken(tmp_path, REQUEST[:5], REQUEST[5:])) == [REQUEST, b"hello"]


def test_a_worker_that_was_stopped_takes_what_it_was_given_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "_PASSING", 0.05)
    assert asyncio.run(taken(tmp_path, REQUEST, stopped=0.2)) == [REQUEST, b"hello"]


def test_a_worker_that_ends_takes_what_it_was_about_to_take(tmp_path: Path) -> None:
    assert asyncio.run(taken(tmp_path, REQUEST[:5], REQUEST[5:], is_ending=True)) == [REQUEST, b"hello"]


@pytest.mark.parametrize("pieces", [(), (REQUEST[:-1],)])
def test_a_part_of_a_request_is_nothing_and_its_connection_is_closed(tmp_path: Path, pieces: tuple[bytes, ...]) -> None:
    assert asyncio.run(taken(tmp_path, *pieces)) == [b""]


def test_a_length_without_end_or_without_a_connection_is_nothing(tmp_path: Path) -> None:
    assert asyncio.run(taken(tmp_path, REQUEST, length=1 << 60)) == [b""]
    assert asyncio.run(taken(tmp_path, REQUEST, files=False)) == [b""]


class Kept:
    """A connection on which a request of another worker has come; with more behind it, none can be taken away."""

    def __init__(self, request: bytes | None = REQUEST) -> None:
        self.heard: list[object] = []
        self.descriptor = 0
        self.stand_still = lambda: request
        self.go_on = lambda: self.heard.append("goes on")
        self.let_go = lambda: self.heard.append("let go")

    async def given(self, folder: Path) -> None:
        async def answered(*_: object) -> None:
            self.heard.append("answered here")

        async def receive() -> Any:
            return {"type": "http.request"}

        async def send(message: Any) -> None:
            await asyncio.sleep(0.05)
            self.heard.append(message.get("status"))

        scope = {"type": "http", "method": "GET", "headers": [(b"mcp-session-id", b"w2.x")], CONNECTION: self}
        await Handover(cast("Any", answered), "w1", str(folder))(scope, receive, send)


async def given_to_many(folder: Path, kept: Kept, before: int) -> None:
    """By a worker at whose socket as many others as there is room for want to give something, too."""
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX) as listener, ExitStack() as opened:
        listener.bind(str(folder / "w2.sock"))
        listener.listen(before - 1)
        listener.setblocking(False)
        for _ in range(before):
            opened.enter_context(socket.socket(socket.AF_UNIX)).connect(str(folder / "w2.sock"))
        giving = asyncio.create_task(kept.given(folder))
        await asyncio.sleep(0)
        for _ in range(before + 1):
            way = opened.enter_context((await asyncio.wait_for(loop.sock_accept(listener), 5))[0])
        await loop.sock_sendall(way, b"g")
        await giving


def test_a_worker_to_whom_many_give_something_at_once_is_not_taken_for_one_that_is_gone(tmp_path: Path) -> None:
    kept = Kept()
    asyncio.run(given_to_many(tmp_path, kept, 3))
    assert kept.heard == ["let go"]


def test_who_takes_no_answer_for_long_is_told_to_ask_again_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Kept(None)
    monkeypatch.setattr(handover, "ACCEPTING", 0.03)
    asyncio.run(given_to_many(tmp_path, kept, 1))
    assert kept.heard == [503, None]


async def given_to(folder: Path, kept: Kept, says: bytes) -> None:
    """To a worker that says so much, and reads nothing."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "w2.sock"))
        listener.listen()
        listener.setblocking(False)
        giving = asyncio.create_task(kept.given(folder))
        way, _ = await asyncio.get_running_loop().sock_accept(listener)
        with way:
            if says:
                way.send(says)
                await giving
        await giving


def test_a_worker_that_has_no_room_is_not_taken_for_one_that_is_gone(tmp_path: Path) -> None:
    kept = Kept()
    asyncio.run(given_to(tmp_path, kept, b""))
    assert kept.heard == [503, None]


def test_a_worker_that_stops_within_a_request_is_not_taken_for_one_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "_PASSING", 0.05)
    kept = Kept(b"x" * 3_000_000)
    asyncio.run(given_to(tmp_path, kept, b"g"))
    assert kept.heard == ["goes on", 503, None]


def test_what_a_worker_had_that_is_gone_is_unknown(tmp_path: Path) -> None:
    kept = Kept()
    asyncio.run(kept.given(tmp_path))
    assert kept.heard == ["answered here"]


def test_nobody_else_may_bring_any(tmp_path: Path) -> None:
    async def mode() -> int:
        here = Handover(cast("Any", None), "w1", str(tmp_path))
        here.start(cast("Any", None))
        found = os.stat(tmp_path / "w1.sock").st_mode
        await here.aclose()
        return stat.S_IMODE(found)

    assert asyncio.run(mode()) == 0o600
