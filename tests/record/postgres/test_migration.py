"""Moving a store from a file to a server: the same records, all that was decided, and no way to lose either."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from msgspec import json

from rightcall.errors import ConfigError, StoreError
from rightcall.policy.types import Pause
from rightcall.record.erasure import erase, find_erasable
from rightcall.record.postgres import PostgresReader, PostgresStore, migration
from rightcall.record.postgres.migration import Migrated, Migration, Source
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import AuditEntry, ManualClock, Store, Tables
from rightcall.record.verify import Verification, prune, verify_audit
from support.postgres import Server
from support.stores import add, approval, begin_body, credential, end_body, grant, not_opened, records, token

pytestmark = pytest.mark.postgres


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store with a little of everything."""
    path = tmp_path / "kept" / "audit.db"
    with closing(SqliteStore(path)) as store:
        now = store.clock.now()
        for _ in range(20):
            call = store.transact(add("begin", 0, begin_body()))
            store.transact(add("end", call, end_body()))

        def rest(tables: Tables) -> None:
            tables.put_approval(approval(asked_at=now, expires_at=now + 600_000_000_000))
            tables.put_grant(grant(expires_at=now + 900_000_000_000))
            tables.put_token(token("t1"))
            tables.put_credential(credential("s1", kind="session"))
            tables.put_credential(credential("c1"))
            tables.pin("code/read", "d" * 64)
            tables.changed("x" * 64)
            tables.mark("caller\0teacher", 1)
            tables.put_pause(Pause("ann", "2026-01-01 00:00:00.000", "a reason"))

        store.transact(rest)
    return path


def moved(file: Path, url: str) -> Migrated:
    with closing(Migration(file, url)) as one:
        return one.run("ann")


def opened(url: str) -> PostgresStore:
    return PostgresStore(url, silent_seconds=30, busy_seconds=30)


def everything(store: Store) -> list[object]:
    return store.look(
        lambda tables: [
            [(one.id, one.canonical, one.status) for one in tables.approvals()],
            [(one.id, one.where, one.uses) for one in tables.all_grants()],
            tables.tokens(), sorted(tables.credentials(), key=lambda one: one.id), tables.definition("code/read"),
            tables.changes(), tables.own_pause(), tables.scopes("caller"),
        ]
    )  # fmt: skip


@pytest.mark.promise("S-01")
def test_all_that_a_file_holds_is_on_the_server_afterwards_and_verifies(file: Path, url: str) -> None:
    with closing(SqliteStore(file)) as store:
        before, known, key = records(store), everything(store), store.key()
    done = moved(file, url)
    with closing(opened(url)) as there:
        after = records(there)
        assert after[: len(before)] == before
        assert [entry.kind for entry in after[len(before) :]] == ["store"] * 3  # moved; another clock; migrated
        assert (everything(there), there.key()) == (known, key)
        assert done.head == (after[-3].seq, after[-3].hash)
        (waiting,) = there.look(lambda tables: tables.approvals("waiting"))
        assert 0 < waiting.expires_at - there.clock.now() <= 600_000_000_000
        assert there.transact(add()) > after[-1].seq
        assert there.look(verify_audit).ok
        assert {entry.node for entry in records(there)} == {0}  # the next node goes on with the same chain


@pytest.mark.promise("S-01")
def test_the_file_is_kept_and_whoever_goes_on_writing_to_it_is_told_where_it_is_now(file: Path, url: str) -> None:
    with closing(SqliteStore(file)) as running:
        running.transact(add())
        moved(file, url)
        with pytest.raises(StoreError, match="it was moved to postgresql://"):
            running.transact(add())
    text = not_opened(file, "replaced")
    assert "[store] url" in text
    assert "rightcall audit adopt" in text
    with closing(SqliteStore(file, adopting=("ann", "back again"))) as back:
        back.transact(add())
    with closing(SqliteStore(file)) as back:
        assert back.look(verify_audit).ok


def test_moving_twice_does_nothing_and_another_store_is_refused(file: Path, url: str, tmp_path: Path) -> None:
    moved(file, url)
    assert moved(file, url).copied == 0
    with closing(Migration(file, url)) as again:
        assert again.plan().done
    other = tmp_path / "other" / "audit.db"
    with closing(SqliteStore(other)) as store:
        store.transact(add())
    with pytest.raises(ConfigError, match="in use already"):
        moved(other, url)
    with closing(SqliteStore(other)) as store:
        store.transact(add())  # and it goes on as before


