"""The rollup: what was counted of the audit, in a SQLite file of its own beside it (`audit.db-rollup`), so that whoever
asks for figures does not pass over a million records each time.

    audit ─▶ catch_up, from the mark on, some thousand records in a transaction ─▶ calls, cells, messages
                                                                                     ▼
                                                 periods.py, figures.py (figures), listing.py (pages)

It can be deleted at any time. Where it does not know the record that the audit has at its mark, it is made anew. No
decision is ever taken by it, and it is no part of the chain. Writers pay nothing for it inside their transactions.
"""

import sqlite3
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from itertools import islice
from math import inf
from time import monotonic
from typing import Any, Final, Literal, NamedTuple

from rightcall.record.counts import Part
from rightcall.record.rollup.batch import Batch, total_days
from rightcall.record.rollup.tables import (
    AFTER,
    AMONG,
    DAY,
    HOUR,
    LINE,
    ROWS,
    TABLES,
    CountedRow,
    in_memory,
    in_places,
    opened,
    read_faults,
)
from rightcall.record.tables import AuditEntry, Tables

STEP: Final = 10_000
"""Records that are counted in one transaction."""
_REMEMBERED: Final = 50_000


class Mark(NamedTuple):
    """How far the audit was counted: the last record with its hash, and the first that still counts."""

    seq: int
    hash: bytes
    first: int
    generation: int
    """Changes whenever numbers of kinds or contexts may have got another meaning."""


