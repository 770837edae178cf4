"""What has changed in a tool's definition, row by row."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

from rightcall.text.question_rows import Ours, Paper, named_items, read, text_rows, value_rows

_MOST_ROWS: Final = 1500
"""Rows of a definition that are compared; the comparison takes the square of it."""


def changes(before: str, now: str, paper: Paper) -> Iterator[str]:
    """The rows that are gone (`-`) and those that are new (`+`)."""
    if not before:
        yield Ours(paper.said("the earlier definition is not known any more"))
        return
    narrow = Paper(paper.width - 2, None, paper.ascii_only)
    old, new = list(_rows(before, narrow)), list(_rows(now, narrow))
    if max(len(old), len(new)) > _MOST_ROWS:
        yield Ours(paper.said(f"too long to compare: {len(old):,} rows before, {len(new):,} now"))
        return
    found = False
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            found = True
            yield from (f"- {row}" for row in old[a:b])
            yield from (f"+ {row}" for row in new[c:d])
    if not found:
        yield Ours(paper.said("nothing that shows"))


def _rows(text: str, paper: Paper) -> Iterator[str]:
    try:
        value = read(text)
    except (ValueError, RecursionError):
        yield from text_rows("text", text, paper)
        return
    if isinstance(value, (dict, list)):
        for name, item in named_items(value, paper):  # pyright: ignore[reportUnknownArgumentType] - any JSON
            yield from value_rows(name, item, paper)
    else:
        yield from value_rows("value", value, paper)
