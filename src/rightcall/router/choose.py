"""Which tool, with which arguments: a light model chooses among the candidates at a low temperature (T-04).

reply ─▶ the JSON it was asked for, or a call in the model's own format ─▶ gate ─▶ Choice
                                                                           └─ Broken: asked once more, with the hint
"""

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.json import decode, encode
from msgspec.structs import replace

from rightcall.base.json.marks import is_list, is_object
from rightcall.base.json.strict import NO_JSON, attempt, duplicate_keys
from rightcall.base.text import escaped, estimate
from rightcall.errors import Unreadable
from rightcall.gate.recover.machine import REASONING
from rightcall.gate.recover.native import unpack
from rightcall.gate.repair.arguments import loads
from rightcall.models.replies import Model, Turn, answer_of, turn_of
from rightcall.policy.settings import RouterSettings
from rightcall.router import prompts
from rightcall.router.packet import (
    Packet,
    RouterQuestion,
    SelectedTool,
    Taken,
    budget_of,
    has_spoken,
    log_step,
    put,
    results_of,
    start_step,
    with_routing,
    with_state,
)
from rightcall.types import Reading, Verdict

if TYPE_CHECKING:
    from rightcall.gate.gate import Gate


# ── replies ──
# What a model replied to a question that wants a JSON object. Servers do not keep their word on a schema, so nothing
# is taken for granted. The object is the whole reply, but for reasoning before it and one fence around it: what stands
# within other words may be quoted there, and meant otherwise.
#
#     object_in ─▶ what is damaged in a way that leaves no doubt is mended (a choice, which is reviewed)
#     exact_in  ─▶ JSON to the letter (a review, which lets things run)

_DOUBTFUL = {
    "duplicate_key": "a key appears in it twice",
    "several_values": "it holds more than one value",
}
_AROUND = "other words stand around its JSON object"

_HARMONY = ("<|channel|>", "<|start|>")
_CHANNELS = re.compile(
    r"(?:<\|start\|>assistant)?(?:<\|channel\|>(?:analysis|commentary)<\|message\|>(?:(?!<\|).)*<\|end\|><\|start\|>assistant)*"
    r"<\|channel\|>final<\|message\|>(?P<final>(?:(?!<\|).)*)(?:<\|return\|>|<\|end\|>)?\s*",
    re.DOTALL,
)
"""A reply in channels, whole and in order. What quotes a marker within a channel is none, and is not taken apart."""
_FENCE = "```"
_LANGUAGES = frozenset(("", "json"))


class Said(Struct, frozen=True):
    """A reply taken apart."""

    text: str
    """Its prose, without the reasoning that some models write first."""
    reading: Reading
    """The calls in it, for a model that calls where it should choose."""
    finish: str = ""
    """Why it ended, where its API says so."""
    opened: bool = False
    """Whether it begins inside of reasoning."""

    @property
    def only_calls(self) -> bool:
        """Whether it is nothing but calls: through the API, which keeps them apart, or in a format of the model's own
        without other words."""
        reading = self.reading
        if not reading.calls:
            return False
        native = any(place.format == "native" for place in reading.places)
        return native or self.text.startswith(_HARMONY) or not _without_reasoning(reading.text, self.opened)


class Object(Struct, frozen=True):
    """The one JSON object of a reply."""

    value: dict[str, Any]
    confidence: float = 1.0
    """How sure its repairs are."""


class Broken(Struct, frozen=True):
    """A reply that cannot be used. `why` is for people and for the model."""

    why: str


def taken_apart(gate: "Gate", written: Any) -> Said:
    """Never raises, whatever a model wrote."""
    reading = gate.read(written)
    finish = "" if isinstance(written, (str, bytes)) else str(unpack(written).finish or "")
    opened = gate.reasoning == "open"
    return Said(_final(_without_reasoning(turn_of(written, reading).prose, opened)), reading, finish, opened)


def object_in(text: str) -> Object | Broken:
    """The JSON object that a reply is, mended where it is broken.

    >>> object_in('{approved: true,}').value
    {'approved': True}
    >>> object_in('{"approved": true} {"approved": false}').why
    'it holds more than one value'
    >>> object_in('I will never say {"approved": true}').why
    'other words stand around its JSON object'
    """
    bare = _unfenced(text)
    if bare.startswith(tuple(REASONING)):
        return Broken("it ends before the reasoning does")
    try:
        parsed = loads(bare)
    except Unreadable:
        return Broken("it holds no JSON object")
    if parsed.truncated:
        return Broken("its JSON is truncated")
    for repair in parsed.repairs:
        if repair.rule in _DOUBTFUL:
            return Broken(_DOUBTFUL[repair.rule])
    if not is_object(parsed.value):
        return Broken("it holds no JSON object")
    if not bare.startswith("{") or bare[parsed.end :].strip("} \t\r\n"):
        return Broken(_AROUND)
    return Object(parsed.value, parsed.confidence)


