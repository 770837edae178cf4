"""Commands and addresses in the arguments (P-16): what the policy denies, and paths in a command that the path rules
refuse. What asks a person is `approval.py`'s part."""

from rightcall.authorise.paths import as_absent
from rightcall.fs.readings import NOWHERE
from rightcall.fs.rules import UNJUDGED, PathRules, path_rules
from rightcall.types_running import Decision, Facts, Request


def harmless(request: Request, _facts: Facts) -> Decision | None:
    """A path is refused in the words of the file tools, as if it were not there."""
    if not request.commanded and not request.findings:
        return None
    for finding in request.findings:
        if finding.answer == "deny":
            if finding.rule.startswith("path:"):
                return Decision("deny", finding.rule, finding.why)
            hint = "Do not run it in another form. Use another way, or ask the user to do it."
            return Decision("deny", finding.rule, _sentence(finding.why), hint)
    paths = request.rights.paths
    rules = path_rules(paths.deny, paths.allow, paths.dotfiles)
    for written, resolved, writes in request.command_paths:
        rule = _rule_against(rules, resolved, writes)
        if rule is not None:
            return as_absent(rule, written)
    return None


def _rule_against(rules: PathRules, path: str, writes: bool) -> str | None:
    """A path may lie anywhere, since programs read their libraries outside the root; its name counts all the same."""
    if path == NOWHERE:
        return UNJUDGED
    named = rules.named(path)
    if named is None and writes and rules.refuses(path.lstrip("/") or ".") == "path:internal":
        return "path:internal"
    return named


def question_of(request: Request) -> tuple[str, str] | None:
    """The rule that wants a person for a command or an address, and why; None when none does."""
    for finding in request.findings:
        if finding.answer == "ask":
            return finding.rule, _sentence(finding.why)
    return None


def _sentence(why: str) -> str:
    return why[:1].upper() + why[1:]