def test_a_pruned_file_is_moved_and_verifies(file: Path, url: str) -> None:
    with closing(SqliteStore(file)) as store:
        store.transact(lambda tables: prune(tables, keep=10, by="ann"))
    moved(file, url)
    with closing(opened(url)) as there:
        found = there.look(verify_audit)
        assert (found.ok, found.pruned > 0) == (True, True), found.problem


def test_a_file_that_was_changed_is_not_moved(file: Path, url: str) -> None:
    import sqlite3

    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE audit SET body = replace(body, 'teacher', 'student') WHERE seq = 5")
        connection.commit()
    with pytest.raises(ConfigError, match="record 5 does not fit its hash"):
        moved(file, url)


def begun(store: SqliteStore) -> int:
    call = store.transact(add("begin", 0, begin_body()))
    store.transact(lambda tables: tables.begun(call))
    return call


def finish(store: SqliteStore, call: int) -> None:
    store.transact(lambda tables: (tables.append("end", call, end_body()), tables.ended(call)))


@pytest.fixture
def unpaused(file: Path) -> Path:
    with closing(SqliteStore(file)) as store:
        store.transact(lambda tables: tables.put_pause(None))
    return file


def test_calls_that_run_at_the_end_are_waited_for_while_new_ones_are_refused(
    unpaused: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SqliteStore(unpaused)) as store:
        left = [begun(store), begun(store)]
        seen: list[str] = []

        def passes(_seconds: float) -> None:
            held = store.look(lambda tables: tables.own_pause())
            assert held is not None
            seen.append(held.reason)
            finish(store, left.pop())

        monkeypatch.setattr(migration, "sleep", passes)
        assert moved(unpaused, url).finished
        assert [reason.split(" to ")[0] for reason in seen] == ["`rightcall store migrate` moves this store"] * 2
    with closing(opened(url)) as there:
        assert there.look(lambda tables: tables.own_pause()) is None  # that was for the move
        assert there.look(verify_audit).ok


def test_a_call_that_runs_for_long_ends_the_move_and_calls_go_on(
    unpaused: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "_WAIT_SECONDS", 0)
    with closing(SqliteStore(unpaused)) as store:
        call = begun(store)
        with pytest.raises(ConfigError, match="1 call is still running"):
            moved(unpaused, url)
        assert store.look(lambda tables: tables.own_pause()) is None
        finish(store, call)
    assert moved(unpaused, url).resumed


def test_a_stop_by_a_person_stays_one(file: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SqliteStore(file)) as store:
        call = begun(store)
        monkeypatch.setattr(migration, "sleep", lambda _: finish(store, call))
        assert moved(file, url).finished
    with closing(opened(url)) as there:
        held = there.look(lambda tables: tables.own_pause())
        assert (held and held.by) == "ann"


def test_until_it_is_finished_nobody_uses_the_server(file: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "STEP", 7)
    with closing(Migration(file, url)) as one:

        def stop(copied: int, _total: int) -> None:
            if copied >= 21:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            one.run("ann", stop)
    with pytest.raises(StoreError, match="is not finished"):
        opened(url)
    with closing(PostgresReader(url)) as reader, pytest.raises(StoreError, match="is not finished"):
        reader.look(lambda tables: tables.head())
    with closing(SqliteStore(file)) as store:
        store.transact(add())  # the file is still in use
    with closing(Migration(file, url)) as one:
        assert one.plan()[1:] == (one.plan().records - 21, True, False)
    done = moved(file, url)
    assert (done.resumed, done.copied) == (True, done.records - 21)


