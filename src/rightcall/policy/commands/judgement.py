"""The judgement of a command line, of code or of an address: what asks or is refused, and the paths in it.

A plain line is judged at once; all others by `judge.py`, which is loaded for them. Never raises, and takes time in the
length of the text: what is too long, too deep or cannot be read asks.
"""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from rightcall.base.json.marks import Late
from rightcall.policy.commands import CommandRules, UrlRules
from rightcall.policy.commands.places import Place, SeenPath
from rightcall.policy.commands.plain import plain_paths
from rightcall.policy.commands.words import Unreadable, Word
from rightcall.policy.types import Finding

Answer = Literal["allow", "ask", "deny"]
_STRENGTH = {"allow": 0, "ask": 1, "deny": 2}
_URLS = Late(r"[A-Za-z][A-Za-z0-9+.-]{1,20}:/[^\s<>\"']+")
"""Addresses within a text, such as a prompt that says what to fetch."""
_WITHIN = Late(r"\s*(?:[/?#](?![/\\]).*)?\Z", re.DOTALL)
"""Nothing, or a place on a site that the tool knows: `/`, `?page=2`, `#top`."""
_OWN = Late("[\ue000-\ue01f]")


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
                raise Unreadable("it has private characters in it")
            judge.script(command, place.folders, depth=0)
        else:
            judge.listed(command)
    except Unreadable as fault:
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
    except Unreadable as fault:
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
