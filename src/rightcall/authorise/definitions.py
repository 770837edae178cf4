"""A tool that is no longer what it was when it was first seen waits for a person (P-08)."""

from rightcall.keys import definition_binding
from rightcall.text.escape import escaped
from rightcall.types_running import Decision, Facts, Request


def unchanged(request: Request, facts: Facts) -> Decision | None:
    if not request.definition or not request.rights.approval.definitions:
        return None
    known = facts.definition(request.tool)
    if known is None or known == request.definition:
        return None
    reason = f"The definition of '{escaped(request.tool, 100)}' has changed since it was first seen"
    answer = facts.answered(definition_binding(request.tool, request.definition))
    if answer is not None and answer.status == "denied" and answer.expires_at > request.at:
        return Decision("deny", "approval:denied", f"{reason}, and a person has refused the change")
    return Decision("ask", "definition:changed", reason)
