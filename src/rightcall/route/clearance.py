"""What may run: calls that this very router has reviewed and found sure enough, or that a person said yes to.

    review ─▶ a mark: this call, judged so ─▶ decide ─▶ a clearance: this call ─▶ execute

Both are kept in memory, each for one use. Nothing that stands in a packet clears it, since packets come from files too;
and what runs is read back from the bytes that were reviewed, since a packet's arguments can be changed by whoever holds
them.
"""

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

from msgspec import json
from msgspec.structs import replace

from rightcall.config_router import RouterSettings
from rightcall.route.review import failed, weighed
from rightcall.route.story import logged, routed, standing, starting
from rightcall.route.types import Packet, SelectedTool

_encode = json.Encoder(order="deterministic").encode
_MOST = 10_000
"""Marks and clearances that were never used go, the oldest first."""

UNREVIEWED = "the call is not the one that was reviewed here"


class Clearances:
    """The calls that were reviewed here, and those that may run now."""

    def __init__(self) -> None:
        self._reviewed: dict[bytes, bytes] = {}
        self._cleared: dict[bytes, bytes] = {}

    def reviewed(self, call: bytes, packet: Packet) -> None:
        """This call was shown to a reviewer, and this is what came of it."""
        if call:
            _keep(self._reviewed, call, _judgement(packet))

    def was_reviewed(self, packet: Packet) -> bool:
        """Whether exactly this call was judged exactly so, here; if so, that is used up."""
        call = call_of(packet)
        return bool(call) and self._reviewed.pop(call, b"") == _judgement(packet) != b""

    def give(self, call: bytes) -> None:
        if call:
            _keep(self._cleared, call, call)

    def use(self, packet: Packet) -> SelectedTool | None:
        """This packet's call, if it is cleared; then it is no longer."""
        selected = packet.tool_routing.selected_tool
        call = self._cleared.pop(call_of(packet), b"")
        return replace(selected, params=json.decode(call)[3]) if call and selected is not None else None


def call_of(packet: Packet) -> bytes:
    """A packet's call as bytes, with the packet and the caller it belongs to; empty where there is none, or none that
    JSON can carry."""
    selected = packet.tool_routing.selected_tool
    if selected is None:
        return b""
    return _bytes((packet.header.packet_id, packet.header.caller, selected.tool_name, selected.params))


def _judgement(packet: Packet) -> bytes:
    """All that a decision is made of besides the call."""
    routing = packet.tool_routing
    stated = routing.selected_tool.selection_confidence if routing.selected_tool is not None else 0.0
    review = (routing.review_approved, routing.review_confidence)
    return _bytes((*review, stated, routing.evidence, routing.candidates, packet.intent.detected))


def _bytes(value: Any) -> bytes:
    try:
        return _encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return b""


def _keep(kept: dict[bytes, bytes], key: bytes, value: bytes) -> None:
    while len(kept) >= _MOST:
        del kept[next(iter(kept))]
    kept[key] = value


def marking(step: Callable[[Packet], Any], clearances: Clearances) -> Callable[[Packet], Any]:
    """A review that a program has put in the place of ours: its word counts like ours."""

    def review(packet: Packet) -> Any:
        call, made = call_of(packet), step(packet)
        if isawaitable(made):
            return _marked(made, call, clearances)
        if isinstance(made, Packet):
            clearances.reviewed(call, made)
        return made

    return review


async def _marked(made: Awaitable[Any], call: bytes, clearances: Clearances) -> Any:
    packet = await made
    if isinstance(packet, Packet):
        clearances.reviewed(call, packet)
    return packet


def decide(packet: Packet, settings: RouterSettings, clearances: Clearances) -> Packet:
    """Is it sure enough? At or above the threshold, with an approving review, it may run; else as `below` says."""
    taken = starting()
    call, selected = call_of(packet), packet.tool_routing.selected_tool
    if selected is None:
        return packet
    if not clearances.was_reviewed(packet) and packet.tool_routing.review_approved is not None:
        said = failed(UNREVIEWED)
        packet = routed(
            packet, review_approved=said.approved, review_confidence=said.confidence, review_reasoning=said.reasoning
        )
    found = weighed(packet)
    packet = routed(packet, confidence=found.confidence, evidence=found.parts)
    sure = f"{found.confidence:.2f}, {settings.threshold:g} is due"
    if packet.tool_routing.review_approved is True and found.confidence >= settings.threshold:
        clearances.give(call)
        packet = standing(routed(packet, execution_status="approved"), "processing")
        return logged(packet, "tool_routing", f"{selected.tool_name} may run ({sure})", taken, sure=found.confidence)
    why = _why_unsure(packet, sure)
    if settings.below == "ask":
        packet = standing(routed(packet, execution_status="awaiting_confidence"), "waiting", why)
        summary = f"Tool {selected.tool_name} waits for the user: {why}"
    else:
        packet = standing(routed(packet, execution_status="skipped"), "processing", why)
        summary = f"Tool {selected.tool_name} skipped due to low confidence ({found.confidence:.2f})"
    return logged(routed(packet, routing_requested=False), "tool_routing", summary, taken, sure=found.confidence)


def _why_unsure(packet: Packet, sure: str) -> str:
    match packet.tool_routing.review_approved:
        case None:
            return packet.tool_routing.review_reasoning or "nobody has reviewed it"
        case False:
            return f"the reviewer did not approve it (confidence {sure})"
        case True:
            return f"the confidence is too low ({sure})"
