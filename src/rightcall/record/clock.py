"""Two clocks: a monotonic one that decides (limits, expiry), and the wall's, which is only written down.

The monotonic one is the same for all processes of a machine and goes on while it sleeps; setting the date changes
nothing.
"""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> int:
        """Nanoseconds that never go back."""
        ...

    def wall(self) -> str:
        """The date and time in UTC, as SQLite's own functions write it, with milliseconds."""
        ...


class SystemClock:
    """The machine's own clocks."""

    _last = -1, ""
    """The last thousandth of a second, and how it is written: many moments lie in the same one, most in its second."""

    if hasattr(time, "CLOCK_BOOTTIME"):

        def now(self) -> int:
            return time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    else:  # macOS and Windows: theirs counts sleep as well

        def now(self) -> int:
            return time.monotonic_ns()

    def wall(self) -> str:
        moment = time.time_ns() // 1_000_000
        known, text = self._last
        if moment != known:
            same_second = moment // 1000 == known // 1000
            text = f"{text[:-3]}{moment % 1000:03}" if same_second else written(moment / 1000)
            self._last = moment, text
        return text


class ManualClock:
    """Stands still until it is moved: for tests.

    >>> clock = ManualClock()
    >>> clock.advance(1.5)
    >>> clock.now(), clock.wall()
    (1500000000, '2026-01-01 00:00:01.500')
    """

    def __init__(self, start: int = 0, wall: float = 1_767_225_600.0) -> None:
        self._at = start
        self._wall = wall

    def now(self) -> int:
        return self._at

    def wall(self) -> str:
        return written(self._wall)

    def advance(self, seconds: float) -> None:
        self._at += round(seconds * 1e9)
        self._wall += seconds

    def set_wall(self, seconds: float) -> None:
        """Somebody sets the date; the monotonic clock does not notice."""
        self._wall = seconds


def written(seconds: float) -> str:
    """A moment (seconds since 1970) as the audit writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
