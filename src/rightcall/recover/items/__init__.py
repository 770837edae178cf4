"""The shapes in which one call is written; formats put markers around them. What stands at a place decides which."""

from __future__ import annotations

from typing import NamedTuple

from rightcall.recover.take import Take


class Item(NamedTuple):
    """What was read at one place: where it ends, and the calls in it (a JSON list may hold several)."""

    end: int
    takes: tuple[Take, ...]
    kind: str = "json"
    """The shape: json, python, tags, pairs, braces, name."""
