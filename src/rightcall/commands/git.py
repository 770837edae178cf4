"""What git would do: take back work, push over what others have, or run what a setting says."""

import re
from collections.abc import Callable, Iterator

from rightcall.commands.options import action_at, is_meant, options_of
from rightcall.commands.places import Place
from rightcall.commands.runs import Found, Run, seeks_secrets
from rightcall.commands.words import HOLE, Word
from rightcall.parse.late import Late

_LOSES = Late(r"clean\.requireforce|gc\..*|receive\.deny.*|push\..*", re.IGNORECASE)
"""Settings that make a harmless command lose something."""
_GIT_SET = Late(
    r"core\.(?:hookspath|fsmonitor|sshcommand|pager|editor|askpass|attributesfile|worktree|gitproxy)|alias\..*"
    r"|credential\..*"
    r"|filter\..*|(?:diff|merge)\..*\.(?:command|driver|textconv|cmd|tool)|url\..*|include.*|http\..*"
    r"|remote\..*|protocol\..*"
    r"|submodule\..*|gpg\..*|sequence\.editor|pager\..*|safe\..*|uploadpack\..*|receive\..*|init\.templatedir"
    r"|commit\.template",
    re.IGNORECASE,
)  # fmt: skip


def git_rules(run: Run, _place: Place) -> Iterator[Found]:
    at = action_at("git", run.arguments)
    for option, word in options_of("git ", run.arguments[:at]) if at > 0 else ():
        name, _, value = word.value.partition("=") if word is not None else ("", "", "")
        if option in ("-c", "--config-env"):
            if _GIT_SET.fullmatch(name) and (option != "-c" or not _shows_only(name, value)):
                yield Found("runs", f"git {option} {name}")
            elif _LOSES.fullmatch(name):
                yield Found("destroys", f"git -c {name}")
        elif option == "--exec-path" and any(one.startswith("--exec-path=") for one in run.values):
            yield Found("runs", "git --exec-path")
    if any(one.startswith("ext::") for one in run.values):
        yield Found("network", "git ext::")
    if at < 0:
        return
    action, rest = run.arguments[at].value, run.arguments[at + 1 :]
    rule = _GIT_RULES.get(action)
    if rule is not None:
        yield from rule(_Words(action, rest))


class _Words:
    """The words behind `git push` and the like."""

    def __init__(self, action: str, rest: list[Word]) -> None:
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


def _git_push(words: _Words) -> Iterator[Found]:
    forced = words.has(
        "--force", "--force-with-lease", "--force-if-includes", "--mirror", "--delete", "--prune", "-f", "-d"
    )
    refs = [one for one in words.rest if one.startswith(("+", ":")) and len(one) > 1]
    if forced or refs:
        word = forced or refs[0]
        yield Found("destroys", f"git push {word}", (word,))


def _git_checkout(words: _Words) -> Iterator[Found]:
    rest, names = words.rest, words.names
    if "--" in rest and rest.index("--") < len(rest) - 1:
        yield Found("destroys", f"git checkout -- {rest[-1]}", ("--",))
        return
    if words.has("-b", "-B", "--orphan", "--track", "-t", "--detach"):
        return
    if (
        words.has("--pathspec-from-file", "--ours", "--theirs")
        or len(names) > 1
        or (names and (names[0].endswith("/") or names[0] in (".", "*", "./") or _is_file(names[0])))
    ):
        yield Found("destroys", f"git checkout {' '.join(names[:2])}", ())


def _is_file(name: str) -> bool:
    """A name with an ending, and no branch: `src/app.py`."""
    return re.search(r"\.[a-z]{1,4}$", name) is not None and not re.match(r"v?\d+(\.\d+)+$|release|hotfix", name)


def _git_restore(words: _Words) -> Iterator[Found]:
    if not words.has("--staged", "-S") or words.has("--worktree", "-W"):
        yield Found("destroys", "git restore " + " ".join(words.rest[:2]))


def _git_config(words: _Words) -> Iterator[Found]:
    rest = words.rest
    if {"--get", "--list", "-l", "--get-all", "--get-regexp", "--get-urlmatch", "--show-origin", "get", "list"} & set(
        rest
    ):
        if any(_SECRET_SETTING.search(one) for one in rest):
            yield Found("credentials", "git config credential")
        return
    names = [one for one in words.names if one not in ("set", "unset")]
    if len(names) == 1 and _SECRET_SETTING.search(names[0]):
        yield Found("credentials", f"git config {names[0]}")
    sets = len(names) > 1 or any(
        one.startswith("--unset") or one in ("--add", "--replace-all", "unset") for one in rest
    )
    if names and sets and _GIT_SET.fullmatch(names[0]):
        yield Found("persists", f"git config {names[0]}")
    elif "--system" in rest or "-e" in rest or "--edit" in rest or (sets and "--global" in rest):
        yield Found("persists", "git config --global" if "--global" in rest else "git config --system")


_SECRET_SETTING = Late(r"credential|token|passw|extraheader|secret|smtppass", re.IGNORECASE)


def _git_clone(words: _Words) -> Iterator[Found]:
    if any(one.startswith("ext::") or "::" in one.partition("/")[0] for one in words.rest):
        yield Found("network", "git clone ext::")


def _git_remote(words: _Words) -> Iterator[Found]:
    rest = words.rest
    if rest[:1] in (["add"], ["set-url"], ["rename"], ["remove"], ["rm"]) and any(
        one.startswith("ext::") for one in rest
    ):
        yield Found("network", "git remote ext::")
    elif rest[:1] in (["set-url"], ["remove"], ["rm"]):
        yield Found("persists", f"git remote {rest[0]}")


def _git_rm(words: _Words) -> Iterator[Found]:
    if "--cached" not in words.rest and words.has("-r"):
        yield Found("destroys", f"git rm {' '.join(words.rest[:2])}")


def _git_branch(words: _Words) -> Iterator[Found]:
    """A name that is given to another branch, whatever it meant before."""
    over = words.has("-M", "-C") or (words.has("-f", "--force") and words.has("-m", "-c", "--move", "--copy"))
    if over and len(words.names) > 1:
        yield Found("destroys", f"git branch {over}", (over,))


def _git_symbolic_ref(words: _Words) -> Iterator[Found]:
    if len(words.names) > 1 or words.has("-d", "--delete"):
        yield Found("destroys", "git symbolic-ref")


def _git_looks_back(words: _Words) -> Iterator[Found]:
    """`git log -p -S AWS_SECRET`: what was taken out of the files is still in the history."""
    sought = next((one for one in words.rest if seeks_secrets(one)), "")
    if sought and (words.has("-p", "-u", "--patch") or any(HOLE in one for one in words.rest)):
        yield Found("credentials", f"git … {sought}")


_GIT_RULES: dict[str, Callable[[_Words], Iterator[Found]]] = {
    "branch": _git_branch,
    "symbolic-ref": _git_symbolic_ref,
    "log": _git_looks_back,
    "grep": _git_looks_back,
    "push": _git_push,
    "checkout": _git_checkout,
    "restore": _git_restore,
    "config": _git_config,
    "clone": _git_clone,
    "remote": _git_remote,
    "rm": _git_rm,
}
