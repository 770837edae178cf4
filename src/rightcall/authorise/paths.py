"""Paths in the arguments stay below the root and away from secrets, by the names of their components (P-03's first
half: the tools that open files check again what they opened)."""

from rightcall.fs.readings import NOWHERE
from rightcall.fs.rules import UNJUDGED, path_rule
from rightcall.text.escape import escaped
from rightcall.types_running import Decision, Facts, Request

_SECRET_NAME = "This name is on the list of secret names, which are refused whether or not there is such a file."
_PLAINLY = "Write the plain path of the file: at most 4,096 characters, no NUL, no other encoding."


def inside(request: Request, _facts: Facts) -> Decision | None:
    """The answer is the same as for a path that does not exist: a refusal must not tell what is there."""
    rules = request.rights.paths
    for written, resolved in request.paths:
        if resolved == NOWHERE:
            return Decision("deny", UNJUDGED, f"No such file or folder: {escaped(written, 200)}", _PLAINLY)
        path = _below(resolved, request.outside) if request.outside and resolved.startswith("/") else resolved
        rule = path_rule(path, rules.deny, rules.allow, rules.dotfiles)
        if rule is not None:
            return as_absent(rule, written)
    return None


def as_absent(rule: str, written: str) -> Decision:
    """A refusal in the words of the file tools. What is named like a secret as it is written is refused whatever is
    there, so that much can be told; where a link leads cannot."""
    named = path_rule(written.removeprefix("./").lstrip("/")) == rule == "path:secret"
    return Decision("deny", rule, f"No such file or folder: {escaped(written, 200)}", _SECRET_NAME if named else None)


def _below(path: str, folders: tuple[str, ...]) -> str:
    """A path outside the root as seen from the folder in which it may be; as it is where there is none."""
    for folder in folders:
        top = folder.rstrip("/") + "/"
        if path.startswith(top):
            return path[len(top) :]
    return path
