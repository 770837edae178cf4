"""The judgement of a command line, of code or of an address: what asks or is refused, and the paths in it.

A plain line is judged at once; all others by `judge.py`, which is loaded for them. Never raises, and takes time in the
length of the text: what is too long, too deep or cannot be read asks.
"""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from rightcall.base.files.rules import PLAIN, component
from rightcall.base.text import regex
from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.commands.places import Place, SeenPath
from rightcall.policy.commands.words import UnreadableLine, Word
from rightcall.policy.types import Finding

_LONGEST = 400
_LINE = regex(r"[A-Za-z0-9_./ -]+(?:(?: && |; ?| \| )[A-Za-z0-9_./ -]+)*")
_JOINT = regex(r"( && | \| |; ?)")
_TELLING = (
    "key", "token", "secret", "pass", "cred", "kube", "appsettings", "history", ".p8", "adminsdk", "wallet", "login",
    "cookies", "shadow", "netrc", "deploy", "wp-config", "rightcall", "tfvars", "..", "/.", " .", "--help",
    "--version", "//",
)  # fmt: skip
"""What a rule may know more of, wherever it stands in a line."""
_ODD_FOLDERS = ("/etc", "/proc", "/run", "/var", "/dev", "/root", "/private", "/sys", "/usr", "/bin", "/opt", "/lib")
_FILES: dict[str, str] = {
    "ls": "1aAhlrRtS", "cat": "nbs", "head": "0123456789", "tail": "0123456789f", "wc": "lwcm", "file": "", "du": "sh",
    "stat": "", "diff": "uqNwb", "cd": "",
}  # fmt: skip
"""Programs whose operands may be files that they read, each with the letters that its options may have."""
_FILTERS = frozenset(("head", "tail", "wc", "cat"))
"""What they read through a pipe is only shown."""
_GIT = frozenset(("status", "diff", "log", "show", "add", "rev-parse", "ls-files", "blame"))
_GIT_OPTIONS = frozenset(
    ("-s", "-sb", "-A", "-u", "-v", "-p", "--short", "--oneline", "--stat", "--cached", "--staged", "--name-only",
     "--name-status", "--porcelain", "--all", "--graph", "--decorate", "--no-color", "--show-toplevel", "--branch",
     "--abbrev-ref", *(f"-{number}" for number in range(1, 100)))
)  # fmt: skip
_WHOLE = frozenset(
    ("npm test", "npm run build", "npm run lint", "npm run dev", "npm run test", "npm start", "yarn test", "yarn build",
     "pnpm test", "pnpm build", "make test", "make build", "make lint", "make check", "git branch", "git branch -a",
     "pwd", "date", "whoami", "true", "uname -a",
     "git remote -v", "git stash list", "git fetch", "git pull", "cargo build", "cargo test", "cargo check")
)  # fmt: skip


def plain_paths(line: str, place: Place) -> tuple[SeenPath, ...] | None:
    """The paths of a line that is plain, and about which there is nothing to ask; None where that is not sure."""
    if len(line) > _LONGEST or not _LINE.fullmatch(line) or any(one in line.casefold() for one in _TELLING):
        return None
    folder = place.folders[0]
    around = folder.casefold()
    if len(place.folders) > 1 or not around.startswith("/") or around.startswith(_ODD_FOLDERS):
        return None
    if any(one in around for one in (*_TELLING, "/library", "/snap")) or not place.is_inside(folder):
        return None
    seen: dict[str, SeenPath] = {}
    pieces = _JOINT.split(line)
    for at in range(0, len(pieces), 2):
        words = pieces[at].split()
        fed = at > 0 and pieces[at - 1] == " | "
        feeds = at + 1 < len(pieces) and pieces[at + 1] == " | "
        named = _named_by(words, fed)
        if named is None or (words[0] == "cd" and (fed or feeds or len(named) != 1)):
            return None
        for word in named:
            if any(component(name) is not PLAIN for name in word.split("/")):
                return None
            whole = place.whole(folder, word)
            seen.setdefault(whole, SeenPath(word, whole, False))
        if words[0] == "cd":
            folder = place.whole(folder, words[1])
    return tuple(seen.values())


def _named_by(words: list[str], fed: bool) -> list[str] | None:
    """The words of a plain command that may be paths; None for one that is not plain."""
    if not words or any(word.startswith("/") or word in ("-", "--") for word in words):
        return None
    program, arguments = words[0], words[1:]
    if fed and program not in _FILTERS:
        return None
    if program == "echo":  # its words name nothing
        return [] if _are_letters("", arguments) else None
    if program in _FILES:
        return [one for one in arguments if one[0] != "-"] if _are_letters(_FILES[program], arguments) else None
    if program == "git" and arguments and arguments[0] in _GIT:
        options = [one for one in arguments if one[0] == "-"]
        return [one for one in arguments if one[0] != "-"] if _GIT_OPTIONS.issuperset(options) else None
    return [one for one in arguments if one[0] != "-"] if " ".join(words) in _WHOLE else None