def test_of_two_at_once_the_second_says_that_another_one_runs(
    file: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begins(_: Migration) -> None:
        """What the first does between the second's look and its lock."""
        monkeypatch.undo()
        interrupted(file, url, monkeypatch, "_copy")

    monkeypatch.setattr(Migration, "_refuse_moved_elsewhere", begins)
    with (
        closing(Migration(file, url)) as second,
        pytest.raises(ConfigError, match="store migrate` runs; let it"),
    ):
        second.run("bob")
    assert moved(file, url).resumed


def in_file(file: Path) -> list[AuditEntry]:
    with closing(Source(file)) as source:
        return source.look(lambda tables: list(tables.entries()))


def same_on_server(file: Path, url: str) -> Verification:
    """Every record, and that is all there are but those of the move itself."""
    with closing(opened(url)) as there:
        kept, found = in_file(file), records(there)
        assert found[: len(kept)] == kept
        assert [entry.kind for entry in found[len(kept) :]] == ["store"] * 2
        result = there.look(verify_audit)
    assert result.ok, result.problem
    return result


def erase_all(file: Path, caller: str = "teacher") -> None:
    with closing(SqliteStore(file)) as store:
        found = store.look(lambda tables: find_erasable(tables, caller))
        assert erase(store, found, caller, "ann").records


def prune_to(keep: int) -> Callable[[Path], None]:
    def work(file: Path) -> None:
        with closing(SqliteStore(file)) as store:
            assert store.transact(lambda tables: prune(tables, keep=keep, by="ann")).removed

    return work


def move_meanwhile(file: Path, url: str, work: Callable[[Path], None], *, killed: bool = False) -> Migrated:
    """Somebody does that in the file once some of it is copied."""
    done: list[int] = []

    def meanwhile(copied: int, _total: int) -> None:
        if copied >= 14 and not done:
            done.append(copied)
            work(file)
            if killed:
                raise KeyboardInterrupt

    with closing(Migration(file, url)) as one:
        if not killed:
            return one.run("ann", meanwhile)
        with pytest.raises(KeyboardInterrupt):
            one.run("ann", meanwhile)
    return moved(file, url)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "STEP", 7)


def stops(*_: object) -> None:
    raise KeyboardInterrupt


