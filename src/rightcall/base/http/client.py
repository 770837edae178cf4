"""Our own HTTP/1.1 client, with the standard library alone: one host, one request at a time on a connection, answers as
bytes that are read as they come.

    bytes ─▶ Connection ─▶ Incoming (an Answer that can be awaited) ─▶ who asked
                 ▲
              Client: the connections to one server; `exchange` is one that lives for a single request

A client library costs more than all the rest of the proxy (docs/decisions/0014), and this needs little. Redirects are
not followed and proxies of the environment (HTTP_PROXY and the like) not used: a key goes where the address says and
nowhere else.

**A request is sent a second time** in one case: it went out on a connection that had been idle, and the server closed
that connection at once without a single byte of an answer. Servers close idle connections whenever they like, and one
that does so while our request is on its way has not read it; every HTTP client sends it again on a new connection,
since otherwise a request would fail now and then for no reason of the user's. That holds for POST too: a server that
had begun to work on it would not close within moments without a word. Whoever takes longer is not asked twice.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import partial
from ipaddress import ip_address
from threading import Thread
from typing import Final, TypeVar, cast

from msgspec import Struct

from rightcall.base.http.answers import (
    Address,
    Answer,
    Broken,
    Fault,
    Headers,
    HttpError,
    Phase,
    header_of,
    read_failure,
)
from rightcall.errors import CallError

# ── own thread ──
# Work that may hang, in a thread of its own, which nobody waits for at the end: it must not hold the program.

T = TypeVar("T")


def in_own_thread(work: Callable[[], T], name: str) -> "Future[T]":
    """What comes of the work. Raises RuntimeError where no thread can be started."""
    future: Future[T] = Future()
    context = copy_context()

    def run() -> None:
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(context.run(work))
            except BaseException as error:  # noqa: BLE001 - the end of the program, say: for whoever asked
                future.set_exception(error)

    Thread(target=run, name=name, daemon=True).start()
    return future


_MB = 1_000_000
_RESEND_SECONDS = 2.0
_COPIED = 16_384
"""Bytes of a body that goes out together with its head: a copy of a larger one costs more than a second write."""
_UNFIT = re.compile(r"[^\x21-\x7e]")
FOREVER: Final = 30 * 86_400.0
"""For who keeps time itself."""


class HttpLimits(Struct, frozen=True, kw_only=True):
    """How long we wait for a server, and what we take from it."""

    connect_seconds: float | None = 10.0
    """To find the host, reach it and agree on TLS."""
    first_byte_seconds: float = 600.0
    """From the request to the whole head of the answer: large prompts on small machines take minutes."""
    between_seconds: float = 300.0
    """Between two pieces of an answer."""
    idle_seconds: float = 60.0
    """How long a connection without a request is kept."""
    idle_connections: int = 128
    head_bytes: int = 64_000
    body_bytes: int = 64 * _MB
    """The longest answer that is read as a whole. What is passed on piece by piece may be of any length."""
    total_bytes: int | None = None
    """The longest answer that is taken at all; None: any."""
    waiting_bytes: int = 262_144
    """How much of an answer may wait here unread before the server is made to wait."""


class Incoming(Answer):
    """An answer whose head has come. `read` gives its body in pieces, `release` must be called in the end."""

    def __init__(self, connection: "Connection", *, is_head: bool) -> None:
        limits = connection.limits
        super().__init__(limits.head_bytes, is_head=is_head)
        self.deadline: float | None = None
        self._limits = limits
        self._connection = connection
        self._phase: Phase = "first byte"
        self._error: HttpError | None = None
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._pieces: list[bytes] = []
        self._waiting_bytes = 0
        self._is_paused = False
        self._left_to_take = limits.total_bytes

    async def read(self) -> bytes:
        """Whatever of the body has arrived, at least one byte; b"" at the end.

        Raises `HttpError` where the rest never comes, after everything that did come was given.
        """
        if not self._pieces and not self.is_complete:
            await self._wait(self._limits.between_seconds, "between pieces")
        pieces = self._pieces
        if not pieces:
            return b""
        self._pieces = []
        self._waiting_bytes = 0
        self._unpause()
        piece = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if self._left_to_take is not None:
            self._left_to_take -= len(piece)
            if self._left_to_take < 0:
                raise self._too_long(self._limits.total_bytes)
        return piece

    async def read_all(self, most: int | None = None) -> bytes:
        """The whole body, refused as soon as it is known to be longer than `most` (by default the limit's)."""
        most = self._limits.body_bytes if most is None else most
        self.refuse_longer(most)
        pieces: list[bytes] = []
        size = 0
        while piece := await self.read():
            size += len(piece)
            if size > most:
                raise self._too_long(most)
            pieces.append(piece)
        return b"".join(pieces)

    def refuse_longer(self, most: int) -> None:
        """Raises where a body of more than `most` bytes is announced."""
        if self.announced is not None and self.announced > most and not self._is_head:
            raise self._too_long(most)

    def _too_long(self, most: int | None) -> HttpError:
        return self._connection.error(Fault("large", "an answer", most=most or 0))

    def release(self) -> None:
        """The caller is done: the connection is used again when the body is complete, and closed when it is not."""
        self._unpause()
        self._connection.release(self)

    async def head(self) -> None:
        """Waits until status and headers are there."""
        while not self.has_head:
            await self._wait(self._limits.first_byte_seconds, "first byte")

    async def _wait(self, seconds: float, phase: Phase) -> None:
        """Until something arrives; raises where nothing more can be given."""
        waiter = self._expect(seconds, phase)
        try:
            await waiter
        finally:
            self._waiter = self.deadline = None
        if self._error is not None and not self._pieces:
            raise self._error

    def _expect(self, seconds: float, phase: Phase) -> asyncio.Future[None]:
        """What is done when something has come: for the caller to await, since a coroutine between would cost every
        piece of an answer."""
        if self._error is not None:
            raise self._error
        self._waiter = waiter = self._loop.create_future()
        self._phase = phase
        self.deadline = self._loop.time() + seconds
        return waiter

    def _unpause(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._connection.resume()

    # ── what its connection calls ────────────────────────────────────────────────────────────────────────────────

    def take(self, data: bytes) -> None:
        """Raises `Broken`."""
        had_head = self.has_head
        try:
            piece = self.feed(data)
        except Broken as wrong:
            self._pieces += [wrong.body] if wrong.body else []
            raise
        if piece:
            self._pieces.append(piece)
            self._waiting_bytes += len(piece)
            if self._waiting_bytes > self._limits.waiting_bytes and not self._is_paused:
                self._is_paused = True
                self._connection.pause()
        elif had_head == self.has_head and not self.is_complete:
            return  # a line between chunks: nothing to read yet
        self._wake()

    def expire(self) -> Fault:
        """What has happened when `deadline` has passed."""
        limits = self._limits
        seconds = limits.first_byte_seconds if self._phase == "first byte" else limits.between_seconds
        return Fault(self._phase, seconds=seconds)

    def fail(self, error: HttpError) -> None:
        if not self.is_complete and self._error is None:
            self._error = error
            self._wake()

    def finish(self) -> None:
        """The server has closed the connection. Raises `Broken`."""
        if self._error is None:
            self.end()
            self._wake()

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


class Connection(asyncio.Protocol):
    """Bytes in and out, one request at a time, for the client that opened it."""

    def __init__(self, client: "Client") -> None:
        self.limits = client.limits
        self.error = client.error
        self.incoming: Incoming | None = None
        self.idle_since = 0.0
        self.has_answered = False
        """Whether a byte of the present answer has come."""
        self._client = client
        self._transport: asyncio.Transport | None = None

    @property
    def is_usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def ask(self, head: bytes, body: bytes, *, is_head: bool) -> Incoming:
        """Sends a request, and waits for the head of its answer."""
        assert self._transport is not None
        assert self.incoming is None, "one request at a time"
        self.incoming = incoming = Incoming(self, is_head=is_head)
        self.has_answered = False
        if len(body) < _COPIED:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)
        try:
            await incoming.head()
        except BaseException:  # a cancelled request too must not leave its connection behind
            incoming.release()
            raise
        return incoming

    def fail(self, fault: Fault) -> None:
        """The present request ends so, and the connection with it."""
        if self.incoming is not None:
            self.incoming.fail(self.error(fault))
        self.close()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def pause(self) -> None:
        if self.is_usable:
            cast("asyncio.Transport", self._transport).pause_reading()

    def resume(self) -> None:
        if self.is_usable:
            cast("asyncio.Transport", self._transport).resume_reading()

    def release(self, incoming: Incoming) -> None:
        if incoming is not self.incoming:
            return  # already released
        self.incoming = None
        whole = incoming.is_complete and incoming.can_stay and self.is_usable
        if whole and not cast("asyncio.Transport", self._transport).get_write_buffer_size():
            self._client.keep(self)
        else:
            self.close()

    # ── what the event loop calls ────────────────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        incoming = self.incoming
        if incoming is None:
            self.close()  # nobody asked: what this belongs to cannot be known
            return
        self.has_answered = True
        try:
            incoming.take(data)
        except Broken as wrong:
            self.fail(wrong.fault)

    def connection_lost(self, exc: Exception | None) -> None:
        incoming = self.incoming
        if incoming is not None:
            try:
                if exc is not None:
                    raise Broken(Fault("reset body" if incoming.has_head else "reset"))
                incoming.finish()
            except Broken as wrong:
                incoming.fail(self.error(wrong.fault))
        self._client.forget(self)
        self._transport = None


class Client:
    """The connections to one server. Use it within one event loop, and close it there.

    `at` are the addresses that its name was looked up to already: then it is not looked up again.
    """

    def __init__(
        self,
        address: Address,
        limits: HttpLimits | None = None,
        *,
        trust: ssl.SSLContext | None = None,
        at: Sequence[str] | None = None,
    ) -> None:
        self.address = address
        self.limits = limits or HttpLimits()
        self._trust = (trust or ssl.create_default_context()) if address.secure else None
        self._at = at
        self._host_line = f"\r\nhost: {address.authority}\r\n".encode()
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self._closed = False

    async def send(self, method: str, path: str, headers: Sequence[tuple[bytes, bytes]], body: bytes = b"") -> Incoming:
        """Sends a request and returns when the head of its answer is there; give it back with `release`.

        Raises `HttpError`, and `CallError` for a request that cannot be sent.
        """
        head = self._head(method, path, headers, body)
        is_head = method == "HEAD"
        connection = self._idle_one()
        if connection is not None:
            sent_at = asyncio.get_running_loop().time()
            try:
                return await connection.ask(head, body, is_head=is_head)
            except HttpError as error:
                quick = asyncio.get_running_loop().time() - sent_at < _RESEND_SECONDS
                if error.kind != "broken" or connection.has_answered or not quick:
                    raise
        return await (await self._connect()).ask(head, body, is_head=is_head)

    def close(self) -> None:
        """Closes every connection, also those with an answer under way."""
        self._closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        for connection in list(self._all):
            connection.close()

    async def aclose(self) -> None:
        """The same, and waits until they are closed."""
        self.close()
        while self._all:
            await asyncio.sleep(0)

    def error(self, fault: Fault) -> HttpError:
        return HttpError(self.address.host, fault)

    def keep(self, connection: Connection) -> None:
        """For the next request."""
        if self._closed or len(self._idle) >= self.limits.idle_connections:
            connection.close()
            return
        connection.idle_since = asyncio.get_running_loop().time()
        self._idle.append(connection)

    def forget(self, connection: Connection) -> None:
        """One that is gone."""
        self._all.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _head(self, method: str, path: str, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> bytes:
        if _UNFIT.search(path) or not path.startswith("/") or not method.isalpha():
            raise CallError("a request's method is a word and its path begins with / and has no blanks")
        parts = [f"{method} {path} HTTP/1.1".encode(), self._host_line]
        for name, value in headers:
            parts += (name, b": ", value, b"\r\n")
        if body or method in {"POST", "PUT", "PATCH"}:
            parts.append(b"content-length: %d\r\n" % len(body))
        parts.append(b"\r\n")
        return b"".join(parts)

    def _idle_one(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
        return None

    async def _connect(self) -> Connection:
        if self._closed:
            raise RuntimeError("this client was closed")
        limit = asyncio.timeout(self.limits.connect_seconds)
        try:
            async with limit:
                connection = await connect(lambda: Connection(self), self.address, self._trust, self._at)
        except UnicodeError:
            raise self.error(Fault("unnamed")) from None
        except OSError as why:
            late = Fault("connect", seconds=self.limits.connect_seconds or 0)
            raise self.error(late if limit.expired() else read_failure(why)) from None
        self._all.add(connection)
        self._sweep_later(asyncio.get_running_loop())
        return connection

    def _sweep_later(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._sweeping is None and self._all and not self._closed:
            limits = self.limits
            shortest = min(limits.first_byte_seconds, limits.between_seconds, limits.idle_seconds)
            self._sweeping = loop.call_later(min(1.0, shortest / 4), self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """One timer for all connections: setting one for every piece that is awaited would cost more than the piece."""
        self._sweeping = None
        now = loop.time()
        for connection in list(self._all):
            incoming = connection.incoming
            if incoming is None:
                if now - connection.idle_since > self.limits.idle_seconds:
                    connection.close()
            elif incoming.deadline is not None and now > incoming.deadline:
                connection.fail(incoming.expire())
        self._sweep_later(loop)


class Request(Struct, frozen=True):
    """One that is sent on a connection of its own."""

    method: str
    path: str
    headers: Headers
    body: bytes = b""
    most: int = 20 * _MB
    """Bytes of a body that are taken."""
    unpacks: frozenset[bytes] = frozenset((b"identity",))
    """The encodings of a body that are understood; `read` gives it as it comes."""


@asynccontextmanager
async def exchange(
    address: Address, request: Request, trust: ssl.SSLContext | None, at: Sequence[str] | None = None
) -> AsyncGenerator[Incoming]:
    """Sends a request and gives its answer; the connection is gone when the block ends, however it ends.

    A model's answer takes hundreds of milliseconds, a connection to a server nearby a fraction of one; and without a
    pool nothing is bound to an event loop, nothing is left open, and no question is lost on a connection that the
    server closed while it was idle. Nothing here keeps time: whoever asks does.
    """
    limits = HttpLimits(
        connect_seconds=None,
        first_byte_seconds=FOREVER,
        between_seconds=FOREVER,
        body_bytes=request.most,
        total_bytes=request.most,
    )
    client = Client(address, limits, trust=trust, at=at)
    try:
        sent = [(b"connection", b"close"), *request.headers]
        incoming = await client.send(request.method, request.path, sent, request.body)
        if (header_of(incoming.headers, b"content-encoding").lower() or b"identity") not in request.unpacks:
            raise client.error(Fault("packed"))
        incoming.refuse_longer(request.most)
        yield incoming
    finally:
        client.close()


async def connect(
    make: Callable[[], Connection], address: Address, trust: ssl.SSLContext | None, at: Sequence[str] | None
) -> Connection:
    """By the first of its addresses that answers. Raises OSError; UnicodeError for a name that DNS cannot have."""
    loop = asyncio.get_running_loop()
    host, port = address.host, address.port
    failed: OSError = OSError(f"{host} has no address")
    for place in at if at is not None else await look_up(host, port):
        try:
            name = host if trust is not None else None
            _, connection = await loop.create_connection(make, place, port, ssl=trust, server_hostname=name)
        except ssl.SSLError:  # somebody is there, who is not trusted
            raise
        except OSError as why:
            failed = why
        else:
            return connection
    raise failed


async def look_up(host: str, port: int) -> list[str]:
    """The addresses of a name; what is an address already is its own. In a thread of its own: asyncio's threads are
    waited for at the end of a program, and the system's lookup can hang for minutes."""
    if _is_address(host):
        return [host]
    look = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await asyncio.wrap_future(in_own_thread(look, "rightcall-lookup"))
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
