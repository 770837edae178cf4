"""A batch of works that said beforehand what they need: two round trips for all of them, however many they are.

    BEGIN, own node, locks in order │ then, in statements of their own: windows, time, definitions, approvals, grants
    ─────────────── decided one after the other in Python, each seeing what those before it did ────────────────────
    records, windows, running, node │ COMMIT

To lock and to look in one statement would look at what was there before the wait, and admit too many.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import json

from rightcall.policy.types import Approval, Grant, Mark, Pause, Spent
from rightcall.record.postgres.node import LEASE_SECONDS, LOCK_OWN, MOVE, Chain
from rightcall.record.postgres.schema import TIME
from rightcall.record.postgres.tables import (
    CHANGED_BY,
    CHANGES,
    INSERT_MARKS,
    INSERT_RECORDS,
    PUT_APPROVAL,
    PUT_CHANGE,
    PUT_GRANT,
    SPEND,
    PostgresTables,
    Record,
    approval_row,
    grant_row,
    key_of,
    pipelined,
)
from rightcall.record.tables import AuditEntry, Clock, EntryKind, Needs

if TYPE_CHECKING:
    import psycopg

_TAIL = 100
"""Starts that are fetched of a scope of repeated or refused calls."""

_LOCK = "SELECT scope FROM locks WHERE scope = ANY(%b) ORDER BY scope FOR UPDATE"
_LOCK_APPROVALS = "SELECT id, doc FROM approvals WHERE binding = ANY(%s) OR id = ANY(%s) ORDER BY id FOR UPDATE"
_LOCK_GRANTS = (
    "SELECT doc FROM grants WHERE (caller, tool) IN (SELECT * FROM unnest(%b::bytea[], %b::bytea[]))"
    " ORDER BY id FOR UPDATE"
)
_LOOK = (
    "SELECT wanted.scope, w.n, w.at, w.call"
    " FROM unnest(%b::bytea[], %b::bigint[], %b::bigint[]) AS wanted (scope, far, near)"
    " CROSS JOIN LATERAL (SELECT max(n) AS top FROM windows WHERE scope = wanted.scope) AS last"
    " CROSS JOIN LATERAL (SELECT n, at, call FROM windows WHERE scope = wanted.scope"
    " AND n BETWEEN last.top - wanted.far + 1 AND last.top - wanted.near + 1"
    " ORDER BY n DESC LIMIT wanted.far - wanted.near + 1) AS w"
)
"""The limit of rows keeps the server to the index. A join would read every start of every scope where it was planned
while the table was small, and grow with the calls of the last hour."""
_SAME = (
    f"SELECT c.n, w.scope, w.n, w.at, w.call FROM ({CHANGES}) AS c (n)"
    " LEFT JOIN unnest(%b::bytea[], %b::bytea[]) AS wanted (before, after) ON true"
    " LEFT JOIN LATERAL (SELECT * FROM windows"
    " WHERE scope = wanted.before || convert_to(c.n::text, 'UTF8') || wanted.after"
    f" ORDER BY n DESC LIMIT {_TAIL}) AS w ON true"
)
_STATE = f"SELECT ({CHANGES}), {CHANGED_BY}, (SELECT value FROM meta WHERE name = 'paused')"
_SPENT = "SELECT caller, day, calls, tokens FROM spent WHERE caller = ANY(%b)"
_DEFINITIONS = "SELECT tool, definition FROM definitions WHERE tool = ANY(%b)"
_RUNNING = (
    "SELECT seq, hash FROM running WHERE seq = ANY(%s) AND (node IS NULL OR (node = %s AND epoch = %s))"
    " ORDER BY seq FOR UPDATE"
)
_NUMBERS = "SELECT nextval('numbers') FROM generate_series(1, %s)"
_BEGUN = "INSERT INTO running SELECT * FROM unnest(%b::bigint[], %b::integer[], %b::bigint[], %b::bytea[], %b::text[])"
_OPEN = {"approved": 0, "denied": 1, "waiting": 2}


class Unplanned(BaseException):
    """A work touches what it did not name, and what others may touch too: it has to be done alone. No work catches
    it."""


class Wants(NamedTuple):
    """The needs of all works of a batch, as the server is asked for them."""

    locks: list[bytes]
    callers: frozenset[str]
    windows: tuple[list[bytes], list[int], list[int]]
    same: tuple[list[bytes], list[bytes]]
    definitions: list[bytes]
    bindings: list[str]
    approvals: list[str]
    grants: tuple[list[bytes], list[bytes]]
    ends: list[int]
    budgets: list[bytes]
    works: int


def wants_of(needs: Iterable[Needs]) -> Wants:
    """All together. A limit that looks N starts back needs as many starts from there on as works of the batch may
    add."""
    every = tuple(needs)
    times = Counter(scope for one in every for scope in {name for name, _ in one.scopes})
    look = {(key_of(scope), back, max(1, back - times[scope] + 1)) for one in every for scope, back in one.scopes}
    look |= {(key_of(scope), 1, 1) for scope in times}  # when the last one was
    look |= {(key_of(scope), _TAIL, 1) for one in every for scope in one.tails}
    callers = frozenset(caller for one in every for caller in (*one.callers, *one.budgets))
    locks = {key_of(scope) for scope in times} | {caller_lock(caller) for caller in callers}
    grants = sorted({pair for one in every for pair in one.grants})
    same = sorted({pair for one in every for pair in one.same})
    return Wants(
        sorted(locks), callers,
        ([key for key, _, _ in look], [far for _, far, _ in look], [near for _, _, near in look]),
        ([key_of(before) for before, _ in same], [key_of(after) for _, after in same]),
        sorted({key_of(name) for one in every for name in one.definitions}),
        sorted({name for one in every for name in one.bindings}),
        sorted({name for one in every for name in one.approvals if name.isprintable()}),
        ([key_of(caller) for caller, _ in grants], [key_of(tool) for _, tool in grants]),
        sorted({call for one in every for call in one.ends}),
        sorted({key_of(name) for one in every for name in one.budgets}), len(every),
    )  # fmt: skip


def caller_lock(caller: str) -> bytes:
    """What is locked for everything that is counted of one caller's calls."""
    return key_of(f"caller\0{caller}")


