"""What all reports of results have in common: text that cannot harm a terminal, and how much of it is shown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rightcall.cli.terminal import Style, Tint, many
from rightcall.text.escape import escaped

Fields = Mapping[str, Any]

_WIDEST = 500
"""Characters of a line that are shown."""
_MATCH: tuple[Tint, ...] = ("red", "bold")
_DIFF: dict[str, Tint] = {
    "diff --git ": "bold", "--- ": "bold", "+++ ": "bold", "@@": "cyan", "+": "green", "-": "red",
}  # fmt: skip


def safe(value: Any) -> str:
    """One line of anything that was found. A CR at its end is half of a line end, and not shown."""
    return escaped(str(value).removesuffix("\r").replace("\t", "    "), _WIDEST)


def marked(text: str, spans: Sequence[Sequence[int]], style: Style) -> str:
    """The same with the parts that match in colour. Each part is made harmless by itself, so that the only sequences a
    terminal obeys are ours."""
    if not style.colour or not spans:
        return safe(text)
    text = text.removesuffix("\r")
    out, at, room = "", 0, _WIDEST
    for start, end in [*spans, (len(text), len(text))]:
        for part, tints in ((text[at:start], ()), (text[start:end], _MATCH)):
            shown = escaped(part.replace("\t", "    "), room)
            out += style.tint(shown, *tints) if tints else shown
            room = max(room - len(shown), 0)
        at = max(at, end)
    return out


def lines_of(text: str) -> Iterator[str]:
    """The lines of a text; the end of the last one begins no other."""
    return (safe(line) for line in text.removesuffix("\n").split("\n")) if text else iter(())


def some(shown: int, total: int, thing: str) -> str:
    """`2 of 3 files`; `3 files` when all of them are there."""
    return f"{shown:,} of {many(total, thing)}" if shown < total else many(total, thing)


def tinted(line: str, style: Style) -> str:
    """A line of a diff, in its colour where there are any."""
    tints: list[Tint] = [tint for start, tint in _DIFF.items() if line.startswith(start)]
    return style.tint(line, *tints[:1])
