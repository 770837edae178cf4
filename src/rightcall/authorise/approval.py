"""Which calls need a person, and whether one has said yes to exactly this one (P-06, P-10)."""

from rightcall.authorise.commands import question_of
from rightcall.granting import grant_matches
from rightcall.keys import binding
from rightcall.text.escape import escaped
from rightcall.text.patterns import hits, matches
from rightcall.types_running import Approval, Decision, Facts, Grant, Request

_WAIT = "A person has to approve it first"


def approved(request: Request, facts: Facts) -> Decision | None:
    """A dry run needs nobody: it changes nothing."""
    if request.dry_run:
        return None
    if request.approval is not None:
        return _by_id(request, facts, request.approval)
    why = _why(request)
    if why is None:
        return None
    rule, reason = why
    answer = facts.answered(binding(request))
    if answer is not None and answer.expires_at > request.at:
        if answer.status == "approved":
            return Decision("allow", "approval:given", approval=answer.id)
        if answer.status == "denied":
            return _refused("denied", "A person has refused this call")
    # an uncertain repair is nothing that could be granted in advance, nor is what a link leads to
    if rule != "approval:confidence" and not request.linked:
        for grant in facts.grants(request.caller, request.tool):
            if grant.expires_at > request.at and grant.uses > 0 and _covers(grant, request, rule):
                return Decision("allow", "approval:grant", grant=grant.id)
    return Decision("ask", rule, f"{reason}. {_WAIT}")


def _why(request: Request) -> tuple[str, str] | None:
    """The rule that wants a person, None when none does."""
    asking = request.rights.approval
    if request.repaired and request.side_effects and request.confidence < asking.confidence:
        reason = f"The call was repaired with a confidence of only {request.confidence:g}, and it does more than read"
        return "approval:confidence", reason
    asked = question_of(request)
    if asked is not None:
        return asked
    names = (request.tool, *request.called)
    if asking.tools and any(hits(pattern, name) for pattern in asking.tools for name in names):
        return "approval:tool", f"'{escaped(request.tool, 100)}' always asks"
    excepted = asking.never and all(_never(asking.never, tool) for tool in (request.tool, *request.inner))
    for effect in (*(() if excepted else asking.effects), *sorted(request.asks)):
        if effect in request.effects:
            return f"approval:{effect}", f"'{escaped(request.tool, 100)}' can {effect}"
    return None


def _covers(grant: Grant, request: Request, rule: str) -> bool:
    """A question about a command is answered in advance only by who named that command, and one about a file that
    guards or starts others, or holds credentials, only by who named arguments."""
    if rule in ("path:guards", "path:credentials") and not grant.where:
        return False
    if rule.startswith(("command:", "url:")) and not all(name in grant.where for name in request.commanded):
        return False
    return grant_matches(grant, request.arguments)


def _never(patterns: tuple[str, ...], tool: str) -> bool:
    return any(matches(pattern, tool) for pattern in patterns)


def _by_id(request: Request, facts: Facts, id: str) -> Decision:
    """The caller says which approval it means: anything wrong with that one is a refusal, not a new question."""
    approval = facts.approval(id)
    if approval is None or approval.kind != "call":
        return _refused("unknown", f"There is no approval '{escaped(id, 40)}'")
    if approval.binding != binding(request):
        return _refused(
            "mismatch",
            "That approval is for another call, another caller or another conversation, or the state it was given for "
            "has changed",
        )
    if approval.expires_at <= request.at:
        return _refused("expired", "That approval has expired")
    return _by_status(approval)


def _by_status(approval: Approval) -> Decision:
    match approval.status:
        case "approved":
            return Decision("allow", "approval:given", approval=approval.id)
        case "waiting":
            return Decision("ask", "approval:waiting", f"{_WAIT}, and nobody has answered yet")
        case "denied":
            return _refused("denied", "A person has refused this call")
        case _:
            return _refused(approval.status, f"That approval is already {approval.status}")


def _refused(word: str, reason: str) -> Decision:
    return Decision("deny", f"approval:{word}", reason)
