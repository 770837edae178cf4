"""What may run: calls that this very router has reviewed and found sure enough, or that a person said yes to.

It is kept in memory, for one use. Nothing that stands in a packet clears it, since packets come from files too.
"""

from msgspec import json

from rightcall.config_router import RouterSettings
from rightcall.route.review import weighed
from rightcall.route.story import logged, routed, standing, starting
from rightcall.route.types import Packet

_encode = json.Encoder(order="deterministic").encode
_MOST = 10_000
"""Clearances that were never used go, the oldest first."""


class Clearances:
    """The calls that may run now."""

    def __init__(self) -> None:
        self._cleared: dict[bytes, None] = {}

    def give(self, packet: Packet) -> None:
        while len(self._cleared) >= _MOST:
            del self._cleared[next(iter(self._cleared))]
        self._cleared[_call(packet)] = None

    def use(self, packet: Packet) -> bool:
        """Whether this packet's call is cleared; if so, it is no longer."""
        return self._cleared.pop(_call(packet), False) is None


def _call(packet: Packet) -> bytes:
    selected = packet.tool_routing.selected_tool
    name, params = (selected.tool_name, selected.params) if selected is not None else ("", {})
    return _encode((packet.header.packet_id, packet.header.caller, name, params))


def decide(packet: Packet, settings: RouterSettings, clearances: Clearances) -> Packet:
    """Is it sure enough? At or above the threshold, with an approving review, it may run; else as `below` says."""
    taken = starting()
    routing = packet.tool_routing
    selected = routing.selected_tool
    if selected is None:
        return packet
    found = weighed(packet)
    packet = routed(packet, confidence=found.confidence, evidence=found.parts)
    sure = f"{found.confidence:.2f}, {settings.threshold:g} is due"
    if routing.review_approved is True and found.confidence >= settings.threshold:
        clearances.give(packet)
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
