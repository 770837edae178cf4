"""The two ways to a server: streamable HTTP, and a process of ours whose messages are lines on its standard input and
output (stdio).

A line that does not end, a process that reads nothing or has closed its input or output, an end: each is the end of
this process alone, which is then started again. What it writes to standard error is read always, so that it never
blocks, and of that only the last lines are kept.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import urlsplit

from msgspec import Raw, json

from rightcall import __version__
from rightcall.base.http.answers import (
    MOST,
    HttpError,
    JsonLines,
    ServerSentEvents,
    TooLong,
    header_of,
    payload,
    read_address,
)
from rightcall.base.http.client import FOREVER, Client, HttpLimits, Incoming
from rightcall.base.secrets import Redactor, Sent
from rightcall.base.text import escaped
from rightcall.errors import CallError, ConfigError, IdentityError
from rightcall.mcp.messages import METHOD_NOT_FOUND, STATELESS, Answer, Era, mapping, one_line, value
from rightcall.mcp.session import (
    FORGOTTEN,
    Cause,
    Heard,
    Link,
    LoginMissing,
    ServerGone,
    ServerSlow,
    Session,
    SessionExpired,
    spawn,
)
from rightcall.mcp.upstream import Hello, ListRefused, Opening, SpeaksBoth, environment, filled, greet, listed
from rightcall.policy.settings import Server

if TYPE_CHECKING:
    from rightcall.identity.flows import TokenAccess
    from rightcall.identity.logins import Access

# ── streamable HTTP ──
# A server that is reached over streamable HTTP: each request is a POST of its own, answered with JSON or with a stream
# of events. Our own HTTP client, as for models (`rightcall.base.http.client`).
#
# In the old era the server remembers a session; one that it has forgotten is opened anew. What it says unasked comes
# on a GET that stays open, and a stream that breaks off is taken up again where the server numbers its events.

_LIMITS = HttpLimits(first_byte_seconds=FOREVER, between_seconds=FOREVER, body_bytes=16_000_000)
"""How long a call may take is the caller's to say."""
_AFTER_CANCEL = 30.0
_RESUMES: Final = 2
_PAUSE = 1.0
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.05, 30.0
_DIGITS: Final = 12


class _Place(NamedTuple):
    """In a stream of a server's: where it can be taken up again, and when."""

    last: str = ""
    pause: float = _PAUSE


