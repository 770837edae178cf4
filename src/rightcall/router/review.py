"""Is it the right one? The prime model reviews the choice (T-05); its word is one piece of evidence among others.

A review that fails, or that cannot be read to the letter, is no review: then nothing runs.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from inspect import isawaitable
from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Struct, json
from msgspec.structs import replace

from rightcall.base.json.marks import is_list, is_object
from rightcall.base.json.strict import encode_sorted
from rightcall.base.text import render_json, told_apart
from rightcall.catalog.tool import Tool
from rightcall.errors import Unreadable
from rightcall.gate.repair.arguments import loads
from rightcall.models.replies import Model
from rightcall.policy.settings import RouterSettings
from rightcall.router import prompts
from rightcall.router.choose import Broken, Said, exact_in, share, taken_apart, words
from rightcall.router.packet import (
    Budget,
    Candidate,
    Packet,
    RouterQuestion,
    SelectedTool,
    budget_of,
    log_step,
    put,
    request_of,
    results_of,
    start_step,
    with_routing,
    with_state,
)

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate
    from rightcall.record.notes import Confirmation


# ── confidence ──
# One number: how sure it is that this call is the one to run.
#
# The models decide. Of a call that only reads, the number is the reviewer's own, as design 004 has it: what was
# measured without a model has shortened the list, and is told to the reviewer as doubts. Where a call can change
# something the measured probabilities count as well, and each model is a vote of limited weight. Nobody lifts the
# number above what the reviewer said, and no review, or one that cannot be read, leaves nothing of it.

SELECTOR_ODDS = 4.0
"""What the selecting model's choice is worth: as a voter who is right four times in five."""

ALONE_ODDS = 2.0
"""What it is worth where the measured ranking had put another tool first: two methods that disagree tell less."""

REVIEW_ODDS = 2.0
"""What an approval is worth: reviewers approve most of what they are shown."""

UNAPPROVED = 0.5
"""The most that is left when the reviewer did not approve (design 004)."""

_LEAST, _MOST = 0.001, 0.999
_READ = frozenset(("read",))
_LIKELY, _SURE_REPAIR = 0.5, 0.9
"""From where on something measured is worth a word to the reviewer."""
_UNLIKELY = 0.2
"""Below this a request hardly needs a tool. Of a call that only reads it is not said: a needless look does no harm, and
what was measured is wrong more often than the model that has read the request."""


class Evidence(Struct, frozen=True):
    """What is known of a selected call."""

    reads: bool = False
    """Whether it only reads: then the models decide, and what was measured does not overrule them."""
    needs: float = 1.0
    """The probability that the request needs a tool."""
    tool: float = 1.0
    """The probability that it is this tool, given that it is one of those available."""
    margin: float = 0.0
    """How far the first candidate is ahead of the second: for people, since `tool` is made of it."""
    agrees: bool = True
    """The selecting model chose the first candidate."""
    fits: bool = True
    """The arguments fit the tool's schema."""
    repairs: int = 0
    repair_confidence: float = 1.0
    """How sure the gate is of its repairs."""
    stated: float = 0.0
    """What the selecting model says of itself: for people. It was measured to tell nothing."""
    approved: bool | None = None
    """What the reviewer said; None: nothing that could be read."""
    review: float | None = None
    """How sure the reviewer says to be."""


class Weighed(Struct, frozen=True):
    confidence: float
    parts: dict[str, float]
    """What it was made of, for the packet and for people."""


