"""Messages between the sandbox and the processes it has started: JSON with its length before it, over a socket, with
open files beside it."""

from __future__ import annotations

import array
import json
import os
import socket
import struct
from typing import Any

_MOST_FILES = 8
_LENGTH = struct.Struct("<I")
_MOST = 16 << 20


def send(channel: socket.socket, message: Any, files: tuple[int, ...] = ()) -> None:
    body = json.dumps(message).encode()
    block = _LENGTH.pack(len(body)) + body
    sent = 0
    if files:
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
        sent = channel.sendmsg([block], ancillary)
    channel.sendall(block[sent:])


def receive(channel: socket.socket) -> tuple[Any, list[int]]:
    """The next message and the files that came with it; raises EOFError when the other side has gone."""
    files: list[int] = []
    try:
        head = _exactly(channel, _LENGTH.size, files)
        (length,) = _LENGTH.unpack(head)
        if length > _MOST:
            raise EOFError("a message that is none")
        return json.loads(_exactly(channel, length, files)), files
    except BaseException:
        for file in files:
            os.close(file)
        raise


def _exactly(channel: socket.socket, length: int, files: list[int]) -> bytes:
    parts: list[bytes] = []
    while length:
        space = socket.CMSG_SPACE(_MOST_FILES * array.array("i").itemsize)
        block, ancillary, _, _ = channel.recvmsg(length, space, socket.MSG_CMSG_CLOEXEC)
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                whole = array.array("i")
                whole.frombytes(data[: len(data) - len(data) % whole.itemsize])
                files.extend(whole)
        if not block:
            raise EOFError
        parts.append(block)
        length -= len(block)
    return b"".join(parts)
