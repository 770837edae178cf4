"""The thread that writes. Many works share one commit: it takes all that wait, does each inside a savepoint of its own,
commits once, and wakes all who waited.

    transact, atransact ─▶ queue ─▶ begin · work · work · work · commit ─▶ wake
"""

import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any

from rightcall.errors import StoreError
from rightcall.record.sqlite_faults import closed, fault_of, is_fault
from rightcall.record.sqlite_session import Session
from rightcall.record.sqlite_tables import SqliteTables
from rightcall.record.tables import Tables, report

if TYPE_CHECKING:
    from asyncio import Future

Work = Callable[[Tables], Any]

_MOST = 512
"""Works that share one commit."""
_CLOSING_SECONDS = 1.0
"""How long closing waits for a lock."""


class Job:
    """A work, and who waits for it: a thread (`done`), a task (`future`), or nobody."""

    __slots__ = ("done", "error", "future", "value", "work")

    def __init__(
        self, work: Work, *, future: "Future[None] | None" = None, done: "threading.Lock | None" = None
    ) -> None:
        self.work = work
        self.future = future
        self.done = done
        self.value: Any = None
        self.error: BaseException | None = None

    def outcome(self) -> Any:
        """What the work returned. What it raised is raised."""
        if self.error is None:
            return self.value
        error, self.error = self.error, None  # it knows this job by its frames: no circle may stay behind
        raise error


_GATHER = 0.02
"""Seconds that what was left for later waits for somebody to share a commit with."""
_NUDGE = Job(lambda _: None)
"""Wakes the thread, and is no work."""


class Writer:
    """Owns the session: nobody else touches it."""

    def __init__(self, path: Path, session: Session, busy_seconds: float) -> None:
        self._path = path
        self._session = session
        self._patience = busy_seconds
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._later: deque[Job] = deque()
        self._door = threading.Lock()
        self._closed = False
        self._last = False
        self._thread = threading.Thread(target=self._write, name=f"rightcall {path.name}", daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        if threading.current_thread() is self._thread:
            raise RuntimeError("a work cannot begin another transaction: it is already inside one")
        with self._door:  # nothing comes after the word that ends the thread
            if self._closed:
                raise closed(self._path)
            self._queue.put(job)

    def later(self, work: Work) -> None:
        with self._door:
            if self._closed:
                raise closed(self._path)
            self._later.append(Job(work))
            self._queue.put(_NUDGE)  # should nobody else come

    def close(self, timeout: float | None = None) -> None:
        """Finish what waits, then end."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        if threading.current_thread() is not self._thread:  # it may be the one that finds that nobody holds the store
            self._thread.join(timeout)

    def _write(self) -> None:
        while not self._last:
            batch = self._take()
            if batch or self._later:
                self._serve(batch)
                _wake(batch)
        self._session.close()

    def _take(self) -> list[Job]:
        """All that waits; the first is waited for."""
        batch: list[Job] = []
        job = self._queue.get()
        with suppress(Empty):
            if job is _NUDGE:
                job = self._after_a_nudge()
            while job is not None:
                if job is not _NUDGE:
                    batch.append(job)
                if len(batch) >= _MOST:
                    return batch
                job = self._queue.get_nowait()
            self._last = True
        return batch

    def _after_a_nudge(self) -> Job | None:
        """Nobody waits for what was left for later: it shares the commit of whoever comes next, if somebody comes soon.
        Raises Empty."""
        until = monotonic() + _GATHER
        job = self._queue.get(timeout=_GATHER)
        while job is _NUDGE:
            job = self._queue.get(timeout=max(until - monotonic(), 0))
        return job

    def _serve(self, batch: list[Job]) -> None:
        later = tuple(self._later)
        patience = min(self._patience, _CLOSING_SECONDS) if self._last else self._patience
        try:
            connection, tables = self._session.begin(monotonic() + patience)
            for job in (*later, *batch):
                _perform(job, connection, tables)
            self._session.commit()
        except Exception as error:  # noqa: BLE001  whatever it is, nobody may wait for ever
            self._session.give_up()
            self._refuse(batch, fault_of(error, self._path))
        else:
            for job in later:
                self._later.popleft()
                if job.error is not None:
                    report(job.error)

    def _refuse(self, batch: list[Job], fault: StoreError) -> None:
        if fault.fault == "locked" and not self._last:  # those who came meanwhile have waited for the same lock
            with suppress(Empty):
                while (job := self._queue.get_nowait()) is not None:
                    batch.append(job)
                self._last = True
        for job in batch:
            job.value, job.error = None, job.error or fault_of(fault, self._path)


def _perform(job: Job, connection: sqlite3.Connection, tables: SqliteTables) -> None:
    if job.future is not None and job.future.cancelled():
        return
    job.error = None
    connection.execute("SAVEPOINT work")
    try:
        job.value = job.work(tables)
    except BaseException as error:  # it belongs to whoever waits, whatever it is
        if is_fault(error):
            raise
        job.error = error
        connection.execute("ROLLBACK TO work")
        tables.refresh()
    connection.execute("RELEASE work")


def _wake(batch: Iterable[Job]) -> None:
    """Threads one by one, the tasks of a loop all at once: waking a loop costs more than everything else."""
    futures: dict[Any, list[Future[None]]] = {}
    for job in batch:
        if job.done is not None:
            job.done.release()
        elif job.future is not None:
            futures.setdefault(job.future.get_loop(), []).append(job.future)
    for loop, own in futures.items():
        with suppress(RuntimeError):  # the loop has ended, and with it all who waited there
            loop.call_soon_threadsafe(_set, own)


def _set(futures: "list[Future[None]]") -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
