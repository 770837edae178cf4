"""One row per figure: what was measured, beside what, and whether it is what was promised."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Figure(NamedTuple):
    what: str
    ours: str
    peer: str
    ratio: str
    target: str
    met: bool | None
    """None where nothing was promised."""


WORDS = {True: "pass", False: "MISS", None: ""}
HEADINGS = ("figure", "ours", "peer", "ratio", "target", "")


def render(figures: Iterable[Figure]) -> str:
    return columns([HEADINGS, *((*figure[:5], WORDS[figure.met]) for figure in figures)])


def columns(rows: Sequence[Sequence[str]]) -> str:
    """The rows below each other, every column as wide as its widest cell.

    >>> print(columns([("n", "right"), ("12", "9")]))
    n   right
    12  9
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def micro(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"
