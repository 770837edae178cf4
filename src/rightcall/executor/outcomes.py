"""What a model and its host are told of a call: objections before it was judged, refusals, questions, results."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from msgspec.structs import replace

from rightcall.base.text import escaped
from rightcall.executor.calls import Written
from rightcall.executor.present.messages import Content, Outcome, error_content, mark_as_data, short
from rightcall.executor.request import REHEARSED
from rightcall.executor.toolbox import Equipped, Inner, Toolbox, inner_calls, names_of
from rightcall.gate.examples import hint, unknown_tool_hint
from rightcall.policy.decide import denial, may_use, not_whitelisted
from rightcall.policy.settings import Rights
from rightcall.policy.types import Decision, Metadata, Result
from rightcall.record.admission import Admission
from rightcall.types import Batch, Call, Problem, Repair, Verdict

# ── hints ──
# What may be said of a call to the caller that made it: nothing of tools that it may not use, neither their names nor
# their arguments (V-09). A tool is called by the name that the model wrote.

_UNTOLD = Problem(
    "inner_call", "", "A call inside the batch is invalid: each must name exactly one tool, with an object as arguments"
)  # fmt: skip
_NAMING = {
    "; use `{}`": "", " to another tool, `{}`": " to another tool", "The {} call could": "The call could",
}  # fmt: skip
"""The words in which the gate names tools, and the same without."""


def as_written(written: Written, tool: str) -> str:
    """The name that a model wrote for a tool."""
    found = written.verdict.found
    return spelled(written.verdict.repairs, found.name if found is not None else tool)


def spelled(repairs: Iterable[Repair], tool: str) -> str:
    """The name that became this one, by the repairs that were made."""
    before = {one.after: one.before for one in repairs if one.rule.startswith("tool_")}
    for _ in range(len(before)):
        tool = before.get(tool, tool)
    return tool


def forbidden_inside(verdict: Verdict, found: Equipped, toolbox: Toolbox, rights: Rights) -> Decision | None:
    """The refusal of a batch that holds a call of a tool that the caller may not use."""
    for inner in _inside(verdict, found.tool.rules.batch, toolbox):
        for written in inner.names:
            for name in names_of(toolbox, written):
                if not may_use(rights, name):
                    rule = denial(rights, name) or "allowlist"
                    return Decision("deny", rule, not_whitelisted(spelled(verdict.repairs, written)))
    return None


def hide_tools(verdict: Verdict, found: Equipped, toolbox: Toolbox, rights: Rights) -> Verdict:
    """The same verdict without a word of tools that the caller may not use."""
    if not verdict.problems:
        return verdict
    usable = {one.tool.name for one in toolbox.usable(rights)}
    other = found.tool.rules.replaced_by
    if other is not None and other not in usable:
        return replace(verdict, problems=(), hint=None)
    hidden = [name for name in toolbox.tools if name not in usable]
    problems = tuple(replace(one, message=without_names(one.message, hidden)) for one in verdict.problems)
    if not all(inner.told for inner in _inside(verdict, found.tool.rules.batch, toolbox)):
        problems = (*(one for one in problems if one.code != "inner_call"), _UNTOLD)
    return (
        verdict
        if problems == verdict.problems
        else replace(verdict, problems=problems, hint=hint(found.tool, problems))
    )


def without_names(message: str, hidden: list[str]) -> str:
    """A problem of the gate's without the place where it names a tool that the model did not."""
    for name in hidden:
        for named, nameless in _NAMING.items():
            message = message.replace(named.format(name), nameless)
    return message


def _inside(verdict: Verdict, batch: Batch | None, toolbox: Toolbox) -> list[Inner]:
    call = verdict.call or verdict.found
    arguments: Any = None if call is None else call.arguments
    if batch is None or not isinstance(arguments, dict):
        return []
    return list(inner_calls(toolbox, batch, cast("dict[str, Any]", arguments)))


_COMES_BACK = "It restarts by itself. Resend the identical call later, or continue without this tool."
STUBBORN = 3
"""Refusals of the same call from which on the hint changes."""


def equipped(written: Written, toolbox: Toolbox) -> Equipped | None:
    """The tool that a call is for, None when there is none."""
    call = written.verdict.call
    known = toolbox.tools.get(call.name if call is not None else written.name)
    if known is None:
        match = toolbox.gate.catalog.find(written.name)
        known = toolbox.tools.get(match.tool.name) if match.tool is not None else None
    return known


def objection(written: Written, found: Equipped | None, toolbox: Toolbox, rights: Rights) -> Decision | None:
    """Why a call cannot even be judged. What the caller may not use comes first, so that no hint tells of it."""
    verdict = written.verdict
    if found is None and not written.name and verdict.problems:
        return _unread(verdict, toolbox, rights)
    if found is None:
        return _unknown(written.name, toolbox, rights)
    name = found.tool.name
    if not may_use(rights, name, own=found.own):
        return Decision("deny", denial(rights, name) or "allowlist", not_whitelisted(as_written(written, name)))
    inside = forbidden_inside(verdict, found, toolbox, rights)
    if inside is not None:
        return inside
    if not verdict.ok or verdict.call is None or type(verdict.call.arguments) is not dict:
        return _invalid(written, found, toolbox, rights)
    if found.local is None:
        return Decision("deny", "unavailable", f"Tool '{escaped(name, 100)}' is unavailable here. Use another tool")
    if found.local.absent and not (rights.dry_run and REHEARSED & found.tool.effects):
        return Decision("deny", "unavailable", found.local.absent)
    return None


