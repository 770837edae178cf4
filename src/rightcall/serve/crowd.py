"""All connections of one server, and who has to go when there are too many or when one takes too long.

One timer looks at those that wait, once a second: a timer for each would cost every request, and help nobody.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from rightcall.serve.limits import ServeLimits
from rightcall.serve.refusals import Reason


class Member(Protocol):
    """A connection, as the crowd sees it."""

    def too_slow(self, now: float) -> None:
        """Ends it if it has waited too long for its client."""
        ...

    def give_way(self) -> None:
        """Ends it now, for somebody else."""
        ...


class Crowd:
    """`refused` hears why somebody was sent away."""

    def __init__(self, limits: ServeLimits, refused: Callable[[Reason], None]) -> None:
        self.limits = limits
        self.refused = refused
        self._members: set[Member] = set()
        self._waiting: dict[Member, None] = {}
        self._blocked: set[Member] = set()
        self._sweeping: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._members)

    def enter(self, member: Member, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether there is room. The one that has waited longest without a complete request makes it."""
        self._members.add(member)
        while len(self._members) > self.limits.connections:
            oldest = next(iter(self._waiting), None)
            if oldest is None:
                return False
            self.leave(oldest)
            self.refused("too_many_connections")
            oldest.give_way()
        self._sweep_later(loop)
        return True

    def leave(self, member: Member) -> None:
        self._members.discard(member)
        self._waiting.pop(member, None)
        self._blocked.discard(member)

    def waits(self, member: Member) -> None:
        """Its client has to send a request, or the rest of one."""
        self._waiting.pop(member, None)
        if member in self._members:
            self._waiting[member] = None

    def works(self, member: Member) -> None:
        """A request is complete: it is our turn."""
        self._waiting.pop(member, None)

    def blocked(self, member: Member, is_blocked: bool) -> None:
        """Its client does not take the answer, or does again."""
        if is_blocked and member in self._members:
            self._blocked.add(member)
        else:
            self._blocked.discard(member)

    def _sweep_later(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._sweeping is None and self._members:
            self._sweeping = loop.call_later(_interval(self.limits), self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        self._sweeping = None
        now = loop.time()
        for member in [*self._waiting, *self._blocked]:
            member.too_slow(now)
        self._sweep_later(loop)


def _interval(limits: ServeLimits) -> float:
    shortest = min(limits.head_seconds, limits.body_stall_seconds, limits.drain_seconds, limits.reader_stall_seconds)
    return min(1.0, shortest / 4)
