"""The store's twin in memory: the same tables as plain dicts, for tests and for programs that need no record."""

import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from os import urandom

from rightcall.record.chain import START, link
from rightcall.record.clock import Clock, SystemClock
from rightcall.record.tables import Entry, EntryKind, T, Tables
from rightcall.types_running import HOUR, Approval, ApprovalStatus, Grant, Mark

_SWEEP = 4096
"""Marks after which those older than an hour are looked for."""


class MemoryTables:
    """Everything that `Tables` asks for. Not undone when a work raises half-way: works check before they write."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: list[Entry] = []
        self._first = 1
        self._head = START
        self._running: set[int] = set()
        self._marks: dict[str, deque[Mark]] = {}
        self._marked = 0
        self._changes = 0
        self._changed_by = ""
        self._definitions: dict[str, str] = {}
        self._approvals: dict[str, Approval] = {}
        self._bindings: dict[str, list[str]] = {}
        self._grants: dict[str, Grant] = {}

    def wall(self) -> str:
        return self._clock.wall()

    def append(self, kind: EntryKind, call: int, body: bytes) -> int:
        seq = self._first + len(self._entries)
        at = self._clock.wall()
        self._head = link(self._head, seq, kind, call, at, body)
        self._entries.append(Entry(seq, kind, call, at, body, self._head))
        return seq

    def entry(self, seq: int) -> Entry | None:
        place = seq - self._first
        return self._entries[place] if 0 <= place < len(self._entries) else None

    def entries(self, after: int = 0, until: str | None = None, since: str | None = None) -> Iterator[Entry]:
        for entry in self._entries[max(0, after + 1 - self._first) :]:
            if (since is None or entry.at >= since) and (until is None or entry.at < until):
                yield entry

    def newest(self, count: int, kinds: tuple[EntryKind, ...] = ()) -> list[Entry]:
        found: list[Entry] = []
        for entry in reversed(self._entries):
            if len(found) >= count:
                break
            if not kinds or entry.kind in kinds:
                found.append(entry)
        return found

    def belonging(self, seq: int) -> list[Entry]:
        return [entry for entry in self.entries(seq) if entry.call == seq]

    def head(self) -> tuple[int, bytes]:
        return self._first + len(self._entries) - 1, self._head

    def remove_through(self, seq: int) -> int:
        count = max(0, min(seq - self._first + 1, len(self._entries)))
        del self._entries[:count]
        self._first += count
        return count

    def begun(self, seq: int) -> None:
        self._running.add(seq)

    def ended(self, seq: int) -> None:
        self._running.discard(seq)

    def running(self) -> list[int]:
        return sorted(self._running)

    def nth_last(self, scope: str, n: int) -> Mark | None:
        marks = self._marks.get(scope)
        return marks[-n] if marks is not None and len(marks) >= n else None

    def mark(self, scope: str, call: int) -> None:
        now = self._clock.now()
        marks = self._marks.get(scope)
        if marks is None:
            marks = self._marks[scope] = deque()
        while marks and marks[0].at <= now - HOUR:
            marks.popleft()
        marks.append(Mark(now, call))
        self._marked += 1
        if self._marked >= _SWEEP:
            self._marked = 0
            for name in [name for name, kept in self._marks.items() if kept[-1].at <= now - HOUR]:
                del self._marks[name]

    def forget(self, scope: str) -> None:
        self._marks.pop(scope, None)

    def scopes(self, prefix: str) -> list[tuple[str, int]]:
        since = self._clock.now() - HOUR
        counts = [
            (name, len(marks) - bisect_left(marks, since + 1, key=lambda mark: mark.at))
            for name, marks in self._marks.items()
            if name.startswith(prefix)
        ]
        return sorted(pair for pair in counts if pair[1])

    def changes(self) -> int:
        return self._changes

    def changed(self, by: str) -> None:
        self._changes += by != self._changed_by
        self._changed_by = by

    def definition(self, tool: str) -> str | None:
        return self._definitions.get(tool)

    def pin(self, tool: str, definition: str) -> None:
        self._definitions[tool] = definition

    def approval(self, id: str) -> Approval | None:
        return self._approvals.get(id)

    def put_approval(self, approval: Approval) -> None:
        if approval.id not in self._approvals:
            self._bindings.setdefault(approval.binding, []).append(approval.id)
        self._approvals[approval.id] = approval

    def answered(self, binding: str) -> Approval | None:
        found = {one.status: one for one in map(self._approvals.__getitem__, self._bindings.get(binding, ()))}
        return found.get("approved") or found.get("denied") or found.get("waiting")

    def approvals(self, *status: ApprovalStatus) -> list[Approval]:
        return [one for one in self._approvals.values() if not status or one.status in status]

    def grants(self, caller: str, tool: str) -> tuple[Grant, ...]:
        return tuple(one for one in self._grants.values() if one.caller == caller and one.tool == tool)

    def put_grant(self, grant: Grant) -> None:
        self._grants[grant.id] = grant

    def drop_grant(self, id: str) -> None:
        self._grants.pop(id, None)

    def all_grants(self) -> list[Grant]:
        return list(self._grants.values())


class MemoryStore:
    """A `Store` for one process, without a file."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or SystemClock()
        self._tables = MemoryTables(self.clock)
        self._lock = threading.Lock()
        self._key = urandom(32)

    def transact(self, work: Callable[[Tables], T]) -> T:
        with self._lock:
            return work(self._tables)

    async def atransact(self, work: Callable[[Tables], T]) -> T:
        with self._lock:  # never held for longer than one small work
            return work(self._tables)

    def later(self, work: Callable[[Tables], object]) -> None:
        self.transact(work)

    def look(self, work: Callable[[Tables], T]) -> T:
        return self.transact(work)

    def key(self) -> bytes:
        return self._key

    def close(self) -> None:
        """Nothing to close."""