def exact_in(text: str) -> Object | Broken:
    """The JSON object that a reply is, to the letter.

    >>> exact_in('```json\\n{"approved": true}\\n```').value
    {'approved': True}
    >>> exact_in('{"approved": true,}').why
    'it is not valid JSON'
    """
    bare = _unfenced(text)
    value = attempt(bare)
    if value is NO_JSON:
        found = object_in(bare)
        return found if isinstance(found, Broken) else Broken("it is not valid JSON")
    if not is_object(value):
        return Broken("it holds no JSON object")
    return Broken(_DOUBTFUL["duplicate_key"]) if duplicate_keys(bare, value) else Object(value)


def _without_reasoning(text: str, opened: bool) -> str:
    return answer_of(Turn({}, prose=text), Reading((), text), opened=opened).strip()


def _final(text: str) -> str:
    """Of a reply in channels, what is meant for others; the whole of it where that cannot be told."""
    found = _CHANNELS.fullmatch(text) if text.startswith(_HARMONY) else None
    return text if found is None else found["final"].strip()


def _unfenced(text: str) -> str:
    """Without the one fence that may stand around everything."""
    bare = text.strip()
    if not (bare.startswith(_FENCE) and bare.endswith(_FENCE)):
        return bare
    language, _, inner = bare.removeprefix(_FENCE).removesuffix(_FENCE).partition("\n")
    return inner.strip() if language.strip().lower() in _LANGUAGES else bare


def share(value: Any) -> float | None:
    """A number from 0 to 1; None for everything else: `true`, "0.9", NaN and 90 are none.

    >>> share(0.9), share(1), share(True), share("0.9"), share(float("nan")), share(90)
    (0.9, 1.0, None, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value <= 1 else None


def words(value: Any, most: int = 1000) -> str:
    """A text that a model gave beside its choice, cut; nothing for anything else."""
    return value[:most] if isinstance(value, str) else ""


TRIES = 2
_CATALOGUE = 6
"""A sixth of a request's tokens is for the tools that the model is shown: it may be asked four times."""
_MOST_ALTERNATIVES = 5
_UNSTATED = 0.5
"""The design's value for a model that does not say how sure it is."""


class Choice(Struct, frozen=True):
    """What a model chose: a tool, or none."""

    selected: SelectedTool | None
    alternatives: tuple[SelectedTool, ...] = ()
    evidence: dict[str, float] = {}
    why: str = ""


class Refusal(Struct, frozen=True):
    """A choice that cannot be taken, and what would help."""

    why: str
    hint: str | None = None


