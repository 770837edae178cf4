"""Lines between two processes, with bounded memory: a line up to a limit is handed over whole, a longer one in pieces.

Blocking reads and writes on plain descriptors: one thread for each direction costs least, and a reader who is slow
slows down the writer and nothing else.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from typing import Final, Literal

from rightcall.mcp.messages import Id, value

Part = Literal["line", "head", "middle", "tail", "rest"]
"""`line`: a whole one. `head`, `middle`, `tail`: pieces of one that is too long. `rest`: the end came before its
end."""

CHUNK: Final = 1 << 16
_NEAR: Final = 4096
_ID: Final = rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")'
_FIRST: Final = re.compile(rb'^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"\s*[,}]")
_LAST: Final = re.compile(rb",\s*" + _ID + rb"\s*\}\s*$")


def parts(source: int, most: int) -> Iterator[tuple[Part, bytes]]:
    """What comes from a descriptor until its end; no piece is much longer than `most`."""
    kept: list[bytes] = []
    size, long = 0, False
    while chunk := _read(source):
        start = 0
        while (end := chunk.find(b"\n", start) + 1) > 0:
            piece = chunk[start:end]
            if long:
                yield "tail", piece
            else:
                yield "line", b"".join((*kept, piece)) if kept else piece
            kept, size, long, start = [], 0, False, end
        rest = chunk[start:]
        if long and rest:
            yield "middle", rest
        elif rest:
            kept.append(rest)
            size += len(rest)
            if size > most:
                yield "head", b"".join(kept)
                kept, long = [], True
    if kept:
        yield "rest", b"".join(kept)


def _read(source: int) -> bytes:
    try:
        return os.read(source, CHUNK)
    except OSError:  # whoever wrote is gone; some systems say so instead of ending the stream
        return b""


def id_of(head: bytes, tail: bytes) -> Id | None:
    """The id of a message that is not read: where it stands first, as most write it, or last."""
    found = _FIRST.match(head[:_NEAR]) or _LAST.search(tail[-_NEAR:])
    return None if found is None else value(found[1])


class Output:
    """Where lines go. Several threads may send; a line that is sent in pieces is never torn by another."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._lock = threading.Lock()
        self._open = False
        """In the middle of a line."""
        self._waiting: list[bytes] = []

    def send(self, line: bytes) -> None:
        """A whole line with its end. Raises OSError when nobody reads any more."""
        with self._lock:
            if self._open:
                self._waiting.append(line)
            else:
                self._write(line)

    def piece(self, data: bytes) -> None:
        """A piece of a line. What others send meanwhile follows after the last."""
        with self._lock:
            self._open = True
            self._write(data)

    def last(self, data: bytes) -> None:
        """The end of a line that was sent in pieces."""
        with self._lock:
            self._open = False
            waiting, self._waiting = self._waiting, []
            for line in (data, *waiting):
                self._write(line)

    def half(self, data: bytes) -> None:
        """A line that will never be complete: it gets an end, so that what follows can be read."""
        with self._lock:
            torn, self._open = self._open, False
            waiting, self._waiting = self._waiting, []
            if data or torn:
                self._write(data + b"\n")
            for line in waiting:
                self._write(line)

    def close(self, within: float) -> bool:
        """Nothing is written from now on; False when somebody still writes after so many seconds."""
        if not self._lock.acquire(timeout=within):
            return False
        self._target = -1  # its number may soon mean another file
        self._lock.release()
        return True

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._target, view) :]
