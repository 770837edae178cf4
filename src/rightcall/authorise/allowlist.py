"""Which tools a caller may use at all (P-01): its stage's list and its own; a denial beats every permission."""

from rightcall.config_settings import Rights
from rightcall.text.escape import escaped
from rightcall.text.patterns import hits, matches
from rightcall.types_running import Decision, Facts, Request


def denied(request: Request, _facts: Facts) -> Decision | None:
    """A denial also hits other spellings of a name, and the tools that a batch would run."""
    rights = request.rights
    if rights.within is not None:
        for tool in (request.tool, *request.inner):
            if is_outside(rights, tool):
                return _not_allowed("caller:only", tool)
    if not rights.deny:
        return None
    for tool in (request.tool, *request.called, *request.inner):
        rule = denial(request.rights, tool)
        if rule is not None:
            return _not_allowed(rule, tool)
    return None


def allowed(request: Request, _facts: Facts) -> Decision | None:
    """The tool must be on a list, and so must every tool that a batch would run; a call in it that names none, or more
    than one, is on no list. Who permits all tools of a host or a server permits them in a batch too."""
    rule = permission(request.rights, request.tool, own=request.own) or request.permit
    if not rule:
        return _not_allowed("allowlist", request.tool)
    for tool in request.inner:
        if not tool or not (permission(request.rights, tool) or request.permit):
            return _not_allowed("allowlist", tool)
    return Decision("allow", rule)


def denial(rights: Rights, tool: str) -> str | None:
    """The rule that denies a tool."""
    return next((rule for pattern, rule in rights.deny.items() if hits(pattern, tool)), None)


def is_outside(rights: Rights, tool: str) -> bool:
    """Whether a caller may use certain tools at most, and this is none of them."""
    return rights.within is not None and not any(matches(pattern, tool) for pattern in rights.within)


def permission(rights: Rights, tool: str, *, own: bool = False) -> str | None:
    """The rule that permits a tool, as long as nothing denies it."""
    if tool in rights.listed:
        return rights.origin.get(tool) or f"stage:{rights.stage}"
    for pattern in rights.patterns:
        if matches(pattern, tool):
            return rights.origin[pattern]
    return "stage:own" if own and rights.own else None


def may_use(rights: Rights, tool: str, *, own: bool = False) -> bool:
    """Whether a caller may know of a tool: hints and prompts name only these."""
    if is_outside(rights, tool):
        return False
    return denial(rights, tool) is None and permission(rights, tool, own=own) is not None


def not_whitelisted(tool: str) -> str:
    """The design's words for it."""
    return f"Tool '{escaped(tool, 100) or '(unnamed)'}' is not whitelisted for AI use"


def _not_allowed(rule: str, tool: str) -> Decision:
    return Decision("deny", rule, not_whitelisted(tool))