class HttpLink:
    """The way to one server over HTTP. `caller` is whose login is used, where each has one of its own."""

    first = 1

    def __init__(self, server: Server, caller: str = "") -> None:
        self._server = server
        self._caller = caller
        self._access: Access | TokenAccess | None = None
        self._heard: Heard | None = None
        self._client: Client | None = None
        self._target = "/"
        self._own: list[tuple[bytes, bytes]] = []
        self._sent = Sent()
        self._session: str | None = None
        self._version = ""
        self._asks: dict[int, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._telling: asyncio.Task[None] | None = None
        self._is_lost = False

    async def open(self, heard: Heard) -> None:
        self._heard = heard
        parts = urlsplit(self._server.url)
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            rule = f"[servers.{self._server.name}] url"
            address = read_address(f"{parts.scheme}://{parts.netloc}", rule, "keys come from the client, in a header")
        except ConfigError as wrong:
            raise ServerGone(str(wrong)) from None
        from rightcall.identity.logins import access_of  # late: servers that are processes need nothing of it

        try:
            self._access = access_of(self._server, self._caller)
        except IdentityError as wrong:
            raise ServerGone(str(wrong)) from None
        self._client = Client(address, _LIMITS)
        own = filled(self._server.headers, f"[servers.{self._server.name}] headers")
        self._own = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in own.items()]
        self._sent.note(self._own)

    def request(self, id: int, body: bytes, headers: Mapping[str, str]) -> None:
        task = spawn(self._tasks, self._ask(id, body, headers))
        self._asks[id] = task
        task.add_done_callback(lambda _: self._asks.pop(id, None))

    def tell(self, body: bytes) -> None:
        self._telling = spawn(self._tasks, self._told(body, self._telling))

    def abandon(self, id: int) -> bool:
        task = self._asks.get(id)
        if self._version in STATELESS:
            if task is not None:
                task.cancel()  # to close the stream is to cancel the request
            return True
        if task is not None:
            asyncio.get_running_loop().call_later(_AFTER_CANCEL, task.cancel)
        return False

    def agreed(self, version: str, *, listen: bool) -> None:
        self._version = version
        if listen and self._session is not None:
            spawn(self._tasks, self._listen())

    async def aclose(self, *, failed: bool = False) -> None:
        del failed  # it is nobody else's
        if self._session is not None and not self._is_lost:
            with suppress(HttpError, CallError, IdentityError, TimeoutError):
                async with asyncio.timeout(2.0):
                    (await self._send("DELETE", b"", {})).release()
        self._is_lost = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def _ask(self, id: int, body: bytes, headers: Mapping[str, str]) -> None:
        if self._telling is not None and not self._telling.done():
            await asyncio.wait([self._telling])  # what was told before is to arrive before
        try:
            incoming = await self._send("POST", body, headers)
            try:
                await self._answered(id, incoming)
            finally:
                incoming.release()
            why = "it closed the stream without an answer"
        except (HttpError, CallError) as error:
            why = escaped(str(error), 300)
        except TooLong:
            why = "it sent an event that does not end"
        except IdentityError as error:
            self._fail(id, LoginMissing(str(error)))
            return
        self._fail(id, ServerGone(why))

    async def _answered(self, id: int, incoming: Incoming) -> None:
        assert self._heard is not None
        kind = header_of(incoming.headers, b"content-type").partition(b";")[0].strip().lower()
        status = incoming.status
        if self._session is None and (given := header_of(incoming.headers, b"mcp-session-id")):
            self._session = given.decode("latin-1")
        if status == 404 and self._session is not None and kind != b"application/json":
            self._forgotten(id)
        elif kind == b"application/json" and not 300 <= status < 400:
            await self._whole(id, incoming)
        elif status < 300 and kind == b"text/event-stream":
            await self._followed(id, incoming)
        else:
            self._refused(id, incoming)

    async def _whole(self, id: int, incoming: Incoming) -> None:
        assert self._heard is not None
        body = self._sent.hide(await incoming.read_all())
        if incoming.status == 404 and self._session is not None and b"session" in body.lower():
            self._forgotten(id)
            return
        self._heard.message(body, id)
        if incoming.status >= 400 and self._heard.waits(id):
            self._refused(id, incoming)

    def _refused(self, id: int, incoming: Incoming) -> None:
        """A status that says no. A server that does not know a method may say so this way only."""
        assert self._heard is not None
        status = incoming.status
        if 300 <= status < 400:
            where = escaped(header_of(incoming.headers, b"location").decode("latin-1"), 200)
            self._fail(id, ServerGone(f"it has moved to {where}: write that into [servers.{self._server.name}] url"))
        elif status in (401, 403):
            told = f"it does not accept what [servers.{self._server.name}] sends to identify us"
            self._fail(id, ServerGone(f"it answered with status {status}: {told}"))
        elif 400 <= status < 500:
            error = {"code": METHOD_NOT_FOUND, "message": f"the server answered with status {status}"}
            self._heard.message(json.encode({"jsonrpc": "2.0", "id": id, "error": error}), id)
        else:
            self._fail(id, ServerGone(f"it answered with status {status} and no message"))

    def _forgotten(self, id: int) -> None:
        self._fail(id, SessionExpired(FORGOTTEN))
        self._session = None
        self._lose(FORGOTTEN)

    async def _followed(self, id: int, incoming: Incoming) -> None:
        """What comes on a stream, until the answer has. One that ends before is taken up again where its events have
        numbers: servers close a connection on purpose where an answer takes its time."""
        assert self._heard is not None
        place = await self._events(id, incoming, _Place())
        tries = 0
        while place.last and self._heard.waits(id) and tries < _RESUMES:
            self._heard.paused(id, place.pause)
            await asyncio.sleep(place.pause)
            again = await self._send("GET", b"", {"last-event-id": place.last})
            try:
                if again.status != 200:
                    return
                before, place = place, await self._events(id, again, place)
            finally:
                again.release()
            tries = 0 if place.last != before.last else tries + 1

    async def _events(self, id: int | None, incoming: Incoming, place: _Place) -> _Place:
        """Where a stream was when it ended, or when the answer was there."""
        assert self._heard is not None
        framing = ServerSentEvents()
        while data := await incoming.read():
            for event in framing.feed(data):
                place = _marked(event, place)
                if (message := payload(event)) and message.strip():
                    self._heard.message(self._sent.hide(message), id)
            if id is not None and not self._heard.waits(id):
                break
        return place

    # ── what needs no answer ─────────────────────────────────────────────────────────────────────────────────────

    async def _told(self, body: bytes, before: asyncio.Task[None] | None) -> None:
        if before is not None and not before.done():
            await asyncio.wait([before])
        with suppress(HttpError, CallError, IdentityError):
            (await self._send("POST", body, {})).release()

    async def _listen(self) -> None:
        """The standing stream. Servers need not have one."""
        place, pause = _Place(), _PAUSE
        while not self._is_lost:
            try:
                incoming = await self._send("GET", b"", {"last-event-id": place.last} if place.last else {})
                try:
                    if incoming.status == 200:
                        pause = _PAUSE
                        place = await self._events(None, incoming, place)
                    elif place.last:
                        place = _Place()  # it has forgotten where we were
                    else:
                        return
                finally:
                    incoming.release()
            except (HttpError, CallError, IdentityError, TooLong):
                pass
            await asyncio.sleep(max(pause, place.pause))
            pause = min(pause * 2, _LONGEST_PAUSE)

    # ── the connection ───────────────────────────────────────────────────────────────────────────────────────────

    async def _send(self, method: str, body: bytes, headers: Mapping[str, str]) -> Incoming:
        assert self._client is not None
        accept = b"text/event-stream" if method == "GET" else b"application/json, text/event-stream"
        sent = [*self._own, (b"accept", accept), (b"accept-encoding", b"identity")]
        if body:
            sent.append((b"content-type", b"application/json"))
        if self._session is not None:
            sent.append((b"mcp-session-id", self._session.encode("latin-1")))
        if self._version and "mcp-protocol-version" not in headers:
            sent.append((b"mcp-protocol-version", self._version.encode()))
        sent += [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        access = self._access
        if access is None:
            return self._hidden(await self._client.send(method, self._target, sent, body))
        for is_last in (False, True):  # a second time with another token, where there is one
            login = await access.headers(method)
            self._sent.note(login)
            incoming = self._hidden(await self._client.send(method, self._target, [*login, *sent], body))
            if incoming.status not in (401, 403):
                break
            try:
                if not await access.refused(incoming, login, is_last=is_last):
                    break
            except BaseException:
                incoming.release()
                raise
            incoming.release()
        return incoming

    def _hidden(self, incoming: Incoming) -> Incoming:
        incoming.headers = [(name, self._sent.hide(value)) for name, value in incoming.headers]
        return incoming

    def _fail(self, id: int, why: ServerGone) -> None:
        if self._heard is not None:
            self._heard.failed(id, why)

    def _lose(self, why: str) -> None:
        if not self._is_lost and self._heard is not None:
            self._is_lost = True
            self._heard.lost(why)


def _marked(event: bytes, place: _Place) -> _Place:
    """With the event's number, and after how many seconds the server wants to be asked again."""
    if b"id:" not in event and b"retry:" not in event:
        return place
    last, pause = place.last, place.pause
    for line in event.splitlines():
        name, _, rest = line.partition(b":")
        if name == b"id":
            last = rest.strip().decode("latin-1") or last
        elif name == b"retry" and rest.strip().isdigit() and len(rest) < _DIGITS:
            pause = min(max(int(rest) / 1000, _SHORTEST_PAUSE), _LONGEST_PAUSE)
    return _Place(last, pause)


# ── the process ──
# Start a server's process: the same on every event loop, with nothing of ours but its three pipes.
#
# uvloop's own `subprocess_exec` leaves further copies of the pipes open in the process, so a server that closes its
# input or output closes nothing, and hands on every descriptor that may be inherited. Here `subprocess` starts the
# process, the loop only reads and writes the pipes, and a thread waits for the end. Windows has no uvloop, and keeps
# the loop's way.


async def start_child(
    protocol: asyncio.SubprocessProtocol, command: Sequence[str], env: Mapping[str, str], cwd: str | None
) -> asyncio.SubprocessTransport:
    """Like `loop.subprocess_exec`, in a session of its own. Raises OSError and ValueError."""
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":
        transport, _ = await loop.subprocess_exec(lambda: protocol, *command, env=env, cwd=cwd)
        return transport
    pipe = subprocess.PIPE
    child = _Child(
        loop,
        protocol,
        subprocess.Popen(
            command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe,
            close_fds=True, start_new_session=True, env=env, cwd=cwd,
        ),
    )  # fmt: skip
    try:
        await child.connect()
    except BaseException:
        child.close()
        raise
    return child


class _Child(asyncio.SubprocessTransport):
    """The transport of one process; tells the protocol what the loop's own would."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, protocol: asyncio.SubprocessProtocol, process: subprocess.Popen[bytes]
    ) -> None:
        super().__init__()
        self._loop = loop
        self._protocol = protocol
        self._process = process
        self._pipes: dict[int, asyncio.BaseTransport] = {}

    async def connect(self) -> None:
        self._protocol.connection_made(self)
        threading.Thread(target=self._wait, name="rightcall-server-exit", daemon=True).start()
        for fd, pipe in enumerate((self._process.stdin, self._process.stdout, self._process.stderr)):
            connected = self._loop.connect_read_pipe if fd else self._loop.connect_write_pipe
            self._pipes[fd], _ = await cast("Any", connected)(lambda fd=fd: _Pipe(self._protocol, fd), pipe)

    def _wait(self) -> None:
        self._process.wait()
        with suppress(RuntimeError):  # the loop is closed, and nobody asks any more
            self._loop.call_soon_threadsafe(self._protocol.process_exited)

    def get_pid(self) -> int:
        return self._process.pid

    def input_fileno(self) -> int:
        return cast("IO[bytes]", self._process.stdin).fileno()

    def get_returncode(self) -> int | None:
        return self._process.returncode

    def get_pipe_transport(self, fd: int) -> asyncio.BaseTransport | None:
        return self._pipes.get(fd)

    def send_signal(self, signal: int) -> None:
        self._process.send_signal(signal)

    def close(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        for fd, pipe in enumerate(cast("tuple[IO[bytes], ...]", pipes)):
            (self._pipes.get(fd) or pipe).close()


class _Pipe(asyncio.Protocol):
    """Passes on what happens at one pipe."""

    def __init__(self, protocol: asyncio.SubprocessProtocol, fd: int) -> None:
        self._protocol = protocol
        self._fd = fd

    def data_received(self, data: bytes) -> None:
        self._protocol.pipe_data_received(self._fd, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.pipe_connection_lost(self._fd, exc)


UNREAD = 64_000_000
"""Bytes that may wait for a server that reads nothing before it is given up,"""
LEFT_UNREAD = f"it has left {UNREAD // 1_000_000} MB unread"
UNREAD_SECONDS = 30.0
"""and for how long any may wait without a byte of them being read."""
PARTING = 0.2
"""Seconds between the end of a pipe and the end of its process, which says more about why."""
GENTLE = 2.0
"""Seconds to end after its input was closed, and again after SIGTERM."""
_ENDS = {0: "input", 1: "output"}
_LAST_LINES, _LONGEST_LINE, _LONGEST_TAIL = 10, 300, 8_000
_SHORTEST_SECRET = 6
"""Characters of a variable's value: a shorter one stands in ordinary words as well."""


class ProcessLink(asyncio.SubprocessProtocol):
    """One run of one server."""

    first = 1

    def __init__(self, server: Server) -> None:
        self._server = server
        self._heard: Heard | None = None
        self._transport: asyncio.SubprocessTransport | None = None
        self._input: asyncio.WriteTransport | None = None
        self._lines = JsonLines()
        self._errors = Tail()
        self._secrets: frozenset[str] = frozenset()
        self._ended = asyncio.Event()
        self._unread = {1, 2}
        """Pipes from which more may come, also after its end: what it wrote last says why."""
        self._told = False
        self._written = 0
        self._watch: asyncio.TimerHandle | None = None
        """Looks whether the server still reads; only while something waits for it."""

    async def open(self, heard: Heard) -> None:
        self._heard = heard
        server = self._server
        given = environment(server)
        self._secrets = frozenset(given[name] for name in server.env if len(given[name]) >= _SHORTEST_SECRET)
        try:
            transport = await start_child(self, server.command, given, server.cwd or None)
        except (OSError, ValueError) as why:
            told = why.strerror if isinstance(why, OSError) and why.strerror else str(why)
            raise ServerGone(f"`{escaped(server.command[0], 200)}` cannot be started: {escaped(told, 200)}") from None
        self._input = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))

    @property
    def name(self) -> str:
        return self._server.name

    def share_input(self, shared: Callable[[asyncio.WriteTransport, int], asyncio.WriteTransport]) -> None:
        """Others write to it as well: from now on through what is made of its pipe. Only where `open` has returned."""
        if self._input is not None and isinstance(self._transport, _Child):
            self._input = shared(self._input, self._transport.input_fileno())

    def lose(self, why: str) -> None:
        """Give the process up."""
        self._lose(why)

    def request(self, id: int, body: bytes, headers: Mapping[str, str]) -> None:
        del id, headers
        self.tell(body)

    def tell(self, body: bytes) -> None:
        if self._told or self._input is None or self._input.is_closing():
            return
        line = one_line(body) + b"\n"
        self._input.write(line)
        self._written += len(line)
        waiting = self._input.get_write_buffer_size()
        if waiting > UNREAD:
            self._lose(LEFT_UNREAD)
        elif waiting and self._watch is None:
            self._watch_reading(self._written - waiting)

    def _watch_reading(self, read: int) -> None:
        self._watch = asyncio.get_running_loop().call_later(UNREAD_SECONDS, self._look_whether_it_reads, read)

    def _look_whether_it_reads(self, before: int) -> None:
        """One that hangs would be called ready for ever, and each of its calls would take its whole time."""
        self._watch = None
        waiting = 0 if self._told or self._input is None else self._input.get_write_buffer_size()
        if waiting and self._written - waiting <= before:
            self._lose(f"it has read nothing for {UNREAD_SECONDS:g} seconds")
        elif waiting:
            self._watch_reading(self._written - waiting)

    def abandon(self, id: int) -> bool:
        del id
        return False

    def agreed(self, version: str, *, listen: bool) -> None:
        del version, listen  # every line comes the same way

    async def aclose(self, *, failed: bool = False) -> None:
        del failed  # it is nobody else's
        self._told = True  # what happens from here on is our own doing
        if self._watch is not None:
            self._watch.cancel()
        if self._transport is None:
            return
        if self._input is not None:
            self._input.close()
        for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
            if await self._gone_within(GENTLE):
                break
            self._signal(number)
        await self._gone_within(GENTLE)
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))  # whatever it has left behind in its group
        self._transport.close()

    async def _gone_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        return self._ended.is_set()

    def _signal(self, number: int) -> None:
        """To the server and everything it has started."""
        if self._transport is None:
            return
        with suppress(OSError, ProcessLookupError):
            if sys.platform == "win32":
                self._transport.send_signal(number)
            else:
                os.killpg(self._transport.get_pid(), number)

    def _lose(self, why: str) -> None:
        if self._told:
            return
        self._told = True
        self._lines = JsonLines()  # the collector may let the rest of a line wait for long
        self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        if self._heard is not None:
            self._heard.lost(why, self._errors.told(self._redacted))

    def _redacted(self, text: str) -> str:
        """A text without what looks like a secret, and without any value that the policy gave this server."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, "[redacted]")
        return Redactor(os.urandom(32)).text(text)

    # what the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            self._errors.add(data)
            return
        if self._told or self._heard is None:
            return
        try:
            lines = self._lines.feed(data)
        except TooLong:
            self._lose(f"it sent a line of more than {MOST // 1_000_000} MB")
            return
        for line in lines:
            self._heard.message(line, None)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """A server that neither hears nor answers is none, also where its process lives on."""
        del exc
        self._unread.discard(fd)
        if self._ended.is_set() and not self._unread:
            self._lose_ended()
        elif fd in _ENDS and not self._told:
            asyncio.get_running_loop().call_later(PARTING, self._lose_closed, _ENDS[fd])

    def process_exited(self) -> None:
        self._ended.set()
        if self._unread:  # by what it has started, perhaps for ever
            asyncio.get_running_loop().call_later(PARTING, self._lose_ended)
        else:
            self._lose_ended()

    def _lose_closed(self, end: str) -> None:
        if self._ended.is_set():
            self._lose_ended()
        else:
            self._lose(f"it closed its {end}")

    def _lose_ended(self) -> None:
        self._lose(_ending(self._transport.get_returncode() if self._transport is not None else None))


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(-code).name}"
    return f"it ended with exit code {code}"


class Tail:
    """The last lines that a server wrote to standard error.

    >>> tail = Tail()
    >>> tail.add(b"loading\\nno such file: a.db\\n")
    >>> tail.told()
    '; its last words: loading | no such file: a.db'
    """

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque(maxlen=_LAST_LINES)
        self._open = b""

    def add(self, data: bytes) -> None:
        lines = (self._open + data[-_LONGEST_TAIL:]).split(b"\n")
        self._open = lines.pop()[-_LONGEST_LINE:]
        self._lines.extend(line[:_LONGEST_LINE] for line in lines if line.strip())

    def told(self, redacted: Callable[[str], str] = str) -> str:
        lines = [*self._lines, self._open] if self._open.strip() else list(self._lines)
        text = redacted(b"\n".join(lines).decode("utf-8", "replace"))  # as a whole: a key may take several lines
        kept = [line.strip() for line in text.split("\n") if line.strip()]
        words = " | ".join(escaped(line, 200) for line in kept[-3:])
        return f"; its last words: {words}" if words else ""


def open_link(server: Server) -> Link:
    """The way to a server of the policy."""
    return HttpLink(server) if server.url else ProcessLink(server)


def for_caller(opening: Opening, caller: str) -> Opening:
    """The same ways, with this caller's own login at servers where each has one."""
    return lambda server: HttpLink(server, caller) if server.per_caller else opening(server)


