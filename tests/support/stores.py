"""Stores for tests that have to hold for every backend, and hands that change an audit behind its back."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import START, ManualClock, link
from support.audits import NOON, Diary

KINDS = ("memory", "sqlite")


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[Diary]:
    clock = ManualClock(wall=NOON)
    if kind == "memory":
        yield Diary(MemoryStore(clock), clock)
        return
    with closing(SqliteStore(folder / "audit.db", clock)) as store:
        yield Diary(store, clock)


def tamper(file: Path, *statements: str) -> None:
    """What somebody with access to the file and those beside it can do."""
    file.with_name(f"{file.name}-head").unlink(missing_ok=True)
    with closing(sqlite3.connect(file)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def forge(file: Path, first: int = 1, last: int = 1_000_000) -> None:
    """Computes the hashes of these records anew, so that they fit again what stands before them."""
    file.with_name(f"{file.name}-head").unlink(missing_ok=True)
    with closing(sqlite3.connect(file)) as connection:
        before = connection.execute("SELECT hash FROM audit WHERE seq = ?", (first - 1,)).fetchone()
        head = before[0] if before else START
        rows = connection.execute(
            "SELECT seq, kind, call, at, CAST(body AS BLOB) FROM audit WHERE seq BETWEEN ? AND ? ORDER BY seq",
            (first, last),
        ).fetchall()
        for seq, kind, call, at, body in rows:
            head = link(head, seq, kind, call, at, body)
            connection.execute("UPDATE audit SET hash = ? WHERE seq = ?", (head, seq))
        connection.commit()
