"""What others wrote, before a person who decides about it: nothing hides in it, as in approvals (`base/letters.py`)."""

import re
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from time import monotonic
from typing import TextIO

from msgspec import Struct
from msgspec.structs import astuple

from rightcall.base.letters import right_to_left_words
from rightcall.base.text import cut_end, escaped
from rightcall.cli.terminal import Style, is_unicode, pad, visible_width, wrap
from rightcall.errors import ConfigError
from rightcall.executor.question import Paper
from rightcall.record.tables import written


def spelled(line: str, most: int | None = None) -> str:
    """One line with everything that could hide spelled out, cut to `most` characters."""
    shown = _paper().visible(line if most is None else line[: most + 1])
    return shown if most is None else cut_end(shown, most)


def spelled_lines(text: str, most: int = sys.maxsize) -> Iterator[str]:
    """The lines of a text; words that are written from the right once more as they are, behind `≈`. What is beyond
    `most` lines is only counted."""
    paper = _paper()
    lines = text.split("\n", most)
    for line in lines[:most]:
        yield paper.visible(line)
        if not paper.ascii_only and (words := right_to_left_words(line)):
            yield f"≈ {' · '.join(words)}"
    if len(lines) > most:
        yield f"… and {lines[most].count(chr(10)) + 1} more lines"


def _paper() -> Paper:
    return Paper(0, ascii_only=not is_unicode(sys.stdout))


# ── moments ──
# Moments as people type them, `2026-01-31`, `2026-01-31T12:00+02:00` or `30d` ago, as the audit writes them: UTC.

_AGO = re.compile(r"(\d{1,6})([smhdw])", re.ASCII)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_RIGHT = (
    "write a date (2026-01-31, or 2026-01-31T12:00; UTC unless it says otherwise) or how long ago (30m, 12h, 30d, 4w)"
)


def moment(text: str, option: str, now: datetime | None = None) -> str:
    """The moment that an option names.

    >>> moment("2026-01-31T12:00+02:00", "--since")
    '2026-01-31 10:00:00.000'
    """
    if _AGO.fullmatch(text.strip()):
        return ago(text, option, now)
    try:
        if not text[:4].isdigit():
            raise ValueError
        read = datetime.fromisoformat(text.strip())
        read = read.replace(tzinfo=UTC) if read.tzinfo is None else read
        return written(read.timestamp())
    except (ValueError, OverflowError):
        raise ConfigError(f"{option}: {escaped(text, 40)!r} is no moment; {_RIGHT}") from None


def ago(text: str, option: str, now: datetime | None = None) -> str:
    """The moment so long ago.

    >>> ago("36h", "--older-than", datetime(2026, 1, 31, 12, tzinfo=UTC))
    '2026-01-30 00:00:00.000'
    """
    found = _AGO.fullmatch(text.strip())
    if found is None:
        raise ConfigError(f"{option}: {escaped(text, 40)!r} is no length of time; write 30m, 12h, 30d or 4w")
    try:
        back = timedelta(**{_UNITS[found[2]]: int(found[1])})
        return written(((now or datetime.now(UTC)) - back).timestamp())
    except (OverflowError, ValueError):
        raise ConfigError(f"{option}: {escaped(text, 40)!r} is longer ago than any date") from None


# ── waiting ──
# A line for somebody who waits at a terminal, written anew until the work is done; nothing where nobody looks.

EVERY = 0.2
"""Seconds."""
_ANEW = "\r\x1b[K"


@contextmanager
def waiting(line: Callable[[float], str], every: float = EVERY) -> Generator[None]:
    """`line` says, after so many seconds, what is being done. At the end it is gone from the screen."""
    stream = sys.stderr
    if not stream.isatty():
        yield
        return
    over, began = Event(), monotonic()

    def tell() -> None:
        while not over.wait(every):
            stream.write(_ANEW + line(monotonic() - began))
            stream.flush()

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        stream.write(_ANEW)
        stream.flush()


# ── bars ──
# Small charts for the terminal: bars to eighths of a column, a line of levels, and ASCII where there is no better.

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