def weigh(evidence: Evidence) -> Weighed:
    """
    >>> weigh(Evidence(needs=0.9, tool=0.9, approved=True, review=0.95)).confidence
    0.95
    >>> weigh(Evidence(needs=0.9, tool=0.1, agrees=False, approved=True, review=0.95)).confidence
    0.2835
    >>> weigh(Evidence(reads=True, needs=0.9, tool=0.1, agrees=False, approved=True, review=0.95)).confidence
    0.95
    >>> weigh(Evidence(needs=0.9, tool=0.9, approved=False, review=0.95)).confidence
    0.5
    >>> weigh(Evidence(needs=0.9, tool=0.9)).confidence
    0.0
    """
    measured = evidence.needs * evidence.tool
    selected = SELECTOR_ODDS if evidence.agrees else ALONE_ODDS
    voted = _raised(measured, selected * (REVIEW_ODDS if evidence.approved else 1.0))
    most = _most(evidence)
    confidence = (most if evidence.reads else min(voted * evidence.repair_confidence, most)) if evidence.fits else 0.0
    parts = {
        "reads": float(evidence.reads), "needs": evidence.needs, "tool": evidence.tool, "margin": evidence.margin,
        "agrees": float(evidence.agrees), "fits": float(evidence.fits), "repairs": float(evidence.repairs),
        "repair": evidence.repair_confidence, "stated": evidence.stated, "measured": measured, "voted": voted,
        "review": evidence.review or 0.0, "most": most,
    }  # fmt: skip
    return Weighed(round(confidence, 4), {name: round(value, 4) for name, value in parts.items()})


def _most(evidence: Evidence) -> float:
    if evidence.approved is None or evidence.review is None or not 0.0 <= evidence.review <= 1.0:
        return 0.0
    return evidence.review if evidence.approved else min(evidence.review, UNAPPROVED)


def _raised(probability: float, odds: float) -> float:
    bounded = min(max(probability, _LEAST), _MOST)
    against = (1.0 - bounded) / bounded / odds
    return 1.0 / (1.0 + against)


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
    taken = start_step()
    tool = gate.catalog.get(selected.tool_name)
    question = RouterQuestion(
        prompts.review(packet, selected, tool, doubts_of(packet, tool), _others(packet, selected, gate)),
        settings.review_tokens,
        settings.review_temperature,
        settings.top_p,
        prompts.REVIEW_SCHEMA,
    )
    said, tokens = await _ask_for_review(question, gate, model, budget_of(packet, settings, taken))
    taken = taken.plus(tokens)
    packet = with_routing(
        packet, review_approved=said.approved, review_confidence=said.confidence, review_reasoning=said.reasoning
    )
    return log_step(packet, "confidence_review", _summary(said, selected), taken, sure=said.confidence)


async def _ask_for_review(
    question: RouterQuestion, gate: "Gate", model: Model | None, budget: Budget
) -> tuple[Review, int]:
    """A reply that seems to approve, but not to the letter, is asked for once more, as JSON alone. Any other that
    cannot be read has failed: nobody is asked until he says yes."""
    reply = await put(model, question, budget)
    if reply.failed is not None:
        return failed_review(reply.failed), reply.tokens
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
        return failed_review(f"it was truncated ({said.finish})")
    if any(place.format == "native" for place in said.reading.places):
        return failed_review("it calls a tool")
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
        return failed_review(found.why)
    odd = next((key for key in found.value if key not in _KEYS), None)
    if odd is not None:
        return failed_review(f"its key {render_json(odd, 60)} is none of those asked for")
    approved, stated = found.value.get("approved"), found.value.get("confidence")
    if not isinstance(approved, bool):
        return failed_review(f"`approved` is {render_json(approved)}, neither true nor false")
    confidence = share(stated)
    if confidence is None:
        return failed_review(f"`confidence` is {render_json(stated)}, no number from 0 to 1")
    reasoning = found.value.get("reasoning", "")
    if not isinstance(reasoning, str):
        return failed_review(f"`reasoning` is {render_json(reasoning, 60)}, no text")
    return Review(approved, confidence if approved else min(confidence, UNAPPROVED), words(reasoning))


def failed_review(why: str) -> Review:
    return Review(None, 0.0, f"Review failed: {why}")


def only_reads(tool: Tool | None) -> bool:
    """Whether a call of this tool can do nothing but read. One that declares nothing can do everything, and one that
    runs others can do what they do."""
    return tool is not None and tool.effects <= _READ and tool.rules.batch is None


def _others(packet: Packet, selected: SelectedTool, gate: "Gate") -> list[Tool]:
    """The nearest tools beside the selected one."""
    names = [one.name for one in packet.tool_routing.candidates if one.name != selected.tool_name]
    return [gate.catalog.tools[name] for name in names if name in gate.catalog.tools][: prompts.MOST_OTHERS]


