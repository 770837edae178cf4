"""MCP over workers: a request that belongs to what another worker has is given to that one, together with its
connection.

    client ─▶ any worker ─▶ the socket of the worker that has the session
           ◀────────────────┘ the connection is that worker's from here on

Sessions of the old era, calls that wait for answers and tasks of the new one carry the name of their worker. The worker
that has read a request passes on the connection and the bytes that have come: the other one reads them as if it had
accepted the connection itself, and so looks at its token again. What the client asks next on it is already at the right
place. Where that worker is gone, what it had is as unknown as any, which clients are told as the specification says.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from struct import Struct as Layout
from typing import Any, Final

from starlette.types import Receive, Scope, Send

from rightcall.mcp.gateway.forward import MARK, TASKS, names_in
from rightcall.mcp.messages import HANDSHAKE, a_response, failed_result, fields, header_text, mapping, read, value
from rightcall.mcp.session import spawn
from rightcall.server.access import Gone, body_of, replayed
from rightcall.server.mcp import Endpoint, first_headers, plain
from rightcall.server.protocol import CONNECTION, LimitedProtocol
from rightcall.server.workers.frames import MOST

Adopt = Callable[[socket.socket, bytes], Awaitable[None]]
"""Serve a connection on which so much has come already."""

ACCEPTING: Final = 2.0
"""Seconds in which a worker must say that it takes a request. One that does not has not seen it, and never will."""
_PASSING: Final = 10.0
"""Seconds in which a worker must have taken the next piece of a request, and another must have sent it."""
_PIECE: Final = 1_000_000
RECENT: Final = 60.0
"""A session that was used within so many seconds will be used again."""
_TIRED: Final = 0.1
"""Seconds without accepting where the system has no descriptor left: less than others wait for it."""
_CROWDED: Final = 0.005
"""Seconds after which a worker is asked again to whom too many want to give something."""
BUSY: Final = "This session is at another worker, which cannot take the request now. Send it again."
_GO: Final = b"g"
_LENGTH: Final = Layout(">Q")
_OWNER: Final = re.compile(r"(w[0-9]{1,9})\.")
_STATE: Final = b"requestState"
_LISTEN: Final = "subscriptions/listen"


def owner_of(name: object) -> str:
    """The worker that a session, a state or a task names; empty where it names none.

    >>> owner_of("w3.Kf0"), owner_of("rightcall-gateway.w12.Kf0"), owner_of("Kf0"), owner_of(7)
    ('w3', 'w12', '', '')
    """
    if not isinstance(name, str):
        return ""
    found = _OWNER.match(name.removeprefix(MARK))
    return found[1] if found else ""


class Handover:
    """In front of the endpoint of one worker, which is called `name`; `folder` holds the sockets of all."""

    def __init__(self, endpoint: Endpoint, name: str, folder: str) -> None:
        self._endpoint = endpoint
        self._name = name
        self._folder = folder
        self._listener: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._taking: set[asyncio.Task[None]] = set()

    def start(self, adopt: Adopt) -> None:
        """Take what is this worker's from the others."""
        listener = self._listener = socket.socket(socket.AF_UNIX)
        listener.setblocking(False)
        with suppress(FileNotFoundError):
            os.unlink(self._path(self._name))
        listener.bind(self._path(self._name))
        os.chmod(self._path(self._name), 0o600)
        listener.listen()
        self._accepting = asyncio.create_task(self._accept(listener, adopt))

    async def aclose(self) -> None:
        """What another worker gives at this moment is still taken: that one does not answer it any more."""
        if self._listener is not None and self._accepting is not None:
            self._accepting.cancel()
            await asyncio.wait((self._accepting,))
            self._listener.close()
        if self._taking:
            await asyncio.wait(self._taking, timeout=ACCEPTING)
        for task in list(self._taking):
            task.cancel()
        await asyncio.gather(*self._taking, return_exceptions=True)

    @property
    def is_needed(self) -> bool:
        """Whether clients will come back for what only this worker has."""
        return self._endpoint.sessions.used_within(RECENT) or self._endpoint.gateway.is_busy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            owner, receive = await _owner_of_request(scope, receive)
            if owner and owner != self._name:
                body = await body_of(receive)
                receive = replayed({"type": "http.request", "body": body}, receive)
                if await self._give(scope[CONNECTION], owner, send):
                    return
        except Gone:
            return
        await self._endpoint(scope, receive, send)

    async def _give(self, connection: LimitedProtocol, owner: str, send: Send) -> bool:
        """Whether that worker lives: it answers, or the client was told to ask again."""
        with suppress(OSError), socket.socket(socket.AF_UNIX) as way:  # no file may be left to open
            way.setblocking(False)
            if not await _is_there(way, self._path(owner)):
                return False
            if await _passed(way, connection):
                return True
        error = a_response(b"null", failed_result(-32603, BUSY, {"code": "busy"}))
        await plain(send, 503, error, [(b"connection", b"close"), (b"retry-after", b"1")])
        return True

    async def _accept(self, listener: socket.socket, adopt: Adopt) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                way, _ = await loop.sock_accept(listener)
            except OSError:
                await asyncio.sleep(_TIRED)
            else:
                spawn(self._taking, self._take(way, adopt))

    async def _take(self, way: socket.socket, adopt: Adopt) -> None:
        """Says at once that it is there: one that was stopped does not, and is sent nothing."""
        loop = asyncio.get_running_loop()
        client: socket.socket | None = None
        try:
            with way:
                with way.dup():  # holds the place of the file that comes: without one it does not say that it takes it
                    await loop.sock_sendall(way, _GO)
                    with suppress(TimeoutError):  # who was stopped meanwhile finds it there all the same
                        async with asyncio.timeout(_PASSING):
                            await _until_readable(way)
                head, files, *_ = socket.recv_fds(way, _LENGTH.size, 1)
                if not files:
                    return
                client = socket.socket(fileno=files[0])
                client.set_inheritable(False)
                client.setblocking(False)
                request = await _received(way, *_LENGTH.unpack(head))
            adopted, client = client, None
            await adopt(adopted, request)
        except (OSError, TimeoutError, EOFError):
            return  # the other worker is gone, or has answered by itself
        finally:
            if client is not None:
                client.close()

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, f"{name}.sock")


