"""Paths in the arguments stay below the root and away from secrets, by the names of their components (P-03's first
half: the tools that open files check again what they opened)."""

from rightcall.fs.rules import path_rule
from rightcall.text.escape import escaped
from rightcall.types_running import Decision, Facts, Request


def inside(request: Request, _facts: Facts) -> Decision | None:
    """The answer is the same as for a path that does not exist: a refusal must not tell what is there."""
    rules = request.rights.paths
    for written, path in request.paths:
        rule = path_rule(path, rules.deny, rules.allow, rules.dotfiles)
        if rule is not None:
            return Decision("deny", rule, f"No such file or folder: {escaped(written, 200)}")
    return None
