"""What a format's reader hands on: the calls it took out of the text, or a stretch that is none of its business."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple

from rightcall.parse.cursor import Cut
from rightcall.recover.window import Literals, Window
from rightcall.types import NoteCode


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
