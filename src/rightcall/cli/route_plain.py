"""The last step of `route --run`: no model is asked for an answer, what came of the call is said plainly."""

from msgspec.structs import replace

from rightcall.route.respond import plain_answer, question_for, waiting_for
from rightcall.route.story import logged, standing, starting
from rightcall.route.types import Packet

_WAITS = ("awaiting_confidence", "awaiting_approval")


def plainly(packet: Packet) -> Packet:
    taken, status = starting(), packet.tool_routing.execution_status
    detected = packet.intent.detected
    if status in _WAITS:
        said, packet = waiting_for(packet), standing(packet, "waiting", packet.status.why)
    elif packet.intent.user_intent == "ask_back":
        missing = detected.missing if detected is not None else ()
        said = question_for(missing)
        packet = standing(packet, "waiting", f"waits for what is missing: {', '.join(missing) or 'details'}")
    elif not packet.tool_routing.needs_tool:
        said, packet = "", standing(packet, "answered", "no tool was needed, and no answer was asked for")
    else:
        state = "failed" if status == "failed" else "answered"
        said, packet = plain_answer(packet, ""), standing(packet, state, packet.status.why)
    packet = replace(packet, content=replace(packet.content, answer=said))
    return logged(packet, "response", "Said what came of it, without a model", taken)