class Rollup:
    """Of one audit, for one reader at a time."""

    def __init__(
        self, path: str | None, newest: Callable[[int], bytes | None] = lambda _seq: None, *, writable: bool = True
    ) -> None:
        """`newest` gives the hash of a record in the audit as it is now, also where whoever reads it sees an earlier
        state. Without a path, or where nothing may be written, all of it is in memory."""
        self._path = path
        self._newest = newest
        self._connection = opened(path) if path is not None and writable else in_memory(path)
        self._do = self._connection.execute
        self._ids: tuple[int, dict[Any, Any]] = -1, {}
        self._today = ""
        """Up to which days have a total of their own."""

    def close(self) -> None:
        self._connection.close()

    __del__ = close

    def ask(self, question: str, *values: Any) -> list[Any]:
        return self._do(question, values).fetchall()

    def cells(
        self, part: Part | Literal["", "line"], caller: str | None, starts: Iterable[str], columns: str
    ) -> list[Any]:
        """Of hours and days: the start, the name and the columns of each cell; of one caller, of each of its lines, by
        the number where the part is the line."""
        given = tuple(starts)
        among = f"start IN ({', '.join('?' * len(given))}) AND part = ?"
        if caller is None:
            return self.ask(f"SELECT start, name, {columns} FROM cells WHERE {among}", *given, part)
        if part in ("", "caller"):
            name = "name" if part else "''"
            of_caller = f"SELECT start, {name}, {columns} FROM cells WHERE {among} AND name = ?"
            return self.ask(of_caller, *given, "caller", caller)
        lines = f"cells JOIN lines ON name = CAST(id AS TEXT) WHERE {among} AND caller = ?"
        name = "id" if part == LINE else part
        return self.ask(f"SELECT start, {name}, {columns} FROM {lines}", *given, LINE, caller)

    @contextmanager
    def reading(self) -> Generator[None]:
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
        self._connection = in_memory(None)
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

    def clear(self) -> None:
        """All is counted anew by whoever asks next."""
        self._do("BEGIN IMMEDIATE")
        self._do("UPDATE mark SET seq = ?, hash = ?, first = ?, generation = ?", self._cleared(self.mark()))
        self._do("COMMIT")

    def _cleared(self, mark: Mark) -> Mark:
        for table in TABLES:
            self._do(f"DELETE FROM {table}")
        return Mark(0, b"", 0, mark.generation + 1)

    def _pruned(self, tables: Tables, mark: Mark) -> Mark:
        """Forget calls whose records are gone: what they counted is taken off again, some at a time."""
        oldest = tables.oldest()
        if mark.first >= oldest:
            return mark
        if not self._forget_days(oldest):
            return mark._replace(generation=mark.generation + 1)
        gone = self.ask(f"{ROWS} WHERE seq < ? ORDER BY seq LIMIT {STEP}", oldest)
        through = oldest if len(gone) < STEP else gone[-1][0] + 1
        batch = self._batch({})
        for row in gone:
            batch.forget(CountedRow(*row))
        batch.write()
        for table in ("calls", "messages", "damaged"):
            self._do(f"DELETE FROM {table} WHERE seq < ?", (through,))
        self._forget_contexts(row[3] for row in gone)
        self._do("DELETE FROM cells WHERE calls = 0 AND waiting = 0 AND proxied = 0")
        self._do("DELETE FROM spans WHERE rows = 0")
        self._do("DELETE FROM rules WHERE times = 0")
        if through < oldest:
            return mark._replace(first=through, generation=mark.generation + 1)
        used = f"SELECT name FROM cells WHERE part = '{LINE}'"
        self._do(f"DELETE FROM lines WHERE CAST(id AS TEXT) NOT IN ({used})")
        self._do("DELETE FROM kinds WHERE line NOT IN (SELECT id FROM lines)")
        self._forget_errors()
        return mark._replace(first=oldest, generation=mark.generation + 1)

    def _forget_days(self, oldest: int) -> bool:
        """Days that are over and of which no call is left go as a whole, and their calls some at a time; whether all
        of them have gone."""
        days = self.ask(f"SELECT start, low, high FROM spans WHERE length(start) = {DAY} AND high < ?", oldest)
        for day, low, high in days:
            through = min(high, low + 10 * STEP)
            gone, among = (
                "FROM calls WHERE seq >= ? AND seq <= ? AND at >= ? AND at < ?",
                (low, through, day, day + AFTER),
            )
            contexts = self.ask(f"SELECT DISTINCT context {gone}", *among)
            self._do(f"DELETE {gone}", among)
            self._forget_contexts(number for (number,) in contexts)
            if through < high:
                self._do("UPDATE spans SET low = ? WHERE start = ?", (through + 1, day))
                return False
            for table in ("cells", "rules", "spans"):
                self._do(f"DELETE FROM {table} WHERE start >= ? AND start < ?", (day, day + AFTER))
        return True

    def _forget_contexts(self, numbers: Iterable[int | None]) -> None:
        """Those of calls that are gone, where no other is of the same."""
        for some in in_places({number for number in numbers if number is not None}):
            unused = "NOT EXISTS (SELECT 1 FROM calls WHERE context = contexts.id)"
            self._do(f"DELETE FROM contexts WHERE id IN {AMONG} AND {unused}", some)

    def _forget_errors(self) -> None:
        used: set[int] = set()
        for (faults,) in self.ask(f"SELECT faults FROM cells WHERE part = '' AND length(start) = {HOUR}"):
            used |= read_faults(faults).keys()
        for some in in_places({number for (number,) in self.ask("SELECT id FROM errors")} - used):
            self._do(f"DELETE FROM errors WHERE id IN {AMONG}", some)

    def _batch(self, ids: dict[Any, Any]) -> Batch:
        return Batch(self._connection, ids)

    def _next(self, tables: Tables, mark: Mark) -> Iterable[AuditEntry]:
        """The records that are counted next."""
        return islice(tables.entries(mark.seq), STEP)

    def _total_days(self, today: str) -> None:
        total_days(self._connection, today)

    def _taken(self, tables: Tables, mark: Mark) -> Mark:
        """Count the next records."""
        if mark.first < tables.oldest():
            return mark
        known, ids = self._ids
        if known != mark.generation or len(ids) > _REMEMBERED:
            few = {} if known != mark.generation else {key: one for key, one in ids.items() if type(key) is not str}
            ids = few if len(few) <= _REMEMBERED else {}  # contexts come and go, most lines stay
            self._ids = mark.generation, ids
        batch = self._batch(ids)
        entry = None
        for entry in self._next(tables, mark):
            batch.take(entry)
        batch.write()
        if entry is not None and entry.at[:DAY] != self._today:
            self._today = entry.at[:DAY]
            self._total_days(self._today)
        return mark if entry is None else mark._replace(seq=entry.seq, hash=entry.hash)
