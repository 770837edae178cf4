"""Connections that one worker gives to another: nothing of them is half taken."""

import asyncio
import os
import socket
import stat
import struct
from pathlib import Path
from typing import Any, cast

import pytest

from rightcall.server.workers.handover import Handover

pytestmark = pytest.mark.promise("H-03", "S-03")
REQUEST = b"POST /mcp HTTP/1.1\r\n\r\n"


async def taken(folder: Path, *pieces: bytes, length: int = len(REQUEST), files: bool = True) -> list[bytes]:
    """What a worker has adopted of what came, and whether it can speak to the client."""
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
        with ours:
            socket.send_fds(way, [struct.pack(">Q", length)], [ours.fileno()] if files else [])
        for piece in pieces:
            await loop.sock_sendall(way, piece)
        way.shutdown(socket.SHUT_WR)
        client.setblocking(False)
        said = await asyncio.wait_for(loop.sock_recv(client, 10), 10)  # nobody else has it: else it would wait
        found.append(said)
    await here.aclose()
    return found


def test_a_whole_request_is_taken_with_its_connection(tmp_path: Path) -> None:
    assert asyncio.run(taken(tmp_path, REQUEST[:5], REQUEST[5:])) == [REQUEST, b"hello"]


@pytest.mark.parametrize("pieces", [(), (REQUEST[:-1],)])
def test_a_part_of_a_request_is_nothing_and_its_connection_is_closed(tmp_path: Path, pieces: tuple[bytes, ...]) -> None:
    assert asyncio.run(taken(tmp_path, *pieces)) == [b""]


def test_a_length_without_end_or_without_a_connection_is_nothing(tmp_path: Path) -> None:
    assert asyncio.run(taken(tmp_path, REQUEST, length=1 << 60)) == [b""]
    assert asyncio.run(taken(tmp_path, REQUEST, files=False)) == [b""]


def test_nobody_else_may_bring_any(tmp_path: Path) -> None:
    async def mode() -> int:
        here = Handover(cast("Any", None), "w1", str(tmp_path))
        here.start(cast("Any", None))
        found = os.stat(tmp_path / "w1.sock").st_mode
        await here.aclose()
        return stat.S_IMODE(found)

    assert asyncio.run(mode()) == 0o600
