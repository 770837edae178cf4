"""A server as a process of ours: messages are lines on its standard input and output (the stdio transport).

A line that does not end, a server that reads nothing or has closed its input or output, an end: each is the end of this
process alone, which is then started again. What it writes to standard error is read always, so that it never blocks,
and of that only the last lines are kept.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import cast

from rightcall.config_servers import Server
from rightcall.mcp.upstream_child import start_child
from rightcall.mcp.upstream_env import environment
from rightcall.mcp.upstream_link import Heard, ServerGone
from rightcall.text.escape import escaped
from rightcall.text.framing import MOST, JsonLines, TooLong
from rightcall.text.redact import Redactor

UNREAD = 64_000_000
"""Bytes that may wait for a server that reads nothing before it is given up,"""
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

    def request(self, id: int, body: bytes, headers: Mapping[str, str]) -> None:
        del id, headers
        self.tell(body)

    def tell(self, body: bytes) -> None:
        if self._told or self._input is None or self._input.is_closing():
            return
        self._input.write(body + b"\n")
        self._written += len(body) + 1
        waiting = self._input.get_write_buffer_size()
        if waiting > UNREAD:
            self._lose(f"it has left {UNREAD // 1_000_000} MB unread")
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

    async def aclose(self) -> None:
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
