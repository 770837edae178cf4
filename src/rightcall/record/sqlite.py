"""The store in a SQLite file, shared by all processes that open it: durable when a transaction returns, the same for
everybody, and refusing clearly while the file cannot be used.

    with closing(SqliteStore(".rightcall/audit.db")) as store:
        store.transact(lambda tables: tables.append("message", 0, b"{}"))
"""

import os
import sqlite3
import threading
from _queue import Empty, SimpleQueue  # not `queue`, which loads much that is not needed here
from collections import deque
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from math import inf
from time import monotonic
from typing import cast
from weakref import WeakSet, finalize

from msgspec import Struct, json

from rightcall.errors import StoreError
from rightcall.policy.types import SECOND
from rightcall.record.admission import end_interrupted, sweep
from rightcall.record.identity import Identity, Origin, PrivateTexts, older, refuse_link
from rightcall.record.jobs import Job, Keeper, Work, wake
from rightcall.record.runs import Runs
from rightcall.record.sqlite_file import (
    BELL,
    BUSY,
    NOT_BUSY,
    VERSION,
    Stamp,
    closed,
    compact,
    connect,
    connect_reader,
    empty,
    examine,
    fault_of,
    forked,
    give_back,
    gone,
    is_fault,
    make_file,
    patiently,
    replaced,
    roll_back,
    stamp,
    version_of,
)
from rightcall.record.sqlite_tables import SqliteTables
from rightcall.record.tables import (
    Clock,
    NoteBody,
    ReadOnly,
    SystemClock,
    T,
    Tables,
    encode,
    pause_between_looks,
    report,
)

# ── readers ──
# Connections that only read, for `look`: as many as look at once. They see the last commit and hold up nobody.


class _Reader(Struct, frozen=True):
    connection: sqlite3.Connection
    tables: SqliteTables
    file: tuple[int, int]

    def begin(self) -> None:
        roll_back(self.connection)
        self.connection.execute("BEGIN")
        self.connection.execute("SELECT 1 FROM meta LIMIT 1").fetchall()  # from here on it sees one state
        self.tables.refresh()

    def close(self) -> None:
        self.tables.close()
        self.connection.close()


class Readers:
    def __init__(
        self, path: str, clock: Clock, runs: Runs, busy_seconds: float, origin: "Origin", *, alone: bool = False
    ) -> None:
        """`alone`: there is no writer who has seen where the store comes from."""
        self._private = PrivateTexts(path)
        self._path = path
        self._clock = clock
        self._runs = runs
        self._patience = busy_seconds
        self._origin = origin
        self._alone = alone
        self._idle: list[_Reader] = []
        self._closed = False

    def look(self, work: Callable[[Tables], T]) -> T:
        if self._closed:
            raise closed(self._path)
        reader = self._ready(monotonic() + self._patience)
        try:
            return work(cast("Tables", ReadOnly(reader.tables)))
        except sqlite3.Error as error:
            if is_fault(error):
                raise fault_of(error, self._path) from error
            raise
        finally:
            self._give_back(reader)

    def _ready(self, deadline: float) -> _Reader:
        try:
            file = stamp(self._path).file
            reader = self._take(file) or self._connect(file, deadline)
        except (sqlite3.Error, OSError) as error:
            raise fault_of(error, self._path) from error
        try:
            patiently(reader.begin, deadline)
        except sqlite3.Error as error:
            reader.close()
            raise fault_of(error, self._path) from error
        return reader

    def _take(self, file: tuple[int, int]) -> _Reader | None:
        """An idle one, unless it reads a file that is no longer there."""
        while self._idle:
            reader = self._idle.pop()
            if reader.file == file:
                return reader
            reader.close()
        return None

    def _connect(self, file: tuple[int, int], deadline: float) -> _Reader:
        connection = connect_reader(self._path, deadline, self._origin if self._alone else None)
        tables = SqliteTables(connection, self._clock, self._runs, self._private, self._origin.since, alone=self._alone)
        tables.belong_to(self._origin.folder)
        return _Reader(connection, tables, file)

    def _give_back(self, reader: _Reader) -> None:
        roll_back(reader.connection)
        self._idle.append(reader)
        if self._closed:
            self.close()

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()


