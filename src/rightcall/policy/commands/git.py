"""What git would do: take back work, push over what others have, or run what a setting says."""

import re
from collections.abc import Callable, Iterator

from rightcall.base.text import regex
from rightcall.policy.commands.places import Place
from rightcall.policy.commands.runs import RuleHit, Run, action_at, is_meant, options_of, seeks_secrets
from rightcall.policy.commands.words import HOLE, Word

_LOSES = regex(r"clean\.requireforce|gc\..*|receive\.deny.*|push\..*", re.IGNORECASE)
"""Settings that make a harmless command lose something."""
_GIT_SET = regex(
    r"core\.(?:hookspath|fsmonitor|sshcommand|pager|editor|askpass|attributesfile|worktree|gitproxy)|alias\..*"
    r"|credential\..*"
    r"|filter\..*|(?:diff|merge)\..*\.(?:command|driver|textconv|cmd|tool)|url\..*|include.*|http\..*"
    r"|remote\..*|protocol\..*"
    r"|submodule\..*|gpg\..*|sequence\.editor|pager\..*|safe\..*|uploadpack\..*|receive\..*|init\.templatedir"
    r"|commit\.template",
    re.IGNORECASE,
)  # fmt: skip


def _made_by_git(action: str, rest: list[Word]) -> list[Word]:
    """The folder that a repository or a work tree is made in."""
    if action not in ("clone", "worktree", "init", "submodule"):
        return []
    names = [word for word in rest if not word.value.startswith("-")]
    return names[:1] if action == "init" else names[1:]


def git_rules(run: Run, place: Place) -> Iterator[RuleHit]:
    at = action_at("git", run.arguments)
    for option, word in options_of("git ", run.arguments[:at]) if at > 0 else ():
        name, _, value = word.value.partition("=") if word is not None else ("", "", "")
        if option in ("-c", "--config-env"):
            if _GIT_SET.fullmatch(name) and (option != "-c" or not _shows_only(name, value)):
                yield RuleHit("runs", f"git {option} {name}")
            elif _LOSES.fullmatch(name):
                yield RuleHit("destroys", f"git -c {name}")
        elif option == "--exec-path" and any(one.startswith("--exec-path=") for one in run.values):
            yield RuleHit("runs", "git --exec-path")
    if any(one.startswith("ext::") for one in run.values):
        yield RuleHit("network", "git ext::")
    if at < 0:
        return
    action, rest = run.arguments[at].value, run.arguments[at + 1 :]
    for word in _made_by_git(action, rest):
        if any(place.is_started_from(path) for path in run.wholes(word, place)):
            yield RuleHit("persists", f"git {action} … {word.value}")
    if action in ("mv", "rm") and any(
        place.holds_guard(path) for word in rest if word.value[:1] != "-" for path in run.wholes(word, place)
    ):
        yield RuleHit("guards", f"git {action} {rest[0].value}")
    rule = _GIT_RULES.get(action)
    if rule is not None:
        yield from rule(_Words(action, rest))


class _Words:
    """The words behind `git push` and the like."""

    def __init__(self, action: str, rest: list[Word]) -> None:
        self.action = action
        self.rest = [word.value for word in rest]
        self.options = [name for name, _ in options_of(f"git {action}", rest)]

    def has(self, *names: str) -> str:
        """The first of these options that is given, also shortened."""
        return next((one for one in names for given in self.options if is_meant(one, given)), "")

    @property
    def names(self) -> list[str]:
        return [one for one in self.rest if not one.startswith("-")]


def _shows_only(name: str, value: str) -> bool:
    """`-c core.pager=cat`: a pager or an editor that does nothing."""
    return name.casefold().startswith(("core.pager", "pager.", "core.editor", "sequence.editor")) and value in (
        "cat", "less", "less -FRX", "less -R", "more", "true", ":", "", "false", "delta",
    )  # fmt: skip


def _git_push(words: _Words) -> Iterator[RuleHit]:
    forced = words.has(
        "--force", "--force-with-lease", "--force-if-includes", "--mirror", "--delete", "--prune", "-f", "-d"
    )
    refs = [one for one in words.rest if one.startswith(("+", ":")) and len(one) > 1]
    if forced or refs:
        word = forced or refs[0]
        yield RuleHit("destroys", f"git push {word}", (word,))


def _git_fetch(words: _Words) -> Iterator[RuleHit]:
    """A branch of one's own that is given what another holds, whatever it held before: `git fetch origin +a:b`."""
    forced = words.has("-f", "--force")
    for one in words.names[1:]:
        _, colon, to = one.partition(":")
        if colon and (forced or one.startswith("+")) and not to.startswith("refs/remotes/"):
            yield RuleHit("destroys", f"git fetch {one}", ())
            return


