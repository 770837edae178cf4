"""The calls of one client: judged on their way to the server, held while somebody must be asked, ended by the answer.

Nothing here reads or writes: what is to be sent goes through `Ends`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from msgspec import Raw, Struct
from msgspec.json import encode
from msgspec.structs import replace

from rightcall.errors import StoreError
from rightcall.executor.present.messages import error_content
from rightcall.executor.rights import full_name
from rightcall.mcp.approvals import Approver, Said, read_answer
from rightcall.mcp.messages import (
    CAPABILITIES_KEY,
    INVALID_PARAMS,
    INVALID_REQUEST,
    NULL,
    SERVER_GONE,
    Bytes,
    Id,
    Message,
    Peer,
    ToolCall,
    answer,
    changed,
    failure,
    fields,
    identity,
    mapping,
    notification,
    outcome_of,
    peer_of_handshake,
    peer_of_request,
    refusal,
    request,
    tool_call,
    value,
    with_note,
)
from rightcall.mcp.tasks import is_able
from rightcall.mcp.wrap.process import Ends, Listing, log
from rightcall.mcp.wrap.tasks import Continuations, Pending, Tasks, written
from rightcall.policy.types import PAUSED, Decision
from rightcall.record.admission import refuse
from rightcall.record.notes import remember_tools
from rightcall.record.tables import CallBody

if TYPE_CHECKING:
    from rightcall.executor.door import Door
    from rightcall.executor.passage import Passage


# ── questions ──
# Questions to a person while a call is held (until 2025-11-25): requests of our own to the client.

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
        if not self._open:
            return None
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


# ── refusals ──
# The record of a call that could not even be judged, since nobody can say what it is.

_UNKNOWN: Final = "(unknown)"
"""A name that is no tool's may hold anything."""


def record_refusal(
    door: Door, space: str, name: str, why: str, context: str | None, caller: str | None = None
) -> None:  # fmt: skip
    """Under the tool's name where it is one of the server's; without its arguments, of which there may be two."""
    caller = caller or door.caller
    tool = full_name(space, name if door.gate(caller, space).catalog.get(name) is not None else _UNKNOWN)
    digest = sha256(f"{tool}\0{why}".encode()).hexdigest()
    body = CallBody(
        caller=caller, tool=tool, params={}, digest=digest, decision="deny", rule="validation", context=context,
        policy=door.policy.digest, wire=door.host,
    )  # fmt: skip
    decision = Decision("deny", "validation", f"Validation failed: {why}")
    at = door.store.clock.now()
    try:
        door.store.transact(
            partial(refuse, caller=caller, digest=digest, decision=decision, body=body, at=at)
        )  # fmt: skip
    except StoreError as error:
        log.warning("rightcall: a refusal could not be recorded: %s", error)


LISTING_SECONDS: Final = 10.0
"""How long a call waits for a list that the client never asked for."""
ASKING_SECONDS: Final = 300.0
_NOWHERE: Final = (
    "A person must approve it, and nobody could be asked: this client shows no questions, and without a policy "
    "file no record keeps the approval. `rightcall wrap --policy FILE` keeps one."
)
AMBIGUOUS: Final = (
    "a key of this tools/call appears twice, or differs from a protocol key only in capitals, so the call is ambiguous"
)
UNHEARD: Final = "The server closed its input, so it was ended."
_MOST_PENDING: Final = 10_000
"""Calls without an answer that are remembered: a server may never give one."""


