"""The thread of a node that writes, on the one connection that does.

    transact, atransact ─▶ queue ─▶ all that wait: those that said what they need in one batch, the others alone ─▶ wake

A transaction whose COMMIT was not answered is looked up before anybody is told what came of it. Where that cannot be
done in time, the works are refused as doubtful, so that nothing runs, and what stands all the same is ended later.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import closing, nullcontext, suppress
from itertools import groupby
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, cast

from rightcall import LateLog
from rightcall.errors import StoreError
from rightcall.policy.types import HOUR, SECOND, Decision
from rightcall.record.admission import Admission, end_interrupted, finish_once, sweep
from rightcall.record.jobs import Job, Work, wake
from rightcall.record.postgres.batch import BatchTables, Unplanned, lock_and_look, wants_of
from rightcall.record.postgres.connection import (
    CHANNEL,
    Address,
    closed,
    connect,
    fault_of,
    is_denied,
    is_locked,
    is_lost,
    is_read_only,
    is_retried,
    load_driver,
    unusable,
)
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
from rightcall.record.postgres.schema import TIME, make_days, prepare
from rightcall.record.postgres.tables import PostgresTables, pipelined
from rightcall.record.tables import Clock, EndBody, Needs, NoteBody, Planned, Tables, encode, report
from rightcall.record.verify import retain, told_heads

if TYPE_CHECKING:
    import psycopg

log = LateLog()

_MOST = 256
"""Works of one batch."""
_GATHER = 0.004
_IDLE_SECONDS = 1.0
"""How long a node that has nothing to write waits until it looks after the others."""
_TRIES = 8
"""How often a transaction is tried again that others were in the way of."""
_LOGGED_AGAIN = 60.0
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
        self._lapsed: Chain | None = None
        """The one before, whose lease was over."""
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
        self._fault: StoreError | None = None
        """What was wrong with the works at hand."""
        self._logged: dict[str, float] = {}
        """Faults of the server that nobody waits for, each with when it was logged."""
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

    def answered(self) -> None:
        """Nothing follows: whoever waits for the server still does, and for so long it is asked again."""

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
        if self._fault is not None and not batch:
            self._log_fault(self._fault)
        self._fault = None

    def _look_after(self, job: ServerJob) -> None:
        """Nobody waits for it: a fault of the server is tried again, anything else is logged."""
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
            except Exception as error:  # whatever it is, nobody may wait for ever
                self._give_up_transaction(reconnect=is_read_only(error))
                if attempt < _TRIES - 1 and (is_retried(error) or (is_locked(error) and self._end_hung())):
                    continue
                if way == self._together and isinstance(error, (self._errors.DataError, self._errors.IntegrityError)):
                    for job in jobs:  # one of them cannot be written; which one shows alone
                        self._do(self._alone, [job])
                    return
                if not isinstance(error, (self._errors.Error, StoreError)):
                    log.error("a transaction failed by a fault of RightCall itself", exc_info=error)
                for job in jobs:
                    job.value, job.error = None, job.error or fault_of(error, self._address)
                self._fault = fault_of(error, self._address)
            return

    def _log_fault(self, error: StoreError) -> None:
        """What nobody is told, once a minute. Who holds a lock is done in a moment."""
        now = monotonic()
        if error.fault != "locked" and now >= self._logged.get(error.fault, -inf) + _LOGGED_AGAIN:
            self._logged[error.fault] = now
            log.warning("rightcall: %s", error.reason)

    def _end_hung(self) -> bool:
        """Whether a node was in the way that hangs inside a transaction: its session is ended, as its calls are. The
        server's own timeout does not fire behind a pipeline, whose last message is no question."""
        if self._connection is None:
            return False
        with suppress(Exception):
            found = self._connection.execute(_END_HUNG, (_HUNG_SECONDS,)).fetchall()
            for (pid,) in found:
                log.warning("rightcall: a node hung in a transaction; its session %s on the server was ended", pid)
            return bool(found)
        return False

    def _give_up_transaction(self, *, reconnect: bool = False) -> None:
        """`reconnect`: what a session may do is settled when it begins."""
        connection, self.asked = self._connection, None
        if connection is None:
            return
        with suppress(Exception):
            if not connection.closed and not connection.broken and not reconnect:
                connection.rollback()  # also forgets prepared statements: an aborted pipeline did not make all of them
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
                self.server = [(connection.info.hostaddr or connection.info.host, connection.info.port)]
                if self._chain is None:
                    prepare(connection, self._address)
            except BaseException:
                connection.close()
                raise
            connection.add_notice_handler(self._noticed)
            self._connection = connection
            if self._chain is not None:
                self._chain.drop_numbers()  # a server that crashed may give them again
                self._chores.spare_others()
        if self._chain is None:
            self._chain = join(self._connection, self._label, self._lapsed)
            if self._lapsed is not None:
                self._lapsed = None
                self._chores.spare_others()
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
            self._chain, self._lapsed, self._confirmed = None, chain, (0, b"")
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
            with pipelined(connection):
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


