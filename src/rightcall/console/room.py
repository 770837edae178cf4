"""What a page has room for. A record may hold megabytes in any of its fields, and a page of them would keep a browser
busy for minutes. Each text is shown up to a length, and all of them up to another. Where something is left out, a line
of ours says so, and the page says where the whole is.

A question to a person is never answered cut: one that does not fit cannot be approved from a page (`questions.py`).
"""

from typing import Any, Final, TypeVar, cast

from rightcall.console.questions import Piece, Row, TextLine

T = TypeVar("T")

MOST_TEXT: Final = 100_000
"""Characters of one text, as the page has them, and"""
MOST_PAGE: Final = 600_000
"""of all texts of a page."""
_FRAME: Final = 60
"""Characters that a page has around each line."""
_MOST_LINES: Final = MOST_TEXT // _FRAME


class Room:
    """Of one page; `is_cut` says whether something did not fit."""

    def __init__(self, most: int = MOST_PAGE) -> None:
        self._left = most
        self._parts = 0
        self.is_cut = False

    def start(self, text: str) -> str:
        """The beginning of a text, before it is laid out: what is behind it could not fit."""
        rows = text[:MOST_TEXT].split("\n", _MOST_LINES)
        begun = "\n".join(rows[:_MOST_LINES])
        if len(begun) == len(text):
            return text
        self.is_cut = True
        return f"{begun}\n…"

    def value(self, value: Any) -> Any:
        """A value whose texts are beginnings, and which has no more parts than a page could show."""
        self._parts = _MOST_LINES
        return self._value(value)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.start(value)
        if isinstance(value, dict):
            kept = self._some(list(cast("dict[str, Any]", value).items()))
            return {self.start(name): self._value(item) for name, item in kept}
        if isinstance(value, list):
            return [self._value(item) for item in self._some(cast("list[Any]", value))]
        return value

    def _some(self, items: list[T]) -> list[T]:
        kept = items[: max(0, self._parts)]
        self._parts -= len(items)
        self.is_cut = self.is_cut or len(kept) < len(items)
        return kept

    def lines(self, lines: list[TextLine]) -> list[TextLine]:
        """As many of them as fit; the first one is cut within."""
        most = left = min(self._left, MOST_TEXT)
        for at, line in enumerate(lines):
            left -= length_of(line)
            if left < 0:
                self.is_cut = True
                self._left -= most
                return [*(lines[:at] or _begun(line, most)), _told(len(lines) - at, "line")]
        self._left -= most - left
        return lines

    def rows(self, rows: list[Row]) -> list[Row]:
        found: list[Row] = []
        for at, row in enumerate(rows):
            self._left -= length_of_rows([row]) - sum(map(length_of, row.lines))
            if self._left < 0:
                self.is_cut, self._left = True, 0
                return [*found, Row("…", 0, lines=[_told(len(rows) - at, "value")])]
            found.append(Row(row.label, row.depth, row.value, self.lines(row.lines), row.note) if row.lines else row)
        return found


def _begun(line: TextLine, most: int) -> list[TextLine]:
    """The beginning of a line that is longer than a text may be."""
    text = next((one.text for one in line.pieces if not one.ours), "")
    return [TextLine(line.number, [Piece(text[: most // 2])], mark=line.mark)]


def _told(count: int, what: str) -> TextLine:
    return TextLine(0, [Piece(f"{count:,} more {what}{'' if count == 1 else 's'}: not shown, or not whole", ours=True)])


def length_of(line: TextLine) -> int:
    """About how many characters a page has of it."""
    return _FRAME + len(line.words) + sum(_escaped(one.text) for one in line.pieces)


def length_of_rows(rows: list[Row]) -> int:
    return sum(
        2 * _FRAME + sum(map(_escaped, (one.label, one.value, one.note))) + sum(map(length_of, one.lines))
        for one in rows
    )


def _escaped(text: str) -> int:
    return len(text) + 4 * (text.count('"') + text.count("'") + text.count("<") + text.count("&"))
