"""Cutting a stream of bytes into events, without losing a byte: server-sent events, and JSON lines."""

from __future__ import annotations

import re
from typing import Protocol

MOST = 16_000_000
"""Bytes of one event. The longest that servers send is a whole answer."""

_BLANK = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n")


class TooLong(Exception):
    """An event that does not end."""


class Framing(Protocol):
    def feed(self, data: bytes) -> list[bytes]:
        """The events that are complete now, each with what ended it. Raises TooLong."""
        ...

    @property
    def empty(self) -> bool:
        """Whether no event has begun."""
        ...

    def rest(self) -> bytes:
        """What is left when nothing more comes: the beginning of an event, or nothing."""
        ...


class _Held:
    """The beginning of an event. Pieces in which no line ends are only put aside: joining a long event anew for each of
    them would take quadratic time."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self._size = 0

    def with_(self, data: bytes) -> bytes | None:
        """Everything so far, or None where nothing can have ended."""
        if not self.pieces:
            return data
        self.pieces.append(data)
        if b"\n" in data or b"\r" in data:
            return self.take()
        self._size += len(data)
        if self._size > MOST:
            raise TooLong
        return None

    def keep(self, rest: bytes) -> None:
        if len(rest) > MOST:
            raise TooLong
        self.pieces = [rest] if rest else []
        self._size = len(rest)

    def take(self) -> bytes:
        held = b"".join(self.pieces)
        self.pieces = []
        return held


class ServerSentEvents:
    """Events end with a blank line, in any of the three ways to end a line.

    >>> ServerSentEvents().feed(b"data: 1\\n\\ndata: 2\\n\\nda")
    [b'data: 1\\n\\n', b'data: 2\\n\\n']
    """

    def __init__(self) -> None:
        self._held = _Held()

    def feed(self, data: bytes) -> list[bytes]:
        is_one = data.endswith(b"\n\n") and data.find(b"\n\n") == len(data) - 2
        if is_one and b"\r" not in data and not self._held.pieces:
            return [data]  # just one event, as most servers send them
        held = self._held.with_(data)
        if held is None:
            return []
        if b"\r" in held:
            events, rest = _cut(held)
        else:
            pieces = held.split(b"\n\n")
            rest = pieces.pop()
            events = [piece + b"\n\n" for piece in pieces]
        self._held.keep(rest)
        return events

    @property
    def empty(self) -> bool:
        return not self._held.pieces

    def rest(self) -> bytes:
        return self._held.take()


class JsonLines:
    """One JSON value a line.

    >>> JsonLines().feed(b'{"a": 1}\\n{"b')
    [b'{"a": 1}\\n']
    """

    def __init__(self) -> None:
        self._held = _Held()

    def feed(self, data: bytes) -> list[bytes]:
        held = self._held.with_(data)
        if held is None:
            return []
        pieces = held.split(b"\n")
        self._held.keep(pieces.pop())
        return [piece + b"\n" for piece in pieces]

    @property
    def empty(self) -> bool:
        return not self._held.pieces

    def rest(self) -> bytes:
        return self._held.take()


def _cut(held: bytes) -> tuple[list[bytes], bytes]:
    events: list[bytes] = []
    start = 0
    for blank in _BLANK.finditer(held):
        if blank.end() == len(held) and blank[0].endswith(b"\r"):
            break  # the line feed of the same line end may come next
        events.append(held[start : blank.end()])
        start = blank.end()
    return events, held[start:]


def payload(event: bytes) -> bytes:
    """What the `data` lines of a server-sent event hold, joined as the standard says; empty for a comment.

    >>> payload(b"event: ping\\ndata: {}\\n\\n"), payload(b": hello\\n\\n")
    (b'{}', b'')
    """
    at = event.find(b"\n") + 1 if event.startswith(b"event: ") else 0
    if event.startswith(b"data: ", at) and event.find(b"\n", at) >= len(event) - 2 and b"\r" not in event:
        return event[at + 6 : -2]
    lines = [line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:")]
    return lines[0] if len(lines) == 1 else b"\n".join(lines)


def sse(data: bytes, event: str = "") -> bytes:
    """A server-sent event."""
    head = b"event: %s\n" % event.encode() if event else b""
    return b"%sdata: %s\n\n" % (head, data)
