"""A database that is deleted, moved, replaced or cut while in use: never begun anew in silence, welcome when it is
back (A-04)."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rightcall.errors import StoreError, StoreFault
from rightcall.policy import trust
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import ManualClock
from support.stores import BODY, OpenSqlite, add, locked, numbers, records, refused, resumed

pytestmark = pytest.mark.promise("A-04")


def test_a_deleted_database_is_not_begun_anew(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()
    store.transact(add())
    away = database.with_name("away")
    away.mkdir()
    for path in database.parent.glob("audit.db*"):
        path.rename(away / path.name)
    message = refused(store, "failed")
    assert "it was deleted or moved away while in use" in message
    assert f"`rightcall audit adopt --store {database}`" in message
    with pytest.raises(StoreError, match="deleted or moved away"):
        records(store)
    assert not database.exists()
    for path in away.glob("*"):
        path.rename(database.parent / path.name)
    resumed(store, 1)


def test_a_deleted_folder_is_not_made_anew(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()
    store.transact(add())
    shutil.rmtree(database.parent)
    refused(store, "failed")
    store.close()
    assert not database.parent.exists()


def take_the_place(other: Path, database: Path) -> None:
    os.replace(other, database)
    for log in ("-wal", "-shm"):
        database.with_name(database.name + log).unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("known", "fault", "says"),
    [
        (True, "replaced", "it is not the audit that you used here before"),
        (False, "corrupt", "the last record that this process wrote (number 1) is no longer in it"),
    ],
    ids=["in the ledger", "not in the ledger"],
)
def test_a_database_that_took_the_place_of_ours_is_not_written_to(
    open_sqlite: OpenSqlite, database: Path, known: bool, fault: StoreFault, says: str
) -> None:
    store = open_sqlite()
    store.transact(add())
    other = open_sqlite(path=database.with_name("other.db"))
    other.transact(add("begin"))
    other.close()
    take_the_place(database.with_name("other.db"), database)
    if not known:
        trust.forget("stores", str(database))
    assert says in refused(store, fault)
    assert numbers(records(store)) == [1]
    refused(store, fault)


def test_a_copy_with_everything_in_it_may_take_the_place(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()
    store.transact(add())
    assert numbers(records(store)) == [1]
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(database.with_name("copy"))) as copy:
        source.backup(copy)
    take_the_place(database.with_name("copy"), database)
    resumed(store, 1)


def test_another_database_with_the_log_of_ours_is_a_muddle_and_refused(
    open_sqlite: OpenSqlite, database: Path, clock: ManualClock
) -> None:
    other = database.with_name("other.db")
    for path in (other, database):
        store = open_sqlite(path=path)
        store.transact(lambda tables: [tables.append("message", 0, BODY) for _ in range(300)])
        store.close()
        clock.advance(3600)
    store = open_sqlite()
    store.transact(add())
    os.replace(other, database)
    assert "its pages do not fit together" in refused(store, "corrupt")


def test_an_older_copy_is_refused_because_records_are_missing(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()
    store.transact(add())
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(database.with_name("copy"))) as copy:
        source.backup(copy)
    store.transact(add())
    take_the_place(database.with_name("copy"), database)
    assert "the last record that this process wrote (number 2) is no longer in it" in refused(store, "corrupt")


@pytest.mark.promise("A-03")
def test_a_tail_that_is_cut_off_while_running_is_noticed(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()
    for _ in range(3):
        store.transact(add())
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("DELETE FROM audit WHERE seq = 3")
    assert "number 3" in refused(store, "corrupt")


def test_a_record_that_another_process_pruned_is_not_missed(open_sqlite: OpenSqlite, database: Path) -> None:
    store, other = open_sqlite(), open_sqlite()
    store.transact(add())
    other.transact(lambda tables: tables.remove_through(1))
    with locked(database):
        refused(store, "locked")
    assert store.transact(add()) == 2


@pytest.mark.parametrize("change", ["deleted", "overwritten", "another", "cut"])
def test_a_key_that_is_changed_while_in_use_refuses_every_call_until_it_is_back(
    open_sqlite: OpenSqlite, database: Path, change: str
) -> None:
    store = open_sqlite()
    store.transact(add())
    key = database.with_name("audit.db.key")
    before = key.read_bytes()
    if change == "deleted":
        key.unlink()
    elif change == "overwritten":
        key.write_bytes(os.urandom(32))
    elif change == "another":
        key.with_name("new").write_bytes(os.urandom(32))
        key.with_name("new").replace(key)
    else:
        key.write_bytes(before[:5])
    for _ in range(2):
        assert "audit.db.key" in refused(store, "corrupt" if change == "cut" else "replaced")
    key.write_bytes(before)
    resumed(store, 1)


@pytest.mark.parametrize("way", ["the file", "its folder"])
def test_a_link_to_another_store_of_the_same_user_does_not_take_the_place_of_one(tmp_path: Path, way: str) -> None:
    one, other = tmp_path / "one/state/audit.db", tmp_path / "other/state/audit.db"
    for path in (one, other):
        path.parent.mkdir(parents=True)
        with closing(SqliteStore(path)) as store:
            store.transact(add())
    away = one.with_name("away.db") if way == "the file" else one.parent.with_name("away")
    (one if way == "the file" else one.parent).rename(away)
    if way == "the file":
        one.symlink_to(other)
    else:
        one.parent.symlink_to(other.parent)
    before = other.read_bytes()
    with pytest.raises(StoreError, match=f"it leads to {other} now, and did not before") as caught:
        SqliteStore(one)
    assert caught.value.fault == "replaced"
    assert f"rightcall audit adopt --store {one}" in str(caught.value)
    assert other.read_bytes() == before
    with closing(SqliteStore(one, adopting=("Ada", "moved"))) as store:
        assert store.path == str(other)
    with closing(SqliteStore(one)) as store:
        store.transact(add())


def test_a_link_where_no_store_was_before_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real/audit.db")
    for _ in range(2):
        with closing(SqliteStore(tmp_path / "link.db")) as store:
            store.transact(add())
            assert store.path == str(tmp_path / "real/audit.db")
