"""A database that cannot be used: nothing is done, the error says what is wrong, and work resumes by itself (A-04)."""

import asyncio
import errno
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from inspect import signature
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from rightcall.errors import StoreError
from rightcall.record.sqlite import _NUDGE, Session, SqliteStore
from rightcall.record.sqlite_file import VERSION, fault_of, open_up
from support.stores import (
    BODY,
    OpenSqlite,
    add,
    disk_of,
    fill,
    locked,
    not_opened,
    numbers,
    records,
    refused,
    resumed,
)

pytestmark = pytest.mark.promise("A-04")


def sqlite_error(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("no")
    error.sqlite_errorcode = code
    return error


def test_a_lock_is_waited_for_and_then_refused_within_five_seconds(open_sqlite: OpenSqlite, database: Path) -> None:
    assert signature(SqliteStore).parameters["busy_seconds"].default == 3.0  # so that five are enough for all of it
    store = open_sqlite(busy_seconds=0.6)
    store.transact(add())
    with locked(database):
        began = time.monotonic()
        assert "another process keeps it locked" in refused(store, "locked")
        assert time.monotonic() - began > 0.55
        assert numbers(records(store)) == [1]
    resumed(store, 1)


def test_a_lock_that_ends_in_time_is_no_fault(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite(busy_seconds=10.0)

    async def wait_and_let_go() -> int:
        with locked(database):
            waiting = asyncio.create_task(store.atransact(add()))
            while not store._writer._queue.empty():  # then the writer has taken it, and waits
                await asyncio.sleep(0)
        return await waiting

    assert asyncio.run(wait_and_let_go()) == 1


def test_who_comes_while_others_wait_for_a_lock_waits_no_longer_than_they(
    open_sqlite: OpenSqlite, database: Path
) -> None:
    store = open_sqlite(busy_seconds=0.6)
    store.transact(add())

    async def attempt() -> float:
        with pytest.raises(StoreError):
            await store.atransact(add("refused"))
        return time.monotonic()

    async def crowd() -> list[float]:
        first = asyncio.create_task(attempt())
        await asyncio.sleep(0)
        while not store._writer._queue.empty():  # then the writer has taken it, and waits
            await asyncio.sleep(0)
        return await asyncio.gather(first, *(attempt() for _ in range(20)))

    with locked(database):
        ends = asyncio.run(crowd())
    assert max(ends) - min(ends) < 6  # twenty would wait 12 s one after another
    resumed(store, 1)


def test_who_comes_while_a_thread_waits_for_a_lock_waits_no_longer_than_it(
    open_sqlite: OpenSqlite, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_sqlite(busy_seconds=0.6)
    begin, go_on = Session.begin, threading.Event()
    patience: list[float] = []

    def begun(session: Session, deadline: float) -> Any:
        patience.append(deadline - time.monotonic())
        go_on.wait(10)
        return begin(session, deadline)

    monkeypatch.setattr(Session, "begin", begun)
    first, second = (threading.Thread(target=refused, args=(store, "locked")) for _ in range(2))
    with locked(database):
        first.start()
        while not patience:  # then it writes by itself
            time.sleep(0)
        second.start()
        while not store._writer._wants:
            time.sleep(0)
        go_on.set()
        first.join()
        second.join()
    assert [one > 0.1 for one in patience] == [True, False]
    resumed(store, 0)


def test_a_locked_database_is_not_opened_but_may_be_later(open_sqlite: OpenSqlite, database: Path) -> None:
    open_sqlite().close()
    with locked(database):
        not_opened(database, "locked")
    resumed(open_sqlite(), 0)


def test_a_database_that_is_just_being_made_is_waited_for(open_sqlite: OpenSqlite, database: Path) -> None:
    database.parent.mkdir()
    opened: list[SqliteStore] = []
    opening = threading.Thread(target=lambda: opened.append(open_sqlite(busy_seconds=10.0)))
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        opening.start()
        opening.join(0.3)
        assert opening.is_alive()
        other.execute("ROLLBACK")
    opening.join(60)
    resumed(opened[0], 0)


def test_looking_goes_on_while_another_process_writes(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()
    store.transact(add())
    with locked(database):
        assert numbers(records(store)) == [1]


def test_a_full_disk_refuses_whole_works_until_there_is_room(open_sqlite: OpenSqlite) -> None:
    store = open_sqlite()
    store.transact(add())
    store.limit_pages(1)
    big = b'"%s"' % (b"x" * 100_000)
    with pytest.raises(StoreError, match="the disk is full") as raised:
        store.transact(lambda tables: [tables.append("refused", 0, body) for body in (BODY, big, BODY)])
    assert raised.value.fault == "full"
    assert numbers(records(store)) == [1]
    store.later(add())
    store.limit_pages(None)
    resumed(store, 2)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with disk_of(tmp_path / "small", "1m") as folder:
        yield folder


def test_a_disk_that_is_really_full_refuses_until_there_is_room(open_sqlite: OpenSqlite, small_disk: Path) -> None:
    store = open_sqlite(path=small_disk / "audit.db")
    store.transact(add())
    filler = fill(small_disk)
    assert "the disk is full" in refused(store, "full")
    assert numbers(records(store)) == [1]
    not_opened(small_disk / "other.db", "full")
    filler.unlink()
    resumed(store, 1)
    store.close()


@pytest.mark.parametrize("count", [1, 200])
@pytest.mark.parametrize(
    "content",
    [b"this is no database" * 500, b"", b"SQLite format 3\0" + b"\xff" * 9000],
    ids=["text", "empty", "header"],
)
def test_a_file_that_is_overwritten_while_in_use_is_not_written_to(
    open_sqlite: OpenSqlite, database: Path, content: bytes, count: int
) -> None:
    store = open_sqlite()
    store.transact(lambda tables: [tables.append("message", 0, BODY) for _ in range(count)])
    whole = {path: path.read_bytes() for path in database.parent.glob("audit.db*") if path.is_file()}
    database.write_bytes(content)
    refused(store, "corrupt")
    refused(store, "corrupt")
    assert database.read_bytes() == content
    for path, kept in whole.items():
        path.write_bytes(kept)
    resumed(store, count)


def test_damage_that_is_met_while_writing_refuses_and_is_mended(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()
    store.transact(lambda tables: [tables.append("message", 0, BODY) for _ in range(3000)])
    store.close()
    whole = database.read_bytes()
    database.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    not_opened(database, "corrupt")
    database.write_bytes(whole)
    assert open_sqlite().transact(add()) == 3001


def test_what_is_no_database_is_not_opened_and_left_as_it_was(database: Path) -> None:
    database.parent.mkdir()
    database.write_text("a diary\n" * 1000, encoding="utf-8")
    assert "it is damaged, or no database" in not_opened(database, "corrupt")
    assert database.read_text(encoding="utf-8") == "a diary\n" * 1000


def test_a_database_of_another_program_is_not_opened_and_left_as_it_was(database: Path) -> None:
    database.parent.mkdir()
    with closing(sqlite3.connect(database)) as other:
        other.execute("CREATE TABLE songs (title)")
    before = database.read_bytes()
    assert "a database of another program" in not_opened(database, "corrupt")
    assert database.read_bytes() == before


def test_a_folder_in_place_of_the_file_is_not_opened(database: Path) -> None:
    database.mkdir(parents=True)
    not_opened(database, "failed")


def test_tables_that_are_dropped_while_in_use_are_an_empty_store(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()
    store.transact(add())
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        names = other.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for (name,) in names.fetchall():
            other.execute(f"DROP TABLE {name}")
        other.execute("PRAGMA user_version = 0")
    assert "it is empty, and was not before" in refused(store, "corrupt")


def set_version(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {version}")


def test_a_newer_version_is_refused_also_when_it_comes_while_running(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()
    store.transact(add())
    set_version(database, 7)
    message = refused(store, "version")
    assert f"a newer RightCall wrote it (tables of version 7, this one knows {VERSION})" in message
    assert "Update RightCall." in message
    not_opened(database, "version")
    set_version(database, VERSION)
    resumed(store, 1)


def test_after_a_fault_nothing_is_kept_of_the_connection(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()
    before = store.transact(lambda tables: tables)
    assert store.transact(lambda tables: tables) is before
    with locked(database):
        refused(store, "locked")
    assert store.transact(lambda tables: tables) is not before


def test_a_fault_reaches_all_who_wait_each_with_an_error_of_its_own(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()

    async def crowd() -> list[BaseException | int]:
        return await asyncio.gather(*(store.atransact(add()) for _ in range(50)), return_exceptions=True)

    with locked(database):
        found = asyncio.run(crowd())
    assert {type(one) for one in found} == {StoreError}
    assert len({id(one) for one in found}) == 50
    resumed(store, 0)


def test_what_is_left_for_later_outlasts_a_fault(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite()
    with locked(database):
        store.later(add("end", 1))
        refused(store, "locked")
        refused(store, "locked")
    assert store.transact(add()) == 2
    assert [entry.kind for entry in records(store)] == ["end", "message"]


def test_what_is_left_for_later_is_not_tried_all_the_time(
    open_sqlite: OpenSqlite, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_sqlite(busy_seconds=0.01)
    tried, asleep = threading.Event(), threading.Event()
    begin = Session.begin

    def begun(session: Session, deadline: float) -> Any:
        asleep.clear()
        tried.set()
        return begin(session, deadline)

    class Watched(SimpleQueue[Any]):
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            if timeout is None:
                asleep.set()
            return super().get(block, timeout)

    former, store._writer._queue = store._writer._queue, Watched()
    former.put(_NUDGE)  # who waits there goes on with the other one
    monkeypatch.setattr(Session, "begin", begun)
    with locked(database):
        store.later(add("end", 1))
        assert tried.wait(10)
        assert asleep.wait(2)
    assert store.transact(add()) == 2


def test_closing_a_store_that_cannot_be_used_neither_raises_nor_hangs(open_sqlite: OpenSqlite, database: Path) -> None:
    store = open_sqlite(busy_seconds=0.2)
    began = time.monotonic()
    with locked(database):
        store.later(add())
        store.close()
    assert time.monotonic() - began < 60


def test_a_mistake_of_one_work_is_no_fault_of_the_database(open_sqlite: OpenSqlite) -> None:
    store = open_sqlite()
    for mistake, error in (
        (lambda tables: tables.append("message", 2**70, BODY), OverflowError),
        (lambda tables: tables.append("message", 0, b"\xff"), UnicodeDecodeError),
        (lambda tables: tables.pin("\ud800", "x"), UnicodeEncodeError),
        (lambda tables: tables.pin("tool", None), sqlite3.IntegrityError),
        (lambda tables: tables.pin("tool", object()), sqlite3.ProgrammingError),
    ):
        with pytest.raises(error):
            store.transact(mistake)
    resumed(store, 0)


@pytest.mark.promise("A-04")
def test_files_left_by_a_reader_while_it_was_read_only_do_not_stay_read_only(tmp_path: Path) -> None:
    path = tmp_path / "audit.db"
    store = SqliteStore(str(path))
    store.transact(lambda tables: tables.append("message", 0, b"{}"))
    store.close()
    left = [path.with_name(path.name + end) for end in ("-wal", "-shm")]
    for file in left:  # as a reader leaves them that could not write the database itself
        file.touch()
        file.chmod(0o400)
    open_up(str(path))
    assert [file.stat().st_mode & 0o777 for file in left] == [0o600, 0o600]
    again = SqliteStore(str(path))
    assert again.transact(lambda tables: tables.append("message", 0, b"{}")) == 2
    again.close()


@pytest.mark.parametrize(
    ("error", "fault", "help"),
    [
        (OSError(errno.ENOSPC, "no"), "full", "once there is space again"),
        (OSError(errno.EDQUOT, "no"), "full", "once there is space again"),
        (OSError(errno.EROFS, "no"), "read-only", "writable for this user"),
        (OSError(errno.EACCES, "no"), "read-only", "writable for this user"),
        (OSError(errno.EIO, "no"), "failed", "once that is fixed"),
        (sqlite_error(5), "locked", "once that process releases it"),
        (sqlite_error(8), "read-only", "writable for this user"),
        (sqlite_error(11), "corrupt", "`rightcall audit adopt --store "),
        (sqlite_error(13), "full", "once there is space again"),
        (sqlite_error(26), "corrupt", "`rightcall audit adopt --store "),
        (sqlite_error(1), "failed", "once that is fixed"),
        (StoreError("as it is", "closed"), "closed", "as it is"),
    ],
)
def test_every_fault_says_what_would_help(error: Exception, fault: str, help: str, tmp_path: Path) -> None:
    told = fault_of(error, str(tmp_path / "audit.db"))
    assert told is not error
    assert told.fault == fault
    assert help in str(told)
    assert ("audit adopt" in str(told)) is (fault == "corrupt")
