"""The address of a server as people write it, the headers and events that travel, and one answer of HTTP/1.1, read as
its bytes arrive. No I/O: the same for every connection, loop and test.

What is refused is what two readers could understand in two ways, since who asks may pass the answer on: header names
and values with signs that could end them, two lengths, folded lines. Where an answer has both chunks and a length,
the chunks count and the length is taken away, as RFC 9112 wants it.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Final, Literal, Protocol, cast
from urllib.parse import urlsplit

from msgspec import Struct

from rightcall.base.text import escaped
from rightcall.errors import ConfigError, RightCallError

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
        raise ConfigError(f"{rule}: it must begin with http:// or https://")
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

_BLANK_SIGN = re.compile(rb"\r\n\r\n|\n\n|\r\r|\n\r\n|\r\n\n")


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
        self._pieces: list[bytes] = []
        self._size = 0

    @property
    def empty(self) -> bool:
        return not self._pieces

    def rest(self) -> bytes:
        held = b"".join(self._pieces)
        self._pieces = []
        return held

    def _with(self, data: bytes) -> bytes | None:
        """Everything so far, or None where nothing can have ended."""
        if not self._pieces:
            return data
        self._pieces.append(data)
        if b"\n" in data or b"\r" in data:
            return self.rest()
        self._size += len(data)
        if self._size > MOST:
            raise TooLong
        return None

    def _keep(self, rest: bytes) -> None:
        if len(rest) > MOST:
            raise TooLong
        self._pieces = [rest] if rest else []
        self._size = len(rest)


class ServerSentEvents(_Held):
    """Events end with a blank line, in any of the three ways to end a line.

    >>> ServerSentEvents().feed(b"data: 1\\n\\ndata: 2\\n\\nda")
    [b'data: 1\\n\\n', b'data: 2\\n\\n']
    """

    def feed(self, data: bytes) -> list[bytes]:
        is_one = data.endswith(b"\n\n") and data.find(b"\n\n") == len(data) - 2
        if is_one and b"\r" not in data and not self._pieces:
            return [data]  # just one event, as most servers send them
        held = self._with(data)
        if held is None:
            return []
        if b"\r" in held:
            events, rest = _cut(held)
        else:
            pieces = held.split(b"\n\n")
            rest = pieces.pop()
            events = [piece + b"\n\n" for piece in pieces]
        self._keep(rest)
        return events


class JsonLines(_Held):
    """One JSON value a line.

    >>> JsonLines().feed(b'{"a": 1}\\n{"b')
    [b'{"a": 1}\\n']
    """

    def feed(self, data: bytes) -> list[bytes]:
        held = self._with(data)
        if held is None:
            return []
        pieces = held.split(b"\n")
        self._keep(pieces.pop())
        return [piece + b"\n" for piece in pieces]


def _cut(held: bytes) -> tuple[list[bytes], bytes]:
    events: list[bytes] = []
    start = 0
    for blank in _BLANK_SIGN.finditer(held):
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
    drain_bytes: int = 64 * _MB
    """How much of a refused body is still taken, so that the client reads the refusal before the connection ends: many
    send the whole of it first."""
    drain_seconds: float = 2.0
    keep_alive_seconds: float = 65.0
    """For the next request on a connection: longer than clients keep theirs, so that it is they who close."""
    grace_seconds: float = 30.0
    """At a stop: how long requests that run may go on."""


Kind = Literal["unreachable", "tls", "timeout", "broken", "too_large"]
Phase = Literal["connect", "first byte", "between pieces"]
Code = Literal[
    "unreachable", "unnamed", "untrusted", Phase, "large", "silent", "half head", "half body", "reset", "reset body",
    "not http", "status", "upgrade", "headers", "length", "lengths", "encoding", "chunks", "packed", "other",
]  # fmt: skip

_KINDS: Final[dict[Code, Kind]] = {
    "unreachable": "unreachable",
    "unnamed": "unreachable",
    "untrusted": "tls",
    "connect": "timeout",
    "first byte": "timeout",
    "between pieces": "timeout",
    "large": "too_large",
}
WORDS: Final[dict[Code, str]] = {
    "unreachable": "cannot be reached ({told})",
    "unnamed": "has a name that cannot be looked up",
    "untrusted": "cannot be trusted or does not speak TLS ({told})",
    "connect": "did not accept a connection within {seconds:g} s",
    "first byte": "did not begin to answer within {seconds:g} s",
    "between pieces": "stopped in the middle of its answer and was silent for {seconds:g} s",
    "large": "sent {told} of more than {most:,} bytes, which is not taken",
    "silent": "gave no answer",
    "half head": "closed the connection in the middle of an answer's head",
    "half body": "stopped in the middle of its answer",
    "reset": "broke off the connection",
    "reset body": "stopped in the middle of its answer",
    "not http": "did not answer in HTTP",
    "status": "answered with the status {told}, which HTTP does not have",
    "upgrade": "wanted to change to another protocol",
    "headers": "did not answer in HTTP",
    "length": "did not answer in HTTP",
    "lengths": "did not answer in HTTP",
    "encoding": "sent its answer in a transfer encoding other than chunked",
    "chunks": "sent an answer whose body is not as its head says",
    "packed": "compressed its answer although it was not asked to",
    "other": "{told}",
}
CLOSER: Final[dict[Code, str]] = {
    **WORDS,
    "half head": "closed the connection without a whole answer",
    "half body": "broke off in the middle of its answer",
    "reset": "broke the connection off",
    "reset body": "broke off in the middle of its answer",
    "headers": "sent headers that are none",
    "length": "sent an answer with an invalid length",
    "lengths": "gave two lengths for one answer",
    "chunks": "sent chunks that are none",
}
"""For who asks a server of its own choice, and can look into what it sent."""


class Fault(Struct, frozen=True):
    """What went wrong, and the particulars that its words name."""

    code: Code
    told: str = ""
    seconds: float = 0.0
    most: int = 0

    @property
    def kind(self) -> Kind:
        return _KINDS.get(self.code, "broken")

    def describe(self, words: Mapping[Code, str] = WORDS) -> str:
        """What the server did: the rest of a sentence that begins with it.

        >>> Fault("large", "headers", most=64_000).describe()
        'sent headers of more than 64,000 bytes, which is not taken'
        """
        return words[self.code].format(told=self.told, seconds=self.seconds, most=self.most)


class HttpError(RightCallError):
    """The server gave no whole answer. `kind` says why in one word, `phase` what a timeout waited for."""

    def __init__(self, host: str, fault: Fault, advice: str = "") -> None:
        super().__init__(f"{host} {fault.describe()}{advice}")
        self.host = host
        self.fault = fault
        self.kind: Kind = fault.kind
        self.phase: Phase | None = cast("Phase", fault.code) if fault.kind == "timeout" else None


class Broken(Exception):
    """An answer that cannot be read on: raised where it is read, caught where it is awaited."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.code)
        self.fault = fault
        self.body = b""
        """What came of it in the same moment."""


