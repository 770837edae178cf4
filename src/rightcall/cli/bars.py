"""Small charts for the terminal: bars to eighths of a column, a line of levels, and ASCII where there is no better."""

from collections.abc import Sequence
from typing import TextIO

from msgspec import Struct
from msgspec.structs import astuple

from rightcall.cli.terminal import Style, pad, visible_width, wrap

WIDEST_BAR = 20
LEAST_BAR = 6
WIDEST_LABEL = 28


class Signs(Struct, frozen=True):
    """What charts are drawn with."""

    full: str
    parts: str
    """A column that is partly full, from the emptiest on."""
    levels: str
    """For nothing, and then from little to most."""
    rule: str
    passed: str
    missed: str
    unknown: str
    cut: str


BLOCKS = Signs("█", "▏▎▍▌▋▊▉", "▁▂▃▄▅▆▇█", "━", "✓", "✗", "–", "…")
ASCII = Signs("#", "", "_.:-=+*#", "=", "+", "x", "-", "~")


def signs_for(stream: TextIO) -> Signs:
    """Blocks where the stream's encoding has them all."""
    try:
        "".join(astuple(BLOCKS)).encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def bar(value: float, most: float, width: int, signs: Signs = BLOCKS) -> str:
    """A bar as long as the value's share of `most`. Whatever is more than nothing is seen.

    >>> bar(3, 8, 4), bar(1, 1000, 4), bar(0, 8, 4)
    ('█▌', '▏', '')
    """
    steps = len(signs.parts) + 1
    filled = 0 if most <= 0 or value <= 0 else max(1, round(width * steps * min(value / most, 1)))
    whole, part = divmod(filled, steps)
    return signs.full * whole + (signs.parts[part - 1] if part else "")


def levels(values: Sequence[float], signs: Signs = BLOCKS) -> str:
    """One sign for each value, as high as its share of the largest.

    >>> levels([0, 1, 4, 8])
    '▁▂▅█'
    """
    most = max(values, default=0)
    top = len(signs.levels) - 1
    return "".join(signs.levels[-int(-top * value // most) if value > 0 else 0] for value in values)


def fitted(text: str, width: int, signs: Signs = BLOCKS) -> str:
    """A text cut to so many columns, with a sign that something is missing.

    >>> fitted("code/search", 8)
    'code/se…'
    """
    if visible_width(text) <= width:
        return text
    while text and visible_width(text) > width - 1:
        text = text[:-1]
    return text + signs.cut


class Row(Struct, frozen=True):
    """A line of a chart; the label must be escaped already."""

    label: str
    value: float
    text: str


def chart(rows: Sequence[Row], style: Style, signs: Signs, *, indent: int = 0) -> list[str]:
    """Label, bar and text in columns; where they do not fit beside each other, the text goes below."""
    most = max((row.value for row in rows), default=0)
    label = max((visible_width(row.label) for row in rows), default=0)
    label = min(label, WIDEST_LABEL, style.width - LEAST_BAR - 2)
    text = max((visible_width(row.text) for row in rows), default=0)
    room = style.width - label - 2
    beside = room - text - 2 >= LEAST_BAR
    width = min(WIDEST_BAR, room - text - 2 if beside else room)
    lines: list[str] = []
    for row in rows:
        drawn = style.tint(pad(bar(row.value, most, width, signs), width if beside else 0), "cyan")
        line = f"{pad(fitted(row.label, label, signs), label)}  {drawn}"
        if beside:
            lines.append(f"{line}  {row.text}")
        else:
            lines += [line, *(" " * indent + piece for piece in wrap(row.text, style.width - indent))]
    return lines
