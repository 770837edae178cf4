"""Who takes a connection: several at one socket, in one event loop, each as a worker would."""

import asyncio
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import pytest

from rightcall.server.workers.accepting import PATIENCE, Acceptor, Board, Load


class Held(asyncio.Protocol):
    """Is open until somebody closes it."""

    def __init__(self, own: "list[Held]") -> None:
        self._own = own

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self._own.append(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._own.remove(self)


class Worker:
    def __init__(self, listener: socket.socket, board: Board, place: int) -> None:
        self.held: list[Held] = []
        self.listener = listener.dup()  # as a process of its own has it
        self.acceptor = Acceptor(self.listener, board, place, lambda: Held(self.held), lambda: len(self.held))

    def stop(self) -> None:
        self.acceptor.stop()
        self.listener.close()


@contextmanager
def board_of(places: int) -> Iterator[Board]:
    with tempfile.TemporaryFile() as file:
        file.truncate(4096)
        board = Board(file.fileno(), places)
        try:
            yield board
        finally:
            board.close()


async def connected(listener: socket.socket, count: int) -> list[asyncio.StreamWriter]:
    return [(await asyncio.open_connection(*listener.getsockname()[:2]))[1] for _ in range(count)]


async def settled(workers: list[Worker], count: int) -> list[int]:
    end = monotonic() + 20
    while sum(len(one.held) for one in workers) != count:
        assert monotonic() < end
        await asyncio.sleep(PATIENCE)
    return [len(one.held) for one in workers]


@pytest.mark.parametrize("burst", [False, True])
def test_connections_are_shared_evenly_however_they_come(burst: bool) -> None:
    async def run(listener: socket.socket, board: Board) -> list[int]:
        workers = [Worker(listener, board, place) for place in range(2)]
        clients = await connected(listener, 8) if burst else []
        for one in workers:
            one.acceptor.start()
        for _ in range(0 if burst else 8):
            clients += await connected(listener, 1)
            await settled(workers, len(clients))
        shares = await settled(workers, 8)
        for one in clients:
            one.close()
        await settled(workers, 0)
        for one in workers:
            one.stop()
        return shares

    with socket.create_server(("127.0.0.1", 0)) as listener, board_of(2) as board:
        assert asyncio.run(run(listener, board)) == [4, 4]


def test_a_worker_whose_heart_has_stopped_is_not_waited_for() -> None:
    async def run(listener: socket.socket, board: Board) -> int:
        board.write(1, Load(0, 0, monotonic() - 60))
        worker = Worker(listener, board, 0)
        worker.acceptor.start()
        clients = await connected(listener, 8)
        await settled([worker], 8)
        for one in clients:
            one.close()
        await settled([worker], 0)
        worker.stop()
        return len(board.others(1, monotonic()))

    with socket.create_server(("127.0.0.1", 0)) as listener, board_of(2) as board:
        assert asyncio.run(run(listener, board)) == 0, "who has stopped takes no connections, and says so"


def test_one_that_lives_and_takes_nothing_holds_a_connection_up_for_a_moment_only() -> None:
    async def run(listener: socket.socket, board: Board) -> float:
        worker = Worker(listener, board, 0)
        worker.acceptor.start()
        board.write(1, Load(0, 0, monotonic() + 60))
        began = monotonic()
        clients = await connected(listener, 3)
        await settled([worker], 3)
        for one in clients:
            one.close()
        await settled([worker], 0)
        worker.stop()
        return monotonic() - began

    with socket.create_server(("127.0.0.1", 0)) as listener, board_of(2) as board:
        assert asyncio.run(run(listener, board)) < 10
