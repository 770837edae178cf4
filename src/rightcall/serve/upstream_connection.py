"""One connection to the upstream: bytes in and out, one request at a time."""

import asyncio
from collections.abc import Callable
from typing import cast

import httptools

from rightcall.serve.incoming import Incoming
from rightcall.serve.limits import UpstreamLimits
from rightcall.serve.upstream_errors import UpstreamError, broken, too_large


class Connection(asyncio.Protocol):
    """`on_free` gets it back when it can be used again, `on_lost` when it is gone."""

    def __init__(
        self,
        host: str,
        limits: UpstreamLimits,
        *,
        on_free: "Callable[[Connection], None]",
        on_lost: "Callable[[Connection], None]",
    ) -> None:
        self.incoming: Incoming | None = None
        self.idle_since = 0.0
        self.has_answered = False
        """Whether a byte of the present answer has come."""
        self._host = host
        self._limits = limits
        self._on_free = on_free
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._head_bytes = 0
        self._can_stay = False

    @property
    def is_usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def ask(self, request: bytes, body: bytes, *, is_head: bool) -> Incoming:
        assert self._transport is not None
        assert self.incoming is None, "one request at a time"
        incoming = Incoming(self._host, self._limits, is_head=is_head, flow=self)
        self.incoming = incoming
        self.has_answered = False
        self._head_bytes = 0
        self._can_stay = False
        self._parser = httptools.HttpResponseParser(incoming)
        if len(body) < 16_384:
            self._transport.write(request + body)
        else:  # a copy of a large body costs more than a second write
            self._transport.write(request)
            self._transport.write(body)
        return incoming

    def fail(self, error: UpstreamError) -> None:
        """The present request ends so, and the connection with it."""
        if self.incoming is not None:
            self.incoming.fail(error)
        self.close()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # what an answer needs of it

    def status(self) -> int:
        assert self._parser is not None
        self._can_stay = self._parser.should_keep_alive()
        return self._parser.get_status_code()

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
        self._parser = None
        whole = incoming.is_complete and self._can_stay and self.is_usable
        if whole and not cast("asyncio.Transport", self._transport).get_write_buffer_size():
            self._on_free(self)
        else:
            self.close()

    # what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        incoming, parser = self.incoming, self._parser
        if incoming is None or parser is None:
            self.close()  # nobody asked: what this belongs to cannot be known
            return
        self.has_answered = True
        try:
            parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            # a callback's own refusal has left its reason with `incoming` already
            incoming.fail(broken(self._host, "did not answer in HTTP" if not incoming.has_head else _BAD_BODY))
            self._can_stay = False
            self.close()
            return
        if not incoming.has_head:
            self._head_bytes += len(data)
            if self._head_bytes > self._limits.head_bytes:
                self.fail(too_large(self._host, "headers", self._limits.head_bytes))

    def connection_lost(self, exc: Exception | None) -> None:
        incoming = self.incoming
        if incoming is not None:
            if exc is None:
                incoming.ended()
            else:
                incoming.fail(broken(self._host, "broke off the connection"))
        self._on_lost(self)
        self._transport = None
        self._parser = None


_BAD_BODY = "sent an answer whose body is not as its head says"
