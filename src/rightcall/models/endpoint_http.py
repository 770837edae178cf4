"""As much of HTTP/1.1 as asking a model or fetching a page needs, with the standard library alone.

**One connection for each question.** A model's answer takes hundreds of milliseconds, a connection to a server nearby a
fraction of one; and without a pool nothing is bound to an event loop, nothing is left open, and no question is lost on
a connection that the server closed while it was idle. Redirects are not followed and proxies of the environment not
used: a key goes where the url says and nowhere else. Nothing here keeps time: whoever asks does.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from rightcall.errors import RightCallError
from rightcall.models.endpoint_connecting import connected
from rightcall.text.addresses import Address

MOST_HEAD = 64_000
_PIECE = 64_000
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)(?: |\r?\n)")
_LENGTH = re.compile(r"\d{1,15}\Z", re.ASCII)
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?\r?\n\Z", re.DOTALL)


class Asked(Protocol):
    """A server, and the errors for when asking it fails."""

    @property
    def address(self) -> Address: ...

    @property
    def most(self) -> int:
        """Bytes of a body that are read."""
        ...

    @property
    def unpacks(self) -> frozenset[str]:
        """The encodings of a body that are understood; `read` gives it as it comes."""
        ...

    def not_found(self) -> RightCallError:
        """Its name is one that DNS cannot have."""
        ...

    def not_http(self) -> RightCallError: ...

    def unreachable(self, why: OSError) -> RightCallError: ...

    def too_large(self, what: str, most: int) -> RightCallError: ...

    def broken(self, what: str) -> RightCallError: ...


class Response:
    """An answer whose head has come; `read` gives the body as it arrives. Names of headers are in lower case."""

    def __init__(self, whom: Asked, reader: asyncio.StreamReader, status: int, headers: Mapping[str, str]) -> None:
        self.status = status
        self.headers = headers
        self._whom = whom
        self._reader = reader
        self._room = whom.most
        self._chunked, self._left = _framing(whom, headers)
        """Bytes that are still to come, of the body or of the chunk; None: until the connection ends."""
        self._is_over = status in (204, 304)

    async def read_all(self) -> bytes:
        pieces: list[bytes] = []
        while piece := await self.read():
            pieces.append(piece)
        return b"".join(pieces)

    async def read(self) -> bytes:
        """At least one byte; b"" at the end. Raises ModelError where the rest never comes."""
        if self._chunked and not self._left and not self._is_over:
            self._left = await self._next_chunk()
            self._is_over = not self._left
        if self._is_over or self._left == 0:
            return b""
        try:
            piece = await self._reader.read(_PIECE if self._left is None else min(_PIECE, self._left))
        except OSError:
            raise self._broke_off() from None
        self._take(len(piece))
        return piece

    def _take(self, size: int) -> None:
        if not size and self._left is not None:
            raise self._broke_off()
        self._room -= size
        if self._room < 0:
            raise self._whom.too_large("an answer", self._whom.most)
        if self._left is not None:
            self._left -= size

    async def _next_chunk(self) -> int:
        """The size of the next chunk; 0 at the end. What may follow it, nobody asked for."""
        line = await _line(self._whom, self._reader)
        if self._left == 0 and line in (b"\r\n", b"\n"):  # the end of the chunk before
            line = await _line(self._whom, self._reader)
        found = _CHUNK.match(line)
        if found is None:
            raise self._broke_off() if not line else self._whom.broken("sent chunks that are none")
        return int(found[1], 16)

    def _broke_off(self) -> Exception:
        return self._whom.broken("broke off in the middle of its answer")


def _framing(whom: Asked, headers: Mapping[str, str]) -> tuple[bool, int | None]:
    """Whether the body comes in chunks, and its length where that is known."""
    if headers.get("content-encoding", "identity").lower() not in whom.unpacks:
        raise whom.broken("compressed its answer although it was not asked to")
    encoding = headers.get("transfer-encoding", "identity").lower()
    if encoding == "chunked":
        return True, None
    if encoding != "identity":
        raise whom.broken("sent its answer in a transfer encoding other than chunked")
    length = headers.get("content-length")
    if length is None:
        return False, None
    if not _LENGTH.match(length):
        raise whom.broken("sent an answer whose length is no number")
    if int(length) > whom.most:
        raise whom.too_large("an answer", whom.most)
    return False, int(length)


@asynccontextmanager
async def exchanged(
    whom: Asked, request: bytes, body: bytes, trust: ssl.SSLContext | None, at: Sequence[str] | None = None
) -> AsyncGenerator[Response]:
    """Sends a request and gives its answer; the connection is gone when the block ends, however it ends. `at` are the
    addresses that its name was looked up to already: then it is not looked up again."""
    address = whom.address
    try:
        reader, writer = await connected(address.host, address.port, trust, MOST_HEAD, at)
    except OSError as why:
        raise whom.unreachable(why) from None
    except UnicodeError:
        raise whom.not_found() from None
    try:
        with suppress(ConnectionError):  # who refuses a long question may answer before all of it is there
            writer.write(request + body)
            await writer.drain()
        yield await _answer(whom, reader)
    finally:
        writer.transport.abort()


async def _answer(whom: Asked, reader: asyncio.StreamReader) -> Response:
    left = MOST_HEAD
    while True:
        lines: list[bytes] = []
        while not lines or lines[-1].strip():
            line = await _line(whom, reader)
            left -= len(line)
            if left < 0:
                raise whom.too_large("headers", MOST_HEAD)
            if not line:
                raise whom.broken("closed the connection without a whole answer" if lines else "gave no answer")
            lines.append(line)
        status = _STATUS.match(lines[0])
        if status is None:
            raise whom.not_http()
        if not status[1].startswith(b"1"):
            return Response(whom, reader, int(status[1]), _headers(whom, lines[1:-1]))
        if status[1] == b"101":
            raise whom.broken("wanted to change to another protocol")


async def _line(whom: Asked, reader: asyncio.StreamReader) -> bytes:
    """A line with its end; what came of it where the connection ended."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError:
        return b""
    except asyncio.LimitOverrunError:
        raise whom.too_large("headers", MOST_HEAD) from None
    except OSError:
        raise whom.broken("broke the connection off") from None


def _headers(whom: Asked, lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.decode("latin-1").partition(":")
        name, value = name.lower(), value.strip()
        if not colon or name != name.strip():
            raise whom.broken("sent headers that are none")
        if headers.setdefault(name, value) != value and name in ("content-length", "transfer-encoding"):
            raise whom.broken("gave two lengths for one answer")
    return headers
