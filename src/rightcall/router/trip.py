"""The way of one request through the steps of a router, in the order of design 004; `Trip.run` is the whole of it. And
the span that follows it.

detect ─┬─ none ─────────────────────────────────────────────────────────────▶ respond
        ├─ ask, and no model to ask ─────────────────────────────────────────▶ respond (asks for what is missing)
        └─ call ─▶ find ─▶ select ─▶ review ─▶ decide ─▶ execute ─▶ inject ──┐
                     ▲        └─ none   │        └─ unsure ──▶ respond       │
                     └──────────────────┴────────────────── again, a few times
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Literal

from msgspec.json import encode
from msgspec.structs import replace

from rightcall.base.telemetry.conventions import Value
from rightcall.base.telemetry.spans import NO_SPAN, Span, Telemetry
from rightcall.base.text import escaped
from rightcall.errors import CallError, RightCallError, StoreError
from rightcall.executor.messages import Outcome
from rightcall.policy.settings import RouterSettings
from rightcall.record.notes import Confirmation, Routed
from rightcall.router.choose import with_question
from rightcall.router.packet import (
    RESULT,
    SAID,
    DataField,
    ExecutionStatus,
    Models,
    Packet,
    SelectedTool,
    Sketchpad,
    Taken,
    ToolExecutionResult,
    budget_of,
    log_step,
    start_step,
    with_field,
    with_note,
    with_routing,
    with_state,
)
from rightcall.router.review import call_of

if TYPE_CHECKING:
    from rightcall.executor.executor import Executor
    from rightcall.router.router import Router


log = logging.getLogger("rightcall")

Pieces = AsyncGenerator[str, None]
"""Of an answer. Each that hands on another's closes it: who stops listening stops the model too."""

_DECISIONS = {
    "awaiting_confidence": "low_confidence", "skipped": "skipped", "user_denied": "user_denied", "failed": "failed",
}  # fmt: skip