# ── the tools of a server ──
# Asks an MCP server for its tools, once: it is started, introduced to, listed and ended.

_STARTING = 30.0
"""Seconds for a server to start, and again to list its tools: some are fetched first."""


def learn_tools(server: Server) -> list[dict[str, Any]]:
    """Its tools as it lists them. Raises ConfigError where it does not start, or does not answer with such a list."""
    try:
        return _learn(server, 1)[0][0]
    except NoTools:
        return []


class NoTools(ConfigError):
    """The server has no tools: its list is empty, or it has neither said that it has one nor knows the question."""


def _learn(server: Server, times: int) -> tuple[list[list[dict[str, Any]]], str]:
    """Its tools, as often as wanted, and its instructions."""
    try:
        lists, instructions = asyncio.run(_list_often(server, times))
    except _NotOffered as fault:
        raise NoTools(f"server {escaped(server.name, 60)}: {fault}") from None
    except ListRefused as fault:
        raise ConfigError(f"server {escaped(server.name, 60)}: {fault}") from None
    except ServerSlow as fault:
        raise ConfigError(f"server {escaped(server.name, 60)}: it {fault}") from None
    except ServerGone as fault:  # whose words are a sentence of their own
        raise ConfigError(f"server {escaped(server.name, 60)}: {fault}") from None
    if not lists[0]:
        raise NoTools(
            f"server {escaped(server.name, 60)}: no tool definitions found: it answered tools/list with an empty list"
        )
    return [_definitions(server, found) for found in lists], instructions


