"""Starts in scopes: what limits and repeats are counted by. They are exact, whoever asks at the same time."""

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from rightcall.policy.types import HOUR, SECOND, Mark, count_since
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import ManualClock, Store, SystemClock, Tables
from support.stores import OpenSqlite, admitted

pytestmark = pytest.mark.promise("P-02", "S-01")


def mark(store: Store, *scopes: str, call: int = 0) -> None:
    store.transact(lambda tables: [tables.mark(scope, call) for scope in scopes])


def nth(store: Store, scope: str, n: int) -> Mark | None:
    return store.look(lambda tables: tables.nth_last(scope, n))


def test_the_nth_last_start_is_known_with_its_record(store: Store, clock: ManualClock) -> None:
    for call in (7, 8, 9):
        mark(store, "all", call=call)
        clock.advance(1)
    start = clock.now() - 3 * SECOND
    assert nth(store, "all", 1) == Mark(start + 2 * SECOND, 9)
    assert nth(store, "all", 3) == Mark(start, 7)
    assert nth(store, "all", 4) is None
    assert nth(store, "another", 1) is None
    assert nth(store, "all", 0) is nth(store, "all", -1) is None


def test_scopes_are_told_apart_by_their_whole_name(store: Store) -> None:
    mark(store, "caller\0ann", "caller\0ann\0x", "caller\0Ann", "caller\0änn")
    for scope in ("caller\0ann", "caller\0ann\0x", "caller\0Ann", "caller\0änn"):
        assert nth(store, scope, 1) is not None
        assert nth(store, scope, 2) is None
    assert nth(store, "caller", 1) is None


def test_a_start_counts_at_once_inside_its_own_transaction(store: Store, clock: ManualClock) -> None:
    def twice(tables: Tables) -> int:
        tables.mark("all", 1)
        tables.mark("all", 2)
        return count_since(tables, "all", clock.now() - HOUR, 10)

    assert store.transact(twice) == 2
    assert store.transact(twice) == 4


def test_a_forgotten_scope_starts_again(store: Store) -> None:
    mark(store, "refused\0ann", "refused\0ann", "refused\0bob")
    store.transact(lambda tables: tables.forget("refused\0ann"))
    store.transact(lambda tables: tables.forget("never heard of"))
    assert nth(store, "refused\0ann", 1) is None
    assert nth(store, "refused\0bob", 1) is not None
    mark(store, "refused\0ann", call=5)
    found = nth(store, "refused\0ann", 1)
    assert found is not None
    assert found.call == 5
    assert nth(store, "refused\0ann", 2) is None


def test_scopes_are_listed_with_the_starts_of_the_last_hour(store: Store, clock: ManualClock) -> None:
    mark(store, "refused\0ann", "refused\0old", "same\0ann")
    clock.advance(3599)
    mark(store, "refused\0ann", "refused\0zoe")
    assert store.look(lambda tables: tables.scopes("refused\0")) == [
        ("refused\0ann", 2),
        ("refused\0old", 1),
        ("refused\0zoe", 1),
    ]
    clock.advance(1)
    assert store.look(lambda tables: tables.scopes("refused\0")) == [("refused\0ann", 1), ("refused\0zoe", 1)]
    assert store.look(lambda tables: tables.scopes("nothing")) == []


def test_what_is_older_than_an_hour_goes_and_nothing_else(store: Store, clock: ManualClock) -> None:
    store.transact(lambda tables: [tables.mark(f"same\0{n}", n) for n in range(3000)])
    mark(store, "all", "all")
    clock.advance(3600)
    mark(store, "all", call=4)
    for _ in range(5):
        store.transact(lambda tables: [tables.mark("all", 5) for _ in range(1000)])
    assert nth(store, "same\0" + "1", 1) is None
    found = nth(store, "all", 5001)
    assert found is not None
    assert found.call == 4
    assert store.look(lambda tables: tables.scopes("")) == [("all", 5001)]


def test_of_a_scope_with_old_and_newer_starts_the_newer_stay(store: Store, clock: ManualClock) -> None:
    store.transact(lambda tables: [tables.mark("all", 1) for _ in range(60)])
    clock.advance(1800)
    store.transact(lambda tables: [tables.mark("all", 2) for _ in range(40)])
    clock.advance(1800)
    for _ in range(300):
        mark(store, "all", call=3)
    assert store.look(lambda tables: tables.scopes("all")) == [("all", 340)]
    found = nth(store, "all", 340)
    assert found is not None
    assert found.call == 2


def test_old_starts_go_faster_than_new_ones_come(open_sqlite: OpenSqlite, clock: ManualClock, database: Path) -> None:
    store = open_sqlite()
    store.transact(lambda tables: [tables.mark(f"same\0{n}", n) for n in range(6000)])
    clock.advance(3600)
    store.transact(lambda tables: [tables.mark("all", n) for n in range(2000)])
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT count(*) FROM windows").fetchone() == (2000,)


def test_processes_that_live_for_one_call_leave_nothing_behind_either(
    open_sqlite: OpenSqlite, clock: ManualClock, database: Path
) -> None:
    for n in range(3):
        store = open_sqlite()
        mark(store, "all", f"same\0{n}")
        store.close()
        clock.advance(1800)
    open_sqlite().close()
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT scope, n FROM windows ORDER BY at").fetchall() == [
            ("all", 3),
            ("same\x002", 1),
        ]


def test_a_limit_by_the_minute_admits_again_when_the_minute_is_over(store: Store, clock: ManualClock) -> None:
    def attempts(count: int) -> int:
        return sum(store.transact(admitted(clock, 10)) for _ in range(count))

    assert attempts(11) == 10
    clock.advance(59.999)
    assert attempts(3) == 0
    clock.advance(0.001)
    clock.set_wall(0.0)
    assert attempts(12) == 10


@pytest.fixture(params=["memory", "sqlite"])
def crowded(request: pytest.FixtureRequest) -> Store:
    """A store by the machine's own clock."""
    if request.param == "memory":
        return MemoryStore()
    return request.getfixturevalue("open_sqlite")(at=SystemClock(), busy_seconds=3.0)


@pytest.mark.promise("P-12")
def test_ten_thousand_attempts_from_eight_threads_admit_exactly_a_hundred(crowded: Store) -> None:
    start = threading.Barrier(8)

    async def at_once(count: int) -> int:
        return sum(await asyncio.gather(*(crowded.atransact(admitted(crowded.clock, 100)) for _ in range(count))))

    def many(_: int) -> int:
        """One by one, and many at a time from an event loop of its own."""
        start.wait()
        one_by_one = sum(crowded.transact(admitted(crowded.clock, 100)) for _ in range(50))
        return one_by_one + sum(asyncio.run(at_once(50)) for _ in range(24))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(many, range(8))) == 100
    assert crowded.look(lambda tables: tables.head()[0]) == 10_000
