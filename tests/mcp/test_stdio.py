"""`rightcall mcp` over pipes: what was asked is answered though the input has closed, and a client that does not read
holds up nothing but itself."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, BinaryIO

import pytest
from msgspec import Raw, json

from rightcall.mcp import serving as stdio_server
from rightcall.mcp import serving as stdio_sink
from rightcall.mcp.messages import Answer, success
from rightcall.mcp.serving import Exchange, StdioServer

pytestmark = pytest.mark.promise("H-04", "X-07")
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {}}


class Backend:
    """Does what `work` does, once it may."""

    def __init__(self, work: Callable[[Exchange], Any]) -> None:
        self._work = work
        self.begun = asyncio.Event()
        self.count = 0

    async def introduction(self, client: Any, capabilities: Any) -> dict[str, Any]:
        return {"capabilities": {}, "serverInfo": {}}

    async def answer(self, exchange: Exchange) -> Answer:
        self.begun.set()
        self.count += 1
        return await self._work(exchange)

    def noticed(self, client: Any, method: str, params: Raw) -> None: ...


class Pipes:
    """The client's ends."""

    def __init__(self) -> None:
        theirs, self.write = os.pipe()
        self.read, ours = os.pipe()
        self.source: BinaryIO = os.fdopen(theirs, "rb", buffering=0)
        self.sink: BinaryIO = os.fdopen(ours, "wb", buffering=0)

    def say(self, id: int, method: str, **params: Any) -> None:
        os.write(self.write, json.encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + b"\n")

    def close_input(self) -> None:
        os.close(self.write)
        self.write = -1

    def answers(self) -> list[Any]:
        """All that was written; only after the server has closed its end."""
        self.sink.close()
        data = b""
        while piece := os.read(self.read, 1 << 16):
            data += piece
        return [json.decode(line) for line in data.splitlines()]

    def close(self) -> None:
        self.sink.close()
        os.close(self.read)
        if self.write >= 0:
            os.close(self.write)
        self.source.close()


@asynccontextmanager
async def serving(work: Callable[[Exchange], Any], **options: Any) -> AsyncIterator[tuple[Pipes, Backend, Any]]:
    pipes, backend = Pipes(), Backend(work)
    server = StdioServer(backend, "t", pipes.source, pipes.sink, **options)
    running = asyncio.create_task(server.run())
    pipes.say(0, "initialize", **HELLO)
    try:
        yield pipes, backend, running
    finally:
        pipes.close()
        await asyncio.gather(running, return_exceptions=True)


def test_a_call_that_runs_when_the_input_closes_is_answered() -> None:
    async def main() -> list[Any]:
        go_on = asyncio.Event()

        async def work(exchange: Exchange) -> Answer:
            await go_on.wait()
            return success({"done": True})

        async with serving(work, ending=go_on.set) as (pipes, backend, running):
            pipes.say(1, "tools/call")
            await backend.begun.wait()
            pipes.close_input()
            await running
            return pipes.answers()

    assert asyncio.run(main())[-1] == {"jsonrpc": "2.0", "id": 1, "result": {"done": True}}


def test_a_question_that_nobody_can_answer_any_more_ends_with_the_input_and_so_does_what_never_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stdio_server, "GRACE", 0.05)
    asked: list[Answer] = []
    cancelled: list[bool] = []

    async def work(exchange: Exchange) -> Answer:
        asked.append(await exchange.ask("elicitation/create", {}))
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return success({})

    async def main() -> None:
        async with serving(work) as (pipes, backend, running):
            pipes.say(1, "tools/call")
            await backend.begun.wait()
            pipes.close_input()
            await asyncio.wait_for(running, 25)

    asyncio.run(main())
    assert asked[0].error is not None
    assert cancelled == [True]


@pytest.mark.parametrize("how", ["cancel", "close"])
def test_a_client_that_reads_nothing_can_be_left(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr(stdio_server, "FLUSHING", 0.05)
    monkeypatch.setattr(stdio_sink, "MOST", 300_000)

    go_on = asyncio.Event()

    async def work(exchange: Exchange) -> Answer:
        await go_on.wait()
        return success({"text": "x" * 200_000})

    async def main() -> tuple[int, bool]:
        async with serving(work) as (pipes, backend, running):
            for number in range(5):
                pipes.say(number + 1, "tools/call")
            while backend.count < 5:
                await asyncio.sleep(0.001)
            go_on.set()
            for _ in range(50):  # until they are answered: the loop is free though nobody reads
                await asyncio.sleep(0)
            for number in range(20):
                pipes.say(number + 10, "tools/call")
            await asyncio.sleep(0.05)
            done_for_it = backend.count
            if how == "cancel":
                running.cancel()
            else:
                pipes.close_input()
            done, _ = await asyncio.wait([running], timeout=25)
            return done_for_it, bool(done)

    done_for_it, is_done = asyncio.run(main())
    assert is_done
    assert done_for_it == 5  # nothing more until it reads


def test_everything_arrives_in_order_at_a_client_that_reads_late() -> None:
    async def work(exchange: Exchange) -> Answer:
        return success({"text": "x" * 50_000})

    async def main() -> list[Any]:
        async with serving(work) as (pipes, backend, running):
            found = b""
            for number in range(10):
                pipes.say(number + 1, "tools/call")
            await backend.begun.wait()
            pipes.close_input()
            while found.count(b"\n") < 11:
                found += await asyncio.to_thread(os.read, pipes.read, 1 << 16)
            await running
            return [json.decode(line)["id"] for line in found.splitlines()]

    assert asyncio.run(main()) == list(range(11))
