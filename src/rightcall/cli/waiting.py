"""A line for somebody who waits at a terminal, written anew until the work is done; nothing where nobody looks."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

EVERY = 0.2
"""Seconds."""
_ANEW = "\r\x1b[K"


@contextmanager
def waiting(line: Callable[[float], str], every: float = EVERY) -> Generator[None]:
    """`line` says, after so many seconds, what is being done. At the end it is gone from the screen."""
    stream = sys.stderr
    if not stream.isatty():
        yield
        return
    over, began = Event(), monotonic()

    def tell() -> None:
        while not over.wait(every):
            stream.write(_ANEW + line(monotonic() - began))
            stream.flush()

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        stream.write(_ANEW)
        stream.flush()
