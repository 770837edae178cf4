"""What a store that cannot be used must do, and a lock to bring it there."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from rightcall.errors import StoreError, StoreFault
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import Store
from support.works import add, chained, numbers, records


def refused(store: Store, fault: StoreFault) -> str:
    began = time.monotonic()
    with pytest.raises(StoreError) as raised:
        store.transact(add("refused"))
    assert time.monotonic() - began < 60  # no hanging; a busy machine may be slow
    assert raised.value.fault == fault
    assert "Nothing was run." in str(raised.value)
    return str(raised.value)


def not_opened(path: Path, fault: StoreFault, *, found: bool = False) -> str:
    with pytest.raises(StoreError) as raised:
        SqliteStore(path, busy_seconds=0.1, found=found)
    assert raised.value.fault == fault
    assert str(path) in str(raised.value)
    return str(raised.value)


def resumed(store: Store, count: int) -> None:
    """The next record follows on those that were acknowledged, and on nothing else."""
    assert store.transact(add()) == count + 1
    found = records(store)
    assert numbers(found) == list(range(1, count + 2))
    assert all(entry.kind == "message" for entry in found)
    assert chained(found)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
