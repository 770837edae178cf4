"""What is said on the streams of a session, numbered, so that a client whose connection broke, or was closed to be
taken up again later, goes on where it was (`Last-Event-ID`).

A number says something within its own session only: it is looked for among the streams of the session that the request
belongs to, and a session is found by its id and its caller. What was sent is kept for a while and within limits; who
comes later goes on with what is left.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator, Hashable
from contextlib import contextmanager
from itertools import islice
from time import monotonic
from typing import Final, Generic, TypeVar

from rightcall.base.http.answers import sse
from rightcall.mcp.messages import one_line

RETRY: Final = 1_000
"""Milliseconds after which a client is to come back, where nobody has said otherwise."""
MOST_BYTES: Final = 32_000_000
"""Of messages that may wait on one stream for a client that takes none; further ones are left out."""
LEFT_BYTES: Final = 1_000_000
"""The same once that client has left, and is not expected: it may come back, and mostly does not."""
ALL_BYTES: Final = 128_000_000
"""Of messages on all streams that are not over."""
SENT, SENT_BYTES = 100, 256_000
"""Messages that are kept of one stream after they were sent."""
AGE: Final = 300.0
"""Seconds for which a stream that is over is kept."""
OVER: Final = 50
"""Streams that are over, of one session."""
OVER_BYTES: Final = 64_000_000
"""Of all streams that are over; the oldest make room."""
_EACH: Final = 100
"""Bytes that a message takes beside its own."""
Stream = TypeVar("Stream")


class Room:
    """What all streams have together: room for messages, and a clock for those that wait for their first one."""

    def __init__(self) -> None:
        self.taken = 0
        self._awaited: dict[Channel, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def first_of(self, channel: Channel, seconds: float) -> None:
        """Until a stream has news, or so many seconds have passed, the same for all. One timer for all of them: one for
        each would cost every request more than the waiting itself."""
        loop = asyncio.get_running_loop()
        self._awaited[channel] = loop.time() + seconds
        if self._timer is None:
            self._timer = loop.call_later(seconds, self._look, loop)
        try:
            await channel.news.wait()
        finally:
            del self._awaited[channel]

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for channel, until in self._awaited.items():
            if until > now:
                self._timer = loop.call_at(until, self._look, loop)
                return
            channel.news.set()


class Channel:
    """One stream: messages with numbers from 1. Without a `name` they have none, and none is kept once it was sent.
    `left` bytes may wait once its client has left."""

    def __init__(self, name: str = "", room: Room | None = None, left: int = LEFT_BYTES) -> None:
        self.name = name
        self._room = room if room is not None else Room()
        self._left = left
        self._connections: int | None = None
        """That follow it now; None before the first."""
        self.news = asyncio.Event()
        self.last = 0
        """The number of the newest message."""
        self.sent = 0
        """Up to which number messages were sent to anybody."""
        self.turn = 0
        """Of several connections the newest counts: clients come anew when one breaks."""
        self.pause: float | None = None
        """Where the connection is to be closed: seconds after which its client is to come back."""
        self.is_over = False
        self.size = 0
        self._kept: deque[bytes] = deque()

    @property
    def waiting(self) -> int:
        return self.last - self.sent

    def put(self, message: bytes, *, always: bool = False) -> None:
        weight = len(message) + _EACH
        if always or self._has_room(weight):
            self.last += 1
            self._kept.append(message)
            self._grow(weight)
        self.news.set()

    def after(self, number: int) -> tuple[bytes, int]:
        """All that is kept of what came after a number, as events, and the number of the newest."""
        left_out = self.last - len(self._kept)
        at = max(number, left_out)
        later = islice(self._kept, at - left_out, None)
        events = b"".join([self._event(at + ahead, one) for ahead, one in enumerate(later, 1)])
        self.sent = self.last
        self._trim()
        return events, self.last

    def priming(self) -> bytes:
        """The first event: it says nothing, but has a number to come back with."""
        return b"id: %b\nretry: %d\ndata: \n\n" % (self._number(0), RETRY)

    @contextmanager
    def attended(self) -> Generator[None]:
        """While a connection of its client is there."""
        self._connections = (self._connections or 0) + 1
        try:
            yield
        finally:
            self._connections -= 1

    def take(self) -> int:
        """Whoever follows this stream up to now is to stop."""
        self.turn += 1
        self.news.set()
        return self.turn

    def suspend(self, seconds: float) -> None:
        """Close the connection, not the stream: its client comes back with the number of what it has heard last."""
        self.pause = seconds
        self.news.set()

    def end(self) -> None:
        """Whoever keeps it from now on has room of their own for it."""
        if not self.is_over:
            self._room.taken -= self.size
        self.is_over = True
        self.news.set()

    def _has_room(self, weight: int) -> bool:
        if self._connections == 0 and self.pause is None and self.size + weight > self._left:
            return False
        if self._connections and not self.waiting:
            return True  # it is sent at once: whoever fills the room silences nobody that listens
        return self.size < MOST_BYTES and self._room.taken + weight <= ALL_BYTES

    def _grow(self, by: int) -> None:
        self.size += by
        if not self.is_over:
            self._room.taken += by

    def _event(self, number: int, message: bytes) -> bytes:
        event = sse(one_line(message), "message")
        return b"id: %b\n%b" % (self._number(number), event) if self.name else event

    def _number(self, number: int) -> bytes:
        return f"{self.name}-{number}".encode()

    def _trim(self) -> None:
        most, bytes_most = (SENT, SENT_BYTES) if self.name else (0, 0)
        while self._kept and len(self._kept) > self.waiting:
            spare = len(self._kept) - self.waiting
            if spare <= most and self.size <= bytes_most:
                break
            self._grow(-len(self._kept.popleft()) - _EACH)


def retry(seconds: float) -> bytes:
    """When to come back."""
    return b"retry: %d\n\n" % round(seconds * 1000)


def place_of(event_id: str) -> tuple[str, int] | None:
    """The stream and the number that a client has heard last; None for what is no event id of ours.

    >>> place_of("3-17"), place_of("17"), place_of("3-x")
    (('3', 17), None, None)
    """
    name, _, number = event_id.rpartition("-")
    if not name or not number.isascii() or not number.isdigit() or len(number) > 15:
        return None
    return name, int(number)


class Ended(Generic[Stream]):
    """Streams that are over, of all sessions, for clients that have not heard their end. The oldest make room."""

    def __init__(self) -> None:
        self._of: dict[Hashable, dict[str, tuple[Stream, int]]] = {}
        self._since: dict[tuple[Hashable, str], float] = {}
        self._bytes = 0

    def keep(self, owner: Hashable, name: str, stream: Stream, size: int) -> None:
        own = self._of.setdefault(owner, {})
        own[name] = stream, size
        self._bytes += size
        self._since[owner, name] = monotonic()
        while len(own) > OVER:
            self._drop(owner, next(iter(own)))
        self.tidy()

    def find(self, owner: Hashable, name: str) -> Stream | None:
        found = self._of.get(owner, {}).get(name)
        return found[0] if found is not None else None

    def forget(self, owner: Hashable) -> None:
        for name in list(self._of.get(owner, ())):
            self._drop(owner, name)

    def tidy(self) -> None:
        now = monotonic()
        while self._since:
            oldest, since = next(iter(self._since.items()))
            if self._bytes <= OVER_BYTES and now - since <= AGE:
                break
            self._drop(*oldest)

    def _drop(self, owner: Hashable, name: str) -> None:
        own = self._of[owner]
        self._bytes -= own.pop(name)[1]
        del self._since[owner, name]
        if not own:
            del self._of[owner]
