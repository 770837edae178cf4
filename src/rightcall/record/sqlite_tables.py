"""The tables of the store on one SQLite connection, inside a transaction that somebody else begins and ends.

The number of statements is what a transaction costs. What was read is remembered until another connection writes or
something is taken back (`refresh`, `catch_up`). Records, and which calls run, are written together at the end.
"""

import os
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import json
from msgspec.structs import astuple, replace

from rightcall.policy.trust import EVERYWHERE, Stops, folder_stop, put_stop, stops_above
from rightcall.policy.types import (
    HOUR,
    REFUSED_SCOPES,
    Approval,
    ApprovalStatus,
    Credential,
    Grant,
    Mark,
    Pause,
    Spent,
    Token,
)
from rightcall.record.identity import PrivateTexts
from rightcall.record.runs import Runs
from rightcall.record.sqlite_file import as_uri
from rightcall.record.tables import START, AuditEntry, Clock, EntryKind, held_bytes, link

if TYPE_CHECKING:
    from rightcall.record.identity import Since
    from rightcall.record.rollup.rollup import Rollup


_PAGE = 1000
"""Records that are read at once."""
_FEW = 100_000
"""Records among which the first of a time is looked for without an index."""
_PURGE_EVERY, _PURGE = 256, 1024
"""Marks after which those older than an hour are removed, and how many at most: more than came in the meantime."""
_REMEMBERED = 10_000
"""Scopes whose last number is remembered."""
_LAST_CHARACTER = "\U0010ffff"


def _columns(fields: tuple[str, ...]) -> str:
    return ", ".join(f'"{name}"' for name in fields)


def _upsert(table: str, fields: tuple[str, ...]) -> str:
    """Insert, or replace the row with that id, which keeps its place."""
    values = ", ".join(f'"{name}" = excluded."{name}"' for name in fields[1:])
    places = ", ".join("?" * len(fields))
    return f"INSERT INTO {table} ({_columns(fields)}) VALUES ({places}) ON CONFLICT (id) DO UPDATE SET {values}"


ELSEWHERE = "elsewhere"
"""In place of a run: a host runs the call, and no lock of ours tells whether it still does."""

_BODY = "CASE typeof(body) WHEN 'text' THEN CAST(body AS BLOB) ELSE x'' END"
"""Anything but text is not of ours, even if its bytes are the same: the views would read it as something else."""
_ENTRIES = f"SELECT seq, kind, call, at, {_BODY}, CAST(hash AS BLOB) FROM audit"
"""As bytes, whatever somebody may have put there with another program."""
_IS_OPEN = (
    "SELECT 1 FROM audit WHERE seq = ? AND CAST(hash AS BLOB) = ?"
    " AND NOT EXISTS (SELECT 1 FROM audit WHERE call = ? AND call > 0 AND kind = 'end')"
)
_APPROVALS = f"SELECT {_columns(Approval.__struct_fields__)} FROM approvals"
_GRANTS = f"SELECT {_columns(Grant.__struct_fields__)} FROM grants"
_PUT_APPROVAL = _upsert("approvals", Approval.__struct_fields__)
_PUT_GRANT = _upsert("grants", Grant.__struct_fields__)
_TOKENS = f"SELECT {_columns(Token.__struct_fields__)} FROM tokens WHERE n > ? ORDER BY n"
_PUT_TOKEN = _upsert("tokens", Token.__struct_fields__)
_CREDENTIALS = f"SELECT {_columns(Credential.__struct_fields__)} FROM credentials WHERE n > ? ORDER BY n"
_PUT_CREDENTIAL = _upsert("credentials", Credential.__struct_fields__)
_ANSWERED = (
    f"{_APPROVALS} WHERE binding = ? AND n > ? AND status IN ('approved', 'denied', 'waiting')"
    " ORDER BY CASE status WHEN 'approved' THEN 0 WHEN 'denied' THEN 1 ELSE 2 END, n DESC LIMIT 1"
)
_OVERDUE = f"{_APPROVALS} WHERE status IN ('waiting', 'approved') AND expires_at <= ? ORDER BY n"
_WAITING = f"{_APPROVALS} WHERE status = 'waiting' AND caller = ? AND expires_at > ? AND n > ?"
_COUNT_WAITING = "SELECT count(*) FROM approvals WHERE status = 'waiting' AND expires_at > ? AND n > ?"
_OPEN: tuple[ApprovalStatus, ...] = ("waiting", "approved")
"""Of an approval whose call is still needed: to be shown, or to be compared."""
_LOST = {"(lost)": ""}
"""In place of conditions that are gone: no call has such an argument."""
_LEFT_BEHIND = (
    "SELECT seq, run, coalesce((SELECT at < strftime('%Y-%m-%d %H:%M:%f', ?, '-1 day') FROM audit"
    " WHERE audit.seq = running.seq), 1) FROM running WHERE run <> ? ORDER BY seq"
)
"""The calls of other runs, and whether a day has passed since each began: all at once, for a hook meets every call of
which its host never tells the end."""
_SPEND = (
    "INSERT INTO spent VALUES (?, ?, ?, ?) ON CONFLICT (caller, day) DO UPDATE"
    " SET calls = calls + excluded.calls, tokens = tokens + excluded.tokens"
)
_NEWS = """
SELECT
    (SELECT CAST(hash AS BLOB) FROM audit WHERE seq = ?),
    top,
    (SELECT CAST(hash AS BLOB) FROM audit WHERE seq = top),
    NOT EXISTS (SELECT 1 FROM audit WHERE seq > ? AND kind NOT IN ('begin', 'end', 'proxied')),
    (SELECT value FROM meta WHERE name = 'moved'),
    (SELECT value FROM meta WHERE name = 'paused'),
    (SELECT value FROM meta WHERE name = 'changes'),
    (SELECT value FROM meta WHERE name = 'changed_by'),
    (SELECT user_version FROM pragma_user_version)
FROM (SELECT max(seq) AS top FROM audit WHERE seq >= ?)
"""
"""In one statement: between two of them the other threads of the process want their turn."""
_PUT_META = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


