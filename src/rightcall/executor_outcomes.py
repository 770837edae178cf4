"""What a model and its host are told of a call: objections before it was judged, refusals, questions, results."""

from collections.abc import Mapping

from msgspec.structs import replace

from rightcall.authorise.allowlist import denial, may_use, not_whitelisted
from rightcall.config_settings import Rights
from rightcall.executor_calls import Written
from rightcall.executor_hints import as_written, discreet, forbidden_inside, without_names
from rightcall.executor_request import REHEARSED
from rightcall.executor_toolbox import Equipped, Toolbox
from rightcall.present.marks import mark_as_data
from rightcall.present.messages import Content, Outcome, error_content
from rightcall.present.summary import short
from rightcall.record.admission import Admission
from rightcall.text.escape import escaped
from rightcall.types import Call, Verdict
from rightcall.types_running import Decision, Metadata, Result
from rightcall.validate import hint, unknown_tool_hint

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
        return Decision("deny", "unavailable", f"Tool '{escaped(name, 100)}' is known, but nothing here can run it")
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
    names = [one.tool.name for one in toolbox.usable(rights)]
    near = [one for one in toolbox.gate.catalog.find(name).suggestions if one in names]
    reason = f"Validation failed: There is no tool `{escaped(name, 100)}`"
    return Decision("deny", "unknown_tool", reason, unknown_tool_hint(name, near, names))


def _invalid(written: Written, found: Equipped, toolbox: Toolbox, rights: Rights) -> Decision:
    other = found.tool.rules.replaced_by
    usable = {one.tool.name for one in toolbox.usable(rights)}
    if other is not None and other not in usable:
        return Decision("deny", "deprecated", f"Tool '{escaped(found.tool.name, 100)}' is no longer there")
    verdict = discreet(written.verdict, found, toolbox, rights)
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
    return (
        f"It waits for an answer as approval {decision.approval}. Make exactly the same call again once it is approved."
    )


def stubborn_hint(admission: Admission, hint: str | None) -> str | None:
    """The hint, and beside it what came of the same call before; one that is made again and again is told so."""
    if admission.earlier:  # the rest of it are a tool's own words, which are no hint
        hint = f"{hint or ''} It gave: {admission.earlier.partition(': ')[0]}.".strip()
    if admission.refusals < STUBBORN or admission.decision.rule == "quarantine":
        return hint
    times = f"This very call was refused {admission.refusals} times"
    stubborn = f"{times}. Making it again will not help: change it, or do without."
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
    error = "Nobody has answered in time, so the answer is no"
    hint = "Making the same call again asks again."
    return replace(outcome, status="refused", error=error, hint=hint, content=error_content(error, hint))
