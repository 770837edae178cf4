"""Arguments as plain text, where a tool takes just one."""

from __future__ import annotations

from rightcall.recover.take import Take
from rightcall.recover.window import Window


def spoken(window: Window, start: int, end: int, name: str, text: str) -> Take | None:
    """Arguments as plain text, for a tool that takes just one."""
    props = window.tools.shape(name).props
    if len(props) != 1 or not text.strip():
        return None
    ((key, shape),) = props.items()
    return Take(start, end, name, {key: text.strip()}, kind="text") if shape.allows("string") else None
