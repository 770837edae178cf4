"""An index as a file: what it is, a check, then tools and vectors as plain data. Nothing in it is ever executed.

    rightcall-index 1\\n   a head (msgpack, its length first)   the tools (msgpack)   the vectors (half precision)

The words are counted again when it is loaded: that is faster than reading them, and never of another version.
"""

from os import PathLike, fspath
from zlib import crc32

from msgspec import MsgspecError, Struct, msgpack

from rightcall.errors import StoreError
from rightcall.route import packets_files, vectors
from rightcall.route.words import ToolText

VERSION = 1
MOST = 512 * 1024 * 1024
_MARK = b"rightcall-index "
_HEAD = 4


class Head(Struct, frozen=True):
    tools: int
    """Bytes of the tools."""
    vectors: int
    """Bytes of the vectors, 0 for none."""
    digest: str
    """The weights that made the vectors."""
    check: int


def save(path: str | PathLike[str], tools: list[ToolText], rows: bytes | None) -> None:
    body = msgpack.encode(tools)
    found = rows or b""
    head = msgpack.encode(Head(len(body), len(found), vectors.digest() if found else "", crc32(found, crc32(body))))
    mark = _MARK + f"{VERSION}\n".encode()
    try:
        packets_files.write(fspath(path), b"".join((mark, len(head).to_bytes(_HEAD, "little"), head, body, found)))
    except OSError as fault:
        raise StoreError(f"the index cannot be saved to {fspath(path)}: {fault.strerror}") from fault


def load(path: str | PathLike[str]) -> tuple[list[ToolText], bytes | None]:
    """The tools, and their vectors where those were made with the weights that are here."""
    name = fspath(path)
    try:
        data = packets_files.read(name, MOST)
    except OSError as fault:
        raise StoreError(f"the index {name} cannot be read: {fault.strerror or fault}") from fault
    mark, newline, rest = data[:64].partition(b"\n")
    if not mark.startswith(_MARK) or not newline:
        raise StoreError(f"{name} is no index of tools: make one with ToolIndex(tools).save(path)", "corrupt")
    if mark != _MARK + str(VERSION).encode():
        raise StoreError(f"the index {name} has another version than {VERSION}: make it again", "version")
    del rest
    try:
        return _parts(memoryview(data)[len(mark) + 1 :])
    except (MsgspecError, ValueError) as fault:
        raise StoreError(f"the index {name} is damaged ({fault}): make it again", "corrupt") from fault


def _parts(data: memoryview) -> tuple[list[ToolText], bytes | None]:
    length = int.from_bytes(data[:_HEAD], "little")
    head = msgpack.decode(data[_HEAD : _HEAD + length], type=Head)
    body = data[_HEAD + length :]
    if len(body) != head.tools + head.vectors or head.tools < 0 or head.vectors < 0:
        raise ValueError(f"{len(body)} bytes where {head.tools + head.vectors} were saved")
    if crc32(body) != head.check:
        raise ValueError("its check does not fit")
    tools = msgpack.decode(body[: head.tools], type=list[ToolText])
    rows = bytes(body[head.tools :])
    fits = len(rows) == len(tools) * vectors.ROW_BYTES * 2 and head.digest == vectors.digest()
    return tools, rows if rows and fits else None
