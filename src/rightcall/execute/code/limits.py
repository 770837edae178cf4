"""What a program may use, set from outside right after its start: seconds of CPU, so that it cannot go on for long when
the one who watches its deadline has been killed, and memory. Only Linux lets a process do that to another; elsewhere
the deadline has to do."""

import os
import sys
from contextlib import suppress
from math import ceil

MEMORY = 1 << 30
"""Bytes of its own that a program may write to. Files that it only maps, such as git's packs, do not count: the system
takes those pages back when it needs them."""


def limit(process: int, seconds: float, *, memory: int = MEMORY, threads: int | None = None) -> None:
    """`seconds` is its deadline; with several threads it may use that much in each (None: as many as there are cores).
    It writes no core file: what it had in memory is nobody's business."""
    if sys.platform != "linux":
        return
    import resource

    spent = ceil(seconds) * (threads or os.cpu_count() or 1) + 1
    for kind, most in (
        (resource.RLIMIT_CPU, spent),
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(OSError, ValueError):  # it has gone already
            _, hard = resource.prlimit(process, kind)
            if hard == resource.RLIM_INFINITY or hard > most:  # never more than it has
                resource.prlimit(process, kind, (most, most))