def interrupted(file: Path, url: str, monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    with monkeypatch.context() as patch, closing(Migration(file, url)) as one:
        patch.setattr(Migration, before, stops)
        with pytest.raises(KeyboardInterrupt):
            one.run("ann")


def test_a_move_goes_on_however_its_server_is_written(
    unpaused: Path, url: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it was killed while calls were paused, and once nobody can write to the file any more."""
    with closing(SqliteStore(unpaused)) as store:
        reason = "`rightcall store migrate` moves this store to postgresql://elsewhere/x"
        store.transact(lambda tables: tables.put_pause(Pause("ann", "2026-01-01 00:00:00.000", reason)))
    interrupted(unpaused, url, monkeypatch, "_finish")
    name = url.partition("@/")[2].partition("?")[0]
    with closing(Migration(unpaused, server.tcp(name))) as one:
        assert (one.plan().left, one.plan().resumed) == (0, True)
        assert one.run("ann").finished
    assert same_on_server(unpaused, url).ok
    with closing(opened(url)) as there:
        assert there.look(lambda tables: tables.own_pause()) is None


def test_a_move_that_was_finished_elsewhere_does_not_go_on(
    file: Path, url: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(file, url, monkeypatch, "_copy")
    with server.database() as other:
        moved(file, other)
        for work in (Migration.plan, lambda one: one.run("ann")):
            with closing(Migration(file, url)) as one, pytest.raises(ConfigError, match="was moved to postgresql://"):
                work(one)


@pytest.mark.promise("S-01")
@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("killed", [False, True])
def test_content_that_is_erased_during_a_move_is_erased_on_the_server(file: Path, url: str, killed: bool) -> None:
    move_meanwhile(file, url, erase_all, killed=killed)
    assert same_on_server(file, url).erased == 40
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1 FROM rightcall.audit WHERE body LIKE '%a.py%'").fetchone() is None


@pytest.mark.usefixtures("small_steps")
def test_content_that_is_erased_while_calls_are_waited_for_is_erased_on_the_server(
    unpaused: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SqliteStore(unpaused)) as store:
        call = begun(store)

        def passes(_seconds: float) -> None:
            erase_all(unpaused)
            finish(store, call)

        monkeypatch.setattr(migration, "sleep", passes)
        moved(unpaused, url)
    assert same_on_server(unpaused, url).erased == 40


@pytest.mark.usefixtures("small_steps")
def test_a_record_that_was_changed_after_it_was_erased_is_not_moved(file: Path, url: str) -> None:
    def change(file: Path) -> None:
        import sqlite3

        erase_all(file)
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("UPDATE audit SET body = replace(body, 'teacher', 'student') WHERE seq = 5")
            connection.commit()

    with pytest.raises(ConfigError, match="record 5 was changed after its content was erased"):
        move_meanwhile(file, url, change)


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("keep", [34, 26, 4], ids=["copied", "all copied", "not yet copied"])
def test_records_that_are_pruned_during_a_move_are_removed_from_the_server(
    file: Path, url: str, keep: int, killed: bool
) -> None:
    done = move_meanwhile(file, url, prune_to(keep), killed=killed)
    assert done.records == len(in_file(file)) == keep + 2  # pruned; moved
    assert same_on_server(file, url).pruned == 40 - keep


@pytest.mark.usefixtures("small_steps")
def test_days_that_are_pruned_during_a_move_are_removed_from_the_server(tmp_path: Path, url: str) -> None:
    file, clock = tmp_path / "audit.db", ManualClock(wall=1_700_000_000.0)
    with closing(SqliteStore(file, clock)) as store:
        for _ in range(3):
            for _ in range(10):
                store.transact(add())
            clock.advance(86_400)
    move_meanwhile(file, url, prune_to(5))
    assert same_on_server(file, url).pruned == 25
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT relname FROM pg_class WHERE relname LIKE 'gone%'").fetchall() == []


def test_content_erased_and_records_pruned_at_once_are_gone_from_the_server(
    file: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migration, "STEP", 3)

    def both(file: Path) -> None:
        erase_all(file)
        prune_to(25)(file)

    with closing(Migration(file, url)) as one:
        assert move_meanwhile(file, url, both).records == one.plan().records
    assert same_on_server(file, url).erased > 0


KILLED = """
import os, signal, sys
from pathlib import Path
from rightcall.record.postgres import migration
migration.STEP = 7
left = int(sys.argv[3])
def dying(of, name):
    true = getattr(of, name)
    def call(*values, **more):
        global left
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return true(*values, **more)
    setattr(of, name, call)
import psycopg
dying(psycopg.Connection, "execute")
one = migration.Migration(Path(sys.argv[1]), sys.argv[2])
one.run("ann")
print("finished")
"""


def run_killed(file: Path, url: str, statements: int) -> bool:
    """Before one more statement than these is sent to the server. Whether it had finished by then."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(file), url, str(statements)],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode in (0, -9), done.stderr
    return "finished" in done.stdout


@pytest.mark.long
@pytest.mark.parametrize("first", [3, 20])
def test_killed_anywhere_it_goes_on_and_nothing_is_lost_or_doubled(file: Path, url: str, first: int) -> None:
    """Before each statement to the server in turn, also between freezing the file and finishing."""
    with closing(SqliteStore(file)) as store:
        before = records(store)
    for statements in range(first, 400, 17):
        if run_killed(file, url, statements):
            break
    with closing(opened(url)) as there:
        assert records(there)[: len(before)] == before
        assert there.look(verify_audit).ok
        assert len(there.look(lambda tables: tables.tokens())) == 1


@pytest.mark.long
def test_killed_anywhere_what_was_erased_and_pruned_meanwhile_is_gone(file: Path, url: str) -> None:
    meanwhile = {40: erase_all, 70: prune_to(30)}
    for statements in range(30, 400, 10):
        if run_killed(file, url, statements):
            break
        if statements in meanwhile:
            meanwhile.pop(statements)(file)
    assert not meanwhile
    assert same_on_server(file, url).erased > 0


def test_tables_of_an_older_version_are_brought_up_to_date(url: str, server: Server) -> None:
    from rightcall.record.postgres.schema import STEPS, VERSION

    assert server.port
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA rightcall")
        connection.execute("SET search_path = rightcall")
        for statement in STEPS[0].split(";\n"):
            connection.execute(statement.encode())
        connection.execute("INSERT INTO meta VALUES ('version', '1')")
        for one in (credential("s1", kind="session"), credential("c1")):
            connection.execute("INSERT INTO credentials (id, doc) VALUES (%s, %s)", (one.id, json.encode(one).decode()))
        connection.execute("INSERT INTO secrets VALUES ('key', %s)", ("ab" * 32,))
    with closing(opened(url)) as store:
        store.transact(add())
        assert store.key().hex() == "ab" * 32
        assert [one.id for one in store.look(lambda tables: tables.credentials())] == ["c1", "s1"]
        assert store.look(verify_audit).ok
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT value FROM rightcall.meta WHERE name = 'version'").fetchone()
        assert found == (str(VERSION),)
