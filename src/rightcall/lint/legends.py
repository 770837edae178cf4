"""The values of an argument of which a text tells what each one means: `EXP expired, BRK broken bag`.

A text is taken apart into clauses. Those that follow each other and begin with a value written in one way (a code in
capitals, a word in marks, a word with a capital, or a plain word with its verb) are a legend.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rightcall.gate.repair.words import singular
from rightcall.lint.choices import ACRONYMS, MOST_TEXT, QUOTED, is_example, is_open
from rightcall.lint.findings import word_set

_BREAK: Final = re.compile(
    r"[;:.](?=\s|$)|,(?=\s)|\n|(?<=\s)[–—-](?=\s['\"`])|(?<=\s)(?:or|and|while|whereas|but)(?=\s)"
)
_ENDS: Final = frozenset(("", *".:–—-"))
_BRACKETS: Final = re.compile(r"\(([^()\n]{0,400})\)")
_JOINS: Final = re.compile(r"^(?:(?:or|and|while|whereas|but|use|pass|then|finally)\s+){1,3}", re.IGNORECASE)
_SIGN = r"\s?(?:=|->|→)|\s[–—-]\s|\s(?:means|stands for)\b"
_MARKED: Final = re.compile(rf"({QUOTED})(?:{_SIGN}|\s(?!(?:or|and)\b)(?=[a-z]))")
_CODED: Final = re.compile(
    rf"([A-Z][A-Z\d]{{0,9}}(?:[_-][A-Z\d]+){{0,3}})(?![\w/.'-])(?:{_SIGN}|\s(?!(?:or|and)\b)(?=[a-z]))"
)
_VERB = r"(?:is|has|does|[a-z]{2,12}(?<!s)(?<!thi)(?<!plu)s)(?!\w)"
_TITLED: Final = re.compile(rf"([A-Z][a-z\d]+(?:[A-Z][a-z\d]*){{0,4}})(?:{_SIGN}|\s{_VERB})")
_WORDED: Final = re.compile(rf"([a-z][a-z\d]*(?:[_-][a-z\d]+){{0,4}})(?:{_SIGN}|\s{_VERB})")
_IS_VERB: Final = re.compile(
    r"\S+ (?:is|has|means|does|goes|stands|\w+s (?:it|its|the|an?|all|both|one|every|each|no|none|nothing|them|"
    r"everything|only|once|what|whatever|any|more|less|first))\b|\S+\s?(?:=|->|→)|\S+\s[–—-]\s"
)
"""A clause whose second word is a verb, and no noun in the plural as in `order items`."""
_KINDS: Final = (_MARKED, _CODED, _TITLED, _WORDED)
_PAIR = 2
_SUBJECTS: Final = word_set(
    "it he she this that these those each what which who there here everything nothing anything something one "
    "otherwise if when as the a an any all server tool api default value text name also only so not service caller "
    "user note i we you us they name names"
)
"""First words of clauses that name no value."""
_EMPHATIC: Final = word_set("not must never only always important note warning required optional do don if i")


@dataclass
class _Legend:
    """Clauses that follow each other and begin with values of one kind."""

    kind: re.Pattern[str]
    clauses: list[str]
    values: list[str]
    at: int = 0
    more: int = 0
    """Clauses that go on with the one before."""


def told_one_by_one(text: str, *, asked: bool, at_start: bool = False) -> list[str]:
    """The values of a text that tells what each of them means. `asked`: the argument has a few values, to go by its
    name. `at_start`: the legend must be the first thing in the text.

    >>> told_one_by_one("Board: RO has none, BB breakfast, FB all three.", asked=False)
    ['RO', 'BB', 'FB']
    """
    text = text[:MOST_TEXT]
    inside = [] if at_start else [one[1] for one in _BRACKETS.finditer(text) if not is_example(text, one.start())]
    for block in (_BRACKETS.sub(" ", text), *inside):
        for legend in _legends(block, at_start=at_start):
            beside = block
            for one in legend.clauses:
                beside = beside.replace(one, " ")
            if _is_whole(legend, asked=asked) and not is_example(block, legend.at) and not is_open(f". {beside}", 0):
                return legend.values
    return []


def _legends(text: str, *, at_start: bool) -> Iterator[_Legend]:
    legend: _Legend | None = None
    at, sign = 0, "."
    for found in [*_BREAK.finditer(text), None]:
        clause = _JOINS.sub("", text[at : found.start() if found is not None else None].strip(), count=1)
        kind, value = _entry(clause)
        if legend is not None and kind is legend.kind:
            legend.values.append(value)
            legend.clauses.append(clause)
        elif legend is not None and sign not in _ENDS:
            legend.more += 1
            legend.clauses.append(clause)
        elif clause:
            if legend is not None or (at_start and kind is None):
                yield from [legend] if legend is not None else []
            legend = _Legend(kind, [clause], [value], at) if kind is not None and sign in _ENDS | {";"} else None
            if at_start and legend is None:
                return
        at, sign = (found.end(), found[0].strip()) if found is not None else (at, "")
    if legend is not None:
        yield legend


def _entry(clause: str) -> tuple[re.Pattern[str] | None, str]:
    """How a clause writes the value with which it begins, and the value."""
    found = next((one for kind in _KINDS if (one := kind.match(clause)) is not None), None)
    value = found[1].strip("'\"`") if found is not None else ""
    said = value.lower() in (_EMPHATIC if value.isupper() else _SUBJECTS)
    return (None, "") if found is None or said else (found.re, value)


def _is_whole(legend: _Legend, *, asked: bool) -> bool:
    """Whether the clauses tell of values, and are not sentences about something else."""
    values = legend.values
    lowered = {value.lower() for value in values}
    if len(lowered) < _PAIR or len(lowered) < len(values) or legend.more > len(values):
        return False
    many = len(values) > _PAIR
    if legend.kind is _CODED:
        return (many or asked) and len(lowered & ACRONYMS) * 3 <= len(lowered)
    told = any(_IS_VERB.match(clause) for clause in legend.clauses)
    nouns = sum(singular(value) != value for value in lowered)
    if legend.kind is _TITLED:
        camel = any(re.search(r"[a-z][A-Z]", value) for value in values)
        return told and (asked or (many and camel))
    return asked or many if legend.kind is _MARKED else told and nouns * 2 < len(values) and (asked or many)
