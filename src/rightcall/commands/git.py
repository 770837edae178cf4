"""What git would do: take back work, push over what others have, or run what a setting says."""

import re
from collections.abc import Callable, Iterator

from rightcall.commands.options import action_at
from rightcall.commands.places import Place
from rightcall.commands.runs import Found, Run
from rightcall.parse.late import Late

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
    for before, word in enumerate(run.arguments[: max(at, 0)]):
        setting = word.value if run.values[before - 1 : before] == ["-c"] else ""
        if re.match(r"-c[a-z]+\.", word.value, re.IGNORECASE):
            setting = word.value[2:]
        name, _, value = setting.partition("=")
        if setting and _GIT_SET.fullmatch(name) and not _shows_only(name, value):
            yield Found("runs", f"git -c {name}")
    if any(one.startswith("--exec-path=") for one in run.values[: max(at, 0) + 1]):
        yield Found("runs", "git --exec-path")
    if any(one.startswith("ext::") for one in run.values):
        yield Found("network", "git ext::")
    if at < 0:
        return
    action, rest = run.arguments[at].value, [word.value for word in run.arguments[at + 1 :]]
    rule = _GIT_RULES.get(action)
    if rule is not None:
        yield from rule(rest)


def _shows_only(name: str, value: str) -> bool:
    """`-c core.pager=cat`: a pager or an editor that does nothing."""
    return name.casefold().startswith(("core.pager", "pager.", "core.editor", "sequence.editor")) and value in (
        "cat", "less", "less -FRX", "less -R", "more", "true", ":", "", "false", "delta",
    )  # fmt: skip


def _git_push(rest: list[str]) -> Iterator[Found]:
    forced = [one for one in rest if one.startswith(("--force", "--mirror", "--delete", "--prune")) or
              re.fullmatch(r"-[a-zA-Z]*[fd][a-zA-Z]*", one)]  # fmt: skip
    refs = [one for one in rest if one.startswith(("+", ":")) and len(one) > 1]
    if forced or refs:
        word = (forced or refs)[0]
        yield Found("destroys", f"git push {word}", (word.partition("=")[0],))


def _git_checkout(rest: list[str]) -> Iterator[Found]:
    if "--" in rest and rest.index("--") < len(rest) - 1:
        yield Found("destroys", f"git checkout -- {rest[-1]}", ("--",))
        return
    if {"-b", "-B", "--orphan", "--track", "-t", "--detach"} & set(rest):
        return
    names = [one for one in rest if not one.startswith("-")]
    if len(names) > 1 or (names and (names[0].endswith("/") or names[0] in (".", "*", "./") or _is_file(names[0]))):
        yield Found("destroys", f"git checkout {' '.join(names[:2])}", ())


def _is_file(name: str) -> bool:
    """A name with an ending, and no branch: `src/app.py`."""
    return re.search(r"\.[a-z]{1,4}$", name) is not None and not re.match(r"v?\d+(\.\d+)+$|release|hotfix", name)


def _git_restore(rest: list[str]) -> Iterator[Found]:
    staged = any(one == "--staged" or re.fullmatch(r"-[a-zA-Z]*S[a-zA-Z]*", one) for one in rest)
    tree = any(one == "--worktree" or re.fullmatch(r"-[a-zA-Z]*W[a-zA-Z]*", one) for one in rest)
    if not staged or tree:
        yield Found("destroys", "git restore " + " ".join(rest[:2]))


def _git_config(rest: list[str]) -> Iterator[Found]:
    if {"--get", "--list", "-l", "--get-all", "--get-regexp", "--get-urlmatch", "--show-origin", "get", "list"} & set(
        rest
    ):
        if any("credential" in one or "token" in one for one in rest):
            yield Found("credentials", "git config credential")
        return
    names = [one for one in rest if not one.startswith("-") and one not in ("set", "unset")]
    sets = len(names) > 1 or any(
        one.startswith("--unset") or one in ("--add", "--replace-all", "unset") for one in rest
    )
    if names and sets and _GIT_SET.fullmatch(names[0]):
        yield Found("persists", f"git config {names[0]}")
    elif "--system" in rest or "-e" in rest or "--edit" in rest or (sets and "--global" in rest):
        yield Found("persists", "git config --global" if "--global" in rest else "git config --system")


def _git_clone(rest: list[str]) -> Iterator[Found]:
    if any(one.startswith("ext::") or "::" in one.partition("/")[0] for one in rest):
        yield Found("network", "git clone ext::")


def _git_remote(rest: list[str]) -> Iterator[Found]:
    if rest[:1] in (["add"], ["set-url"], ["rename"], ["remove"], ["rm"]) and any(
        one.startswith("ext::") for one in rest
    ):
        yield Found("network", "git remote ext::")
    elif rest[:1] in (["set-url"], ["remove"], ["rm"]):
        yield Found("persists", f"git remote {rest[0]}")


def _git_rm(rest: list[str]) -> Iterator[Found]:
    if "--cached" not in rest and any(re.fullmatch(r"-[a-z]*r[a-z]*", one) for one in rest):
        yield Found("destroys", f"git rm {' '.join(rest[:2])}")


_GIT_RULES: dict[str, Callable[[list[str]], Iterator[Found]]] = {
    "push": _git_push,
    "checkout": _git_checkout,
    "restore": _git_restore,
    "config": _git_config,
    "clone": _git_clone,
    "remote": _git_remote,
    "rm": _git_rm,
}
