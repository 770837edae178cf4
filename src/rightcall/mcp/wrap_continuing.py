"""Calls whose server has asked for more (2026-07-28): the client makes the same call again, with the answers.

It is still the one call that was judged, and approved where somebody had to: it is neither counted nor asked about
again. That holds as often as the server has asked, for the very call, in this process. A `requestState` proves nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct
from msgspec.json import encode
from msgspec.structs import replace

from rightcall.mcp.eras import MOST_ROUNDS
from rightcall.mcp.messages import ToolCall

if TYPE_CHECKING:
    from rightcall.door_passage import Passage

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
