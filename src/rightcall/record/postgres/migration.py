"""Moving the record of one machine, a SQLite file, to a PostgreSQL server: the same records with the same numbers and
hashes, as the chain of node 0, which the next node goes on with.

    begin ─▶ copy, copy, copy (the file is still in use) ─▶ freeze the file ─▶ copy the rest ─▶ finish

Each step is one transaction on the server, which also says how far it came: whoever is killed goes on from there. Each
batch is read back and compared before it counts. What is erased or pruned in the file meanwhile is erased and removed
on the server, too: the records of that are copied like all others, and followed. Until the last step nobody can use the
server's tables; from `freeze` on nobody can write to the file, which is kept.
"""

import os
from collections.abc import Callable
from contextlib import closing, suppress
from hashlib import sha256
from itertools import islice
from pathlib import Path
from secrets import token_hex
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import Struct, json
from msgspec.structs import replace

from rightcall.base.text import escaped
from rightcall.errors import ConfigError
from rightcall.policy.types import Approval, Credential, Grant, Pause, Spent, Token
from rightcall.record.identity import Origin, fingerprint
from rightcall.record.postgres.connection import Address, connect, fault_of, load_driver, read_address
from rightcall.record.postgres.node import LOCK_JOINING
from rightcall.record.postgres.schema import MIGRATING, TIME, make_day, prepare
from rightcall.record.postgres.tables import INSERT_MARKS, INSERT_RECORDS, PostgresTables, key_of, make_rewrite
from rightcall.record.runs import Runs
from rightcall.record.sqlite import Readers, SqliteStore
from rightcall.record.sqlite_file import key_beside
from rightcall.record.sqlite_tables import SqliteTables
from rightcall.record.tables import START, AuditEntry, NoteBody, SystemClock, Tables, encode, link
from rightcall.record.verify import is_erased, seal, sealed_by

if TYPE_CHECKING:
    import psycopg

STEP = 5_000
"""Records of one transaction."""
_PATIENCE = 3.0
_WAIT_SECONDS, _LOOK_SECONDS = 10.0, 0.1
"""How long calls that run at the end are waited for, and how often one looks."""
_NODE = 0
_MOVING = "`rightcall store migrate` moves this store to "
_ANOTHER = (
    "another `rightcall store migrate` runs; let it finish. If it was stopped, run the command again, which continues"
)
_FINISHED = "another process has finished moving this store"
_TAKEN = ("audit", "approvals", "grants", "tokens", "credentials", "sessions", "definitions")
_RECORDS = "SELECT seq, kind, call, at, convert_to(body, 'UTF8'), hash FROM audit WHERE"
_BACK = f"{_RECORDS} seq > %s AND seq <= %s ORDER BY seq".encode()
_REWRITTEN = f"{_RECORDS} seq = ANY(%s) ORDER BY seq".encode()

Progress = Callable[[int, int], None]
"""Is told how many records were copied, and how many there are."""


class Migrated(Struct, frozen=True):
    records: int
    """Copied, now or by a run before this one."""
    copied: int
    """Of these, now."""
    head: tuple[int, bytes]
    """The last record of the file."""
    digest: str
    """SHA-256 over everything else that was moved: definitions, approvals, grants, tokens, people, starts."""
    finished: bool
    resumed: bool = False


class Moved(Struct, frozen=True):
    """What a file says that was moved."""

    to: str
    at: str
    ahead: int
    """What is added to a time of the file's clock to have one of the server's."""
    id: str = ""
    """Of the move, as the server has it, however its address is written."""


class _State(Struct, frozen=True):
    """How far a migration came, as the server keeps it."""

    source: str
    records: int = 0
    id: str = ""
    since: int = 0
    """The last record of the file when it began: what was erased by then was never copied."""
    erased: int = 0
    """Records whose content was copied and is erased again."""


class _Batch(NamedTuple):
    """What the file has next, all of it at one moment."""

    entries: list[AuditEntry]
    before: bytes | None
    """The hash before the first of them; None where nothing says what it was."""
    oldest: int


