"""An answer for people, as it comes: no call in it, no marker of one, no reasoning that some models write first.

    pieces ─▶ reasoning is held back ─▶ the gate takes calls out, several times ─▶ lone markers go ─▶ people

Taking a call out can leave the halves of another, so the gate looks more than once. What is quoted as code is talk
about markup and stays readable, but never as markup.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rightcall.present.marks import neutral
from rightcall.recover.registry import REASONING

if TYPE_CHECKING:
    from rightcall.gate import Gate
    from rightcall.recovering import Stream

_PASSES = 3
_LONGEST_MARKER = 80
_OPENS = re.compile(r"[<\[]|\](?=<|\Z)|`+\Z")
"""Where a marker may begin, or a row of backticks go on."""
_TICKS = re.compile(r"(`+)")
_MARKER = re.compile(r"\\u003c/?[^<>\n]{0,80}>|\\u005b/?[^\[\]\n]{0,80}\]|\\u005d<\][^\n]{0,40}\[>\[|\\u00(?:3c|5b|5d)")
"""A marker that was made harmless, to its end."""


class Cleaner:
    """`push` each piece and show what it returns; `close` gives the rest. Together the same as of the whole text."""

    def __init__(self, gate: "Gate") -> None:
        self._feeds: list[Stream] = [gate.stream() for _ in range(_PASSES)]
        self._head = _Head()
        self._sweep = _Sweep()
        self.calls = 0
        """How many calls stood in it."""

    def push(self, piece: str) -> str:
        return self._sweep.push(self._through(0, self._head.push(piece)))

    def close(self) -> str:
        text = self._through(0, self._head.close())
        for number, feed in enumerate(self._feeds):
            text += self._through(number + 1, self._events(feed, feed.close()))
        return self._sweep.push(text) + self._sweep.close()

    def _through(self, number: int, text: str) -> str:
        for feed in self._feeds[number:]:
            if not text:
                return ""
            text = self._events(feed, feed.push(text))
        return text

    def _events(self, feed: "Stream", events: Sequence[object]) -> str:
        prose: list[str] = []
        for event, start in zip(events, feed.starts, strict=False):
            if isinstance(event, str):
                prose.append(_unmarked(event, start, feed))
            else:
                self.calls += 1
        return "".join(prose)


def cleaned(gate: "Gate", text: str) -> tuple[str, int]:
    """A whole answer without its calls, and how many there were.

    >>> from rightcall import Gate
    >>> cleaned(Gate(), '<think>Hm.</think>It is <tool_call>{"name": "f", "arguments": {}}</tool_call>42.')
    ('It is 42.', 1)
    """
    cleaner = Cleaner(gate)
    return (cleaner.push(text) + cleaner.close()).strip(), cleaner.calls


def _unmarked(text: str, start: int, feed: "Stream") -> str:
    """Without the markers that the gate found to open nothing."""
    for note in reversed(feed.notes):
        first, last = note.start - start, note.end - start
        if note.code == "unreadable" and 0 <= first < last <= len(text):
            text = text[:first] + text[last:]
    return text


class _Head:
    """Holds the beginning back as long as it is reasoning, or could become some."""

    def __init__(self) -> None:
        self._held = ""
        self._passed = False

    def push(self, piece: str) -> str:
        if self._passed:
            return piece
        self._held += piece
        while True:
            bare = self._held.lstrip()
            if any(opens.startswith(bare) for opens in REASONING):
                return ""  # too short to tell, or empty
            marks = next(((opens, closes) for opens, closes in REASONING.items() if bare.startswith(opens)), None)
            if marks is None:
                self._passed = True
                return bare
            end = bare.find(marks[1], len(marks[0]))
            if end < 0:
                return ""
            self._held = bare[end + len(marks[1]) :]

    def close(self) -> str:
        """Reasoning without an end is no answer."""
        bare = "" if self._passed else self._held.lstrip()
        return "" if bare.startswith(tuple(REASONING)) else bare


class _Sweep:
    """Takes lone markers out of prose; in code, where somebody writes about them, they are made harmless."""

    def __init__(self) -> None:
        self._held = ""
        self._ticks = 0

    def push(self, text: str) -> str:
        text = self._held + text
        end = _settled(text)
        text, self._held = text[:end], text[end:]
        return self._swept(text)

    def close(self) -> str:
        text, self._held = self._held, ""
        return self._swept(text)

    def _swept(self, text: str) -> str:
        return "".join(map(self._part, _TICKS.split(text)))

    def _part(self, part: str) -> str:
        if part.startswith("`"):
            self._ticks += 1
            return part
        harmless = neutral(part)
        if harmless == part or self._ticks % 2:
            return harmless
        return _MARKER.sub("", harmless)


def _settled(text: str) -> int:
    """How much of a text no later piece can make a part of a marker."""
    opens = [found.start() for found in _OPENS.finditer(text, max(len(text) - _LONGEST_MARKER, 0))]
    end = len(text)
    while (at := next((at for at in opens if at < end and not _closed(text, at, end)), end)) < end:
        end = at  # what opened before may have been closed by what is held back now
    return end


def _closed(text: str, at: int, end: int) -> bool:
    """Whether what opens here is over before the end, or cannot be a marker."""
    closes = "]" if text[at] == "[" else ">"
    return text.find("\n", at, end) > 0 or text.find(closes, at + 1, end) > 0
