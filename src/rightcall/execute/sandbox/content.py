"""What a program has left in its scratch folder, as a model or a person can look at it: text, tables, pictures, and of
everything else its name and size. Nothing in a file can make this take long, take much, or fail."""

import csv
from base64 import b64encode
from typing import Literal

from msgspec import Struct
from msgspec.json import encode

from rightcall.execute.sandbox.content_drawings import SIGNATURE, is_shown, png_size, svg_size
from rightcall.execute.sandbox.content_tables import Table, csv_table, json_table
from rightcall.text.cut import text_start

LOOKED_INTO = 4_000_000
"""Bytes of a file that is looked into at all; a larger one is only named."""
MOST_TEXT = 100_000
"""Bytes of a text that are kept, of each file."""
MOST_IMAGE = 300_000

Kind = Literal["text", "table", "image", "binary"]
_MEDIA = {
    "txt": "text/plain", "log": "text/plain", "md": "text/markdown", "csv": "text/csv",
    "tsv": "text/tab-separated-values", "json": "application/json", "jsonl": "application/jsonl", "html": "text/html",
    "xml": "application/xml", "svg": "image/svg+xml", "py": "text/x-python", "js": "text/javascript",
    "mjs": "text/javascript", "css": "text/css", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
    "gif": "image/gif", "pdf": "application/pdf", "zip": "application/zip", "gz": "application/gzip",
}  # fmt: skip


class File(Struct, frozen=True, rename="camel", omit_defaults=True):
    """One file, as it stands in a result. `text` is a text's own, an SVG's, or a table's first rows; `data` is
    base64."""

    path: str
    size: int
    type: Kind
    media_type: str
    text: str | None = None
    data: str | None = None
    rows: int | None = None
    columns: int | None = None
    width: int | None = None
    height: int | None = None
    truncated: bool = False
    """The text is only its beginning, or the picture is too large to be handed on."""


def look_into(path: str, content: bytes, room: int) -> File:
    """A file whose whole content is at hand. `room`: bytes that its text or data may take as JSON."""
    named = name_only(path, len(content))
    picture = _picture(named, content, room) if content.startswith(SIGNATURE) else _drawing(named, content, room)
    if picture is not None:
        return picture
    text = _text(content)
    if text is None:
        return named
    table = _table(path, text, content)
    if table is not None and json_size(table.text) <= room:
        shown, rows, columns = table.text, table.rows, table.columns
        return File(path, len(content), "table", named.media_type, text=shown, rows=rows, columns=columns)
    kept = text_start(text, min(room, MOST_TEXT) + 2)
    media = named.media_type if named.media_type != _UNKNOWN else "text/plain"
    return File(path, len(content), "text", media, text=kept, truncated=len(kept) < len(text))


def name_only(path: str, size: int) -> File:
    """A file that is not looked into."""
    return File(path, size, "binary", _MEDIA.get(_ending(path), _UNKNOWN))


_UNKNOWN = "application/octet-stream"


def taken(file: File) -> int:
    """Bytes that a file takes in a result, as JSON."""
    return json_size(file.path) + json_size(file.text or "") + len(file.data or "") + 200


def json_size(text: str) -> int:
    """Bytes that a text takes as JSON, without its quotes."""
    return len(encode(text)) - 2


def _ending(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2].lower()


def _text(content: bytes) -> str | None:
    """None: it is no text. A mark of the byte order at its beginning is none of it."""
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _table(path: str, text: str, content: bytes) -> Table | None:
    """None: it is no table, or one that cannot be read as such; then it is shown as the text it is."""
    ending = _ending(path)
    try:
        if ending in ("csv", "tsv"):
            return csv_table(text, "\t" if ending == "tsv" else None)
        return json_table(content) if ending == "json" else None
    except (csv.Error, ValueError, RecursionError):
        return None


def _picture(named: File, content: bytes, room: int) -> File | None:
    size = png_size(content)
    if size is None:
        return None
    width, height = size
    data = None
    fits = len(content) <= MOST_IMAGE and (len(content) + 2) // 3 * 4 <= room
    if fits and is_shown(size):
        data = b64encode(content).decode()
    path, media = named.path, "image/png"
    return File(path, named.size, "image", media, data=data, width=width, height=height, truncated=data is None)


def _drawing(named: File, content: bytes, room: int) -> File | None:
    """An SVG that does nothing but draw; any other is shown as the text it is."""
    if _ending(named.path) != "svg" or len(content) > LOOKED_INTO:
        return None
    size, text = svg_size(content), _text(content)
    if size is None or text is None:
        return None
    fits = len(content) <= MOST_IMAGE and json_size(text) <= room
    kept = text if fits and is_shown(size) else None
    path, media, (width, height) = named.path, "image/svg+xml", size
    return File(path, named.size, "image", media, text=kept, width=width, height=height, truncated=kept is None)
