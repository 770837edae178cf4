"""Asking a person through the client (elicitation), in both eras, so that no answer can be made up.

An answer counts only for the very call that the person was shown. Until 2025-11-25 the question is a request of our
own, whose answer comes back under our id. From 2026-07-28 the question is the result of the call, and the client calls
again with the answer; what it was told to send back with it (`requestState`) is sealed: approval, caller, call and
time. An answer without its seal is none. A seal allows nothing by itself: it ties an answer to an approval, which is
used once.
"""

from __future__ import annotations

import hmac
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from secrets import token_hex
from time import time
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import MsgspecError, Raw, Struct
from msgspec.json import Decoder, encode

from rightcall.base.telemetry.spans import NO_SPAN, Span
from rightcall.base.text import escaped
from rightcall.errors import AnswerError, StoreError
from rightcall.mcp.messages import Id, Message, Peer, ToolCall, input_required, mapping, notification, request, value

if TYPE_CHECKING:
    from rightcall.executor.door import Door
    from rightcall.executor.passage import Passage
    from rightcall.mcp.wrap.process import Ends
    from rightcall.record.tables import Store

Said = Literal["approved", "denied"]

KEY: Final = "rightcall.approval"
"""How the name begins under which our question stands among `inputRequests`. Its end is another for each question, so
that two of us, one behind the other, never take each other's answers."""
FIELD: Final = "ok"
MOST_TEXT: Final = 8_000
"""Characters of a question; a call that needs more is shown in the terminal, since only what is shown whole is
approved."""

_MARK: Final = "rightcall2."
_SCHEMA: Final = {
    "type": "object",
    "properties": {FIELD: {"type": "boolean", "title": "Approve", "description": "Let exactly this call run, once"}},
    "required": [FIELD],
}


class Seal(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What a `requestState` of ours holds."""

    approval: str
    caller: str
    digest: str
    """Of the canonical call: tool and arguments."""
    until: float
    nonce: str
    state: str | None = None
    """The server's own `requestState`, which ours stands in for."""
    responses: Mapping[str, Any] = {}
    """Answers to the server's own questions that came with the call."""

    @property
    def key(self) -> str:
        """Under which the answer stands."""
        return f"{KEY}.{self.nonce}"


_seals = Decoder(Seal)


class Approver:
    """Asks and hears answers for one door. Thread-safe."""

    def __init__(self, door: Door, now: Callable[[], float] = time) -> None:
        self._door = door
        self._now = now
        self._key = hmac.digest(door.store.key(), b"rightcall: approvals over MCP, 2", "sha256")

    def form(self, passage: Passage, peer: Peer) -> dict[str, Any] | None:
        """The params of `elicitation/create` for a call that asks; None where nobody can be asked this way."""
        return None if passage.approval is None else form_for(self._door.store, passage.approval, peer)

    def question(self, passage: Passage, call: ToolCall, peer: Peer) -> dict[str, Any] | None:
        """The result of a call that asks (stateless); None where nobody can be asked this way."""
        form = self.form(passage, peer)
        if form is None:
            return None
        before = self._opened(call.state)
        state = call.state if before is None else before.state
        seal = self._seal(passage, state, call.responses if before is None else _others(before, call))
        return input_required({seal.key: {"method": "elicitation/create", "params": form}}, self._sealed(seal))

    def heard(self, passage: Passage, call: ToolCall) -> Said | None:
        """What a person said of this call, as a retry brings it (stateless); None without a seal for exactly it."""
        seal = self._opened(call.state)
        if seal is None or passage.request is None:
            return None
        if (seal.caller, seal.digest) != (passage.request.caller, passage.request.digest) or seal.until < self._now():
            return None
        return read_answer(call.responses.get(seal.key)) if seal.approval == passage.approval else None

    def answer(self, passage: Passage, word: Said, peer: Peer) -> bool:
        """Write down what the person said; False where it cannot count (answered before, expired, no record)."""
        try:
            self._door.answer(passage, word, by=person(peer))
        except (AnswerError, StoreError):
            return False
        return True

    def restored(self, call: ToolCall) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Which params a call must have for its server, and which it must not: nothing of ours, all that is its own."""
        seal = self._opened(call.state)
        if seal is None:  # no seal of ours, whatever it looks like: then it is the server's
            return {}, ()
        own = _others(seal, call)
        kept: dict[str, Any] = {"inputResponses": own} if own else {}
        if seal.state is not None:
            kept["requestState"] = seal.state
        return kept, ("inputResponses", "requestState")

    def _seal(self, passage: Passage, state: str | None, responses: Mapping[str, Any]) -> Seal:
        caller, digest = (passage.request.caller, passage.request.digest) if passage.request else ("", "")
        until = self._now() + self._door.policy.settings.approval.expires
        return Seal(passage.approval or "", caller, digest, until, token_hex(12), state, responses)

    def _sealed(self, seal: Seal) -> str:
        body = urlsafe_b64encode(encode(seal)).decode()
        return f"{_MARK}{body}.{self._proof(body)}"

    def _opened(self, token: str | None) -> Seal | None:
        if token is None or not is_ours(token):
            return None
        body, _, proof = token.removeprefix(_MARK).partition(".")
        try:
            if not hmac.compare_digest(self._proof(body).encode(), proof.encode()):
                return None
            return _seals.decode(urlsafe_b64decode(body))
        except (MsgspecError, ValueError, RecursionError):
            return None

    def _proof(self, body: str) -> str:
        """Over the text and not what it says: there is one way to write a seal."""
        return hmac.digest(self._key, body.encode(), "sha256").hex()


def _others(seal: Seal, call: ToolCall) -> dict[str, Any]:
    """The answers that are the server's: those that came before our question, and those that came with its answer."""
    return {**seal.responses, **{key: one for key, one in call.responses.items() if key != seal.key}}


def form_for(store: Store, about: str, peer: Peer) -> dict[str, Any] | None:
    """The params of `elicitation/create` for an approval that waits; None where nobody can be asked this way."""
    text = _question(store, about) if peer.can_be_asked else None
    if text is None:
        return None
    return {**({"mode": "form"} if peer.names_forms else {}), "message": text, "requestedSchema": _SCHEMA}


def _question(store: Store, about: str) -> str | None:
    from rightcall.executor.question import view
    from rightcall.record.admission import earlier_definition

    try:
        approval = store.look(lambda tables: tables.approval(about))
        if approval is None or approval.status != "waiting" or len(approval.canonical) > MOST_TEXT:
            return None
        asked = approval
        before = ""
        if asked.kind != "call":
            before = store.look(lambda tables: earlier_definition(tables, asked.tool, asked.kind))
    except StoreError:
        return None
    seen = view(asked, now=store.clock.now(), width=78, before=before)
    text = "\n".join(["A tool call waits for your yes or no.", "", *seen.lines])
    return text if seen.complete and len(text) <= MOST_TEXT else None


def person(peer: Peer) -> str:
    """Who answered, for the record."""
    return f"the user of {escaped(peer.name, 60) if peer.name.strip() else 'an MCP client'}"


def is_ours(state: str | None) -> bool:
    return state is not None and state.startswith(_MARK)


def read_answer(response: Any) -> Said | None:
    """What an answer to our form says: only a ticked box that was sent off is a yes. None where there is no answer."""
    found = mapping(response)
    if not isinstance(found.get("action"), str):
        return None
    return "approved" if found["action"] == "accept" and mapping(found.get("content")).get(FIELD) is True else "denied"


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
    span: Span = NO_SPAN
    """What follows it, where telemetry is on."""
    asked: int = 0
    """When a person was asked about it, as telemetry counts."""


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
