"""The part of an emission that is not settled yet, and how a reader waits for more of it.

A reader is a generator. It looks at `window.text`, and where what it sees could still go on in more than one way it
yields None and is resumed when there is more text, or when there is no more (`window.final`). So one and the same
reader serves whole texts and streams, and its answer cannot depend on how the text was cut into pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from rightcall.base.json.shape import ANY, Shape
from rightcall.base.json.values import Balance, Cut
from rightcall.types import NoteCode

Answer = TypeVar("Answer")
Waiting = Generator[None, None, Answer]

EFFORT = 1_000_000
"""So many characters may be read in vain, and no more: after that only what is plainly a call counts."""

_SPACE = re.compile(r"\s*")


class Tools:
    """What recovering has to know of the tools; this one knows none."""

    known = False
    """Whether there is a catalogue at all: without one, no name is unknown."""

    def name(self, name: str) -> str | None:  # noqa: ARG002 - this one knows no names
        """The tool that a name means, however it is decorated; None when there is none."""
        return None

    def may_begin(self, word: str) -> bool:  # noqa: ARG002 - likewise
        """Whether a tool's name may begin with this word."""
        return True

    def shape(self, name: str) -> Shape:  # noqa: ARG002 - likewise
        """The shape of a tool's arguments."""
        return ANY


def one_of(words: Iterable[str], ahead: Mapping[str, str] | None = None) -> str:
    """An expression for the longest of these words at a place; common beginnings are tried only once.

    `ahead` has for some words what must follow.

    >>> one_of(["<tool>", "<tools>"])
    '<tool(?:>|s>)'
    """
    tree: dict[str, Any] = {}
    for word in words:
        node = tree
        for char in word:
            node = node.setdefault(char, {})
        node[""] = (ahead or {}).get(word, "")
    return _branches(tree) if tree else r"(?!)"


def _branches(node: dict[str, Any]) -> str:
    parts = [re.escape(char) + _branches(below) for char, below in sorted(node.items()) if char]
    if "" in node:
        parts.append(node[""])  # last, so that a longer word wins
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


class Literals:
    """A set of fixed words, of which one may stand at a place. What is made of them is made when it is first used:
    there are many sets, and a text needs few."""

    __slots__ = ("_pattern", "_prefixes", "firsts", "longest", "words")

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(sorted(set(words), key=lambda word: (-len(word), word)))
        self.firsts = frozenset(word[0] for word in self.words)
        self.longest = len(self.words[0]) if self.words else 0
        self._pattern: re.Pattern[str] | None = None
        self._prefixes: frozenset[str] | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        """Finds the longest of the words that stands at a place."""
        if self._pattern is None:
            self._pattern = re.compile(one_of(self.words))
        return self._pattern

    @property
    def prefixes(self) -> frozenset[str]:
        """Everything that one of the words may begin with, and that is none yet."""
        if self._prefixes is None:
            self._prefixes = frozenset(word[:n] for word in self.words for n in range(len(word)))
        return self._prefixes

    def held(self, text: str, start: int = 0) -> int:
        """How many characters at the end of `text` may be the beginning of a word."""
        first = max(start, len(text) - self.longest + 1)
        for at in range(first, len(text)):
            if text[at] in self.firsts and text[at:] in self.prefixes:
                return len(text) - at
        return 0


SEPARATORS = ("[", "]", ",", ";", "```json", "```tool_call", "```tool_code", "```xml", "```python", "```", "\\n", "}")


class Markers:
    """The markers that may stand around and between calls: all those that the registered formats have."""

    __slots__ = ("between", "closes", "ends", "named", "opens")

    def __init__(self, opens: Iterable[str], closes: Iterable[str], named: Iterable[str] = ()) -> None:
        opening = tuple(opens)
        self.named = tuple(named)
        """After these a name alone is a call."""
        self.opens = Literals(opening)
        self.closes = Literals(closes)
        self.ends = Literals((*self.closes.words, *opening))
        """Where a damaged body ends: at a closing marker, or where the next call opens."""
        self.between = Literals((*SEPARATORS, *opening, *self.closes.words))


class Window:
    """The text so far, from `base` on. `final` says that nothing will follow."""

    __slots__ = ("absent", "base", "begin", "cap", "effort", "final", "fresh", "markers", "text", "tools")

    def __init__(self, tools: Tools, markers: Markers, cap: int) -> None:
        self.text = ""
        self.final = False
        self.base = 0
        self.begin = 0
        """Where the message begins: after closed reasoning. What stands before quotes and introduces nothing."""
        self.fresh = True
        """Whether nothing but white space, reasoning and calls came before the place that is being read."""
        self.tools = tools
        self.markers = markers
        self.cap = cap
        """No call may be longer than this."""
        self.effort = EFFORT
        self.absent: dict[str, tuple[int, int]] = {}
        """Between which places a needle is known not to begin: nobody looks there for it again."""


def literal(window: Window, at: int, literals: Literals) -> Waiting[int]:
    """The end of the word at `at`, or -1."""
    while True:
        if window.text[at : at + 1] not in literals.firsts and (at < len(window.text) or window.final):
            return -1
        rest = window.text[at : at + literals.longest]
        if len(rest) == literals.longest or window.final or rest not in literals.prefixes:
            found = literals.pattern.match(window.text, at)
            return -1 if found is None else found.end()
        yield


def blank(window: Window, at: int) -> Waiting[int]:
    """The first position from `at` that is not white space; the end of the text when there is none."""
    while True:
        at = _SPACE.match(window.text, at).end()  # type: ignore[union-attr]
        if at < len(window.text) or window.final:
            return at
        yield


