"""The records of a check: what a rule found, and the helpers that every group of rules uses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct

from rightcall.base.text import escaped

Severity = Literal["error", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = ("note", "warning", "error")
"""From the mildest to the worst."""

Steps = tuple[str | int, ...]
"""A place in a definition: keys, and positions in lists."""

_SHOWN = 60
_MOST_SHOWN = 4


class Finding(Struct, frozen=True):
    """What a rule found at one place. `tool` is empty for what concerns the whole list."""

    rule: str
    tool: str
    message: str
    remedy: str
    path: Steps = ()
    """The place inside the document that the tool was read from."""
    source: str = ""
    line: int = 0
    number: int = -1
    """Which tool of the list it is."""
    fixable: bool = True
    """Whether `--fix` can do it, where it can do what the rule finds at all."""
    certain: bool = True
    """Whether what was read leaves no doubt. Otherwise it is a note, whatever the rule is."""
    also: tuple[Finding, ...] = ()
    """The same in further places, where it is told once."""


class Hit(Struct, frozen=True):
    """A finding before anybody knows where the tool came from. `path` counts from the tool."""

    rule: str
    message: str
    remedy: str
    path: Steps = ()
    fixable: bool = True
    certain: bool = True


def quote_name(name: str) -> str:
    """A name of somebody else's, safe to show."""
    shown = escaped(name, _SHOWN).replace("`", "'")
    return f"`{shown}`"


def quote_text(text: str, limit: int = _SHOWN) -> str:
    """A short piece of somebody else's text, on one line."""
    return f'"{escaped(" ".join(text.split()), limit)}"'


def join_names(names: Iterable[str], most: int = _MOST_SHOWN) -> str:
    """`a`, `b` and 3 more."""
    listed = list(dict.fromkeys(names))
    shown = ", ".join(map(quote_name, listed[:most]))
    return f"{shown} and {len(listed) - most} more" if len(listed) > most else shown


_KEYED: Final = frozenset(("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"))


def named_steps(path: Steps) -> list[tuple[str, str]]:
    """The names in a place, each with the keyword that holds it: an argument may itself be called `properties`."""
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(path) - 1:
        if path[at] in _KEYED:
            found.append((str(path[at]), str(path[at + 1])))
            at += 1
        at += 1
    return found


_MARKS: Final = re.compile(r"`|\*(?=\S)|(?<=\S)\*|(?<!\w)['\"“”‘’]|['\"“”‘’](?!\w)")


def plain(text: str) -> str:
    """A text without the marks around words: backticks, quotes and asterisks."""
    return _MARKS.sub("", text)


_ARTICLES: Final = re.compile(r"(?:\b(?:an?|the|this|these|optional(?:ly)?[:,]?)|\(optional\))[ \t]+", re.IGNORECASE)
_BLANKS: Final = re.compile(r"[ \t]{2,}")


def bare(text: str) -> str:
    """A text without marks, articles and `optional`: what two authors would have in common."""
    return _BLANKS.sub(" ", _ARTICLES.sub("", plain(text))).strip()


def rank_of(severity: Severity) -> int:
    return SEVERITIES.index(severity)


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())
