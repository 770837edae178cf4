"""Our own HTTP/1.1 client for the model's server: asyncio and httptools, one pool of connections for one base URL.

A client library costs more than all the rest of the proxy (docs/dependencies.md), and this needs little: one host, one
request at a time on a connection, answers as bytes.

**A request is sent a second time** in one case: it went out on a connection that had been idle, and the upstream
closed that connection at once without a single byte of an answer. Servers close idle connections whenever they like,
and one that does so while our request is on its way has not read it; every HTTP client sends it again on a new
connection, since otherwise a request would fail now and then for no reason of the user's. That holds for POST too: a
server that had begun to work on it would not close within moments without a word. Whoever takes longer is not asked
twice.

Proxies from the environment (HTTP_PROXY and the like) are not used: the upstream is what `--upstream` says.
"""

import asyncio
import re
import ssl
from collections.abc import Sequence

from rightcall.errors import CallError
from rightcall.serve.addresses import address_of, joined
from rightcall.serve.incoming import Incoming
from rightcall.serve.limits import UpstreamLimits
from rightcall.serve.upstream_connection import Connection
from rightcall.serve.upstream_errors import UpstreamError, no_tls, timed_out, unreachable

_RESEND_SECONDS = 2.0
_UNFIT = re.compile(r"[^\x21-\x7e]")
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


class Upstream:
    """The model's server. `host` names it, `is_local` says whether it is this machine.

    Use it within one event loop, and `aclose` it there.
    """

    def __init__(self, url: str, limits: UpstreamLimits | None = None, *, trust: ssl.SSLContext | None = None) -> None:
        self._address = address_of(url)
        self._limits = limits or UpstreamLimits()
        self._trust = (trust or ssl.create_default_context()) if self._address.secure else None
        self._host_line = f"\r\nhost: {self._address.authority}\r\n".encode()
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self._closed = False
        self.host = self._address.host
        self.is_local = self._address.is_local

    async def send(
        self, method: str, target: str, headers: Sequence[tuple[bytes, bytes]], body: bytes = b""
    ) -> Incoming:
        """Sends a request and returns when the head of its answer is there; give it back with `release`.

        `target` is path and query as the client sent them; `headers` are what `forwarded` left of its headers.
        Raises `UpstreamError`, and `CallError` for a request that cannot be passed on.
        """
        request = self._head(method, target, headers, body)
        is_head = method == "HEAD"
        connection = self._idle_one()
        if connection is not None:
            sent_at = asyncio.get_running_loop().time()
            try:
                return await _ask(connection, request, body, is_head)
            except UpstreamError as error:
                quick = asyncio.get_running_loop().time() - sent_at < _RESEND_SECONDS
                if error.kind != "broken" or connection.has_answered or not quick:
                    raise
        return await _ask(await self._connect(), request, body, is_head)

    async def aclose(self) -> None:
        """Closes every connection, also those with an answer under way."""
        self._closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        for connection in list(self._all):
            connection.close()
        while self._all:
            await asyncio.sleep(0)

    def _head(self, method: str, target: str, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> bytes:
        path = joined(self._address.path, target)
        if _UNFIT.search(path) or not path.startswith("/") or not method.isalpha():
            raise CallError("a request's method is a word and its path begins with / and has no blanks")
        parts = [f"{method} {path} HTTP/1.1".encode(), self._host_line]
        for name, value in headers:
            parts += (name, b": ", value, b"\r\n")
        if body or method in _WITH_BODY:
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
            raise RuntimeError("this Upstream was closed")
        address, limits = self._address, self._limits
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(limits.connect_seconds):
                _, connection = await loop.create_connection(
                    self._new,
                    address.host,
                    address.port,
                    ssl=self._trust,
                    server_hostname=address.host if address.secure else None,
                )
        except TimeoutError:
            raise timed_out(self.host, "connect", limits.connect_seconds) from None
        except ssl.SSLError as why:
            raise no_tls(self.host, _reason(why)) from None
        except OSError as why:
            raise unreachable(self.host, why) from None
        self._all.add(connection)
        self._sweep_later(loop)
        return connection

    def _new(self) -> Connection:
        return Connection(self.host, self._limits, on_free=self._freed, on_lost=self._lost)

    def _freed(self, connection: Connection) -> None:
        if self._closed or len(self._idle) >= self._limits.idle_connections:
            connection.close()
            return
        connection.idle_since = asyncio.get_running_loop().time()
        self._idle.append(connection)

    def _lost(self, connection: Connection) -> None:
        self._all.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def _sweep_later(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._sweeping is None and self._all and not self._closed:
            limits = self._limits
            shortest = min(limits.first_byte_seconds, limits.between_seconds, limits.idle_seconds)
            self._sweeping = loop.call_later(min(1.0, shortest / 4), self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """One timer for all connections: setting one for every piece that is awaited would cost more than the piece."""
        self._sweeping = None
        now = loop.time()
        for connection in list(self._all):
            incoming = connection.incoming
            if incoming is None:
                if now - connection.idle_since > self._limits.idle_seconds:
                    connection.close()
            elif incoming.deadline is not None and now > incoming.deadline:
                connection.fail(incoming.expire())
        self._sweep_later(loop)


async def _ask(connection: Connection, request: bytes, body: bytes, is_head: bool) -> Incoming:
    incoming = connection.ask(request, body, is_head=is_head)
    try:
        await incoming.head()
    except BaseException:  # a cancelled request too must not leave its connection behind
        incoming.release()
        raise
    return incoming


def _reason(why: ssl.SSLError) -> str:
    told = getattr(why, "verify_message", None) or why.reason or type(why).__name__
    return str(told).lower().replace("_", " ")
