"""Whether a call is one that a grant was given for. Strict: what is not clearly meant is asked about instead.

A grant names arguments and their values. A text with `*` is a pattern: `*` stands for any characters of one component
of a path, `**` for components too. Neither ever stands for anything that could lead elsewhere: see `_tame`.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from rightcall.types_running import Grant

LONGEST = 4096
"""Characters of a text that a pattern is tried on; a longer one is a matter for a person."""

_ENDS = frozenset("/\\")  # of a component, on any system
_SHELL = frozenset(";&|<>$`")
_COMPONENTS = re.compile(r"[/\\]")
_ROOTED = re.compile(r"[/\\~]|[A-Za-z]:")
_ENCODED = re.compile(r"%(?:2[ef5]|5c|0[0-9a-f]|1[0-9a-f]|7f)", re.IGNORECASE)
_STARS = re.compile(r"(\*+)")


def grant_matches(grant: Grant, arguments: Mapping[str, Any]) -> bool:
    """Whether the arguments are among those that the grant names. Those it does not name may be anything; caller,
    tool, expiry and uses are the policy's to check."""
    return all(name in arguments and _fits(wanted, arguments[name]) for name, wanted in grant.where.items())


def _fits(wanted: Any, value: Any) -> bool:
    if isinstance(wanted, str) and "*" in wanted:
        return isinstance(value, str) and matches_pattern(wanted, value)
    return same_json(wanted, value)


def same_json(one: Any, other: Any) -> bool:
    """The same value of the same type: 1, 1.0, true and "1" are four different things.

    >>> same_json({"a": [1]}, {"a": [1]}), same_json(1, True), same_json(1, 1.0)
    (True, False, False)
    """
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        left, right = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return left.keys() == right.keys() and all(same_json(left[key], right[key]) for key in left)
    if isinstance(one, list):
        items, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(items) == len(others) and all(map(same_json, items, others))
    return one == other


def matches_pattern(pattern: str, value: str) -> bool:
    """Whether a text is one that the pattern describes, as a whole and letter by letter.

    >>> matches_pattern("docs/*.md", "docs/a.md"), matches_pattern("docs/*.md", "docs/a/b.md")
    (True, False)
    >>> matches_pattern("docs/**", "docs/a/b.md"), matches_pattern("docs/**", "docs/../secrets")
    (True, False)
    """
    return len(value) <= LONGEST and _tame(value) and _same_ends(pattern, value) and _simulate(_tokens(pattern), value)


def can_match(pattern: str) -> bool:
    """Whether there is any text that the pattern describes: not when what it spells out is never matched."""
    return bool(pattern) and _tame(pattern)


def _same_ends(pattern: str, value: str) -> bool:
    """What starts at a root, and a folder as such (`docs/`), are only meant where the pattern says so."""
    rooted = _ROOTED.match(value)
    if rooted and not pattern.startswith(rooted.group()):
        return False
    return value != "" and (value[-1] not in _ENDS or pattern[-1] in _ENDS)


def _tame(value: str) -> bool:
    """No component of dots alone, nothing invisible, no line break; not in another spelling either."""
    if not value.isprintable() or _ENCODED.search(value):
        return False
    spellings = {value}
    if not value.isascii():
        from unicodedata import normalize  # a lookup table, loaded only when a text needs it

        spellings.add(normalize("NFKC", value))
    return not any("." in part and not part.strip(". ") for text in spellings for part in _COMPONENTS.split(text))


def _tokens(pattern: str) -> list[str]:
    """Single characters, `*` and `**`."""
    tokens: list[str] = []
    for piece in _STARS.split(pattern):
        if piece.startswith("*"):
            tokens.append(piece[:2])
        else:
            tokens += piece
    return tokens


def _simulate(tokens: list[str], value: str) -> bool:
    """All ways to match at once, as bits of a number: linear in the text, whatever the pattern."""
    stars = sum(1 << at for at, token in enumerate(tokens) if token in ("*", "**"))
    wide = sum(1 << at for at, token in enumerate(tokens) if token == "**")
    plain: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if not stars >> at & 1:
            plain[token] = plain.get(token, 0) | 1 << at
    state = 1 | (1 & stars) << 1
    before = "/"
    for character in value:
        hidden = character == "." and before in _ENDS  # a dotfile is only meant where the dot is written
        stay = 0 if hidden or character in _SHELL else wide if character in _ENDS else stars
        state = (state & plain.get(character, 0)) << 1 | state & stay
        state |= (state & stars) << 1
        before = character
    return bool(state >> len(tokens) & 1)
