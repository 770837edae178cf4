"""Gemini CLI's hooks: BeforeTool, AfterTool and SessionEnd, with a decision at the top and the input below.

Its events number no calls: a call is known by its session, its tool and the input it runs with. What the model should
read beside a result is taken from AfterTool alone.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from rightcall.hosts.hooks.events import Happened, answer_of, field, inside, label, text_of, tool_and_space

if TYPE_CHECKING:
    from rightcall.executor.passage import Passage

HOST = "gemini"


def happened(event: dict[str, Any], servers: Iterable[str] = ()) -> Happened:
    """Raises WrongEvent."""
    name = field(event, "hook_event_name", str)
    context = label(event.get("session_id"))
    if name == "SessionEnd":
        return Happened("over", context=context)
    if name not in ("BeforeTool", "AfterTool"):
        return Happened("other")
    called = field(event, "tool_name", str)
    tool, space = _tool(event, called, servers)
    if name == "BeforeTool":
        told = event.get("mcp_context")
        reached = cast("dict[str, Any]", told) if isinstance(told, dict) else None
        return Happened("before", tool, event.get("tool_input"), space, context, reached=reached, called=called)
    given: Any = event.get("tool_response")
    error = inside(given, "error")
    return Happened(
        "after", tool, event.get("tool_input"), space, context,
        ok=not error, error=text_of(error) or None if error else None, summary=text_of(given), answer=answer_of(given),
        called=called,
    )  # fmt: skip


def _tool(event: dict[str, Any], name: str, servers: Iterable[str]) -> tuple[str, str]:
    """For a server's tool the host says which server and which tool; the name alone would not tell them apart."""
    server, tool = (inside(event.get("mcp_context"), key) for key in ("server_name", "tool_name"))
    if isinstance(server, str) and isinstance(tool, str) and server and tool:
        return tool, server
    return tool_and_space(name, servers)


def said_before(passage: "Passage", can_ask: bool = True, *, vouched: bool = True) -> dict[str, Any] | None:
    """What the host is told of a call that it is about to make; None for nothing. Asked without a terminal, it would
    wait for an answer for ever: there a call that needs a person is denied, with the approval's id."""
    del vouched  # it is never told `allow`
    if passage.action == "deny" or (passage.action == "ask" and not can_ask):
        return denied(passage.message)
    told: dict[str, Any] = {}
    if passage.action == "ask":
        told = {"decision": "ask", "reason": passage.why, "systemMessage": passage.why}
    if passage.changed:
        told["hookSpecificOutput"] = {"hookEventName": "BeforeTool", "tool_input": passage.arguments}
    return told or None


def said_after(warning: str) -> dict[str, Any] | None:
    """What the model reads beside the result."""
    if not warning:
        return None
    return {"hookSpecificOutput": {"hookEventName": "AfterTool", "additionalContext": warning}}


def denied(reason: str) -> dict[str, Any]:
    return {"decision": "deny", "reason": reason}
