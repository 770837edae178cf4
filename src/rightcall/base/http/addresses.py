"""The address of a server, as people write it, and the headers that travel to and from it."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address
from typing import Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from rightcall.base.text import escaped
from rightcall.errors import ConfigError

Headers = list[tuple[bytes, bytes]]
"""Names are in lower case."""

_SECURE = {"http": False, "https": True}


class Address(Struct, frozen=True):
    """Where a server is. `path` has no slash at its end."""

    host: str
    port: int
    secure: bool
    path: str

    @property
    def authority(self) -> str:
        """As the Host header wants it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        return is_loopback(self.host)


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Kept for the addresses seen last: it is asked with every request."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def read_address(url: str, rule: str, keys: str) -> Address:
    """Reads a server's URL. Raises ConfigError that begins with `rule` and, where the URL has a password, says where
    `keys` go instead; it never repeats the URL: people put keys into URLs.

    >>> read_address("http://localhost:11434/v1/", "", "").authority
    'localhost:11434'
    """
    # which `urlsplit` would take out in silence
    if any(character.isspace() or not character.isprintable() for character in url):
        raise ConfigError(f"{rule}: without blanks and control characters")
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as wrong:
        raise ConfigError(f"{rule}: {escaped(str(wrong), 100)}") from None
    if port == 0:
        raise ConfigError(f"{rule}: a port is a number from 1 to 65535")
    if parts.scheme not in _SECURE:
        raise ConfigError(f"{rule}: it begins with http:// or https://")
    if not host or not _is_printable_ascii(host):
        raise ConfigError(f"{rule}: it names no host, or not in ASCII")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(f"{rule}: without a user or password; {keys}")
    if parts.query or parts.fragment:
        raise ConfigError(f"{rule}: without ? and #")
    if not _is_printable_ascii(parts.path):
        raise ConfigError(f"{rule}: a path is ASCII, with %XX for everything else")
    secure = _SECURE[parts.scheme]
    return Address(host, port or (443 if secure else 80), secure, parts.path.rstrip("/"))


def _is_printable_ascii(text: str) -> bool:
    return all("!" <= character <= "~" for character in text)


# ── framing ──
# Cutting a stream of bytes into events, without losing a byte: server-sent events, and JSON lines.

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


# ── limits ──
# How much, how many and how long, at both ends of the server. Every number can be set; these are the defaults.

_MB = 1_000_000


class ServeLimits(Struct, frozen=True, kw_only=True):
    """What we wait for and take from clients."""

    connections: int = 1_000
    head_seconds: float = 10.0
    """From the first byte of a request, or from connecting, to the end of its head."""
    head_bytes: int = 64_000
    headers: int = 200
    body_bytes: int = 32 * _MB
    body_stall_seconds: float = 30.0
    """Without a single byte of a body that is still to come."""
    body_seconds: float = 120.0
    """For a whole body, and one second more for every kilobyte: the least pace we accept."""
    reader_stall_seconds: float = 120.0
    """In which a client takes nothing of an answer that is ready for it."""
    drain_bytes: int = 1 * _MB
    """How much of a refused body is still taken, so that the client reads the refusal before the connection ends."""
    drain_seconds: float = 2.0
    keep_alive_seconds: float = 65.0
    """For the next request on a connection: longer than clients keep theirs, so that it is they who close."""
    grace_seconds: float = 30.0
    """At a stop: how long requests that run may go on."""
