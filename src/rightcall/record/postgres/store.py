"""The store on a PostgreSQL server, for any number of nodes: what callers see of it.

with closing(PostgresStore("postgresql://rightcall@db.example/rightcall")) as store:
    store.transact(lambda tables: tables.append("message", 0, b"{}"))
"""

import os
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, cast
from weakref import WeakSet, finalize

from rightcall.errors import StoreError
from rightcall.record.jobs import Keeper
from rightcall.record.notes import Kind
from rightcall.record.postgres.connection import (
    Address,
    Listener,
    closed,
    connect,
    fault_of,
    forked,
    load_driver,
    read_address,
    unusable,
)
from rightcall.record.postgres.figures import BEGIN_LOOK
from rightcall.record.postgres.node import DatabaseClock
from rightcall.record.postgres.schema import TIME, check_version, make_days, prepare
from rightcall.record.postgres.tables import PostgresTables, key_of
from rightcall.record.postgres.writer import ServerJob, Writer
from rightcall.record.tables import Clock, Needs, Planned, ReadOnly, T, Tables

if TYPE_CHECKING:
    import psycopg

    from rightcall.record.postgres.tables import PostgresTables

_READERS = 2
"""Connections that look. With the one that writes, and the one that hears of answers, a node has four."""
_PROBE_SECONDS = 0.2
"""How long a server may take to say anything at all."""
_EXIT_SECONDS = 2.0
_SILENT_SECONDS = 0.25
"""After which one asks whether the server is there at all."""
_MISSES = 2
"""How often in a row it is not, before a look ends that may have taken minutes."""


class _Reader:
    """A connection that looks; `wire` cuts it, from whatever thread."""

    def __init__(self, connection: "psycopg.Connection[Any]", tables: PostgresTables) -> None:
        self.connection = connection
        self.tables = tables
        self.wire = socket.socket(fileno=os.dup(connection.fileno()))

    def close(self) -> None:
        self.tables.close()
        with suppress(Exception):
            self.connection.close()
        self.wire.close()


class _Look:
    """One that is under way."""

    def __init__(self) -> None:
        self.waits = monotonic()
        """Since when it may have heard nothing."""
        self.reader: _Reader | None = None


class Readers:
    """Connections that only read, for `look`. A look may take minutes while the server says anything at all; where it
    does not, those that are under way end soon, and others at once, until it does."""

    def __init__(self, address: Address, clock: Clock, busy_seconds: float, silent_seconds: float) -> None:
        self._address = address
        self._clock = clock
        self._patience = busy_seconds
        self._free = threading.Semaphore(_READERS)
        self._own = threading.local()
        """The look that this thread is in."""
        self._idle: list[_Reader] = []
        self._closed = False
        self._door = threading.Lock()
        self._under_way: set[_Look] = set()
        self._gone: Callable[[], Exception] | None = None
        """What is raised while the server says nothing."""
        self.busy = threading.Event()
        self.server: list[tuple[str, int]] = []
        """The one that is connected to, of those that the address names."""
        self._watch = Watch(address, self, inf, silent_seconds, _MISSES)

    def look(self, work: Callable[[Tables], T]) -> T:
        if self._closed:
            raise closed(self._address)
        if (under_way := getattr(self._own, "tables", None)) is not None:  # a look inside a look is the same one
            return work(under_way)
        if not self._free.acquire(timeout=self._patience):
            raise unusable(self._address, "all connections for reading are in use", "Try again.", "locked")
        look = _Look()
        try:
            with self._door:
                self._under_way.add(look)
                self.busy.set()
            return self._looked(work, look)
        finally:
            with self._door:
                self._under_way.discard(look)
                if not self._under_way and self._gone is None:
                    self.busy.clear()
            self._free.release()

    def _looked(self, work: Callable[[Tables], T], look: _Look) -> T:
        errors = load_driver()
        reader = self._begun(look)
        try:
            self._own.tables = looking = cast("Tables", ReadOnly(reader.tables))
            return work(looking)
        except errors.Error as error:
            raise fault_of(error, self._address) from error
        finally:
            self._own.tables = None
            self._give_back(reader, look)

    def _begun(self, look: _Look) -> _Reader:
        errors = load_driver()
        self._expect_server()
        while self._idle:
            look.reader = reader = self._idle.pop()
            try:
                reader.connection.execute(BEGIN_LOOK)
            except errors.Error:  # the server was away meanwhile
                self._drop(reader, look)
                self._expect_server()
            else:
                return reader
        connection = connect(self._address, lock_seconds=self._patience)
        try:
            check_version(connection, self._address)
            if isinstance(self._clock, DatabaseClock):
                ((now,),) = connection.execute(TIME).fetchall()
                self._clock.tell(now * 1000)
            connection.execute(BEGIN_LOOK)
            self.server = [(connection.info.host, connection.info.port)]
            look.reader = reader = _Reader(connection, PostgresTables(connection, self._clock, None))
        except BaseException as error:
            connection.close()
            if isinstance(error, errors.Error):
                raise fault_of(error, self._address) from error
            raise
        return reader

    def _give_back(self, reader: _Reader, look: _Look) -> None:
        try:
            reader.connection.execute("ROLLBACK")
        except load_driver().Error:
            self._drop(reader, look)
            return
        look.reader = None
        self._idle.append(reader)
        if self._closed:
            self.close()

    def _drop(self, reader: _Reader, look: _Look) -> None:
        with self._door:  # nobody cuts what is closed
            look.reader = None
        reader.close()

    def _expect_server(self) -> None:
        if (gone := self._gone) is not None:
            raise gone()

    # What watches

    @property
    def asked(self) -> float | None:
        with self._door:
            return -inf if self._gone else min((one.waits for one in self._under_way), default=None)

    def answered(self) -> None:
        with self._door:
            self._gone = None
            for one in self._under_way:
                one.waits = monotonic()
            if not self._under_way:
                self.busy.clear()

    def give_up(self, error: Callable[[], Exception]) -> None:
        with self._door:
            self._gone = error
            self.server = []  # any of them will do now
            for one in self._under_way:
                if one.reader is not None:
                    with suppress(OSError):
                        one.reader.wire.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()
        self._watch.stop()


