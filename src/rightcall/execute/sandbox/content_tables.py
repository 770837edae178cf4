"""Tables in files: how many rows and columns they have, and their first rows lined up."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any, cast

from msgspec import Struct
from msgspec.json import decode

from rightcall.text.escape import escaped, render_json

_ROWS, _COLUMNS, _CELL = 20, 12, 40
"""What of a table is shown."""
_MOST_JSON = 2_000_000
"""Bytes of JSON that are read as a table: small texts can hold very many values."""


class Table(Struct, frozen=True):
    """`rows` without the head."""

    text: str
    rows: int
    columns: int


def csv_table(text: str, separator: str | None = None) -> Table | None:
    """Of a text in rows; the first one is the head. Raises csv.Error for one that breaks the rules; None for one that
    has no columns. `separator` None: whichever of comma, semicolon and tab stands most in the first line."""
    head = text[: text.find("\n")] if "\n" in text else text[:10_000]
    separator = separator or max(",;\t", key=head.count)
    count = columns = 0
    first: list[list[str]] = []
    for row in csv.reader(StringIO(text, newline=""), delimiter=separator):
        if not row:
            continue
        count += 1
        columns = max(columns, len(row))
        if len(first) <= _ROWS:
            first.append(row[:_COLUMNS])
    if count == 0 or columns < 1:
        return None
    return Table(_lined_up(first, count - 1, columns), count - 1, columns)


def json_table(content: bytes) -> Table | None:
    """Of a JSON list of objects; None for any other JSON. Raises ValueError for what is none."""
    if len(content) > _MOST_JSON or not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        return None
    found: Any = decode(content.removeprefix(b"\xef\xbb\xbf"))
    records = cast("list[Any]", found)
    if not records or not all(isinstance(record, dict) for record in records):
        return None
    names = list(dict.fromkeys(name for record in cast("list[dict[str, Any]]", records) for name in record))
    head = names[:_COLUMNS]
    rows = [_cells(record, head) for record in records[:_ROWS]]
    return Table(_lined_up([head, *rows], len(records), len(names)), len(records), len(names))


def _cells(record: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    values = (record.get(name, "") for name in names)
    return [value if isinstance(value, str) else render_json(value, _CELL) for value in values]


def _lined_up(rows: Iterable[Sequence[str]], count: int, columns: int) -> str:
    cells = [[escaped(cell[: _CELL + 1], _CELL) for cell in row] for row in rows]
    width = max(map(len, cells))
    widths = [max((len(row[at]) for row in cells if at < len(row)), default=0) for at in range(width)]
    lines = ["  ".join(cell.ljust(widths[at]) for at, cell in enumerate(row)).rstrip() for row in cells]
    if columns > width:
        lines[0] += f"  … ({columns - width} more columns)"
    if count > len(cells) - 1:
        lines.append(f"… ({count - len(cells) + 1} more rows)")
    return "\n".join(lines)
