"""What is written for a client, by a thread of its own: a client that does not read holds up nobody, and has to read
before more is done for it."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import suppress
from typing import BinaryIO, Final

MOST: Final = 8_000_000
"""Bytes that may wait to be read before nothing more is taken from the client."""
HOPELESS: Final = 64_000_000
"""Bytes after which a client that does not read hears nothing more."""


class Sink:
    """Filled from the event loop, emptied by its thread."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._news = threading.Condition()
        self._is_over = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._progress = asyncio.Event()

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        threading.Thread(target=self._write, name="rightcall stdout", daemon=True).start()

    def put(self, data: bytes) -> None:
        with self._news:
            if not self._is_over and self._size + len(data) <= HOPELESS:
                self._waiting.append(data)
                self._size += len(data)
                self._news.notify()

    async def has_room(self, ended: asyncio.Event) -> None:
        """Returns also once the client has `ended`: then there is little left to do for it."""
        while self._size > MOST and not ended.is_set():
            self._progress.clear()
            waits = [asyncio.ensure_future(one.wait()) for one in (self._progress, ended)]
            try:
                if self._size > MOST:
                    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in waits:
                    one.cancel()

    async def written(self, seconds: float) -> None:
        """Wait until all is written, so long at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._size:
                    self._progress.clear()
                    if self._size:
                        await self._progress.wait()

    def _write(self) -> None:
        while True:
            with self._news:
                while not self._waiting:
                    self._news.wait()
                data = self._waiting.popleft()
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[self._file.write(rest) or 0 :]
            except (OSError, ValueError):  # nobody reads any more; the end of the input follows
                self._done(None)
                return
            self._done(len(data))

    def _done(self, size: int | None) -> None:
        """None: nothing will be written any more."""
        with self._news:
            self._is_over = self._is_over or size is None
            self._size = 0 if size is None else self._size - size
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended before
                self._loop.call_soon_threadsafe(self._progress.set)
