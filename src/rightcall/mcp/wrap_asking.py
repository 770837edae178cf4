"""Questions to a person while a call is held (until 2025-11-25): requests of our own to the client."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct

from rightcall.mcp.approving import Approver, Said, read_answer
from rightcall.mcp.eras import Peer
from rightcall.mcp.messages import Id, Message, ToolCall, notification, request, value
from rightcall.mcp.wrap_ends import Ends

if TYPE_CHECKING:
    from rightcall.door_passage import Passage

MOST_QUESTIONS: Final = 100
"""At a time; further calls are told the id of their approval instead."""


class Held(Struct, frozen=True):
    """A call on its way."""

    line: bytes
    """As it came."""
    id: Id
    raw_id: Raw
    call: ToolCall
    peer: Peer


class HeldQuestion(Struct, frozen=True):
    held: Held
    passage: Passage
    call_off: Callable[[], None]
    """Nobody needs to notice any more that it was not answered."""


Done = Callable[[Held, "Passage", Said | None], None]


class Questions:
    """Those that are open. Thread-safe."""

    def __init__(self, ends: Ends, approver: Approver, seconds: float, done: Done) -> None:
        self._ends = ends
        self._approver = approver
        self._seconds = seconds
        self._done = done
        self._open: dict[str, HeldQuestion] = {}
        self._lock = threading.Lock()

    def ask(self, held: Held, passage: Passage) -> bool:
        """Put the question to the client; False where it cannot be asked."""
        form = self._approver.form(passage, held.peer)
        if form is None:
            return False
        own = self._ends.question_id()
        with self._lock:
            if len(self._open) >= MOST_QUESTIONS:
                return False
            call_off = self._ends.later(self._seconds, lambda: self._unanswered(own))
            self._open[own] = HeldQuestion(held, passage, call_off)
        return self._ends.to_client(request(own, "elicitation/create", form))

    def answered(self, id: Id, message: Message) -> None:
        """The client's response. An error is no answer; whatever else is not a yes is a no."""
        question = self._taken(id)
        if question is not None:
            word = None if message.error else read_answer(value(message.result)) or "denied"
            self._done(question.held, question.passage, word)

    def _unanswered(self, id: str) -> None:
        question = self._taken(id)
        if question is not None:
            self._take_back(id, "nobody answered in time")
            self._done(question.held, question.passage, None)

    def holds(self, call: Id) -> bool:
        return self._about(call) is not None

    def _about(self, call: Id) -> str | None:
        with self._lock:
            return next((own for own, question in self._open.items() if question.held.id == call), None)

    def drop(self, call: Id) -> bool:
        """The client takes the call itself back; whether it was held here."""
        own = self._about(call)
        if own is None or self._taken(own) is None:
            return False
        self._take_back(own, "the call was cancelled")
        return True

    def _taken(self, id: Id) -> HeldQuestion | None:
        with self._lock:
            question = self._open.pop(id, None) if isinstance(id, str) else None
        if question is not None:
            question.call_off()
        return question

    def _take_back(self, id: str, why: str) -> None:
        self._ends.to_client(notification("notifications/cancelled", {"requestId": id, "reason": why}))