# ── chores ──
# What a node does by itself: it ends the calls of nodes that are gone, empties questions whose time is over, forgets
# old starts, prepares the days to come, and ties the chains of all nodes together.
#
# An anchor is a record in one chain that holds the heads of all others: whoever rewrites or cuts one of them has to do
# so with every chain that has an anchor of it.

EVERY = 3 * SECOND // 4
"""How often a node looks whether all others live: a call ends within two seconds after the lease of its node."""
_ALL_EVERY = 5 * SECOND
"""How often it looks for everything that is over, which costs more the more calls are under way."""
ANCHOR_SECONDS = 60.0
ANCHOR_RECORDS = 1_000
"""After so much time or so many records, whichever is first, the heads of the other chains are written down."""
_AHEAD = 2
"""Days whose partitions are made: this one, and the next."""
_PURGE = 5_000
_ENDED = 1_000
"""Calls of dead nodes that are ended in one transaction, while the other nodes wait; the next ones follow."""
_RETURN_SECONDS = 5.0
"""How long a node that was away itself waits for the others to come back before it takes them for dead: the server may
have been away for all of them."""
_LEFT = EndBody("interrupted", error="Its process ended, or could not record the end of the call.")
_DOUBTED = EndBody("interrupted", error="The database did not answer in time, so the call did not run.")
_DROP_SECONDS = 30.0
_OLD = (
    "DELETE FROM windows WHERE (scope, n) IN"
    f" (SELECT scope, n FROM windows WHERE at <= %s ORDER BY at LIMIT {_PURGE} FOR UPDATE SKIP LOCKED)"
)
_UNFINISHED = (
    "SELECT EXISTS (SELECT 1 FROM running LEFT JOIN nodes ON nodes.id = running.node AND nodes.epoch = running.epoch"
    " WHERE (running.node IS NOT NULL AND (nodes.id IS NULL OR nodes.until < clock_timestamp()))"
    " OR (running.node IS NULL AND running.at < to_char(%s::timestamp - interval '1 day', 'YYYY-MM-DD HH24:MI:SS.MS')))"
    " OR EXISTS (SELECT 1 FROM approvals WHERE status IN ('waiting', 'approved') AND expires_at <= %s)"
    " OR EXISTS (SELECT 1 FROM grants WHERE expires_at <= %s)"
)
_HUNG_SECONDS = LEASE_SECONDS
_END_HUNG = b"""
    WITH hung AS MATERIALIZED (
        SELECT pid FROM pg_stat_activity AS node
        WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
          AND state <> 'idle' AND wait_event = 'ClientRead'
          AND state_change < clock_timestamp() - make_interval(secs => %s)
          AND EXISTS (SELECT FROM pg_locks AS held WHERE held.pid = node.pid AND granted AND relation IS NOT NULL
                      AND mode <> 'AccessShareLock')
    )
    SELECT pid FROM hung WHERE pg_terminate_backend(pid)
"""
"""Sessions of this role that write, and for which the server has waited longer than a lease; inside a pipeline they
count as active."""
_LEASES = "SELECT id, epoch FROM nodes WHERE until > clock_timestamp()"
_OTHERS = "SELECT id, seq, hash FROM nodes WHERE id <> %s AND seq > 0 ORDER BY id"