class Watched(Protocol):
    """Waits for a server."""

    busy: threading.Event
    """Set while it may wait."""
    server: list[tuple[str, int]]

    @property
    def asked(self) -> float | None:
        """Since when it has been waiting."""
        ...

    def answered(self) -> None:
        """The server says something, though not yet what is waited for."""
        ...

    def give_up(self, error: Callable[[], Exception]) -> None:
        """The server is gone: whoever waits is told now. Called again and again, until it answers."""
        ...


class Watch:
    """Tells whoever waits that the server is gone, long before the connection notices."""

    def __init__(
        self, address: Address, watched: Watched, patience: float, silent_seconds: float, misses: int = 1
    ) -> None:
        self._address = address
        self._watched = watched
        self._silence = silent_seconds
        self._patience = patience
        self._misses = misses
        self._stopped = False
        self._thread = threading.Thread(target=self._watch, name="rightcall postgres watch", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        missed = 0
        while not self._stopped:
            self._watched.busy.wait()
            if self._stopped:
                return
            asked = self._watched.asked
            silent = 0.0 if asked is None else monotonic() - asked
            if silent > self._patience:
                self._watched.give_up(lambda: self._gone("it did not answer in time"))
            elif silent <= self._silence:
                missed = 0
            elif answers(self._watched.server or self._address.servers()):
                missed = 0
                self._watched.answered()
            elif (missed := missed + 1) >= self._misses:
                self._watched.give_up(lambda: self._gone("the server does not answer"))
            threading.Event().wait(0.05)

    def _gone(self, what: str) -> StoreError:
        return unusable(self._address, what, "It continues by itself once the server is back.", "unreachable")

    def stop(self) -> None:
        self._stopped = True
        self._watched.busy.set()
        if self._thread is not threading.current_thread():
            self._thread.join(1.0)


def answers(servers: list[tuple[str, int]]) -> bool:
    """Whether one of them is there and says anything at all: it is asked whether it would speak TLS."""
    return any(_says_anything(host, port) for host, port in servers)


def _says_anything(host: str, port: int) -> bool:
    try:
        if host.startswith("/"):
            probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            probe.settimeout(_PROBE_SECONDS)
            probe.connect(f"{host}/.s.PGSQL.{port}")
        else:
            probe = socket.create_connection((host, port), _PROBE_SECONDS)
        with probe:
            probe.settimeout(_PROBE_SECONDS)
            probe.sendall(struct.pack("!ii", 8, 80877103))
            return probe.recv(1) in (b"S", b"N")
    except OSError:
        return False


class PostgresStore:
    """A `Store`. Opening makes the tables where there are none; raises StoreError when the server cannot be used."""

    is_remote = True

    def __init__(
        self, url: str, clock: Clock | None = None, *, busy_seconds: float = 3.0,
        silent_seconds: float = _SILENT_SECONDS, label: str = "", keep: int = 0,
    ) -> None:  # fmt: skip
        """`clock` replaces the database's time, for tests. After `silent_seconds` without an answer one asks whether
        the server is there at all. `label` names this node for people. `keep`: days after which records go, or 0."""
        self.address = read_address(url)
        self.clock: Clock = clock or DatabaseClock()
        self._forked = False
        self._writer = Writer(self.address, self.clock, busy_seconds, label, keep)
        self._watch = Watch(self.address, self._writer, busy_seconds + 1.0, silent_seconds)
        self._readers = Readers(self.address, self.clock, busy_seconds, silent_seconds)
        self._listener = Listener(self.address, busy_seconds)
        keeper = Keeper(self._readers.look)
        self._writer.wrote = keeper.wrote
        self._parts = self._writer, self._watch, self._readers, self._listener, keeper
        self._end = finalize(self, _end, self._parts, _EXIT_SECONDS)
        _STORES.add(self)
        try:
            self.transact(_nothing)
            self._key = bytes.fromhex(self.look(_read_key))
        except BaseException:
            self.close()
            raise

    def transact(self, work: Callable[[Tables], T]) -> T:
        done = threading.Lock()
        done.acquire()
        job = ServerJob(work, done=done)
        self._put(job)
        done.acquire()
        return job.outcome()

    async def atransact(self, work: Callable[[Tables], T]) -> T:
        from asyncio import get_running_loop  # late: who has no event loop does not pay for one

        job = ServerJob(work, future=(future := get_running_loop().create_future()))
        self._put(job)
        await future
        return job.outcome()

    def _put(self, job: ServerJob) -> None:
        if self._forked:
            raise forked(self.address)
        self._writer.put(job)

    def later(self, work: Callable[[Tables], object]) -> None:
        if self._forked:
            raise forked(self.address)
        self._writer.later(work)

    def look(self, work: Callable[[Tables], T]) -> T:
        if self._forked:
            raise forked(self.address)
        return self._readers.look(work)

    def shelf(self, kind: Kind) -> "ServerShelf":
        return ServerShelf(self.address.shown, kind, self.look, self.transact, self.later)

    async def next_answer(self, id: str, seconds: float) -> None:
        if self._forked:
            raise forked(self.address)
        await self._listener.wait(id, seconds)

    def key(self) -> bytes:
        return self._key

    def close(self) -> None:
        """Finishes what waits. Also happens by itself when the program ends, though not for long."""
        if self._end.detach() is not None:
            _end(self._parts)

    def compact(self) -> None:
        """Give back the space of what was removed or emptied. Raises StoreError where this role may not."""
        with closing(connect(self.address, lock_seconds=_READERS)) as connection:
            try:
                connection.execute("VACUUM audit")
            except load_driver().Error as error:
                raise fault_of(error, self.address) from error

    def leave(self) -> None:
        """In a forked child: connections and threads are the parent's, and stay as they are."""
        self._forked = True
        self._end.detach()


class PostgresReader:
    """A store that is only looked into: this process is no node of it, and nothing is written."""

    def __init__(self, url: str, *, busy_seconds: float = 3.0) -> None:
        self.address = read_address(url)
        self.clock: Clock = DatabaseClock()
        self._readers = Readers(self.address, self.clock, busy_seconds, _SILENT_SECONDS)

    @property
    def path(self) -> str:
        """How it is called in messages."""
        return self.address.shown

    def look(self, work: Callable[[Tables], T]) -> T:
        return self._readers.look(work)

    def shelf(self, kind: Kind) -> "ServerShelf":
        return ServerShelf(self.address.shown, kind, self.look)

    def risks(self) -> list[str]:
        """Settings of the server with which records that were confirmed can get lost."""
        with closing(connect(self.address, lock_seconds=_READERS)) as connection:
            try:
                rows = connection.execute(_SETTINGS).fetchall()
                (standbys,) = connection.execute(_STANDBYS).fetchone() or (0,)
            except load_driver().Error as error:
                raise fault_of(error, self.address) from error
        return _risks(dict(rows), standbys)

    def strangeness(self, _tables: Tables) -> str:
        """Nobody can put another server in the place of this one by moving a file."""
        return ""

    def close(self) -> None:
        self._readers.close()


_SETTINGS = (
    "SELECT name, setting FROM pg_settings"
    " WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names')"
)
_STANDBYS = "SELECT count(*) FROM pg_stat_replication WHERE coalesce(state, '') <> 'backup'"


def _risks(settings: dict[str, str], standbys: int) -> list[str]:
    """
    >>> _risks({"fsync": "off", "synchronous_commit": "on"}, 0)
    ['fsync is off: a crash of the machine can damage or lose the audit']
    """
    found: list[str] = []
    if settings.get("fsync") == "off":
        found.append("fsync is off: a crash of the machine can damage or lose the audit")
    if settings.get("full_page_writes") == "off":
        found.append("full_page_writes is off: a crash of the machine can damage the audit")
    waits = settings.get("synchronous_commit", "on")
    if waits == "off":
        found.append("synchronous_commit is off: a crash loses records that were confirmed")
    elif standbys and (waits == "local" or not settings.get("synchronous_standby_names", "").strip()):
        found.append(
            "replication is asynchronous: a failover loses records that were confirmed; set synchronous_standby_names "
            "and synchronous_commit = on"
        )
    return found


def prepare_days(url: str, days: int) -> tuple[str, str]:
    """Make or update the tables, and those of so many days from today on. Returns the store's name for people, and the
    last day. Raises StoreError."""
    address = read_address(url)
    with closing(connect(address, lock_seconds=_READERS)) as connection:
        try:
            prepare(connection, address)
            ((today,),) = connection.execute("SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date::text").fetchall()
            return address.shown, make_days(connection, today, days)[-1]
        except load_driver().Error as error:
            raise fault_of(error, address) from error


def _nothing(_tables: Tables) -> None:
    """Opening is a transaction like any other: what it finds wrong is said in the same words."""


def _read_key(tables: Tables) -> str:
    return cast("PostgresTables", tables).secret("key")


def _end(parts: tuple[Writer, Watch, Readers, Listener, Keeper], timeout: float | None = None) -> None:
    writer, watch, readers, listener, keeper = parts
    keeper.stop()
    listener.stop()
    readers.close()
    writer.close(timeout)
    watch.stop()


_STORES: WeakSet[PostgresStore] = WeakSet()


def _leave_all() -> None:
    for store in _STORES:
        store.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)


