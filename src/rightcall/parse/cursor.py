"""A place in a text, what was noticed so far, and the way over white space, comments and fences."""

from __future__ import annotations

from typing import Literal

from rightcall.parse.late import Late
from rightcall.parse.strings import space

Cut = Literal["", "closers", "value"]
FENCE = Late(r"```[ \t]*[\w+\-]*[ \t]*\r?\n?|~~~[ \t]*\w*[ \t]*\r?\n")
_STOPS = frozenset(" \t\n\r\f\v/#`\ufeff\u00a0\u2028\u2029")
"""Where skipping has something to do; of other characters beyond ASCII, `space` decides."""


class Cursor:
    """Holds the text and the position; remembers the rules that were needed, each with its first place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.size = len(text)
        self.at = 0
        self.open = ""
        self.marks: dict[str, int] = {}
        self.cut: Cut = ""
        self.solid = False

    def mark(self, rule: str, at: int) -> None:
        if rule not in self.marks:
            self.marks[rule] = at

    def skip(self, at: int, value: bool = False) -> int:
        """Over white space and comments. Where a value is due, `#fff` and `/path` are no comments."""
        text = self.text
        if at < self.size:
            char = text[at]
            if char not in _STOPS and char < "\x7f":
                return at
        at = space(text, at)
        while at < self.size and text[at] in "/#`":
            end = self._fence(at) if text[at] == "`" else self._comment(at, value)
            if end < 0:
                break
            at = space(text, end)
        return at

    def _comment(self, at: int, value: bool) -> int:
        text = self.text
        if text.startswith("/*", at):
            end = text.find("*/", at + 2) + 2
        elif text.startswith("//", at) or (text[at] == "#" and (not value or text.startswith("# ", at))):
            end = text.find("\n", at)
        else:
            return -1
        self.mark("comment", at)
        return end if end > 1 else self.size

    def _fence(self, at: int) -> int:
        fence = FENCE.match(self.text, at) if self.open else None
        if fence is None:
            return -1
        self.mark("fence", at)
        return fence.end()