def _unread(verdict: Verdict, toolbox: Toolbox, rights: Rights) -> Decision:
    """Markup of a call that holds none: made up, cut off, or damaged beyond reading."""
    problem = verdict.problems[0]
    hidden = [name for name, one in toolbox.tools.items() if not may_use(rights, name, own=one.own)]
    reason = f"Validation failed: {without_names(problem.message, hidden)}"
    if problem.code != "unknown_tool":
        return Decision("deny", "validation", reason)  # which says all that the hint would
    names = ", ".join(escaped(one.tool.name, 100) for one in toolbox.usable(rights)) or "none"
    return Decision("deny", "unknown_tool", reason, f"Tools: {names}")


def _unknown(name: str, toolbox: Toolbox, rights: Rights) -> Decision:
    missing = "" if toolbox.servers is None else toolbox.servers.missing(name)
    if missing:
        return Decision("deny", "unavailable", f"Tool '{escaped(name, 100)}' is not here: {missing}", _COMES_BACK)
    names = [one.tool.name for one in toolbox.usable(rights)]
    near = [one for one in toolbox.gate.catalog.find(name).suggestions if one in names]
    reason = f"Validation failed: Unknown tool `{escaped(name, 100)}`"
    return Decision("deny", "unknown_tool", reason, unknown_tool_hint(name, near, names))


def _invalid(written: Written, found: Equipped, toolbox: Toolbox, rights: Rights) -> Decision:
    other = found.tool.rules.replaced_by
    usable = {one.tool.name for one in toolbox.usable(rights)}
    if other is not None and other not in usable:
        return Decision("deny", "deprecated", f"Tool '{escaped(found.tool.name, 100)}' is no longer there")
    verdict = hide_tools(written.verdict, found, toolbox, rights)
    told = verdict.hint
    called = as_written(written, found.tool.name)
    if told and called in found.tool.rules.names:
        told = hint(replace(found.tool, name=called), verdict.problems)
    problems = "; ".join(problem.message for problem in verdict.problems) or "the arguments cannot be read"
    return Decision("deny", "validation", f"Validation failed: {problems}", told)


def refused(
    written: Written, admission: Admission, found: Equipped | None, rights: Rights, stages: Mapping[str, float]
) -> Outcome:
    """A call that did not run, or that waits for a person. A name that it was mapped to is only told to a caller who
    may know of that tool."""
    decision, verdict = admission.decision, written.verdict
    waiting = decision.kind == "ask"
    hint = _waiting_hint(decision) if waiting else stubborn_hint(admission, decision.hint)
    known = found is not None and may_use(rights, found.tool.name, own=found.own)
    name = found.tool.name if found is not None and known else as_written(written, written.name)
    content, summary = error_content(decision.reason, hint), admission.earlier.partition(": ")[2]
    return Outcome(
        ok=False,
        tool=name,
        content=f"{content}\n{mark_as_data(name, summary)}" if summary else content,
        error=decision.reason,
        hint=hint,
        decision=decision,
        status="waiting" if waiting else "refused",
        call=verdict.call,
        repairs=verdict.repairs,
        metadata=Metadata(call=admission.call, recorded=admission.call > 0, stages=stages),
    )


def _waiting_hint(decision: Decision) -> str:
    return f"Approval {decision.approval} is pending. Do not retry yet. After approval, send the identical call."


def stubborn_hint(admission: Admission, hint: str | None) -> str | None:
    """The hint, and beside it what came of the same call before; one that is made again and again is told so."""
    if admission.earlier:  # the rest of it are a tool's own words, which are no hint
        hint = f"{hint or ''} It gave: {admission.earlier.partition(': ')[0]}.".strip()
    if admission.refusals < STUBBORN or admission.decision.rule == "quarantine":
        return hint
    times = f"This call was refused {admission.refusals} times"
    stubborn = f"{times}. Do not repeat it. Change the arguments or continue without it."
    return f"{stubborn} {hint}" if hint else stubborn


def ran(
    call: Call, verdict: Verdict, decision: Decision, result: Result, shown: Content, metadata: Metadata,
) -> Outcome:  # fmt: skip
    """A call that ran, whatever came of it."""
    outcome = Outcome(
        ok=result.ok,
        tool=call.name,
        content=shown.text,
        result=result.value,
        error=result.error,
        decision=decision,
        status="success" if result.ok else "failed",
        call=call,
        repairs=verdict.repairs,
        summary=short(shown.summary),
        metadata=metadata,
    )
    if verdict.mode == "warn" and verdict.problems and verdict.hint:
        return replace(outcome, hint=verdict.hint, content=f"{shown.text}\n\n{verdict.hint}")
    return outcome


def nobody_answered(outcome: Outcome) -> Outcome:
    """A call whose question has expired while it waited: nobody to ask means no."""
    error = "Approval timed out. The call did not run"
    hint = "Sending the identical call again asks again."
    return replace(outcome, status="refused", error=error, hint=hint, content=error_content(error, hint))
