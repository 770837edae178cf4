"""Formats that nobody reads: texts that looked like a call, held none for the gate, and were followed by the call that
was meant. What they have in common is their signs, once names and values are taken out."""

import re
from collections.abc import Iterator
from typing import Any, Final

from rightcall.learn.clues import Clue
from rightcall.learn.retries import Retry, leaves

_LONGEST_TEXT: Final = 20_000
_LONGEST_SKELETON: Final = 120
_NEAR: Final = 6
_SHARE: Final = 0.6
"""Of the values of the call, so many must stand in the text."""
_BEFORE: Final = re.compile(r"(?:\S+[ \t]?|\S+\n)?\S*$")
_AFTER: Final = re.compile(r"\S*")
_SIGNS: Final = re.compile(r"[=:(\[{<>|\"'`,;~@#$%^&*/\\-]")
_QUOTED: Final = re.compile(r"[\"'`]?VALUE[\"'`]?")
"""Texts have quotes and numbers have none: both are the same format."""
_JOINS: Final = re.compile(r"^[\s\"'`]*(?:[=:>|~({\[<→⇒≔]|->|=>|:=|is\b)[\s\"'`]*$")


def unread_clues(retry: Retry) -> Iterator[Clue]:
    """The shape of a text that was meant as the call after it; nothing where it only talks about one."""
    call, text = retry.corrected.call, retry.mistake.emitted.text
    if call is None or not text or len(text) > _LONGEST_TEXT:
        return
    shape = _QUOTED.sub("VALUE", skeleton_of(text, call.name, call.arguments))
    if shape:
        yield Clue("format", "", "", shape, '""', text[:_LONGEST_SKELETON])


def skeleton_of(text: str, tool: str, arguments: Any) -> str:
    """The signs of a call as it was written: TOOL, ARG and VALUE in the place of what differs from call to call.

    >>> skeleton_of("ok [[forecast|city=Bern|days=3]]", "forecast", {"city": "Bern", "days": 3})
    '[[TOOL|ARG=VALUE]]'
    """
    found = re.search(rf"(?<![\w]){re.escape(tool)}(?![\w])", text, re.IGNORECASE)
    pairs = [(name, value) for name, value in leaves(arguments) if value]
    if found is None or not pairs:
        return ""
    spans = list(_spans(text, pairs))
    if len(spans) < _SHARE * len(pairs):
        return _in_order(text, found.end(), found.start(), [value for _, value in pairs])
    first, last = min(spans), max(spans)
    joins, marked = text[first[1] : first[2]], text[first[0] - 1 : first[0]] in ("-", "/", "$", "@", ":")
    if _JOINS.match(joins) is None and not (marked and joins.isspace()):
        return ""
    start, end = min(found.start(), first[0]), max(found.end(), last[3])
    return _drawn(text, (start, end), (found.start(), found.end()), spans)


def _in_order(text: str, after: int, start: int, values: list[str]) -> str:
    """The same without names of arguments: the tool, and its values one behind the other."""
    low, at, signs = text.casefold(), after, list[str]()
    for value in values:
        found = low.find(value, at)
        if found < 0 or found - at > _NEAR or re.search(r"\w", text[at:found]):
            return ""
        signs.append(text[at:found])
        at = found + len(value)
    tail = _AFTER.match(text[at : at + 20])
    before = _BEFORE.search(text[max(0, start - 40) : start])
    shape = f"{_signs(before[0] if before else '')}TOOL{signs[0]}VALUE{(tail[0] if tail else '').rstrip('.,')}"
    return " ".join(shape.split()) if signs[0].strip() else ""


def _spans(text: str, pairs: list[tuple[str, str]]) -> Iterator[tuple[int, int, int, int]]:
    """Where the name of an argument stands before its value: both begin and end."""
    low = text.casefold()
    for name, value in pairs:
        pattern = rf"(?<!\w){re.escape(name.casefold())}(?!\w)(.{{1,12}}?)(?<!\w){re.escape(value)}"
        found = re.search(pattern, low, re.DOTALL)
        if found is not None and len(low) == len(text):
            yield found.start(), found.start(1), found.end(1), found.end()


def _drawn(text: str, whole: tuple[int, int], tool: tuple[int, int], spans: list[tuple[int, int, int, int]]) -> str:
    marks = sorted([(*tool, "TOOL"), *((one[0], one[3], "ARG" + text[one[1] : one[2]] + "VALUE") for one in spans)])
    before = _BEFORE.search(text[max(0, whole[0] - 40) : whole[0]])
    after = _AFTER.match(text[whole[1] : whole[1] + 20])
    parts = [_signs(before[0] if before else "")]
    at, given = marks[0][0], 0
    for start, end, mark in marks:
        between = text[at:start] if start >= at else ""
        given += mark != "TOOL"
        if given <= 1:
            parts += [between, mark]
        at = max(at, end)
    shape = " ".join("".join([*parts, (after[0] if after else "").rstrip(".,")]).split())
    return shape[:_LONGEST_SKELETON] if _SIGNS.search(shape.replace("VALUE", "")) else ""


def _signs(before: str) -> str:
    """What stands just before a call and belongs to it: signs, a tag, a word in capitals. Prose does not."""
    glued = re.search(r"\S*$", before)
    own = glued[0] if glued else ""
    if own:
        return own if _SIGNS.search(own) or own.isupper() else ""
    word = before.strip()
    return f"{word} " if word.isupper() or word[-1:] in (":", ">", "]") else ""
