"""Where a bracket closes, in a text that is still growing: strings are stepped over, nothing is looked at twice."""

from __future__ import annotations

import re

_STOP = re.compile(r"[\"'{}\[\]()]")
_INSIDE = {quote: re.compile(rf"[^{quote}\\]*(?:\\.[^{quote}\\]*)*", re.S) for quote in "\"'"}
_BEFORE_STRING = frozenset("{[(,:=")
"""A single quote opens a string only after one of these; anywhere else it is an apostrophe."""


class Balance:
    """Counts the brackets from the one at `start`. `quote` is the string it stands in, if any."""

    __slots__ = ("at", "depth", "quote", "start")

    def __init__(self, start: int) -> None:
        self.start = self.at = start
        self.depth = 0
        self.quote = ""

    def advance(self, text: str, limit: int) -> int:
        """Go on up to `limit`. The position after the closing bracket, or -1 when it has not come yet."""
        at: int = self.at
        while at < limit:
            if self.quote:
                at = _INSIDE[self.quote].match(text, at, limit).end()  # type: ignore[union-attr]
                if at >= limit or text[at] != self.quote:
                    break  # the string goes on, or the text ends with half an escape
                self.quote = ""
                at += 1
                continue
            found = _STOP.search(text, at, limit)
            if found is None:
                at = limit
                break
            at = found.end()
            char = found[0]
            if char in "{[(":
                self.depth += 1
            elif char in "}])":
                self.depth -= 1
                if self.depth <= 0:
                    self.at = at
                    return at
            elif char == '"' or self._opens(text, at - 1):
                self.quote = char
        self.at = at
        return -1

    def _opens(self, text: str, at: int) -> bool:
        before = at - 1
        while before > self.start and text[before].isspace() and at - before < 200:
            before -= 1
        return text[before] in _BEFORE_STRING
