"""One event stream for all pages of a browser: that something was recorded, waits, or was paused.

    store ─▶ Pulse (one look five times a second, while somebody listens) ─▶ /events of every browser

Pages of Live get their new rows with it, each filter's made once for all who watch it; other pages then ask for what
they show. The stream ends when its session does, and when the server stops.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from time import monotonic
from typing import Final

from msgspec import Struct, json
from starlette.requests import Request
from starlette.responses import StreamingResponse

from rightcall.console.access import visitor_of
from rightcall.console.page import Glance, glance, number_of, site_of
from rightcall.console.pages.live import rows_since
from rightcall.console.people import live_sessions
from rightcall.errors import StoreError
from rightcall.policy.settings import IdentitySettings
from rightcall.record.tables import Store, Tables

EVERY: Final = 0.2
"""Seconds between two looks: a call is on the page within half a second,"""
MANY: Final = 20
"""and twice as many after so many records at once: more than anybody reads, and it spares the server."""
BREATH: Final = 15.0
"""Seconds after which a silent stream says that it is there."""
MOST_STREAMS: Final = 200
MOST_OF_ONE: Final = 20
"""Of one session: whoever opens more of them takes no place from others."""
MOST_LIVE: Final = 20
"""Filters that one stream has rows for."""
_MOST_MADE: Final = 32
_AGAIN: Final = 2000
"""Milliseconds after which a browser comes back to a stream that broke."""


class Beat(Struct, frozen=True):
    """What one look found."""

    glance: Glance | None
    """None while the store cannot be read."""
    sessions: frozenset[str] = frozenset()
    has_many: bool = False
    """Whether much was recorded since the look before."""


class Pulse:
    """Looks at the store for all who listen; used within one event loop."""

    def __init__(
        self, store: Store, every: float = EVERY, providers: Callable[[], tuple[IdentitySettings, ...]] = tuple
    ) -> None:
        self._store = store
        self._every = every
        self._providers = providers
        self._following: Counter[str] = Counter()
        self._beat = Beat(None)
        self._looking: asyncio.Task[None] | None = None
        self._made: dict[tuple[str, int, int], asyncio.Task[bytes]] = {}
        self._stopped = False

    @property
    def listeners(self) -> int:
        return self._following.total()

    def has_room(self, session: str) -> bool:
        return self.listeners < MOST_STREAMS and self._following[session] < MOST_OF_ONE

    def stop(self) -> None:
        """End all streams: a server that stops does not wait for them. From the event loop."""
        self._stopped = True

    async def follow(
        self, session: str, filters: Sequence[str] = (), after: int | None = None
    ) -> AsyncGenerator[bytes]:
        """The stream of one browser, until its session counts no more; with the rows of these filters of Live, from
        that record on."""
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
                    head, start = beat.glance.head, beat.glance.head if after is None else after
                    try:
                        rows = [await self._rows(one, start, head) for one in filters if start < head]
                    except StoreError:  # with the next look
                        continue
                    told, spoke, after = beat.glance, now, head
                    yield b"".join((*rows, message(told)))
                elif now - spoke >= BREATH:
                    spoke = now
                    yield b": here\n\n"
        finally:
            self._following[session] -= 1
            self._following += Counter()  # forgets those at zero

    async def _rows(self, filtered: str, after: int, head: int) -> bytes:
        """Made once for all who watch the same, and have heard the same."""
        key = filtered, after, head
        task = self._made.get(key)
        if task is None or (task.done() and task.exception() is not None):
            work = asyncio.to_thread(rows_message, self._store, filtered, after)
            task = self._made[key] = asyncio.get_running_loop().create_task(work)
            if len(self._made) > _MOST_MADE:
                del self._made[next(iter(self._made))]
        return await asyncio.shield(task)

    async def _next(self) -> Beat:
        """The next look, shared by all who wait for one."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())
        await asyncio.shield(self._looking)
        return self._beat

    async def _look(self) -> None:
        if self._beat.glance is not None:
            await asyncio.sleep(self._every * (2 if self._beat.has_many else 1))
        try:
            self._beat = await asyncio.to_thread(self._store.look, self._read)
        except StoreError:
            self._beat = Beat(None)
            await asyncio.sleep(self._every * 5)

    def _read(self, tables: Tables) -> Beat:
        before, now = self._beat.glance, glance(tables, self._store.clock.now())
        return Beat(
            now, live_sessions(tables, self._providers()), before is not None and now.head - before.head >= MANY
        )


def message(seen: Glance) -> bytes:
    data = {"head": seen.head, "waiting": seen.waiting, "paused": seen.paused is not None}
    return b"event: state\nid: %d\ndata: %b\n\n" % (seen.head, json.encode(data))


def rows_message(store: Store, filtered: str, after: int) -> bytes:
    data = {"filter": filtered, "rows": rows_since(store, filtered, after)}
    return b"event: rows\ndata: %b\n\n" % json.encode(data)


async def stream(request: Request) -> StreamingResponse:
    """With the rows of each filter of Live that is asked for in `live`, `after` that record; a browser that comes back
    goes on where it was."""
    pulse, session = site_of(request).pulse, visitor_of(request).session.id
    if request.method == "HEAD" or not pulse.has_room(session):
        return StreamingResponse(iter(()), 200 if request.method == "HEAD" else 503, media_type="text/event-stream")
    asked = request.query_params
    after = number_of(request.headers.get("last-event-id") or asked.get("after"))
    follow = pulse.follow(session, asked.getlist("live")[:MOST_LIVE], after)
    return StreamingResponse(follow, headers={"x-accel-buffering": "no"}, media_type="text/event-stream")
