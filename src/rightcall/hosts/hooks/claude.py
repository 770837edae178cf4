"""Claude Code's hooks: PreToolUse, PostToolUse, PostToolUseFailure, Stop and SessionEnd, as its command line has them.

Input that was put right goes in without a decision, so that the host's own permissions still decide on it. Saying
nothing leaves a call to them as well.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rightcall.hosts.hooks.events import Happened, answer_of, field, label, text_of, tool_and_space

if TYPE_CHECKING:
    from rightcall.executor.passage import Passage

HOST = "claude-code"
_BY_A_PERSON = ("approval:given", "approval:grant")


def happened(event: dict[str, Any], servers: Iterable[str] = ()) -> Happened:
    """Raises WrongEvent."""
    name = field(event, "hook_event_name", str)
    context = label(event.get("session_id"))
    if name == "SessionEnd" or (name == "Stop" and not event.get("background_tasks")):
        return Happened("over", context=context)
    if name not in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
        return Happened("other")
    called = field(event, "tool_name", str)
    tool, space = tool_and_space(called, servers)
    step = label(event.get("tool_use_id")) or ""
    if name == "PreToolUse":
        return Happened("before", tool, event.get("tool_input"), space, context, step, called=called)
    took = event.get("duration_ms")
    return Happened(
        "after", tool, event.get("tool_input"), space, context, step,
        ok=name == "PostToolUse", error=None if name == "PostToolUse" else text_of(event.get("error")) or None,
        summary=text_of(event.get("tool_response")), seconds=took / 1000 if isinstance(took, (int, float)) else None,
        answer=answer_of(event.get("tool_response" if name == "PostToolUse" else "error")),
    )  # fmt: skip


def said_before(passage: "Passage", can_ask: bool = True, *, vouched: bool = True) -> dict[str, Any] | None:
    """What the host is told of a call that it is about to make; None for nothing. `vouched`: the policy is the user's
    own word, so that what it has from a person takes the place of the host's question."""
    del can_ask  # it denies by itself where nobody is there
    told: dict[str, Any] = {}
    if passage.action == "deny":
        return _output(permissionDecision="deny", permissionDecisionReason=passage.message)
    if passage.action == "ask":
        told = {"permissionDecision": "ask", "permissionDecisionReason": f"{passage.why}{_elsewhere(passage)}"}
    elif passage.decision.rule in _BY_A_PERSON and vouched and not passage.observed:
        told = {"permissionDecision": "allow", "permissionDecisionReason": "A person has approved this call."}
    if passage.changed:
        told["updatedInput"] = passage.arguments
    if passage.action == "allow" and passage.message:
        told["additionalContext"] = passage.message
    return _output(**told) if told else None


def _elsewhere(passage: "Passage") -> str:
    """Without a terminal the host asks nobody and denies: the model reads then how a person can still say yes."""
    about = passage.approval
    if not about:
        return ""
    return f" Without a prompt: `rightcall approvals approve {about}{passage.desk}`, then the same call again."


def denied(reason: str) -> dict[str, Any]:
    return _output(permissionDecision="deny", permissionDecisionReason=reason)


def _output(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}
