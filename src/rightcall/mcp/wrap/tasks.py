"""Calls that their server runs as tasks: their record waits until the result has come, the task was cancelled or has
expired. What client and server say about tasks passes as it is; it is only listened to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct
from msgspec.json import encode
from msgspec.structs import replace

from rightcall.mcp.messages import MOST_ROUNDS, Bytes, Id, Message, Outcome, ToolCall, fields, identity, mapping, value
from rightcall.mcp.tasks import ABOUT_ONE, EXPIRED, created_by, ending_of, ending_told, with_warning
from rightcall.mcp.wrap.process import Ends

if TYPE_CHECKING:
    from rightcall.executor.door import Door
    from rightcall.executor.passage import Passage


# ── continuations ──
# Calls whose server has asked for more (2026-07-28): the client makes the same call again, with the answers.
#
# It is still the one call that was judged, and approved where somebody had to: it is neither counted nor asked about
# again. That holds as often as the server has asked, for the very call, in this process. A `requestState` proves
# nothing.

_MOST_KEPT: Final = 1_000

Key = tuple[str | None, str]


class Pending(Struct, frozen=True):
    """A call that the server has."""

    passage: Passage
    raw_id: Raw
    since: float
    written: str = ""
    """What tells that another call is the same; empty for clients that are not asked by a result."""
    spent: float = 0.0
    """Seconds that the server took before it asked for more."""
    rounds: int = 0
    wants_task: bool = False
    """Whether the client asked for a task instead of an answer (2025-11-25)."""
    can_have_task: bool = False
    """Whether the client has said that it can take a task for an answer (2026-07-28)."""
    digest: str = ""
    """Of the policy that let it through."""

    @property
    def seconds(self) -> float:
        return self.spent + monotonic() - self.since


class _Kept(Struct, frozen=True):
    pending: Pending
    under: object
    until: float


class Continuations:
    """`lost` hears of those whose client does not come back. Thread-safe."""

    def __init__(self, lost: Callable[[Pending], None], now: Callable[[], float] = monotonic) -> None:
        self._lost = lost
        self._now = now
        self._kept: dict[Key, list[_Kept]] = {}
        self._lock = threading.Lock()

    def keep(self, pending: Pending, state: str | None, under: object, seconds: float) -> bool:
        """The server asks for more. `under`: policy and tools, which must be the same when it goes on."""
        if not pending.written or pending.rounds >= MOST_ROUNDS:
            return False
        self._drop(lambda kept: kept.until < self._now())
        waits = replace(pending, since=0.0, spent=pending.seconds, rounds=pending.rounds + 1)
        with self._lock:
            if sum(map(len, self._kept.values())) >= _MOST_KEPT:
                return False
            self._kept.setdefault((state, pending.written), []).append(_Kept(waits, under, self._now() + seconds))
        return True

    def holds(self, call: ToolCall) -> bool:
        """Whether there may be one that this call goes on with."""
        return bool(self._kept) and (call.state, written(call)) in self._kept

    def take(self, call: ToolCall, under: object) -> Pending | None:
        """The call that this one goes on with, once; None where it is one of its own."""
        if not self._kept or (call.state is None and not call.responses):
            return None
        key = call.state, written(call)
        with self._lock:
            waiting = self._kept.get(key)
            kept = waiting.pop(0) if waiting else None
            if not waiting:
                self._kept.pop(key, None)
        if kept is None:
            return None
        if kept.until >= self._now() and kept.under == under:
            return kept.pending
        self._lost(kept.pending)
        return None

    def clear(self) -> None:
        self._drop(lambda _: True)

    def _drop(self, which: Callable[[_Kept], bool]) -> None:
        with self._lock:
            gone = [kept for waiting in self._kept.values() for kept in waiting if which(kept)]
            if not gone:
                return
            left = {key: [kept for kept in waiting if not which(kept)] for key, waiting in self._kept.items()}
            self._kept = {key: waiting for key, waiting in left.items() if waiting}
        for kept in gone:
            self._lost(kept.pending)


def written(call: ToolCall) -> str:
    """The same for two calls of the same tool with the same arguments."""
    return sha256(encode([call.name, call.arguments], order="deterministic")).hexdigest()


MOST: Final = 1_000
"""Tasks that are followed at a time, and questions about them."""


class _Task(Struct, frozen=True):
    pending: Pending
    until: float


class Tasks:
    """Of one client and one server. Thread-safe."""

    def __init__(self, door: Door, ends: Ends, now: Callable[[], float] = monotonic) -> None:
        self._door = door
        self._ends = ends
        self._now = now
        self._open: dict[str, _Task] = {}
        self._asked: dict[Id, tuple[str, str]] = {}
        """By the id of a request of the client's: what it asks about which task."""
        self._watch: tuple[float, Callable[[], None]] | None = None
        """When the next one expires, and how not to look at it then."""
        self._lock = threading.Lock()

    def begun(self, pending: Pending, message: Message) -> bool:
        """Whether the answer to a call is a task, for which its record is to wait."""
        created = created_by(message.result or None, wanted=pending.wants_task, able=pending.can_have_task)
        if created is None:
            return False
        with self._lock:
            crowded = self._open.pop(next(iter(self._open))) if len(self._open) >= MOST else None
            reused = self._open.pop(created.id, None)
            self._open[created.id] = _Task(pending, self._now() + created.seconds)
            self._look_later()
        for one in (crowded, reused):
            self._end(
                one,
                Outcome(
                    ok=False,
                    error="The task is not followed any more: there are too many, or its id was given to another call.",
                ),
            )
        return True

    def began(self, name: str) -> Pending | None:
        """The call that has become this task."""
        task = self._open.get(name)
        return task.pending if task is not None else None

    def renew(self, name: str, digest: str) -> None:
        """Another policy lets its call through as well."""
        with self._lock:
            if (task := self._open.get(name)) is not None:
                self._open[name] = replace(task, pending=replace(task.pending, digest=digest))

    def asked(self, message: Message) -> None:
        """The client asks about a task."""
        if not self._open or message.method not in ABOUT_ONE:
            return
        known, task = identity(message.id), mapping(value(message.params)).get("taskId")
        if known is None or not isinstance(task, str) or task not in self._open:
            return
        with self._lock:
            if len(self._asked) >= MOST:
                del self._asked[next(iter(self._asked))]
            self._asked[known] = message.method, task

    def answered(self, id: Id, line: Bytes, message: Message) -> Bytes:
        """The server's answer to that; what the client is to get of it."""
        asked = self._asked.pop(id, None) if self._asked else None
        if asked is None:
            return line
        method, name = asked
        task = self._open.get(name)
        ending = ending_of(method, message.result or None, message.error or None)
        if task is None or ending is None:
            return line
        self._end(self._taken(name), ending)
        warning = task.pending.passage.message
        if not warning or not message.result:
            return line
        return encode({**fields(line), "result": with_warning(method, message.result, warning)})

    def told(self, params: Raw) -> None:
        """The server says unasked where a task stands."""
        if self._open and (ending := ending_told(params)) is not None:
            name = value(fields(params).get("taskId", b""))
            self._end(self._taken(name) if isinstance(name, str) else None, ending)

    def clear(self, why: str) -> None:
        with self._lock:
            tasks, self._open = list(self._open.values()), {}
            self._look_later()
        for task in tasks:
            self._end(task, Outcome(ok=False, error=why))

    def _taken(self, name: str) -> _Task | None:
        with self._lock:
            task = self._open.pop(name, None)
            self._look_later()
        return task

    def _end(self, task: _Task | None, ending: Outcome) -> None:
        if task is not None:
            self._door.ended(
                task.pending.passage, ok=ending.ok, summary=ending.summary, error=ending.error,
                seconds=task.pending.seconds,
            )  # fmt: skip

    def _look_later(self) -> None:
        """At the time when the next one expires; called with the lock."""
        due = min((task.until for task in self._open.values()), default=None)
        if self._watch is not None and self._watch[0] != due:
            self._watch[1]()
            self._watch = None
        if due is not None and self._watch is None:
            self._watch = due, self._ends.later(max(0.0, due - self._now()), self._expire)

    def _expire(self) -> None:
        with self._lock:
            self._watch = None
            due = [name for name, task in self._open.items() if task.until <= self._now()]
            expired = [self._open.pop(name) for name in due]
            self._look_later()
        for task in expired:
            self._end(task, Outcome(ok=False, error=EXPIRED))