_TOUCHED = 32_768
"""Bytes; a call changes about as many pages."""
_AT_ONCE = 16
"""Rows that one statement writes: each number is a statement of its own, which is kept ready."""


@cache
def _rows(sql: str, row: str, count: int) -> str:
    """
    >>> _rows("INSERT INTO t VALUES {}", "(?, ?)", 2)
    'INSERT INTO t VALUES (?, ?), (?, ?)'
    """
    return sql.format(", ".join([row] * count))


class _Unwritten:
    """Records and calls that run, until they are written; and how much of it is the present work's own, so that it
    can be taken back."""

    __slots__ = ("_own_row", "_own_run", "_saved", "has_savepoint", "is_written", "needs_savepoint", "rows", "running")

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.running: list[tuple[int, str]] = []
        """What became of each call: the run that it is in, or nothing where it has ended."""
        self._own_row = self._own_run = 0
        self._saved: tuple[list[tuple[Any, ...]], list[tuple[int, str]]] = [], []
        """Of earlier works, and written behind the savepoint of the present one."""
        self.needs_savepoint = False
        self.has_savepoint = False
        self.is_written = False
        """Whether the present work has written anything."""

    def begin(self, *, is_first: bool) -> None:
        self._own_row, self._own_run = len(self.rows), len(self.running)
        self.needs_savepoint, self.has_savepoint, self.is_written = not is_first, False, False

    def end(self) -> None:
        self.needs_savepoint = self.has_savepoint = False
        self._saved = [], []
        self._own_row, self._own_run = len(self.rows), len(self.running)

    def take_back(self) -> None:
        self.rows = [*self._saved[0], *self.rows[: self._own_row]]
        self.running = [*self._saved[1], *self.running[: self._own_run]]

    @property
    def has_own(self) -> bool:
        return len(self.rows) > self._own_row or len(self.running) > self._own_run

    def statements(self) -> Iterator[tuple[str, list[Any]]]:
        """All that is to be written, which is then no longer here."""
        rows, running = self.rows, self.running
        if self.has_savepoint:
            self._saved[0].extend(rows[: self._own_row])
            self._saved[1].extend(running[: self._own_run])
        self.rows, self.running, self._own_row, self._own_run = [], [], 0, 0
        last = dict(running)
        begun = [one for one in last.items() if one[1]]
        ended = [(seq,) for seq, run in last.items() if not run]
        for sql, row, values in (
            ("INSERT INTO audit VALUES {}", "(?, ?, ?, ?, ?, ?)", rows),
            ("INSERT OR REPLACE INTO running VALUES {}", "(?, ?)", begun),
            ("DELETE FROM running WHERE seq IN ({})", "?", ended),
        ):
            for start in range(0, len(values), _AT_ONCE):
                some = values[start : start + _AT_ONCE]
                yield _rows(sql, row, len(some)), [value for one in some for value in one]


