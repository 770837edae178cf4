"""An empty, deleted, foreign or older audit is an error that names the way out, never a new beginning."""

import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from rightcall.errors import StoreError
from rightcall.policy import trust
from rightcall.policy.types import Grant
from rightcall.record.identity import kept_head
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import ManualClock
from rightcall.record.verify import verify_audit
from rightcall.server.access import TokenRequest, make_token, revoke_tokens
from support.store_process import Start, heard
from support.stores import OpenSqlite, add, not_opened, records

pytestmark = pytest.mark.promise("A-03", "A-04")


def count_of(path: Path) -> int:
    with closing(SqliteStore(path)) as store:
        return len(records(store))


def filled(path: Path, count: int = 3) -> None:
    with closing(SqliteStore(path)) as store:
        for _ in range(count):
            store.transact(add())


def beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)


def cut_to_nothing(path: Path) -> None:
    path.write_bytes(b"")


def deleted(path: Path) -> None:
    path.unlink()


def deleted_with_its_key(path: Path) -> None:
    path.unlink()
    beside(path, ".key").unlink()
    beside(path, "-head").unlink()


def another(path: Path) -> None:
    filled(path.with_name("other.db"), 9)
    os.replace(path.with_name("other.db"), path)


def another_and_no_head(path: Path) -> None:
    another(path)
    beside(path, "-head").unlink()


