"""The thread of a node that writes, on the one connection that does.

    transact, atransact ─▶ queue ─▶ all that wait: those that said what they need in one batch, the others alone ─▶ wake

A transaction whose COMMIT was not answered is looked up before anybody is told what came of it. Where that cannot be
done in time, the works are refused as doubtful, so that nothing runs, and what stands all the same is ended later.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from itertools import groupby
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, cast

from rightcall.record.jobs import Job, Work, wake
from rightcall.record.postgres.batch import BatchTables, Unplanned, lock_and_look, wants_of
from rightcall.record.postgres.chores import Chores, drop_tables, end_doubted
from rightcall.record.postgres.connection import (
    Address,
    closed,
    connect,
    fault_of,
    is_denied,
    is_lost,
    is_retried,
    load_driver,
    unusable,
)
from rightcall.record.postgres.listener import CHANNEL
from rightcall.record.postgres.node import (
    BEAT_SECONDS,
    LEASE_SECONDS,
    LOCK_ALL,
    LOCK_JOINING,
    LOCK_OWN,
    MOVE,
    Chain,
    DatabaseClock,
    fenced,
    join,
    leave,
)
from rightcall.record.postgres.schema import TIME, prepare
from rightcall.record.postgres.tables import PostgresTables
from rightcall.record.tables import Clock, Planned, report

if TYPE_CHECKING:
    import psycopg

_MOST = 256
"""Works of one batch."""
_GATHER = 0.004
_IDLE_SECONDS = 1.0
"""How long a node that has nothing to write waits until it looks after the others."""
_TRIES = 8
"""How often a transaction is tried again that others were in the way of."""
_UNREPLICATED = "01000"
"""The notice of a COMMIT that no longer waits for the standby: it stands here, and may not stand there."""


class ServerJob(Job):
    __slots__ = ("abandoned", "begun")

    def __init__(self, work: Work, **who: Any) -> None:
        super().__init__(work, **who)
        self.abandoned = False
        """Whoever waited was told that it did not happen."""
        self.begun: list[tuple[int, bytes]] = []
        """The calls that began with it."""


class Writer:
    """Owns the connection: nobody else touches it."""

    def __init__(self, address: Address, clock: Clock, busy_seconds: float, label: str, keep: int = 0) -> None:
        self._address = address
        self._clock = clock
        self._patience = busy_seconds
        self._label = label
        self._errors: Any = load_driver()
        self._connection: psycopg.Connection[Any] | None = None
        self._chain: Chain | None = None
        self._confirmed = 0, b""
        """The last record that is known to stand."""
        self._unreplicated = False
        self._doubted: list[tuple[int, bytes]] = []
        self._chores = Chores(clock, keep)
        self._queue: SimpleQueue[ServerJob | None] = SimpleQueue()
        self._later: deque[ServerJob] = deque()
        self._door = threading.Lock()
        self._under_way: list[ServerJob] = []
        self.asked: float | None = None
        """Since when the server is being waited for."""
        self.server: list[tuple[str, int]] = []
        """The one that is connected to, of those that the address names."""
        self.busy = threading.Event()
        self.wrote: Callable[[int], object] = lambda _: None
        """Is told the number of the last record after each batch."""
        self._moved = 0.0
        """When this node's lease was last extended."""
        self._gather = 0.0
        """Seconds that a batch waits for more works, where many come at once."""
        self._closed = False
        self._last = False
        self._dropping: threading.Thread | None = None
        self._thread = threading.Thread(target=self._write, name="rightcall postgres", daemon=True)
        self._thread.start()

    # What the store calls

    def put(self, job: ServerJob) -> None:
        if threading.current_thread() is self._thread:
            raise RuntimeError("a work cannot begin another transaction: it is already inside one")
        with self._door:
            if self._closed:
                raise closed(self._address)
            self._queue.put(job)

    def later(self, work: Work) -> None:
        with self._door:
            if self._closed:
                raise closed(self._address)
            self._later.append(ServerJob(work))
            self._queue.put(_NUDGE)

    def close(self, timeout: float | None = None) -> None:
        with self._door:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)

    def give_up(self, error: Callable[[], Exception]) -> None:
        """The server is gone: whoever waits is told now. What happened all the same is ended once it is back."""
        with self._door:
            waiting = [job for job in self._under_way if not job.abandoned]
            with suppress(Empty):
                while (job := self._queue.get_nowait()) is not None:
                    if job is not _NUDGE:
                        waiting.append(job)
                self._queue.put(None)
            for job in waiting:
                job.abandoned, job.error = True, error()
        wake(waiting)

    # The thread

    def _write(self) -> None:
        while not self._last:
            batch = self._take()
            with self._door:
                self._under_way = batch
            self.busy.set()
            began = monotonic()
            try:
                self._serve(batch)
            finally:
                self.busy.clear()
                self.asked = None
            self._gather = min(_GATHER, (monotonic() - began) / 16) if len(batch) > 1 else 0.0
            with self._door:
                self._under_way = []
                done = [job for job in batch if not job.abandoned]
                self._doubted += [begun for job in batch if job.abandoned for begun in job.begun]
            wake(done)
            self.wrote(self._confirmed[0])
        self._leave()
        if self._dropping is not None:
            self._dropping.join()

    def _take(self) -> list[ServerJob]:
        """All that waits; the first is waited for, for a while."""
        batch: list[ServerJob] = []
        with suppress(Empty):
            job = self._first()
            if self._gather:  # those who were woken together come together: a moment makes one batch of them
                sleep(self._gather)
            while job is not None:
                if job is not _NUDGE:
                    batch.append(job)
                if len(batch) >= _MOST:
                    return batch
                job = self._queue.get_nowait()
            self._last = True
        return batch

    def _first(self) -> ServerJob | None:
        """The first that comes. Raises Empty. Python's `get` with a time limit waits for ever where its lock was left
        free by earlier gets and the time is over by then; a get that finds nothing takes the lock first."""
        with suppress(Empty):
            return self._queue.get_nowait()
        return self._queue.get(timeout=_IDLE_SECONDS)

    def _serve(self, batch: list[ServerJob]) -> None:
        later = list(self._later)
        for _ in later:
            self._later.popleft()
        own = [*self._own_works(), *later]
        jobs = [*own, *batch]
        for planned, group in groupby(jobs, key=lambda job: isinstance(job.work, Planned)):
            some = [job for job in group if not (job.abandoned or (job.future is not None and job.future.cancelled()))]
            if some:
                self._do(self._together if planned else self._alone, some)
        if not jobs and monotonic() - self._moved >= BEAT_SECONDS:
            self._do(self._alone_beat, [])
        for job in later:
            self._look_after(job)

    def _look_after(self, job: ServerJob) -> None:
        """Nobody waits for it: a fault of the server is tried again, anything else is logged."""
        from rightcall.errors import StoreError

        if isinstance(job.error, StoreError) and not self._last:
            job.error = None
            self._later.append(job)
        elif job.error is not None:
            report(job.error)

    def _own_works(self) -> list[ServerJob]:
        """What the store does by itself before anything else."""
        works: list[Work] = []
        with suppress(Exception):  # whoever wants something next is told what is wrong
            connection, chain = self._ready()
            works += self._chores.due(connection, chain)
        if self._doubted and self._connection is not None:
            doubted, self._doubted = self._doubted, []
            works.append(end_doubted(doubted))
        return [ServerJob(work) for work in works]

    def _do(self, way: "Callable[[list[ServerJob]], None]", jobs: list[ServerJob]) -> None:
        if not jobs and way != self._alone_beat:
            return
        for attempt in range(_TRIES):
            try:
                way(jobs)
            except Exception as error:  # noqa: BLE001 - whatever it is, nobody may wait for ever
                self._give_up_transaction()
                if is_retried(error) and attempt < _TRIES - 1:
                    continue
                if way == self._together and isinstance(error, (self._errors.DataError, self._errors.IntegrityError)):
                    for job in jobs:  # one of them cannot be written; which one shows alone
                        self._do(self._alone, [job])
                    return
                for job in jobs:
                    job.value, job.error = None, job.error or fault_of(error, self._address)
            return

    def _give_up_transaction(self) -> None:
        connection, self.asked = self._connection, None
        if connection is None:
            return
        with suppress(Exception):
            if not connection.closed and not connection.broken:
                connection.execute("ROLLBACK")
                return
        with suppress(Exception):
            connection.close()
        self._connection = None

    # A transaction

    def _ready(self) -> "tuple[psycopg.Connection[Any], Chain]":
        self.asked = monotonic()
        if self._connection is None or self._connection.closed:
            self.server = []
            connection = connect(self._address, lock_seconds=self._patience)
            try:
                self.server = [(connection.info.host, connection.info.port)]
                if self._chain is None:
                    prepare(connection, self._address)
            except BaseException:
                connection.close()
                raise
            connection.add_notice_handler(self._noticed)
            self._connection = connection
        if self._chain is None:
            self._chain = join(self._connection, self._label)
        return self._connection, self._chain

    def _noticed(self, notice: Any) -> None:
        if notice.sqlstate == _UNREPLICATED:
            self._unreplicated = True

    def _together(self, jobs: list[ServerJob]) -> None:
        connection, chain = self._ready()
        wants = wants_of(cast("Planned[Any]", job.work).needs() for job in jobs)
        looked = lock_and_look(connection, chain, wants)
        missing = [scope for scope in wants.locks if scope not in looked.locked]
        if missing:
            connection.execute("ROLLBACK")
            chain.take(looked.numbers)
            put = "INSERT INTO locks SELECT * FROM unnest(%s::bytea[]) ON CONFLICT DO NOTHING"
            connection.execute(put, (missing,))
            looked = lock_and_look(connection, chain, wants)
        self._begin(connection, chain, looked.own)
        chain.take(looked.numbers)
        tables = BatchTables(connection, self._clock, chain, wants, looked)
        alone: list[ServerJob] = []
        with self._standing(looked.now, tables.latest):
            for job in jobs:
                before, begun = tables.state(), len(tables.begun_calls)
                try:
                    if not self._perform(job, tables):
                        tables.go_back(before)
                except Unplanned:
                    tables.go_back(before)
                    alone.append(job)
                job.begun = tables.hashes(tables.begun_calls[begun:])
        self._commit(connection, chain, tables.statements(), jobs)
        if alone:  # often all want the same, such as to note a tool that is new: the first does, the rest finds it done
            self._do(self._alone, alone[:1])
            self._do(self._together if len(alone) < len(jobs) or len(jobs) > 1 else self._alone, alone[1:])

    def _alone_beat(self, jobs: list[ServerJob]) -> None:
        """Nothing is to be done but to say that this node lives."""
        connection, chain = self._ready()
        connection.execute("BEGIN")
        self._begin(connection, chain, connection.execute(LOCK_OWN, (chain.node, chain.epoch)).fetchone())
        self._commit(connection, chain, [_move(chain)], jobs)

    def _alone(self, jobs: list[ServerJob]) -> None:
        """While no other node is inside a transaction: each has its row locked throughout."""
        connection, chain = self._ready()
        connection.execute("BEGIN")
        connection.execute(LOCK_JOINING)
        others = sum(alive for node, alive in connection.execute(LOCK_ALL).fetchall() if node != chain.node)
        self._begin(connection, chain, connection.execute(LOCK_OWN, (chain.node, chain.epoch)).fetchone())
        ((now,),) = connection.execute(TIME).fetchall()
        if others or not chain.left():
            chain.drop_numbers()
        tables = PostgresTables(connection, self._clock, chain)
        with self._standing(now * 1000, 0):
            for job in jobs:
                begun = len(tables.begun_calls)
                state = chain.state()
                connection.execute("SAVEPOINT work")
                if self._perform(job, tables):
                    tables.flush()
                    job.begun = tables.hashes(tables.begun_calls[begun:])
                else:
                    tables.forget_pending()
                    connection.execute("ROLLBACK TO work")
                    chain.go_back(state)
        for name in tables.answers:
            connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, name))
        self._commit(connection, chain, [_move(chain)], jobs)
        if tables.gone:
            self._dropping = threading.Thread(target=drop_tables, args=(self._address, tables.gone), daemon=True)
            self._dropping.start()

    def _begin(self, connection: "psycopg.Connection[Any]", chain: Chain, own: tuple[int, bytes] | None) -> None:
        if own[0] < self._confirmed[0] if own is not None else self._is_gone(connection):
            what = f"the last record that this node wrote (number {self._confirmed[0]}) is no longer in it"
            then = (
                "It was put back from a copy, or failed over to a standby that lagged behind: compare them, then "
                "restart what was running."
            )
            raise unusable(self._address, what, then, "replaced")
        if own is None:
            self._chain, self._confirmed = None, (0, b"")
            raise fenced(self._address, chain)
        chain.begin(*own)
        self.asked = None

    def _is_gone(self, connection: "psycopg.Connection[Any]") -> bool:
        """Whether what this node wrote last is neither there nor pruned."""
        seq, own = self._confirmed
        found = connection.execute("SELECT hash FROM audit WHERE seq = %s", (seq,)).fetchone() if seq else (own,)
        if found is not None:
            return found[0] != own
        (oldest,) = connection.execute("SELECT min(seq) FROM audit").fetchone() or (None,)
        return oldest is None or oldest <= seq

    def _standing(self, now: int, latest: int) -> Any:
        if isinstance(self._clock, DatabaseClock):
            self._clock.tell(now)
            return self._clock.standing(max(now, latest))
        return nullcontext()

    def _perform(self, job: ServerJob, tables: PostgresTables) -> bool:
        """Whether what it did is to stay."""
        job.error = None
        try:
            job.value = job.work(tables)
            tables.check()
        except Unplanned:
            raise
        except self._errors.OperationalError:
            raise
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits, whatever it is
            job.error = fault_of(error, self._address) if is_denied(error) else error
            return False
        return True

    def _commit(
        self, connection: "psycopg.Connection[Any]", chain: Chain, statements: Iterable[tuple[str, tuple[Any, ...]]],
        jobs: list[ServerJob],
    ) -> None:  # fmt: skip
        """When it returns, everything stands."""
        self.asked, self._unreplicated, sent = monotonic(), False, False
        try:
            with connection.pipeline():
                for statement, values in statements:
                    connection.execute(statement.encode(), values)
                sent = True
                connection.execute("COMMIT")
        except self._errors.Error as error:
            if not (sent and is_lost(error)):
                raise
            self._resolve(chain, jobs, error)
        if self._unreplicated:
            self._await_standby(connection, chain, jobs)
        self.asked, self._confirmed, self._moved = None, (chain.seq, chain.hash), monotonic()

    def _resolve(self, chain: Chain, jobs: list[ServerJob], error: Exception) -> None:
        """Whether a transaction stands whose end nobody heard. Returns when it does; what it began may run."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        try:
            connection, _ = self._ready()
            with connection.transaction():
                # waits until the server has ended what was under way on the old connection
                own = connection.execute("SELECT epoch FROM nodes WHERE id = %s FOR UPDATE", (chain.node,)).fetchone()
                stands = "SELECT 1 FROM audit WHERE seq = %s AND hash = %s"
                found = connection.execute(stands, (chain.seq, chain.hash)).fetchone()
        except Exception as unanswered:  # noqa: BLE001 - whatever it is, nobody knows
            self._doubt(jobs)
            raise unusable(
                self._address, f"nobody knows whether the last records were written ({unanswered})",
                "What was written all the same is recorded as interrupted once the server is back.", "doubt",
            ) from error  # fmt: skip
        if found is None or own is None or own[0] != chain.epoch:
            raise error

    def _await_standby(self, connection: "psycopg.Connection[Any]", chain: Chain, jobs: list[ServerJob]) -> None:
        """The log is sent in order: once another commit has reached the standby, so has this one."""
        self._unreplicated = False
        statement, values = _move(chain)
        connection.execute(statement.encode(), values)
        if self._unreplicated:
            self._doubt(jobs)
            raise unusable(
                self._address, "its standby did not confirm the last records",
                "It continues by itself once the standby is back.", "doubt",
            )  # fmt: skip

    def _doubt(self, jobs: list[ServerJob]) -> None:
        self._doubted += [begun for job in jobs for begun in job.begun]

    def _leave(self) -> None:
        with suppress(Exception):
            if self._connection is not None and self._chain is not None:
                leave(self._connection, self._chain)
        with suppress(Exception):
            if self._connection is not None:
                self._connection.close()


def _move(chain: Chain) -> tuple[str, tuple[Any, ...]]:
    return MOVE, (chain.seq, chain.hash, LEASE_SECONDS, chain.node, chain.epoch)


_NUDGE = ServerJob(lambda _: None)
"""Wakes the thread, and is no work."""
