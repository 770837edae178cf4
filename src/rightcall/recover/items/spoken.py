"""Arguments as plain text, where a tool takes just one: code for an interpreter, a question for a search."""

from __future__ import annotations

from rightcall.recover.take import Take
from rightcall.recover.window import Literals, Waiting, Window, search

INTERPRETERS = ("python", "ipython", "code_interpreter", "interpreter")
"""Names of tools to which models write code as it is."""


def spoken(window: Window, start: int, end: int, name: str, text: str) -> Take | None:
    """A call whose argument is this text; None for a tool that takes more than one, or other things."""
    props = window.tools.shape(name).props
    if len(props) != 1 or not text.strip():
        return None
    ((key, shape),) = props.items()
    return Take(start, end, name, {key: text.strip()}, kind="text") if shape.allows("string") else None


def text_end(window: Window, at: int, stops: Literals) -> Waiting[int]:
    """Where a text that has no end of its own ends: before one of these words, or where everything does."""
    stop = yield from search(window, stops, at, at)
    return stop.start() if stop is not None else min(len(window.text), at + window.cap)