def doubts_of(packet: Packet, tool: Tool | None = None) -> list[str]:
    """What was measured without a model and speaks against the choice of this tool, for the reviewer to look at."""
    selected, detected = packet.tool_routing.selected_tool, packet.intent.detected
    if selected is None or detected is None:
        return []
    ranked, known = _still_open(packet, selected), packet.tool_routing.evidence
    doubts: list[str] = []
    is_first = not any(True for _ in results_of(packet))
    if detected.probability < _UNLIKELY and is_first and not only_reads(tool):
        doubts.append("the request may need no tool at all")
    names = detected.missing
    if names and not only_reads(tool) and selected.params.keys().isdisjoint(names):
        names = tuple(selected.params)  # the model has chosen another tool than the one that was looked at
    missing = _made_up(request_of(packet), selected.params, names)
    if missing and (is_first or not only_reads(tool)):  # what is read next may stand in the result
        doubts.append(f"the request does not seem to say: {', '.join(missing)}")
    if ranked and ranked[0].name != selected.tool_name and ranked[0].confidence >= _LIKELY:
        doubts.append(f"{ranked[0].name} may be the better tool")
    if known.get("repairs") and known.get("repair", 1.0) < _SURE_REPAIR:
        doubts.append("the parameters were broken and had to be repaired: are they still what was meant?")
    return doubts


def _made_up(request: str, params: dict[str, Any], missed: Sequence[str]) -> list[str]:
    """Of the arguments that were missed without a model, those to which the call gives a value that is not in the
    request. What stands there once serves one argument.

    >>> _made_up("Order 5 of A7 in 2026 for 2.50", {"sku": "a7", "size": 5.0, "price": 2}, ["sku", "size", "price"])
    ['price']
    >>> _made_up("Order 5 of A7", {"days": 5, "size": 5, "box": {"of": ["A7"], "in": None}}, ["days", "box", "city"])
    ['days']
    """
    said, made_up, used = request.casefold(), list[str](), Counter[str]()
    for name in sorted(params, key=missed.__contains__):  # what was seen has its values first
        texts = _texts_in(params[name])
        if name in missed and any(_count_in(said, text) <= used[text] for text in texts):
            made_up.append(name)
        used.update(texts)
    return made_up


def _texts_in(value: Any) -> list[str]:
    """Every text and number in a value, as a request would write it."""
    found: list[str] = []
    rest = [value]
    while rest:
        one = rest.pop()
        if is_object(one):
            rest += one.values()
        elif is_list(one):
            rest += one
        elif one is not None:
            found.append(str(int(one) if isinstance(one, float) and one.is_integer() else one).strip().casefold())
    return found


def _count_in(request: str, text: str) -> int:
    """How often a text stands in a request by itself, and not as part of a word, a number or a date, or as the end of a
    sentence.

    >>> [_count_in("delete notes.txt of 2026-11-18.", text) for text in ("notes.txt", "note", "11", ".", "")]
    [1, 0, 0, 0, 0]
    """
    if not any(map(str.isalnum, text)):
        return request.split().count(text)
    return len(re.findall(rf"(?a)(?<!\w)(?<!\d[.,:/-]){re.escape(text)}(?!\w)(?![.,:/-]\d)", request))


def weigh_packet(packet: Packet, *, reads: bool = False) -> Weighed:
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
            reads=reads,
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


# ── clearance ──
# What may run: calls that this very router has reviewed and found sure enough, or that a person said yes to.
#
#     review ─▶ a mark: this call, judged so ─▶ decide ─▶ a clearance: this call ─▶ execute
#
# Both are kept in memory, each for one use. Nothing that stands in a packet clears it, since packets come from files
# too; and what runs is read back from the bytes that were reviewed, since a packet's arguments can be changed by
# whoever holds them.

_MOST_CLEARANCE = 10_000
"""Marks and clearances that were never used go, the oldest first."""

_USED = b"used "
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