class Trip:
    """A packet on its way. `packet` is where it stands, at any moment: also when the task is cancelled."""

    def __init__(self, router: Router, packet: Packet) -> None:
        self.router = router
        self.packet = packet
        self.by = ""
        """The person who has said something to it, where one has."""
        self.span: Span = NO_SPAN
        """What follows it, where telemetry is on."""
        self.rounds = 0
        """Calls that were tried on this way, whatever the packet says of itself: a step may have been replaced."""

    async def run(self) -> Pieces:
        """From the first look to the answer, in pieces of text."""
        if self.router.settings.enabled:
            await self.step("detect")
            if self.packet.tool_routing.routing_requested:
                await self.step("find")
                await self.route()
                self.packet = with_question(self.packet)
        async with aclosing(self.answer()) as pieces:
            async for piece in pieces:
                yield piece

    async def route(self) -> None:
        """Tools, one after the other, until none is wanted or none may follow."""
        while self.packet.tool_routing.routing_requested:
            if not self._may_go_on():
                return
            self.rounds += 1
            await self.step("select")
            if self.packet.tool_routing.routing_requested:
                call = call_of(self.packet)
                await self.step("review")
                self.router.clearances.reviewed(call, self.packet)
                self.packet = self.router.decide(self.packet)
                await self.execute()

    async def execute(self) -> None:
        """Run what is cleared, and take its result in."""
        if self.packet.tool_routing.execution_status != "approved":
            return
        await self.save()
        await self.step("execute")
        if self.packet.tool_routing.execution_result is not None:
            await self.step("inject")

    async def answer(self) -> Pieces:
        """Say what there is to say, whichever way it went."""
        await self._note()
        async with aclosing(self.router.spoken(self)) as pieces:
            async for piece in pieces:
                yield piece
        await self.save()

    async def step(self, name: str) -> None:
        """One step of the router's, whoever has written it."""
        with self.span.step(f"rightcall.route.{name}"):
            await self._step(name)

    async def _step(self, name: str) -> None:
        made: Any = getattr(self.router, name)(self.packet)
        given = await made if isawaitable(made) else made
        if not isinstance(given, Packet):
            raise TypeError(f"the step `{name}` must return a Packet, not {type(given).__name__}")
        self.packet = given

    async def save(self) -> None:
        if self.router.packets is not None:
            await asyncio.to_thread(self.save_now)

    def save_now(self) -> None:
        """A packet that cannot be saved can still be answered."""
        if self.router.packets is None:
            return
        try:
            self.router.packets.save(self.packet)
        except (RightCallError, OSError) as error:
            log.warning("request %s could not be saved: %s", self.packet.header.packet_id, error)

    def why_no_more(self) -> str | None:
        """Why no further tool may run; None as long as one may."""
        routing, settings = self.packet.tool_routing, self.router.settings
        if not settings.enabled:
            return "the router is switched off"
        most = max(min(routing.max_reinjections, settings.reinjections), 0)
        if max(routing.reinjection_count, self.rounds) >= most:
            return f"{most} result{' was' if most == 1 else 's were'} taken in, the most there may be"
        return None

    def _may_go_on(self) -> bool:
        routing = self.packet.tool_routing
        why = self.why_no_more() if routing.candidates else "no tool fits"
        if why is None:
            return True
        status = "skipped" if routing.execution_status in ("pending", "approved") else routing.execution_status
        packet = with_state(
            with_routing(self.packet, routing_requested=False, execution_status=status), "processing", why
        )
        self.packet = log_step(packet, "tool_routing", f"No further tool: {why}", start_step())
        return False

    async def _note(self) -> None:
        """What was decided without a call stands in the audit too; calls have records of their own there."""
        decision = self._decision()
        if decision:
            try:
                await self.router.note(self.packet, decision, self.by)
            except RightCallError as error:  # nothing has run, and nothing will
                log.warning("the decision on request %s is not recorded: %s", self.packet.header.packet_id, error)

    def _decision(self) -> str:
        routing = self.packet.tool_routing
        if routing.execution_result is not None and routing.execution_result.call:
            return ""
        intent = self.packet.intent.user_intent
        if intent == "ask_back" or not intent:  # nobody has looked: the router is switched off
            return intent
        if not routing.needs_tool:
            return "no_tool"
        if routing.execution_status == "awaiting_confidence" and routing.review_approved is None:
            return "review_failed"
        return _DECISIONS.get(routing.execution_status, "")


def routed_note(packet: Packet, decision: str, by: str) -> Routed:
    """A decision as the audit keeps it: without the request, and without what the tool was to be given."""
    routing = packet.tool_routing
    tool = routing.selected_tool.tool_name if routing.selected_tool is not None else ""
    return Routed(
        packet.header.caller, packet.header.packet_id, decision, tool,
        routing.confidence if tool else None, packet.status.why, by,
    )  # fmt: skip


# ── execute ──
# Running what was chosen and cleared: through the executor, like any other call, under the packet's id (T-06, T-07).
#
# What the policy says stands: it may refuse, ask a person, or only rehearse. The router tightens it, never the other
# way round: it has less time.

NOBODY = "nobody here can run it: the router knows its definition alone"
DRY_RUN = "it was a dry run: nothing was changed"
_MOST_OUTPUT = 50_000
"""Bytes of a result that a packet carries as data; of a larger one it has what a model would be shown."""


async def execute(packet: Packet, executor: Executor | None, settings: RouterSettings, wait: float) -> Packet:
    """Run the selected call. Whoever calls this has seen to it that it was cleared."""
    taken = start_step()
    selected = packet.tool_routing.selected_tool
    if selected is None:
        return refuse_packet(packet, "no tool was selected", taken)
    budget = budget_of(packet, settings, taken)
    over = budget.over()
    if executor is None or over is not None:
        return refuse_packet(packet, over or NOBODY, taken)
    changed = _changed(executor, selected)
    if changed is not None:
        return refuse_packet(packet, changed, taken)
    try:
        outcome = await executor.run(
            {"name": selected.tool_name, "arguments": selected.params},
            packet.header.caller,
            context=packet.header.packet_id,
            turn=packet.header.packet_id,
            step=str(max(packet.tool_routing.reinjection_count, 0) + 1),
            approval=packet.tool_routing.approval,
            wait=wait,
            seconds=budget.seconds_left,
        )
    except StoreError as error:
        return refuse_packet(packet, error.told, taken)
    except CallError as error:
        return refuse_packet(packet, str(error), taken)
    return _after(packet, outcome, taken)


