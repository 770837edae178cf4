"""What a door says of one call, and the words in which it says it."""

from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from rightcall.executor_outcomes import stubborn_hint
from rightcall.present.messages import error_content
from rightcall.record.admission import Admission
from rightcall.text.escape import escaped
from rightcall.types import Repair, Verdict
from rightcall.types_running import Decision, Request

if TYPE_CHECKING:
    from rightcall.door_judging import Asked

Action = Literal["allow", "deny", "ask"]

_MOST_CORRECTIONS = 5


class Passage(Struct, frozen=True):
    """One call at a door: what the host is to do with it. Where the door only observes it is always let through as it
    was written, and `verdict` and `decision` say what would have been."""

    action: Action
    name: str
    """The tool to run, as its host or server calls it."""
    arguments: Any
    changed: bool
    """Whether name or arguments are others than were written."""
    message: str
    """What the model should read: why not, and what would be right; where it only warns, the warning; else empty."""
    why: str
    """For the person who is asked."""
    verdict: Verdict
    decision: Decision
    observed: bool = False
    request: Request | None = None
    admission: Admission = Admission(Decision("deny", ""), 0)
    desk: str = ""
    """Where a person answers, as options of the command that does it."""

    @property
    def approval(self) -> str | None:
        """The approval it waits for, or that it uses."""
        return self.decision.approval

    @property
    def call(self) -> int:
        """The number of its record, 0 where there is none."""
        return self.admission.call


def passage(
    asked: "Asked", admission: Admission, request: Request | None, *, observed: bool, desk: str | None = ""
) -> Passage:
    """`desk` says where a person answers; None: the text is read on another machine, which is told no command and no
    path of this one."""
    name, arguments, verdict, decision = asked.name, asked.arguments, asked.verdict, admission.decision
    if observed:
        return Passage("allow", name, arguments, False, "", "", verdict, decision, True, request, admission)
    call = verdict.call
    if decision.kind == "allow" and call is not None:
        changed = call.name != name or call.arguments != arguments
        warning = verdict.hint or "" if verdict.mode == "warn" and verdict.problems else ""
        return Passage(
            "allow", call.name, call.arguments, changed, warning, "", verdict, decision, False, request, admission
        )
    if decision.kind == "ask" and call is not None:
        message, why = _waiting(decision, desk), _reason(decision, verdict)
        changed = call.name != name or call.arguments != arguments
        return Passage(
            "ask",
            call.name,
            call.arguments,
            changed,
            message,
            why,
            verdict,
            decision,
            False,
            request,
            admission,
            desk or "",
        )
    return Passage(
        "deny", name, arguments, False, _refusal(verdict, admission), "", verdict, decision, False, request, admission
    )


def dry_run_text(request: Request) -> str:
    """What a model reads of a call that was not run."""
    return f"Dry run: nothing was changed. This call would be made: {escaped(request.canonical.decode(), 2000)}"


def _refusal(verdict: Verdict, admission: Admission) -> str:
    decision = admission.decision
    if decision.kind == "dry_run":
        return decision.reason
    if decision.rule in ("validation", "unknown_tool") and verdict.hint:
        return stubborn_hint(admission, verdict.hint) or verdict.hint
    return error_content(decision.reason, stubborn_hint(admission, decision.hint))


def _waiting(decision: Decision, desk: str | None) -> str:
    """Nothing in it is of the model's own words."""
    waiting = decision.approval
    if desk is None:
        pending = f"Approval {waiting} is pending. Do not retry yet. After approval, send the identical call."
        return error_content(decision.reason, pending)
    return error_content(
        decision.reason,
        f"It waits for an answer as approval {waiting}; a person says yes with "
        f"`rightcall approvals approve {waiting}{desk}`. Make exactly the same call again once it is approved.",
    )


def _reason(decision: Decision, verdict: Verdict) -> str:
    changes = [_correction(repair) for repair in verdict.repairs[:_MOST_CORRECTIONS]]
    corrected = f" RightCall corrected the call: {', '.join(changes)}." if changes else ""
    return f"{decision.reason} ({decision.rule}).{corrected}"


def _correction(repair: Repair) -> str:
    if isinstance(repair.after, str) and repair.before == repair.path.rpartition(".")[2]:
        return f"`{escaped(str(repair.before), 60)}` is `{escaped(repair.after, 60)}`"
    return f"`{escaped(repair.path or 'the call', 60)}` ({repair.rule})"
