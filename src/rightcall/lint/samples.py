"""The values that a definition itself shows for an argument: its default, its examples, and those in its text.

No rule proposes a keyword that one of them would break.
"""

from __future__ import annotations

import re
from typing import Any, Final

from rightcall.catalog.tidy import as_list
from rightcall.lint.choices import QUOTED
from rightcall.lint.definitions import Argument

_MARK = (
    r"(?:\be\.?g\b\.?|\bex(?:amples?)?\b\.?|\bfor (?:example|instance)\b|\bsuch as\b|\blike\b|"
    r"\bdefaults? (?:to|is)|\bdefault(?: value)?\b)"
)
_BARE = r"[^\s,;()'\"`]{1,200}"
_SHOWN: Final = re.compile(
    rf"{_MARK}\s*[:=,]?\s*((?:{QUOTED}|{_BARE})(?:(?:,\s*(?:or |and )?|\s+(?:or|and)\s+|\s*/\s*)(?:{QUOTED}|{_BARE}))"
    r"{0,5})",
    re.IGNORECASE,
)
"""What stands behind `e.g.`, `such as` or `defaults to`."""
_PLACEHOLDER: Final = re.compile(r"<[^<>@]*>|[{}\[\]…]|\.\.\.|YYYY|HH", re.IGNORECASE)
_DATED: Final = re.compile(r"(?<![\w.:/+-])\d{4}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?)?)?(?![\w/])")
"""A date or a time, wherever it stands."""


def given_values(argument: Argument) -> list[Any]:
    """The default and the examples that the schema has, `null` left out; of a list, its items."""
    part = argument.part
    given: list[object] = [part.get("default"), part.get("example"), *as_list(part.get("examples"))]
    found: list[Any] = []
    for one in given:
        found += as_list(one) if argument.kind == "array" else [one]
    return [one for one in found if one is not None]


def shown_texts(argument: Argument, text: str) -> list[str]:
    """The texts that the schema and the text show as values. An empty one counts where it is the default."""
    found = [one for one in given_values(argument) if isinstance(one, str)]
    for behind in _SHOWN.finditer(text):
        found += [one[1:-1] for one in re.findall(QUOTED, behind[1])]
        bare = [one.rstrip(".:") for one in re.findall(_BARE, re.sub(QUOTED, " ", behind[1]))]
        found += [
            one
            for one in bare
            if re.search(r"[\d@]|\w[./:]\w|^[a-z]{2}-[A-Z]{2}$", one) or re.fullmatch(r"[A-Z_]{2,}", one)
        ]
    return [one for one in found if not _PLACEHOLDER.search(one)]


def passed_texts(argument: Argument, calls: str) -> list[str]:
    """The values that examples in another text pass: `get_events(start="2024-01-01T00:00:00")`."""
    return re.findall(rf"(?<![\w.]){re.escape(argument.name)}[`'\"]?\s?[=:]\s?[`'\"]([^`'\"\n]{{1,60}})[`'\"]", calls)


def shown_dates(argument: Argument, text: str) -> list[str]:
    """The dates and times among the values, and all others in the text."""
    quoted = [one[1:-1] for behind in _SHOWN.finditer(text) for one in re.findall(QUOTED, behind[1])]
    given = [one for one in given_values(argument) if isinstance(one, str)]
    return [*given, *(one for one in quoted if not _PLACEHOLDER.search(one)), *_DATED.findall(text)]


_SPECIAL: Final = re.compile(
    r"(?<![\w.,-])(-?\d{1,9}(?:\.\d{1,6})?)`?['\"]?(?:\s?(?:=|→|means)|\s(?:for|to|disables?|turns?|is|returns?)\b)|"
    r"\b(?:use|set(?: it)? to|pass|send)\s[`'\"]?(-?\d{1,9}(?:\.\d{1,6})?)\b",
    re.IGNORECASE,
)
"""`0 for no limit`, `-1 means all`"""
_NUMBER: Final = re.compile(r"-?\d{1,12}(?:\.\d{1,6})?")


def shown_numbers(argument: Argument, text: str) -> list[float]:
    """The numbers that the schema and the text show as values."""
    found = [
        float(one) for one in given_values(argument) if isinstance(one, (int, float)) and not isinstance(one, bool)
    ]
    for behind in _SHOWN.finditer(text):
        found += [
            float(one.rstrip("."))
            for one in re.findall(r"[^\s,;()'\"`/]+", behind[1])
            if _NUMBER.fullmatch(one.rstrip("."))
        ]
    return found + [float(one[1] or one[2]) for one in _SPECIAL.finditer(text)]
