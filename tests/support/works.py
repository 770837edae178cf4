"""Small works on the tables, and the records they write, for tests of the store."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from rightcall.policy.types import MINUTE, Approval, Grant, Token
from rightcall.record.sqlite import SqliteStore
from rightcall.record.tables import START, AuditEntry, CallBody, Clock, EndBody, EntryKind, Store, Tables, encode, link

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