def refuse_packet(packet: Packet, why: str, taken: Taken) -> Packet:
    """It did not run, and nothing more is tried."""
    packet = with_routing(packet, execution_status="failed", execution_result=None, routing_requested=False)
    packet = with_state(packet, "processing", why)
    return log_step(packet, "tool_execution", f"Not run: {why}", taken, seconds=0.0)


def inject(packet: Packet) -> Packet:
    """The result goes back into the packet, for the next selection and for the answer (design 004, 5.2)."""
    routing = packet.tool_routing
    result, selected = routing.execution_result, routing.selected_tool
    if result is None or selected is None:
        return packet
    value = {
        "tool": selected.tool_name, "params": selected.params, "success": result.success, "output": result.output,
        "error": result.error,
    }  # fmt: skip
    packet = with_field(packet, DataField(RESULT, value, "tool_execution_result", "executor"))
    shown = result.output if result.success else result.error
    packet = with_note(packet, Sketchpad("latest_tool_result", shown, "tool_output"))
    return with_routing(packet, reinjection_count=max(routing.reinjection_count, 0) + 1)


def _changed(executor: Executor, selected: SelectedTool) -> str | None:
    """What was reviewed is what runs: a call that the gate would have to change now is another call."""
    if selected.tool_name not in executor.gate.catalog.tools:
        return NOBODY
    verdict = executor.gate.check(selected.tool_name, selected.params)
    call = verdict.call
    if verdict.ok and call is not None and (call.name, call.arguments) == (selected.tool_name, selected.params):
        return None
    problems = "; ".join(problem.message for problem in verdict.problems)
    return f"the call does not match the tool's schema: {problems or 'its arguments would have to be changed'}"


def _after(packet: Packet, outcome: Outcome, taken: Taken) -> Packet:
    decision, metadata = outcome.decision, outcome.metadata
    if outcome.status == "waiting" and decision is not None:
        packet = with_routing(
            packet, execution_status="awaiting_approval", execution_result=None, routing_requested=False,
            approval=decision.approval or packet.tool_routing.approval,
        )  # fmt: skip
        packet = with_state(packet, "waiting", decision.reason)
        return log_step(
            packet, "tool_execution", f"Waits for approval {packet.tool_routing.approval}", taken, seconds=0.0
        )
    if outcome.status == "refused":
        by_person = decision is not None and decision.rule == "approval:denied"
        status: ExecutionStatus = "user_denied" if by_person else "failed"
        why = outcome.error or "it was refused"
        packet = with_routing(
            packet, execution_status=status, execution_result=None, routing_requested=False, approval=None
        )
        packet = with_state(packet, "processing", why)
        return log_step(packet, "tool_execution", f"Refused: {why}", taken, seconds=0.0)
    rehearsal = decision is not None and decision.kind == "dry_run"
    result = ToolExecutionResult(
        success=outcome.ok and not rehearsal,
        output=_carried(outcome),
        error=DRY_RUN if rehearsal else outcome.error,
        execution_time_ms=round(metadata.execution_time),
        call=metadata.call,
    )
    status = "skipped" if rehearsal else "executed" if outcome.ok else "failed"
    packet = with_routing(
        packet, execution_status=status, execution_result=result, approval=None,
        routing_requested=packet.tool_routing.routing_requested and not rehearsal,
    )  # fmt: skip
    packet = with_state(packet, "processing", DRY_RUN if rehearsal else outcome.error or "")
    words = "Rehearsed" if rehearsal else "Executed"
    end = "nothing was changed" if rehearsal else "success" if outcome.ok else "failed"
    return log_step(
        packet, "tool_execution", f"{words} {outcome.tool}: {end}", taken, sure=packet.tool_routing.confidence,
        seconds=metadata.execution_time / 1e3,
    )  # fmt: skip