def _definitions(server: Server, found: list[Raw]) -> list[dict[str, Any]]:
    """The definitions of a list, as values. Raises ConfigError, which names the first that is no object."""
    tools: list[dict[str, Any]] = []
    for number, raw in enumerate(found, 1):
        try:
            tool: Any = json.decode(raw)
        except (ValueError, RecursionError) as fault:
            why = f"cannot be read: {_fault_told(fault)}"
        else:
            if isinstance(tool, dict):
                tools.append(cast("dict[str, Any]", tool))
                continue
            why = f"is not a tool definition: expected an object, got {escaped(bytes(raw).decode(), 60)}"
        raise ConfigError(f"server {escaped(server.name, 60)}: entry {number} of its answer to tools/list {why}")
    return tools


def _fault_told(fault: Exception) -> str:
    if isinstance(fault, UnicodeDecodeError):
        return "it has bytes that are not valid UTF-8"
    return "it is nested too deeply" if isinstance(fault, RecursionError) else escaped(str(fault), 200)


def learn_twice(server: Server) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
    """Its tools, again as it lists them when it is asked a second time, as some tell another list then, and its
    instructions. Raises ConfigError as `learn_tools` does, and NoTools."""
    (first, second), instructions = _learn(server, 2)
    return first, second, instructions


