"""What others wrote, before a person who decides about it: as in approvals nothing hides (`text/visible.py`)."""

import sys
from collections.abc import Iterator

from rightcall.cli.output import is_unicode
from rightcall.text.escape import cut_end
from rightcall.text.question_rows import Paper
from rightcall.text.visible import right_to_left_words


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