# ── chores ──
# What the store does by itself, inside its own transactions: it completes the records of calls whose process died,
# keeps monotonic times right when the machine starts anew and its clock begins at zero, empties questions whose time is
# over, and forgets old starts.

EVERY = 5 * SECOND
_BOOT = "/proc/sys/kernel/random/boot_id"
_DRIFT = SECOND
"""How far the two clocks may go apart before they are written down again."""
_REFRESH = 60 * SECOND


def tidy(tables: SqliteTables, clock: Clock) -> None:
    """At the start of a transaction, every few seconds."""
    tables.sweep_private()
    end_interrupted(tables, tables.left_behind())
    keep_clocks(tables, clock)
    sweep(tables, clock.now())
    tables.purge(clock.now())


def keep_records(tables: SqliteTables, clock: Clock, days: int) -> None:
    """Every hour, and again at once while there is more: what is too old goes, some of it in each transaction."""
    wall = clock.wall()
    if (tables.meta("kept") or "") > wall[:13]:
        return
    from rightcall.record.verify import retain  # late: once in an hour

    if retain(tables, days, clock.now()):
        tables.put_meta("kept", _next_hour(wall))


def _next_hour(wall: str) -> str:
    return (datetime.fromisoformat(wall) + timedelta(hours=1)).strftime("%Y-%m-%d %H")


def keep_clocks(tables: SqliteTables, clock: Clock) -> None:
    """Write down which boot the stored times belong to, and what both clocks say; move them when it is another."""
    boot, now, wall = boot_id(), clock.now(), _nanoseconds(clock.wall())
    known, then, wall_then = tables.meta("boot"), tables.meta("monotonic"), tables.meta("wall")
    if None not in (known, then, wall_then):
        rebooted = boot != known if boot and known else max(then, tables.latest()) > now
        if rebooted:
            _shift(tables, now, then, wall - wall_then)
        elif now - then < _REFRESH and abs((wall - wall_then) - (now - then)) < _DRIFT:
            return
    tables.put_meta("boot", boot)
    tables.put_meta("monotonic", now)
    tables.put_meta("wall", wall)


def _shift(tables: SqliteTables, now: int, then: int, passed: int) -> None:
    """`passed` is what the wall's clock says. Where it went back nobody knows how long the machine was off: then no
    time has passed for what is counted, and all of it for what was allowed for a time."""
    by, until = now - then - max(passed, 0), now if passed < 0 else None
    tables.shift(by, now, until)
    data = {"by": by, "now": now} | ({} if until is None else {"until": until})
    # for whoever decides again later: the times of records before this one are of another clock
    tables.append("store", 0, encode(NoteBody("restarted", data=data)))


def boot_id() -> str:
    """Changes whenever the machine starts; empty where the system does not tell."""
    try:
        with open(_BOOT, "rb") as file:
            return file.read().decode("ascii").strip()
    except OSError:
        return ""


def _nanoseconds(wall: str) -> int:
    return round(datetime.fromisoformat(wall).replace(tzinfo=UTC).timestamp() * 1000) * 1_000_000


# ── the session ──
# The one connection of a store that writes. It mends itself: after a fault, or when somebody else has touched the
# file, the next transaction opens the database anew, and goes on only if it is still the same one.

_ANY_NUMBER = 2**30


def _nobody(_head: int) -> None:
    """Nobody wants to know."""


