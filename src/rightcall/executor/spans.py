"""What a span tells of a call: what was repaired, what was decided and by which rule, who was asked, how it ended.

    execute_tool NAME
      rightcall.judge        checked, repaired, decided
      rightcall.approval     waited for a person, where one had to be asked

The same words everywhere, whoever runs the call: an executor tells an outcome, a door a passage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rightcall.base.telemetry.conventions import (
    APPROVAL,
    ARGUMENTS,
    DENIED,
    JUDGE,
    METHOD,
    RESULT,
    TOOL_ERROR,
    Value,
    repairs_told,
)

if TYPE_CHECKING:
    from rightcall.base.secrets import Redactor
    from rightcall.base.telemetry.spans import Span
    from rightcall.executor.messages import Outcome
    from rightcall.executor.passage import Passage
    from rightcall.executor.toolbox import Equipped
    from rightcall.policy.types import Decision

_MILLISECOND: Final = 1e6


def decision_told(decision: Decision | None, call: int = 0) -> dict[str, Value]:
    """What was decided, by which rule, on which approval; `call` is the number of its record."""
    if decision is None:
        return {}
    told: dict[str, Value] = {"rightcall.decision": decision.kind, "rightcall.rule": decision.rule}
    if decision.approval is not None:
        told["rightcall.approval.id"] = decision.approval
    if call:
        told["rightcall.record"] = call
    return told


def tell_judgement(span: Span, outcome: Outcome, since: int, now: int) -> None:
    """An executor has checked and decided; what it did after that, until now, is the rest of the call."""
    if not span.is_live:
        return
    stage = outcome.metadata.stages.get
    after = stage("execute", 0.0) + stage("record", 0.0) + stage("present", 0.0)
    told = repairs_told(outcome.repairs) | decision_told(outcome.decision, outcome.metadata.call)
    span.child(JUDGE, since, told, now - round(after * _MILLISECOND))
    span.tell(told)


def tell_waiting(span: Span, approval: str, answered: str, since: int, until: int) -> None:
    """A call has waited for a person."""
    if not span.is_live:
        return
    told: dict[str, Value] = {
        "rightcall.approval.id": approval, "rightcall.approval.answer": answered,
        "rightcall.approval.waited": round((until - since) / 1e9, 3),
    }  # fmt: skip
    span.child(APPROVAL, since, told, until)
    span.tell(told)


def tell_outcome(span: Span, outcome: Outcome, found: Equipped | None, redactor: Redactor | None) -> None:
    """How a call ended that runs here."""
    if found is not None and found.behind is not None:  # this span stands for the server's, too
        span.tell({METHOD: "tools/call", "rightcall.server": found.behind[0]})
    if outcome.status == "refused":
        span.fail(DENIED)
    elif outcome.status == "failed":
        span.fail(TOOL_ERROR)
    if span.wants_content and outcome.call is not None:
        span.tell_content(ARGUMENTS, outcome.call.arguments, redactor)
        if outcome.ok:
            span.tell_content(RESULT, outcome.result, redactor, outcome.call.arguments)


def tell_passage(span: Span, passage: Passage, since: int, redactor: Redactor | None) -> None:
    """A door has judged a call that somebody else runs."""
    if not span.is_live:
        return
    told = decision_told(passage.decision, passage.call)
    if passage.verdict.repairs or span.is_recorded:
        told |= repairs_told(passage.verdict.repairs)
    span.tell(told)
    if span.is_recorded:
        span.child(JUDGE, since, told)
        arguments: Any = passage.arguments
        span.tell_content(ARGUMENTS, arguments, redactor)
