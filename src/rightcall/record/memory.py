"""The store's twin in memory, for tests and for programs that need no lasting record."""

import threading
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from os import urandom
from time import time
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from rightcall.errors import StoreError
from rightcall.policy.trust import EVERYWHERE, Stops
from rightcall.policy.types import HOUR, SECOND, Approval, ApprovalStatus, Credential, Grant, Mark, Pause, Spent, Token
from rightcall.record.admission import sweep
from rightcall.record.tables import (
    START,
    AuditEntry,
    Clock,
    EntryKind,
    ReadOnly,
    SystemClock,
    T,
    Tables,
    held_bytes,
    link,
    pause_between_looks,
    report,
)

if TYPE_CHECKING:
    from rightcall.record.notes import Kind
    from rightcall.record.rollup.rollup import Rollup

# ── tables ──
# The tables of the store as plain dicts and lists. Every write notes how it is undone, so that a work that raises
# half-way has not happened here either.

_SWEEP = 4096
"""Marks after which scopes that were not used for an hour are looked for."""
_FEW = 64
"""Marks of one scope that are not worth the search for old ones."""
_APPROVALS = 10_000
"""Approvals that are kept. One that is forgotten is asked again."""
_OPEN = ("waiting", "approved")


class MemoryTables:
    """Everything that `Tables` asks for, with at most `most` records: the oldest go first, numbering goes on."""

    def __init__(self, clock: Clock, most: int) -> None:
        self._clock = clock
        self._most = max(most, 2)
        """One of them is the checkpoint, once any have gone."""
        self._undo: list[str | tuple[Callable[..., object], tuple[Any, ...]]] = []
        """What to call to go back; a bare name is a scope with one mark too many."""
        self._now: int | None = None
        """When this work began: a call starts in all its scopes at one moment."""
        self._rollup: Rollup | None = None
        self._entries: list[AuditEntry] = []
        self._first = 1
        self._head = START
        self._parts: dict[int, list[AuditEntry]] = {}
        self._running: set[int] = set()
        self._marks: dict[str, list[Mark]] = {}
        self._numbers: dict[str, int] = {}
        """Starts in a scope since it was first used, or last swept."""
        self._marked = 0
        self._spent: dict[str, Spent] = {}
        self._changes = 0, ""
        self._definitions: dict[str, str] = {}
        self._approvals: dict[str, Approval] = {}
        self._bindings: dict[str, list[str]] = {}
        self._grants: dict[str, Grant] = {}
        self._pause: Pause | None = None
        self._stops = Stops(EVERYWHERE)
        self._tokens: dict[str, Token] = {}
        self._credentials: dict[str, Credential] = {}

    # A work is over

    def keep(self) -> None:
        """It was done: what it did stays. What is too much goes."""
        if len(self._entries) > self._most:
            self._drop_oldest()
        if len(self._approvals) > _APPROVALS:
            self._drop_approval(self._least_needed())
        if self._marked >= _SWEEP:
            self._sweep()
        self._undo.clear()
        self._now = None

    def _least_needed(self) -> str:
        """The oldest approval that is settled; one that still counts only where all do."""
        settled = (name for name, one in self._approvals.items() if one.status not in _OPEN)
        return next(settled, next(iter(self._approvals)))

    def _drop_oldest(self) -> None:
        """So that there is room for some, behind a checkpoint with which the chain still verifies."""
        from rightcall.record.verify import checkpoint_body  # late: few programs fill it

        last = self._entries[-max(self._most - 1 - self._most // 16, 1) - 1]
        self.append("prune", 0, checkpoint_body(self._first, last))
        self.remove_through(last.seq)

    def _sweep(self) -> None:
        self._marked = 0
        since = self._clock.now() - HOUR
        for name in [name for name, kept in self._marks.items() if kept[-1].at <= since]:
            del self._marks[name]
            self._numbers.pop(name, None)

    def undo(self) -> None:
        """It raised: nothing of it has happened."""
        while self._undo:
            step = self._undo.pop()
            if isinstance(step, str):
                self._unmark(step)
            else:
                back, values = step
                back(*values)
        self._now = None

    # The audit

    def now(self) -> int:
        return self._clock.now()

    def wall(self) -> str:
        return self._clock.wall()

    def append(self, kind: EntryKind, call: int, body: bytes) -> int:
        seq = self._first + len(self._entries)
        at = self._clock.wall()
        self._undo.append((self._take_back, (self._head,)))
        self._head = own = link(self._head, seq, kind, call, at, body)
        entry = AuditEntry(seq, kind, call, at, body, own)
        self._entries.append(entry)
        if call:
            self._parts.setdefault(call, []).append(entry)
        return seq

    def _take_back(self, head: bytes) -> None:
        entry = self._entries.pop()
        self._head = head
        if entry.call:
            self._parts[entry.call].pop()
            if not self._parts[entry.call]:
                del self._parts[entry.call]

    def entry(self, seq: int) -> AuditEntry | None:
        place = seq - self._first
        return self._entries[place] if 0 <= place < len(self._entries) else None

    def entries_of(self, seqs: Collection[int]) -> list[AuditEntry]:
        return list(filter(None, map(self.entry, sorted(seqs))))

    def entries(self, after: int = 0, until: str | None = None, since: str | None = None) -> Iterator[AuditEntry]:
        for entry in self._entries[max(0, after + 1 - self._first) :]:
            if (since is None or entry.at >= since) and (until is None or entry.at < until):
                yield entry

    def newest(self, count: int, kinds: tuple[EntryKind, ...] = (), before: int | None = None) -> list[AuditEntry]:
        found: list[AuditEntry] = []
        for entry in reversed(self._entries):
            if len(found) >= count:
                break
            if (not kinds or entry.kind in kinds) and (before is None or entry.seq < before):
                found.append(entry)
        return found

    def belonging(self, seq: int) -> list[AuditEntry]:
        return list(self._parts.get(seq, ()))

    def is_open(self, seq: int, hash: bytes) -> bool:
        entry = self.entry(seq)
        return entry is not None and entry.hash == hash and all(one.kind != "end" for one in self.belonging(seq))

    def head(self) -> tuple[int, bytes]:
        return self._first + len(self._entries) - 1, self._head

    def oldest(self) -> int:
        return self._first if self._entries else 0

    def last_through(self, seq: int) -> AuditEntry | None:
        return self.entry(min(seq, self.head()[0]))

    def last_before(self, moment: str) -> int:
        young = next((entry.seq for entry in self.entries(since=moment)), None)
        return self.head()[0] if young is None else young - 1

    def chains(self) -> None:
        return None

    def heads(self, through: int) -> dict[int, tuple[int, bytes]]:
        del through
        return {}

    def rollup(self) -> "Rollup":
        if self._rollup is None:
            from rightcall.record.rollup.rollup import Rollup  # late: hardly any program asks

            self._rollup = Rollup(None)
        return self._rollup

    def close(self) -> None:
        if self._rollup is not None:
            self._rollup.close()
            self._rollup = None

    def remove_through(self, seq: int) -> int:
        count = max(0, min(seq - self._first + 1, len(self._entries)))
        removed = self._entries[:count]
        self._undo.append((self._put_back, (removed,)))
        del self._entries[:count]
        self._first += count
        for entry in removed:
            if entry.call and len(parts := self._parts[entry.call]) > 1:
                parts.pop(0)
            else:
                self._parts.pop(entry.call, None)
        return count

    def rewrite(self, entries: Sequence[AuditEntry]) -> list[int]:
        changed: list[int] = []
        for one in entries:
            before = self.entry(one.seq)
            if before is not None and before.body != one.body:
                self._undo.append((self._exchange, (before,)))
                self._exchange(replace(before, body=one.body))
                changed.append(one.seq)
        return changed

    def _exchange(self, entry: AuditEntry) -> None:
        self._entries[entry.seq - self._first] = entry
        if entry.call:
            parts = self._parts[entry.call]
            parts[next(place for place, one in enumerate(parts) if one.seq == entry.seq)] = entry

    def _put_back(self, removed: list[AuditEntry]) -> None:
        self._entries[:0] = removed
        self._first -= len(removed)
        for entry in reversed(removed):
            if entry.call:
                self._parts.setdefault(entry.call, []).insert(0, entry)

    # Calls that run

    def begun(self, seq: int, *, elsewhere: bool = False) -> None:
        del elsewhere  # nothing here outlives its process
        if seq not in self._running:
            self._undo.append((self._running.discard, (seq,)))
            self._running.add(seq)

    def ended(self, seq: int) -> None:
        if seq in self._running:
            self._undo.append((self._running.add, (seq,)))
            self._running.discard(seq)

    def running(self) -> list[int]:
        return sorted(self._running)

    # Windows

    def nth_last(self, scope: str, n: int) -> Mark | None:
        marks = self._marks.get(scope)
        return marks[-n] if marks is not None and 1 <= n <= len(marks) else None

    def mark(self, scope: str, call: int, at: int | None = None) -> int:
        now = at if at is not None else self._now
        if now is None:
            now = self._now = self._clock.now()
        marks = self._marks.get(scope)
        if marks is None:
            marks = self._marks[scope] = []
        elif len(marks) > _FEW and marks[len(marks) // 2].at <= now - HOUR:
            del marks[: len(marks) // 2]
        self._undo.append(scope)
        marks.append(Mark(now, call))
        self._marked += 1
        number = self._numbers[scope] = self._numbers.get(scope, 0) + 1
        return number

    def _unmark(self, scope: str) -> None:
        marks = self._marks[scope]
        marks.pop()
        self._numbers[scope] -= 1
        if not marks:
            del self._marks[scope]

    def spent(self, caller: str) -> Spent:
        found = self._spent.get(caller)
        day = self._clock.wall()[:10]
        return found if found is not None and found.day == day else Spent(day, caller)

    def spend(self, caller: str, calls: int = 0, tokens: int = 0) -> None:
        before = self.spent(caller)
        self._put(self._spent, caller, Spent(before.day, caller, before.calls + calls, before.tokens + tokens))

    def spending(self) -> list[Spent]:
        day = self._clock.wall()[:10]
        return sorted((one for one in self._spent.values() if one.day == day), key=lambda one: one.caller)

    def forget(self, scope: str) -> None:
        marks = self._marks.pop(scope, None)
        if marks is not None:
            self._undo.append((self._marks.__setitem__, (scope, marks)))

    def scopes(self, prefix: str) -> list[tuple[str, int]]:
        since = self._clock.now() - HOUR
        counts = [
            (name, len(marks) - bisect_right(marks, since, key=lambda mark: mark.at))
            for name, marks in self._marks.items()
            if name.startswith(prefix)
        ]
        return sorted(pair for pair in counts if pair[1])

    # Changes and definitions

    def changes(self) -> int:
        return self._changes[0]

    def changed(self, by: str) -> None:
        count, before = self._changes
        if by != before:
            self._undo.append((setattr, (self, "_changes", self._changes)))
            self._changes = count + 1, by

    def definition(self, tool: str) -> str | None:
        return self._definitions.get(tool)

    def pin(self, tool: str, definition: str) -> None:
        self._put(self._definitions, tool, definition)

    def _put(self, table: dict[str, Any], key: str, value: Any) -> None:
        if key in table:
            self._undo.append((table.__setitem__, (key, table[key])))
        else:
            self._undo.append((table.pop, (key,)))
        table[key] = value

    # Approvals and grants

    def approval(self, id: str) -> Approval | None:
        return self._approvals.get(id)

    def put_approval(self, approval: Approval) -> None:
        known = self._approvals.get(approval.id)
        if known is None:
            self._undo.append((self._drop_approval, (approval.id,)))
            self._approvals[approval.id] = approval
            self._bindings.setdefault(approval.binding, []).append(approval.id)
        else:
            self._put(self._approvals, approval.id, approval)

    def _drop_approval(self, id: str) -> None:
        binding = self._approvals.pop(id).binding
        self._bindings[binding].remove(id)
        if not self._bindings[binding]:
            del self._bindings[binding]

    def answered(self, binding: str) -> Approval | None:
        found = {one.status: one for one in map(self._approvals.__getitem__, self._bindings.get(binding, ()))}
        return found.get("approved") or found.get("denied") or found.get("waiting")

    def approvals(self, *status: ApprovalStatus, ids: Collection[str] | None = None) -> list[Approval]:
        found = (one for one in self._approvals.values() if not status or one.status in status)
        return [one for one in found if ids is None or one.id in ids]

    def overdue(self, now: int) -> list[Approval]:
        return [one for one in self.approvals(*_OPEN) if one.expires_at <= now]

    def count_waiting(self, now: int) -> int:
        return sum(one.expires_at > now for one in self.approvals("waiting"))

    def waiting(self, caller: str, now: int) -> tuple[int, int]:
        found = [one for one in self.approvals("waiting") if one.caller == caller and one.expires_at > now]
        return len(found), sum(map(held_bytes, found))

    def grants(self, caller: str, tool: str) -> tuple[Grant, ...]:
        return tuple(one for one in self._grants.values() if one.caller == caller and one.tool == tool)

    def put_grant(self, grant: Grant) -> None:
        self._put(self._grants, grant.id, grant)

    def drop_grant(self, id: str) -> None:
        self._drop(self._grants, id)

    def _drop(self, table: dict[str, Any], key: str) -> None:
        self._undo.append((self._restore, (table, dict(table))))
        table.pop(key, None)

    def _restore(self, table: dict[str, Any], kept: dict[str, Any]) -> None:
        """In their order."""
        table.clear()
        table.update(kept)

    def all_grants(self) -> list[Grant]:
        return list(self._grants.values())

    # The emergency stop

    def paused(self) -> Pause | None:
        return self._pause or self._stops.standing()

    def own_pause(self) -> Pause | None:
        return self._pause

    def put_pause(self, pause: Pause | None) -> None:
        self._undo.append((setattr, (self, "_pause", self._pause)))
        self._pause = pause

    # Tokens

    def put_token(self, token: Token) -> None:
        self._put(self._tokens, token.id, token)

    def drop_token(self, id: str) -> None:
        self._drop(self._tokens, id)

    def tokens(self) -> list[Token]:
        return list(self._tokens.values())

    # People

    def put_credential(self, credential: Credential) -> None:
        self._put(self._credentials, credential.id, credential)

    def drop_credential(self, id: str) -> None:
        self._drop(self._credentials, id)

    def credentials(self) -> list[Credential]:
        return list(self._credentials.values())

    def touch(self) -> None:
        """Memory can always be written."""


RECORDS = 50_000
"""Records that are kept unless told otherwise."""
_TIDY = 5 * SECOND
"""How often questions whose time is over are looked for."""


class MemoryStore:
    """A `Store` for one process, without a file. It keeps the last `records` records."""

    is_remote = False

    def __init__(self, clock: Clock | None = None, *, records: int = RECORDS) -> None:
        if records < 1:
            raise ValueError(f"records must be at least 1, not {records}")
        self.clock = clock or SystemClock()
        self._tables = MemoryTables(self.clock, records)
        self._reader = cast("Tables", ReadOnly(self._tables))
        self._lock = threading.RLock()
        self._inside = False
        self._shelves: dict[Kind, MemoryShelf] = {}
        self._later: list[Callable[[Tables], object]] = []
        self._closed = False
        self._tidied: int | None = None
        self._key = urandom(32)

    def transact(self, work: Callable[[Tables], T]) -> T:
        with self._lock:
            if self._inside:
                raise RuntimeError("a work cannot begin another transaction: it is already inside one")
            if self._closed:
                raise _closed()
            if self._later:
                self._do_what_was_left()
            self._tidy()
            self._inside = True
            try:
                value = work(self._tables)
            except BaseException:
                self._tables.undo()
                raise
            finally:
                self._inside = False
            self._tables.keep()
            return value

    def _tidy(self) -> None:
        now = self.clock.now()
        if self._tidied is None or now - self._tidied >= _TIDY:
            sweep(self._tables, now)
            self._tables.keep()
            self._tidied = now

    async def atransact(self, work: Callable[[Tables], T]) -> T:
        return self.transact(work)  # never waits for longer than one small work

    def later(self, work: Callable[[Tables], object]) -> None:
        with self._lock:
            if self._closed:
                raise _closed()
            self._later.append(work)
            if not self._inside:
                self._do_what_was_left()

    def _do_what_was_left(self) -> None:
        works, self._later = self._later, []
        for work in works:
            try:
                self.transact(work)
            except Exception as error:  # noqa: BLE001  nobody waits for it any more
                report(error)

    def look(self, work: Callable[[Tables], T]) -> T:
        with self._lock:
            if self._closed:
                raise _closed()
            return work(self._reader)

    def shelf(self, kind: "Kind") -> "MemoryShelf":
        return self._shelves.setdefault(kind, MemoryShelf())

    async def next_answer(self, id: str, seconds: float) -> None:
        del id
        await pause_between_looks(seconds)

    def key(self) -> bytes:
        return self._key

    def close(self) -> None:
        with self._lock:
            self._do_what_was_left()
            self._tables.close()
            self._closed = True


def _closed() -> StoreError:
    return StoreError("the store was closed. Nothing was run. Open another one.", "closed")


class MemoryShelf:
    """Gone with its process."""

    def __init__(self) -> None:
        self.place = "memory"
        self._documents: dict[str, tuple[bytes, float]] = {}

    def put(self, name: str, data: bytes, *, soon: bool = False) -> None:
        del soon
        self._documents[name] = data, time()

    def get(self, name: str) -> bytes | None:
        found = self._documents.get(name)
        return None if found is None else found[0]

    def saved(self) -> list[tuple[str, float]]:
        return sorted((name, at) for name, (_, at) in self._documents.items())

    def drop(self, name: str) -> bool:
        return self._documents.pop(name, None) is not None
