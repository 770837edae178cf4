"""The database's time, which is the same for all nodes: what limits, expiry and records go by.

Inside a transaction it stands still at the moment that the server told after all locks were taken. Elsewhere it goes on
from what the server told last, by this machine's own clock, whose date nobody needs.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager

from rightcall.record.tables import SystemClock, written


class DatabaseClock:
    def __init__(self) -> None:
        self._own = SystemClock()
        self._ahead = 0
        """Nanoseconds since 1970 less this machine's own count."""
        self._owner = 0
        """The thread that is inside a transaction,"""
        self._at = 0
        """and when that is."""
        self._written = -1, ""

    def tell(self, now: int) -> None:
        """What the server says it is."""
        self._ahead = now - self._own.now()

    @contextmanager
    def standing(self, at: int) -> Generator[None]:
        """Stands still for this thread."""
        self._at, self._owner = at, threading.get_ident()
        try:
            yield
        finally:
            self._owner = 0

    def now(self) -> int:
        if self._owner and self._owner == threading.get_ident():
            return self._at
        return self._own.now() + self._ahead

    def wall(self) -> str:
        moment = self.now() // 1_000_000
        known, text = self._written
        if known != moment:
            text = written(moment / 1000)
            self._written = moment, text
        return text
