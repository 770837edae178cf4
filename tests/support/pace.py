"""CPU time in seconds of a usual machine, so that a limit means the same work on a slow one, and beside others.

    slowness ─▶ how much longer this machine takes than a usual one, now      process_time ─▶ its CPU time by that

A fast machine has no more to show: limits do not get tighter.
"""

import time
from typing import Final

_USUAL: Final = 0.00025
"""Half of the seconds of CPU that the work below takes where the limits of the tests were set: a limit tells what grows
with the square of its input, and no machine is as slow in everything as in this work."""
_HOLDS: Final = 3.0
"""Seconds after which it is measured again: neighbours come and go."""


class _Clock:
    """Adds up spans of CPU time, each by the slowness at its beginning or its end, whichever is more."""

    def __init__(self) -> None:
        self._measured = -_HOLDS
        self._passed = 0.0
        self._spent = time.process_time()
        self.slowness = 1.0

    def process_time(self) -> float:
        spent, before = time.process_time() - self._spent, self.slowness
        self.measure()
        self._passed += spent / max(before, self.slowness)
        self._spent = time.process_time()
        return self._passed

    def measure(self) -> None:
        if time.monotonic() - self._measured >= _HOLDS:
            self.slowness = max(1.0, min(_work() for _ in range(3)) / _USUAL)
            self._measured = time.monotonic()


def _work() -> float:
    """What tests do: numbers, texts and dictionaries."""
    began = time.process_time()
    seen: dict[int, int] = {}
    for number in range(2_000):
        seen[number % 97] = seen.get(number % 97, 0) + len(str(number))
    return time.process_time() - began


_clock = _Clock()
process_time = _clock.process_time
"""As `time.process_time`, for differences."""


def slowness() -> float:
    """1 or more."""
    _clock.measure()
    return _clock.slowness
