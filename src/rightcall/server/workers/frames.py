"""Whole messages over a stream between processes of one server: a length, one letter that says what it is, the content.

    parent ◀─▶ worker     orders and figures, over a pair of sockets
    worker ◀─▶ parent     lines of an MCP server that runs once for all workers

The sockets are a pair that nobody else has, or lie in a folder that only this user can look into.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from struct import Struct as Layout
from typing import Final, cast

MOST: Final = 64_000_000
"""Bytes of one message, and of those that may wait for an end that reads nothing."""
_HEAD: Final = Layout(">Ic")


def framed(kind: bytes, content: bytes = b"") -> bytes:
    """
    >>> framed(b"x", b"ab")
    b'\\x00\\x00\\x00\\x02xab'
    """
    return _HEAD.pack(len(content), kind) + content


class Frames(asyncio.Protocol):
    """One end. `heard` takes each message, `lost` is called once when the other end has gone."""

    def __init__(self, heard: Callable[[bytes, bytes], None], lost: Callable[[], None] = lambda: None) -> None:
        self.heard = heard
        self.lost = lost
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self.is_given_up = False
        """The other end has read too little of what it was sent."""

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def send(self, kind: bytes, content: bytes = b"") -> None:
        """Never waits. Where the other end reads nothing any more, it is given up."""
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(framed(kind, content))
        if self._transport.get_write_buffer_size() > MOST:
            self.is_given_up = True
            self._transport.abort()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    # what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        if not buffer and len(data) >= _HEAD.size:  # most come alone and whole
            length, kind = _HEAD.unpack_from(data)
            if len(data) == _HEAD.size + length:
                self.heard(kind, data[_HEAD.size :])
                return
        buffer += data
        start, size = 0, len(buffer)
        while size - start >= _HEAD.size:
            length, kind = _HEAD.unpack_from(buffer, start)
            if length > MOST:
                self._abort()
                return
            end = start + _HEAD.size + length
            if end > size:
                break
            content = bytes(memoryview(buffer)[start + _HEAD.size : end])
            start = end
            self.heard(kind, content)
        del buffer[:start]

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.lost()

    def _abort(self) -> None:
        self._buffer.clear()
        if self._transport is not None:
            self._transport.abort()


async def connected(frames: Frames, path: str, seconds: float) -> bool:
    """Whether somebody listens at this path."""
    try:
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().create_unix_connection(lambda: frames, path)
    except (OSError, TimeoutError):
        return False
    return True


async def listening(path: str, accept: Callable[[], Frames]) -> asyncio.AbstractServer:
    """A place in the private folder, which nobody else may enter."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    server = await asyncio.get_running_loop().create_unix_server(accept, path)
    os.chmod(path, 0o600)
    return server


def received(channel: socket.socket) -> tuple[bytes, bytes]:
    """The first message, before there is an event loop. Raises EOFError."""
    length, kind = _HEAD.unpack(_exactly(channel, _HEAD.size))
    return kind, _exactly(channel, length)


def _exactly(channel: socket.socket, count: int) -> bytes:
    pieces: list[bytes] = []
    while count:
        piece = channel.recv(count)
        if not piece:
            raise EOFError
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
