"""Is it the right one? The prime model reviews the choice (T-05); its word is one piece of evidence among others.

A review that fails, or that cannot be read to the letter, is no review: then nothing runs.
"""

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rightcall.config_router import RouterSettings
from rightcall.errors import Unreadable
from rightcall.loading import loads
from rightcall.loop_asking import Model
from rightcall.parse.kinds import is_object
from rightcall.route import prompts
from rightcall.route.asking import RouterQuestion, put
from rightcall.route.budget import Budget, budget_of
from rightcall.route.confidence import UNAPPROVED, Evidence, Weighed, weigh
from rightcall.route.replies import Broken, Said, exact_in, share, taken_apart, words
from rightcall.route.story import logged, results_of, routed, starting
from rightcall.route.types import Candidate, Packet, SelectedTool
from rightcall.text.escape import render_json

if TYPE_CHECKING:
    from rightcall.gate import Gate


_KEYS = frozenset(("approved", "confidence", "reasoning"))
_UNFINISHED = frozenset(("length", "max_tokens", "content_filter", "MAX_TOKENS", "SAFETY", "incomplete"))
"""What APIs call an answer that was not written to its end."""


class Review(Struct, frozen=True):
    """What a reviewer said. `approved` None: nothing that could be read."""

    approved: bool | None
    confidence: float
    reasoning: str


async def review(packet: Packet, gate: "Gate", model: Model | None, settings: RouterSettings) -> Packet:
    selected = packet.tool_routing.selected_tool
    if selected is None:
        return packet
    taken = starting()
    question = RouterQuestion(
        prompts.review(packet, selected, gate.catalog.get(selected.tool_name)),
        settings.review_tokens,
        settings.review_temperature,
        settings.top_p,
        prompts.REVIEW_SCHEMA,
    )
    said, tokens = await _ask_for_review(question, gate, model, budget_of(packet, settings, taken))
    taken = taken.plus(tokens)
    packet = routed(
        packet, review_approved=said.approved, review_confidence=said.confidence, review_reasoning=said.reasoning
    )
    return logged(packet, "confidence_review", _summary(said, selected), taken, sure=said.confidence)


async def _ask_for_review(
    question: RouterQuestion, gate: "Gate", model: Model | None, budget: Budget
) -> tuple[Review, int]:
    """A reply that seems to approve, but not to the letter, is asked for once more, as JSON alone. Any other that
    cannot be read has failed: nobody is asked until he says yes."""
    reply = await put(model, question, budget)
    if reply.failed is not None:
        return failed(reply.failed), reply.tokens
    told = taken_apart(gate, reply.written)
    said = _read(told)
    if said.approved is not None or not _seems_to_approve(told.text):
        return said, reply.tokens
    again = await put(model, question.after(told.text, prompts.ONLY_JSON), budget, reply.tokens)
    tokens = reply.tokens + again.tokens
    return (said if again.failed is not None else _read(taken_apart(gate, again.written))), tokens


def _seems_to_approve(text: str) -> bool:
    try:
        value = loads(text).value
    except Unreadable:
        return False
    return is_object(value) and value.get("approved") is True


def _read(said: Said) -> Review:
    if said.finish in _UNFINISHED:
        return failed(f"it was cut off ({said.finish})")
    if any(place.format == "native" for place in said.reading.places):
        return failed("it calls a tool")
    return read_review(said.text)


def read_review(text: str) -> Review:
    """To the letter: the whole text is one JSON object; `approved` is true or false in it, `confidence` a number from
    0 to 1 and `reasoning`, where it is given, a text. Any other key leaves a doubt: it may say the contrary.

    >>> read_review('{"approved": true, "confidence": 0.9, "reasoning": "Right."}')
    Review(approved=True, confidence=0.9, reasoning='Right.')
    >>> read_review('{"approved": "yes", "confidence": 0.9}').reasoning
    'Review failed: `approved` is "yes", neither true nor false'
    """
    found = exact_in(text)
    if isinstance(found, Broken):
        return failed(found.why)
    odd = next((key for key in found.value if key not in _KEYS), None)
    if odd is not None:
        return failed(f"its key {render_json(odd, 60)} is none of those asked for")
    approved, stated = found.value.get("approved"), found.value.get("confidence")
    if not isinstance(approved, bool):
        return failed(f"`approved` is {render_json(approved)}, neither true nor false")
    confidence = share(stated)
    if confidence is None:
        return failed(f"`confidence` is {render_json(stated)}, no number from 0 to 1")
    reasoning = found.value.get("reasoning", "")
    if not isinstance(reasoning, str):
        return failed(f"`reasoning` is {render_json(reasoning, 60)}, no text")
    return Review(approved, confidence if approved else min(confidence, UNAPPROVED), words(reasoning))


def failed(why: str) -> Review:
    return Review(None, 0.0, f"Review failed: {why}")


def weighed(packet: Packet) -> Weighed:
    """All that is known of the selected call, as one number."""
    routing = packet.tool_routing
    selected = routing.selected_tool
    if selected is None:
        return Weighed(0.0, {})
    ranked, known = _still_open(packet, selected), routing.evidence
    detected = packet.intent.detected
    chosen = next((one.confidence for one in ranked if one.name == selected.tool_name), 0.0)
    return weigh(
        Evidence(
            needs=detected.probability if detected is not None else 0.0,
            tool=chosen,
            margin=ranked[0].confidence - ranked[1].confidence if len(ranked) > 1 else 1.0,
            agrees=bool(ranked) and ranked[0].name == selected.tool_name,
            fits=known.get("fits", 0.0) >= 1.0,
            repairs=int(known.get("repairs", 0.0)),
            repair_confidence=share(known.get("repair")) or 0.0,
            stated=selected.selection_confidence,
            approved=routing.review_approved,
            review=routing.review_confidence if routing.review_approved is not None else None,
        )
    )


def _still_open(packet: Packet, selected: SelectedTool) -> list[Candidate]:
    """The candidates as likely as they are after what was done: a tool that has given its result leaves its share to
    the others, unless it is the one that was chosen again."""
    used = {one.get("tool") for one in results_of(packet)} - {selected.tool_name}
    others = [one for one in packet.tool_routing.candidates if one.name not in used]
    gone = sum(one.confidence for one in packet.tool_routing.candidates if one.name in used)
    left = max(1.0 - gone, sum(one.confidence for one in others))
    return [replace(one, confidence=min(one.confidence / left, 1.0)) for one in others] if left > 0 else others


def _summary(said: Review, selected: SelectedTool) -> str:
    if said.approved is None:
        return said.reasoning
    return f"{selected.tool_name} was {'approved' if said.approved else 'not approved'}"