class Chores:
    """Of one node."""

    def __init__(self, clock: Clock, keep: int = 0) -> None:
        """`keep`: days after which records go; 0: never."""
        self._clock = clock
        self._keep = keep
        self._kept: int | None = None
        """When this node last saw to it."""
        self._done: int | None = None
        self._looked: int | None = None
        """When it last looked for everything that is over,"""
        self._is_left = False
        """and whether there was anything."""
        self._spared = 0.0
        """Until when no node is taken for dead."""
        self._leases: set[Any] = set()
        """Of all nodes that lived when it last looked."""
        self._days: set[str] = set()
        self._anchored = monotonic()
        self._anchored_at = 0
        self._heads: list[Any] = []
        """Of the other chains, as the last anchor has them."""

    def due(self, connection: "psycopg.Connection[Any]", chain: Chain) -> list[Callable[[Tables], object]]:
        """Before each batch: does what needs no transaction of its own, and returns works for what does."""
        now, wall = self._clock.now(), self._clock.wall()
        if wall[:10] not in self._days:
            connection.execute("DELETE FROM spent WHERE day < %s", (wall[:10],))
            self._days.update(make_days(connection, wall[:10], _AHEAD))
        if self._done is not None and 0 <= now - self._done < EVERY:
            return []
        again, self._done = self._done is None, now
        works: list[Callable[[Tables], object]] = []
        if self._is_one_gone(connection) or again or self._is_left or not 0 <= now - (self._looked or 0) < _ALL_EVERY:
            self._looked = now
            connection.execute(_OLD.encode(), (now - HOUR,))
            found = connection.execute(_UNFINISHED, (wall, now, now)).fetchone()
            self._is_left = found is not None and found[0]
            if self._is_left and monotonic() >= self._spared:
                works.append(tidy)
        if self._keep and (self._kept is None or now - self._kept >= HOUR):
            self._kept = now
            works.append(lambda tables: retain(tables, self._keep, now))
        if self._is_anchor_due(chain):
            heads = connection.execute(_OTHERS, (chain.node,)).fetchall()
            if heads != self._heads:
                self._heads = heads
                works.append(Planned(lambda tables: write_anchor(tables, heads), Needs))  # goes with the batch
            self._anchored, self._anchored_at = monotonic(), chain.seq
        return works

    def spare_others(self) -> None:
        self._spared = monotonic() + _RETURN_SECONDS

    def _is_one_gone(self, connection: "psycopg.Connection[Any]") -> bool:
        """Whether a node that lived has died or left since."""
        before, self._leases = self._leases, set(connection.execute(_LEASES).fetchall())
        return not before <= self._leases

    def _is_anchor_due(self, chain: Chain) -> bool:
        late = monotonic() - self._anchored >= ANCHOR_SECONDS
        return late or chain.seq - self._anchored_at >= ANCHOR_RECORDS


def write_anchor(tables: Tables, heads: list[Any]) -> None:
    data = {"heads": told_heads({node: (seq, own) for node, seq, own in heads})}
    tables.append("store", 0, encode(NoteBody("anchor", data=data)))


def drop_tables(address: Address, names: list[str]) -> None:
    """On a connection of its own, beside the node's work. What cannot be dropped now goes with the next day."""
    with suppress(Exception), closing(connect(address, lock_seconds=_DROP_SECONDS)) as connection:
        for name in names:
            connection.execute(f"DROP TABLE IF EXISTS {name}".encode())


def tidy(tables: Tables) -> None:
    """Alone: calls of dead nodes get their end, and are never run again (A-01); what is over is emptied."""
    assert isinstance(tables, PostgresTables)
    left = tables.left_behind()[:_ENDED]
    if left:
        with tables.ending(left):
            end_interrupted(tables, left, _LEFT)
    sweep(tables, tables.now())


def end_doubted(calls: list[tuple[int, bytes]]) -> Callable[[Tables], object]:
    """Calls that nobody ran because nobody knew whether they had begun: those that had are ended."""

    def work(tables: Tables) -> None:
        assert isinstance(tables, PostgresTables)
        with tables.ending([call for call, _ in calls]):
            for call, own in calls:
                finish_once(tables, Admission(Decision("deny", "store:doubt"), call, hash=own), _DOUBTED)

    return work
