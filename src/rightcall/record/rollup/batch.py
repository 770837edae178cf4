"""Counting records into the rollup: what one transaction adds to its tables, and takes off them again.

    record ─▶ Batch: by call, by hour and kind, by minute ─▶ write: calls · cells · rules · spans

The records come in order, in as many transactions as there are. An end finds its call in this one or an earlier one,
and counts in the hour in which the call began. A call whose record was pruned is taken off by the same numbers.
"""

import sqlite3
from operator import add
from typing import Any, Final, NamedTuple

from msgspec import DecodeError

from rightcall.record.counts import (
    COUNTED,
    LANE,
    LONGEST_ERROR,
    CountedCall,
    Outcome,
    add_counts,
    read_counted,
    read_outcome,
    read_told,
    slot_of,
)
from rightcall.record.notes import HostNote
from rightcall.record.rollup.tables import (
    AFTER,
    CELL,
    COUNTERS,
    DAY,
    HOUR,
    LINE,
    MINUTE,
    NUMBERS,
    PARTS,
    ROWS,
    CountedRow,
    read_faults,
    read_repairs,
    read_slots,
    write_counter,
    write_slots,
)
from rightcall.record.tables import AuditEntry

_WHOLE: Final = 23
"""Characters of a time; what has others was not written by us, and lies in no period."""
_MOST_TOKENS: Final = 2**40
"""Of one call: sums stay within what a database can hold."""

_UPSERT_CELL = (
    f"INSERT INTO cells VALUES ({', '.join('?' * (3 + len(NUMBERS) + len(COUNTERS)))})"
    " ON CONFLICT (start, part, name) DO UPDATE SET "
    + ", ".join(f"{name} = cells.{name} + excluded.{name}" for name in NUMBERS)
    + "".join(f", {name} = excluded.{name}" for name in COUNTERS)
)
_UPSERT_RULE = (
    "INSERT INTO rules VALUES (?, ?, ?, ?, ?) ON CONFLICT (start, caller, kind, rule)"
    " DO UPDATE SET times = rules.times + excluded.times"
)
_UPSERT_SPAN = """
INSERT INTO spans VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (start) DO UPDATE SET
first = CASE WHEN excluded.first < spans.first THEN excluded.first ELSE spans.first END,
last = CASE WHEN excluded.last > spans.last THEN excluded.last ELSE spans.last END,
low = CASE WHEN excluded.low < spans.low THEN excluded.low ELSE spans.low END,
high = CASE WHEN excluded.high > spans.high THEN excluded.high ELSE spans.high END,
calls = spans.calls + excluded.calls, passed = spans.passed + excluded.passed, rows = spans.rows + excluded.rows
"""


_FIND_LINE = "SELECT id FROM lines WHERE caller = ? AND tool = ? AND provider = ? AND model = ?"
_ADD_LINE = "INSERT INTO lines (caller, tool, provider, model) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
_FIND_KIND = "SELECT id FROM kinds WHERE line = ? AND kind = ? AND decision = ? AND rule = ? AND strategy = ?"
_ADD_KIND = "INSERT INTO kinds (line, kind, decision, rule, strategy) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
_FIND_CONTEXT = "SELECT id FROM contexts WHERE name = ?"
_ADD_CONTEXT = "INSERT INTO contexts (name) VALUES (?) ON CONFLICT DO NOTHING"
_FIND_ERROR = "SELECT id FROM errors WHERE text = ?"
_ADD_ERROR = "INSERT INTO errors (text) VALUES (?) ON CONFLICT DO NOTHING"
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


class Kind(NamedTuple):
    """What a call of some kind is counted in."""

    line: int
    kind: str
    caller: str
    rule: str
    strategy: str


class _Cell:
    """Calls added up: their numbers in the order of `NUMBERS`, and their counters in that of `COUNTERS`."""

    __slots__ = ("faults", "numbers", "repairs", "slots")

    def __init__(self) -> None:
        self.numbers: list[float] = [*[0] * _TOTAL, 0.0]
        self.slots = 0
        self.repairs: dict[str, int] = {}
        self.faults: dict[int, int] = {}

    def add(self, other: "_Cell") -> None:
        self.numbers = list(map(add, self.numbers, other.numbers))
        self.slots += other.slots
        if other.repairs:
            add_counts(self.repairs, other.repairs)
        if other.faults:
            add_counts(self.faults, other.faults)

    def add_counters(self, slots: bytes, repairs: bytes, faults: bytes) -> None:
        self.slots += read_slots(slots)
        add_counts(self.repairs, read_repairs(repairs))
        add_counts(self.faults, read_faults(faults))

    def row(self) -> tuple[Any, ...]:
        return (*self.numbers, write_slots(self.slots), _write_counter(self.repairs), _write_counter(self.faults))