def _carried(outcome: Outcome) -> Any:
    """A result as a packet carries it: plain data of bounded size."""
    if outcome.result is None:
        return None
    try:
        small = len(encode(outcome.result)) <= _MOST_OUTPUT
    except (TypeError, ValueError, OverflowError, RecursionError):
        small = False
    return outcome.result if small else outcome.content


# ── resuming ──
# Going on with a packet from where it stood. It may come from a file that anybody could have written, so nothing in it
# counts as a permission: what was chosen is checked, reviewed and decided anew, or a person says yes to it now.

_YES = frozenset(("yes", "y"))
_NO = frozenset(("no", "n", "nope", "nah", "not", "don't", "dont", "never", "stop", "cancel", "abort"))
_BESIDE_NO = frozenset(("thanks", "thank", "you", "please", "do", "it", "that", "this", "sorry", "way", "now"))
"""What a refusal may hold besides. Anything more ("no, in Bergen") is a wish of its own."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NOT_SHOWN = "A yes, but not to a call that was shown: it is chosen and reviewed anew"
NAMELESS = 'an approval needs the name of a person: resume(packet, "yes", by="NAME")'
_TWICE = "This was approved already, and an approval counts once. Make a new request to ask again."


def says_yes(packet: Packet, said: str | None) -> bool:
    """Whether this is a person's yes to the call that a packet waits with."""
    asks = packet.tool_routing.execution_status in ("awaiting_confidence", "awaiting_approval")
    return asks and packet.status.state == "waiting" and _reply_in(said) == "yes"


def _reply_in(said: str | None) -> Literal["yes", "no", "nothing", "words"]:
    """What a person means by it.

    >>> [_reply_in(said) for said in ("Yes.", "No, thanks!", "don't do that", "", "no, in Bergen")]
    ['yes', 'no', 'no', 'nothing', 'words']
    """
    words: list[str] = _WORD.findall((said or "").lower().replace("’", "'"))
    if not words:
        return "words" if (said or "").strip() else "nothing"
    if {*words} <= _YES:
        return "yes"
    return "no" if {*words} <= _NO | _BESIDE_NO and not _NO.isdisjoint(words) else "words"


async def resume_trip(trip: Trip, said: str | None, by: str) -> Pieces:
    """The rest of a request's way."""
    packet, trip.by = trip.packet, by
    if packet.status.state == "answered":
        return
    reply = _reply_in(said)
    match packet.status.state, packet.tool_routing.execution_status:
        case "waiting", "awaiting_confidence" | "awaiting_approval" if reply == "no":
            _denied(trip)
        case "waiting", "awaiting_approval" if reply in ("nothing", "yes"):
            await _asked_again(trip, approves=reply == "yes")
        case "waiting", "awaiting_confidence" if reply == "yes":
            counts = await _confirmed(trip)
            if counts == "used":
                trip.packet = _leave_to_first(packet)
                yield _TWICE
                return
            if counts == "unknown":
                trip.packet = _anew(log_step(packet, "tool_routing", _NOT_SHOWN, start_step()), None)
                async with aclosing(trip.run()) as pieces:
                    async for piece in pieces:
                        yield piece
                return
        case "waiting" | "failed", _ if reply == "nothing":
            return
        case _:
            trip.packet = _anew(packet, said)
            async with aclosing(trip.run()) as pieces:
                async for piece in pieces:
                    yield piece
            return
    await trip.route()
    async with aclosing(trip.answer()) as pieces:
        async for piece in pieces:
            yield piece


