"""Keeping the rollup up to date while a process writes, so that nobody who asks for figures has to wait.

    commit, commit, commit ─▶ enough records? ─▶ a thread counts them, in steps, and ends

The transactions that admit calls count nothing themselves. Whoever writes little, such as a hook that a host starts for
each call, pays nothing at all: what is left over is counted by whoever asks for figures next.
"""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Final

from rightcall.errors import StoreError
from rightcall.record.tables import Tables

EVERY: Final = 5_000
"""Records after which they are counted."""
_SHARE: Final = 0.25
"""Of the time of one core, that counting takes where very many are left, as after an update from a version that kept no
rollup."""


class Keeper:
    """Of one store. `look` is the store's own."""

    def __init__(self, look: Callable[[Callable[[Tables], int]], int]) -> None:
        self._look = look
        self._counted: int | None = None
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def wrote(self, head: int) -> None:
        """After a commit: the number of the last record. Called by one thread at a time, and never waits."""
        if self._counted is None:
            self._counted = head
        if head - self._counted < EVERY or self._stopped.is_set():
            return
        if self._thread is None or not self._thread.is_alive():
            self._counted = head
            self._thread = threading.Thread(target=self._count, name="rightcall rollup", daemon=True)
            self._thread.start()

    def _count(self) -> None:
        with suppress(StoreError, sqlite3.Error):  # whoever asks for figures is told
            took = 0.0
            while not self._stopped.wait(took / _SHARE - took):
                began = monotonic()
                if self._look(lambda tables: tables.rollup().catch_up(tables, 0.0)) < EVERY:
                    return
                took = monotonic() - began

    def stop(self) -> None:
        """What is being counted is finished first: that takes a fraction of a second."""
        self._stopped.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
