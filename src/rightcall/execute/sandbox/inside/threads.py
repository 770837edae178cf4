"""The threads of a process. Its first one may have ended, and then the process itself seems to use nothing; and each
may have opened files that are no other's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar

_Seen = TypeVar("_Seen")


def views(process: int) -> Iterator[str]:
    """Where to look for what the threads have in common: at the process, and where that shows nothing, at each."""
    yield f"/proc/{process}"
    yield from threads(process)


def threads(process: int) -> list[str]:
    folder = f"/proc/{process}/task"
    try:
        return [f"{folder}/{name}" for name in os.listdir(folder)]
    except OSError:
        return []


def first_seen(process: int, look: Callable[[str], _Seen | None]) -> _Seen | None:
    """What the first view shows that shows anything."""
    for view in views(process):
        with suppress(OSError, ValueError, IndexError):
            found = look(view)
            if found:
                return found
    return None


def descriptors(process: int) -> Iterator[tuple[str, str]]:
    """Every open file of every thread: the folder of the thread, and the number."""
    for thread in threads(process):
        with suppress(OSError):
            for name in os.listdir(f"{thread}/fd"):
                yield thread, name
