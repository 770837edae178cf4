"""A tool that is no longer what it was when it was first seen waits for a person (P-08)."""

from rightcall.keys import SERVER_CHANGED, definition_binding, server_key
from rightcall.text.escape import escaped
from rightcall.types_running import Decision, Facts, Request


def unchanged(request: Request, facts: Facts) -> Decision | None:
    """The server comes first: what another program says of its tools is worth nothing before a person knows of it."""
    if not request.rights.approval.definitions:
        return None
    origin = request.origin
    if origin is not None:
        told = f"The server '{escaped(origin.server, 100)}' is not the one that was first used"
        asked = _changed(
            request, facts, server_key(origin.server), origin.digest, Decision("ask", SERVER_CHANGED, told)
        )
        if asked is not None:
            return asked
    if not request.definition:
        return None
    told = f"The definition of '{escaped(request.tool, 100)}' has changed since it was first seen"
    return _changed(request, facts, request.tool, request.definition, Decision("ask", "definition:changed", told))


def _changed(request: Request, facts: Facts, key: str, now: str, asking: Decision) -> Decision | None:
    known = facts.definition(key)
    if known is None or known == now:
        return None
    answer = facts.answered(definition_binding(key, now))
    if answer is not None and answer.status == "denied" and answer.expires_at > request.at:
        return Decision("deny", "approval:denied", f"{asking.reason}, and a person has refused the change")
    return asking
