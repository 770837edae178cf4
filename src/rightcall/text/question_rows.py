"""A value as rows for a person who decides: complete, each row behind a margin that nothing in the value can draw.

      │ "path": "docs/a.md"                          names and short values
      │ "content": text, 24 characters in 2 lines
      │   │ # Title                                  a line of a text
      │   ╎ goes on in the next row                  the same line, too long for one row
      │   ≈ words written from the right             once more as they are, below the row that spells them out
      ── 300 empty lines ──                          ours: outside the margin

No row is wider than the terminal, so that it never breaks one itself; what is drawn at the left edge is always ours.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

from msgspec import Struct

from rightcall.text.visible import folded, quoted, right_to_left_words, spelled, visible

DEEPEST: Final = 8
"""Levels that are laid out; what lies deeper is shown as the JSON it is."""

_MOST_LEVELS: Final = 300
_EMPTY: Final = 3
"""Empty lines in a row that are drawn; more are counted."""


class Ours(str):
    """A row that is not from the value; it stands outside its margin."""

    __slots__ = ()


class Hidden(Ours):
    """Says that something is left out."""

    __slots__ = ()


class Number(str):
    """A number as it stands in the JSON, digit by digit."""

    __slots__ = ()


class Paper(Struct, frozen=True):
    """What is written on: how wide it is, how many rows of one text it takes, whether it has only ASCII."""

    width: int
    longest: int | None = None
    """None for all of them."""
    ascii_only: bool = False

    def glyph(self, glyph: str) -> str:
        return {"│": "|", "╎": ":", "≈": "~", "──": "--"}[glyph] if self.ascii_only else glyph

    def visible(self, line: str) -> str:
        return self._typed(visible(line))

    def quoted(self, text: str) -> str:
        return self._typed(quoted(text))

    def _typed(self, text: str) -> str:
        if not self.ascii_only or text.isascii():
            return text
        return "".join(one if one.isascii() else spelled(one) for one in text)

    def margined(self, rows: Iterable[str]) -> list[str]:
        bar = f"  {self.glyph('│')} "
        return [row if isinstance(row, Ours) else (bar + row).rstrip() for row in rows]

    def said(self, words: str) -> str:
        rule = self.glyph("──")
        return f"  {rule} {words} {rule}"


def read(text: str) -> Any:
    """JSON with its numbers as they are written. Raises ValueError or RecursionError."""
    import json  # late: only where a person is asked

    value = json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)
    level, depth = [value], 0
    while level:
        level = [inner for one in level for inner in _inside(one)]
        depth += 1
        if depth > _MOST_LEVELS:
            raise ValueError("nested too deeply to be laid out")
    return value


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []


def value_rows(label: str, value: Any, paper: Paper, depth: int = 0) -> Iterator[str]:
    """A label (already spelled out) and its value."""
    indent = "  " * depth
    if isinstance(value, (dict, list)) and value:
        items = cast("dict[str, Any] | list[Any]", value)
        if depth >= DEEPEST:
            yield from text_rows(f"{label}: deeper levels, as JSON", compact(items), paper, depth)
            return
        yield from _wrapped(f"{indent}{label}:", indent, paper)
        for name, item in named_items(items, paper):
            yield from value_rows(name, item, paper, depth + 1)
    elif isinstance(value, str) and not isinstance(value, Number):
        inline = f'{indent}{label}: "{value}"'
        if _is_simple(value) and '"' not in value and len(inline) <= paper.width and label.isascii():
            yield inline
        else:
            yield from text_rows(f"{label}: {size_of(value)}", value, paper, depth)
    else:
        yield from _wrapped(f"{indent}{label}: {compact(value)}", indent, paper)


def named_items(value: dict[str, Any] | list[Any], paper: Paper) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((paper.quoted(name), item) for name, item in value.items())
    else:
        yield from ((f"[{number}]", item) for number, item in enumerate(value))


def text_rows(label: str, text: str, paper: Paper, depth: int = 0) -> Iterator[str]:
    """A label, and below it a text line by line."""
    indent = "  " * depth
    yield from _wrapped(indent + label, indent, paper)
    yield from cut(list(_line_rows(text, indent + "  ", paper)), paper.longest, paper)


def cut(rows: list[str], longest: int | None, paper: Paper) -> Iterator[str]:
    """Rows with their middle left out where they are too many, and a row of ours that says so."""
    if longest is None or len(rows) <= longest:
        yield from rows
        return
    first = longest * 2 // 3
    last = len(rows) - (longest - first)
    hidden = rows[first:last]
    characters = sum(len(row.lstrip(" │╎|:")) for row in hidden)
    yield from rows[:first]
    yield Hidden(
        paper.said(f"{len(hidden):,} rows with about {characters:,} characters are NOT SHOWN; --full shows all")
    )
    yield from rows[last:]


def size_of(text: str) -> str:
    lines = text.count("\n") + 1
    return f"text, {len(text):,} character{'s' * (len(text) != 1)}" + (f" in {lines:,} lines" if lines > 1 else "")


def compact(value: Any) -> str:
    """JSON in one line; numbers as they were written."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return "{" + ", ".join(f"{compact(name)}: {compact(item)}" for name, item in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(compact, cast("list[Any]", value))) + "]"
    import json

    return json.dumps(value, ensure_ascii=False)


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a value, names too, in no particular order."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            yield from cast("dict[str, Any]", one)
        elif isinstance(one, str) and not isinstance(one, Number):
            yield one
        left += _inside(one)


def _is_simple(text: str) -> bool:
    return text.isascii() and text.isprintable() and "\\" not in text


def _wrapped(row: str, indent: str, paper: Paper) -> Iterator[str]:
    """A row of names; where it is too long it goes on behind a broken bar."""
    first, *others = folded(row, paper.width)
    yield first
    for piece in folded("".join(others), paper.width - len(indent) - 2) if others else ():
        yield f"{indent}{paper.glyph('╎')} {piece}"


def _line_rows(text: str, indent: str, paper: Paper) -> Iterator[str]:
    empty, room, margin = 0, paper.width - len(indent) - 2, f"{indent}{paper.glyph('│')} "
    for line in text.split("\n"):
        if not line:
            empty += 1
            continue
        if empty:
            yield from _empty_rows(empty, indent, paper)
            empty = 0
        if len(line) <= room and _is_simple(line) and line[-1] != " ":
            yield margin + line
        else:
            yield from _rows_of(line, indent, paper)
    yield from _empty_rows(empty, indent, paper)


def _rows_of(line: str, indent: str, paper: Paper) -> Iterator[str]:
    room = max(8, paper.width - len(indent) - 2)
    blanks = 0
    for number, piece in enumerate(folded(paper.visible(line), room)):
        if number and not piece.strip(" "):
            blanks += len(piece)
            continue
        if blanks:
            yield Ours(paper.said(f"{blanks:,} blanks"))
            blanks = 0
        yield f"{indent}{paper.glyph('╎' if number else '│')} {piece}"
    words = [] if paper.ascii_only else right_to_left_words(line)
    for row in folded(" · ".join(words), room) if words else ():
        yield f"{indent}{paper.glyph('≈')} {row}"


def _empty_rows(count: int, indent: str, paper: Paper) -> Iterator[str]:
    if count <= _EMPTY:
        yield from [indent + paper.glyph("│")] * count
    else:
        yield Ours(paper.said(f"{count:,} empty lines"))