class _Rest(Struct, frozen=True):
    """Everything but the records, with times of the server's clock."""

    definitions: list[tuple[str, str]]
    approvals: list[Approval]
    grants: list[Grant]
    tokens: list[Token]
    credentials: list[Credential]
    marks: list[tuple[str, int, int, int]]
    changes: tuple[int, str]
    spent: list[Spent]
    pause: Pause | None

    def digest(self) -> str:
        return sha256(json.encode(self)).hexdigest()


class Source:
    """The file, which is only read; `freeze` alone writes to it."""

    def __init__(self, path: Path) -> None:
        self.path = os.path.realpath(path)
        if not os.path.isfile(self.path):
            raise ConfigError(f"no audit log at {escaped(str(path))}; name the SQLite file that is to be moved")
        if not _is_database(self.path):
            raise ConfigError(f"{escaped(str(path))} is not a SQLite file; name the audit log that is to be moved")
        clock = SystemClock()
        runs = Runs(f"{self.path}-runs")
        origin = Origin(self.path, found=False)
        self._readers = Readers(self.path, clock, runs, _PATIENCE, origin, alone=True)

    def look(self, work: Callable[[SqliteTables], Any]) -> Any:
        return self._readers.look(cast("Callable[[Tables], Any]", work))

    def key(self) -> bytes:
        return key_beside(self.path)

    def moved(self) -> Moved | None:
        return self.look(moved_to)

    def freeze(self, address: Address, id: str, by: str, ask_time: Callable[[], int]) -> Moved:
        """From when it returns, nobody writes to it any more. Until the calls that run have ended, new ones are
        refused; raises ConfigError where that takes long."""
        deadline = monotonic() + _WAIT_SECONDS
        with closing(SqliteStore(self.path)) as store:
            try:
                while isinstance(
                    found := store.transact(
                        lambda tables: _freeze(cast("SqliteTables", tables), address, id, by, ask_time)
                    ),
                    int,
                ):
                    if monotonic() >= deadline:
                        raise ConfigError(
                            f"{'1 call is' if found == 1 else f'{found} calls are'} still running in this store; stop "
                            "what uses it (`rightcall serve`, hosts) and run the command again, which continues"
                        )
                    sleep(_LOOK_SECONDS)
            except BaseException:
                store.transact(_go_on)
                raise
            return found

    def close(self) -> None:
        self._readers.close()