class Session:
    """begin ─▶ works on `tables` ─▶ commit; or, when anything is wrong, `give_up`."""

    def __init__(
        self, path: str, clock: Clock, runs: Runs, private: PrivateTexts, identity: Identity, origin: "Origin"
    ) -> None:
        self._path = path
        self._clock = clock
        self._runs = runs
        self._private = private
        self._identity = identity
        self._origin = origin
        self._open: tuple[sqlite3.Connection, SqliteTables] | None = None
        self._stamp: Stamp | None = None
        """Of the file as our last transaction left it; None when the connection is not to be trusted."""
        self._others = -1
        """Changes whenever another connection has written."""
        self._tidied: int | None = None
        self._tidied_before: int | None = None
        """The same when the present transaction began."""
        self._last = 0, b""
        """The last record that is known to stand there."""
        self._file: tuple[int, int] | None = None
        """Which file it is; None before it was opened for the first time."""
        self.wrote: Callable[[int], None] = _nobody
        """Is told the last record after each commit."""
        self.most_pages: int | None = None
        """As if the disk were full beyond so many pages."""
        self._most_told: int | None = None
        """What the connection knows of that."""
        self.keep = 0
        """Days after which records go; 0: never."""

    def begin(self, deadline: float) -> SqliteTables:
        """A transaction that writes: until it ends, no other process has one."""
        found = stamp(self._path)
        if self._open is None or found != self._stamp:
            self._reopen(found, deadline)
        assert self._open is not None
        connection, tables = self._open
        BELL.hear()
        patiently(lambda: self._lock(connection), deadline, BELL.wait)
        self._notice_others(connection, tables)
        now = self._clock.now()
        self._tidied_before = self._tidied
        if self._tidied is None or now - self._tidied >= EVERY:
            self._identity.keep_head(tables.head())
            tidy(tables, self._clock)
            if self.keep:
                keep_records(tables, self._clock, self.keep)
            self._tidied = now
        return tables

    def begin_again(self, deadline: float) -> SqliteTables:
        """The same after a work failed before which nothing was done: nothing of it happens."""
        assert self._open is not None
        connection, tables = self._open
        roll_back(connection)
        BELL.ring()
        tables.start_over()
        self._tidied = self._tidied_before
        return self.begin(deadline)

    def _lock(self, connection: sqlite3.Connection) -> None:
        most = self.most_pages or _ANY_NUMBER
        if most != self._most_told:
            connection.execute(f"PRAGMA max_page_count = {most}")
            self._most_told = most
        connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """When it returns, everything is on disk."""
        assert self._open is not None
        connection, tables = self._open
        last = tables.head()
        tables.write_all()
        connection.execute("COMMIT")
        BELL.ring()
        found = stamp(self._path)
        if found.file != self._file:
            raise gone(self._path)  # what was written went with it
        self._stamp, self._last = found, last
        tables.forget_private()
        if tables.frees:
            tables.frees = False
            give_back(connection)
        if tables.withdraws:
            tables.withdraws = False
            self._origin.keep_head(last)
        self.wrote(last[0])

    def give_up(self) -> None:
        """Nothing of this transaction happens. The next one begins with a new connection."""
        self._stamp = self._tidied = None
        if self._open is not None:
            roll_back(self._open[0])
        BELL.ring()

    def _reopen(self, found: Stamp, deadline: float) -> None:
        """The old connection is closed last: should the new one be no good, it keeps what is in the log beside the
        file from being written into a file that is damaged."""
        connection = connect(self._path, deadline, self._origin, new=self._file is None)
        tables = SqliteTables(connection, self._clock, self._runs, self._private, self._origin.since)
        tables.belong_to(self._origin.folder)
        try:
            if self._file not in (None, found.file):
                examine(connection, self._path, deadline)
            after = stamp(self._path)
            if after.file != found.file:
                raise gone(self._path)
        except BaseException:
            connection.close()
            raise
        if self._open is not None:
            self._open[1].close()
            self._open[0].close()
        connection.execute(NOT_BUSY)
        self._open, self._stamp, self._file = (connection, tables), after, after.file
        self._others, self._tidied, self._most_told = -1, None, None

    def _notice_others(self, connection: sqlite3.Connection, tables: SqliteTables) -> None:
        (others,) = connection.execute("PRAGMA data_version").fetchone()
        if self._identity.key_was_touched():
            self._others = -1
        if others != self._others:
            # Somebody may have put back a copy, or removed records: our last one must be there, or have been pruned.
            seq, last_hash = self._last
            try:
                found, said, version = tables.catch_up(seq)
            except sqlite3.OperationalError:  # the tables are gone
                if version_of(connection, self._path) == VERSION:
                    raise
                raise empty(self._path) from None
            if version != VERSION:
                version_of(connection, self._path)
                raise empty(self._path)
            if seq and (tables.pruned()[0] < seq if found is None else found != last_hash):
                raise replaced(self._path, seq)
            moved = self._moved(said)
            if self._others < 0 or moved:
                self._identity.recognise(tables, self._origin.foreign or moved or self._rolled_back(tables))
                if moved:  # on purpose: it is adopted
                    tables.put_meta("moved", "")
            self._others = others

    def _moved(self, said: str) -> str:
        """Where it was moved to: whoever goes on writing here would be missing there."""
        if not said:
            return ""
        moved = json.decode(said)
        problem = f"it was moved to {moved['to']} on {moved['at'][:16]} UTC, and is kept as it was then"
        self._identity.refuse_moved(problem)
        return problem

    def _rolled_back(self, tables: SqliteTables) -> str:
        """Why a copy is older than what this user knows of it, also where all beside it was put back too."""
        known = self._origin.kept_head()
        problem = "" if known is None else older(tables, known)
        if problem:
            tables.withdraws = True  # whoever adopts it begins to count from here
        return problem

    def close(self) -> None:
        if self._open is not None:
            connection, tables = self._open
            tables.close()
            with suppress(sqlite3.Error):
                if self._stamp is not None:
                    self._identity.keep_last_head(self._last)
                    connection.execute(BUSY)
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.close()
            self._open = None


