"""Commands and addresses in the arguments (P-16): what the policy denies, and paths in a command that the path rules
refuse. What asks a person is `approval.py`'s part."""

from rightcall.fs.rules import path_rule
from rightcall.text.escape import escaped
from rightcall.types_running import Decision, Facts, Request

NAMED = ("path:deny", "path:secret")
"""The rules that hold for a path in a command, wherever it is: a program reads its libraries outside the root."""


def harmless(request: Request, _facts: Facts) -> Decision | None:
    """A path is refused in the words of the file tools, as if it were not there."""
    for finding in request.findings:
        if finding.answer == "deny":
            if finding.rule.startswith("path:"):
                return Decision("deny", finding.rule, finding.why)
            hint = "Do not run it in another form. Use another way, or ask the user to do it."
            return Decision("deny", finding.rule, _sentence(finding.why), hint)
    rules = request.rights.paths
    for written, resolved, writes in request.command_paths:
        rule = path_rule(resolved.lstrip("/") or ".", rules.deny, rules.allow, rules.dotfiles)
        if rule in NAMED or (writes and rule == "path:internal"):
            return Decision("deny", rule, f"No such file or folder: {escaped(written, 200)}")
    return None


def question_of(request: Request) -> tuple[str, str] | None:
    """The rule that wants a person for a command or an address, and why; None when none does."""
    for finding in request.findings:
        if finding.answer == "ask":
            return finding.rule, _sentence(finding.why)
    return None


def _sentence(why: str) -> str:
    return why[:1].upper() + why[1:]
