"""The rollup: what was counted of the audit, in a SQLite file of its own beside it (`audit.db-rollup`), so that whoever
asks for figures does not pass over a million records each time.

    audit ─▶ catch_up, from the mark on, some thousand records in a transaction ─▶ calls, cells, messages
                                                                                     ▼
                                                                     rollups.py (figures), listing.py (pages of calls)

It is derived and can be deleted at any time: where it is missing, of another version, damaged, or does not know the
record that the audit has at its mark, it is made anew. No decision is ever taken by it, and it is no part of the chain.
Writers pay nothing for it inside their transactions. Where it cannot be written, a copy in memory takes its place.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple

from msgspec import DecodeError, msgpack

from rightcall.record.counts import (
    COUNTED,
    LONGEST_ERROR,
    CountedCall,
    Outcome,
    read_counted,
    read_outcome,
    read_told,
    slot_of,
)
from rightcall.record.notes import HostNote
from rightcall.record.tables import AuditEntry, Tables

MINUTE: Final = 16
HOUR: Final = 13
DAY: Final = 10
"""Characters of a time that name its minute, its hour and its day: what comes of a time cut there is a `start`."""
AFTER: Final = "\x7f"
"""Behind every time that begins as what stands before it."""
_WHOLE: Final = 23
"""Characters of a time; what has others was not written by us, and lies in no period."""
STEP: Final = 10_000
"""Records that are counted in one transaction."""
_BUSY_MS: Final = 2_000
_MOST_TOKENS: Final = 2**40
"""Of one call: sums stay within what a database can hold."""
_REMEMBERED: Final = 50_000

VERSION: Final = 1

_SCHEMA = """
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
    start TEXT NOT NULL, line INTEGER NOT NULL, calls INTEGER NOT NULL, refused INTEGER NOT NULL,
    waiting INTEGER NOT NULL, proxied INTEGER NOT NULL, succeeded INTEGER NOT NULL, failed INTEGER NOT NULL,
    interrupted INTEGER NOT NULL, cached INTEGER NOT NULL, tokens INTEGER NOT NULL, total REAL NOT NULL, slots BLOB,
    PRIMARY KEY (start, line)
) WITHOUT ROWID;
CREATE TABLE faults (
    start TEXT NOT NULL, line INTEGER NOT NULL, error INTEGER NOT NULL, times INTEGER NOT NULL,
    PRIMARY KEY (start, line, error)
) WITHOUT ROWID;
CREATE TABLE repairs (
    start TEXT NOT NULL, line INTEGER NOT NULL, strategy TEXT NOT NULL, times INTEGER NOT NULL,
    PRIMARY KEY (start, line, strategy)
) WITHOUT ROWID;
CREATE TABLE rules (
    start TEXT NOT NULL, caller TEXT NOT NULL, kind TEXT NOT NULL, rule TEXT NOT NULL, times INTEGER NOT NULL,
    PRIMARY KEY (start, caller, kind, rule)
) WITHOUT ROWID;
CREATE TABLE spans (
    start TEXT PRIMARY KEY, first TEXT NOT NULL, last TEXT NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL,
    calls INTEGER NOT NULL, rows INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE messages (
    seq INTEGER PRIMARY KEY, at TEXT NOT NULL, what TEXT NOT NULL, caller TEXT NOT NULL, context TEXT, task TEXT,
    used INTEGER, correct INTEGER, turns INTEGER NOT NULL, tool_turns INTEGER NOT NULL, begun INTEGER NOT NULL,
    begun_at TEXT NOT NULL
);
CREATE INDEX messages_at ON messages (at);
CREATE TABLE damaged (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, caller TEXT NOT NULL, why TEXT NOT NULL)
"""
"""A line is a caller, a tool and who wrote the call; a kind is a line and what was decided, so that a filter is a set
of kinds. `cells` are the calls of a line within an hour, or within a day that is over; with them `faults` by error,
`repairs` by strategy (but `direct`) and `rules`. `spans` says of minutes, hours and such days when their first and
their last call was, and between which numbers all of them are: calls need no index by time or kind, which would cost
more than all the rest."""

_TABLES = (
    "lines", "kinds", "contexts", "errors", "calls", "cells", "faults", "repairs", "rules", "spans", "messages",
    "damaged",
)  # fmt: skip
_NUMBERS = (
    "calls", "refused", "waiting", "proxied", "succeeded", "failed", "interrupted", "cached", "tokens", "total"
)  # fmt: skip
SUMS: Final = ", ".join(f"sum({name})" for name in _NUMBERS)
_UPSERT_CELL = (
    f"INSERT INTO cells VALUES ({', '.join('?' * (len(_NUMBERS) + 3))}) ON CONFLICT (start, line) DO UPDATE SET "
    + ", ".join(f"{name} = cells.{name} + excluded.{name}" for name in _NUMBERS)
    + ", slots = coalesce(excluded.slots, cells.slots)"
)
_UPSERT_SPAN = """
INSERT INTO spans VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (start) DO UPDATE SET
first = CASE WHEN excluded.first < spans.first THEN excluded.first ELSE spans.first END,
last = CASE WHEN excluded.last > spans.last THEN excluded.last ELSE spans.last END,
low = CASE WHEN excluded.low < spans.low THEN excluded.low ELSE spans.low END,
high = CASE WHEN excluded.high > spans.high THEN excluded.high ELSE spans.high END,
calls = spans.calls + excluded.calls, rows = spans.rows + excluded.rows
"""


def _upsert_times(table: str, *key: str) -> str:
    places, names = ", ".join("?" * (len(key) + 1)), ", ".join(key)
    return f"INSERT INTO {table} VALUES ({places}) ON CONFLICT ({names}) DO UPDATE SET times = {table}.times + excluded.times"


_UPSERT_FAULT = _upsert_times("faults", "start", "line", "error")
_UPSERT_REPAIR = _upsert_times("repairs", "start", "line", "strategy")
_UPSERT_RULE = _upsert_times("rules", "start", "caller", "kind", "rule")
_FIND_LINE = "SELECT id FROM lines WHERE caller = ? AND tool = ? AND provider = ? AND model = ?"
_ADD_LINE = "INSERT INTO lines (caller, tool, provider, model) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_FIND_KIND = "SELECT id FROM kinds WHERE line = ? AND kind = ? AND decision = ? AND rule = ? AND strategy = ?"
_ADD_KIND = "INSERT INTO kinds (line, kind, decision, rule, strategy) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_KIND = "SELECT line, kind, caller, rule, strategy FROM kinds JOIN lines ON lines.id = line WHERE kinds.id = ?"
_BEGUN_IN_CONTEXT = """
SELECT calls.seq, calls.at FROM calls JOIN kinds ON kinds.id = calls.kind JOIN lines ON lines.id = kinds.line
WHERE calls.context = (SELECT id FROM contexts WHERE name = ?) AND lines.caller = ? AND kinds.kind = 'begin'
ORDER BY calls.seq DESC LIMIT 1
"""
_BEGUN_BY_CALLER = """
SELECT seq, at FROM calls WHERE +kind IN (
    SELECT kinds.id FROM kinds JOIN lines ON lines.id = line WHERE caller = ? AND kind = 'begin'
) ORDER BY seq DESC LIMIT 1
"""
_STATUS = {"begin": "pending", "refused": "refused", "waiting": "waiting", "proxied": "proxied"}

read_slots = msgpack.Decoder(dict[int, int]).decode
_write_slots = msgpack.Encoder().encode


class Mark(NamedTuple):
    """How far the audit was counted: the last record with its hash, and the first that still counts."""

    seq: int
    hash: bytes
    first: int
    generation: int
    """Changes whenever numbers of kinds may have got another meaning."""


class Rollup:
    """Of one audit, for one reader at a time."""

    def __init__(
        self, path: Path | None, newest: Callable[[int], bytes | None] = lambda _seq: None, *, writable: bool = True
    ) -> None:
        """`newest` gives the hash of a record in the audit as it is now, also where whoever reads it sees an earlier
        state. Without a path, or where nothing may be written, all of it is in memory."""
        self._path = path
        self._newest = newest
        self._connection = _opened(path) if path is not None and writable else _in_memory(path)
        self._do = self._connection.execute
        self._ids: tuple[int, dict[Any, Any]] = -1, {}
        self._today = ""
        """Up to which days have a total of their own."""

    def close(self) -> None:
        self._connection.close()

    __del__ = close

    def ask(self, question: str, *values: Any) -> list[Any]:
        return self._do(question, values).fetchall()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several questions about one state."""
        self._do("BEGIN")
        try:
            yield
        finally:
            self._connection.rollback()

    def catch_up(self, tables: Tables, seconds: float = inf) -> int:
        """Count what has been recorded since; returns how many records are left when the time is over, or when another
        process is at it."""
        deadline = monotonic() + seconds
        while True:
            try:
                left = self._step(tables)
            except sqlite3.Error:
                self._give_up()
                return max(1, tables.head()[0] - self.mark().seq)
            if not left or monotonic() >= deadline:
                return left

    def _give_up(self) -> None:
        """Nothing of the step has happened. Whatever was wrong with the file, memory can be written."""
        self._connection.rollback()
        with suppress(sqlite3.Error):
            self._do("BEGIN IMMEDIATE")
            self._connection.rollback()
            return
        self._connection.close()
        self._connection = _in_memory(None)
        self._do = self._connection.execute

    def mark(self) -> Mark:
        return Mark(*self._do("SELECT seq, hash, first, generation FROM mark").fetchone())

    def _step(self, tables: Tables) -> int:
        """One transaction; returns how many records are left."""
        if self._is_through(tables, self.mark()):
            return 0
        self._do("BEGIN IMMEDIATE")
        try:
            mark = self.mark()
            if not self._is_through(tables, mark):  # nobody was quicker
                if not self._fits(tables, mark):
                    mark = self._cleared(mark)
                mark = self._taken(tables, self._pruned(tables, mark))
                self._do("UPDATE mark SET seq = ?, hash = ?, first = ?, generation = ?", mark)
            self._do("COMMIT")
        except BaseException:
            self._connection.rollback()
            self._ids, self._today = (-1, {}), ""  # some of its numbers were not given after all
            raise
        return 0 if self._is_through(tables, mark) else max(1, tables.head()[0] - mark.seq)

    def _is_through(self, tables: Tables, mark: Mark) -> bool:
        return mark.seq >= tables.head()[0] and mark.first >= tables.oldest() and self._fits(tables, mark)

    def _fits(self, tables: Tables, mark: Mark) -> bool:
        """Whether it was counted from this very audit: another may have been put in its place."""
        if not mark.seq:
            return True
        entry = tables.entry(mark.seq)
        if entry is None and mark.seq > tables.head()[0]:  # another process has counted what came after this look
            return self._newest(mark.seq) == mark.hash
        return entry is not None and entry.hash == mark.hash

    def _cleared(self, mark: Mark) -> Mark:
        for table in _TABLES:
            self._do(f"DELETE FROM {table}")
        return Mark(0, b"", 0, mark.generation + 1)

    def _pruned(self, tables: Tables, mark: Mark) -> Mark:
        """Forget calls whose records are gone: what they counted is taken off again, some at a time."""
        oldest = tables.oldest()
        if mark.first >= oldest:
            return mark
        gone = self.ask(f"{_ROWS} WHERE seq < ? ORDER BY seq LIMIT {STEP}", oldest)
        through = oldest if len(gone) < STEP else gone[-1][0] + 1
        batch = _Batch(self, {})
        for row in gone:
            batch.forget(CountedRow(*row))
        batch.write()
        for table in ("calls", "messages", "damaged"):
            self._do(f"DELETE FROM {table} WHERE seq < ?", (through,))
        self._do("DELETE FROM cells WHERE calls = 0 AND waiting = 0 AND proxied = 0")
        self._do("DELETE FROM spans WHERE rows = 0")
        for table in ("faults", "repairs", "rules"):
            self._do(f"DELETE FROM {table} WHERE times = 0")
        if through < oldest:
            return mark._replace(first=through)
        self._do("DELETE FROM kinds WHERE id NOT IN (SELECT kind FROM calls)")
        self._do("DELETE FROM lines WHERE NOT EXISTS (SELECT 1 FROM kinds WHERE line = lines.id)")
        self._do("DELETE FROM contexts WHERE NOT EXISTS (SELECT 1 FROM calls WHERE context = contexts.id)")
        self._do("DELETE FROM errors WHERE id NOT IN (SELECT error FROM faults)")
        return mark._replace(first=oldest, generation=mark.generation + 1)

    def _taken(self, tables: Tables, mark: Mark) -> Mark:
        """Count the next records."""
        if mark.first < tables.oldest():
            return mark
        known, ids = self._ids
        if known != mark.generation or len(ids) > _REMEMBERED:
            ids = {}
            self._ids = mark.generation, ids
        batch = _Batch(self, ids)
        entry = None
        for entry in islice(tables.entries(mark.seq), STEP):
            batch.take(entry)
        batch.write()
        if entry is not None and entry.at[:DAY] != self._today:
            self._today = entry.at[:DAY]
            _total_days(self, self._today)
        return mark if entry is None else mark._replace(seq=entry.seq, hash=entry.hash)


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


_ROWS = f"SELECT {', '.join(CountedRow._fields)} FROM calls"


class _Kind(NamedTuple):
    """What a call of some kind is counted in."""

    line: int
    kind: str
    caller: str
    rule: str
    strategy: str


class _Cell:
    """Calls of one line, added up, in the order of `_NUMBERS`; and their times."""

    __slots__ = ("numbers", "slots")

    def __init__(self) -> None:
        self.numbers: list[float] = [0] * len(_NUMBERS)
        self.slots: dict[int, int] = {}


_CALLS, _REFUSED, _WAITING, _PROXIED, _SUCCEEDED, _FAILED, _INTERRUPTED, _CACHED, _TOKENS, _TOTAL = range(10)
_COUNTED_IN = {"begin": (_CALLS,), "refused": (_CALLS, _REFUSED), "waiting": (_WAITING,), "proxied": (_PROXIED,)}
_IS_CALL = {"begin": 1, "refused": 1, "waiting": 0, "proxied": 0}
_ENDED_IN = {"success": _SUCCEEDED, "interrupted": _INTERRUPTED}


class _Batch:
    """What one transaction adds, by hours; days that are over get the same."""

    def __init__(self, rollup: Rollup, ids: dict[Any, Any]) -> None:
        self._rollup = rollup
        self._do = rollup._do  # pyright: ignore[reportPrivateUsage]
        self._ids = ids
        self._rows: dict[int, CountedRow] = {}
        self._late: dict[int, CountedRow] = {}
        """Calls of earlier transactions that have ended."""
        self._calls: dict[tuple[str, int], int] = {}
        """By hour and kind."""
        self._cells: dict[tuple[str, int], _Cell] = {}
        self._spans: dict[str, list[Any]] = {}
        self._times: dict[tuple[Any, ...], int] = {}
        """Of faults, repairs and rules, each by the statement that writes it and its key."""
        self._begun: dict[tuple[str, str | None], tuple[int, str]] = {}
        """The last call that began, by caller and context; None: in any."""
        self._messages: list[tuple[Any, ...]] = []
        self._damaged: list[tuple[int, str, str, str]] = []

    def take(self, entry: AuditEntry) -> None:
        """One record of the audit, in order."""
        kind, at = entry.kind, entry.at
        caller = ""
        try:
            if kind == "end":
                row = self._rows.get(entry.call) or self._earlier(entry.call)
                if row is not None and row[4] == "pending":
                    at, caller = row[1], self._kind(row[2])[2]
                    self._ended(row, read_outcome(entry.body))
            elif kind in COUNTED and type(at) is str and len(at) == _WHOLE:
                if kind == "message":
                    self._told(entry, read_told(entry.body))
                else:
                    self._called(entry, read_counted(entry.body))
        except (DecodeError, UnicodeDecodeError) as error:
            self._damaged.append((entry.seq, at, caller, str(error)))

    def _called(self, entry: AuditEntry, call: CountedCall) -> None:
        seq, at, caller, context, ids = entry.seq, entry.at, call.caller, call.context, self._ids
        key = (caller, call.tool, call.provider, call.model, entry.kind, call.decision, call.rule, call.strategy)
        number: int | None = ids.get(key)
        if number is None:
            line = self._number(_FIND_LINE, _ADD_LINE, key[:4])
            number = ids[key] = self._number(_FIND_KIND, _ADD_KIND, (line, *key[4:]))
        place = None
        if context is not None:
            place = ids.get(context)
            if place is None:
                place = ids[context] = self._named("contexts", "name", context)
        # plain tuples: they are made in a third of the time
        self._rows[seq] = (seq, at, number, place, _STATUS[entry.kind], None, 0, 0, None)  # pyright: ignore
        self._count(seq, at, number, 1)
        self._spans[at[:MINUTE]][4] += _IS_CALL[entry.kind]
        if entry.kind == "begin":
            self._begun[caller, context] = self._begun[caller, None] = seq, at

    def _count(self, seq: int, at: str, kind: int, by: int) -> None:
        minute = at[:MINUTE]
        key = at[:HOUR], kind
        self._calls[key] = self._calls.get(key, 0) + by
        span = self._spans.get(minute)
        if span is None:
            self._spans[minute] = [at, at, seq, seq, 0, by]
            return
        span[5] += by
        span[3] = seq
        if at > span[1]:
            span[1] = at
        elif at < span[0]:
            span[0] = at

    def _ended(self, row: CountedRow, end: Outcome) -> None:
        status: str = end.status
        error = None
        if status not in _ENDED_IN:
            status = "failed"
            error = self._named("errors", "text", (end.error or "no reason given")[:LONGEST_ERROR])
        tokens = max(-_MOST_TOKENS, min(end.tokens, _MOST_TOKENS)) if end.tokens else 0
        seq = row[0]
        done: Any = (*row[:4], status, end.execution_time, tokens, int(end.cached), error)
        self._count_end(done, 1)
        (self._rows if seq in self._rows else self._late)[seq] = done

    def forget(self, row: CountedRow) -> None:
        """A call goes, with whatever came of it."""
        self._count(row.seq, row.at, row.kind, -1)
        self._spans[row.at[:MINUTE]][4] -= row.status not in ("waiting", "proxied")
        if row.time is not None:
            self._count_end(row, -1)

    def _count_end(self, row: CountedRow, by: int) -> None:
        _, at, kind, _, status, time, tokens, cached, error = row
        hour, line = at[:HOUR], self._kind(kind)[0]
        cell = self._cells.get((hour, line))
        if cell is None:
            cell = self._cells[hour, line] = _Cell()
        numbers = cell.numbers
        numbers[_TOKENS] += by * tokens
        numbers[_CACHED] += by * cached
        numbers[_ENDED_IN.get(status, _FAILED)] += by
        if status == "interrupted" or time is None:
            return
        numbers[_TOTAL] += by * time
        slot = slot_of(time)
        cell.slots[slot] = cell.slots.get(slot, 0) + by
        if error is not None:
            self._add_times(by, _UPSERT_FAULT, hour, line, error)

    def _add_times(self, by: int, *key: Any) -> None:
        self._times[key] = self._times.get(key, 0) + by

    def _spread(self) -> None:
        """What was counted by kind goes to its line, rule and strategy, and to the hours."""
        for (hour, number), by in self._calls.items():
            line, kind, caller, rule, strategy = self._kind(number)
            cell = self._cells.get((hour, line))
            if cell is None:
                cell = self._cells[hour, line] = _Cell()
            for place in _COUNTED_IN[kind]:
                cell.numbers[place] += by
            if kind != "waiting":
                self._add_times(by, _UPSERT_RULE, hour, caller, kind, rule)
                if strategy != "direct":
                    self._add_times(by, _UPSERT_REPAIR, hour, line, strategy)
        for minute, span in list(self._spans.items()):
            self._widen(minute[:HOUR], span)

    def _widen(self, start: str, by: list[Any]) -> None:
        first, last, low, high, calls, rows = self._spans.get(start, [*by[:4], 0, 0])
        self._spans[start] = [
            min(first, by[0]), max(last, by[1]), min(low, by[2]), max(high, by[3]), calls + by[4], rows + by[5]
        ]  # fmt: skip

    def _told(self, entry: AuditEntry, told: HostNote) -> None:
        said = told.data
        begun = (0, "")
        if told.what == "message" and said.used_tools is None:
            begun = self._begun.get((said.caller, said.context)) or self._begun_earlier(said.caller, said.context)
        self._messages.append(
            (entry.seq, entry.at, told.what, said.caller, said.context, said.task, said.used_tools, said.correct,
             said.turns, said.tool_turns, *begun)
        )  # fmt: skip

    def _begun_earlier(self, caller: str, context: str | None) -> tuple[int, str]:
        if context is not None:
            return next(iter(self._rollup.ask(_BEGUN_IN_CONTEXT, context, caller)), (0, ""))
        found = next(iter(self._rollup.ask(_BEGUN_BY_CALLER, caller)), (0, ""))
        self._begun[caller, None] = found
        return found

    def _kind(self, number: int) -> _Kind:
        found = self._ids.get(number)
        if found is None:
            found = self._ids[number] = _Kind(*self._do(_KIND, (number,)).fetchone())
        return found

    def _earlier(self, seq: int) -> CountedRow | None:
        """A call of an earlier transaction."""
        if seq in self._late:
            return self._late[seq]
        found = self._rollup.ask(f"{_ROWS} WHERE seq = ?", seq)
        return CountedRow(*found[0]) if found else None

    def _number(self, find: str, add: str, key: tuple[Any, ...]) -> int:
        """Most that are not remembered are new."""
        added = self._do(add, key)
        return added.lastrowid or 0 if added.rowcount else self._do(find, key).fetchone()[0]

    def _named(self, table: str, column: str, name: str) -> int:
        number = self._ids.get((table, name))
        if number is None:
            number = self._number(
                f"SELECT id FROM {table} WHERE {column} = ?", f"INSERT INTO {table} ({column}) VALUES (?) ON CONFLICT DO NOTHING",
                (name,),
            )
            self._ids[table, name] = number
        return number

    def write(self) -> None:
        write_many = self._rollup._connection.executemany  # pyright: ignore[reportPrivateUsage]
        write_many("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self._rows.values())
        write_many(
            "UPDATE calls SET status = ?, time = ?, tokens = ?, cached = ?, error = ? WHERE seq = ?",
            ((*row[4:], row[0]) for row in self._late.values()),
        )
        write_many("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._messages)
        write_many("INSERT INTO damaged VALUES (?, ?, ?, ?)", self._damaged)
        self._spread()
        self._add_days()
        write_many(_UPSERT_CELL, [self._values(*key, cell) for key, cell in self._cells.items()])
        for statement in (_UPSERT_FAULT, _UPSERT_REPAIR, _UPSERT_RULE):
            own = ((*key[1:], times) for key, times in self._times.items() if key[0] is statement)
            write_many(statement, own)
        write_many(_UPSERT_SPAN, ((start, *span) for start, span in self._spans.items()))

    def _add_days(self) -> None:
        """What belongs to a day that has a total of its own is added to that, too."""
        days = {start[:DAY] for start, _ in self._cells}
        over = {day for day in days if self._rollup.ask("SELECT 1 FROM spans WHERE start = ?", day)}
        for (start, line), cell in list(self._cells.items()):
            if start[:DAY] in over:
                total = self._cells.setdefault((start[:DAY], line), _Cell())
                total.numbers = [a + b for a, b in zip(total.numbers, cell.numbers, strict=True)]
                for slot, times in cell.slots.items():
                    total.slots[slot] = total.slots.get(slot, 0) + times
        for (statement, start, *key), times in list(self._times.items()):
            if start[:DAY] in over:
                day = (statement, start[:DAY], *key)
                self._times[day] = self._times.get(day, 0) + times
        for start, span in list(self._spans.items()):
            if len(start) == HOUR and start[:DAY] in over:
                self._widen(start[:DAY], span)

    def _values(self, start: str, line: int, cell: _Cell) -> tuple[Any, ...]:
        """As the row is to be; the slots with those that it has."""
        slots = cell.slots
        if slots:
            found = self._do("SELECT slots FROM cells WHERE start = ? AND line = ?", (start, line)).fetchone()
            if found is not None and found[0] is not None:
                slots = read_slots(found[0])
                for slot, times in cell.slots.items():
                    slots[slot] = slots.get(slot, 0) + times
                slots = {slot: times for slot, times in slots.items() if times}
        return (start, line, *cell.numbers, _write_slots(slots) if cell.slots else None)


def _total_days(rollup: Rollup, today: str) -> None:
    """Each day before this one gets a total of its own: the sum of its hours."""
    ask = rollup.ask
    hours = f"SELECT DISTINCT substr(start, 1, {DAY}) FROM spans WHERE length(start) = {HOUR} AND start < ?"
    for (day,) in ask(f"{hours} EXCEPT SELECT start FROM spans WHERE length(start) = {DAY}", today):
        among = f"WHERE start > ? AND start < ? AND length(start) = {HOUR}"
        within = (day, day + AFTER)
        slots: dict[int, dict[int, int]] = {}
        for line, some in ask(f"SELECT line, slots FROM cells {among} AND slots IS NOT NULL", *within):
            own = slots.setdefault(line, {})
            for slot, times in read_slots(some).items():
                own[slot] = own.get(slot, 0) + times
        for line, *numbers in ask(f"SELECT line, {SUMS} FROM cells {among} GROUP BY line", *within):
            kept = _write_slots(slots[line]) if line in slots else None
            ask(_UPSERT_CELL, day, line, *numbers, kept)
        for table, key in (("faults", "line, error"), ("repairs", "line, strategy"), ("rules", "caller, kind, rule")):
            ask(f"INSERT INTO {table} SELECT ?, {key}, sum(times) FROM {table} {among} GROUP BY {key}", day, *within)
        ask(
            "INSERT INTO spans SELECT ?, min(first), max(last), min(low), max(high), sum(calls), sum(rows)"
            f" FROM spans {among}",
            day, *within,
        )  # fmt: skip


# ── the file ──


def _opened(path: Path) -> sqlite3.Connection:
    """The file, made where it is missing, and made anew where it is not ours; memory where that cannot be."""
    for _ in range(2):
        connection = None
        try:
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600))
            connection = _connect(f"{path.as_uri()}?mode=rw")
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
    return _in_memory(path)


def _is_damage(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _in_memory(path: Path | None) -> sqlite3.Connection:
    """Beginning with what the file knows, where there is one."""
    connection = _connect("file::memory:")
    if path is not None and path.is_file():
        with suppress(sqlite3.Error):
            source = _connect(f"{path.as_uri()}?mode=ro")
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
                for statement in _SCHEMA.split(";\n"):
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
        connection.executescript(_SCHEMA)
        return _objects(connection)
    finally:
        connection.close()


def _objects(connection: sqlite3.Connection) -> frozenset[tuple[Any, ...]]:
    found: Sequence[tuple[Any, ...]] = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    return frozenset(one for one in found if not str(one[1]).startswith("sqlite_"))