def _are_letters(letters: str, arguments: list[str]) -> bool:
    """Whether all options are made of these letters."""
    return all(len(one) > 1 and set(one[1:]).issubset(letters) for one in arguments if one[0] == "-")


Answer = Literal["allow", "ask", "deny"]
_STRENGTH = {"allow": 0, "ask": 1, "deny": 2}
_URLS = regex(r"[A-Za-z][A-Za-z0-9+.-]{1,20}:/[^\s<>\"']+")
"""Addresses within a text, such as a prompt that says what to fetch."""
_WITHIN = regex(r"\s*(?:[/?#](?![/\\]).*)?\Z", re.DOTALL)
"""Nothing, or a place on a site that the tool knows: `/`, `?page=2`, `#top`."""
_OWN = regex("[\ue000-\ue01f]")


class Judgement(Struct, frozen=True):
    """What is found in a command line or an address; `paths` are still to be judged by the path rules."""

    findings: tuple[Finding, ...] = ()
    paths: tuple[SeenPath, ...] = ()

    @property
    def worst(self) -> Finding | None:
        """The first denial, else the first question."""
        return max(self.findings, key=lambda one: _STRENGTH[one.answer], default=None)

    @property
    def answer(self) -> Answer:
        worst = self.worst
        return "allow" if worst is None else worst.answer


def judge_command(command: str | Sequence[str], commands: CommandRules, urls: UrlRules, place: Place) -> Judgement:
    """A command line, or a list of words that are started as they are."""
    if isinstance(command, str) and not (commands.deny or commands.ask or commands.allow):
        seen = plain_paths(command, place)
        if seen is not None:
            return Judgement((), seen)
    from rightcall.policy.commands.judge import Judge  # late: a plain line does without

    judge = Judge(commands, urls, place)
    try:
        if isinstance(command, str):
            if _OWN.search(command):
                raise UnreadableLine("it has private characters in it")
            judge.script(command, place.folders, depth=0)
        else:
            judge.listed(command)
    except UnreadableLine as fault:
        judge.add("ask", "command:unreadable", f"the command cannot be read: {fault}")
    except RecursionError:
        judge.add("ask", "command:unreadable", "the command cannot be read: it is nested too deeply")
    except Exception as fault:  # noqa: BLE001 - a fault of ours must not let a command pass
        judge.add("ask", "command:unreadable", f"the command cannot be judged ({type(fault).__name__})")
    return Judgement(tuple(judge.findings), tuple(judge.paths.values()))


def judge_code(language: str, code: str, commands: CommandRules, urls: UrlRules, place: Place) -> Judgement:
    """Code of another language than a shell's, such as a tool's argument `code` with `runtime` python."""
    from rightcall.policy.commands.judge import Judge  # late: as above

    judge = Judge(commands, urls, place)
    try:
        if language in ("powershell", "pwsh", "cmd"):
            judge.windows(language, code, place.folders)
        else:
            judge.inline(language, code, place.folders)
    except UnreadableLine as fault:
        judge.add("ask", "command:unreadable", f"the code cannot be read: {fault}")
    except Exception as fault:  # noqa: BLE001 - as above
        judge.add("ask", "command:unreadable", f"the code cannot be judged ({type(fault).__name__})")
    return Judgement(tuple(judge.findings), tuple(judge.paths.values()))


def judge_url(text: str, urls: UrlRules, place: Place, scheme: str = "https") -> Judgement:
    """One address, or those in a text."""
    from rightcall.policy.commands.judge import Judge  # late: as above
    from rightcall.policy.commands.urls import readings

    judge = Judge(CommandRules(), urls, place)
    try:
        if "\0" in text or len(text) > 100_000:
            judge.add(
                "ask", "url:unreadable", "the address cannot be read: it is too long, or has a NUL character in it"
            )
            return Judgement(tuple(judge.findings))
        for one in (*_URLS.findall(text), text) if " " in text.strip() else (text,):
            if re.match(r"[/~](?!/)", one):  # a client may take it for a file
                judge.see(Word(one), place.folders, "reads")
            meant = readings(one, scheme)
            for address in meant:
                judge.address(address)
            if not meant and not _WITHIN.match(one):
                judge.add("ask", "url:unreadable", "the address cannot be read: it names no host")
    except Exception as fault:  # noqa: BLE001 - as above
        judge.add("ask", "url:unreadable", f"the address cannot be judged ({type(fault).__name__})")
    return Judgement(tuple(judge.findings), tuple(judge.paths.values()))