class SqliteTables:
    """Everything that `Tables` asks for, and a little more for the store itself."""

    def __init__(
        self, connection: sqlite3.Connection, clock: Clock, runs: Runs, private: PrivateTexts, since: "Since", *,
        alone: bool = False,
    ) -> None:  # fmt: skip
        """`since`: the approvals and grants that came with the store, which do not count. `alone`: nothing may be
        written, not even beside it."""
        self._alone = alone
        self._rollup: Rollup | None = None
        self._since = since
        self._clock = clock
        self._runs = runs
        self._private = private
        self._touched: set[str] = set()
        """What is private and was put or may have to go: after the commit the rows say which."""
        self._do = connection.cursor().execute  # one cursor is enough: every answer is taken before the next question
        self._kept = _Unwritten()
        self._marked = 0
        self._stops = Stops(EVERYWHERE)
        self._folder, self._stops_of_folder = "", Stops()
        self.withdraws = False
        """Whether something was taken back since the last commit that an older copy would bring back: a permission that
        was used, denied or revoked, or a stop."""
        self.frees = False
        """Whether records were removed since the last commit, so that the file can be smaller."""
        self.refresh()

    # Works: many share a transaction, and each can be taken back

    def begin_work(self, *, is_first: bool) -> None:
        """A first one needs no savepoint: what it has written is taken back with the transaction."""
        self._kept.begin(is_first=is_first)

    def end_work(self, *, is_last: bool) -> None:
        if self._kept.has_savepoint and not is_last:  # the commit releases the last
            self._do("RELEASE work")
        self._kept.end()

    def take_back(self) -> bool:
        """Nothing of the present work happens. False where a first one has written: then nothing of all happens."""
        kept = self._kept
        if kept.has_savepoint:
            self._do("ROLLBACK TO work")
        elif kept.is_written:
            return False
        kept.take_back()
        self.refresh()
        return True

    def start_over(self) -> None:
        """The transaction was rolled back."""
        self._kept = _Unwritten()
        self.refresh()

    def write_all(self) -> None:
        """What was kept to be written together: before the commit, and before anybody looks for it."""
        kept = self._kept
        if kept.rows or kept.running:
            if kept.has_own:
                self._save()
            for sql, values in kept.statements():
                self._do(sql, values)

    def _save(self) -> None:
        """Before the present work writes anything."""
        kept = self._kept
        if kept.needs_savepoint:
            self._do("SAVEPOINT work")
            kept.needs_savepoint, kept.has_savepoint = False, True
        kept.is_written = True

    def _write(self, sql: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        self._save()
        return self._do(sql, values)

    def _read(self, sql: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Look for records, or for calls that run."""
        self.write_all()
        return self._do(sql, values)

    # What was read

    def refresh(self) -> None:
        """Forget what was read."""
        self._head: tuple[int, bytes] | None = None
        self._changes: tuple[int, str] | None = None
        self._tops: dict[str, int] = {}
        self._any_refused: bool | None = None
        self._definitions: dict[str, str | None] = {}
        self._pause: tuple[Pause | None] | None = None
        self._begun: dict[int, bytes] = {}
        """The calls that this connection has begun and not ended, with their hashes. Nobody else ends them while this
        process lives; who removes records leaves one that says so."""

    def catch_up(self, seq: int) -> tuple[bytes | None, str, int]:
        """Another connection has written, the last record that is known being `seq`: its hash as it stands there now,
        and where the store was moved to. What calls that began or ended cannot have changed is still known. Everything
        else that is remembered changes together with a record of another kind."""
        known, top, newest, are_calls, moved, paused, changes, by, version = self._do(_NEWS, (seq, seq, seq)).fetchone()
        kept = self._any_refused, self._definitions, self._begun
        self.refresh()
        if are_calls and known is not None and top > seq:
            self._any_refused, self._definitions, self._begun = kept
        if top is not None:
            self._head = top, newest
        self._pause = (json.decode(paused, type=Pause) if paused else None,)
        self._changes = changes or 0, by or ""
        return known, moved or "", version

    def now(self) -> int:
        return self._clock.now()

    def wall(self) -> str:
        return self._clock.wall()

    # The audit

    def append(self, kind: EntryKind, call: int, body: bytes) -> int:
        last, before = self._head or self.head()
        seq = last + 1
        at = self._clock.wall()
        own = link(before, seq, kind, call, at, body)
        # bytes as an array: SQLite's module first asks others what to do with any other type
        self._kept.rows.append((seq, kind, _fits(call), at, bytearray(own), body.decode()))
        self._head = seq, own
        if kind == "end":
            self._begun.pop(call, None)
        return seq

    def entry(self, seq: int) -> AuditEntry | None:
        row = self._read(f"{_ENTRIES} WHERE seq = ?", (seq,)).fetchone()
        return None if row is None else AuditEntry(*row)

    def entries_of(self, seqs: Collection[int]) -> list[AuditEntry]:
        return list(filter(None, map(self.entry, sorted(seqs))))

    def entries(self, after: int = 0, until: str | None = None, since: str | None = None) -> Iterator[AuditEntry]:
        first, last = self._between(after, until, since)
        while first < last:
            page = f"{_ENTRIES} WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT {_PAGE}"
            rows = self._read(page, (first, last)).fetchall()
            for row in rows:
                if (since is None or row[3] >= since) and (until is None or row[3] < until):
                    yield AuditEntry(*row)
            if len(rows) < _PAGE:
                return
            first = rows[-1][0]

    def _between(self, after: int, until: str | None, since: str | None) -> tuple[int, int]:
        """The numbers between which the records of a time lie. Their times need not be in order: dates are set."""
        first, last = after, self.head()[0]
        if since is not None:
            few = last - after <= _FEW  # then they are read themselves: the index has every record since that time
            only = f"seq > {int(after)} AND +at" if few else "at"
            (least,) = self._read(f"SELECT min(seq) FROM audit WHERE {only} >= ?", (since,)).fetchone()
            first = last if least is None else max(after, least - 1)
        if until is not None:
            (most,) = self._read("SELECT max(seq) FROM audit WHERE at < ?", (until,)).fetchone()
            last = first if most is None else most
        return first, last

    def newest(self, count: int, kinds: tuple[EntryKind, ...] = (), before: int | None = None) -> list[AuditEntry]:
        # A single kind as it is, not as a parameter: only so is the index of the definitions used.
        only = f" WHERE kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        if len(kinds) == 1 and kinds[0].isalpha():
            only, kinds = f" WHERE kind = '{kinds[0]}'", ()
        values: tuple[str | int, ...] = kinds
        if before is not None:
            only, values = f"{only} {'AND' if only else 'WHERE'} seq < ?", (*kinds, before)
        rows = self._read(f"{_ENTRIES}{only} ORDER BY seq DESC LIMIT ?", (*values, max(0, count))).fetchall()
        return [AuditEntry(*row) for row in rows]

    def belonging(self, seq: int) -> list[AuditEntry]:
        rows = self._read(f"{_ENTRIES} WHERE call = ? AND call > 0 ORDER BY seq", (seq,)).fetchall()
        return [AuditEntry(*row) for row in rows]

    def is_open(self, seq: int, hash: bytes) -> bool:
        if self._begun.get(seq) == hash:
            return True
        return self._read(_IS_OPEN, (seq, bytearray(hash), seq)).fetchone() is not None

    def head(self) -> tuple[int, bytes]:
        if self._head is None:
            row = self._read("SELECT seq, CAST(hash AS BLOB) FROM audit ORDER BY seq DESC LIMIT 1").fetchone()
            self._head = found = row or self.pruned()
            return found
        return self._head

    def oldest(self) -> int:
        return self._read("SELECT min(seq) FROM audit").fetchone()[0] or 0

    def last_through(self, seq: int) -> AuditEntry | None:
        row = self._read(f"{_ENTRIES} WHERE seq <= ? ORDER BY seq DESC LIMIT 1", (seq,)).fetchone()
        return None if row is None else AuditEntry(*row)

    def last_before(self, moment: str) -> int:
        (young,) = self._read("SELECT min(seq) FROM audit WHERE at >= ?", (moment,)).fetchone()
        return self.head()[0] if young is None else young - 1

    def chains(self) -> None:
        return None

    def heads(self, through: int) -> dict[int, tuple[int, bytes]]:
        del through
        return {}

    def rollup(self) -> "Rollup":
        if self._rollup is None:
            from rightcall.record.rollup.rollup import Rollup  # late: who only writes needs no figures

            beside = f"{self._private.database}-rollup"
            self._rollup = Rollup(beside, self._newest_hash, writable=not self._alone)
        return self._rollup

    def _newest_hash(self, seq: int) -> bytes | None:
        with closing(sqlite3.connect(f"{as_uri(self._private.database)}?mode=ro", uri=True)) as connection:
            row = connection.execute("SELECT CAST(hash AS BLOB) FROM audit WHERE seq = ?", (seq,)).fetchone()
        return None if row is None else row[0]

    def close(self) -> None:
        if self._rollup is not None:
            self._rollup.close()
            self._rollup = None

    def remove_through(self, seq: int) -> int:
        self.write_all()
        last, last_hash = self.head()
        entry = self.entry(seq) if seq < last else None
        removed = self._write("DELETE FROM audit WHERE seq <= ?", (seq,)).rowcount
        self._begun.clear()
        if removed:
            self.frees = True
        if removed:  # numbers and hashes go on where they were, even if nothing is left
            self.put_meta("pruned_seq", last if entry is None else seq)
            self.put_meta("pruned_hash", last_hash if entry is None else entry.hash)
        return removed

    def rewrite(self, entries: Sequence[AuditEntry]) -> list[int]:
        self.write_all()
        self._write("PRAGMA secure_delete = ON")  # what was there is overwritten, and does not stay in a free page
        put = "UPDATE audit SET body = ?1 WHERE seq = ?2 AND body <> ?1"
        return [one.seq for one in entries if self._write(put, (one.body.decode(), one.seq)).rowcount]

    def pruned(self) -> tuple[int, bytes]:
        """Number and hash of the last record that was removed; (0, START) when none was."""
        return self.meta("pruned_seq") or 0, self.meta("pruned_hash") or START

    # Calls that run

    def begun(self, seq: int, *, elsewhere: bool = False) -> None:
        run = ELSEWHERE if elsewhere else self._runs.id
        self._kept.running.append((_fits(seq), run))
        if self._head is not None and self._head[0] == seq and len(self._begun) < _REMEMBERED:
            self._begun[seq] = self._head[1]

    def ended(self, seq: int) -> None:
        self._kept.running.append((_fits(seq), ""))

    def running(self) -> list[int]:
        rows = self._read("SELECT seq, run FROM running ORDER BY seq").fetchall()
        alive = {run for run in {run for _, run in rows} if run == ELSEWHERE or self._runs.alive(run)}
        return [seq for seq, run in rows if run in alive]

    def left_behind(self) -> list[int]:
        """The calls of runs that are dead, and those of which no host has told the end for a day."""
        rows = self._read(_LEFT_BEHIND, (self.wall(), self._runs.id)).fetchall()
        dead = {run for run in {run for _, run, _ in rows} if run != ELSEWHERE and not self._runs.alive(run)}
        return [seq for seq, run, old in rows if run in dead or (run == ELSEWHERE and old)]

    # Windows

    def _top(self, scope: str) -> int:
        """The number of the last mark in a scope; 0 for none."""
        top = self._tops.get(scope)
        if top is None:
            if scope.startswith(REFUSED_SCOPES) and not self._was_any_refused():
                return 0
            (found,) = self._do("SELECT max(n) FROM windows WHERE scope = ?", (scope,)).fetchone()
            if len(self._tops) >= _REMEMBERED:
                self._tops.clear()
            top = self._tops[scope] = found or 0
        return top

    def _was_any_refused(self) -> bool:
        """Every call is looked for among the refused ones, and mostly there are none at all."""
        if self._any_refused is None:
            any_one = "SELECT EXISTS (SELECT 1 FROM windows WHERE scope >= ? AND scope < ?)"
            (found,) = self._do(any_one, (REFUSED_SCOPES, REFUSED_SCOPES + _LAST_CHARACTER)).fetchone()
            self._any_refused = bool(found)
        return self._any_refused

    def nth_last(self, scope: str, n: int) -> Mark | None:
        top = self._top(scope)
        if n > top or n < 1:
            return None
        row = self._do("SELECT at, call FROM windows WHERE scope = ? AND n = ?", (scope, top - n + 1)).fetchone()
        return None if row is None else Mark(*row)

    def mark(self, scope: str, call: int, at: int | None = None) -> int:
        now = self._clock.now() if at is None else at
        top = self._top(scope) + 1
        self._write("INSERT INTO windows VALUES (?, ?, ?, ?)", (scope, top, now, call))
        self._tops[scope] = top
        if scope.startswith(REFUSED_SCOPES):
            self._any_refused = True
        self._marked += 1
        if self._marked >= _PURGE_EVERY:
            self._marked = 0
            self.purge(now)
        return top

    def purge(self, now: int) -> None:
        """Remove starts older than an hour, some at a time. Those that are left have numbers in a row."""
        old = f"SELECT scope, n FROM windows WHERE at <= ? ORDER BY at LIMIT {_PURGE}"
        self._write(f"DELETE FROM windows WHERE (scope, n) IN ({old})", (now - HOUR,))

    def spent(self, caller: str) -> Spent:
        day = self.wall()[:10]
        row = self._do("SELECT calls, tokens FROM spent WHERE caller = ? AND day = ?", (caller, day)).fetchone()
        return Spent(day, caller, *(row or (0, 0)))

    def spend(self, caller: str, calls: int = 0, tokens: int = 0) -> None:
        day = self.wall()[:10]
        self._write("DELETE FROM spent WHERE caller = ? AND day < ?", (caller, day))
        self._write(_SPEND, (caller, day, calls, tokens))

    def spending(self) -> list[Spent]:
        rows = self._do(
            "SELECT day, caller, calls, tokens FROM spent WHERE day = ? ORDER BY caller", (self.wall()[:10],)
        )
        return [Spent(*row) for row in rows.fetchall()]

    def marks(self) -> list[tuple[str, int, int, int]]:
        """All starts of the last hour: scope, number there, moment and record."""
        which = "SELECT scope, n, at, call FROM windows WHERE at > ?"
        return self._do(which, (self._clock.now() - HOUR,)).fetchall()

    def forget(self, scope: str) -> None:
        self._write("DELETE FROM windows WHERE scope = ?", (scope,))  # its numbers go on, or start again: both will do

    def scopes(self, prefix: str) -> list[tuple[str, int]]:
        return self._do(
            "SELECT scope, count(*) FROM windows WHERE scope >= ? AND scope < ? AND at > ? GROUP BY scope",
            (prefix, prefix + _LAST_CHARACTER, self._clock.now() - HOUR),
        ).fetchall()

    # Changes and definitions

    def changes(self) -> int:
        return self._changed()[0]

    def _changed(self) -> tuple[int, str]:
        if self._changes is None:
            self._changes = self.meta("changes") or 0, self.meta("changed_by") or ""
        return self._changes

    def changed_last(self) -> tuple[int, str]:
        """How many changes were seen, and the digest of the last."""
        return self._changed()

    def changed(self, by: str) -> None:
        count, before = self._changed()
        if by != before:
            self.put_meta("changes", count + 1)
            self.put_meta("changed_by", by)
            self._changes = count + 1, by

    def definition(self, tool: str) -> str | None:
        if tool not in self._definitions:
            row = self._do("SELECT definition FROM definitions WHERE tool = ?", (tool,)).fetchone()
            self._definitions[tool] = None if row is None else row[0]
        return self._definitions[tool]

    def definitions(self) -> list[tuple[str, str]]:
        return self._do("SELECT tool, definition FROM definitions").fetchall()

    def pin(self, tool: str, definition: str) -> None:
        self._write("INSERT OR REPLACE INTO definitions VALUES (?, ?)", (tool, definition))
        self._definitions[tool] = definition

    # Approvals and grants

    def approval(self, id: str) -> Approval | None:
        row = self._do(f"{_APPROVALS} WHERE id = ? AND n > ?", (id, self._since.approvals)).fetchone()
        return None if row is None else self._approval(row)

    def put_approval(self, approval: Approval) -> None:
        name = _approval_name(approval.id)
        self._touched.add(name)
        self.withdraws = self.withdraws or approval.status not in _OPEN
        if approval.status in _OPEN and approval.canonical:
            self._private.put(name, approval.canonical, approval.details)
            approval = replace(approval, canonical="", details="")
        self._write(_PUT_APPROVAL, astuple(approval))

    def _approval(self, row: Any) -> Approval:
        """With what is kept beside the database, as long as it is needed. One that somebody has taken away stays
        empty: nobody can be shown the call, so that nobody can say yes to it."""
        approval = Approval(*row)
        if approval.canonical or approval.details or approval.status not in _OPEN:
            return approval
        kept = self._private.get(_approval_name(approval.id))
        if kept is None or len(kept) != 2:
            return replace(approval, details="{}")
        return replace(approval, canonical=kept[0], details=kept[1])

    def answered(self, binding: str) -> Approval | None:
        row = self._do(_ANSWERED, (binding, self._since.approvals)).fetchone()
        return None if row is None else self._approval(row)

    def approvals(self, *status: ApprovalStatus, ids: Collection[str] | None = None) -> list[Approval]:
        only = f" AND status IN ({', '.join('?' * len(status))})" if status else ""
        only += f" AND id IN ({', '.join('?' * len(ids))})" if ids is not None else ""
        which = f"{_APPROVALS} WHERE n > ?{only} ORDER BY n"
        found = self._do(which, (self._since.approvals, *status, *(ids or ()))).fetchall()
        return [self._approval(row) for row in found]

    def overdue(self, now: int) -> list[Approval]:
        return [self._approval(row) for row in self._do(_OVERDUE, (now,)).fetchall()]

    def count_waiting(self, now: int) -> int:
        return self._do(_COUNT_WAITING, (now, self._since.approvals)).fetchone()[0]

    def waiting(self, caller: str, now: int) -> tuple[int, int]:
        found = [self._approval(row) for row in self._do(_WAITING, (caller, now, self._since.approvals)).fetchall()]
        return len(found), sum(map(held_bytes, found))

    def grants(self, caller: str, tool: str) -> tuple[Grant, ...]:
        which = f"{_GRANTS} WHERE caller = ? AND tool = ? AND n > ? ORDER BY n"
        return tuple(self._grant(row) for row in self._do(which, (caller, tool, self._since.grants)).fetchall())

    def put_grant(self, grant: Grant) -> None:
        where = json.encode(grant.where).decode()
        if grant.where or grant.note:
            self._touched.add(_grant_name(grant.id))
            self._private.put(_grant_name(grant.id), where, grant.note)
            where, grant = "", replace(grant, note="")
        name, caller, tool, _, *rest = astuple(grant)
        self._write(_PUT_GRANT, (name, caller, tool, where, *rest))

    def drop_grant(self, id: str) -> None:
        self.withdraws = True
        self._touched.add(_grant_name(id))
        self._write("DELETE FROM grants WHERE id = ?", (id,))

    def all_grants(self) -> list[Grant]:
        rows = self._do(f"{_GRANTS} WHERE n > ? ORDER BY n", (self._since.grants,)).fetchall()
        return [self._grant(row) for row in rows]

    def _grant(self, row: Any) -> Grant:
        """With what is kept beside the database. Where that was taken away, nothing fits any more."""
        name, caller, tool, where, *rest = row
        if where:
            return Grant(name, caller, tool, json.decode(where), *rest)
        kept = self._private.get(_grant_name(name)) or ()
        conditions = json.decode(kept[0]) if len(kept) == 2 else _LOST
        return replace(Grant(name, caller, tool, conditions, *rest), note=kept[1] if len(kept) == 2 else "")

    # What is private

    def forget_private(self) -> None:
        """After a commit: what its rows no longer need is removed from the disk."""
        if self._touched:
            needed = self._needed()
            for name in self._touched - needed:
                self._private.drop(name)
            self._touched.clear()

    def sweep_private(self) -> None:
        """Before anything is done: what a process that was killed left behind is removed."""
        if not self._private.is_empty():
            self._private.sweep(self._needed())

    def _needed(self) -> set[str]:
        approvals = self._do("SELECT id FROM approvals WHERE status IN ('waiting', 'approved')").fetchall()
        grants = self._do("SELECT id FROM grants WHERE \"where\" = ''").fetchall()
        return {_approval_name(one) for (one,) in approvals} | {_grant_name(one) for (one,) in grants}

    # The emergency stop

    def paused(self) -> Pause | None:
        return self.own_pause() or self._stops.standing()

    def own_pause(self) -> Pause | None:
        if self._pause is None:
            said = self.meta("paused")
            self._pause = (json.decode(said, type=Pause) if said else None,)
        return self._pause[0] or self._stops_of_folder.standing()

    def belong_to(self, folder: str) -> None:
        """The folder whose store it is, "" where somebody named the store: what stops one stops the other."""
        self._folder = folder_stop(folder) if folder else ""
        self._stops_of_folder = Stops(self._folder) if folder else Stops()

    def put_pause(self, pause: Pause | None) -> None:
        """It is also kept outside: whoever removes the store does not lift the stop. What stops the folder with it ends
        with it, also where the store is named and its folder is not."""
        ended = self.own_pause() if pause is None else None
        self.withdraws = True
        self.put_meta("paused", "" if pause is None else json.encode(pause).decode())
        self._pause = (pause,)
        with suppress(OSError):  # then it lasts as long as the store does
            put_stop(pause, str(self._private.database))
            if self._folder:
                put_stop(pause, self._folder)
            for folder, held in () if ended is None else stops_above(self._private.database).items():
                if held == ended:
                    put_stop(None, folder)

    # Tokens

    def put_token(self, token: Token) -> None:
        self._write(_PUT_TOKEN, astuple(token))

    def drop_token(self, id: str) -> None:
        self.withdraws = True
        self._write("DELETE FROM tokens WHERE id = ?", (id,))

    def tokens(self) -> list[Token]:
        return [Token(*row) for row in self._do(_TOKENS, (self._since.tokens,)).fetchall()]

    # People

    def put_credential(self, credential: Credential) -> None:
        self._write(_PUT_CREDENTIAL, astuple(credential))

    def drop_credential(self, id: str) -> None:
        self.withdraws = True
        self._write("DELETE FROM credentials WHERE id = ?", (id,))

    def credentials(self) -> list[Credential]:
        return [Credential(*row) for row in self._do(_CREDENTIALS, (self._since.credentials,)).fetchall()]

    def touch(self) -> None:
        self.put_meta("touched", os.urandom(_TOUCHED))  # never the same: SQLite does not write what has not changed

    # A few words of the store's own

    def meta(self, name: str) -> Any:
        row = self._do("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def put_meta(self, name: str, value: int | str | bytes) -> None:
        self._write(_PUT_META, (name, value))

    def latest(self) -> int:
        """The latest monotonic time at which anything was written."""
        (mark,) = self._do("SELECT max(at) FROM windows").fetchone()
        (asked,) = self._do("SELECT max(asked_at) FROM approvals").fetchone()
        return max(mark or 0, asked or 0)

    def shift(self, by: int, now: int, until: int | None) -> None:
        """Move all monotonic times: what was, to before `now`; what will be, to before `until` where that is given."""
        self._write("UPDATE windows SET at = min(at + ?, ?)", (by, now))
        self._write("UPDATE approvals SET asked_at = min(asked_at + ?, ?)", (by, now))
        for table in ("approvals", "grants"):
            self._write(
                f"UPDATE {table} SET expires_at = min(expires_at + ?, ifnull(?, expires_at + ?))", (by, until, by)
            )


def _fits(number: int) -> int:
    """One that SQLite cannot hold is a mistake of this work alone: it must not be found when all are written."""
    if abs(number) >> 63:
        raise OverflowError("Python int too large to convert to SQLite INTEGER")
    return number


def _approval_name(id: str) -> str:
    return f"approval {id}"


def _grant_name(id: str) -> str:
    return f"grant {id}"
