"""The tables of the rollup, and the file that they are in: `audit.db-rollup`, beside the audit they are counted from.

It is derived: where it is missing, damaged, of another version, or not as we make it, it is made anew. Where it cannot
be written, a copy of it in memory takes its place.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from itertools import compress
from typing import Any, Final, NamedTuple

from msgspec import msgpack

from rightcall.record.counts import LANE, in_slots, lanes_of
from rightcall.record.sqlite_file import as_uri

MINUTE: Final = 16
HOUR: Final = 13
DAY: Final = 10
"""Characters of a time that name its minute, its hour and its day: what comes of a time cut there is a `start`."""
AFTER: Final = "\x7f"
"""Behind every time that begins as what stands before it."""
_BUSY_MS: Final = 2_000

VERSION: Final = 4

SCHEMA = """
CREATE TABLE mark (seq INTEGER NOT NULL, hash BLOB NOT NULL, first INTEGER NOT NULL, generation INTEGER NOT NULL);
CREATE TABLE lines (
    id INTEGER PRIMARY KEY, caller TEXT NOT NULL, tool TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
    UNIQUE (caller, tool, provider, model)
);
CREATE TABLE kinds (
    id INTEGER PRIMARY KEY, line INTEGER NOT NULL, kind TEXT NOT NULL, decision TEXT NOT NULL, rule TEXT NOT NULL,
    strategy TEXT NOT NULL, UNIQUE (line, kind, decision, rule, strategy)
);
CREATE TABLE contexts (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE errors (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE calls (
    seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind INTEGER NOT NULL, context INTEGER, status TEXT NOT NULL,
    time REAL, tokens INTEGER NOT NULL, cached INTEGER NOT NULL, error INTEGER
);
CREATE INDEX calls_context ON calls (context, seq) WHERE context IS NOT NULL;
CREATE INDEX calls_open ON calls (seq) WHERE status = 'pending';
CREATE TABLE cells (
    start TEXT NOT NULL, part TEXT NOT NULL, name TEXT NOT NULL, calls INTEGER NOT NULL, refused INTEGER NOT NULL,
    waiting INTEGER NOT NULL, proxied INTEGER NOT NULL, succeeded INTEGER NOT NULL, failed INTEGER NOT NULL,
    interrupted INTEGER NOT NULL, cached INTEGER NOT NULL, tokens INTEGER NOT NULL, total REAL NOT NULL,
    slots BLOB NOT NULL, repairs BLOB NOT NULL, faults BLOB NOT NULL, PRIMARY KEY (start, part, name)
) WITHOUT ROWID;
CREATE TABLE rules (
    start TEXT NOT NULL, caller TEXT NOT NULL, kind TEXT NOT NULL, rule TEXT NOT NULL, times INTEGER NOT NULL,
    PRIMARY KEY (start, caller, kind, rule)
) WITHOUT ROWID;
CREATE TABLE spans (
    start TEXT PRIMARY KEY, first TEXT NOT NULL, last TEXT NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL,
    calls INTEGER NOT NULL, passed INTEGER NOT NULL, rows INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX spans_hours ON spans (start) WHERE length(start) = 13;
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY, at TEXT NOT NULL, what TEXT NOT NULL, caller TEXT NOT NULL, context TEXT, task TEXT,
    used INTEGER, correct INTEGER, turns INTEGER NOT NULL, tool_turns INTEGER NOT NULL, begun INTEGER NOT NULL,
    begun_at TEXT NOT NULL, earlier INTEGER NOT NULL
);
CREATE INDEX messages_at ON messages (what, at);
CREATE INDEX messages_task ON messages (at) WHERE task IS NOT NULL;
CREATE INDEX messages_of ON messages (caller, context, seq);
CREATE TABLE damaged (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, caller TEXT NOT NULL, why TEXT NOT NULL)
"""
"""A line is a caller, a tool and who wrote the call; a kind is a line and what was decided, so that a filter is a set
of kinds. `cells` are calls within an hour, or within a day that is over: all of them, those of each caller, tool,
provider and model, and those of each line (`PARTS`). With their numbers they have three counters: how
long calls took in `slots`, `repairs` by strategy (but `direct`; calls lifted from the text among them), and `faults` by
error. `rules` are the same by rule. `spans` says of minutes, hours and such days when their first and their last call
was, between which numbers all of them are, and how many `passed` through the proxy: calls need no index by time or
kind, which would cost more than all the rest. Of a message are known the call of its caller and context that began
last, and the message `earlier`."""

TABLES = ("lines", "kinds", "contexts", "errors", "calls", "cells", "rules", "spans", "messages", "damaged")
NUMBERS = (
    "calls", "refused", "waiting", "proxied", "succeeded", "failed", "interrupted", "cached", "tokens", "total"
)  # fmt: skip
COUNTERS = ("slots", "repairs", "faults")
CELL: Final = ", ".join((*NUMBERS, *COUNTERS))
PARTS: Final = ("caller", "tool", "provider", "model")
"""Of a line. In `cells` the empty part stands for all calls, and `LINE` for those of one line, by its number."""
LINE: Final = "line"

read_faults = msgpack.Decoder(dict[int, int]).decode
read_repairs = msgpack.Decoder(dict[str, int]).decode
write_counter = msgpack.Encoder().encode

_DENSE: Final = b"\xc1"
"""Before slots of which most between the first and the last are taken: no MessagePack begins so."""


def write_slots(slots: int) -> bytes:
    """As a map where they are few, else as they are: that is read in a twentieth of the time."""
    slots = max(0, slots)  # a file that somebody edited has less than is taken off
    lanes = lanes_of(slots)
    taken = list(compress(range(len(lanes)), lanes))
    first = taken[0] if taken else 0
    if 3 * len(taken) < len(lanes) - first:
        return write_counter({slot: lanes[slot] for slot in taken})
    return (
        _DENSE
        + first.to_bytes(2, "little")
        + (slots >> first * LANE).to_bytes((len(lanes) - first) * LANE // 8, "little")
    )


def read_slots(kept: bytes) -> int:
    """
    >>> [read_slots(write_slots(slots)) == slots for slots in (0, in_slots({99: 1}), in_slots({4: 2, 5: 300, 7: 1}))]
    [True, True, True]
    """
    if kept[:1] == _DENSE:
        return int.from_bytes(kept[3:], "little") << int.from_bytes(kept[1:3], "little") * LANE
    return in_slots(read_faults(kept))


_PLACES: Final = 500
AMONG: Final = f"({', '.join('?' * _PLACES)})"


def in_places(numbers: Iterable[int]) -> Iterator[list[int]]:
    """As many at a time as `AMONG` has places for: statements that are always the same are prepared once."""
    some = sorted(numbers)
    for first in range(0, len(some), _PLACES):
        part = some[first : first + _PLACES]
        yield part + part[-1:] * (_PLACES - len(part))


class CountedRow(NamedTuple):
    """A row of `calls`."""

    seq: int
    at: str
    kind: int
    context: int | None
    status: str
    time: float | None
    tokens: int
    cached: int
    error: int | None


ROWS = f"SELECT {', '.join(CountedRow._fields)} FROM calls"


# ── the file ──


def opened(path: str) -> sqlite3.Connection:
    """The file, made where it is missing, and made anew where it is not ours; memory where that cannot be."""
    for _ in range(2):
        connection = None
        try:
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600))
            connection = _connect(f"{as_uri(path)}?mode=rw")
            connection.execute("PRAGMA journal_mode = WAL")
            if _made(connection):
                return connection
            newer = _version(connection) > VERSION
            connection.close()
            if newer:
                break
        except (sqlite3.Error, OSError) as error:
            if connection is not None:
                connection.close()
            if not _is_damage(error):
                break
        for end in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(f"{path}{end}")
    return in_memory(path)


def _is_damage(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def in_memory(path: str | None) -> sqlite3.Connection:
    """Beginning with what the file knows, where there is one."""
    connection = _connect("file::memory:")
    if path is not None and os.path.isfile(path):
        with suppress(sqlite3.Error):
            source = _connect(f"{as_uri(path)}?mode=ro")
            try:
                if _is_ours(source):
                    source.backup(connection)
                    return connection
            finally:
                source.close()
            connection.close()
            connection = _connect("file::memory:")
    _made(connection)
    return connection


def _connect(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        address, uri=True, isolation_level=None, cached_statements=128, check_same_thread=False
    )
    for pragma in (
        f"busy_timeout = {_BUSY_MS}", "trusted_schema = OFF", "cell_size_check = ON", "synchronous = NORMAL",
        "temp_store = MEMORY", "cache_size = -32000", "journal_size_limit = 16777216",
    ):  # fmt: skip
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _made(connection: sqlite3.Connection) -> bool:
    """Whether the tables are there, made just now where there was nothing."""
    if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in SCHEMA.split(";\n"):
                    connection.execute(statement)
                connection.execute("INSERT INTO mark VALUES (0, x'', 0, 0)")
                connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("COMMIT")
        finally:
            connection.rollback()
    return _is_ours(connection)


def _is_ours(connection: sqlite3.Connection) -> bool:
    return _version(connection) == VERSION and _objects(connection) == _ours()


def _version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


@cache
def _ours() -> frozenset[tuple[Any, ...]]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(SCHEMA)
        return _objects(connection)
    finally:
        connection.close()


def _objects(connection: sqlite3.Connection) -> frozenset[tuple[Any, ...]]:
    found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    return frozenset(one for one in found if not str(one[1]).startswith("sqlite_"))
