"""As much of HTTP/1.1 as a scripted upstream needs, with every byte in the test's hand."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, json, structs


class Received(Struct, frozen=True):
    """One request, as it arrived."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def json(self) -> dict[str, Any]:
        try:
            return json.decode(self.body)
        except ValueError:
            return {}

    def header(self, name: str) -> str | None:
        """
        >>> Received("GET", "/", [("Host", "here")], b"").header("host")
        'here'
        """
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


class Reply(Struct, frozen=True):
    """What goes back. Without a length the pieces are chunks; `dies`: the connection ends after the last piece."""

    status: int
    headers: dict[str, str]
    pieces: Iterable[bytes]
    length: int | None = None
    stalls_after: int | None = None
    dies: bool = False
    until_closed: bool = False
    """Whether the body is neither measured nor in chunks."""

    def but(self, **changes: Any) -> "Reply":
        return structs.replace(self, **changes)


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Received | None:
    """None when the client is done with this connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    by_name = {name.lower(): value for name, value in headers}
    if by_name.get("expect") == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "chunked" in by_name.get("transfer-encoding", ""):
        body = await _chunks(reader)
    else:
        body = await reader.readexactly(int(by_name.get("content-length", 0)))
    return Received(method, target, headers, body)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readline()
    while (await reader.readline()).strip():
        pass
    return body


async def send(
    reply: Reply, request: Received, writer: asyncio.StreamWriter, stall: Callable[[], Awaitable[None]]
) -> bool:
    """Whether the connection can be used again. Every piece leaves on its own."""
    if reply.stalls_after == 0:
        await stall()
    writer.write(_head(reply))
    if request.method == "HEAD":
        return True
    for number, piece in enumerate(reply.pieces):
        if number and number == reply.stalls_after:
            await stall()
        plain = reply.length is not None or reply.until_closed
        writer.write(piece if plain else b"%x\r\n%b\r\n" % (len(piece), piece))
        await writer.drain()
    if reply.dies:
        await _die(writer)
        return False
    if reply.length is None:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return request.header("connection") != "close"


def _head(reply: Reply) -> bytes:
    framing = "transfer-encoding: chunked" if reply.length is None else f"content-length: {reply.length}"
    framing = "connection: close" if reply.until_closed else framing
    lines = [f"HTTP/1.1 {reply.status} {_phrase(reply.status)}", framing]
    lines += [f"{name}: {value}" for name, value in reply.headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:  # 529, say
        return "Unknown"


async def _die(writer: asyncio.StreamWriter) -> None:
    """What was sent arrives, then the connection is gone."""
    writer.close()
    await writer.wait_closed()
