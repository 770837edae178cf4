"""Reading files, standard input and JSON lines with a bound on memory and errors that name file and line."""

import os
import sys
from collections.abc import Iterator
from errno import EISDIR
from typing import BinaryIO, TextIO

from rightcall.errors import ConfigError

MAX_BYTES = 8 * 1024 * 1024
_CHUNK = 1024 * 1024


class InputError(ConfigError):
    """A file or standard input cannot be used as it is."""


def standard_input() -> BinaryIO:
    stream: TextIO | None = sys.stdin
    if stream is None:  # started with its input closed
        raise InputError("is closed; give the text as an argument, or in a file", source="standard input")
    return stream.buffer


def read_text(path: str, *, limit: int = MAX_BYTES) -> str:
    """The text of a file, or of standard input for `-`."""
    if path == "-":
        return decoded(_bounded(standard_input(), limit, "standard input"), "standard input")
    try:
        with open(path, "rb") as stream:
            return decoded(_bounded(stream, limit, path), path)
    except OSError as error:
        raise InputError(reason(error), source=path) from error


def read_argument(argument: str) -> str:
    """A text given on the command line: as it stands, from a file (`@FILE`) or from standard input (`-`)."""
    if argument == "-":
        return read_text("-")
    return read_text(argument[1:]) if argument.startswith("@") else argument


def reason(error: OSError) -> str:
    """What the system says, without its number and without the path that the message names anyway."""
    return f"cannot be read: {error.strerror or error}"


def _bounded(stream: BinaryIO, limit: int, source: str) -> bytes:
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise InputError(f"holds more than {limit:,} bytes, which is the most one command reads", source=source)
    return data


def decoded(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"is not UTF-8 text (byte {error.start})", source=source, line=line) from error


def open_lines(path: str) -> BinaryIO:
    """A stream of bytes to read lines from; the caller closes it."""
    if path == "-":
        return standard_input()
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        return open(path, "rb")
    except OSError as error:
        raise InputError(reason(error), source=path) from error


def bounded_lines(stream: BinaryIO, limit: int = MAX_BYTES) -> Iterator[tuple[int, bytes | None]]:
    """Each line with its number, without its end; None stands for a line longer than `limit`, skipped whole."""
    number = 0
    while True:
        line = stream.readline(limit + 1)
        if not line:
            return
        number += 1
        if len(line) > limit and not line.endswith(b"\n"):
            _skip_rest(stream)
            yield number, None
        else:
            yield number, line.rstrip(b"\r\n")


def _skip_rest(stream: BinaryIO) -> None:
    while chunk := stream.readline(_CHUNK):
        if chunk.endswith(b"\n"):
            return
