"""The calls of one client: judged on their way to the server, held while somebody must be asked, ended by the answer.

Nothing here reads or writes: what is to be sent goes through `Ends`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from msgspec import Raw, Struct
from msgspec.json import encode
from msgspec.structs import replace

from rightcall.base.telemetry.conventions import TOOL_ERROR
from rightcall.executor.lookups import Lookup
from rightcall.executor.messages import error_content, tell_passage, tell_waiting
from rightcall.mcp.approvals import Approver, Held, Questions, Said
from rightcall.mcp.messages import (
    ABOUT_ONE,
    CAPABILITIES_KEY,
    EXPIRED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MOST_ROUNDS,
    NULL,
    SERVER_GONE,
    Answer,
    Bytes,
    Id,
    Message,
    Outcome,
    Peer,
    ToolCall,
    answer,
    changed,
    created_by,
    ending_of,
    ending_told,
    failure,
    fields,
    identity,
    is_able,
    mapping,
    outcome_of,
    peer_of_handshake,
    peer_of_request,
    read_lookup,
    refusal,
    tool_call,
    value,
    with_note,
    with_warning,
)
from rightcall.mcp.spans import CALL, tell_answer, tell_request, tell_result, tell_tool
from rightcall.mcp.wrap.process import Ends, Listing
from rightcall.policy.types import PAUSED
from rightcall.record.notes import remember_tools

if TYPE_CHECKING:
    from rightcall.base.telemetry import Span
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
    spans: tuple[Span, ...] = ()
    """What follows it, where telemetry is on: our request to the server, and the client's to us."""

    @property
    def seconds(self) -> float:
        return self.spent + monotonic() - self.since

    def told(self, answer: Answer) -> None:
        """It is answered, as telemetry hears of it."""
        for span in self.spans:
            tell_answer(span, answer)
            span.end()

    def given_up(self, kind: str) -> None:
        """Nobody will answer it."""
        for span in self.spans:
            span.fail(kind)
            span.end()


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


# ── tasks ──
# Calls that their server runs as tasks: their record waits until the result has come, the task was cancelled or has
# expired. What client and server say about tasks passes as it is; it is only listened to.

MOST_TASKS: Final = 1_000
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
            crowded = self._open.pop(next(iter(self._open))) if len(self._open) >= MOST_TASKS else None
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
            if len(self._asked) >= MOST_TASKS:
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


# ── calls ──

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
GONE: Final = "server_gone"
"""The `error.type` of a call whose server has ended."""
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
                self._door.refuse_unjudged(call.name, why, space=self._space, context=self._context)
            self._ends.to_client(failure(NULL if known is None else message.id, code, why))
            return None
        if self.listing.holds(known) or self.questions.holds(known):
            self._ends.to_client(
                failure(message.id, INVALID_REQUEST, "`id` is in use: an earlier call with it still waits")
            )
            return None
        peer = peer_of_request(call.meta, self._client)
        held = Held(bytes(line), known, message.id, call, peer, self._door.telemetry.serve(CALL, call.meta))
        tell_request(held.span, message.id, peer, "pipe")
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
            self._door.refuse_unjudged("", PAUSED.reason, space=self._space, context=self._context)
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

    def look_up(self, line: Bytes, message: Message, method: str) -> Bytes | None:
        """A request for a resource, a prompt or a completion: it passes, or is refused here."""
        params = read_lookup(line)
        if params is None:
            why = "a key of this request appears twice or almost, or its params cannot be read"
            self._ends.to_client(failure(message.id, INVALID_PARAMS, why))
            return None
        refused = self._door.refuses(Lookup(method, params, None, self._space, self._context))
        if refused is None:
            return line
        text = error_content(refused.reason, refused.hint)
        self._ends.to_client(failure(message.id, INVALID_PARAMS, text))
        return None

    def ended(self, id: Id, line: Bytes, message: Message) -> Bytes | None:
        """The server answers a request; what the client is to get of it, which is nothing where it has cancelled it."""
        pending = self._popped(id)
        if pending is None:
            return None if self._forget_cancelled(id) else self.tasks.answered(id, line, message)
        passage = pending.passage
        answered = Answer(message.result or None, message.error or None)
        for span in pending.spans:
            tell_result(span, answered, passage.arguments, self._door.redactor)
        pending.told(answered)
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
            pending.told(Answer())
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
            pending.given_up("cancelled")
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
            one.given_up(GONE)
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
            held.span.fail(GONE)
            held.span.end()
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
        since = self._door.telemetry.now()
        passage = self._door.judge(held.call.name, held.call.arguments, space=self._space, context=self._context)
        if held.span.is_live:
            if self._door.gate(space=self._space).catalog.get(passage.name) is not None:
                tell_tool(held.span, passage.name)
            tell_passage(held.span, passage, since, self._door.redactor)
        return passage

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
            return self.questions.ask(replace(held, asked=self._door.telemetry.now()), passage)
        question = self._approver.question(passage, held.call, held.peer)
        if question is None:
            return False
        held.span.end()
        return self._ends.to_client(answer(held.raw_id, question))

    def _heard(self, held: Held, passage: Passage, word: Said | None) -> None:
        """What came of a question; None when nobody answered, then it still waits under its id."""
        tell_waiting(held.span, passage.approval or "", word or "waiting", held.asked, self._door.telemetry.now())
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
        if held.span.is_live:
            client = held.span.call(CALL, passage.name)
            client.tell({"network.transport": "pipe", "rightcall.server": self._space})
            pending = replace(pending, spans=(client, held.span))
            if meta := client.meta():
                params = {**params, "_meta": {**held.call.meta, **meta}}
        with self._lock:
            earlier = self._pending.pop(held.id, None)
            if earlier is None and len(self._pending) >= _MOST_PENDING:
                earlier = self._pending.pop(next(iter(self._pending)))
            self._pending[held.id] = pending
        if earlier is not None:
            earlier.given_up("unanswered")
            self._door.ended(earlier.passage, ok=False, error="The server never answered.")
        return changed(held.line, params, without) if params or without else held.line

    def _refuse(self, held: Held, text: str) -> None:
        held.span.fail(TOOL_ERROR)
        held.span.end()
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