def _git_checkout(words: _Words) -> Iterator[RuleHit]:
    rest, names = words.rest, words.names
    if "--" in rest and rest.index("--") < len(rest) - 1:
        yield RuleHit("destroys", f"git checkout -- {rest[-1]}", ("--",))
        return
    if words.has("-b", "-B", "--orphan", "--track", "-t", "--detach"):
        return
    if (
        words.has("--pathspec-from-file", "--ours", "--theirs")
        or len(names) > 1
        or (names and (names[0].endswith("/") or names[0] in (".", "*", "./") or _is_file(names[0])))
    ):
        yield RuleHit("destroys", f"git checkout {' '.join(names[:2])}", ())


def _is_file(name: str) -> bool:
    """A name with an ending, and no branch: `src/app.py`."""
    return re.search(r"\.[a-z]{1,4}$", name) is not None and not re.match(r"v?\d+(\.\d+)+$|release|hotfix", name)


def _git_restore(words: _Words) -> Iterator[RuleHit]:
    if not words.has("--staged", "-S") or words.has("--worktree", "-W"):
        yield RuleHit("destroys", "git restore " + " ".join(words.rest[:2]))


def _git_config(words: _Words) -> Iterator[RuleHit]:
    rest = words.rest
    if {"--get", "--list", "-l", "--get-all", "--get-regexp", "--get-urlmatch", "--show-origin", "get", "list"} & set(
        rest
    ):
        if any(_SECRET_SETTING.search(one) for one in rest):
            yield RuleHit("credentials", "git config credential")
        return
    names = [one for one in words.names if one not in ("set", "unset")]
    if len(names) == 1 and _SECRET_SETTING.search(names[0]):
        yield RuleHit("credentials", f"git config {names[0]}")
    sets = len(names) > 1 or any(
        one.startswith("--unset") or one in ("--add", "--replace-all", "unset") for one in rest
    )
    if names and sets and _GIT_SET.fullmatch(names[0]):
        yield RuleHit("persists", f"git config {names[0]}")
    elif "--system" in rest or "-e" in rest or "--edit" in rest or (sets and "--global" in rest):
        yield RuleHit("persists", "git config --global" if "--global" in rest else "git config --system")


_SECRET_SETTING = regex(r"credential|token|passw|extraheader|secret|smtppass", re.IGNORECASE)


def _git_clone(words: _Words) -> Iterator[RuleHit]:
    if any(one.startswith("ext::") or "::" in one.partition("/")[0] for one in words.rest):
        yield RuleHit("network", "git clone ext::")


def _git_remote(words: _Words) -> Iterator[RuleHit]:
    rest = words.rest
    if rest[:1] in (["add"], ["set-url"], ["rename"], ["remove"], ["rm"]) and any(
        one.startswith("ext::") for one in rest
    ):
        yield RuleHit("network", "git remote ext::")
    elif rest[:1] in (["set-url"], ["remove"], ["rm"]):
        yield RuleHit("persists", f"git remote {rest[0]}")


def _git_rm(words: _Words) -> Iterator[RuleHit]:
    if "--cached" not in words.rest and words.has("-r"):
        yield RuleHit("destroys", f"git rm {' '.join(words.rest[:2])}")


def _git_branch(words: _Words) -> Iterator[RuleHit]:
    """A name that is given to another branch, whatever it meant before."""
    over = words.has("-M", "-C") or (words.has("-f", "--force") and words.has("-m", "-c", "--move", "--copy"))
    if over and len(words.names) > 1:
        yield RuleHit("destroys", f"git branch {over}", (over,))


def _git_symbolic_ref(words: _Words) -> Iterator[RuleHit]:
    if len(words.names) > 1 or words.has("-d", "--delete"):
        yield RuleHit("destroys", "git symbolic-ref")


def _git_looks_back(words: _Words) -> Iterator[RuleHit]:
    """`git log -p -S AWS_SECRET`: what was taken out of the files is still in the history."""
    sought = next((one for one in words.rest if seeks_secrets(one)), "")
    if sought and (words.has("-p", "-u", "--patch") or any(HOLE in one for one in words.rest)):
        yield RuleHit("credentials", f"git … {sought}")


def _git_unchecked(words: _Words) -> Iterator[RuleHit]:
    """The checks that a project runs before a commit are left out."""
    given = words.has("--no-verify") or ("-n" in words.options and "-n" if words.action == "commit" else "")
    if given:
        yield RuleHit("escalates", f"git {words.action} {given}", (given,))


def runs_hooks(run: Run) -> bool:
    """Whether the hooks of a project are run by what git is told to do."""
    at = action_at("git", run.arguments)
    return at >= 0 and run.values[at] in ("push", "pull", *_CHECKED)


_CHECKED = ("commit", "merge", "rebase", "am", "revert", "cherry-pick")
_GIT_RULES: dict[str, Callable[[_Words], Iterator[RuleHit]]] = {
    "branch": _git_branch,
    "symbolic-ref": _git_symbolic_ref,
    "log": _git_looks_back,
    "grep": _git_looks_back,
    "push": _git_push,
    "fetch": _git_fetch,
    "pull": _git_fetch,
    "checkout": _git_checkout,
    "restore": _git_restore,
    "config": _git_config,
    "clone": _git_clone,
    "remote": _git_remote,
    "rm": _git_rm,
    **dict.fromkeys(_CHECKED, _git_unchecked),
}
