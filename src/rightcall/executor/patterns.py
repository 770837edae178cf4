"""Patterns for files in the arguments of a tool. One is refused by what it says (`base.files.rules.glob_rule`), by
where its fixed beginning leads (`pub/*`, where `pub` is a link to a denied folder), and, where the tool shows what is
in the files, by what it matches on the disk.

    ../app/pub/p*.md ─▶ fixed beginning ../app/pub, followed: private ─▶ private/p*.md is judged
"""

import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from glob import escape
from itertools import islice

from msgspec import Struct

from rightcall.base.files.guarded import NOWHERE, POLICY_FILE, Unjudged, destinations, follow
from rightcall.base.files.rules import UNJUDGED, PathRules, glob_rule, pattern_forms
from rightcall.base.globs import GlobFault
from rightcall.executor.rights import STATE_FOLDER
from rightcall.policy.settings import Paths

_MOST_STARTS = 20
"""Folders from which a pattern may count."""
_MOST_SEEN = 2_000
"""Names on the disk that are looked at for one pattern: a broader one is for the tool itself to bound."""


class Ground(Struct, frozen=True):
    """Where patterns count from."""

    root: str
    """As it is written, and where it leads."""
    base: str
    starts: tuple[str, ...]
    """As seen from the base."""


def pattern_rule(pattern: str, said: Paths, rules: PathRules, ground: Ground, *, shown: bool) -> str | None:
    """The rule that refuses a pattern. `shown`: the tool shows what is in the files."""
    starts = ground.starts[:_MOST_STARTS]
    rule = glob_rule(pattern, said.deny, said.allow, said.dotfiles, root=ground.root, starts=starts)
    if rule is not None:
        return rule
    try:
        for form in pattern_forms(pattern):
            head, tail = _split(form)
            for folder, led in _follow_heads(ground.base, starts, head):
                under = below(led, ground.base)
                if led != os.path.join(folder, head).rstrip("/"):
                    rule = _rule_of(under, rules) if not tail else _rule_in(under, tail, said)
                if rule is None and tail and shown:
                    rule = next(_find_rules(_matches(led, tail.split("/")), rules, ground.base), None)
                if rule is not None:
                    return rule
    except (GlobFault, Unjudged):
        return UNJUDGED
    return None


def _split(form: str) -> tuple[str, str]:
    """The folders before the first wildcard, and the rest; the whole of it where there is none.

    >>> _split("a/b/*.py"), _split("/a/b"), _split("**/x")
    (('a/b', '*.py'), ('/a/b', ''), ('', '**/x'))
    """
    parts = form.split("/")
    fixed = next((at for at, part in enumerate(parts) if "*" in part or "?" in part), len(parts))
    return "/".join(parts[:fixed]), "/".join(parts[fixed:])


def _follow_heads(base: str, starts: Iterable[str], head: str) -> Iterator[tuple[str, str]]:
    """Each folder that a pattern may count from, and where its beginning leads from there."""
    for start in starts:
        if start != NOWHERE:
            folder = os.path.normpath(os.path.join(base, start))
            yield from ((folder, led) for led in destinations(folder, head or "."))


def _rule_in(folder: str, tail: str, said: Paths) -> str | None:
    return glob_rule(f"{escape(folder)}/{tail}", said.deny, said.allow, said.dotfiles)


def _find_rules(found: Iterable[str], rules: PathRules, base: str) -> Iterator[str]:
    for path in islice(found, _MOST_SEEN):
        to = follow(path)
        rule = UNJUDGED if to == NOWHERE else _rule_of(below(path, base), rules) or _rule_of(below(to, base), rules)
        if rule is not None:
            yield rule


def _rule_of(path: str, rules: PathRules) -> str | None:
    names = path.split("/")
    return "path:deny" if names[-1] == POLICY_FILE or STATE_FOLDER in names else rules.named(path)


def _matches(folder: str, parts: list[str], seen: list[str] | None = None) -> Iterator[str]:
    """What is there that a pattern of components stands for, as far as it is looked at."""
    seen = [] if seen is None else seen
    part, rest = parts[0], [one for one in parts[1:] if one]
    names = _names(folder, part, seen) if "*" in part or "?" in part else [part]
    if part == "**" and rest:
        yield from _matches(folder, rest, seen)
    for name in names:
        path = f"{folder.rstrip('/')}/{name}"
        if part == "**" and os.path.isdir(path) and not os.path.islink(path):
            yield from _matches(path, parts, seen)
        elif rest and part != "**":
            yield from _matches(path, rest, seen)
        elif not rest and os.path.lexists(path):
            yield path


def _names(folder: str, part: str, seen: list[str]) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, max(0, _MOST_SEEN - len(seen)))]
    except OSError:
        return []
    seen += names
    return [name for name in names if fnmatchcase(name, part) and (name[0] != "." or part[0] == ".")]


def below(whole: str, base: str) -> str:
    top = base.rstrip("/") + "/"
    return whole[len(top) :] if whole.startswith(top) else "." if whole == base else whole
