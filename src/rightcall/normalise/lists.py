"""Lists written as one text: `a, b` is two items, `Smith, John <j@x.com>`, `May 5, 2026` and `f(a, b)` may be one."""

from __future__ import annotations

import re
from itertools import pairwise

from rightcall.parse.late import Late
from rightcall.parse.scalars import read_number
from rightcall.parse.shape import Shape

_GROUPED = Late(r"[-+]?\d{1,3}(?:[, ]\d{3})+")
_TIGHT = Late(r"[,;|](?=\S)")
_DECIMAL = Late(r"\d,\d")
_PLACE = Late(r"[/\\]|^~|^\w:")
_ENDING = Late(r"\w\.[A-Za-z]\w{0,4}$")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = Late(rf"(?:.*\s)?(?:{_MONTH}(?:\s+\d{{1,2}}(?:st|nd|rd|th)?)?|\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH})", re.I)
_YEAR = Late(r"(?:19|20)\d\d\b.*")
_WEEKDAY = Late(r"(?:.*\s)?(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?", re.I)
_SUFFIXES = frozenset(["inc", "ltd", "llc", "corp", "co", "gmbh", "jr", "sr", "ii", "iii", "phd", "md", "esq"])
_STATES = frozenset([
    "AL", "AK", "AZ", "AR", "CA", "CO", "CT", "DE", "FL", "GA", "HI", "ID", "IL", "IN", "IA", "KS", "KY", "LA",
    "ME", "MD", "MA", "MI", "MN", "MS", "MO", "MT", "NE", "NV", "NH", "NJ", "NM", "NY", "NC", "ND", "OH", "OK",
    "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VT", "VA", "WA", "WV", "WI", "WY", "DC",
])  # fmt: skip
_BRACKETS = ("()", "[]", "{}", "<>")


def parts_of(body: str, items: Shape) -> list[str] | None:
    """The items of `a, b`; None where it could be fewer or more: `1,200`, `salt, pepper and basil`.

    >>> parts_of("red, blue", Shape()), parts_of("May 5, 2026", Shape())
    (['red', 'blue'], None)
    """
    if _GROUPED.fullmatch(body) or not any(char.isalnum() for char in body):
        return None
    if "," in body and ";" in body:
        return None  # `1,2;3,4`: a list of lists, or commas inside the items
    separator = "," if "," in body else ";" if ";" in body else "|"
    parts = [part.strip() for part in body.split(separator) if part.strip()]
    if len(parts) > 1 and any(part[0] in "\"'" and part[0] != part[-1] for part in parts):
        return None  # a separator inside quotes
    tight = _TIGHT.search(body) is not None
    if len(parts) > 1 and items.enum is None and _may_be_one(body, parts, items, tight=tight):
        return None
    parts = [part.strip("\"'").removeprefix("and ").strip() for part in parts]
    return None if len(parts) > 1 and " and " in parts[-1] else parts


def _may_be_one(body: str, parts: list[str], items: Shape, *, tight: bool) -> bool:
    """Whether a separator may belong to an item."""
    numbers = all(read_number(part) is not None for part in parts)
    if _DECIMAL.search(body) and (not numbers or (len(parts) == 2 and "number" in items.types)):
        return True  # `size 1,5 m`
    if any(part.count(pair[0]) != part.count(pair[1]) for part in parts for pair in _BRACKETS):
        return True
    if 0 < sum("@" in part for part in parts) < len(parts) and "<" in body:
        return True
    if tight and (any(_PLACE.search(part) for part in parts) or 0 < sum(map(_ends, parts)) < len(parts)):
        return True  # a path or an address may hold a comma
    return any(_belong(one, other) for one, other in pairwise(parts))


def _ends(part: str) -> bool:
    return _ENDING.search(part) is not None


def _belong(one: str, other: str) -> bool:
    """A day and its year, a firm or a person and a suffix, a town and its state."""
    if _DAY.fullmatch(one) and _YEAR.fullmatch(other):
        return True
    if _WEEKDAY.fullmatch(one) and _DAY.fullmatch(other) and any(char.isdigit() for char in other):
        return True
    if other.lower().replace(".", "") in _SUFFIXES and one[-1:].isalpha() and len(one) > 2:
        return True
    return other in _STATES and len(one) > 2 and one[0].isupper() and one not in _STATES
