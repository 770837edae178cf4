"""What a page has room for. A record may hold megabytes in any of its fields, and a page of them would keep a browser
busy for minutes. Each text is shown up to a length, and all of them up to another. Where something is left out, a line
of ours says so, and the page says where the whole is.

A question to a person is never answered cut: one that does not fit cannot be approved from a page (`questions.py`).
"""

from typing import Final

from rightcall.console.questions import Piece, Row, TextLine, length_of, length_of_rows

MOST_TEXT: Final = 100_000
"""Characters of one text, as the page has them, and"""
MOST_PAGE: Final = 600_000
"""of all texts of a page."""


class Room:
    """Of one page; `is_cut` says whether something did not fit."""

    def __init__(self, most: int = MOST_PAGE) -> None:
        self._left = most
        self.is_cut = False

    def start(self, text: str) -> str:
        """The beginning of a text, before it is laid out: what is behind it could not fit."""
        self.is_cut = self.is_cut or len(text) > MOST_TEXT
        return text[:MOST_TEXT] + ("\n…" if len(text) > MOST_TEXT else "")

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
