"""Cutting a text: at the end of a line, and inside one only where not even the first line fits."""

from contextlib import suppress
from json import loads
from typing import NamedTuple

from rightcall.present.measure import quoted_text


class Loss(NamedTuple):
    """What is left of a list or text: so many of its items or lines."""

    kept: int
    total: int
    line: int = 0
    """Where not even the first line fits whole: how long that is."""


def line_count(text: str) -> int:
    """How many lines a text has; a line break at its end begins no other.

    >>> line_count(""), line_count("a"), line_count("a\\nb\\n")
    (0, 1, 2)
    """
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def cut_text(text: str, room: int, *, as_json: bool) -> tuple[str, Loss]:
    """The first lines of a text that is too long for the room. `as_json`: it is measured as JSON writes it.

    >>> cut_text("one\\ntwo\\nthree", 9, as_json=False)
    ('one\\ntwo', Loss(kept=2, total=3, line=0))
    """
    end = max(min(room, len(text)), 0)
    if as_json:
        end = _end_in_json(text[:end], room)
    if end == len(text):
        return text, Loss(line_count(text), line_count(text))
    stop = end if text[end] == "\n" else text.rfind("\n", 0, end)
    if stop > 0:
        return text[:stop], Loss(text.count("\n", 0, stop) + 1, line_count(text))
    if end < 2:
        return "", Loss(0, line_count(text))
    first = text.find("\n")
    return text[: end - 1] + "…", Loss(0, line_count(text), first if first >= 0 else len(text))


def _end_in_json(text: str, room: int) -> int:
    """How many characters of a text are no longer than `room` in JSON."""
    written = quoted_text(text)
    if len(written) - 2 <= room:
        return len(text)
    for end in range(1 + max(room, 0), 0, -1):
        with suppress(ValueError):  # an escape is cut in the middle; none is longer than six characters
            return len(loads(f'"{written[1:end]}"'))
    return 0
