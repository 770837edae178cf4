"""Several processes write to one pipe: lines stay whole, and who is stopped keeps nobody from writing."""

import asyncio
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec import Raw, json

from rightcall.mcp.messages import request
from rightcall.server.workers import inputs
from rightcall.server.workers.inputs import ATOMIC, PLACES, Calls, DirectInput, SharedInput, Way
from support.stores import disk_of, fill


class Pipe(NamedTuple):
    """`way` is what a worker is told of it."""

    read: int
    written: int
    way: Way


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    read, written = os.pipe()
    os.set_blocking(read, False)
    way = Way(f"/proc/{os.getpid()}/fd/{written}", str(tmp_path / "lock"), str(tmp_path / "calls"))
    yield Pipe(read, written, way)
    os.close(read)


def call(number: int, size: int = 10) -> bytes:
    return request(number, "tools/call", {"name": "x" * size, "arguments": {}})


async def shared(pipe: Pipe, stuck: list[str]) -> SharedInput:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_write_pipe(asyncio.Protocol, os.fdopen(pipe.written, "wb", 0))
    return SharedInput(transport, pipe.written, pipe.way.lock, lambda: stuck.append("stuck"))


async def everything(pipe: Pipe, until: SharedInput) -> bytes:
    found = b""
    while until.get_write_buffer_size() or not found.endswith(b"\n"):
        await asyncio.sleep(0)
        try:
            found += os.read(pipe.read, 1 << 20)
        except BlockingIOError:
            continue
    return found


def test_a_worker_writes_its_calls_and_leaves_all_else_to_the_parent(pipe: Pipe) -> None:
    async def run() -> None:
        parent = await shared(pipe, [])
        calls = Calls(pipe.way.calls, new=True)
        worker = DirectInput(pipe.way)
        assert worker.write(1, call(1))
        assert calls.all() == [1]
        assert not worker.write(2, request(2, "tools/list", {}))
        assert not worker.write(3, call(3, ATOMIC))
        assert not worker.write(1 + PLACES, call(1 + PLACES))  # in whose place another one is
        parent.write(b"{}\n")
        assert await everything(pipe, parent) == call(1) + b"\n{}\n"
        assert calls.all() == [1]
        calls.remove(1)
        assert worker.write(1 + PLACES, call(1 + PLACES))
        worker.close()
        parent.close()

    asyncio.run(run())


@pytest.mark.promise("H-04", "P-01")
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_call_holds_no_other_call_between_its_fields(pipe: Pipe, end: str) -> None:
    inner = call(2).decode()
    hostile = request(1, "tools/call", {"name": "x", "arguments": Raw(f'{{"a":{end}{inner}{end}}}'.encode())})

    async def run() -> None:
        parent = await shared(pipe, [])
        Calls(pipe.way.calls, new=True).close()
        worker = DirectInput(pipe.way)
        assert worker.write(1, hostile)
        assert worker.write(2, request(2, "tools/call", {"name": "x", "arguments": {"a": f"\u2028{inner}\u0085"}}))
        lines = (await everything(pipe, parent)).decode().splitlines()
        assert [json.decode(line)["id"] for line in lines] == [1, 2]
        worker.close()
        parent.close()

    asyncio.run(run())


def test_a_long_line_stays_whole_while_workers_write(pipe: Pipe) -> None:
    async def run() -> None:
        parent = await shared(pipe, [])
        Calls(pipe.way.calls, new=True).close()
        worker = DirectInput(pipe.way)
        long = call(1, 1 << 20) + b"\n"
        parent.write(long)  # more than the pipe holds
        assert 0 < parent.get_write_buffer_size() < len(long)
        os.read(pipe.read, 1 << 16)  # there is room again, in the middle of the line
        assert not worker.write(2, call(2))
        parent.write(call(2) + b"\n")
        found = await everything(pipe, parent)
        assert (long + call(2) + b"\n").endswith(found)
        assert worker.write(3, call(3))
        worker.close()
        parent.close()

    asyncio.run(run())


def test_a_full_pipe_is_the_parents(pipe: Pipe) -> None:
    async def run() -> None:
        parent = await shared(pipe, [])
        calls = Calls(pipe.way.calls, new=True)
        worker = DirectInput(pipe.way)
        number = 0
        while worker.write(number + 1, call(number + 1, 3000)):
            number += 1
        assert calls.all() == list(range(1, number + 1))
        parent.write(call(number + 1, 3000) + b"\n")
        assert parent.get_write_buffer_size()
        found = await everything(pipe, parent)
        assert found == b"".join(call(one, 3000) + b"\n" for one in range(1, number + 2))
        worker.close()
        parent.close()

    asyncio.run(run())


def test_a_worker_that_was_stopped_while_it_wrote_costs_the_process_not_everybody(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_PATIENCE", 0.01)

    async def run() -> None:
        stuck: list[str] = []
        parent = await shared(pipe, stuck)
        stopped = os.open(pipe.way.lock, os.O_RDWR)
        fcntl.flock(stopped, fcntl.LOCK_SH)
        parent.write(b"{}\n")  # needs no lock
        assert os.read(pipe.read, 100) == b"{}\n"
        parent.write(b"x" * ATOMIC + b"\n")
        while not stuck:
            await asyncio.sleep(0)
        os.close(stopped)
        parent.close()

    asyncio.run(run())


def test_a_server_that_reads_no_more_is_noticed(pipe: Pipe, tmp_path: Path) -> None:
    async def run() -> None:
        parent = await shared(pipe, [])
        Calls(pipe.way.calls, new=True).close()
        worker = DirectInput(pipe.way)
        spare = os.dup(pipe.read)
        os.dup2(os.open(tmp_path, os.O_RDONLY), pipe.read)
        os.close(spare)
        assert not worker.write(1, call(1))
        parent.write(b"{}\n")
        assert parent.is_closing()
        worker.close()
        parent.close()

    asyncio.run(run())


def test_calls_are_not_kept_on_a_full_disk(tmp_path: Path) -> None:
    """Memory of a file that has no room there would end the process at its first use."""
    with disk_of(tmp_path / "disk", "64k") as disk:
        fill(disk)
        with pytest.raises(OSError, match="No space left"):
            Calls(str(disk / "calls"), new=True)
