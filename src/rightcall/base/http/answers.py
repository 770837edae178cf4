"""One answer of HTTP/1.1, read as its bytes arrive. No I/O: the same for every connection, loop and test.

What is refused is what two readers could understand in two ways, since who asks may pass the answer on: header names
and values with signs that could end them, two lengths, folded lines. Where an answer has both chunks and a length,
the chunks count and the length is taken away, as RFC 9112 wants it.
"""

import re
import ssl
from collections.abc import Iterable, Mapping
from typing import Final, Literal, cast

from msgspec import Struct

from rightcall.base.http.addresses import Headers
from rightcall.errors import RightCallError

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
    "half body": "closed the connection in the middle of its answer",
    "reset": "broke off the connection",
    "reset body": "broke off the connection",
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
    "length": "sent an answer whose length is no number",
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
    return next((value for key, value in headers if key == name), b"")


def length_of(body: bytes) -> tuple[bytes, bytes]:
    return (b"content-length", b"%d" % len(body))