class Shown:
    """The calls that persons were shown in this process. A store in memory ends with its router, and the next router
    has another: that a yes counts there too, and once, is known here. A store on the disk knows it by itself."""

    def __init__(self) -> None:
        self._calls: dict[bytes, bytes] = {}
        self._alone = Lock()

    def show(self, packet: Packet, call: bytes) -> None:
        """From now on this packet waits for a yes to this call; with an empty one, for none any more."""
        with self._alone:
            _keep(self._calls, packet.header.packet_id.encode(), call)

    def confirm(self, packet: Packet, call: bytes) -> "Confirmation":
        with self._alone:
            name = packet.header.packet_id.encode()
            known = self._calls.get(name, b"")
            if call and known == call:
                self._calls[name] = _USED + call
                return "confirmed"
            return "used" if call and known == _USED + call else "unknown"


SHOWN = Shown()


def call_of(packet: Packet) -> bytes:
    """A packet's call as bytes, with the packet and the caller it belongs to; empty where there is none, or none that
    JSON can carry."""
    selected = packet.tool_routing.selected_tool
    if selected is None:
        return b""
    return _bytes((packet.header.packet_id, packet.header.caller, selected.tool_name, selected.params))


def definition_of(tool: Tool) -> bytes:
    """The digest of what a tool says it is and does."""
    return sha256(_bytes((tool.description, tool.schema, sorted(tool.effects)))).digest()


def _judgement(packet: Packet) -> bytes:
    """All that a decision is made of besides the call."""
    routing = packet.tool_routing
    stated = routing.selected_tool.selection_confidence if routing.selected_tool is not None else 0.0
    review = (routing.review_approved, routing.review_confidence)
    return _bytes((*review, stated, routing.evidence, routing.candidates, packet.intent.detected))


def _bytes(value: Any) -> bytes:
    try:
        return encode_sorted(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return b""


def _keep(kept: dict[bytes, bytes], key: bytes, value: bytes) -> None:
    while len(kept) >= _MOST_CLEARANCE:
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


def decide(packet: Packet, settings: RouterSettings, clearances: Clearances, tool: Tool | None = None) -> Packet:
    """Is it sure enough? At or above the threshold, with an approving review, it may run; else as `below` says. `tool`
    is the selected one; of one that nobody knows, everything is feared."""
    taken = start_step()
    call, selected = call_of(packet), packet.tool_routing.selected_tool
    if selected is None:
        return packet
    if not clearances.was_reviewed(packet) and packet.tool_routing.review_approved is not None:
        said = failed_review(UNREVIEWED)
        packet = with_routing(
            packet, review_approved=said.approved, review_confidence=said.confidence, review_reasoning=said.reasoning
        )
    found = weigh_packet(packet, reads=only_reads(tool))
    packet = with_routing(packet, confidence=found.confidence, evidence=found.parts)
    shown = told_apart(found.confidence, settings.threshold)
    sure = f"{shown}, {settings.threshold:g} is due"
    if packet.tool_routing.review_approved is True and found.confidence >= settings.threshold:
        clearances.give(call)
        packet = with_state(with_routing(packet, execution_status="approved"), "processing")
        return log_step(packet, "tool_routing", f"{selected.tool_name} may run ({sure})", taken, sure=found.confidence)
    why = _why_unsure(packet, sure)
    if settings.below == "ask":
        packet = with_state(with_routing(packet, execution_status="awaiting_confidence"), "waiting", why)
        summary = f"Tool {selected.tool_name} waits for the user: {why}"
    else:
        packet = with_state(with_routing(packet, execution_status="skipped"), "processing", why)
        summary = f"Tool {selected.tool_name} skipped due to low confidence ({shown})"
    return log_step(
        with_routing(packet, routing_requested=False), "tool_routing", summary, taken, sure=found.confidence
    )


def _why_unsure(packet: Packet, sure: str) -> str:
    match packet.tool_routing.review_approved:
        case None:
            return packet.tool_routing.review_reasoning or "nobody has reviewed it"
        case False:
            return f"the reviewer did not approve it (confidence {sure})"
        case True:
            return f"the confidence is too low ({sure})"
