"""Once an approval is used, denied or expired, no byte of its call is on disk; the same for a grant's conditions."""

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from rightcall.errors import AnswerError, StoreError
from rightcall.policy.decide import decide
from rightcall.policy.types import SECOND
from rightcall.record.admission import ApprovalQuestion, ask, give_grant, revoke_grant
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import ManualClock
from support.approvals import Desk, Discreet, request_of, say, try_call
from support.store_process import Start, heard
from support.stores import OpenSqlite, add, grant

pytestmark = pytest.mark.promise("P-06", "A-02")

SECRET = "Zq8hunter2"
CALL = {"path": "a", "content": SECRET * 2000}
"""Long enough for pages of its own in a database."""


def holding(folder: Path, text: str = SECRET) -> list[str]:
    """The files below a folder that hold this text."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(str(path.relative_to(folder)) for path in files if text.encode() in path.read_bytes())


@pytest.fixture
def desk(open_sqlite: OpenSqlite) -> Desk:
    return Discreet(open_sqlite())


def details(text: str = SECRET) -> str:
    return f'{{"preview": "{text}"}}'


def test_a_call_that_waits_is_kept_beside_the_database_for_its_owner_alone(desk: Desk, database: Path) -> None:
    asked = desk.ask(CALL, details=details())
    (file,) = holding(database.parent)
    assert file.startswith("audit.db-private/")
    path = database.parent / file
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    kept = desk.store.look(lambda tables: tables.approval(asked))
    assert kept is not None
    assert SECRET in kept.canonical
    assert SECRET in kept.details


@pytest.mark.parametrize("end", ["used", "denied", "expired", "answer expired", "definition"])
def test_nothing_of_it_is_on_disk_afterwards(desk: Desk, database: Path, end: str, clock: ManualClock) -> None:
    if end == "definition":
        desk.store.transact(lambda tables: tables.pin("file/save", "1" * 64))
        asked = desk.ask({"path": "a"}, described=f'{{"default": "{SECRET}"}}', details=details())
    else:
        asked = desk.ask(CALL, details=details())
    assert holding(database.parent)
    if end in ("used", "answer expired"):
        say(desk.store, asked)
        assert holding(database.parent)
    match end:
        case "used":
            assert desk.try_(CALL).decision.approval == asked
        case "denied" | "definition":
            say(desk.store, asked, "denied")
        case _:
            clock.advance(601)
            desk.store.transact(add())
    assert holding(database.parent) == []
    assert desk.store.look(lambda tables: tables.approvals("waiting", "approved")) == []
    desk.store.close()
    assert holding(database.parent) == []


def test_a_process_that_is_killed_leaves_nothing_that_the_next_one_does_not_remove(
    start: Start,
    database: Path,
) -> None:
    child = start("denied_and_killed", SECRET)
    assert heard(child) == "denied"
    child.wait(60)
    assert holding(database.parent) != []  # it was killed between the commit and the removal
    store = SqliteStore(database)
    assert holding(database.parent) == []
    store.close()


def test_a_question_that_was_taken_back_leaves_nothing(desk: Desk, database: Path) -> None:
    request = request_of(CALL, at=desk.now)

    def half(tables: object) -> None:
        ask(tables, request, decide(request, tables), ApprovalQuestion(details()))  # pyright: ignore[reportArgumentType]
        raise LookupError

    with pytest.raises(LookupError):
        desk.store.transact(half)
    assert holding(database.parent) == []


def test_a_grant_that_is_used_up_revoked_or_over_leaves_nothing(desk: Desk, database: Path, clock: ManualClock) -> None:
    def give(id: str) -> None:
        where = {"content": CALL["content"]}
        made = grant(id, where=where, uses=1, note=f"note {SECRET}", expires_at=clock.now() + 60 * SECOND, by="anna")
        desk.store.transact(lambda tables: give_grant(tables, made))
        assert holding(database.parent) != []

    give("used")
    assert desk.try_(CALL).decision.grant == "used"
    assert holding(database.parent) == []
    give("revoked")
    desk.store.transact(lambda tables: revoke_grant(tables, "revoked", "anna"))
    assert holding(database.parent) == []
    give("over")
    clock.advance(61)
    desk.store.transact(add())
    assert holding(database.parent) == []
    assert desk.store.look(lambda tables: tables.all_grants()) == []


def test_a_text_that_somebody_took_away_is_not_approved_and_grants_nothing(desk: Desk, database: Path) -> None:
    made = grant("g1", where={"path": "b"}, uses=2, expires_at=desk.now + 60 * SECOND, by="anna")
    desk.store.transact(lambda tables: give_grant(tables, made))
    asked = desk.ask(CALL)
    for path in (database.parent / "audit.db-private").iterdir():
        path.unlink()
    with pytest.raises(AnswerError, match="no longer kept beside the database, so it cannot be approved"):
        say(desk.store, asked)
    assert desk.try_({"path": "b"}).decision.kind == "ask"
    say(desk.store, asked, "denied")


def test_a_call_that_cannot_be_kept_is_not_asked_about(desk: Desk, database: Path) -> None:
    (database.parent / "audit.db-private").write_text("no folder")
    with pytest.raises(StoreError, match="cannot be used"):
        desk.ask(CALL)
    os.unlink(database.parent / "audit.db-private")
    assert desk.ask(CALL)


def test_a_link_in_its_place_is_neither_read_nor_written(desk: Desk, database: Path, tmp_path: Path) -> None:
    asked = desk.ask(CALL)
    (path,) = (database.parent / "audit.db-private").iterdir()
    other = tmp_path / "other.json"
    other.write_text('["{\\"name\\": \\"harmless\\"}", "{}"]')
    path.unlink()
    path.symlink_to(other)
    kept = desk.store.look(lambda tables: tables.approval(asked))
    assert kept is not None
    assert kept.canonical == ""


def test_a_question_in_a_database_of_an_earlier_version_is_still_shown(
    desk: Desk, database: Path, clock: ManualClock
) -> None:
    asked = desk.ask({"path": "a"})
    desk.store.close()
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("UPDATE approvals SET canonical = '{}', details = '{}'")
    store = SqliteStore(database, clock)
    kept = store.look(lambda tables: tables.approval(asked))
    assert kept is not None
    assert kept.canonical == "{}"
    assert try_call(store, request_of({"path": "a"}, at=clock.now())).decision.approval == asked
    store.close()
