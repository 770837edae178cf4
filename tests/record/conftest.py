"""Both backends of the store, for every test that asks for `store`: the contract is one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import Clock, ManualClock, Store
from support.works import OpenSqlite


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(start=10_000_000_000_000)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "audit.db"


@pytest.fixture
def open_sqlite(database: Path, clock: ManualClock) -> Iterator[OpenSqlite]:
    """Stores on the same file, as many as a test wants; they are closed afterwards."""
    opened: list[SqliteStore] = []

    def open_one(path: Path = database, at: Clock = clock, busy_seconds: float = 0.2) -> SqliteStore:
        store = SqliteStore(path, at, busy_seconds=busy_seconds)
        opened.append(store)
        return store

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, clock: ManualClock) -> Iterator[Store]:
    if request.param == "sqlite":
        yield request.getfixturevalue("open_sqlite")()
    else:
        made = MemoryStore(clock)
        yield made
        made.close()