class Looked(NamedTuple):
    """What the first round trip brought."""

    own: tuple[int, bytes] | None
    """None: this node was fenced."""
    locked: set[bytes]
    windows: list[Any]
    same: list[Any]
    now: int
    state: tuple[int, str, str | None]
    definitions: list[Any]
    approvals: list[Any]
    grants: list[Any]
    running: list[Any]
    spent: list[Any]
    numbers: list[int]


def lock_and_look(connection: "psycopg.Connection[Any]", chain: Chain, wants: Wants) -> Looked:
    """BEGIN, and all questions, in one round trip. Statements run one after the other, each with what it sees then."""
    asked: list[Any] = []

    def ask(statement: str, *values: Any, needed: Any = True) -> None:
        cursor = connection.cursor() if needed else None
        if cursor is not None:
            cursor.execute(statement.encode(), values or None)
        asked.append(cursor)

    short = max(0, wants.works + 1 - chain.left())  # one more: whoever admits asks which would be the next
    with pipelined(connection):
        connection.execute("BEGIN")
        ask(LOCK_OWN, chain.node, chain.epoch)
        ask(_LOCK, wants.locks, needed=wants.locks)
        ask(_LOCK_APPROVALS, wants.bindings, wants.approvals, needed=wants.bindings or wants.approvals)
        ask(_LOCK_GRANTS, *wants.grants, needed=wants.grants[0])
        ask(_RUNNING, wants.ends, chain.node, chain.epoch, needed=wants.ends)
        ask(_LOOK, *wants.windows, needed=wants.windows[0])
        ask(_STATE)
        ask(_SAME, *wants.same, needed=wants.same[0])
        ask(_DEFINITIONS, wants.definitions, needed=wants.definitions)
        ask(_SPENT, wants.budgets, needed=wants.budgets)
        ask(_NUMBERS, short, needed=short)
        ask(TIME)
    found: list[list[Any]] = [[] if cursor is None else cursor.fetchall() for cursor in asked]
    own, locked, approvals, grants, running, windows, state, same, definitions, spent, numbers, now = found
    return Looked(
        own[0] if own else None, {scope for (scope,) in locked}, windows, same, now[0][0] * 1000, state[0], definitions,
        approvals, [doc for (doc,) in grants], running, spent, [number for (number,) in numbers],
    )  # fmt: skip