def read_failure(why: OSError) -> Fault:
    """Why a connection could not be made."""
    if isinstance(why, ssl.SSLError):
        told = getattr(why, "verify_message", None) or why.reason or type(why).__name__
        return Fault("untrusted", str(told).lower().replace("_", " "))
    if isinstance(why, ConnectionError) and why.errno:  # asyncio's own words for it name the call, not the cause
        return Fault("unreachable", os.strerror(why.errno))
    return Fault("unreachable", str(why.strerror or type(why).__name__))


_BARE: Final = re.compile(rb"\r?\n")
_END: Final = re.compile(rb"\n\r?\n")
_STATUS: Final = re.compile(rb"HTTP/1\.([01]) (\d{3})(?: (.*))?")
_TOKEN: Final = b"!#$%&'*+.^_`|~-0123456789abcdefghijklmnopqrstuvwxyz"
_CONTROL: Final = bytes((*range(9), *range(10, 32), 127))
_DIGITS: Final = 15
_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,7})\r\n")
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\r?\n", re.DOTALL)
_BLANK: Final = (b"\r\n", b"\n")


class Answer:
    """`feed` it what arrives, and `end` it when nothing more can; both raise `Broken`.

    `headers` have names in lower case. `announced` is the length that the server promised, None where it promised none.
    `can_stay` says whether the connection may be used for another request once the answer is complete.
    """

    def __init__(self, head_bytes: int, *, is_head: bool = False) -> None:
        self.status = 0
        self.reason = b""
        self.headers: Headers = []
        self.announced: int | None = None
        self.has_head = False
        self.is_complete = False
        self.can_stay: bool = False
        self._is_head = is_head
        self._most = head_bytes
        self._room = head_bytes
        """Bytes of heads and trailers that may still come."""
        self._held: bytes = b""
        """The beginning of a head, or of a line between chunks."""
        self._left: int | None = 0
        """Bytes that are still to come of the body or of the chunk; None: until the connection ends."""
        self._is_chunked = False
        self._is_fresh = False  # where a chunk begins
        self._is_between = False  # after a chunk, where no other can begin yet
        self._is_last = False  # after the chunk that says that there are no more

    def feed(self, data: bytes) -> bytes:
        """As much of the body as these bytes hold."""
        if self._is_fresh and (found := _SIZE.match(data)) is not None:
            start = found.end()
            stop = start + int(found[1], 16)
            if len(data) == stop + 2 and stop > start and data.endswith(b"\r\n"):
                return data[start:stop]  # one chunk, as most servers send them
        if not self.has_head:
            data = self._read_heads(data)
        if self.is_complete:
            self.can_stay = self.can_stay and not data  # who says more than was asked cannot be understood from here on
            return b""
        if self._is_chunked:
            return self._read_chunks(data)
        left = self._left
        if left is None or not self.has_head:
            return data
        if len(data) < left:
            self._left = left - len(data)
            return data
        self.is_complete = True
        self.can_stay = self.can_stay and len(data) == left
        return data[:left]

    def end(self) -> None:
        """The server has closed the connection."""
        if self.is_complete:
            return
        if not self.has_head:
            raise Broken(Fault("half head" if self._held or self._room < self._most else "silent"))
        if self._left is not None and not self._is_last:
            raise Broken(Fault("half body"))
        self.is_complete = True

    # ── the head ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _read_heads(self, data: bytes) -> bytes:
        """What stands behind the head; nothing as long as that is not whole. Heads that only promise one pass."""
        start = max(0, len(self._held) - 3)
        held = self._held + data if self._held else data
        while (end := _end_of_head(held, start)) > 0:
            self._read_head(held[:end])
            held, start = held[end:], 0
            if self.has_head:
                self._held = b""
                return held
        if not held.startswith(b"HTTP/1."[: len(held)]):
            raise Broken(Fault("not http"))
        if len(held) > self._room:
            raise self._too_large()
        self._held = held
        return b""

    def _read_head(self, head: bytes) -> None:
        self._count(head)
        lines = head.split(b"\r\n")
        ends = head.count(b"\n") + len(lines) - 1
        signs = len(head) - len(head.translate(None, _CONTROL))  # a return that ends no line might end one for others
        if head.count(b"\n") >= len(lines):
            lines = _BARE.split(head)
        line = _STATUS.fullmatch(lines[0])
        if line is None:
            raise Broken(Fault("not http"))
        version, code, reason = line.groups()
        fields = [one.partition(b":") for one in lines[1:-2]]
        headers = [(name.lower(), value.strip(b" \t")) for name, colon, value in fields if name and colon]
        is_odd = len(headers) < len(fields) or b"".join([name for name, _ in headers]).translate(None, _TOKEN)
        if is_odd or signs != ends:
            raise Broken(Fault("headers"))
        status = int(code)
        if status == 101:
            raise Broken(Fault("upgrade"))
        if 100 <= status < 200:
            return
        if not 200 <= status <= 599:
            raise Broken(Fault("status", str(status)))
        self.status = status
        self.reason = reason or b""
        self.headers = headers
        self.has_head = True
        self._read_framing(is_new=version == b"1")

    def _read_framing(self, *, is_new: bool) -> None:
        """How the body ends, and whether the connection lives on."""
        found = dict(self.headers)
        if len(found) < len(self.headers):
            self._refuse_two()
            found[b"connection"] = b",".join(value for name, value in self.headers if name == b"connection")
        length, encoding = found.get(b"content-length"), found.get(b"transfer-encoding")
        is_chunked = encoding is not None and encoding.lower() == b"chunked"
        if encoding is not None and not is_chunked and encoding.lower() != b"identity":
            raise Broken(Fault("encoding"))
        connection = found.get(b"connection", b"")
        self.can_stay = is_new if not connection else _stays(connection.lower(), is_new)
        is_empty = self.status in (204, 304)
        if length is not None:
            if not length.isdigit() or len(length) > _DIGITS:
                raise Broken(Fault("length"))
            if is_chunked or is_empty:
                self.headers = [header for header in self.headers if header[0] != b"content-length"]
                self.can_stay = self.can_stay and not is_chunked
            else:
                self.announced = int(length)
        self.is_complete = is_empty or self._is_head or self.announced == 0
        self._is_chunked = is_chunked
        self._left = 0 if is_chunked else self.announced

    def _refuse_two(self) -> None:
        """Of those headers that say how long an answer is. The same one twice is one."""
        for name in (b"content-length", b"transfer-encoding"):
            values = [value for key, value in self.headers if key == name]
            if len(set(values)) > 1:
                raise Broken(Fault("lengths"))
            if len(values) > 1:
                self.headers = [*(one for one in self.headers if one[0] != name), (name, values[0])]

    # ── chunks ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _read_chunks(self, data: bytes) -> bytes:
        if self._held:
            data = self._held + data
            self._held = b""
        pieces: list[bytes] = []
        at, size, left = 0, len(data), self._left or 0
        while at < size:
            if left:
                piece = data[at : at + left]
                pieces.append(piece)
                at += len(piece)
                left -= len(piece)
                self._is_between = True
                continue
            found = _SIZE.match(data, at) if not self._is_between else None
            if found is not None:
                start = found.end()
                stop = start + int(found[1], 16)
                if stop > start and data.startswith(b"\r\n", stop):
                    pieces.append(data[start:stop])
                    at = stop + 2
                    continue
            stop = data.find(b"\n", at) + 1
            if not stop:
                self._held = data[at:]
                if len(self._held) > self._room:
                    raise self._too_large()
                break
            try:
                left = self._read_line(data[at:stop])
            except Broken as wrong:
                wrong.body = b"".join(pieces)
                raise
            at = stop
            if self.is_complete:
                self.can_stay = self.can_stay and at == size
                break
        self._left = left
        self._is_fresh = not (left or self._held or self._is_between)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _read_line(self, line: bytes) -> int:
        """A line between two chunks; the size of the chunk that it announces."""
        if self._is_last:  # trailers, which nobody asked for
            self._count(line)
            self.is_complete = line in _BLANK
            return 0
        if self._is_between:
            if line not in _BLANK:
                raise Broken(Fault("chunks"))
            self._is_between = False
            return 0
        found = _CHUNK.fullmatch(line)
        if found is None:
            raise Broken(Fault("chunks"))
        left = int(found[1], 16)
        self._is_last = self._is_between = not left
        return left

    def _count(self, line: bytes) -> None:
        self._room -= len(line)
        if self._room < 0:
            raise self._too_large()

    def _too_large(self) -> Broken:
        return Broken(Fault("large", "headers", most=self._most))


def _stays(connection: bytes, is_new: bool) -> bool:
    """Whether the connection lives on, by its header and the version of HTTP."""
    return b"close" not in connection if is_new else b"keep-alive" in connection


def _end_of_head(held: bytes, start: int) -> int:
    """Where it ends, with the blank line; 0: it does not yet."""
    end = held.find(b"\r\n\r\n", start)
    if end > 0 and held.find(b"\n\n", start, end) < 0:
        return end + 4
    found = _END.search(held, start)
    return found.end() if found is not None else 0


# ── headers ──


def header_of(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes:
    """The first header of this name, in lower case; empty where there is none."""
    for key, value in headers:
        if key == name:
            return value
    return b""


def length_of(body: bytes) -> tuple[bytes, bytes]:
    return (b"content-length", b"%d" % len(body))
