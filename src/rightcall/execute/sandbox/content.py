"""What a program has left in its scratch folder, as a model or a person can look at it: text, tables, pictures, and of
everything else its name and size. Nothing in a file can make this take long, take much, or fail."""

import csv
import struct
import zlib
from base64 import b64encode
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from msgspec.json import encode

from rightcall.execute.sandbox.content_drawings import svg_size
from rightcall.execute.sandbox.content_tables import Table, csv_table, json_table

LOOKED_INTO = 4_000_000
"""Bytes of a file that is looked into at all; a larger one is only named."""
MOST_TEXT = 100_000
"""Bytes of a text that are kept, of each file."""
MOST_IMAGE = 300_000
_MOST_PIXELS, _LONGEST_SIDE = 50_000_000, 16_384
"""Of a picture that is handed on: whoever shows it must unpack it."""

Kind = Literal["text", "table", "image", "binary"]
_MEDIA = {
    "txt": "text/plain", "log": "text/plain", "md": "text/markdown", "csv": "text/csv",
    "tsv": "text/tab-separated-values", "json": "application/json", "jsonl": "application/jsonl", "html": "text/html",
    "xml": "application/xml", "svg": "image/svg+xml", "py": "text/x-python", "js": "text/javascript",
    "mjs": "text/javascript", "css": "text/css", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg",
    "gif": "image/gif", "pdf": "application/pdf", "zip": "application/zip", "gz": "application/gzip",
}  # fmt: skip
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


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
    picture = _picture(named, content, room) if content.startswith(_SIGNATURE) else _drawing(named, content, room)
    if picture is not None:
        return picture
    text = _text(content)
    if text is None:
        return named
    table = _table(path, text, content)
    if table is not None and json_size(table.text) <= room:
        shown, rows, columns = table.text, table.rows, table.columns
        return File(path, len(content), "table", named.media_type, text=shown, rows=rows, columns=columns)
    kept = fitting(text, min(room, MOST_TEXT))
    media = named.media_type if named.media_type != _UNKNOWN else "text/plain"
    return File(path, len(content), "text", media, text=kept, truncated=len(kept) < len(text))


def name_only(path: str, size: int) -> File:
    """A file that is not looked into."""
    return File(path, size, "binary", _MEDIA.get(_ending(path), _UNKNOWN))


_UNKNOWN = "application/octet-stream"


def taken(file: File) -> int:
    """Bytes that a file takes in a result, as JSON."""
    return json_size(file.path) + json_size(file.text or "") + len(file.data or "") + 200


def fitting(text: str, room: int) -> str:
    """As much of a text from its beginning as is no longer than `room` bytes in JSON.

    >>> fitting("abc", 10), fitting("abc", 2), fitting("a\\0b", 7)
    ('abc', 'ab', 'a\\x00')
    """
    text = text[: max(room, 0)]
    if json_size(text) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if json_size(text[:middle]) <= room else (low, middle - 1)
    return text[:low]


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
    if fits and max(size) <= _LONGEST_SIDE and width * height <= _MOST_PIXELS:
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
    kept = text if len(content) <= MOST_IMAGE and json_size(text) <= room else None
    path, media, (width, height) = named.path, "image/svg+xml", size
    return File(path, named.size, "image", media, text=kept, width=width, height=height, truncated=kept is None)


def png_size(content: bytes) -> tuple[int, int] | None:
    """Width and height of a whole PNG picture; None for anything else. Nothing of it is unpacked."""
    size: tuple[int, int] | None = None
    pixels = False
    for kind, body, end in _chunks(content):
        if size is None:
            if kind != b"IHDR" or len(body) != 13:
                return None
            width, height = struct.unpack(">II", body[:8])
            if not (0 < width < 1 << 31 and 0 < height < 1 << 31):
                return None
            size = width, height
        pixels |= kind == b"IDAT"
        if kind == b"IEND":
            return size if pixels and end == len(content) else None
    return None


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """Kind, body and end of each part whose checksum is right; ends with the first that is not."""
    at = len(_SIGNATURE)
    view = memoryview(content)
    while at + 12 <= len(content):
        (length,) = struct.unpack_from(">I", content, at)
        end = at + 12 + length
        if end > len(content) or zlib.crc32(view[at + 4 : end - 4]) != struct.unpack_from(">I", content, end - 4)[0]:
            return
        yield content[at + 4 : at + 8], bytes(view[at + 8 : end - 4]), end
        at = end
