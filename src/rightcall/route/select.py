"""Which tool, with which arguments: a light model chooses among the candidates at a low temperature (T-04).

reply ─▶ the JSON it was asked for, or a call in the model's own format ─▶ gate ─▶ Choice
                                                                           └─ Broken: asked once more, with the hint
"""

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.json import decode, encode

from rightcall.config_router import RouterSettings
from rightcall.loop_asking import Model
from rightcall.parse.kinds import is_list, is_object
from rightcall.route import prompts
from rightcall.route.asking import RouterQuestion, put
from rightcall.route.budget import budget_of
from rightcall.route.replies import Broken, Object, Said, object_in, share, taken_apart, words
from rightcall.route.story import Taken, logged, results_of, routed, standing, starting
from rightcall.route.types import Packet, SelectedTool
from rightcall.text.escape import escaped
from rightcall.types import Verdict

if TYPE_CHECKING:
    from rightcall.gate import Gate

TRIES = 2
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
    taken = starting()
    names = [one.name for one in packet.tool_routing.candidates if one.name in gate.catalog.tools]
    budget = budget_of(packet, settings, taken)
    question = RouterQuestion(
        prompts.selection(packet, (gate.catalog.tools[name] for name in names)),
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
        return Refusal("selected_tool is no name", f"It is one of {_listed(names)}, or null.")
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


def _listed(names: list[str]) -> str:
    return ", ".join(escaped(name, 100) for name in names)


def _selected(packet: Packet, choice: Choice, taken: Taken) -> Packet:
    selected = choice.selected
    if selected is None:
        return _ended(packet, f"No {_further(packet)}tool is needed. {choice.why}".strip(), taken)
    if any((one.get("tool"), one.get("params")) == (selected.tool_name, selected.params) for one in results_of(packet)):
        return _ended(packet, f"{selected.tool_name} was chosen again for the very same; its result is there", taken)
    packet = routed(
        packet, needs_tool=True, selected_tool=selected, alternative_tools=choice.alternatives,
        evidence=choice.evidence, review_approved=None, review_confidence=0.0, review_reasoning="", confidence=0.0,
        execution_status="pending", execution_result=None, approval=None,
    )  # fmt: skip
    summary = f"Selected {selected.tool_name}"
    return logged(packet, "tool_selection", summary, taken, sure=selected.selection_confidence)


def _ended(packet: Packet, summary: str, taken: Taken) -> Packet:
    """No tool, or none any more: what came of an earlier one stays."""
    changes: dict[str, Any] = {} if _has_run(packet) else {"selected_tool": None, "execution_status": "skipped"}
    if not packet.tool_routing.reinjection_count:
        changes["needs_tool"] = False
    return logged(routed(packet, routing_requested=False, **changes), "tool_selection", summary, taken)


def _unselected(packet: Packet, why: str, taken: Taken) -> Packet:
    changes: dict[str, Any] = {} if _has_run(packet) else {"selected_tool": None, "execution_status": "failed"}
    packet = standing(routed(packet, routing_requested=False, **changes), "processing", why)
    return logged(packet, "tool_selection", f"No selection: {why}", taken)


def _has_run(packet: Packet) -> bool:
    return packet.tool_routing.execution_result is not None


def _further(packet: Packet) -> str:
    return "further " if packet.tool_routing.reinjection_count else ""
