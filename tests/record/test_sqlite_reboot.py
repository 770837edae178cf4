"""The monotonic clock starts at zero with the machine. What was counted and what was allowed for a time goes on as if
it had not, and never in favour of a call."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rightcall.policy.types import SECOND, Mark
from rightcall.record import sqlite
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import ManualClock
from support.stores import OpenSqlite, add, approval, grant

pytestmark = pytest.mark.promise("P-02", "P-06")

WALL = 1_767_225_600.0
UP = 10_000 * SECOND
"""How long the machine had been up."""


@pytest.fixture
def before(open_sqlite: OpenSqlite, database: Path) -> Path:
    """A store of the time before: started at 10,000 s, used for ten seconds, then the machine went down."""
    clock = ManualClock(UP, WALL)
    store = open_sqlite(at=clock)
    store.transact(lambda tables: tables.mark("all", 1))
    clock.advance(10)
    store.transact(lambda tables: tables.mark("all", 2))
    asked = approval(asked_at=clock.now(), expires_at=clock.now() + 600 * SECOND)
    store.transact(lambda tables: [tables.put_approval(asked), tables.put_grant(grant(expires_at=UP + 3600 * SECOND))])
    store.close()
    return database


def another_boot(path: Path, boot: str = "another") -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        assert connection.execute("UPDATE meta SET value = ? WHERE name = 'boot'", (boot,)).rowcount == 1


def times(store: SqliteStore) -> list[int]:
    """Relative to now: the two marks, when the question was asked, when it expires, when the grant does."""
    now = store.clock.now()
    found = store.look(
        lambda tables: (
            tables.nth_last("all", 2),
            tables.nth_last("all", 1),
            tables.approval("a1"),
            tables.all_grants(),
        )
    )
    first, second, question, grants = found
    assert isinstance(first, Mark)
    assert isinstance(second, Mark)
    assert question is not None
    ends = grants[0].expires_at if grants else now  # one whose time is over is no longer there
    stored = (first.at, second.at, question.asked_at, question.expires_at, ends)
    return [(time - now) // SECOND for time in stored]


def test_times_move_by_what_the_wall_clock_says_has_passed(before: Path, open_sqlite: OpenSqlite) -> None:
    another_boot(before)
    store = open_sqlite(at=ManualClock(5 * SECOND, WALL + 100))
    assert times(store) == [-100, -90, -90, 510, 3500]


def test_times_move_once(before: Path, open_sqlite: OpenSqlite) -> None:
    another_boot(before)
    clock = ManualClock(5 * SECOND, WALL + 100)
    open_sqlite(at=clock).close()
    clock.advance(7)
    assert times(open_sqlite(at=clock)) == [-107, -97, -97, 503, 3493]


def test_in_the_same_boot_nothing_moves(before: Path, open_sqlite: OpenSqlite) -> None:
    assert times(open_sqlite(at=ManualClock(UP + 20 * SECOND, WALL + 5000))) == [-20, -10, -10, 590, 3580]


def test_when_the_wall_clock_went_back_nothing_is_older_and_nothing_is_still_allowed(
    before: Path, open_sqlite: OpenSqlite
) -> None:
    another_boot(before)
    store = open_sqlite(at=ManualClock(5 * SECOND, WALL - 3600))
    first, second, asked, question, given = times(store)
    assert (first, second, asked) == (0, 0, 0)
    assert (question, given) == (0, 0)


def test_when_the_wall_clock_went_back_the_time_until_the_machine_went_down_still_counts(
    before: Path, open_sqlite: OpenSqlite
) -> None:
    open_sqlite(at=ManualClock(UP + 100 * SECOND, WALL + 100)).close()
    another_boot(before)
    assert times(open_sqlite(at=ManualClock(5 * SECOND, WALL))) == [-100, -90, -90, 0, 0]


def test_nothing_lies_in_the_future(before: Path, open_sqlite: OpenSqlite) -> None:
    another_boot(before)
    assert times(open_sqlite(at=ManualClock(5 * SECOND, WALL + 2))) == [-2, 0, 0, 608, 3598]


def test_a_date_that_was_set_while_running_does_not_count_as_time(before: Path, open_sqlite: OpenSqlite) -> None:
    clock = ManualClock(UP + 20 * SECOND, WALL + 20)
    store = open_sqlite(at=clock)
    clock.set_wall(WALL + 1_000_000)
    clock.advance(5)
    store.transact(add())
    store.close()
    another_boot(before)
    store = open_sqlite(at=ManualClock(5 * SECOND, WALL + 1_000_000 + 5 + 30))
    assert times(store) == [-55, -45, -45, 555, 3545]


def test_without_a_boot_id_times_in_the_future_tell(
    before: Path, open_sqlite: OpenSqlite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_BOOT", before / "nowhere")
    another_boot(before, "")
    store = open_sqlite(at=ManualClock(5 * SECOND, WALL + 100))
    assert times(store) == [-100, -90, -90, 510, 3500]
    store.close()
    assert times(open_sqlite(at=ManualClock(65 * SECOND, WALL + 160))) == [-160, -150, -150, 450, 3440]


def test_a_boot_has_an_id_that_stays() -> None:
    assert sqlite.boot_id() == sqlite.boot_id()
    assert len(sqlite.boot_id()) in (0, 36)
