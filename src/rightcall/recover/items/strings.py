"""Strings of a notation whose quotes are sure: lifted out before the lenient reader, which would weigh every quote,
and put back into what it read."""

from __future__ import annotations

import re
from typing import Any

from rightcall.parse.escapes import unescape
from rightcall.parse.kinds import is_list, is_object
from rightcall.parse.late import Late

_MARK = "\ue000"
"""Stands, with a number, for a string; from a part of Unicode that no text uses."""

_TOKEN = Late(rf"{_MARK}(\d+)")
_QUOTE = Late(r"[\"']")
_INSIDE = {quote: Late(rf"[^{quote}\\]*(?:\\.[^{quote}\\]*)*", re.S) for quote in "\"'"}
_PREFIX = Late(r"(?<![\w.])[rRbBuUfF]{1,2}$")
_BEFORE = frozenset("([{,:=")
_JOINS = frozenset("(=")
"""After these a string beside a string is its other half; in a list a comma may be missing."""


class Lifted:
    """A text whose strings have been replaced by tokens."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.strings: list[str] = []
        self.sound = True
        """False where the text itself has the mark."""

    def add(self, text: str) -> None:
        self.sound = self.sound and _MARK not in text
        self.parts.append(text)

    def lift(self, string: str) -> None:
        self.parts.append(f'"{_MARK}{len(self.strings)}"')
        self.strings.append(string)

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def restored(self, value: Any) -> Any:
        """`value` with its strings back in their places, keys included."""
        if isinstance(value, str):
            return _TOKEN.sub(lambda found: self.strings[int(found[1])], value) if _MARK in value else value
        if is_object(value):
            return {self.restored(key): self.restored(item) for key, item in value.items()}
        if is_list(value):
            return [self.restored(item) for item in value]
        return value


def lift_python(text: str) -> Lifted | None:
    """The strings of a Python expression; None where its quotes do not pair as Python pairs them."""
    lifted = Lifted()
    at, joins = 0, False
    while (found := _QUOTE.search(text, at)) is not None:
        start, quote = found.start(), found[0]
        head = text[at:start]
        prefix = _PREFIX.search(head)
        before = (head[: prefix.start()] if prefix else head).rstrip()
        joined = joins and not before
        if not joined and before[-1:] not in _BEFORE:
            return None
        raw, end = _raw(text, start, quote)
        if end < 0:
            return None
        if "{" in raw and prefix and "f" in prefix[0].lower():
            return None  # it has no value before it is run
        decoded = unescape(raw) if "\\" in raw and not (prefix and "r" in prefix[0].lower()) else None
        if decoded is not None and (decoded.broken or decoded.lone):
            return None
        string = raw if decoded is None else decoded.text
        if joined:
            lifted.strings[-1] += string
        else:
            joins = before[-1:] in _JOINS
            lifted.add(head[: prefix.start()] if prefix else head)
            lifted.lift(string)
        at = end
    lifted.add(text[at:])
    return lifted if lifted.sound else None


def _raw(text: str, start: int, quote: str) -> tuple[str, int]:
    """What stands between the quotes, and where the text goes on; -1 when they never close."""
    if text.startswith(quote * 3, start):
        end = text.find(quote * 3, start + 3)
        return text[start + 3 : end], end + 3 if end >= 0 else -1
    end = _INSIDE[quote].match(text, start + 1).end()  # type: ignore[union-attr]
    return text[start + 1 : end], end + 1 if text[end : end + 1] == quote else -1
