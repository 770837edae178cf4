"""The way of one request through the steps of a router, in the order of design 004; `Trip.run` is the whole of it.

detect ─┬─ none ─────────────────────────────────────────────────────────────▶ respond
        ├─ ask ──────────────────────────────────────────────────────────────▶ respond (asks for what is missing)
        └─ call ─▶ find ─▶ select ─▶ review ─▶ decide ─▶ execute ─▶ inject ──┐
                     ▲        └─ none   │        └─ unsure ──▶ respond       │
                     └──────────────────┴────────────────── again, a few times
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from rightcall.errors import RightCallError
from rightcall.record.notes import Routed
from rightcall.route.clearance import call_of
from rightcall.route.story import logged, routed, standing, starting
from rightcall.route.types import Packet

if TYPE_CHECKING:
    from rightcall.route.router import Router

log = logging.getLogger("rightcall")

Pieces = AsyncGenerator[str, None]
"""Of an answer. Each that hands on another's closes it: who stops listening stops the model too."""

_DECISIONS = {
    "awaiting_confidence": "low_confidence", "skipped": "skipped", "user_denied": "user_denied", "failed": "failed",
}  # fmt: skip


class Trip:
    """A packet on its way. `packet` is where it stands, at any moment: also when the task is cancelled."""

    def __init__(self, router: "Router", packet: Packet) -> None:
        self.router = router
        self.packet = packet
        self.by = ""
        """The person who has said something to it, where one has."""
        self.rounds = 0
        """Calls that were tried on this way, whatever the packet says of itself: a step may have been replaced."""

    async def run(self) -> Pieces:
        """From the first look to the answer, in pieces of text."""
        if self.router.settings.enabled:
            await self.step("detect")
            if self.packet.tool_routing.routing_requested:
                await self.step("find")
                await self.route()
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
        made: Any = getattr(self.router, name)(self.packet)
        given = await made if isawaitable(made) else made
        if not isinstance(given, Packet):
            raise TypeError(f"the step `{name}` must return a packet, not {type(given).__name__}")
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
            log.warning("packet %s could not be saved: %s", self.packet.header.packet_id, error)

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
        why = self.why_no_more() if routing.candidates else "there is no fitting tool"
        if why is None:
            return True
        status = "skipped" if routing.execution_status in ("pending", "approved") else routing.execution_status
        packet = standing(routed(self.packet, routing_requested=False, execution_status=status), "processing", why)
        self.packet = logged(packet, "tool_routing", f"No further tool: {why}", starting())
        return False

    async def _note(self) -> None:
        """What was decided without a call stands in the audit too; calls have records of their own there."""
        decision = self._decision()
        if decision:
            try:
                await self.router.note(self.packet, decision, self.by)
            except RightCallError as error:  # nothing has run, and nothing will
                log.warning("the decision on packet %s is not recorded: %s", self.packet.header.packet_id, error)

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
