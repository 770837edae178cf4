"""RC306, RC311, RC314: what the text of a tool tells a model to pass, where the argument itself tells otherwise.

A sentence counts that names the argument and says how to give it. What both sides tell in two ways (`in cents: 1250 is
12.50`) is an explanation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rightcall.gate.repair.words import words_of
from rightcall.lint.alternatives import spoken_name
from rightcall.lint.definitions import Argument, ToolView
from rightcall.lint.findings import Hit, quote_name
from rightcall.lint.numbers import MOST_DESCRIPTION, in_one_line, unit_of

_WAYS: Final = (
    ("counted from 0", r"\b(?:0|zero)[- ](?:based|indexed)\b|\b(?:from|at|is) (?:0|zero)\b(?! ?(?:to|-|–|and)\b)"),
    ("counted from 1", r"\b(?:1|one)[- ](?:based|indexed)\b|\b(?:from|at|is) (?:1|one)\b(?! ?(?:to|-|–|and|of)\b)"),
    ("", ""),
    ("a percentage", r"\bpercent(?:age)?\b|\d ?%|\b0 ?(?:to|-|–|and) ?100\b"),
    ("a fraction", r"\bfraction\b|\b0(?:\.0)? ?(?:to|-|–|and) ?1(?:\.0)?\b(?!\.?\d)"),
    ("", ""),
    ("a timestamp", r"\b(?:unix|epoch|seconds since)\b"),
    ("a date", r"\bas (?:an? )?(?:[\w-]+ )?date\b(?!-?time)|YYYY-MM-DD(?![T ]?HH)|\b\d{4}-\d\d-\d\d\b(?!T)"),
    ("a date with a time", r"\bdate-time\b|\d{4}-\d\d-\d\dT\d\d|YYYY-MM-DD[T ]HH"),
    ("a time of day", r"(?<!T)\bHH:MM\b|(?<![T\d:])\d\d:\d\d\b"),
    ("", ""),
    ("a name", r"\b(?:names?|titles?)\b"),
    ("an ID", r"\b(?:IDs?|UUIDs?|identifiers?|numeric)\b"),
    ("", ""),
    ("a number with decimals", r"\bdecimals?\b(?! separator)|(?<![\d.,])\d+\.\d+(?![\d.])"),
    ("a whole number", r"\b(?:integer|whole number)\b|(?<![\d.,-])\d+(?![\d.,-]|\w)"),
)  # fmt: skip
"""Ways to write a value, of which only one can be meant of those between two empty lines."""
_FOUND: Final = tuple((way, re.compile(pattern, re.IGNORECASE)) for way, pattern in _WAYS)
_IN_UNIT: Final = re.compile(
    r"\b(?:in|of|\d) ?(?:(?:whole|full|decimal|integer|plain) )?(minor units|[a-z]{2,14}|[A-Z]{3})\b", re.IGNORECASE
)
_RANGE: Final = re.compile(
    r"\b(?:from|between|of) (-?\d{1,9}(?:\.\d{1,3})?) ?(?:to|and|-|–) ?(-?\d{1,9}(?:\.\d{1,3})?)(?![\w.]*\d)"
)
_GIVEN: Final = (
    r"(?:(?:^|[,;:] |\b(?:and|then|please|always|must|should) )(?:give|pass|write|enter|state|send|specify|provide|put|"
    r"supply|identify|express|set|use|name|type)\b[^,;:\n]{{0,40}}?(?<![\w-]){0}(?:e?s)?(?![\w-])|"
    r"(?<![\w-])(?<!of the ){0}(?:e?s)? (?:(?:is|are) (?:given|measured|counted|written|told|passed|in|as|an?|always|"
    r"decimal|whole|the)|must be|should be|has to be|have to be|goes|go|runs?|ranges?|takes?|expects?|in|as|is the)\b|"
    r"\b{0}(?:e?s)?:? (?:1|0) is\b)"
)
"""A sentence that tells how to give the argument."""


def find_clashes(argument: Argument, tool: ToolView) -> Iterator[Hit]:
    words = words_of(argument.name)
    united = len(words) > 1 and unit_of(words[-1])
    words = words[:-1] if united else words
    text = tool.description[:MOST_DESCRIPTION]
    lowered = text.lower()
    if not words or argument not in tool.top or not all(word in lowered for word in words):
        return
    given = re.compile(_GIVEN.format(spoken_name("_".join(words))), re.IGNORECASE)
    own = f"{' '.join(words)} {argument.description}"
    for sentence in re.split(r"(?<=[.;])\s+(?=[A-Z])|\n", text):
        if given.search(sentence) is None:
            continue
        hit = _clash(argument, own, re.sub(r"\d+ ?[a-z]+", " ", sentence) if united else sentence)
        if hit is not None:
            yield hit
            return


def _clash(argument: Argument, own: str, told: str) -> Hit | None:
    name, schema = quote_name(argument.name), argument.schema
    unit, measured = _unit(told), _unit(own) or unit_of(words_of(argument.name)[-1])
    if unit and measured and unit != measured and in_one_line(unit, measured):
        text = f"{name} is in {measured}, and the text of the tool says {unit}"
        return Hit("RC314", text, "make them the same", argument.path)
    ranged, most = _RANGE.search(told), schema.get("maximum")
    numbers = [float(one) for one in re.findall(r"\d{1,9}(?:\.\d{1,3})?", told)]
    if ranged is not None and isinstance(most, int | float) and most not in numbers:
        text = f"the text of the tool gives another range of {name} than the schema"
        return Hit("RC311", text, "make them the same", argument.path)
    mine, theirs = _ways(own, argument), _ways(told)
    for one, other in zip(mine, theirs, strict=True):
        if len(one) == len(other) == 1 and one != other and argument.kind != "array":
            text = f"{name} is {one[0]}, and the text of the tool says {other[0]}"
            return Hit("RC306", text, "make them the same", argument.path)
    return None


def _unit(text: str) -> str:
    """The first unit that a text gives a value in."""
    units = (unit_of("cents" if one == "minor units" else one) for one in map(str.lower, _IN_UNIT.findall(text)))
    return next(filter(None, units), "")


def _ways(text: str, argument: Argument | None = None) -> list[list[str]]:
    """The ways that a text tells, in groups that exclude each other. The type of an argument is one, too."""
    groups: list[list[str]] = [[]]
    for way, pattern in _FOUND:
        if not way:
            groups.append([])
        elif pattern.search(text):
            groups[-1].append(way)
    if argument is not None:
        groups[-1] = ["a whole number"] if argument.kind == "integer" else []
        if argument.schema.get("format") in ("date-time", "date"):
            groups[2] = ["a date" if argument.schema["format"] == "date" else "a date with a time"]
    return groups