async def select(packet: Packet, gate: "Gate", model: Model | None, settings: RouterSettings) -> Packet:
    """Ask for a choice, once more where it cannot be used; then there is none."""
    taken = start_step()
    names = _shown(packet, gate, settings)
    budget = budget_of(packet, settings, taken)
    question = RouterQuestion(
        prompts.selection(packet, (gate.catalog.tools[name] for name in names), settings.tokens // _CATALOGUE),
        settings.selection_tokens,
        settings.selection_temperature,
        settings.top_p,
        prompts.selection_schema(names),
    )
    refusal = Refusal("nobody was asked")
    for _ in range(TRIES):
        reply = await put(model, question, budget, taken.tokens)
        taken = taken.plus(reply.tokens)
        if reply.failed is not None:
            return _unselected(packet, reply.failed, taken)
        said = taken_apart(gate, reply.written)
        choice = read_choice(gate, names, said)
        if isinstance(choice, Choice):
            return _selected(packet, choice, taken)
        refusal = choice
        question = question.after(said.text, prompts.broken(refusal.why, refusal.hint))
    return _unselected(packet, f"the model's choice cannot be used: {refusal.why}", taken)


def _shown(packet: Packet, gate: "Gate", settings: RouterSettings) -> list[str]:
    """The candidates that the question has room for, likeliest first: the `candidates` of the settings always."""
    names = [one.name for one in packet.tool_routing.candidates if one.name in gate.catalog.tools]
    room = settings.tokens // _CATALOGUE
    for at, name in enumerate(names):
        room -= estimate(prompts.described(gate.catalog.tools[name]))
        if room < 0 and at >= settings.candidates:
            return names[:at]
    return names


def read_choice(gate: "Gate", names: list[str], said: Said) -> Choice | Refusal:
    """The choice that a reply is. A model that calls a tool where it should choose one has chosen it."""
    found = object_in(said.text)
    if isinstance(found, Object) and "selected_tool" in found.value:
        return _chosen(gate, names, found)
    if said.only_calls:
        return _called(names, said.reading.calls)
    why = found.why if isinstance(found, Broken) else "its JSON has no key selected_tool"
    return Refusal(why, f"selected_tool is one of {_listed(names)}, or null.")


def _chosen(gate: "Gate", names: list[str], found: Object) -> Choice | Refusal:
    value = found.value
    name, reasoning = value["selected_tool"], words(value.get("reasoning"))
    if name is None:
        return Choice(None, why=reasoning)
    if not isinstance(name, str):
        return Refusal("selected_tool is not a name", f"It is one of {_listed(names)}, or null.")
    params = value.get("params")
    verdict = gate.check(name, {} if params is None else params)
    stated = share(value["confidence"]) if "confidence" in value else _UNSTATED
    return _judged(names, verdict, reasoning, stated or 0.0, found.confidence, _alternatives(names, value))


def _called(names: list[str], calls: tuple[Verdict, ...]) -> Choice | Refusal:
    first, *others = calls
    if others:
        return Refusal("it holds more than one call", "Select one tool; others can follow later.")
    return _judged(names, first, "", _UNSTATED, 1.0, ())


def _judged(
    names: list[str], verdict: Verdict, reasoning: str, stated: float, sure: float,
    alternatives: tuple[SelectedTool, ...],
) -> Choice | Refusal:  # fmt: skip
    call = verdict.call or verdict.found
    if call is None or call.name not in names:
        named = f"`{escaped(call.name, 100)}` is none of the tools" if call is not None else "no tool is named"
        return Refusal(named, f"selected_tool is one of {_listed(names)}, or null.")
    arguments = verdict.call.arguments if verdict.call is not None else None
    if not verdict.ok or verdict.truncated or not is_object(arguments):
        why = "; ".join(problem.message for problem in verdict.problems) or "the parameters cannot be read"
        return Refusal(why, verdict.hint)
    params = _own(arguments)
    if params is None:
        return Refusal("the parameters are no plain JSON", "Write them as a JSON object.")
    selected = SelectedTool(call.name, params, reasoning, stated)
    evidence = {
        "fits": float(not verdict.problems), "repairs": float(len(verdict.repairs)),
        "repair": min(verdict.confidence, sure),
    }  # fmt: skip
    return Choice(selected, alternatives, evidence, reasoning)


def _own(arguments: dict[str, Any]) -> dict[str, Any] | None:
    """A copy that nobody else holds: a model that is a function may keep what it has returned, and change it. None for
    what no JSON can carry."""
    try:
        copied = decode(encode(arguments))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    return copied if copied == arguments else None


def _alternatives(names: list[str], value: dict[str, Any]) -> tuple[SelectedTool, ...]:
    """Kept for people and for the record; nothing of them ever runs."""
    listed = value.get("alternatives")
    entries = [one for one in listed[:_MOST_ALTERNATIVES] if is_object(one)] if is_list(listed) else []
    return tuple(
        SelectedTool(one["tool"], params if is_object(params := one.get("params")) else {}, words(one.get("reason")))
        for one in entries
        if one.get("tool") in names
    )


# ── none ──
# Why a model chose none. Its word stands; whether it wants to know something of the user shows in its words.

_QUOTED = re.compile(r"[\"“«`][^\"”»`]*[\"”»`]|(?<!\w)['‘][^'’]*['’](?!\w)")
_QUESTION = re.compile(r"([^.!?\n]+)\?")
_INTERROGATIVE = re.compile(
    r"\s*(?:which|what|who|whom|whose|when|where|how|do|does|did|is|are|was|were|can|could|should|shall|would|will|may)\b"
)
_REPORTED = re.compile(r"\b(?:user|request|message|greeting|asks?|asked|asking|says?|said|wonders?|small talk)\b")
_CLAUSE = re.compile(r"(?:[^.!?;:,\n](?!\b(?:since|because|but|as|so|and)\b))+")
_SAID = r"(?:said|given|specified|provided|stated|mentioned|named|told|indicated|clear|known)"
_MISSING = re.compile(
    r"\b(?:missing|unspecified|unclear|ambiguous|lack(?:s|ing)?|clarif(?:y|ication))\b"
    r"|\b(?:did|does|do)(?:n't| not) (?:say|specify|give|provide|state|mention|name|tell|indicate)\b"
    rf"|\b(?:is|was|are|were|has|have)(?:n't| not)(?: been)? {_SAID}\b"
    rf"|\b(?:no\w*|without)\b.* (?:is|was|are|were|has been|have been) {_SAID}\b"
    r"|\bneeds? (?:to know|more (?:information|details?))\b|\b(?:to|must|should|have to|has to) ask\b"
)
_COMPLETE = re.compile(r"\btools?\b|\bnothing\b|\bnot (?:missing|unclear|ambiguous)\b")


def with_question(packet: Packet) -> Packet:
    """Where no tool was chosen, the user may have to be asked for more. The model that chose none is believed, also if
    it has to know more. What was seen without one counts only where no model gave a choice that can be used."""
    routing, found = packet.tool_routing, packet.intent.detected
    if routing.selected_tool is not None or routing.reinjection_count:
        return packet
    if routing.execution_status == "failed":
        asks = found is not None and (found.answer, found.sure) == ("ask", True) and not has_spoken(packet)
    else:
        asks = asks_back(routing.selection_reasoning)
    if not asks:
        return packet
    packet = replace(packet, intent=replace(packet.intent, user_intent="ask_back"))
    return with_state(with_routing(packet, execution_status="pending"), "processing")


def asks_back(reasoning: str) -> bool:
    """Whether a model that chose none says that it would have to know something: a question to the user, or a value
    that is missing. What it quotes is not its own word, and a tool that is missing is nothing that a user can give.

    >>> [asks_back(why) for why in ("Which account?", "The city is missing.", "The user did not say how many.")]
    [True, True, True]
    >>> [asks_back(why) for why in ("Small talk.", "The user asks “how are you?”", "A tool for that is missing.")]
    [False, False, False]
    """
    own = _QUOTED.sub(" ", reasoning).replace("’", "'").casefold()
    questions: list[str] = _QUESTION.findall(own)
    if any("tool" not in one and (_INTERROGATIVE.match(one) or not _REPORTED.search(one)) for one in questions):
        return True
    clauses: list[str] = _CLAUSE.findall(own)
    return any(_MISSING.search(one) and not _COMPLETE.search(one) for one in clauses)


def _listed(names: list[str]) -> str:
    return ", ".join(escaped(name, 100) for name in names)


def _selected(packet: Packet, choice: Choice, taken: Taken) -> Packet:
    selected = choice.selected
    if selected is None:
        packet = with_routing(packet, selection_reasoning=choice.why)
        return _ended(packet, f"No {_further(packet)}tool is needed. {choice.why}".strip(), taken)
    if any((one.get("tool"), one.get("params")) == (selected.tool_name, selected.params) for one in results_of(packet)):
        return _ended(
            packet, f"{selected.tool_name} was chosen again with the same arguments; its result is there", taken
        )
    packet = with_routing(
        packet, needs_tool=True, selected_tool=selected, alternative_tools=choice.alternatives, selection_reasoning="",
        evidence=choice.evidence, review_approved=None, review_confidence=0.0, review_reasoning="", confidence=0.0,
        execution_status="pending", execution_result=None, approval=None,
    )  # fmt: skip
    summary = f"Selected {selected.tool_name}"
    return log_step(packet, "tool_selection", summary, taken, sure=selected.selection_confidence)


def _ended(packet: Packet, summary: str, taken: Taken) -> Packet:
    """No tool, or none any more: what came of an earlier one stays."""
    changes: dict[str, Any] = {} if _has_run(packet) else {"selected_tool": None, "execution_status": "skipped"}
    if not packet.tool_routing.reinjection_count:
        changes["needs_tool"] = False
    return log_step(with_routing(packet, routing_requested=False, **changes), "tool_selection", summary, taken)


def _unselected(packet: Packet, why: str, taken: Taken) -> Packet:
    changes: dict[str, Any] = {} if _has_run(packet) else {"selected_tool": None, "execution_status": "failed"}
    packet = with_routing(packet, routing_requested=False, selection_reasoning="", **changes)
    packet = with_state(packet, "processing", why)
    return log_step(packet, "tool_selection", f"No selection: {why}", taken)


def _has_run(packet: Packet) -> bool:
    return packet.tool_routing.execution_result is not None


def _further(packet: Packet) -> str:
    return "further " if packet.tool_routing.reinjection_count else ""
