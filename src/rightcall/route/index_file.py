"""An index as a file: what it is, a check, then tools, words and vectors as plain data. Nothing in it is ever executed.

    rightcall-index 1\\n   the head   the tools   the words   the vectors (half precision)

Head, tools and words are msgpack. Numbers lie as in memory: a file of a machine that orders bytes otherwise is foreign.
"""

from os import PathLike, fspath
from sys import byteorder
from zlib import crc32

from msgspec import MsgspecError, Struct, msgpack

from rightcall.errors import StoreError
from rightcall.route import packets_files, vectors
from rightcall.route.index_lexical import Saved
from rightcall.route.words import ToolText

VERSION = 1
MOST = 512 * 1024 * 1024
_MARK = f"rightcall-index {VERSION} {byteorder}\n".encode()
_KIND = b"rightcall-index "
_LENGTH = 4


class Head(Struct, frozen=True):
    sizes: tuple[int, int, int]
    """Bytes of the tools, the words, the vectors."""
    digest: str
    """The weights that made the vectors."""
    check: int


def save(path: str | PathLike[str], tools: list[ToolText], words: Saved, rows: bytes) -> None:
    parts = (msgpack.encode(tools), msgpack.encode(words), rows)
    body = b"".join(parts)
    sizes = (len(parts[0]), len(parts[1]), len(parts[2]))
    head = msgpack.encode(Head(sizes, vectors.digest() if rows else "", crc32(body)))
    try:
        packets_files.write(fspath(path), b"".join((_MARK, len(head).to_bytes(_LENGTH, "little"), head, body)))
    except OSError as fault:
        raise StoreError(f"the index cannot be saved to {fspath(path)}: {fault.strerror}") from fault


def load(path: str | PathLike[str]) -> tuple[list[ToolText], Saved, bytes]:
    """Tools, words and vectors; no vectors where they were made with other weights than those that are here."""
    name = fspath(path)
    try:
        data = packets_files.read(name, MOST)
    except OSError as fault:
        raise StoreError(f"the index {name} cannot be read: {fault.strerror or fault}") from fault
    if not data.startswith(_KIND):
        raise StoreError(f"{name} is no index of tools: make one with ToolIndex(tools).save(path)", "corrupt")
    if not data.startswith(_MARK):
        raise StoreError(f"the index {name} is of another version or machine: make it again", "version")
    try:
        return _parts(memoryview(data)[len(_MARK) :])
    except (MsgspecError, ValueError) as fault:
        raise StoreError(f"the index {name} is damaged ({fault}): make it again", "corrupt") from fault


def _parts(data: memoryview) -> tuple[list[ToolText], Saved, bytes]:
    start = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    head = msgpack.decode(data[_LENGTH:start], type=Head)
    body = data[start:]
    first, second, third = head.sizes
    if min(head.sizes) < 0 or len(body) != first + second + third:
        raise ValueError(f"{len(body)} bytes where {first + second + third} were saved")
    if crc32(body) != head.check:
        raise ValueError("its check does not fit")
    tools = msgpack.decode(body[:first], type=list[ToolText])
    words = msgpack.decode(body[first : first + second], type=Saved)
    fits = third == len(tools) * vectors.ROW_BYTES and head.digest == vectors.digest()
    return tools, words, bytes(body[first + second :]) if fits else b""