def _write_counter(counter: dict[Any, int]) -> bytes:
    return write_counter({one: n for one, n in counter.items() if n} if 0 in counter.values() else counter)


_Name = tuple[str, str, str]
"""Of a cell: the hour or day, the part, and the name of the part."""
_CALLS, _REFUSED, _WAITING, _PROXIED, _SUCCEEDED, _FAILED, _INTERRUPTED, _CACHED, _TOKENS, _TOTAL = range(10)
_COUNTED_IN = {"begin": (_CALLS,), "refused": (_CALLS, _REFUSED), "waiting": (_WAITING,), "proxied": (_PROXIED,)}
_FIRST, _LAST, _LOW, _HIGH, _SPAN_CALLS, _PASSED, _SPAN_ROWS = range(7)
"""What is known of a span, in the order of its table."""
_SPAN_OF = {"begin": _SPAN_CALLS, "refused": _SPAN_CALLS, "proxied": _PASSED}
_ENDED_IN = {"success": _SUCCEEDED, "interrupted": _INTERRUPTED}


class Batch:
    """What one transaction adds, by hours; days that are over get the same."""

    def __init__(self, connection: sqlite3.Connection, ids: dict[Any, Any]) -> None:
        """`ids`: numbers that are known from before."""
        self._connection = connection
        self._do = connection.execute
        self._ids = ids
        self._rows: dict[int, CountedRow] = {}
        self._late: dict[int, CountedRow] = {}
        """Calls of earlier transactions that have ended."""
        self._calls: dict[tuple[str, int], int] = {}
        """By hour and kind."""
        self._cells: dict[tuple[str, int], _Cell] = {}
        """By hour and line."""
        self._spans: dict[str, list[Any]] = {}
        self._rules: dict[tuple[str, str, str, str], int] = {}
        self._begun: dict[tuple[str, str | None], tuple[int, str]] = {}
        """The last call that began, by caller and context; None: in any."""
        self._told_last: dict[tuple[str, str | None], int] = {}
        """The last message, by caller and context."""
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
        key = (caller, call.tool, call.provider, call.model, entry.kind, call.decision, call.rule, call.fitted)
        number: int | None = ids.get(key)
        if number is None:
            line = self._number(_FIND_LINE, _ADD_LINE, key[:4])
            number = ids[key] = self._number(_FIND_KIND, _ADD_KIND, (line, *key[4:]))
            ids[number] = Kind(line, entry.kind, caller, call.rule, key[7])
        place = None
        if context is not None:
            place = ids.get(context)
            if place is None:
                place = ids[context] = self._number(_FIND_CONTEXT, _ADD_CONTEXT, (context,))
        row: Any = (seq, at, number, place, _STATUS[entry.kind], None, 0, 0, None)
        self._rows[seq] = row  # a plain tuple: it is made in a third of the time
        self._count(seq, at, number, 1)
        if entry.kind in _SPAN_OF:
            self._spans[at[:MINUTE]][_SPAN_OF[entry.kind]] += 1
        if entry.kind == "begin":
            self._begun[caller, context] = self._begun[caller, None] = seq, at

    def _count(self, seq: int, at: str, kind: int, by: int) -> None:
        minute = at[:MINUTE]
        key = at[:HOUR], kind
        self._calls[key] = self._calls.get(key, 0) + by
        span = self._spans.get(minute)
        if span is None:
            self._spans[minute] = [at, at, seq, seq, 0, 0, by]
            return
        span[_SPAN_ROWS] += by
        span[_HIGH] = seq
        if at > span[_LAST]:
            span[_LAST] = at
        elif at < span[_FIRST]:
            span[_FIRST] = at

    def _ended(self, row: CountedRow, end: Outcome) -> None:
        status: str = end.status
        error = None
        if status not in _ENDED_IN:
            status = "failed"
            text = (end.error or "no reason given")[:LONGEST_ERROR]
            error = self._ids.get((text,))
            if error is None:
                error = self._ids[(text,)] = self._number(_FIND_ERROR, _ADD_ERROR, (text,))
        tokens = max(-_MOST_TOKENS, min(end.tokens, _MOST_TOKENS)) if end.tokens else 0
        seq = row[0]
        done: Any = (*row[:4], status, end.execution_time, tokens, int(end.cached), error)
        self._count_end(done, 1)
        (self._rows if seq in self._rows else self._late)[seq] = done

    def forget(self, row: CountedRow) -> None:
        """A call goes, with whatever came of it."""
        self._count(row.seq, row.at, row.kind, -1)
        if row.status != "waiting":
            self._spans[row.at[:MINUTE]][_PASSED if row.status == "proxied" else _SPAN_CALLS] -= 1
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
        cell.slots += by << slot_of(time) * LANE
        if error is not None:
            cell.faults[error] = cell.faults.get(error, 0) + by

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
                key = hour, caller, kind, rule
                self._rules[key] = self._rules.get(key, 0) + by
                if strategy != "direct":
                    cell.repairs[strategy] = cell.repairs.get(strategy, 0) + by
        for minute, span in list(self._spans.items()):
            self._widen(minute[:HOUR], span)

    def _widen(self, start: str, by: list[Any]) -> None:
        first, last, low, high, *numbers = self._spans.get(start, [*by[:_SPAN_CALLS], 0, 0, 0])
        added = [a + b for a, b in zip(numbers, by[_SPAN_CALLS:], strict=True)]
        self._spans[start] = [min(first, by[0]), max(last, by[1]), min(low, by[2]), max(high, by[3]), *added]

    def _told(self, entry: AuditEntry, told: HostNote) -> None:
        said = told.data
        asker, begun, earlier = (said.caller, said.context), (0, ""), 0
        if told.what == "message":
            if said.used_tools is None:
                begun = self._begun.get(asker) or self._begun_earlier(*asker)
                earlier = self._told_last.get(asker) or self._told_earlier(*asker)
            self._told_last[asker] = entry.seq
        self._messages.append(
            (entry.seq, entry.at, told.what, said.caller, said.context, said.task, said.used_tools, said.correct,
             said.turns, said.tool_turns, *begun, earlier)
        )  # fmt: skip

    def _told_earlier(self, caller: str, context: str | None) -> int:
        among = "caller = ? AND what = 'message' AND context"
        if context is None:
            found = self._do(f"SELECT max(seq) FROM messages WHERE {among} IS NULL", (caller,))
        else:
            found = self._do(f"SELECT max(seq) FROM messages WHERE {among} = ?", (caller, context))
        return found.fetchone()[0] or 0

    def _begun_earlier(self, caller: str, context: str | None) -> tuple[int, str]:
        if context is not None:
            return self._do(_BEGUN_IN_CONTEXT, (context, caller)).fetchone() or (0, "")
        found = self._do(_BEGUN_BY_CALLER, (caller,)).fetchone() or (0, "")
        self._begun[caller, None] = found
        return found

    def _kind(self, number: int) -> Kind:
        found = self._ids.get(number)
        if found is None:
            found = self._ids[number] = Kind(*self._row(_KIND, number))
        return found

    def _row(self, question: str, number: int) -> tuple[Any, ...]:
        return self._do(question, (number,)).fetchone()

    def _earlier(self, seq: int) -> CountedRow | None:
        """A call of an earlier transaction."""
        if seq in self._late:
            return self._late[seq]
        found = self._do(f"{ROWS} WHERE seq = ?", (seq,)).fetchone()
        return CountedRow(*found) if found else None

    def _number(self, find: str, add: str, key: tuple[Any, ...]) -> int:
        """Most that are not remembered are new."""
        added = self._do(add, key)
        return added.lastrowid or 0 if added.rowcount else self._do(find, key).fetchone()[0]

    def write(self) -> None:
        write_many = self._connection.executemany
        write_many("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self._rows.values())
        write_many(
            "UPDATE calls SET status = ?, time = ?, tokens = ?, cached = ?, error = ? WHERE seq = ?",
            ((*row[4:], row[0]) for row in self._late.values()),
        )
        write_many("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._messages)
        write_many("INSERT INTO damaged VALUES (?, ?, ?, ?)", self._damaged)
        self._spread()
        self._add_days()
        self._write_cells()
        write_many(_UPSERT_RULE, ((*key, times) for key, times in self._rules.items()))
        write_many(_UPSERT_SPAN, ((start, *span) for start, span in self._spans.items()))

    def _add_days(self) -> None:
        """What belongs to a day that has a total of its own is added to that, too."""
        days = {start[:DAY] for start, _ in self._cells}
        over = {day for day in days if self._do("SELECT 1 FROM spans WHERE start = ?", (day,)).fetchone()}
        for (start, line), cell in list(self._cells.items()):
            if start[:DAY] in over:
                self._cells.setdefault((start[:DAY], line), _Cell()).add(cell)
        for (start, *key), times in list(self._rules.items()):
            if start[:DAY] in over:
                day: Any = (start[:DAY], *key)
                self._rules[day] = self._rules.get(day, 0) + times
        for start, span in list(self._spans.items()):
            if len(start) == HOUR and start[:DAY] in over:
                self._widen(start[:DAY], span)

    def _write_cells(self) -> None:
        """Those of lines, and of each part of them."""
        found: dict[_Name, _Cell] = {}
        for (start, line), cell in self._cells.items():
            found[start, LINE, str(line)] = cell
            for part, name in self._parts(line):
                of_part = found.get((start, part, name))
                if of_part is None:
                    of_part = found[start, part, name] = _Cell()
                of_part.add(cell)
        for (start, part, _), cell in list(found.items()):
            if part == "provider":  # of all that a line has, the one with the fewest names
                found.setdefault((start, "", ""), _Cell()).add(cell)
        for key, counters in self._known(list(found)).items():
            found[key].add_counters(*counters)
        self._connection.executemany(_UPSERT_CELL, ((*key, *cell.row()) for key, cell in found.items()))

    def _parts(self, line: int) -> tuple[tuple[str, str], ...]:
        found = self._ids.get(("line", line))
        if found is None:
            names = self._row(f"SELECT {', '.join(PARTS)} FROM lines WHERE id = ?", line)
            found = tuple(zip(PARTS, names, strict=True))
            self._ids["line", line] = found
        return found

    def _known(self, keys: list[_Name]) -> dict[_Name, tuple[bytes, bytes, bytes]]:
        """The counters of the cells that there are."""
        question = f"SELECT {', '.join(COUNTERS)} FROM cells WHERE start = ? AND part = ? AND name = ?"
        return {key: found for key in keys if (found := self._do(question, key).fetchone()) is not None}


def total_days(connection: sqlite3.Connection, today: str) -> None:
    """Each day before this one gets a total of its own: the sum of its hours."""

    do = connection.execute

    def ask(question: str, *values: Any) -> list[Any]:
        return do(question, values).fetchall()

    hours = f"SELECT DISTINCT substr(start, 1, {DAY}) FROM spans WHERE length(start) = {HOUR} AND start < ?"
    for (day,) in ask(f"{hours} EXCEPT SELECT start FROM spans WHERE length(start) = {DAY}", today):
        among = f"WHERE start > ? AND start < ? AND length(start) = {HOUR}"
        within = (day, day + AFTER)
        cells: dict[tuple[str, str], _Cell] = {}
        for part, name, *row in ask(f"SELECT part, name, {CELL} FROM cells {among}", *within):
            cell = cells.setdefault((part, name), _Cell())
            cell.numbers = list(map(add, cell.numbers, row))
            cell.add_counters(*row[len(NUMBERS) :])
        connection.executemany(_UPSERT_CELL, ((day, *key, *cell.row()) for key, cell in cells.items()))
        key = "caller, kind, rule"
        do(f"INSERT INTO rules SELECT ?, {key}, sum(times) FROM rules {among} GROUP BY {key}", (day, *within))
        do(
            "INSERT INTO spans SELECT ?, min(first), max(last), min(low), max(high), sum(calls), sum(passed),"
            f" sum(rows) FROM spans {among}",
            (day, *within),
        )  # fmt: skip