async def _list_often(server: Server, times: int) -> tuple[list[list[Raw]], str]:
    hello = Hello({"name": "rightcall", "version": __version__}, {})
    try:
        return await _ask_server(server, hello, times)
    except SpeaksBoth:
        return await _ask_server(server, hello, times, only="new")
    except ServerGone:  # some of the old era end at a question before the handshake
        return await _ask_server(server, hello, times, only="old")


async def _ask_server(
    server: Server, hello: Hello, times: int, *, only: Era | None = None
) -> tuple[list[list[Raw]], str]:
    nobody = _Nobody()
    session = Session(open_link(server), nobody)
    await session.open()
    try:
        await greet(session, hello, _STARTING, only=only)
        lists = [await _listed_tools(session, hello) for _ in range(times)]
        return lists, session.agreed.instructions if session.agreed is not None else ""
    except ServerGone as fault:
        if type(fault) is ServerGone and nobody.words:
            raise ServerGone(f"{fault}{nobody.words}") from None
        raise
    finally:
        await session.aclose()


async def _listed_tools(session: Session, hello: Hello) -> list[Raw]:
    """Its list. Raises ListRefused, and _NotOffered where the server never said that it has tools."""
    try:
        return await listed(session, hello, "tools/list", "tools", _STARTING, strict=True)
    except ListRefused as fault:
        agreed = session.agreed
        error = mapping(value(fault.answer.error or b""))
        if agreed is not None and "tools" not in agreed.capabilities and error.get("code") == METHOD_NOT_FOUND:
            raise _NotOffered(fault.answer, str(fault)) from None
        raise


class _NotOffered(ListRefused):
    """The server does not know the question, and its capabilities name no tools."""


class _Nobody:
    """Who is told of what the server says by itself, and keeps its last words alone."""

    words = ""

    async def asked(self, method: str, params: Raw, cause: Cause | None) -> Answer:
        del method, params, cause
        return Answer(error=Raw(b'{"code": -32601, "message": "there is nobody to ask"}'))

    def told_by_server(self, method: str, params: Raw, cause: Cause | None) -> None:
        del method, params, cause

    def lost(self, session: Session, why: str, words: str = "") -> None:
        del session, why
        self.words = words
