"""One answer of the upstream, read as it arrives. httptools calls the `on_…` methods, the proxy awaits the others."""

import asyncio
from typing import Final, Protocol

from rightcall.serve.limits import UpstreamLimits
from rightcall.serve.upstream_errors import Phase, UpstreamError, broken, timed_out, too_large

_PER_MESSAGE: Final = 16
"""What an empty `HTTP/1.1 100` counts against the bytes of a head: endless ones end too."""


class _Refused(Exception):
    """Raised in a callback only to stop the parser; the reason is kept beside it."""


class Flow(Protocol):
    """What an answer needs of its connection."""

    def status(self) -> int: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def release(self, incoming: "Incoming") -> None: ...


class Incoming:
    """An answer whose head has come. `read` gives its body in pieces, `release` must be called in the end.

    `announced` is the length the upstream promised, None where it promised none.
    """

    def __init__(self, host: str, limits: UpstreamLimits, *, is_head: bool, flow: Flow) -> None:
        self.status: int = 0
        self.reason: bytes = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.announced: int | None = None
        self.deadline: float | None = None
        self.phase: Phase = "first byte"
        self.has_head = False
        self.is_complete = False
        self.is_till_end = False
        self.error: UpstreamError | None = None
        self._host = host
        self._limits = limits
        self._is_head = is_head
        self._flow = flow
        self._loop = asyncio.get_running_loop()
        self._head_bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._pieces: list[bytes] = []
        self._waiting_bytes = 0
        self._is_paused = False

    async def read(self) -> bytes:
        """Whatever of the body has arrived, at least one byte; b"" at the end.

        Raises `UpstreamError` where the rest never comes, after everything that did come was given.
        """
        if not self._pieces and not self.is_complete:
            waiter = self._expect(self._limits.between_seconds, "between pieces")
            try:
                await waiter
            finally:
                self._waiter = self.deadline = None
            self._check()
        pieces = self._pieces
        if not pieces:
            return b""
        self._pieces = []
        self._waiting_bytes = 0
        self._unpause()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def read_all(self, most: int | None = None) -> bytes:
        """The whole body, refused as soon as it is known to be longer than `most` (by default the limit's)."""
        most = self._limits.body_bytes if most is None else most
        if self.announced is not None and self.announced > most and not self._is_head:
            raise too_large(self._host, "an answer", most)
        pieces: list[bytes] = []
        size = 0
        while piece := await self.read():
            size += len(piece)
            if size > most:
                raise too_large(self._host, "an answer", most)
            pieces.append(piece)
        return b"".join(pieces)

    def _unpause(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._flow.resume()

    def release(self) -> None:
        """The caller is done: the connection is used again when the body is complete, and closed when it is not."""
        self._unpause()
        self._flow.release(self)

    async def head(self) -> None:
        """Waits until status and headers are there."""
        while not self.has_head:
            waiter = self._expect(self._limits.first_byte_seconds, "first byte")
            try:
                await waiter
            finally:
                self._waiter = self.deadline = None
            self._check()

    def _expect(self, seconds: float, phase: Phase) -> asyncio.Future[None]:
        """What is done when something has come: for the caller to await, since a coroutine between would cost every
        piece of an answer."""
        if self.error is not None:
            raise self.error
        self._waiter = waiter = self._loop.create_future()
        self.phase = phase
        self.deadline = self._loop.time() + seconds
        return waiter

    def _check(self) -> None:
        if self.error is not None and not self._pieces:
            raise self.error

    def expire(self) -> UpstreamError:
        """What is raised when `deadline` has passed."""
        limits = self._limits
        seconds = limits.first_byte_seconds if self.phase == "first byte" else limits.between_seconds
        return timed_out(self._host, self.phase, seconds)

    def fail(self, error: UpstreamError) -> None:
        if not self.is_complete and self.error is None:
            self.error = error
            self._wake()

    def ended(self) -> None:
        """The upstream has closed the connection."""
        if self.error is not None:
            return
        if self.has_head and self.is_till_end:
            self.on_message_complete()
        elif not self.has_head:
            what = "closed the connection in the middle of an answer's head" if self._head_bytes else "gave no answer"
            self.fail(broken(self._host, what))
        else:
            self.fail(broken(self._host, "closed the connection in the middle of its answer"))

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > self._limits.head_bytes:
            self.refuse(too_large(self._host, "headers", self._limits.head_bytes))

    def refuse(self, error: UpstreamError) -> None:
        self.fail(error)
        raise _Refused

    # what httptools calls

    def on_message_begin(self) -> None:
        if self.is_complete:
            raise _Refused  # a second answer to one question: the first one stands, the connection is not used again
        self._count_head(_PER_MESSAGE)
        self.reason = b""
        self.headers = []

    def on_status(self, reason: bytes) -> None:
        self._count_head(len(reason))
        self.reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_head(len(name) + len(value) + 4)
        if not self.has_head:  # later ones are trailers, which nobody asked for
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        status = self._flow.status()
        if status == 101:
            self.refuse(broken(self._host, "wanted to change to another protocol"))
        if 100 <= status < 200:
            return
        if not 200 <= status <= 599:
            self.refuse(broken(self._host, f"answered with the status {status}, which HTTP does not have"))
        self.status = status
        self.has_head = True
        self._read_length()
        if status in (204, 304):  # which have no body, and a length would announce one
            self.headers = [header for header in self.headers if header[0] != b"content-length"]
            self.announced = None
            self.on_message_complete()
        elif self._is_head:
            self.on_message_complete()
        else:
            self._wake()

    def _read_length(self) -> None:
        encoding = b""
        for name, value in self.headers:
            if name == b"content-length":
                self.announced = int(value)  # the parser has seen to it that these are digits
            elif name == b"transfer-encoding":
                encoding = value.strip().lower()
        if encoding not in (b"", b"chunked", b"identity"):
            self.refuse(broken(self._host, "sent its answer in a transfer encoding other than chunked"))
        self.is_till_end = self.announced is None and encoding != b"chunked"

    def on_body(self, body: bytes) -> None:
        if self.is_complete:
            raise _Refused
        self._pieces.append(body)
        self._waiting_bytes += len(body)
        if self._waiting_bytes > self._limits.waiting_bytes and not self._is_paused:
            self._is_paused = True
            self._flow.pause()
        self._wake()

    def on_message_complete(self) -> None:
        if self.has_head and not self.is_complete:  # else it is that of a `100 Continue`
            self.is_complete = True
            self._wake()