# ── the writer ──
# The thread that writes. Many works share one commit: it takes all that wait, does each inside a savepoint of its own,
# commits once, and wakes all who waited.
#
#     transact, atransact ─▶ queue ─▶ begin · work · work · work · commit ─▶ wake
#
# Where nobody is at it and nobody waits, a thread writes by itself: to wake another one, and to be woken by it, costs
# more than most works. The main thread does not, where a signal could come in between.

_MOST = 512
"""Works that share one commit."""
_CLOSING_SECONDS = 1.0
"""How long closing waits for a lock."""


_GATHER = 0.02
"""Seconds that what was left for later waits for somebody to share a commit with."""
_NUDGE = Job(lambda _: None)
"""Wakes the thread, and is no work."""


class Writer:
    """Owns the session: nobody else touches it."""

    def __init__(self, path: str, session: Session, busy_seconds: float) -> None:
        self._path = path
        self._session = session
        self._patience = busy_seconds
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._later: deque[Job] = deque()
        self._door = threading.Lock()
        self._turn = threading.Lock()
        """Whoever has it owns the session,"""
        self._owner = 0
        """which is the thread of this number."""
        self._wants = False
        """Whether the thread waits for it, with what it has taken from the queue."""
        self._idle = False
        """Whether the thread sleeps until it is woken."""
        self._locked = -inf
        """When somebody has last waited in vain for another process."""
        self._closed = False
        self._last = False
        self._thread = threading.Thread(target=self._write, name=f"rightcall {os.path.basename(path)}", daemon=True)
        self._thread.start()

    def do(self, job: Job) -> bool:
        """Do it here and now; False where it has to wait for others."""
        thread = threading.current_thread()
        if thread is threading.main_thread() or self._wants or not self._queue.empty():
            return False
        if not self._turn.acquire(blocking=False):
            return False
        try:
            if self._closed:
                raise closed(self._path)
            self._owner = thread.ident or 0
            self._serve([job])
        finally:
            self._owner = 0
            self._turn.release()
        return True

    def put(self, job: Job) -> None:
        if threading.get_ident() == self._owner:
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
            if self._idle:  # else it looks by itself before it sleeps
                self._idle = False
                self._queue.put(_NUDGE)

    def close(self, timeout: float | None = None) -> None:
        """Finish what waits, then end."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        # it may be the one that finds that nobody holds the store
        if threading.current_thread() is not self._thread and threading.get_ident() != self._owner:
            self._thread.join(timeout)

    def _write(self) -> None:
        while not self._last:
            batch = self._take()
            if batch or self._later:
                self._wants = True
                with self._turn:
                    self._wants, self._owner = False, threading.get_ident()
                    self._serve(batch)
                    self._owner = 0
                wake(batch)
        with self._turn:
            self._session.close()

    def _take(self) -> list[Job]:
        """All that waits; the first is waited for."""
        batch: list[Job] = []
        job = self._next()
        while job is not None:
            if job is not _NUDGE:
                batch.append(job)
            if len(batch) >= _MOST or self._queue.empty():
                return batch
            job = self._queue.get_nowait()
        self._last = True
        return batch

    def _next(self) -> Job | None:
        """The first that comes. Nobody waits for what was left for later: it shares the commit of whoever comes next,
        if somebody comes soon."""
        wait = _GATHER
        # first without a time limit: `rightcall.record.postgres.writer` says why
        job = _NUDGE if self._queue.empty() else self._queue.get_nowait()
        while job is _NUDGE:
            try:
                job = self._queue.get(timeout=wait)
                wait = _GATHER
                continue
            except Empty:
                pass
            self._idle = True  # before the look: what is left from now on wakes the thread
            since = min((one.since for one in tuple(self._later)), default=inf)
            if since == inf:
                job = self._queue.get()
            elif (wait := since + _GATHER - monotonic()) <= 0:
                self._idle = False
                break
            self._idle = False
        return job

    def _serve(self, batch: list[Job]) -> None:
        later = tuple(self._later)
        patience = min(self._patience, _CLOSING_SECONDS) if self._last else self._patience
        if batch and batch[0].since <= self._locked:
            patience = 0.0  # it has waited for the same lock, with those before it
        jobs = (*later, *batch)
        try:
            deadline = monotonic() + patience
            tables = self._session.begin(deadline)
            jobs = (*jobs, *self._came_meanwhile(batch))
            for job in jobs:
                tables.begin_work(is_first=job is jobs[0])
                if not _perform(job, tables) and not tables.take_back():
                    tables = self._session.begin_again(deadline)
                tables.end_work(is_last=job is jobs[-1])
            self._session.commit()
        except Exception as error:  # noqa: BLE001  whatever it is, nobody may wait for ever
            self._session.give_up()
            for job in later:
                job.since = inf  # tried again with whoever comes next, and not all the time
            self._refuse(batch, fault_of(error, self._path))
        else:
            for job in later:
                self._later.popleft()
                if job.error is not None:
                    report(job.error)

    def _came_meanwhile(self, batch: list[Job]) -> list[Job]:
        """What came while another process had the database shares the transaction."""
        if threading.current_thread() is not self._thread or not batch:
            return []
        start = len(batch)
        while not self._queue.empty() and len(batch) < _MOST and not self._last:
            job = self._queue.get_nowait()
            if job is None:
                self._last = True
            elif job is not _NUDGE:
                batch.append(job)
        return batch[start:]

    def _refuse(self, batch: list[Job], fault: StoreError) -> None:
        if fault.fault == "locked":
            self._locked = monotonic()
        for job in batch:
            job.value, job.error = None, job.error or fault_of(fault, self._path)


def _perform(job: Job, tables: SqliteTables) -> bool:
    """Whether what it did is to stay."""
    if job.future is not None and job.future.cancelled():
        return True
    job.error = None
    try:
        job.value = job.work(tables)
    except BaseException as error:  # it belongs to whoever waits, whatever it is
        if is_fault(error):
            raise
        job.error = error
        return False
    return True


_COMPACT_SECONDS = 10.0
_EXIT_SECONDS = 2.0
"""How long the end of the program may be held up by a store that nobody closed."""


class SqliteStore:
    """A `Store`. Opening makes the file where there is none, and raises StoreError when it cannot be used."""

    is_remote = False

    def __init__(
        self, path: str | os.PathLike[str], clock: Clock | None = None, *, busy_seconds: float = 3.0,
        adopting: tuple[str, str] | None = None, found: bool | str = False, keep: int = 0,
    ) -> None:  # fmt: skip
        """`adopting` (who, and why): take the file for the audit that was there, also where it is not. `found`: nobody
        named it, it lay in a folder that somebody else may have filled; that folder, where it is known: a pause holds
        for the folder as well, whichever store its policy names by then. `keep`: days after which records go, or 0."""
        self.clock = clock or SystemClock()
        self.path = os.path.realpath(path)  # what lies beside it is the same by whatever name it is opened
        if self.path != os.path.abspath(path):
            refuse_link(path, self.path, adopting=adopting is not None)
        self._forked = False
        self._runs = Runs(f"{self.path}-runs")
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
        self._session.keep = keep
        keeper = Keeper(self._readers.look, sqlite3.Error)
        self._session.wrote = keeper.wrote
        self._writer = Writer(self.path, self._session, busy_seconds)
        self._parts = self._writer, self._readers, self._runs, keeper
        self._end = finalize(self, _end, self._parts, _EXIT_SECONDS)
        _STORES.add(self)
        try:
            self.transact(_nothing)
        except BaseException as error:
            self.close()
            self._runs.undo()
            if isinstance(error, OSError):
                raise fault_of(error, self.path) from error
            raise

    def transact(self, work: Callable[[Tables], T]) -> T:
        if self._forked:
            raise forked(self.path)
        job = Job(work)
        if not self._writer.do(job):
            job.done = done = threading.Lock()
            done.acquire()
            self._put(job)
            done.acquire()
        return job.outcome()

    async def atransact(self, work: Callable[[Tables], T]) -> T:
        import asyncio  # late: who has no event loop does not pay for one

        future = asyncio.get_running_loop().create_future()
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

    async def next_answer(self, id: str, seconds: float) -> None:
        del id
        await pause_between_looks(seconds)

    def key(self) -> bytes:
        return self._identity.key

    def compact(self) -> None:
        """Give back the space of what was removed, and leave nothing of it in the file or its log. Raises StoreError
        while somebody else writes for longer than a moment."""
        with closing(sqlite3.connect(self.path, isolation_level=None, timeout=_COMPACT_SECONDS)) as connection:
            compact(self.path, connection)

    def limit_pages(self, most: int | None) -> None:
        """From the next transaction on, as if the disk had room for so many pages only: to try what happens then."""
        self._session.most_pages = most

    def close(self) -> None:
        """Finishes what waits. Also happens by itself when the program ends, though not for long."""
        if self._end.detach() is not None:
            _end(self._parts)

    def leave(self) -> None:
        """In a forked child: connections, threads and locks are the parent's, and stay as they are."""
        self._forked = True
        self._end.detach()
        self._runs.leave()


def _nothing(_tables: Tables) -> None:
    """Opening is a transaction like any other: what it finds wrong is said in the same words."""


def _end(parts: tuple[Writer, Readers, Runs, Keeper], timeout: float | None = None) -> None:
    writer, readers, runs, keeper = parts
    keeper.stop()
    readers.close()
    writer.close(timeout)
    runs.stop()


_STORES: WeakSet[SqliteStore] = WeakSet()


def _leave_all() -> None:
    for store in _STORES:
        store.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)