async def _confirmed(trip: Trip) -> Confirmation:
    """A person's word is as good as a sure review, for the call that the person was shown and for one time. It stands
    in the audit first; the policy decides as ever."""
    taken, call = start_step(), call_of(trip.packet)
    if _may_not(trip):
        return "confirmed"
    try:
        counts = await trip.router.confirm(trip.packet, call, trip.by)
    except RightCallError as error:
        trip.packet = refuse_packet(trip.packet, f"the user's yes could not be recorded: {error}", taken)
        return "confirmed"
    if counts == "confirmed":
        packet = with_routing(trip.packet, approval=None)
        trip.packet = log_step(packet, "tool_routing", f"The user said yes{_named(trip)}", taken)
        await _run(trip, call)
        await _approved(trip, call)
    return counts


def _may_not(trip: Trip) -> bool:
    """Whether no tool may run any more; then that is told."""
    why = trip.why_no_more()
    if why is not None:
        trip.packet = refuse_packet(trip.packet, why, start_step())
    return why is not None


def _leave_to_first(packet: Packet) -> Packet:
    """Not saved: whoever said it before goes on with the packet."""
    packet = refuse_packet(packet, "yes was said to this call before, and it counts once", start_step())
    return replace(with_state(packet, "failed", packet.status.why), content=replace(packet.content, answer=_TWICE))


async def _asked_again(trip: Trip, *, approves: bool) -> None:
    """The same call once more, under the approval that it waits for and no other: the executor knows whether a person
    has given it meanwhile, and for exactly this call. `approves`: who goes on with it says yes to it now."""
    if trip.packet.tool_routing.approval is None:
        trip.packet = refuse_packet(trip.packet, "it waits for an approval, but does not say which", start_step())
        return
    if _may_not(trip):
        return
    call = call_of(trip.packet)
    if approves and not await _takes_yes(trip):
        return
    said = f"The user said yes{_named(trip)}" if approves else "Asked again whether it is approved"
    trip.packet = log_step(trip.packet, "tool_routing", said, start_step())
    await _run(trip, call)
    if approves:
        await _approved(trip, call)


async def _approved(trip: Trip, call: bytes) -> None:
    """One yes is enough: where the policy asks a person about the call that was just said yes to, this is the answer.
    It is given as any other: to exactly this call, by a person with a name who may approve it."""
    if trip.packet.tool_routing.execution_status == "awaiting_approval" and await _takes_yes(trip, early=True):
        trip.rounds -= 1
        await _run(trip, call)


async def _takes_yes(trip: Trip, *, early: bool = False) -> bool:
    """Whether the approval takes the person's yes; else that is told, and the call waits on."""
    from rightcall.router.respond import VAIN_YES  # late: a router without a model answers nothing

    why = await trip.router.approve(trip.packet, trip.by, early=early)
    if why is not None:
        trip.packet = with_state(trip.packet, "waiting", why)
        trip.packet = log_step(trip.packet, "tool_routing", f"{VAIN_YES}: {why}", start_step())
    return why is None


async def approve(executor: Executor, packet: Packet, by: str, *, early: bool = False) -> str | None:
    """Give a person's yes to the approval that a packet waits for; returns why it does not count. The digest is that of
    the packet's own call, which the person was shown: an approval of any other call is not given by it, nor one of
    another caller or conversation. A yes that is `early` came before anybody had looked at what the call changes, so
    it is none to that."""
    from rightcall.base.letters import suspicions  # late: only where a person is asked
    from rightcall.executor.question import details_of, is_cut_off, texts_in
    from rightcall.executor.request import canonical
    from rightcall.router.respond import is_shown_whole

    selected, named, store = packet.tool_routing.selected_tool, packet.tool_routing.approval, executor.store
    waits = await asyncio.to_thread(store.look, lambda tables: tables.approval(named)) if named else None
    if selected is None or waits is None or waits.status != "waiting":
        return None  # the executor knows what has become of it
    if (waits.caller, waits.context) != (packet.header.caller, packet.header.packet_id):
        return "that approval is for another caller or another conversation"
    if not by.strip():
        return NAMELESS
    if not is_shown_whole(selected.params) or is_cut_off(waits):
        return f"the call is too long to be shown here: see `rightcall approvals show {waits.id} --full`"
    if odd := next(iter(suspicions("\n".join(texts_in(selected.params)))), ""):
        return f"the call has {odd}: approve it where `rightcall approvals show {waits.id}` shows it"
    told = details_of(waits)
    if early and (told.get("preview") or (waits.state and told.get("effects") != ["read"])):
        return f"see what it would change with `rightcall approvals show {waits.id} --full`, then say yes again"
    if waits.kind != "call":
        return f"the {waits.kind} has changed, and that needs an approval of its own"
    try:
        digest = canonical(selected.tool_name, selected.params).digest
        await asyncio.to_thread(executor.answer, waits.id, "approved", by=by, digest=digest)
    except (RightCallError, TypeError, ValueError) as error:
        return str(error)
    return None


