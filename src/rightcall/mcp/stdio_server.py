"""A server of our own over standard input and output, for one client: lines in, lines out, in the era it begins in."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, BinaryIO

from rightcall.mcp.messages import INVALID_REQUEST, PARSE_ERROR, Bytes, read, read_batch
from rightcall.mcp.serving import Backend, Client, new_context
from rightcall.mcp.serving_answers import a_response, failure, one_line
from rightcall.mcp.stdio_sink import Sink
from rightcall.text.framing import JsonLines, TooLong

GRACE = 10.0
"""Seconds in which what runs may come to its end after the client has closed its end."""
FLUSHING = 2.0
"""Seconds in which the last answers must have been read."""
_PIECE = 65_536
_AHEAD = 1_000
"""Lines that may wait to be looked at before no more are read."""


class StdioServer:
    """`source` and `sink` are the raw files; both are used from threads of their own, so that they may be pipes,
    terminals or files. A client that reads nothing gets nothing more done, and can be left all the same. `ending` is
    called when the client has closed its end: what would never come to an end is to end then."""

    def __init__(
        self, backend: Backend, caller: str, source: BinaryIO, sink: BinaryIO, ending: Callable[[], None] = lambda: None
    ) -> None:
        self.client = Client(backend, caller, self._send, new_context())
        self._source = source
        self._sink = Sink(sink)
        self._ending = ending
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until the client closes its end; what it has asked for before is answered, within limits."""
        loop = asyncio.get_running_loop()
        lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        room = threading.Semaphore(_AHEAD)
        ended = asyncio.Event()

        def put(line: bytes | None) -> None:
            with suppress(RuntimeError):  # the loop has ended before
                loop.call_soon_threadsafe(lines.put_nowait, line)
                if line is None:
                    loop.call_soon_threadsafe(ended.set)

        self._sink.start(loop)
        thread = threading.Thread(target=_read, args=(self._source, put, room), name="rightcall stdin", daemon=True)
        thread.start()
        while (line := await lines.get()) is not None:
            await self._sink.has_room(ended)
            room.release()
            self._take(line)
        self._ending()
        self.client.hang_up()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=GRACE)
        self.client.leave()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._sink.written(FLUSHING)

    def _take(self, line: bytes) -> None:
        message = read(line)
        if message is None:
            if (batch := read_batch(line)) is not None:
                self._later(self._batch([bytes(one) for one in batch]))
            elif line.strip():
                self._send(a_response(b"null", failure(PARSE_ERROR, "a message is one line with one JSON object")))
        elif message.is_request:
            self._later(self._answer(line))
        elif message.is_response:
            self.client.answered(message)
        elif isinstance(message.method, str):
            self.client.notified(message)
        else:
            self._send(a_response(b"null", failure(INVALID_REQUEST, "this is no message: it has no method and no id")))

    async def _answer(self, line: Bytes) -> None:
        reply = await self._reply(line)
        if reply is not None:
            self._send(reply)

    async def _batch(self, lines: list[bytes]) -> None:
        """Several messages at once, as the revision 2025-03-26 has them."""
        replies = await asyncio.gather(*map(self._reply, lines))
        found = [reply for reply in replies if reply is not None]
        if found or not lines:
            wrong = a_response(b"null", failure(INVALID_REQUEST, "an empty batch"))
            self._send(b"[%b]" % b",".join(found) if found else wrong)

    async def _reply(self, line: Bytes) -> bytes | None:
        message = read(line)
        if message is not None and message.is_request:
            return await self.client.request(line, message, self._send)
        if message is not None and message.is_response:
            self.client.answered(message)
        elif message is not None:
            self.client.notified(message)
        return None

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _send(self, message: bytes) -> None:
        self._sink.put(one_line(message) + b"\n")


def _read(source: BinaryIO, put: Callable[[bytes | None], None], room: threading.Semaphore) -> None:
    framing = JsonLines()
    number = source.fileno()
    try:
        while data := os.read(number, _PIECE):
            for line in framing.feed(data):
                room.acquire()
                put(line)
        if rest := framing.rest():
            put(rest)
    except (OSError, ValueError, TooLong):
        pass
    finally:
        put(None)