class Calls:
    """Thread-safe."""

    def __init__(
        self, door: Door, space: str, ends: Ends, *, context: str | None = None, answerable: bool = True
    ) -> None:
        self._door = door
        self._space = space
        self._ends = ends
        self._context = context
        self._gone = ""
        """Why the server runs nothing any more."""
        self._answerable = answerable
        self._client = Peer()
        self._approver = Approver(door)
        self.listing = Listing(ends, self._know, LISTING_SECONDS)
        self.questions = Questions(ends, self._approver, ASKING_SECONDS, self._heard)
        self._continuing = Continuations(self._never_back)
        self.tasks = Tasks(door, ends)
        self._pending: dict[Id, Pending] = {}
        self._cancelled: dict[Id, None] = {}
        """Calls that the client has taken back, and the server not answered yet: it may be too late for it."""
        self._lock = threading.Lock()

    def _know(self, tools: list[Any]) -> None:
        self._door.know(tools, self._space)
        remember_tools(self._door.store, self._space, tools)  # for the hooks of hosts that use the same server

    def handshake(self, params: Raw) -> None:
        """The client presents itself (`initialize`)."""
        self._client = peer_of_handshake(mapping(value(params)))

    def take(self, line: Bytes, message: Message) -> Bytes | None:
        """A `tools/call`: what the server is to get of it now; None where it is answered here, or held."""
        known, call = identity(message.id), tool_call(line)
        if known is None or call is None or call.ambiguous or not isinstance(call.name, str):
            code, why = _fault(known, call)
            if call is not None and isinstance(call.name, str):
                record_refusal(self._door, self._space, call.name, why, self._context)
            self._ends.to_client(failure(NULL if known is None else message.id, code, why))
            return None
        if self.listing.holds(known) or self.questions.holds(known):
            self._ends.to_client(
                failure(message.id, INVALID_REQUEST, "`id` is in use: an earlier call with it still waits")
            )
            return None
        held = Held(bytes(line), known, message.id, call, peer_of_request(call.meta, self._client))
        if self.listing.hold(known, call.meta, lambda: self._resume(held)):
            return None
        return self._judged(held)

    def update(self, line: Bytes, message: Message) -> Bytes | None:
        """A `tasks/update` (2026-07-28), with which a call that became a task goes on: not while all calls are paused,
        and under another policy only where that lets the call through."""
        name = mapping(value(message.params)).get("taskId")
        began = self.tasks.began(name) if isinstance(name, str) else None
        is_paused = self._door.is_paused()
        if not is_paused and (began is None or began.digest == self._door.policy.digest):
            self.tasks.asked(message)
            return line
        if began is None:  # nobody knows for what call
            record_refusal(self._door, self._space, "", PAUSED.reason, self._context)
            self._ends.to_client(failure(message.id, INVALID_PARAMS, error_content(PAUSED.reason, PAUSED.hint)))
            return None
        passage = began.passage
        again = self._door.judge(passage.name, passage.arguments, space=self._space, context=self._context)
        if again.action != "allow":
            self._ends.to_client(failure(message.id, INVALID_PARAMS, again.message))
            return None
        self._door.ended(again, summary="It was judged anew, and its task goes on as it began.")
        self.tasks.renew(str(name), self._door.policy.digest)
        self.tasks.asked(message)
        return line

    def ended(self, id: Id, line: Bytes, message: Message) -> Bytes | None:
        """The server answers a request; what the client is to get of it, which is nothing where it has cancelled it."""
        pending = self._popped(id)
        if pending is None:
            return None if self._forget_cancelled(id) else self.tasks.answered(id, line, message)
        passage = pending.passage
        outcome = outcome_of(message.result, message.error)
        if outcome.asks and self._waits(pending, message):
            return line
        if self.tasks.begun(pending, message):
            return line
        self._door.ended(
            passage, ok=outcome.ok, summary=outcome.summary, error=outcome.error, seconds=pending.seconds,
            answer=outcome.answer,
        )  # fmt: skip
        if not passage.message or not message.result:
            return line
        return encode({**fields(line), "result": with_note(message.result, passage.message)})

    def _waits(self, pending: Pending, message: Message) -> bool:
        """The server asks for more: the call goes on with the client's next."""
        state = mapping(value(message.result)).get("requestState")
        seconds = self._door.policy.settings.approval.expires
        return self._continuing.keep(pending, state if isinstance(state, str) else None, self._under, seconds)

    @property
    def _under(self) -> object:
        """What a judgement rests on apart from the call."""
        return self._door.policy.digest, self.listing.age

    def _never_back(self, pending: Pending) -> None:
        self._door.ended(
            pending.passage,
            ok=False,
            error="The client did not come back with the answers that the server asked for.",
            seconds=pending.spent,
        )

    def ended_unread(self, id: Id | None, size: int) -> None:
        """The same for an answer that was too long to be read."""
        if id is not None:
            self._forget_cancelled(id)
        pending = self._popped(id)
        if pending is not None:
            self._door.ended(pending.passage, summary=f"{size:,} bytes", seconds=pending.seconds)

    def cancelled(self, id: Id | None) -> bool:
        """The client takes a request back; whether the server has never seen it."""
        if id is None:
            return False
        if self.listing.drop(id) or self.questions.drop(id):
            return True
        pending = self._popped(id)
        if pending is not None:
            with self._lock:
                if len(self._cancelled) >= _MOST_PENDING:
                    del self._cancelled[next(iter(self._cancelled))]
                self._cancelled[id] = None
            self._door.ended(pending.passage, ok=False, error="The client cancelled it.")
        return False

    def is_cancelled(self, id: Id | None) -> bool:
        """Whether the client wants no answer to this request any more."""
        return id in self._cancelled

    def reused(self, id: Raw) -> None:
        """The client has made another request with an id; its answer is not the one that it does not want."""
        if self._cancelled and (known := identity(id)) is not None:
            self._forget_cancelled(known)

    def _forget_cancelled(self, id: Id) -> bool:
        with self._lock:
            return self._cancelled.pop(id, self) is None

    def server_gone(self, why: str, *, tell: bool = True) -> None:
        """The server has ended: nobody waits for it in vain, and every record is complete."""
        with self._lock:
            pending, self._pending = self._pending, {}
        for one in pending.values():
            self._door.ended(one.passage, ok=False, error=why, seconds=one.seconds)
            if tell:
                self._ends.to_client(failure(one.raw_id, SERVER_GONE, why))
        self._continuing.clear()
        self.tasks.clear(why)
        self._gone = why
        if tell:
            self.listing.end()

    def _resume(self, held: Held) -> None:
        """A call that waited for the list of tools goes on, unless nobody is there to run it any more."""
        if self._gone:
            self._ends.to_client(failure(held.raw_id, SERVER_GONE, self._gone))
        else:
            self._go_on(self._judged(held))

    def _judged(self, held: Held) -> bytes | None:
        if held.peer.stateless and self._continuing.holds(held.call) and self._door.is_paused():
            return self._settled(held, self._judge(held))  # it waits until calls may run again
        waited = self._continuing.take(held.call, self._under) if held.peer.stateless else None
        if waited is not None:  # what it brings is all for the server
            return self._sent(held, replace(waited, raw_id=held.raw_id, since=monotonic()), {}, ())
        passage = self._judge(held)
        if passage.action == "ask" and held.peer.stateless:
            word = self._approver.heard(passage, held.call)
            if word is not None and self._approver.answer(passage, word, held.peer):
                passage = self._judge(held)
        return self._settled(held, passage)

    def _judge(self, held: Held) -> Passage:
        return self._door.judge(held.call.name, held.call.arguments, space=self._space, context=self._context)

    def _settled(self, held: Held, passage: Passage) -> bytes | None:
        if passage.action == "allow":
            return self._allowed(held, passage)
        if passage.action != "ask":
            self._refuse(held, passage.message)
        elif not self._asked(held, passage):
            self._leave(held, passage)
        return None

    def _leave(self, held: Held, passage: Passage) -> None:
        """The question waits for an answer elsewhere, where there is such a place."""
        self._refuse(held, passage.message if self._answerable else f"Error: {passage.decision.reason}\n{_NOWHERE}")

    def _asked(self, held: Held, passage: Passage) -> bool:
        if not held.peer.stateless:
            return self.questions.ask(held, passage)
        question = self._approver.question(passage, held.call, held.peer)
        return question is not None and self._ends.to_client(answer(held.raw_id, question))

    def _heard(self, held: Held, passage: Passage, word: Said | None) -> None:
        """What came of a question; None when nobody answered, then it still waits under its id."""
        if word is None or not self._approver.answer(passage, word, held.peer):
            self._leave(held, passage)
            return
        self._go_on(self._settled(held, self._judge(held)))

    def _go_on(self, line: bytes | None) -> None:
        if line is not None and not self._ends.to_server(line):
            self.server_gone(UNHEARD)

    def _allowed(self, held: Held, passage: Passage) -> bytes:
        params, without = self._approver.restored(held.call)
        is_new = held.peer.stateless
        pending = Pending(
            passage, held.raw_id, monotonic(), written(held.call) if is_new else "",
            wants_task=held.call.task and not is_new,
            can_have_task=is_new and is_able(held.call.meta.get(CAPABILITIES_KEY)), digest=self._door.policy.digest,
        )  # fmt: skip
        return self._sent(held, pending, params, without)

    def _sent(self, held: Held, pending: Pending, params: dict[str, Any], without: tuple[str, ...]) -> bytes:
        passage = pending.passage
        if passage.changed:
            params |= {"name": passage.name, "arguments": passage.arguments}
        with self._lock:
            earlier = self._pending.pop(held.id, None)
            if earlier is None and len(self._pending) >= _MOST_PENDING:
                earlier = self._pending.pop(next(iter(self._pending)))
            self._pending[held.id] = pending
        if earlier is not None:
            self._door.ended(earlier.passage, ok=False, error="The server never answered.")
        return changed(held.line, params, without) if params or without else held.line

    def _refuse(self, held: Held, text: str) -> None:
        if held.call.task:
            self._ends.to_client(failure(held.raw_id, INVALID_PARAMS, text))
        else:
            self._ends.to_client(answer(held.raw_id, refusal(text, held.peer)))

    def _popped(self, id: Id | None) -> Pending | None:
        with self._lock:
            return None if id is None else self._pending.pop(id, None)


def _fault(id: Id | None, call: ToolCall | None) -> tuple[int, str]:
    if id is None:
        return INVALID_REQUEST, "`id` of tools/call must be a text or a number"
    if call is None:
        return INVALID_PARAMS, "`params` of tools/call must be an object with `name` and `arguments`"
    if call.ambiguous:
        return INVALID_REQUEST, AMBIGUOUS
    return INVALID_PARAMS, "`name` of tools/call must be a text"
