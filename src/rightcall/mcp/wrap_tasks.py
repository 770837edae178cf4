"""Calls that their server runs as tasks: their record waits until the result has come, the task was cancelled or has
expired. What client and server say about tasks passes as it is; it is only listened to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct
from msgspec.json import encode
from msgspec.structs import replace

from rightcall.mcp.answers import Outcome
from rightcall.mcp.messages import Bytes, Id, Message, fields, identity, mapping, value
from rightcall.mcp.tasks import ABOUT_ONE, EXPIRED, created_by, ending_of, ending_told, with_warning
from rightcall.mcp.wrap_continuing import Pending
from rightcall.mcp.wrap_ends import Ends

if TYPE_CHECKING:
    from rightcall.door import Door

MOST: Final = 1_000
"""Tasks that are followed at a time, and questions about them."""
_CROWDED: Final = "The task is not followed any more: there are too many, or its id was given to another call."


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
            self._end(one, Outcome(ok=False, error=_CROWDED))
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
