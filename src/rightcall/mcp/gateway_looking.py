"""Looks at the list of one server, one at a time. Whoever asks while one is under way gets the next one, and shares it
with all who ask meanwhile: however often a server says that its list has changed, there are never more than two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from rightcall.mcp.upstream_link import ServerGone

FIRST_PAUSE: Final = 0.5
"""Seconds between two looks that a server asks for; twice as long each time it does so again at once."""
LONGEST_PAUSE: Final = 0.8
"""So that clients hear of a change within a second."""
SHARE: Final = 5
"""A look is followed by a pause so many times as long, however long it takes."""
CALM: Final = 60.0
"""After so many seconds without one the pauses begin anew."""


class Looks:
    """`look` is the work. Used within one event loop."""

    def __init__(self, look: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._look = look
        self._running: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None
        self._wanted: asyncio.Task[None] | None = None
        self._pause = FIRST_PAUSE
        self._earliest = 0.0

    async def fresh(self) -> None:
        """After a look that has begun after this was asked. Raises what the look raised."""
        if self._running is None or self._running.done():
            self._running = _task(self._look())
            await _end_of(self._running)
            return
        if self._next is None or self._next.done():
            self._next = _task(self._after(self._running))
        await _end_of(self._next)

    def wanted(self) -> asyncio.Task[None] | None:
        """The server says that its list has changed: a look, soon. None where one is to come already."""
        if self._wanted is not None and not self._wanted.done():
            return None
        now = asyncio.get_running_loop().time()
        if now - self._earliest > CALM:
            self._pause = FIRST_PAUSE
        pause = max(0.0, self._earliest - now)
        self._wanted = _task(self._soon(pause))
        return self._wanted

    def cancel(self) -> None:
        for task in (self._running, self._next, self._wanted):
            if task is not None:
                task.cancel()

    async def _soon(self, pause: float) -> None:
        await asyncio.sleep(pause)
        self._wanted = None  # what changes from here on is another change
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._earliest = began + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        try:
            await self.fresh()
        finally:
            took = loop.time() - began
            self._earliest = max(self._earliest, loop.time() + took * SHARE)

    async def _after(self, before: asyncio.Task[None]) -> None:
        await asyncio.wait([before])
        self._running, self._next = self._next, None
        await self._look()


def _task(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    task = asyncio.get_running_loop().create_task(work)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # also where nobody waits any more
    return task


async def _end_of(task: asyncio.Task[None]) -> None:
    """Whoever stops waiting leaves it running for the others."""
    await asyncio.wait([task])
    if task.cancelled():
        raise ServerGone("the gateway has closed it")
    task.result()
