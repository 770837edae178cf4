"""Going on with a packet from where it stood. It may come from a file that anybody could have written, so nothing in it
counts as a permission: what was chosen is checked, reviewed and decided anew, or a person says yes to it now."""

from contextlib import aclosing

from msgspec.structs import replace

from rightcall.errors import RightCallError
from rightcall.record.notes import Confirmation
from rightcall.route.clearance import call_of
from rightcall.route.execute import refused
from rightcall.route.story import SAID, logged, routed, standing, starting, with_field
from rightcall.route.trip import Pieces, Trip
from rightcall.route.types import DataField, Packet
from rightcall.text.escape import escaped

_YES = frozenset(("yes", "y"))
_NO = frozenset(("no", "n"))
_NOT_SHOWN = "A yes, but not to a call that was shown: it is chosen and reviewed anew"
_TWICE = "Somebody has said yes to this already, and a yes counts once. Say what is wanted to have it looked at anew."


def says_yes(packet: Packet, said: str | None) -> bool:
    """Whether this is a person's yes to the call that a packet waits with."""
    waits = (packet.status.state, packet.tool_routing.execution_status) == ("waiting", "awaiting_confidence")
    return waits and (said or "").strip().lower() in _YES


async def resumed(trip: Trip, said: str | None, by: str) -> Pieces:
    """The rest of a request's way."""
    packet, trip.by = trip.packet, by
    if packet.status.state == "answered":
        return
    word = (said or "").strip().lower()
    match packet.status.state, packet.tool_routing.execution_status:
        case "waiting", "awaiting_confidence" | "awaiting_approval" if word in _NO:
            _denied(trip)
        case "waiting", "awaiting_approval" if said is None or word in _YES:
            await _asked_again(trip)
        case "waiting", "awaiting_confidence" if word in _YES:
            counts = await _confirmed(trip)
            if counts == "used":
                trip.packet = _said_before(packet)
                yield _TWICE
                return
            if counts == "unknown":
                trip.packet = _anew(logged(packet, "tool_routing", _NOT_SHOWN, starting()), None)
                async with aclosing(trip.run()) as pieces:
                    async for piece in pieces:
                        yield piece
                return
        case "waiting" | "failed", _ if said is None:
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
    taken, call = starting(), call_of(trip.packet)
    if _may_not(trip):
        return "confirmed"
    try:
        counts = await trip.router.confirm(trip.packet, call, trip.by)
    except RightCallError as error:
        trip.packet = refused(trip.packet, f"the user's yes could not be recorded: {error}", taken)
        return "confirmed"
    if counts == "confirmed":
        packet = routed(trip.packet, approval=None)
        trip.packet = logged(packet, "tool_routing", f"The user said yes{_named(trip)}", taken)
        await _run(trip, call)
    return counts


def _may_not(trip: Trip) -> bool:
    """Whether no tool may run any more; then that is told."""
    why = trip.why_no_more()
    if why is not None:
        trip.packet = refused(trip.packet, why, starting())
    return why is not None


def _said_before(packet: Packet) -> Packet:
    """Not saved: whoever said it before goes on with the packet."""
    packet = refused(packet, "yes was said to this call before, and it counts once", starting())
    return replace(standing(packet, "failed", packet.status.why), content=replace(packet.content, answer=_TWICE))


async def _asked_again(trip: Trip) -> None:
    """The same call once more, under the approval that it waits for and no other: the executor knows whether a person
    has given it meanwhile, and for exactly this call."""
    if trip.packet.tool_routing.approval is None:
        trip.packet = refused(trip.packet, "it waits for an approval, but does not say which", starting())
        return
    if _may_not(trip):
        return
    trip.packet = logged(trip.packet, "tool_routing", "Asked again whether it is approved", starting())
    await _run(trip, call_of(trip.packet))


async def _run(trip: Trip, call: bytes) -> None:
    trip.packet = standing(routed(trip.packet, execution_status="approved", routing_requested=True), "processing")
    trip.router.clearances.give(call)
    trip.rounds += 1
    await trip.execute()


def _denied(trip: Trip) -> None:
    packet = routed(
        trip.packet, execution_status="user_denied", execution_result=None, routing_requested=False, approval=None
    )
    packet = standing(packet, "processing", f"the user said no{_named(trip)}")
    trip.packet = logged(packet, "tool_routing", "The user said no", starting())


def _named(trip: Trip) -> str:
    return f" ({escaped(trip.by, 100)})" if trip.by else ""


def _anew(packet: Packet, said: str | None) -> Packet:
    """The request with what the user added, before anything is decided of it. Results that are there stay."""
    if said is not None:
        packet = with_field(packet, DataField(SAID, said, "user_message", "user"))
    routing = replace(
        packet.tool_routing, selected_tool=None, alternative_tools=(), review_approved=None, review_confidence=0.0,
        review_reasoning="", confidence=0.0, evidence={}, execution_status="pending", execution_result=None,
        approval=None, candidates=(), routing_requested=False,
    )  # fmt: skip
    return standing(replace(packet, tool_routing=routing), "processing")
