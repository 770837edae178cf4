"""What a call comes to, as whoever made it is told: an outcome with the text for the model.

refused    it did not run, or waits for a person
ran        it ran, whatever came of it
"""

from collections.abc import Mapping

from msgspec.structs import replace

from rightcall.executor.calls import Written, as_written, stubborn_hint
from rightcall.executor.messages import Content, Outcome, error_content, mark_as_data, short
from rightcall.executor.toolbox import Equipped
from rightcall.policy.decide import may_use
from rightcall.policy.effects import line_to_add
from rightcall.policy.settings import Rights
from rightcall.policy.types import Decision, Metadata, Result
from rightcall.record.admission import Admission
from rightcall.types import Call, Verdict


def refused(
    written: Written, admission: Admission, found: Equipped | None, rights: Rights, stages: Mapping[str, float]
) -> Outcome:
    """A call that did not run, or that waits for a person. A name that it was mapped to is only told to a caller who
    may know of that tool."""
    decision, verdict = admission.decision, written.verdict
    waiting = decision.kind == "ask"
    hint = _waiting_hint(decision) if waiting else stubborn_hint(admission, decision.hint)
    known = found is not None and may_use(rights, found.tool.name, own=found.own, effects=found.tool.effects)
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
        to_allow="" if found is None else _to_allow(decision, found),
    )


def _to_allow(decision: Decision, found: Equipped) -> str:
    line = line_to_add(decision.rule, found.tool.name, found.tool.effects)
    if decision.rule == "allowlist" and found.local is not None and not found.tool.effects_declared:
        line = f'declare what it does, such as effects=["read"], or {line}'
    if decision.kind != "ask":
        return line
    return "; ".join(part for part in (f"run `rightcall approvals approve {decision.approval}`", line) if part)


def _waiting_hint(decision: Decision) -> str:
    return f"Approval {decision.approval} is pending. Do not retry yet. After approval, send the identical call."


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


def asked_in_vain(outcome: Outcome, trouble: str) -> Outcome:
    """A call that still waits, because the host's own way of asking failed."""
    error = f"{outcome.error}. {trouble}" if outcome.error else trouble
    return replace(outcome, error=error, content=error_content(error, outcome.hint))