# ── documents ──
# Documents on the server (`shelf`): every node reads what any of them has kept.
#
# They are written with the batches of calls, and lock nothing: whoever saves last is right.

PUT = (
    "INSERT INTO documents VALUES (%s, %s, clock_timestamp(), %s) ON CONFLICT (shelf, name) DO UPDATE"
    " SET saved = excluded.saved, doc = excluded.doc"
)
DROP = "DELETE FROM documents WHERE shelf = %s AND name = %s"
_GET = "SELECT doc FROM documents WHERE shelf = %s AND name = %s"
_SAVED = "SELECT name, extract(epoch FROM saved)::float8 FROM documents WHERE shelf = %s ORDER BY name"

Look = Callable[[Callable[[Tables], Any]], Any]


class ServerShelf:
    """Of one kind. `transact` and `later` are the store's own; a reader has none, and cannot write."""

    def __init__(
        self, place: str, kind: Kind, look: Look, transact: Look | None = None, later: Look | None = None
    ) -> None:
        self.place = place
        self._kind = kind
        self._look = look
        self._transact = transact
        self._later = later

    def put(self, name: str, data: bytes, *, soon: bool = False) -> None:
        work = _work(
            lambda tables: tables.write_document(f"{self._kind} {name}", PUT, (self._kind, key_of(name), data))
        )
        self._writer(soon=soon)(work)

    def get(self, name: str) -> bytes | None:
        return self._look(lambda tables: _tables(tables).document(_GET, self._kind, key_of(name)))

    def saved(self) -> list[tuple[str, float]]:
        rows = self._look(lambda tables: _tables(tables).documents(_SAVED, self._kind))
        return [(name.decode("utf-8", "surrogatepass"), at) for name, at in rows]

    def drop(self, name: str) -> bool:
        if self.get(name) is None:
            return False
        work = _work(lambda tables: tables.write_document(f"{self._kind} {name}", DROP, (self._kind, key_of(name))))
        self._writer(soon=False)(work)
        return True

    def _writer(self, *, soon: bool) -> Look:
        found = self._later if soon else self._transact
        if found is None:
            raise RuntimeError("a store that is only looked into wants to keep a document")
        return found


def _tables(tables: Tables) -> "PostgresTables":
    return cast("PostgresTables", tables)


def _work(work: "Callable[[PostgresTables], T]") -> Planned[T]:
    return Planned(lambda tables: work(_tables(tables)), Needs)
