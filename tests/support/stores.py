"""Stores for tests that have to hold for every backend: works on their tables, audits written by hand, hands that
change one behind its back, and what a store that cannot be used must do."""

import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightcall.errors import StoreError, StoreFault
from rightcall.policy.types import MINUTE, Approval, Credential, Grant, Token
from rightcall.record.memory import MemoryStore
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import (
    START,
    AuditEntry,
    CallBody,
    Clock,
    EndBody,
    EntryKind,
    ManualClock,
    Store,
    Tables,
    encode,
    link,
)
from support.postgres import ON_SERVERS, shared

NOON = 1_767_268_800.0
"""2026-01-01 12:00:00 UTC"""


class Diary:
    """A store with a clock that is moved by hand, and short words to write records into it."""

    def __init__(self, store: Store | None = None, clock: ManualClock | None = None) -> None:
        self.clock = clock or ManualClock(wall=NOON)
        self.store = store or MemoryStore(self.clock)

    @property
    def now(self) -> str:
        return self.clock.wall()

    def begin(self, caller: str = "ada", tool: str = "code/read", **more: Any) -> int:
        body = CallBody(caller, tool, {}, "d" * 64, "allow", more.pop("rule", "stage:read-only"), **more)
        return self.store.transact(lambda tables: tables.append("begin", 0, encode(body)))

    def end(self, call: int, time: float = 1.0, status: Any = "success", **more: Any) -> int:
        body = EndBody(status, time, **more)
        return self.store.transact(lambda tables: tables.append("end", call, encode(body)))

    def ran(self, caller: str = "ada", tool: str = "code/read", time: float = 1.0, **more: Any) -> int:
        """A call that began and succeeded."""
        call = self.begin(caller, tool, **more)
        self.end(call, time)
        return call

    def failed(self, caller: str = "ada", tool: str = "code/read", time: float = 1.0, error: str | None = None) -> int:
        call = self.begin(caller, tool)
        self.end(call, time, "failed", error=error)
        return call

    def refused(self, caller: str = "ada", tool: str = "code/read", rule: str = "allowlist", **more: Any) -> int:
        body = CallBody(caller, tool, {}, "d" * 64, "deny", rule, **more)
        return self.store.transact(lambda tables: tables.append("refused", 0, encode(body)))

    def waiting(self, caller: str = "ada", tool: str = "file/save") -> int:
        body = CallBody(caller, tool, {}, "d" * 64, "ask", "approval:effects", approval="a1")
        return self.store.transact(lambda tables: tables.append("waiting", 0, encode(body)))


KINDS = ("memory", "sqlite", *ON_SERVERS)


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[Diary]:
    clock = ManualClock(wall=NOON)
    if kind == "memory":
        yield Diary(MemoryStore(clock), clock)
        return
    if kind != "sqlite":
        from rightcall.record.postgres import PostgresStore

        with (
            shared(kind).database() as url,
            closing(PostgresStore(url, clock, silent_seconds=30, busy_seconds=30)) as store,
        ):
            yield Diary(store, clock)
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


OpenSqlite = Callable[..., SqliteStore]
"""What the fixture `open_sqlite` is: another store on the same file."""

BODY = encode({"what": "test"})


def add(kind: EntryKind = "message", call: int = 0, body: bytes = BODY) -> Callable[[Tables], int]:
    return lambda tables: tables.append(kind, call, body)


def records(store: Store, **which: Any) -> list[AuditEntry]:
    return store.look(lambda tables: list(tables.entries(**which)))


def numbers(entries: list[AuditEntry]) -> list[int]:
    return [entry.seq for entry in entries]


def chained(entries: list[AuditEntry], before: bytes = START) -> bool:
    """Whether each hash covers its record and the hash before."""
    for entry in entries:
        if entry.hash != link(before, entry.seq, entry.kind, entry.call, entry.at, entry.body):
            return False
        before = entry.hash
    return True


def admitted(clock: Clock, limit: int, scope: str = "all") -> Callable[[Tables], bool]:
    """One attempt against so many a minute: the window is asked and marked in one transaction."""
    at = clock.now()

    def attempt(tables: Tables) -> bool:
        nth = tables.nth_last(scope, limit)
        if nth is not None and nth.at > at - MINUTE:
            tables.append("refused", 0, BODY)
            return False
        tables.mark(scope, tables.append("begin", 0, BODY))
        return True

    return attempt


def begin_body(**changes: Any) -> bytes:
    body = CallBody(
        caller="teacher", tool="code/read", params={"path": "a.py"}, digest="d" * 64, decision="allow",
        rule="stage:read-only", context="plan-1", step="2", effects=("read",),
    )  # fmt: skip
    return encode(replace(body, **changes))


def end_body(status: Any = "success", **more: Any) -> bytes:
    return encode(EndBody(status, **more))


def approval(id: str = "a1", **changes: Any) -> Approval:
    made = Approval(
        id=id, kind="call", caller="teacher", tool="file/save", canonical='{"name":"file/save"}', digest="d" * 64,
        binding="b" * 64, definition="e" * 64, state="s", why="effect:write: it writes", details="{}",
        asked_at=5, asked="2026-01-01 00:00:00.000", expires_at=600,
    )  # fmt: skip
    return replace(made, **changes)


def grant(id: str = "g1", **changes: Any) -> Grant:
    made = Grant(id, "teacher", "file/save", {"path": "docs/*"}, 3, 900, "ann", "2026-01-01 00:00:00.000", "for docs")
    return replace(made, **changes)


def token(id: str, **changes: Any) -> Token:
    made = Token(id, "teacher", f"digest of {id}", "", "ann", "2026-01-01 00:00:00.000")
    return replace(made, **changes)


def credential(id: str, **changes: Any) -> Credential:
    made = Credential(id, "person", "ann", "approve", f"digest of {id}", "", "ann", "2026-01-01 00:00:00.000")
    return replace(made, **changes)


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


@contextmanager
def disk_of(folder: Path, size: str) -> Iterator[Path]:
    """A folder that is a disk of its own, which can be filled."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False, timeout=10)
    except OSError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip("mounting needs root; other tests limit pages and files instead")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=10)


def fill(disk: Path) -> Path:
    """The file that takes all the room that is left."""
    filler = disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            """Until there is no room for another."""
    return filler
