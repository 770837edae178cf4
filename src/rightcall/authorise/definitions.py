"""A tool that is no longer what it was when it was first seen waits for a person (P-08)."""

from rightcall.keys import SERVER_CHANGED, definition_binding, server_key
from rightcall.text.escape import escaped
from rightcall.types_running import Decision, Facts, Request


def unchanged(request: Request, facts: Facts) -> Decision | None:
    """The server comes first: what another program says of its tools is worth nothing before a person knows of it."""
    if not request.rights.approval.definitions:
        return None
    origin = request.origin
    if origin is not None and _is_another(facts, key := server_key(origin.server), origin.digest):
        told = f"The server '{escaped(origin.server, 100)}' is not the one that was first used"
        return _ask_about(request, facts, definition_binding(key, origin.digest), Decision("ask", SERVER_CHANGED, told))
    if not request.definition or not _is_another(facts, request.tool, request.definition):
        return None
    told = f"The definition of '{escaped(request.tool, 100)}' has changed since it was first seen"
    asking = Decision("ask", "definition:changed", told)
    return _ask_about(request, facts, definition_binding(request.tool, request.definition), asking)


def _is_another(facts: Facts, key: str, now: str) -> bool:
    known = facts.definition(key)
    return known is not None and known != now


def _ask_about(request: Request, facts: Facts, binding: str, asking: Decision) -> Decision:
    answer = facts.answered(binding)
    if answer is not None and answer.status == "denied" and answer.expires_at > request.at:
        return Decision("deny", "approval:denied", f"{asking.reason}, and a person has refused the change")
    return asking