async def _run(trip: Trip, call: bytes) -> None:
    trip.packet = with_state(
        with_routing(trip.packet, execution_status="approved", routing_requested=True), "processing"
    )
    trip.router.clearances.give(call)
    trip.rounds += 1
    await trip.execute()


def _denied(trip: Trip) -> None:
    packet = with_routing(
        trip.packet, execution_status="user_denied", execution_result=None, routing_requested=False, approval=None
    )
    packet = with_state(packet, "processing", f"the user said no{_named(trip)}")
    trip.packet = log_step(packet, "tool_routing", "The user said no", start_step())


def _named(trip: Trip) -> str:
    return f" ({escaped(trip.by, 100)})" if trip.by else ""


def _anew(packet: Packet, said: str | None) -> Packet:
    """The request with what the user added, before anything is decided of it. Results that are there stay."""
    if said is not None:
        packet = with_field(packet, DataField(SAID, said, "user_message", "user"))
    routing = replace(
        packet.tool_routing, selected_tool=None, alternative_tools=(), selection_reasoning="", review_approved=None,
        review_confidence=0.0, review_reasoning="", confidence=0.0, evidence={}, execution_status="pending",
        execution_result=None, approval=None, candidates=(), routing_requested=False,
    )  # fmt: skip
    return with_state(replace(packet, tool_routing=routing), "processing")


# ── the span of a request ──
#
#   rightcall.route            how it went: the tool, its confidence, the status
#     rightcall.route.select   each step, and within it
#       chat MODEL             the models that it asks
#       execute_tool NAME      the call
#
# While the answer comes in pieces, the span is current only as long as the router works: whoever listens in between
# does something else.


def follow_models(models: Models, telemetry: Telemetry) -> None:
    """The models that are asked over HTTP tell of it. Any other is a function, which tells what it likes."""
    from rightcall.models.endpoint import Endpoint  # late: most routers are given their models

    for model in (models.light, models.prime):
        if isinstance(model, Endpoint):
            model.telemetry = telemetry


async def follow_trip(trip: Trip, pieces: Pieces) -> Pieces:
    """The same pieces, with a span around the work for them."""
    span = trip.span = trip.router.telemetry.route()
    try:
        async with aclosing(pieces):
            while True:
                with span.inside():
                    piece = await anext(pieces, None)
                if piece is None:
                    return
                yield piece
    except BaseException as error:
        if not isinstance(error, GeneratorExit):  # who stops listening has what they wanted
            span.fail(type(error).__name__)
        raise
    finally:
        span.tell(route_told(trip.packet))
        span.end()


def route_told(packet: Packet) -> dict[str, Value]:
    """How a request went, without a word of what was asked."""
    routing, intent = packet.tool_routing, packet.intent
    told: dict[str, Value] = {
        "rightcall.caller": packet.header.caller,
        "rightcall.route.intent": intent.user_intent,
        "rightcall.route.status": routing.execution_status,
    }
    if routing.selected_tool is not None:
        told["rightcall.route.tool"] = routing.selected_tool.tool_name
        told["rightcall.route.confidence"] = round(routing.confidence, 3)
    return told
