"""The store's twin in memory, for tests and for programs that need no lasting record."""

import threading
from collections.abc import Callable
from os import urandom
from typing import cast

from rightcall.errors import StoreError
from rightcall.record.asking import sweep
from rightcall.record.clock import Clock, SystemClock
from rightcall.record.memory_tables import MemoryTables
from rightcall.record.tables import ReadOnly, T, Tables, report
from rightcall.types_running import SECOND

RECORDS = 50_000
"""Records that are kept unless told otherwise."""
_TIDY = 5 * SECOND
"""How often questions whose time is over are looked for."""


class MemoryStore:
    """A `Store` for one process, without a file. It keeps the last `records` records."""

    def __init__(self, clock: Clock | None = None, *, records: int = RECORDS) -> None:
        if records < 1:
            raise ValueError(f"records must be at least 1, not {records}")
        self.clock = clock or SystemClock()
        self._tables = MemoryTables(self.clock, records)
        self._reader = cast("Tables", ReadOnly(self._tables))
        self._lock = threading.RLock()
        self._inside = False
        self._later: list[Callable[[Tables], object]] = []
        self._closed = False
        self._tidied: int | None = None
        self._key = urandom(32)

    def transact(self, work: Callable[[Tables], T]) -> T:
        with self._lock:
            if self._inside:
                raise RuntimeError("a work cannot begin another transaction: it is already inside one")
            if self._closed:
                raise _closed()
            if self._later:
                self._do_what_was_left()
            self._tidy()
            self._inside = True
            try:
                value = work(self._tables)
            except BaseException:
                self._tables.undo()
                raise
            finally:
                self._inside = False
            self._tables.keep()
            return value

    def _tidy(self) -> None:
        now = self.clock.now()
        if self._tidied is None or now - self._tidied >= _TIDY:
            sweep(self._tables, now)
            self._tables.keep()
            self._tidied = now

    async def atransact(self, work: Callable[[Tables], T]) -> T:
        return self.transact(work)  # never waits for longer than one small work

    def later(self, work: Callable[[Tables], object]) -> None:
        with self._lock:
            if self._closed:
                raise _closed()
            self._later.append(work)
            if not self._inside:
                self._do_what_was_left()

    def _do_what_was_left(self) -> None:
        works, self._later = self._later, []
        for work in works:
            try:
                self.transact(work)
            except Exception as error:  # noqa: BLE001  nobody waits for it any more
                report(error)

    def look(self, work: Callable[[Tables], T]) -> T:
        with self._lock:
            if self._closed:
                raise _closed()
            return work(self._reader)

    def key(self) -> bytes:
        return self._key

    def close(self) -> None:
        with self._lock:
            self._do_what_was_left()
            self._closed = True


def _closed() -> StoreError:
    return StoreError("the store was closed. Nothing was run. Open another one.", "closed")