def skip(window: Window, at: int, literals: Literals) -> Waiting[int]:
    """Over white space and any of these words."""
    while True:
        if at >= len(window.text) or window.text[at].isspace():
            at = yield from blank(window, at)
        if window.text[at : at + 1] not in literals.firsts:
            return at
        end = yield from literal(window, at, literals)
        if end < 0:
            return at
        at = end


def find(window: Window, needle: str, at: int, reach: int = 0) -> Waiting[int]:
    """Where `needle` stands next, no further than `reach` characters on (0: the cap on one call), or -1."""
    last = at + (reach or window.cap)
    look = at
    while True:
        begin, end = window.absent.get(needle, (0, 0))
        if begin <= window.base + look < end:
            look = end - window.base
        found = window.text.find(needle, look, last + len(needle))
        if found >= 0:
            return found
        seen = max(look, min(last, len(window.text) - len(needle)) + 1)
        window.absent[needle] = (window.base + at, window.base + seen)
        if window.final or len(window.text) >= last + len(needle):
            return -1
        look = seen
        yield


def search(window: Window, literals: Literals, look: int, at: int) -> Waiting[re.Match[str] | None]:
    """The next of these words from `look` on, in a call that begins at `at` and may be no longer than the cap."""
    while True:
        found = literals.pattern.search(window.text, look, at + window.cap)
        if found is not None or window.final or len(window.text) >= at + window.cap:
            return found
        look = max(look, len(window.text) - literals.longest + 1)
        yield


def bound(window: Window, at: int, look: int, closes: Literals | None) -> tuple[re.Match[str] | None, int]:
    """How far a call that begins at `at` can be read now: up to the next of the words that may end it, which is
    returned too, or to where such a word may be beginning; never beyond the cap."""
    far = min(len(window.text), at + window.cap)
    marker = closes.pattern.search(window.text, look, far) if closes is not None else None
    if marker is not None:
        return marker, marker.start()
    if closes is None or window.final or far < len(window.text):
        return None, far
    return None, far - closes.held(window.text, look)


def matched(window: Window, pattern: re.Pattern[str], at: int, most: int = 300) -> Waiting[re.Match[str] | None]:
    """The match at `at` of a pattern that eats as much as it can; it is over when it stops before the text does."""
    while True:
        found = pattern.match(window.text, at, at + most)
        end = len(window.text) if found is None else found.end()
        if window.final or end < len(window.text) or len(window.text) >= at + most:
            return found
        yield


def closing(window: Window, at: int) -> Waiting[int]:
    """The position after the bracket that closes the one at `at`, or -1."""
    balance = Balance(at)
    while True:
        end = balance.advance(window.text, min(len(window.text), at + window.cap))
        if end >= 0 or window.final or len(window.text) >= at + window.cap:
            return end
        yield


# ── take ──
# What a format's reader hands on: the calls it took out of the text, or a stretch that is none of its business.


class Take(NamedTuple):
    """One call as it stood in the text. Where nothing could be read, `fault` says why and `arguments` is None."""

    start: int
    end: int
    name: str
    arguments: Any
    id: str | None = None
    marks: Mapping[str, int] = {}
    """The rules the lenient reader needed, with their places in `source`."""
    source: str = ""
    cut: Cut = ""
    duplicates: tuple[str, ...] = ()
    fault: str = ""
    kind: str = "json"
    """The shape it was written in: json, python, tags, pairs, braces, name, text."""
    hallucinated: bool = False


class Mute(NamedTuple):
    """From `at` on nothing is a call until one of `until` stands there; None: until the end."""

    at: int
    until: Literals | None
    code: NoteCode | None = None
    line: bool = False
    """Whether that has to stand at the start of a line."""


Step = Take | None
Steps = Generator[Step, None, "int | Mute"]
"""A reader: yields None where it needs more text and a `Take` for each call; at the end it returns where prose goes on
again. Without a take before that, the text up to there is prose."""


def watched(steps: Steps, start: int | None = None) -> Generator[Step, None, tuple[int | Mute, bool]]:
    """Passes a reader on; returns its answer, and whether it took anything. `start`: where the first take begins."""
    taken = False
    while True:
        try:
            step = next(steps)
        except StopIteration as stop:
            return stop.value, taken
        if step is not None and not taken:
            taken = True
            yield step if start is None else step._replace(start=start)
        else:
            yield step


Reader = Callable[[Window, int, int], Steps]
"""Called with the window, where the trigger begins, and where it ends."""


class Format(NamedTuple):
    """A way in which models write calls. `opens` are the words that may begin one; the scanner looks for all of them
    in one pass."""

    name: str
    about: str
    opens: tuple[str, ...]
    read: Reader
    example: str
    closes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """Which shapes of a call make it this format, where several share their markers; none: any."""
    ahead: str = ""
    """What has to follow its opening words, as an expression: the scanner passes over all others."""
    maybe_ahead: str = ""
    """The same for a text that ends before it can be seen."""
    marker: bool = False
    """Whether its opening words may also stand between calls: the markers of `tagged` formats."""
    named: bool = False
    """Whether a name alone between its markers is a call without arguments."""
    bare: bool = False
    """Whether it has no marker, so that program source may look the same."""
    quotable: bool = True
    """Whether it may be shown in quotes; else it counts wherever it stands."""
    headed: bool = False
    """Whether it begins with the header of a message, which stands wherever the last message ended."""