async def _is_there(way: socket.socket, path: str) -> bool:
    """Whether a worker listens at this path that has not been stopped."""
    try:
        async with asyncio.timeout(ACCEPTING):
            await _connect(way, path)
            await _until_readable(way)
    except (FileNotFoundError, ConnectionRefusedError, TimeoutError):
        return False
    return True


async def _passed(way: socket.socket, connection: LimitedProtocol) -> bool:
    """Whether the connection is the other worker's now."""
    loop = asyncio.get_running_loop()
    if way.recv(1) != _GO:
        return False  # it has no room
    request = connection.stand_still()
    if request is None:
        return False  # the client has sent more already, which was read here
    whole = memoryview(request)
    try:
        socket.send_fds(way, [_LENGTH.pack(len(request))], [connection.descriptor])
        for start in range(0, len(whole) - 1, _PIECE):
            async with asyncio.timeout(_PASSING):
                await loop.sock_sendall(way, whole[start : min(start + _PIECE, len(whole) - 1)])
        way.send(whole[-1:])  # without it, it is none; with it, it is not ours any more
    except (OSError, TimeoutError):
        connection.go_on()
        return False
    connection.let_go()
    return True


async def _connect(way: socket.socket, path: str) -> None:
    """Raises OSError where nobody is there. The event loop's own takes a full queue for a connection."""
    while True:
        try:
            way.connect(path)
        except BlockingIOError:
            await asyncio.sleep(_CROWDED)
        else:
            return


async def _until_readable(one: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    came = loop.create_future()
    loop.add_reader(one, lambda: came.done() or came.set_result(None))
    try:
        await came
    finally:
        loop.remove_reader(one)


async def _received(way: socket.socket, length: int) -> bytes:
    loop, found = asyncio.get_running_loop(), bytearray()
    if length > MOST:
        raise EOFError
    while len(found) < length:
        most = min(length - len(found), _PIECE)
        try:
            async with asyncio.timeout(_PASSING):
                piece = await loop.sock_recv(way, most)
        except TimeoutError:
            piece = way.recv(most)  # as above
        if not piece:
            raise EOFError
        found += piece
    return bytes(found)


async def _owner_of_request(scope: Scope, receive: Receive) -> tuple[str, Receive]:
    """Whose a request is, where that matters; and the request, which may have been read for that. Raises Gone."""
    headers = first_headers(scope)
    version = headers.get(b"mcp-protocol-version", b"").strip(b" \t").decode("latin-1")
    if not version or version in HANDSHAKE:
        return owner_of(headers.get(b"mcp-session-id", b"").decode("latin-1")), receive
    method = headers.get(b"mcp-method", b"").strip(b" \t").decode("latin-1")
    if method.startswith("tasks/"):
        return owner_of(header_text(headers.get(b"mcp-name", b""))), receive
    if scope["method"] != "POST":
        return "", receive
    body = await body_of(receive)
    owner = ""
    if _STATE in body or method == _LISTEN:
        message = read(body)
        params = fields(message.params) if message is not None else {}
        owner = owner_of(value(params.get("requestState", b"")))
        if not owner and method == _LISTEN:
            owner = _owner_of_tasks(mapping(value(params.get("notifications", b""))))
    return owner, replayed({"type": "http.request", "body": body}, receive)


def _owner_of_tasks(wanted: Mapping[str, Any]) -> str:
    """Whoever listens for tasks hears of those of one worker: a client has all of its from the same, or listens
    twice."""
    return next((owner for one in names_in(wanted, TASKS) if (owner := owner_of(one))), "")
