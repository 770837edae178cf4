"""One event stream for all pages of a browser: that something was recorded, waits, or was paused.

    store ─▶ Pulse (one look five times a second, while somebody listens) ─▶ /events of every browser

The stream says only that there is something new; pages then ask for what they show, with their own filter. It ends when
its session does, and when the server stops.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from time import monotonic
from typing import Final

from msgspec import Struct, json
from starlette.requests import Request
from starlette.responses import StreamingResponse

from rightcall.console.access import visitor_of
from rightcall.console.page import Glance, glance, site_of
from rightcall.console.people import live_sessions
from rightcall.errors import StoreError
from rightcall.record.tables import Store, Tables

EVERY: Final = 0.2
"""Seconds between two looks: a call is on the page within half a second."""
BREATH: Final = 15.0
"""Seconds after which a silent stream says that it is there."""
MOST_STREAMS: Final = 200
MOST_OF_ONE: Final = 20
"""Of one session: whoever opens more of them takes no place from others."""
_AGAIN: Final = 2000
"""Milliseconds after which a browser comes back to a stream that broke."""


class Beat(Struct, frozen=True):
    """What one look found."""

    glance: Glance | None
    """None while the store cannot be read."""
    sessions: frozenset[str] = frozenset()


class Pulse:
    """Looks at the store for all who listen; used within one event loop."""

    def __init__(self, store: Store, every: float = EVERY) -> None:
        self._store = store
        self._every = every
        self._following: Counter[str] = Counter()
        self._beat = Beat(None)
        self._looking: asyncio.Task[None] | None = None
        self._stopped = False

    @property
    def listeners(self) -> int:
        return self._following.total()

    def has_room(self, session: str) -> bool:
        return self.listeners < MOST_STREAMS and self._following[session] < MOST_OF_ONE

    @property
    def head(self) -> int | None:
        """The newest record of the last look; None while nobody listens, or nothing can be read."""
        return self._beat.glance.head if self.listeners and self._beat.glance is not None else None

    def stop(self) -> None:
        """End all streams: a server that stops does not wait for them. From the event loop."""
        self._stopped = True

    async def follow(self, session: str) -> AsyncIterator[bytes]:
        """The stream of one browser, until its session counts no more."""
        told: Glance | None = None
        spoke = 0.0
        self._following[session] += 1
        try:
            yield b"retry: %d\n\n" % _AGAIN
            while not self._stopped:
                beat = await self._next()
                if beat.glance is not None and session not in beat.sessions:
                    yield b"event: over\ndata: {}\n\n"
                    return
                now = monotonic()
                if beat.glance is not None and beat.glance != told:
                    told, spoke = beat.glance, now
                    yield message(beat.glance)
                elif now - spoke >= BREATH:
                    spoke = now
                    yield b": here\n\n"
        finally:
            self._following[session] -= 1
            self._following += Counter()  # forgets those at zero

    async def _next(self) -> Beat:
        """The next look, shared by all who wait for one."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())
        await asyncio.shield(self._looking)
        return self._beat

    async def _look(self) -> None:
        if self._beat.glance is not None:
            await asyncio.sleep(self._every)
        try:
            self._beat = await asyncio.to_thread(self._store.look, self._read)
        except StoreError:
            self._beat = Beat(None)
            await asyncio.sleep(self._every * 5)

    def _read(self, tables: Tables) -> Beat:
        return Beat(glance(tables, self._store.clock.now()), live_sessions(tables))


def message(seen: Glance) -> bytes:
    data = {"head": seen.head, "waiting": seen.waiting, "paused": seen.paused is not None}
    return b"event: state\ndata: %b\n\n" % json.encode(data)


async def stream(request: Request) -> StreamingResponse:
    pulse, session = site_of(request).pulse, visitor_of(request).session.id
    if request.method == "HEAD" or not pulse.has_room(session):
        return StreamingResponse(iter(()), 200 if request.method == "HEAD" else 503, media_type="text/event-stream")
    follow = pulse.follow(session)
    return StreamingResponse(follow, headers={"x-accel-buffering": "no"}, media_type="text/event-stream")
