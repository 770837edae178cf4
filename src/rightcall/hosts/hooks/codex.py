"""Codex's hooks: PreToolUse, PostToolUse and Stop. Its reader is strict: an unknown key makes the whole output void.

It takes changed input only beside `allow`, and `allow` only beside changed input; either way its own approval policy
still holds. It cannot ask, so that a call which needs a person is denied with the approval's id.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rightcall.hosts.hooks.events import Happened, answer_of, field, inside, label, text_of, tool_and_space

if TYPE_CHECKING:
    from rightcall.executor.passage import Passage

HOST = "codex"
_SILENT = "The call was refused."
"""It takes no denial without a reason."""


def happened(event: dict[str, Any], servers: Iterable[str] = ()) -> Happened:
    """Raises WrongEvent."""
    name = field(event, "hook_event_name", str)
    context = label(event.get("session_id"))
    if name in ("Stop", "SessionEnd"):
        return Happened("over", context=context)
    if name not in ("PreToolUse", "PostToolUse"):
        return Happened("other")
    called = field(event, "tool_name", str)
    tool, space = tool_and_space(called, servers)
    step = label(event.get("tool_use_id")) or ""
    if name == "PreToolUse":
        return Happened("before", tool, event.get("tool_input"), space, context, step, called=called)
    given: Any = event.get("tool_response")
    failed = bool(inside(given, "isError"))
    return Happened(
        "after", tool, event.get("tool_input"), space, context, step,
        ok=not failed, error=text_of(given) or None if failed else None, summary=text_of(given),
        answer=answer_of(given),
    )  # fmt: skip


def said_before(passage: "Passage", can_ask: bool = True, *, vouched: bool = True) -> dict[str, Any] | None:
    """What the host is told of a call that it is about to make; None for nothing."""
    del can_ask, vouched  # it never asks, and its `allow` skips no question of its own
    if passage.action != "allow":
        return denied(passage.message)
    told: dict[str, Any] = {}
    if passage.changed:
        told = {"permissionDecision": "allow", "updatedInput": passage.arguments}
    if passage.message:
        told["additionalContext"] = passage.message
    return _output(**told) if told else None


def denied(reason: str) -> dict[str, Any]:
    return _output(permissionDecision="deny", permissionDecisionReason=reason.strip() or _SILENT)


def _output(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}