class BatchTables(PostgresTables):
    """The tables as the first round trip found them, with what the works of the batch did since. Nothing is written
    before `statements` is sent; `state` and `go_back` undo one work."""

    def __init__(
        self, connection: "psycopg.Connection[Any]", clock: Clock, chain: Chain, wants: Wants, looked: Looked
    ) -> None:
        super().__init__(connection, clock, chain)
        self._wants = wants
        self._windows = {key: dict[int, Mark]() for key in wants.windows[0]}
        for scope, n, at, call in looked.windows:
            self._windows[scope][n] = Mark(at, call)
        self._tops = {scope: max(marks, default=0) for scope, marks in self._windows.items()}
        self.latest = max((marks[self._tops[scope]].at for scope, marks in self._windows.items() if marks), default=0)
        """When the last start in any of these scopes was."""
        self._changes, self._changed_by, paused = looked.state
        self._changes_before = self._changes
        self._take_same(looked.same)
        self._paused: Pause | None = json.decode(paused, type=Pause) if paused else None
        self._definitions: dict[str, str | None] = {
            key.decode("utf-8", "surrogatepass"): None for key in wants.definitions
        }
        for key, definition in looked.definitions:
            self._definitions[key.decode("utf-8", "surrogatepass")] = definition
        self._approvals = {name: json.decode(doc, type=Approval) for name, doc in looked.approvals}
        self._grants = {grant.id: grant for grant in (json.decode(doc, type=Grant) for doc in looked.grants)}
        self._grants_asked = set(zip(*wants.grants, strict=True))
        self._running = dict(looked.running)
        self._spent = {(caller, day): (calls, tokens) for caller, day, calls, tokens in looked.spent}
        self._more: dict[tuple[bytes, str], tuple[int, int]] = {}
        """What was used up in this batch."""
        self._records: list[Record] = []
        self._marks: list[tuple[bytes, int, int, int]] = []
        self._begun: dict[int, tuple[Any, ...]] = {}
        self._ended: list[int] = []
        self._put: dict[str, tuple[str, tuple[Any, ...]]] = {}
        self._undo: list[Callable[[], object]] = []

    def _take_same(self, rows: list[Any]) -> None:
        """What was found of identical calls, for the number of changes that was seen then."""
        number = rows[0][0] if rows else 0
        for before, after in zip(*self._wants.same, strict=True):
            key = before + str(number).encode() + after
            self._windows[key], self._tops[key] = {}, 0
        for _, scope, n, at, call in rows:
            if scope is not None:
                self._windows[scope][n] = Mark(at, call)
                self._tops[scope] = max(self._tops[scope], n)

    # One work

    def check(self) -> None:
        """Nothing is sent before all works are done."""

    def state(self) -> tuple[Any, ...]:
        self._undo.clear()
        return self._own().state(), len(self._records), len(self._marks), len(self._ended), len(self.begun_calls)

    def go_back(self, state: tuple[Any, ...]) -> None:
        chain, records, marks, ended, begun = state
        self._own().go_back(chain)
        for scope, n, _, _ in reversed(self._marks[marks:]):
            del self._windows[scope][n]
            self._tops[scope] = n - 1
        del self._records[records:], self._marks[marks:], self._ended[ended:], self.begun_calls[begun:]
        while self._undo:
            self._undo.pop()()

    def _change(self, table: dict[Any, Any], key: Any, value: Any) -> None:
        if key in table:
            self._undo.append(lambda before=table[key]: table.__setitem__(key, before))
        else:
            self._undo.append(lambda: table.pop(key))
        table[key] = value

    # The audit

    def append(self, kind: EntryKind, call: int, body: bytes) -> int:
        row = self._own().append(kind, call, body, self._clock, self._more_numbers)
        self._records.append(row)
        return row[1]

    def entry(self, seq: int) -> AuditEntry | None:
        for day, number, node, kind, call, at, own, body in reversed(self._records):
            if number == seq:
                del day
                return AuditEntry(number, kind, call, at, body.encode(), own, node)  # pyright: ignore[reportArgumentType]
        return super().entry(seq)

    def belonging(self, seq: int) -> list[AuditEntry]:
        own = [row[1] for row in self._records if row[4] == seq]
        return [*super().belonging(seq), *(entry for entry in map(self.entry, own) if entry is not None)]

    def is_open(self, seq: int, hash: bytes) -> bool:
        if seq in self._ended:
            return False
        return self._running.get(seq) == hash or super().is_open(seq, hash)

    def begun(self, seq: int, *, elsewhere: bool = False) -> None:
        chain, entry = self._own(), self.entry(seq)
        node, own = None if elsewhere else chain.node, b"" if entry is None else entry.hash
        self._change(self._begun, seq, (seq, node, chain.epoch, own, self.wall()))
        if elsewhere:
            self.begun_calls = [one for one in self.begun_calls if one != seq]
        else:
            self.begun_calls.append(seq)

    def ended(self, seq: int) -> None:
        self._ended.append(seq)

    def remove_through(self, seq: int) -> int:
        del seq
        raise Unplanned

    def rewrite(self, entries: Sequence[AuditEntry]) -> list[int]:
        del entries
        raise Unplanned

    def left_behind(self) -> list[int]:
        raise Unplanned

    # Windows

    def _fetched(self, scope: str) -> bytes:
        """Its key, once it is known to be locked and its last starts have been fetched."""
        key = key_of(scope)
        if key in self._windows:
            return key
        kind, _, rest = scope.partition("\0")
        if kind not in ("same", "refused") or rest.partition("\0")[0] not in self._wants.callers:
            raise Unplanned
        if kind == "same" and self._is_new(scope):
            self._windows[key], self._tops[key] = {}, 0
            return key
        tail = f"SELECT n, at, call FROM windows WHERE scope = %s ORDER BY n DESC LIMIT {_TAIL}"
        rows = self._connection.execute(tail.encode(), (key,)).fetchall()
        self._windows[key] = marks = {n: Mark(at, call) for n, at, call in rows}
        self._tops[key] = max(marks, default=0)
        return key

    def _is_new(self, scope: str) -> bool:
        """Whether it counts from a change on that this batch makes: nobody else has counted there, for whoever does
        has to lock the same caller."""
        parts = scope.split("\0")
        return len(parts) > 4 and parts[4].isdecimal() and int(parts[4]) > self._changes_before

    def nth_last(self, scope: str, n: int) -> Mark | None:
        key = self._fetched(scope)
        number = self._tops[key] - n + 1
        if n < 1 or number < 1:
            return None
        found = self._windows[key].get(number)
        if found is None:  # further back than was asked for
            one = "SELECT at, call FROM windows WHERE scope = %s AND n = %s"
            row = self._connection.execute(one, (key, number)).fetchone()
            found = None if row is None else Mark(*row)
        return found

    def mark(self, scope: str, call: int, at: int | None = None) -> int:
        key = self._fetched(scope)
        now = self._clock.now() if at is None else at
        self._tops[key] = top = self._tops[key] + 1
        self._windows[key][top] = Mark(now, call)
        self._marks.append((key, top, now, call))
        return top

    def spent(self, caller: str) -> Spent:
        key = self._budget_of(caller)
        (calls, tokens), (more, others) = self._spent.get(key, (0, 0)), self._more.get(key, (0, 0))
        return Spent(key[1], caller, calls + more, tokens + others)

    def spend(self, caller: str, calls: int = 0, tokens: int = 0) -> None:
        key = self._budget_of(caller)
        more, others = self._more.get(key, (0, 0))
        self._change(self._more, key, (more + calls, others + tokens))

    def _budget_of(self, caller: str) -> tuple[bytes, str]:
        key = key_of(caller)
        if key not in self._wants.budgets:
            raise Unplanned
        return key, self.wall()[:10]

    def forget(self, scope: str) -> None:
        del scope
        raise Unplanned

    def scopes(self, prefix: str) -> list[tuple[str, int]]:
        del prefix
        raise Unplanned

    # Changes and definitions

    def changes(self) -> int:
        return self._changes

    def changed(self, by: str) -> None:
        if by != self._changed_by:
            before = self._changes, self._changed_by
            self._undo.append(lambda: self._set_changes(*before))
            self._set_changes(self._changes + 1, by)

    def _set_changes(self, count: int, by: str) -> None:
        self._changes, self._changed_by = count, by

    def definition(self, tool: str) -> str | None:
        if tool not in self._definitions:
            self._definitions[tool] = super().definition(tool)
        return self._definitions[tool]

    def pin(self, tool: str, definition: str) -> None:
        del tool, definition
        raise Unplanned

    # Approvals and grants

    def approval(self, id: str) -> Approval | None:
        return self._approvals[id] if id in self._approvals else super().approval(id)

    def answered(self, binding: str) -> Approval | None:
        if binding not in self._wants.bindings:
            return super().answered(binding)
        found = [one for one in self._approvals.values() if one.binding == binding and one.status in _OPEN]
        if len(found) > 1:  # the server knows which is the newest
            raise Unplanned
        return found[0] if found else None

    def put_approval(self, approval: Approval) -> None:
        if approval.id not in self._approvals:
            raise Unplanned
        self._change(self._approvals, approval.id, approval)
        self._change(self._put, f"approval {approval.id}", (PUT_APPROVAL, approval_row(approval)))

    def grants(self, caller: str, tool: str) -> tuple[Grant, ...]:
        if (key_of(caller), key_of(tool)) not in self._grants_asked:
            return super().grants(caller, tool)
        return tuple(one for one in self._grants.values() if one.caller == caller and one.tool == tool)

    def all_grants(self) -> list[Grant]:
        return list(self._grants.values())

    def put_grant(self, grant: Grant) -> None:
        if grant.id not in self._grants:
            raise Unplanned
        self._change(self._grants, grant.id, grant)
        self._change(self._put, f"grant {grant.id}", (PUT_GRANT, grant_row(grant)))

    def drop_grant(self, id: str) -> None:
        if id not in self._grants:
            raise Unplanned
        kept = dict(self._grants)
        self._undo.append(lambda: self._grants.update(kept))
        del self._grants[id]
        self._change(self._put, f"grant {id}", ("DELETE FROM grants WHERE id = %s", (id,)))

    def write_document(self, name: str, statement: str, values: tuple[Any, ...]) -> None:
        self._change(self._put, f"document {name}", (statement, values))

    def overdue(self, now: int) -> list[Approval]:
        del now
        raise Unplanned  # whoever looks for them wants to write

    def count_waiting(self, now: int) -> int:
        del now
        raise Unplanned

    def waiting(self, caller: str, now: int) -> tuple[int, int]:
        del caller, now
        raise Unplanned

    def own_pause(self) -> Pause | None:
        return self._paused

    def put_pause(self, pause: Pause | None) -> None:
        del pause
        raise Unplanned

    # The second round trip

    def statements(self) -> list[tuple[str, tuple[Any, ...]]]:
        """What is to be written, in the order in which all nodes write."""
        chain, found = self._own(), list[tuple[str, tuple[Any, ...]]]()
        if self._records:
            found.append((INSERT_RECORDS, _columns(self._records)))
        if self._marks:
            found.append((INSERT_MARKS, _columns(self._marks)))
        if self._more:
            spent = [(*key, *more) for key, more in sorted(self._more.items())]
            found.append((SPEND, _columns(spent)))
        begun = [row for seq, row in self._begun.items() if seq not in self._ended]
        if begun:
            found.append((_BEGUN, _columns(begun)))
        if self._ended:
            found.append(("DELETE FROM running WHERE seq = ANY(%s)", (sorted(self._ended),)))
        found += [self._put[name] for name in sorted(self._put)]
        if self._changes != self._changes_before:
            more = self._changes - self._changes_before
            found.append((PUT_CHANGE, (str(chain.node), more, self._changed_by, self._changes)))
        found.append((MOVE, (chain.seq, chain.hash, LEASE_SECONDS, chain.node, chain.epoch)))
        return found


def _columns(rows: list[Any]) -> tuple[Any, ...]:
    return tuple(list(column) for column in zip(*rows, strict=True))
