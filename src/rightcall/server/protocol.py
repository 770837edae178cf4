"""uvicorn's httptools protocol with limits of size and time: a client that is slow, endless or merely connected costs
little, and nobody else anything.

What is refused is answered in HTTP where that can still be read, and the connection then ends: a little of what the
client still sends is taken first, since closing at once would destroy the answer on its way.
"""

import asyncio
from collections.abc import Callable
from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from rightcall.base.http.answers import ServeLimits
from rightcall.server.access import Reason, raw_error

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent, HTTPResponseBodyEvent, HTTPResponseStartEvent

# ── crowd ──
# All connections of one server, and who has to go when there are too many or when one takes too long.
#
# One timer looks at those that wait, once a second: a timer for each would cost every request, and help nobody.


class Member(Protocol):
    """A connection, as the crowd sees it."""

    def too_slow(self, now: float) -> None:
        """Ends it if it has waited too long for its client."""
        ...

    def give_way(self) -> None:
        """Ends it now, for somebody else."""
        ...


class Crowd:
    """`refused` hears why somebody was sent away."""

    def __init__(self, limits: ServeLimits, refused: Callable[[Reason], None]) -> None:
        self.limits = limits
        self.refused = refused
        self._members: set[Member] = set()
        self._waiting: dict[Member, None] = {}
        self._blocked: set[Member] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self.changed: Callable[[], None] | None = None
        """Hears when somebody has left."""

    def __len__(self) -> int:
        return len(self._members)

    def enter(self, member: Member, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether there is room. The one that has waited longest without a complete request makes it."""
        self._members.add(member)
        while len(self._members) > self.limits.connections:
            oldest = next(iter(self._waiting), None)
            if oldest is None:
                return False
            self.leave(oldest)
            self.refused("too_many_connections")
            oldest.give_way()
        self._sweep_later(loop)
        return True

    def leave(self, member: Member) -> None:
        self._members.discard(member)
        self._waiting.pop(member, None)
        self._blocked.discard(member)
        if self.changed is not None:
            self.changed()

    def waits(self, member: Member) -> None:
        """Its client has to send a request, or the rest of one."""
        self._waiting.pop(member, None)
        if member in self._members:
            self._waiting[member] = None

    def works(self, member: Member) -> None:
        """A request is complete: it is our turn."""
        self._waiting.pop(member, None)

    def blocked(self, member: Member, is_blocked: bool) -> None:
        """Its client does not take the answer, or does again."""
        if is_blocked and member in self._members:
            self._blocked.add(member)
        else:
            self._blocked.discard(member)

    def _sweep_later(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._sweeping is None and self._members:
            self._sweeping = loop.call_later(_interval(self.limits), self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        self._sweeping = None
        now = loop.time()
        for member in [*self._waiting, *self._blocked]:
            member.too_slow(now)
        self._sweep_later(loop)


def _interval(limits: ServeLimits) -> float:
    shortest = min(limits.head_seconds, limits.body_stall_seconds, limits.drain_seconds, limits.reader_stall_seconds)
    return min(1.0, shortest / 4)


_PACE = 1_000
"""Bytes in a second: what a body must keep up with on the whole."""

_FRAMING = 1_000_000
"""Bytes of a body's framing (the sizes of its chunks, and what else stands beside them) beyond as many as it has of
content: nobody needs them, and reading them costs."""


class _State(Enum):
    IDLE = auto()  # no byte of a request
    HEAD = auto()
    BODY = auto()
    WORK = auto()  # the request is complete
    DRAIN = auto()  # refused: what still comes is thrown away


_HEAD = _State.HEAD
CONNECTION = "rightcall.connection"
"""Where a request's scope has its connection, if it is kept as it came."""


class _Refused(Exception):
    """Raised in a callback only to stop the parser; the reason is kept beside it."""


_Refusal = tuple[int, Reason, str]


class _Cycle(RequestResponseCycle):
    """One request and its answer. The head of an answer whose length is known leaves with the first piece of its body:
    to send a piece costs more than to make it."""

    _head = b""
    """What was not sent yet."""

    async def send(self, message: "ASGISendEvent") -> None:
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        kind = message["type"]
        if not self.response_started and kind == "http.response.start":
            self._start(cast("HTTPResponseStartEvent", message))
        elif self.response_started and not self.response_complete and kind == "http.response.body":
            self._go_on(cast("HTTPResponseBodyEvent", message))
        else:
            raise RuntimeError(f"an answer cannot go on with {kind!r}")

    def _start(self, message: "HTTPResponseStartEvent") -> None:
        self.response_started = True
        self.waiting_for_100_continue = False
        status, says_close = message["status"], False
        lines = [STATUS_LINE[status], _lines(tuple(self.default_headers))]
        for name, value in message.get("headers", ()):
            name = name.lower()
            lines.append(_line(name, value))
            if name == b"content-length" and self.chunked_encoding is None:
                self.expected_content_length = int(value)
                self.chunked_encoding = False
            elif name == b"transfer-encoding" and value.lower() == b"chunked":
                self.expected_content_length = 0
                self.chunked_encoding = True
            elif name == b"connection" and b"close" in [one.strip() for one in value.lower().split(b",")]:
                self.keep_alive = False
                says_close = True
        if not self.keep_alive and not says_close:
            lines.append(b"connection: close\r\n")
        if self.chunked_encoding is None and self.scope["method"] != "HEAD" and status not in (204, 304):
            self.chunked_encoding = True
            lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n")
        self._head = b"".join(lines)
        if self.chunked_encoding:  # when its first piece comes nobody knows
            self._write(b"")

    def _go_on(self, message: "HTTPResponseBodyEvent") -> None:
        body, more = message.get("body", b""), message.get("more_body", False)
        if self.scope["method"] == "HEAD":
            self.expected_content_length = 0
            body = b""
        elif self.chunked_encoding:
            body = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            body += b"" if more else b"0\r\n\r\n"
        elif len(body) > self.expected_content_length:
            raise RuntimeError("an answer is longer than its content-length")
        else:
            self.expected_content_length -= len(body)
        self._write(body)
        if not more:
            if self.expected_content_length:
                raise RuntimeError("an answer is shorter than its content-length")
            self.response_complete = True
            self.message_event.set()
            if not self.keep_alive:
                self.transport.close()
            self.on_response()

    def _write(self, data: bytes) -> None:
        data = self._head + data
        self._head = b""
        if data:
            self.transport.write(data)


@lru_cache(maxsize=512)  # the same few with every answer
def _line(name: bytes, value: bytes) -> bytes:
    """A header of an answer. Raises RuntimeError for what would be more than one."""
    if HEADER_RE.search(name) or HEADER_VALUE_RE.search(value):
        raise RuntimeError("an answer has a header that is none")
    return b"%b: %b\r\n" % (name, value)


@lru_cache(maxsize=4)
def _lines(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Those that are in every answer."""
    return b"".join([_line(name.lower(), value) for name, value in headers])


class LimitedProtocol(HttpToolsProtocol):
    """Made by `protocol_for`, which gives it the crowd that it belongs to."""

    crowd: ClassVar[Crowd]
    keeps: ClassVar[str | None] = None
    """How the paths end whose requests are kept as they came, since another process may have to answer them."""
    app: Any
    url: bytes

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._state = _State.IDLE
        self._has_asked = False
        self._offers = False
        """Whether the head that has just come offers another protocol."""
        self._retires = False
        self._since = self._heard = self._blocked_since = 0.0
        self._raw_bytes = self._came = self._head_bytes = self._body_bytes = self._drained = 0
        self._refusal: _Refusal | None = None
        self._pieces: list[bytes] = []
        """Of a body, within one arrival: many thousand chunks of a byte each are handed on as one piece."""
        self._arrived: list[bytes] | None = None
        """A request as it came, from its first byte on, where it is kept."""
        self.handed = b""
        """What another process has read on this connection, and did not answer."""
        self._most_head, self._most_headers = self.crowd.limits.head_bytes, self.crowd.limits.headers
        self._most_body = self.crowd.limits.body_bytes

    # what the event loop calls

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._since = self._heard = self.loop.time()
        if not self.crowd.enter(self, self.loop):
            self._send_away((503, "too_many_connections", "too many connections are open; try again in a moment"))
            return
        self.crowd.waits(self)
        if self.handed:
            self.data_received(self.handed)
            self.handed = b""

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived = None
        self.crowd.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        state = self._state
        if state is _State.DRAIN:
            self._drained += len(data)
            if self._drained > self.crowd.limits.drain_bytes:
                self.transport.abort()
            return
        self._heard = self.loop.time()
        if state is _State.IDLE:
            self._begin_head()
            self._arrived = [data] if self.keeps else None
        elif self._arrived is not None:
            self._arrived.append(data)
        self._came = len(data)
        self._raw_bytes += self._came
        self._feed(data)
        if self._pieces:
            self._hand_on()
            self.cycle.message_event.set()
        if self._state is _State.HEAD and self._raw_bytes > self._most_head:
            self._send_away(self._large_head())
        elif self._state is _State.BODY and self._raw_bytes > 2 * self._body_bytes + _FRAMING:
            self._send_away((400, "bad_request", "a body in chunks needs larger ones: this is mostly their sizes"))

    def _feed(self, data: bytes) -> None:
        """As uvicorn's, but for offers of another protocol: Java's client offers HTTP/2 with every request.

        To us these are ordinary requests. The parser, however, would drop their bodies, or read them as the next
        request; so it is told the head once more, from its own reading of it, without the offer. No byte that a client
        sent is ever looked for or changed: where a head ends and a body begins is the parser's word alone.
        """
        waiting: list[bytes | memoryview] = [data]
        while waiting:
            piece = waiting.pop()
            try:
                self.parser.feed_data(piece)
            except httptools.HttpParserUpgrade as offer:
                rest = memoryview(piece)[offer.args[0] :]
                waiting += [rest, self._head_without_offer()] if rest else [self._head_without_offer()]
            except httptools.HttpParserError:
                self.send_400_response("not an HTTP request")
                return

    def _head_without_offer(self) -> bytes:
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())]
        lines += [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's own
        self._offers = False
        self._head_bytes = 0
        return b"\r\n".join([*lines, b"", b""])

    def pause_writing(self) -> None:
        self._blocked_since = self.loop.time()
        self.crowd.blocked(self, True)
        super().pause_writing()

    def resume_writing(self) -> None:
        self.crowd.blocked(self, False)
        super().resume_writing()

    # what httptools calls

    def on_message_begin(self) -> None:
        if self._state is not _State.HEAD:  # requests that follow one another in one piece
            self._begin_head()
            self._arrived = None
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        headers = self.headers
        if len(headers) >= self._most_headers:
            self._refuse(self._large_head())
        if self._state is _HEAD:
            headers.append((name.lower(), value))
        else:  # a trailer, which may change nothing any more
            self._head_bytes += len(name) + len(value) + 4
            self._check_head()

    def on_headers_complete(self) -> None:
        """As uvicorn's, for requests of HTTP alone."""
        method = self.parser.get_method()
        self._check_first_line(method)
        if self._raw_bytes + self._came > self._most_head:  # else it cannot be too large
            self._head_bytes = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            self._check_head()
        if self.parser.should_upgrade():
            self._offers = True  # it comes once more, see `_feed`
            return
        for name, value in self.headers:
            if name == b"content-length" and int(value) > self._most_body:
                self._refuse(self._large_body())
            elif name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = not self.handed  # whoever has read it has said so
        self._state = _State.BODY
        self._since = self._heard
        self._body_bytes = 0
        version = self.parser.get_http_version()
        self._complete_scope(method, version)
        before, self.cycle = self._latest(), self._new_cycle(version)
        if before is None or before.response_complete:
            self._start_asgi_task(self.cycle, self.app)
        else:  # a request that came too early
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def _new_cycle(self, version: str) -> _Cycle:
        return _Cycle(
            self.scope, self.transport, self.flow, self.logger, self.access_logger, False,
            self.server_state.default_headers, asyncio.Event(), self.expect_100_continue,
            version != "1.0" and not self._retires and self.parser.should_keep_alive(), self.on_response_complete,
        )  # fmt: skip

    def _complete_scope(self, method: bytes, version: str) -> None:
        scope, url = self.scope, httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        scope["method"] = method.decode("ascii")
        scope["http_version"] = version
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"] = url.path
        scope["query_string"] = url.query or b""
        if self.keeps and scope["path"].endswith(self.keeps):
            cast("dict[str, Any]", scope)[CONNECTION] = self
        else:
            self._arrived = None

    def _check_first_line(self, method: bytes) -> None:
        if method == b"CONNECT" or not method.isalpha():
            self._refuse((501, "bad_request", "this server knows GET, POST and their like, and no such method"))
        if not self.url.startswith((b"/", b"http://", b"https://")):
            self._refuse((400, "bad_request", "the path of a request begins with /"))

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        if self._body_bytes > self._most_body:
            self._refuse(self._large_body())
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        if self._offers:
            return
        if self._pieces:
            self._hand_on()
        cycle = self.cycle
        if cycle.response_complete:
            self._rest()  # answered before it had been heard out
        else:
            cycle.more_body = False
            cycle.message_event.set()
            self._state = _State.WORK
            self.crowd.works(self)

    def _hand_on(self) -> None:
        body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces = []
        cycle = self.cycle
        if self._state is _State.DRAIN or cycle.response_complete:
            return
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()

    # what uvicorn calls

    def on_response_complete(self) -> None:
        """Without uvicorn's timer for the next request: the crowd looks at that too."""
        self._arrived = None
        self.server_state.total_requests += 1
        if not self.transport.is_closing():
            self.flow.resume_reading()
            if self.pipeline:
                self._start_asgi_task(*self.pipeline.pop())
        if self._state is _State.WORK:
            if not self._is_answering():
                self._rest()
        elif not self.pipeline and (self._state is _State.BODY or not self._is_answering()):
            self.crowd.waits(self)  # for the rest of a request that came too early

    def send_400_response(self, msg: str) -> None:
        """uvicorn's answer to whatever stops the parser, and so to our refusals."""
        self._send_away(self._refusal or (400, "bad_request", msg))

    def shutdown(self) -> None:
        if self._state is _State.DRAIN:
            self.transport.close()
        else:
            super().shutdown()

    def retire(self) -> None:
        """Answer the request that has come, or the next one, as the last on this connection: its client is told so,
        and loses none that it has sent."""
        self._retires = True
        cycle = self._latest()
        if cycle is not None and not cycle.response_started:
            cycle.keep_alive = False

    # what hands it over

    @property
    def descriptor(self) -> int:
        return self.transport.get_extra_info("socket").fileno()

    def stand_still(self) -> bytes | None:
        """The request that waits for its answer, as it came, and no more is read. None where it cannot be taken away:
        something was answered, or more has come."""
        cycle = self._latest()
        if self._arrived is None or self._state is not _State.WORK or self.pipeline or self.transport.is_closing():
            return None
        if cycle is None or cycle.response_started or self.transport.get_write_buffer_size():
            return None
        self.flow.pause_reading()
        return b"".join(self._arrived)

    def go_on(self) -> None:
        """Nobody has taken it."""
        if not self.transport.is_closing():
            self.flow.resume_reading()

    def let_go(self) -> None:
        """It is another process's from here on: this one closes it, and ends nothing."""
        self.cycle.disconnected = True
        self.cycle.message_event.set()
        self.transport.abort()

    # what the crowd calls

    def give_way(self) -> None:
        self.transport.abort()

    def too_slow(self, now: float) -> None:
        limits = self.crowd.limits
        if self.flow.write_paused:
            if now - self._blocked_since > limits.reader_stall_seconds:
                self.crowd.refused("slow_reader")
                self.transport.abort()
        elif self._state is _State.DRAIN:
            if now - self._since > limits.drain_seconds:
                self.transport.abort()
        elif self._state is _State.BODY:
            self._check_pace(now, limits)
        elif self._is_answering():
            self._since = now  # a request that came too early: its time has not begun
        elif self._state is _State.IDLE and self._has_asked:
            if now - self._since > limits.keep_alive_seconds:
                self.transport.close()
        elif now - self._since > limits.head_seconds:
            self._send_away((408, "slow_head", f"a request must have come within {limits.head_seconds:g} s"))

    def _check_pace(self, now: float, limits: ServeLimits) -> None:
        if self.flow.read_paused:
            self._heard = now  # it is us who do not read
        slow = now - self._since > limits.body_seconds + self._body_bytes / _PACE
        if slow or now - self._heard > limits.body_stall_seconds:
            self._send_away((408, "slow_body", "the body of the request came too slowly"))

    # refusing

    def _begin_head(self) -> None:
        self._state = _State.HEAD
        self._since = self._heard
        self._raw_bytes = self._head_bytes = 0

    def _rest(self) -> None:
        self._state = _State.IDLE
        self._has_asked = True
        self._since = self.loop.time()
        self.crowd.waits(self)

    def _is_answering(self) -> bool:
        cycle = self._latest()
        return bool(self.pipeline) or (cycle is not None and not cycle.response_complete)

    def _latest(self) -> RequestResponseCycle | None:
        return self.cycle  # uvicorn's own type does not say that there is none before the first request

    def _check_head(self) -> None:
        if self._head_bytes > self._most_head:
            self._refuse(self._large_head())

    def _large_head(self) -> _Refusal:
        most = f"{self._most_headers} headers and {self._most_head:,} bytes of them"
        return 431, "large_head", f"a request may have {most}"

    def _large_body(self) -> _Refusal:
        return 413, "large_body", f"a request's body may have {self.crowd.limits.body_bytes:,} bytes"

    def _refuse(self, refusal: _Refusal) -> None:
        self._refusal = refusal
        raise _Refused

    def _send_away(self, refusal: _Refusal) -> None:
        """Answers if that can still be read, and takes no more."""
        self.crowd.refused(refusal[1])
        cycle = self._latest()
        unanswered = cycle is not None and not cycle.response_started
        can_speak = not self.pipeline and (unanswered if self._state is _State.BODY else not self._is_answering())
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        if not can_speak or self.transport.is_closing():
            self.transport.abort()
            return
        self._state = _State.DRAIN
        self._since = self.loop.time()
        self.flow.resume_reading()
        self.crowd.waits(self)
        self.transport.write(raw_error(*refusal))
        if self.transport.can_write_eof():
            self.transport.write_eof()


def protocol_for(
    limits: ServeLimits, refused: Callable[[Reason], None] = lambda _: None
) -> tuple[type[LimitedProtocol], Crowd]:
    """A protocol class for one server, as uvicorn's `http` takes it, and the crowd of its connections."""
    crowd = Crowd(limits, refused)
    return type("ServerProtocol", (LimitedProtocol,), {"crowd": crowd}), crowd
