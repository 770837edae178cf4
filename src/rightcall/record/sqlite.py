"""The store in a SQLite file, shared by all processes that open it: durable when a transaction returns, the same for
everybody, and refusing clearly while the file cannot be used.

    with closing(SqliteStore(".rightcall/audit.db")) as store:
        store.transact(lambda tables: tables.append("message", 0, b"{}"))
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from weakref import WeakSet, finalize

from rightcall.record.clock import Clock, SystemClock
from rightcall.record.origin import Origin
from rightcall.record.runs import Runs
from rightcall.record.sqlite_faults import fault_of, forked
from rightcall.record.sqlite_file import make_file
from rightcall.record.sqlite_identity import Identity
from rightcall.record.sqlite_private import PrivateTexts
from rightcall.record.sqlite_readers import Readers
from rightcall.record.sqlite_session import Session
from rightcall.record.sqlite_writer import Job, Writer
from rightcall.record.tables import T, Tables

_EXIT_SECONDS = 2.0
"""How long the end of the program may be held up by a store that nobody closed."""


class SqliteStore:
    """A `Store`. Opening makes the file where there is none, and raises StoreError when it cannot be used."""

    def __init__(
        self, path: str | os.PathLike[str], clock: Clock | None = None, *, busy_seconds: float = 3.0,
        adopting: tuple[str, str] | None = None, found: bool = False,
    ) -> None:  # fmt: skip
        """`adopting` (who, and why): take the file for the audit that was there, also where it is not. `found`: nobody
        named it, it lay in a folder that somebody else may have filled."""
        self.clock = clock or SystemClock()
        self.path = Path(path).resolve()  # what lies beside it is the same by whatever name it is opened
        self._forked = False
        self._runs = Runs(self.path.with_name(self.path.name + "-runs"))
        origin = Origin(self.path, found=found, adopting=adopting is not None)
        self._readers = Readers(self.path, self.clock, self._runs, busy_seconds, origin)
        self._identity = Identity(self.path, adopting)
        try:
            self._identity.refuse_new_beginning()
            make_file(self.path)
            self._runs.start()
        except OSError as error:
            raise fault_of(error, self.path) from error
        private = PrivateTexts(self.path)
        self._session = Session(self.path, self.clock, self._runs, private, self._identity, origin)
        self._writer = Writer(self.path, self._session, busy_seconds)
        self._end = finalize(self, _end, self._writer, self._readers, self._runs, _EXIT_SECONDS)
        _STORES.add(self)
        try:
            self.transact(_nothing)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise fault_of(error, self.path) from error
            raise

    def transact(self, work: Callable[[Tables], T]) -> T:
        done = threading.Lock()
        done.acquire()
        job = Job(work, done=done)
        self._put(job)
        done.acquire()
        return job.outcome()

    async def atransact(self, work: Callable[[Tables], T]) -> T:
        from asyncio import get_running_loop  # late: who has no event loop does not pay for one

        future = get_running_loop().create_future()
        job = Job(work, future=future)
        self._put(job)
        await future
        return job.outcome()

    def _put(self, job: Job) -> None:
        if self._forked:
            raise forked(self.path)
        self._writer.put(job)

    def later(self, work: Callable[[Tables], object]) -> None:
        if self._forked:
            raise forked(self.path)
        self._writer.later(work)

    def look(self, work: Callable[[Tables], T]) -> T:
        if self._forked:
            raise forked(self.path)
        return self._readers.look(work)

    def key(self) -> bytes:
        return self._identity.key

    def limit_pages(self, most: int | None) -> None:
        """From the next transaction on, as if the disk had room for so many pages only: to try what happens then."""
        self._session.most_pages = most

    def close(self) -> None:
        """Finishes what waits. Also happens by itself when the program ends, though not for long."""
        if self._end.detach() is not None:
            _end(self._writer, self._readers, self._runs)

    def leave(self) -> None:
        """In a forked child: connections, threads and locks are the parent's, and stay as they are."""
        self._forked = True
        self._end.detach()
        self._runs.leave()


def _nothing(_tables: Tables) -> None:
    """Opening is a transaction like any other: what it finds wrong is said in the same words."""


def _end(writer: Writer, readers: Readers, runs: Runs, timeout: float | None = None) -> None:
    readers.close()
    writer.close(timeout)
    runs.stop()


_STORES: WeakSet[SqliteStore] = WeakSet()


def _leave_all() -> None:
    for store in _STORES:
        store.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)
