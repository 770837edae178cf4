"""The file and what lies beside it: for its owner only, and never in anybody's way."""

import os
import select
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from rightcall.errors import StoreError
from rightcall.record import sqlite_file
from rightcall.record.sqlite import SqliteStore
from support.stores import OpenSqlite, add, records


@pytest.fixture
def _open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("_open_umask")
def test_only_the_owner_can_read_what_is_made(open_sqlite: OpenSqlite, database: Path) -> None:
    open_sqlite().transact(add())
    assert mode(database.parent) == 0o700
    found = {path.name: mode(path) for path in database.parent.glob("audit.db*")}
    assert found == {
        "audit.db": 0o600,
        "audit.db-wal": 0o600,
        "audit.db-shm": 0o600,
        "audit.db.key": 0o600,
        "audit.db-runs": 0o700,
    }


def test_a_database_that_others_may_write_is_refused_with_what_to_run(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()
    store.transact(add())
    store.close()
    database.chmod(0o666)
    with pytest.raises(StoreError, match=f"other users may write it.*Run `chmod go-w {database}`"):
        open_sqlite()
    database.chmod(0o644)
    assert open_sqlite().transact(add())


def test_a_folder_that_is_made_is_kept_out_of_git(open_sqlite: OpenSqlite, database: Path) -> None:
    open_sqlite()
    assert (database.parent / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_a_folder_that_is_there_stays_as_it_is(open_sqlite: OpenSqlite, database: Path) -> None:
    database.parent.mkdir(mode=0o755)
    open_sqlite()
    assert not (database.parent / ".gitignore").exists()
    assert mode(database.parent) == 0o755


def test_after_closing_only_the_database_its_key_and_its_head_are_left(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()
    store.transact(add())
    store.close()
    assert sorted(path.name for path in database.parent.glob("audit.db*") if path.is_file()) == [
        "audit.db",
        "audit.db-head",
        "audit.db.key",
    ]


def test_the_key_stays_the_same(open_sqlite: OpenSqlite, database: Path) -> None:
    first = open_sqlite().key()
    assert open_sqlite().key() == first == database.with_name("audit.db.key").read_bytes()


def test_a_damaged_key_is_told_and_not_replaced(open_sqlite: OpenSqlite, database: Path) -> None:
    open_sqlite().close()
    key = database.with_name("audit.db.key")
    key.write_bytes(b"short")
    with pytest.raises(StoreError, match=r"its key audit\.db\.key has 5 bytes instead of 32") as raised:
        open_sqlite()
    assert raised.value.fault == "corrupt"
    assert key.read_bytes() == b"short"


def test_a_store_that_could_not_be_opened_leaves_no_thread_and_no_run(database: Path) -> None:
    database.parent.mkdir()
    database.write_bytes(b"no database" * 1000)
    before = set(threading.enumerate())
    with pytest.raises(StoreError):
        SqliteStore(database)
    assert set(threading.enumerate()) <= before  # others may end meanwhile
    assert not database.with_name("audit.db-runs").exists()


def test_a_store_that_nobody_holds_any_more_ends(database: Path) -> None:
    before = set(threading.enumerate())
    store = SqliteStore(database)
    store.later(add())
    del store
    assert set(threading.enumerate()) <= before  # others may end meanwhile
    assert list(database.with_name("audit.db-runs").iterdir()) == []
    with closing(SqliteStore(database)) as again:
        assert len(records(again)) == 1


def test_it_is_written_as_safely_as_sqlite_can(open_sqlite: OpenSqlite) -> None:
    names = ("journal_mode", "synchronous", "user_version")
    store = open_sqlite()
    settings = store.transact(
        lambda tables: {name: tables._do(f"PRAGMA {name}").fetchone()[0] for name in names}  # type: ignore[attr-defined]
    )
    assert settings == {"journal_mode": "wal", "synchronous": 2, "user_version": sqlite_file.VERSION}


def test_a_name_with_odd_characters_is_a_name(open_sqlite: OpenSqlite, tmp_path: Path) -> None:
    path = tmp_path / "50% ?#&mode=memory ü" / "audit.db"
    store = open_sqlite(path=path)
    assert store.transact(add()) == 1
    assert path.stat().st_size > 0


def test_an_older_version_is_brought_up_to_date(
    open_sqlite: OpenSqlite, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_sqlite()
    store.transact(add())
    store.close()
    monkeypatch.setattr(
        sqlite_file, "STEPS", (*sqlite_file.STEPS, "ALTER TABLE meta ADD COLUMN note TEXT;\nCREATE TABLE more (x);\n")
    )
    newer = sqlite_file.VERSION + 1
    for module in ("sqlite_file", "sqlite"):
        monkeypatch.setattr(f"rightcall.record.{module}.VERSION", newer)
    store = open_sqlite()
    assert store.transact(add()) == 2
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (newer,)
        assert connection.execute("SELECT count(*) FROM more").fetchone() == (0,)


def test_whoever_waits_for_a_transaction_hears_when_it_ends(
    open_sqlite: OpenSqlite, monkeypatch: pytest.MonkeyPatch
) -> None:
    bell, ends = sqlite_file.Bell(), os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    bell.hang(*ends)
    monkeypatch.setattr("rightcall.record.sqlite.BELL", bell)
    try:
        open_sqlite().transact(add())
        assert select.select([ends[0]], [], [], 0)[0]
        bell.hear()
        with pytest.raises(BlockingIOError):
            os.read(ends[0], 1)  # it has heard all there was
        open_sqlite().transact(add())  # whoever had the turn was stopped: nobody waits for it for long
        assert select.select([ends[0]], [], [], 0)[0]
        for _ in range(100_000):
            bell.ring()  # nobody listens: nothing waits for somebody who does
    finally:
        for end in ends:
            os.close(end)