def another_without_a_name(path: Path) -> None:
    """As a version wrote it that gave stores no name yet, or as somebody made it."""
    another(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM meta WHERE name = 'store'")


def an_older_copy(path: Path) -> None:
    shutil.copy(path, path.with_name("copy"))
    filled(path)
    os.replace(path.with_name("copy"), path)


def a_cut_tail(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM audit WHERE seq = 3")


def another_key(path: Path) -> None:
    beside(path, ".key").write_bytes(os.urandom(32))


def no_key(path: Path) -> None:
    beside(path, ".key").unlink()


def another_with_all_its_files(path: Path) -> None:
    another(path)
    for end in (".key", "-head", "-runs"):
        os.replace(path.with_name(f"other.db{end}"), beside(path, end))


def another_to_a_stranger(path: Path) -> None:
    """To a user whose ledger does not know what was here."""
    another(path)
    trust.forget("stores", str(path))


def another_without_a_name_to_a_stranger(path: Path) -> None:
    another_without_a_name(path)
    trust.forget("stores", str(path))


ANOTHER = "it is not the audit that you used here before: another one was put in its place"
CASES: list[tuple[Callable[[Path], None], str]] = [
    (cut_to_nothing, "it is empty, but audit.db.key beside it shows that there was one"),
    (deleted, "it is gone, but audit.db.key beside it shows that there was one"),
    (deleted_with_its_key, "it is gone, but audit.db-runs beside it shows that there was one"),
    (another, ANOTHER),
    (another_and_no_head, ANOTHER),
    (another_without_a_name, ANOTHER),
    (another_with_all_its_files, ANOTHER),
    (another_to_a_stranger, "it is not the audit that audit.db.key belongs to"),
    (another_without_a_name_to_a_stranger, "audit.db-head beside it belongs to another audit"),
    (an_older_copy, "it is an older copy: it ends with record 3, and record 6 was written before"),
    (a_cut_tail, "it is an older copy: it ends with record 2, and record 3 was written before"),
    (another_key, "it is not the audit that audit.db.key belongs to"),
    (no_key, "its key audit.db.key is missing"),
]


@pytest.mark.parametrize(("change", "says"), CASES, ids=[change.__name__ for change, _ in CASES])
def test_it_is_refused_until_somebody_says_that_this_is_the_audit(
    change: Callable[[Path], None], says: str, database: Path
) -> None:
    filled(database)
    change(database)
    there = database.read_bytes() if database.exists() else None
    for _ in range(2):
        message = not_opened(database, "replaced")
        assert says in message
        assert f"`rightcall audit adopt --store {database}`" in message
    assert (database.read_bytes() if database.exists() else None) == there
    with closing(SqliteStore(database, adopting=("anna", "the disk broke"))) as store:
        (entry,) = store.look(lambda tables: tables.newest(1, ("store",)))
        body = json.loads(entry.body)
        assert (body["by"], body["data"]["reason"]) == ("anna", "the disk broke")
        began = change in (cut_to_nothing, deleted, deleted_with_its_key)
        assert (body["what"], entry.seq == 1) == (("begun anew" if began else "adopted"), began)
        assert store.look(verify_audit).ok
    filled(database)


@pytest.mark.parametrize("found", [False, True], ids=["named", "found"])
def test_what_another_store_permitted_does_not_count_once_it_is_adopted(
    database: Path, found: bool, caplog: pytest.LogCaptureFixture
) -> None:
    filled(database)
    with closing(SqliteStore(database.with_name("other.db"))) as other:
        other.transact(lambda tables: tables.put_grant(Grant("g-1", "c", "t", {}, 5, 2**62, "Ada", "", "")))
    another_with_all_its_files(database)
    not_opened(database, "replaced", found=found)
    with closing(SqliteStore(database, adopting=("anna", ""))):
        assert "grants, tokens and people that were in it do not count" in caplog.text
    with closing(SqliteStore(database, found=True)) as store:
        assert store.look(lambda tables: tables.all_grants()) == []


def test_an_audit_that_was_taken_away_whole_begins_anew_with_a_warning(
    database: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled(database)
    assert not caplog.records
    shutil.rmtree(database.parent)
    filled(database)
    assert f"the audit log {database}, which you used before, is gone: a new one begins" in caplog.text
    filled(database)


def test_a_store_that_was_never_there_begins_without_a_word(database: Path) -> None:
    filled(database)
    with closing(SqliteStore(database)) as store:
        assert [entry.kind for entry in records(store)] == ["message"] * 3
    shutil.rmtree(database.parent)
    filled(database)


def test_files_that_are_put_back_together_are_welcome(database: Path, tmp_path: Path) -> None:
    filled(database)
    shutil.copytree(database.parent, tmp_path / "backup")
    filled(database)
    shutil.rmtree(database.parent)
    shutil.copytree(tmp_path / "backup", database.parent)
    filled(database)
    assert count_of(database) == 6  # three of the backup, and three since


def test_a_killed_process_never_looks_like_somebody_who_cheats(
    start: Start,
    database: Path,
) -> None:
    for _ in range(3):
        child = start("write")
        for _ in range(20):
            heard(child)
        child.send_signal(signal.SIGKILL)
        child.wait(60)
    store = SqliteStore(database)
    assert store.transact(add()) > 60
    store.close()


def test_the_head_is_written_every_few_seconds_and_at_the_end(
    open_sqlite: OpenSqlite, database: Path, clock: ManualClock
) -> None:
    store = open_sqlite()
    for seconds, known in ((0, None), (1, None), (5, 2), (1, 2)):
        clock.advance(seconds)
        store.transact(add())
        head = kept_head(str(database))
        assert (None if head is None else head[0]) == known
    store.close()
    head = kept_head(str(database))
    assert head is not None
    assert head[0] == 4


def test_a_head_that_was_half_written_is_none(database: Path) -> None:
    filled(database)
    beside(database, "-head").write_bytes(beside(database, "-head").read_bytes()[:40])
    filled(database)
    assert kept_head(str(database)) is not None


def test_pruning_everything_is_no_older_copy(database: Path) -> None:
    filled(database)
    with closing(SqliteStore(database)) as store:
        store.transact(lambda tables: tables.remove_through(3))
    filled(database, 0)
    assert count_of(database) == 0


def test_a_database_of_an_earlier_version_is_taken_as_it_is(database: Path) -> None:
    filled(database)
    beside(database, "-head").unlink()
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("DELETE FROM meta WHERE name = 'store'")
    filled(database)
    assert count_of(database) == 6
    another_key(database)
    not_opened(database, "replaced")


@pytest.mark.promise("P-08", "A-03")
def test_what_was_taken_back_does_not_return_with_an_older_copy_of_the_whole_folder(tmp_path: Path) -> None:
    """Everything beside the database is as old as it is; only the user's own ledger knows better."""
    path = tmp_path / "kept" / "audit.db"
    with closing(SqliteStore(path)) as store:
        store.transact(lambda tables: make_token(tables, TokenRequest("ann", "anna")))
    shutil.copytree(path.parent, tmp_path / "copy")
    with closing(SqliteStore(path)) as store:
        store.transact(lambda tables: revoke_tokens(tables, "anna", caller="ann"))
    shutil.rmtree(path.parent)
    shutil.copytree(tmp_path / "copy", path.parent)
    with pytest.raises(StoreError, match="older copy") as refused, closing(SqliteStore(path)) as store:
        store.transact(lambda tables: tables.tokens())
    assert refused.value.fault == "replaced"
    with closing(SqliteStore(path, adopting=("anna", ""))) as store:
        store.transact(lambda tables: tables.append("message", 0, b'{"what":"message"}'))
    with closing(SqliteStore(path)) as store:
        assert store.look(lambda tables: len(tables.tokens())) == 1  # a person has taken it as it is