def _is_database(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:  # whoever opens it says why
        return True


def moved_to(tables: SqliteTables) -> Moved | None:
    said = tables.meta("moved")
    return json.decode(said, type=Moved) if said else None


def _freeze(tables: SqliteTables, address: Address, id: str, by: str, ask_time: Callable[[], int]) -> Moved | int:
    """Or how many calls still run."""
    if running := tables.running():
        if tables.own_pause() is None:
            tables.put_pause(Pause(by, tables.wall(), f"{_MOVING}{address.shown}"))
        return len(running)
    _go_on(tables)
    moved = Moved(address.shown, tables.wall(), ask_time() * 1000 - SystemClock().now(), id)
    tables.append("store", 0, encode(NoteBody("moved", by, {"to": address.shown})))
    tables.put_meta("moved", json.encode(moved).decode())
    return moved


def _go_on(tables: Tables) -> None:
    """New calls are no longer refused for the sake of the move."""
    pause = tables.own_pause()
    if pause is not None and pause.reason.startswith(_MOVING):
        tables.put_pause(None)


def _next_of(tables: SqliteTables, after: int) -> _Batch:
    entries = list(islice(tables.entries(after), STEP))
    return _Batch(entries, _hash_before(tables, entries[0].seq) if entries else None, tables.oldest())


def _hash_before(tables: SqliteTables, seq: int) -> bytes | None:
    entry = tables.entry(seq - 1)
    if entry is not None:
        return entry.hash
    last, own = tables.pruned()
    return own if last == seq - 1 else None


class Plan(NamedTuple):
    """What would be done."""

    records: int
    left: int
    resumed: bool
    done: bool


class Migration:
    """From one file to one server. Close it at the end."""

    def __init__(self, path: Path, url: str) -> None:
        self.address = read_address(url)
        self.source = Source(path)
        self._errors = load_driver()
        self._connection: psycopg.Connection[Any] | None = None
        self._copied = 0

    def close(self) -> None:
        self.source.close()
        if self._connection is not None:
            self._connection.close()

    def plan(self) -> Plan:
        """Looks, and changes nothing."""
        try:
            return self._plan()
        except self._errors.Error as error:
            raise fault_of(error, self.address) from error

    def run(self, by: str, progress: Progress | None = None) -> Migrated:
        """Begin, or go on. Raises ConfigError where the two do not fit, StoreError where one of them is not usable."""
        try:
            return self._run(by, progress)
        except self._errors.Error as error:
            raise fault_of(error, self.address) from error

    # Looking

    def _connected(self) -> "psycopg.Connection[Any]":
        if self._connection is None:
            self._connection = connect(self.address, lock_seconds=_PATIENCE)
        return self._connection

    def _plan(self) -> Plan:
        connection = self._connected()
        there = connection.execute("SELECT to_regclass('rightcall.meta') IS NOT NULL").fetchone()
        total = self._total()
        if there is None or not there[0]:
            self._refuse_moved_elsewhere()
            return Plan(total, total, resumed=False, done=False)
        state = self._state()
        if state is None:
            if self._is_done():
                return Plan(total, 0, resumed=False, done=True)
            self._refuse_moved_elsewhere()
            self._refuse_used()
            return Plan(total, total, resumed=False, done=False)
        self._refuse_other(state)
        last, oldest = self.source.look(lambda tables: (tables.head()[0], tables.oldest()))
        return Plan(total, last - max(self._head()[0], oldest - 1), resumed=True, done=False)

    def _total(self) -> int:
        return self.source.look(lambda tables: tables.head()[0] - max(0, tables.oldest() - 1))

    def _state(self) -> _State | None:
        row = self._connected().execute("SELECT value FROM meta WHERE name = %s", (MIGRATING,)).fetchone()
        return None if row is None else json.decode(row[0], type=_State)

    def _head(self) -> tuple[int, bytes]:
        row = self._connected().execute("SELECT seq, hash FROM nodes WHERE id = %s", (_NODE,)).fetchone()
        return (0, START) if row is None else row

    def _is_done(self) -> bool:
        """Whether this file was moved here before, whole."""
        if self.source.moved() is None:
            return False
        seq, own = self.source.look(lambda tables: tables.head())
        return self._connected().execute("SELECT 1 FROM audit WHERE seq = %s AND hash = %s", (seq, own)).rowcount == 1

    def _refuse_moved_elsewhere(self, id: str | None = None) -> None:
        """`id` of the move that is under way here."""
        moved = self.source.moved()
        if moved is not None and moved.id != id:
            raise ConfigError(f"{escaped(self.source.path)} was moved to {moved.to} on {moved.at}; nothing was changed")

    def _refuse_other(self, state: _State) -> None:
        if state.source != fingerprint(self.source.key()):
            raise ConfigError(
                f"another store is being moved to {self.address.shown}, and that was not finished; nothing was changed"
            )
        self._refuse_moved_elsewhere(state.id)

    def _refuse_used(self) -> None:
        """Records of somebody else are never mixed with these."""
        connection = self._connected()
        for table in _TAKEN:
            (there,) = connection.execute(f"SELECT EXISTS (SELECT 1 FROM {table})".encode()).fetchone() or (False,)
            if there:
                raise ConfigError(
                    f"{self.address.shown} is in use already (it has {table}); move to an empty database. "
                    "Nothing was changed"
                )
        (alive,) = connection.execute("SELECT count(*) FROM nodes WHERE until > clock_timestamp()").fetchone() or (0,)
        if alive:
            raise ConfigError(f"a node uses {self.address.shown} now; stop it first. Nothing was changed")

    # Moving

    def _run(self, by: str, progress: Progress | None) -> Migrated:
        connection = self._connected()
        prepare(connection, self.address, migrating=True)
        state = self._state()
        resumed = state is not None
        if state is None:
            if self._is_done():
                head = self.source.look(lambda tables: tables.head())
                return Migrated(self._total(), 0, head, "", finished=True, resumed=True)
            self._refuse_moved_elsewhere()
            with connection.transaction():
                connection.execute(LOCK_JOINING)
                if self._state() is not None:  # begun since this one looked
                    raise ConfigError(_ANOTHER)
                self._refuse_used()
                state = self._begin()
        else:
            self._refuse_other(state)
        self._copy(progress)
        moved = self.source.moved() or self.source.freeze(self.address, state.id, by, self._ask_time)
        self._refuse_moved_elsewhere(state.id)
        self._copy(progress)
        digest, state = self._finish(by, moved)
        if state.erased:
            self._clean()
        head = self.source.look(lambda tables: tables.head())
        return Migrated(state.records, self._copied, head, digest, True, resumed)

    def _ask_time(self) -> int:
        ((now,),) = self._connected().execute(TIME).fetchall()
        return now

    def _begin(self) -> _State:
        connection, key = self._connected(), self.source.key()
        last = self.source.look(lambda tables: tables.head()[0])
        state = _State(fingerprint(key), id=token_hex(16), since=last)
        connection.execute("DELETE FROM nodes")
        connection.execute(
            "INSERT INTO nodes VALUES (%s, 0, '-infinity', 0, %s, %s)",
            (_NODE, START, os.path.basename(self.source.path)),
        )
        connection.execute("UPDATE secrets SET value = %s WHERE name = 'key'", (key.hex(),))
        put = "INSERT INTO meta VALUES (%s, %s)"
        connection.execute(put, (MIGRATING, json.encode(state).decode()))
        return state

    def _keep(self, state: _State) -> None:
        change = "UPDATE meta SET value = %s WHERE name = %s"
        self._connected().execute(change, (json.encode(state).decode(), MIGRATING))

    def _copy(self, progress: Progress | None) -> None:
        days: set[str] = set()
        while True:
            head = self._head()
            batch: _Batch = self.source.look(lambda tables, after=head[0]: _next_of(tables, after))
            if self._remove_pruned(batch.oldest):
                days.clear()
            if not batch.entries:
                return
            self._fits(head, batch)
            for day in sorted({entry.at[:10] for entry in batch.entries} - days):
                make_day(self._connected(), day)
                days.add(day)
            records = self._copy_some(head, batch.entries)
            if progress is not None:
                progress(records, self._total())

    def _remove_pruned(self, oldest: int) -> bool:
        """What the file no longer has. Whether there was any."""
        connection = self._connected()
        ((least,),) = connection.execute("SELECT min(seq) FROM audit").fetchall()
        if least is None or least >= oldest:
            return False
        with connection.transaction():
            connection.execute(LOCK_JOINING)
            state = self._state()
            if state is None:
                raise ConfigError(_FINISHED)
            tables = PostgresTables(connection, SystemClock(), None)
            tables.remove_through(oldest - 1)
            for name in tables.gone:  # nobody else uses the server yet, so nobody waits for it
                connection.execute(f"DROP TABLE {name}".encode())
            self._keep(replace(state, records=max(0, self._head()[0] - oldest + 1)))
        return True

    def _fits(self, head: tuple[int, bytes], batch: _Batch) -> None:
        """The chain is checked on the way: a file that was changed is not moved."""
        last, before = head
        first = batch.entries[0].seq
        if first != last + 1 and first == batch.oldest:  # behind what was pruned
            before = batch.before
        elif first != last + 1 or batch.before != before:
            raise self._no_longer_fits(last)
        for entry in batch.entries:
            own = link(before or b"", entry.seq, entry.kind, entry.call, entry.at, entry.body)
            if before is None or (own != entry.hash and not is_erased(entry)):
                raise _changed(f"record {entry.seq:,} does not fit its hash")
            before = entry.hash

    def _no_longer_fits(self, last: int) -> ConfigError:
        return ConfigError(
            f"{escaped(self.source.path)} no longer fits what was copied of it (record {last:,}); drop the "
            f"schema `rightcall` of {self.address.shown} and run the command again"
        )

    def _copy_some(self, head: tuple[int, bytes], entries: list[AuditEntry]) -> int:
        connection, last = self._connected(), entries[-1]
        rows = [(e.at[:10], e.seq, _NODE, e.kind, e.call, e.at, e.hash, e.body.decode()) for e in entries]
        with connection.transaction():
            connection.execute(LOCK_JOINING)
            if self._head() != head:
                raise ConfigError(_ANOTHER)
            connection.execute(INSERT_RECORDS, [list(column) for column in zip(*rows, strict=True)])
            self._compare(entries, connection.execute(_BACK, (head[0], last.seq)).fetchall())
            state = self._state()
            assert state is not None
            late = [entry for entry in entries if entry.kind == "erase" and entry.seq > state.since]
            erased = state.erased + sum(self._erase_copied(entry, head[0]) for entry in late)
            state = replace(state, records=state.records + len(entries), erased=erased)
            connection.execute("UPDATE nodes SET seq = %s, hash = %s WHERE id = %s", (last.seq, last.hash, _NODE))
            self._keep(state)
        self._copied += len(entries)
        return state.records

    def _compare(self, entries: list[AuditEntry], rows: list[Any]) -> None:
        back = [AuditEntry(*row) for row in rows]
        if _digest(back) != _digest(entries):
            last = entries[-1].seq
            raise ConfigError(f"the server gave back other records than it was sent ({last:,}); nothing counts")

    def _erase_copied(self, erasure: AuditEntry, copied: int) -> int:
        """Of the records up to `copied`, those that were erased after they were copied get the body that the file has
        now. How many there were."""
        named = {seq: left for seq, left in sealed_by(erasure).items() if seq <= copied}
        found = self.source.look(lambda tables: tables.entries_of(named))
        if not found:  # all of them are pruned by now
            return 0
        for entry in found:
            if seal(entry, entry.body) != named[entry.seq]:
                raise _changed(f"record {entry.seq:,} was changed after its content was erased")
        connection = self._connected()
        statement, *values = make_rewrite(found)
        erased = connection.execute(statement.encode(), values).rowcount
        self._compare(found, connection.execute(_REWRITTEN, ([entry.seq for entry in found],)).fetchall())
        return erased

    def _clean(self) -> None:
        """What was erased does not stay in the server's files, either; otherwise it does so for some minutes."""
        with suppress(self._errors.Error):
            self._connected().execute("VACUUM audit")

    def _finish(self, by: str, moved: Moved) -> tuple[str, _State]:
        """Everything else, and the record of it: then the server's tables can be used."""
        connection = self._connected()
        rest: _Rest = self.source.look(lambda tables: _rest_of(tables, moved.ahead))
        digest = rest.digest()
        with connection.transaction():
            connection.execute(LOCK_JOINING)
            state, (seq, before) = self._state(), self._head()
            if state is None:
                raise ConfigError(_FINISHED)
            ((least,),) = connection.execute("SELECT min(seq) FROM audit").fetchall()
            if self.source.look(lambda tables: (tables.oldest(), tables.head())) != (least or 0, (seq, before)):
                raise self._no_longer_fits(seq)
            tables = PostgresTables(connection, SystemClock(), None)
            _put_rest(connection, tables, rest)
            if (found := _rest_on(connection, tables).digest()) != digest:
                raise ConfigError(f"the server gave back other tables than it was sent ({found[:12]}, {digest[:12]})")
            connection.execute("SELECT setval('numbers', %s)", (max(1, seq),))
            ((now,),) = connection.execute(TIME).fetchall()
            data = {"by": moved.ahead, "now": now * 1000}
            notes = (
                NoteBody("restarted", data=data),  # times of records before this one are of another clock
                NoteBody("migrated", by, {"records": state.records, "head": f"{seq}:{before.hex()}", "digest": digest}),
            )
            for note in notes:
                seq, before = self._append(before, encode(note))
            connection.execute("UPDATE nodes SET seq = %s, hash = %s WHERE id = %s", (seq, before, _NODE))
            connection.execute("DELETE FROM meta WHERE name = %s", (MIGRATING,))
        return digest, state

    def _append(self, before: bytes, body: bytes) -> tuple[int, bytes]:
        connection = self._connected()
        ((seq,),) = connection.execute("SELECT nextval('numbers')").fetchall()
        ((at,),) = connection.execute(
            "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS')"
        ).fetchall()
        make_day(connection, at[:10])
        own = link(before, seq, "store", 0, at, body)
        row = (at[:10], seq, _NODE, "store", 0, at, own, body.decode())
        connection.execute(INSERT_RECORDS, [[value] for value in row])
        return seq, own


def _changed(what: str) -> ConfigError:
    return ConfigError(f"{what}; run `rightcall audit verify`. A store that was changed is not moved")


def _digest(entries: list[AuditEntry]) -> bytes:
    own = sha256()
    for entry in entries:
        own.update(link(entry.hash, entry.seq, entry.kind, entry.call, entry.at, entry.body))
    return own.digest()


def _rest_of(tables: SqliteTables, ahead: int) -> _Rest:
    return _Rest(
        sorted(tables.definitions()),
        [replace(one, asked_at=one.asked_at + ahead, expires_at=one.expires_at + ahead) for one in tables.approvals()],
        [replace(one, expires_at=one.expires_at + ahead) for one in tables.all_grants()],
        tables.tokens(), sorted(tables.credentials(), key=lambda one: one.kind != "person"),  # as the server has them
        sorted((scope, n, at + ahead, call) for scope, n, at, call in tables.marks()),
        tables.changed_last(), tables.spending(), tables.own_pause(),
    )  # fmt: skip


def _put_rest(connection: "psycopg.Connection[Any]", tables: PostgresTables, rest: _Rest) -> None:
    for tool, definition in rest.definitions:
        tables.pin(tool, definition)
    for approval in rest.approvals:
        tables.put_approval(approval)
    for grant in rest.grants:
        tables.put_grant(grant)
    for token in rest.tokens:
        tables.put_token(token)
    for credential in rest.credentials:
        tables.put_credential(credential)
    put = "INSERT INTO spent (day, caller, calls, tokens) VALUES (%s, %s, %s, %s)"
    for one in rest.spent:
        connection.execute(put, (one.day, key_of(one.caller), one.calls, one.tokens))
    tables.put_pause(rest.pause)
    if rest.marks:
        rows = [(key_of(scope), n, at, call) for scope, n, at, call in rest.marks]
        connection.execute(INSERT_MARKS, [list(column) for column in zip(*rows, strict=True)])
        connection.execute("INSERT INTO locks SELECT DISTINCT scope FROM windows ON CONFLICT DO NOTHING")
    count, by = rest.changes
    connection.execute("UPDATE changes SET n = %s, total = %s, by = %s WHERE space = ''", (count, count, by))


def _rest_on(connection: "psycopg.Connection[Any]", tables: PostgresTables) -> _Rest:
    definitions = connection.execute("SELECT tool, definition FROM definitions").fetchall()
    marks = connection.execute("SELECT scope, n, at, call FROM windows").fetchall()
    (changes,) = connection.execute("SELECT n, by FROM changes WHERE space = ''").fetchall()
    return _Rest(
        sorted((_name_of(tool), definition) for tool, definition in definitions),
        tables.approvals(), tables.all_grants(), tables.tokens(), tables.credentials(),
        sorted((_name_of(scope), n, at, call) for scope, n, at, call in marks),
        changes, tables.spending(), tables.own_pause(),
    )  # fmt: skip


def _name_of(key: bytes) -> str:
    return bytes(key).decode("utf-8", "surrogatepass")
