"""`rightcall wrap`: a byte pump between a client and a server that speak MCP over standard input and output.

client ──▶ up ──▶ server       judges calls             a thread for each; the main thread waits for the end,
client ◀── down ◀── server     learns tools, records    so that signals are heard at once
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import Any, Final

from msgspec import Raw
from msgspec.json import encode

from rightcall.base.json.strict import duplicate_keys
from rightcall.base.text import escaped
from rightcall.executor.door import Door
from rightcall.executor.lookups import LOOKUPS
from rightcall.executor.toolbox import way_of
from rightcall.mcp.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    NULL,
    PARSE_ERROR,
    STATUS,
    STATUS_NEW,
    UPDATE,
    Bytes,
    Id,
    Message,
    almost_key,
    escape_line_ends,
    failure,
    fields,
    identity,
    is_text,
    mapping,
    read,
    read_batch,
    value,
)
from rightcall.mcp.wrap.calls import UNHEARD, Calls
from rightcall.mcp.wrap.process import GRACE, HURRY, START, Ending, Ends, Output, Server, id_of, log, parts

# ── between client and server ──
# What `wrap` does with each line of the client and of the server. Only calls and requests for resources, prompts
# and completion are looked into; everything else passes as the very bytes it came as, in its order.
#
# A line of the client that cannot be read might be a call for a server that reads more loosely: it does not pass.

_CALL: Final = "tools/call"


class Between:
    """Stands between one client and one server. `from_client` and `from_server` may be called from two threads."""

    def __init__(
        self, door: Door, space: str, ends: Ends, *, context: str | None = None, answerable: bool = True
    ) -> None:
        self._ends = ends
        self.calls = Calls(door, space, ends, context=context, answerable=answerable)

    def from_client(self, line: bytes) -> None:
        """An error of ours ends the call and nothing else; what could not be judged does not pass."""
        try:
            self._from_client(line)
        except Exception:  # noqa: BLE001 - whatever it is
            log.exception("rightcall: a message of the MCP client could not be handled")
            self._ends.to_client(failure(_raw(id_of(line, line)), INTERNAL_ERROR, "the call could not be checked"))

    def from_server(self, line: bytes) -> None:
        """An error of ours costs what we would have learned; the line passes."""
        try:
            self._from_server(line)
        except Exception:  # noqa: BLE001 - whatever it is
            log.exception("rightcall: a message of the MCP server could not be handled")
            self._ends.to_client(line)

    def _from_client(self, line: bytes) -> None:
        if not is_text(line):
            self._ends.to_client(failure(NULL, PARSE_ERROR, "the message is not valid UTF-8, so it was not passed on"))
            return
        line = _one_line(line)
        message = read(line)
        if message is not None:
            passed = self._client_message(line, message)
        elif (batch := read_batch(line)) is not None:
            passed = self._client_batch(line, batch)
        else:
            passed = self._unread(line)
        if passed is not None and not self._ends.to_server(bytes(passed)):
            self.calls.server_gone(UNHEARD)

    def _from_server(self, line: bytes) -> None:
        message = read(line)
        if message is not None:
            passed = self._server_message(line, message)
            if passed is not None:
                self._ends.to_client(bytes(passed))
            return
        batch = read_batch(line) or []
        # nothing is added to the answers in a batch, but what is none of the client's is not passed
        passed = [raw for raw in batch if (one := read(raw)) is None or self._server_message(raw, one) is not None]
        if len(passed) == len(batch):
            self._ends.to_client(line)
        elif passed:
            self._ends.to_client(b"[" + b",".join(map(bytes, passed)) + b"]")

    def too_long(self, head: bytes) -> None:
        """A line of the client that is too long to be judged; it is not passed on."""
        self._ends.to_client(failure(_raw(id_of(head, b"")), INVALID_REQUEST, "the message is too long to be checked"))

    def is_for_us(self, head: bytes) -> bool:
        """Whether a message of the server that is too long to be read answers a request of our own, or one that the
        client has cancelled."""
        known = id_of(head, b"")
        return self._ends.is_own(known) or self.calls.is_cancelled(known)

    def passes_unread(self, head: bytes, tail: bytes, size: int) -> None:
        """A message of the server that was too long to be read has come to its end."""
        known = id_of(head, tail)
        self.calls.listing.unread(known)
        self.calls.ended_unread(known, size)

    def _client_message(self, line: Bytes, message: Message) -> Bytes | None:
        method = message.method
        if message.is_request:
            self.calls.reused(message.id)
        if method == _CALL:
            return self.calls.take(line, message) if message.id else None  # one without an id could not be refused
        if _almost_a_call(method) or _two_methods(line):
            return self._unread(bytes(line))
        if (near := almost_key(fields(line))) is not None:
            text = f"the key `{escaped(near, 40)}` can be taken for one of the protocol, so it was not passed on"
            self._ends.to_client(failure(message.id, PARSE_ERROR, text))
            return None
        if method is None:
            return self._client_response(line, message)
        if _plain_method(method) in LOOKUPS:
            return self.calls.look_up(line, message, _plain_method(method)) if message.id else None
        if method == UPDATE:
            return self.calls.update(line, message) if message.id else None
        if method == "initialize":
            self.calls.handshake(message.params)
        elif method == "tools/list" and (known := identity(message.id)) is not None:
            self.calls.listing.client_asks(known, mapping(value(message.params)))
        elif method == "notifications/cancelled" and self.calls.cancelled(_cancelled(message)):
            return None
        else:
            self.calls.tasks.asked(message)
        return line

    def _client_response(self, line: Bytes, message: Message) -> Bytes | None:
        known = identity(message.id)
        if known is None or not self._ends.is_own(known):
            return line
        if self._ends.is_question(known):
            self.calls.questions.answered(known, message)
        return None

    def _client_batch(self, line: bytes, batch: list[Raw]) -> bytes | None:
        """Each of its messages by itself. What is left goes on as a batch, as it came if nothing was changed."""
        passed: list[Bytes] = []
        messages = [read(raw) for raw in batch]
        if any(one is None and bytes(raw)[:1] == b"[" for one, raw in zip(messages, batch, strict=True)):
            return self._unread(line)
        for raw, message in zip(batch, messages, strict=True):
            left = raw if message is None else self._client_message(raw, message)
            if left is not None:
                passed.append(left)
        if not batch or (len(passed) == len(batch) and all(map(_same, passed, batch))):
            return line
        return b"[" + b",".join(map(bytes, passed)) + b"]" if passed else None

    def _unread(self, line: bytes) -> bytes | None:
        """A line that is no message. What can be no call in any reading passes, for the server to say so itself."""
        if not _may_hold_a_call(line):
            return line
        self._ends.to_client(
            failure(_raw(id_of(line, line)), PARSE_ERROR, "the message is not valid JSON, so it was not passed on")
        )
        return None

    def _server_message(self, line: Bytes, message: Message) -> Bytes | None:
        known = identity(message.id)
        if message.is_request and self._ends.is_own(known):
            # the client's answer would be taken for one to a request of our own
            log.warning("rightcall: a request of the MCP server has an id of ours; it was not passed on")
            return None
        if message.is_response:
            if known is None:
                return line
            self.calls.listing.answered(known, message)
            return None if self._ends.is_own(known) else self.calls.ended(known, line, message)
        if message.method == "notifications/tools/list_changed":
            self.calls.listing.changed()
        elif message.method in (STATUS, STATUS_NEW):
            self.calls.tasks.told(message.params)
        return line


def _one_line(line: bytes) -> bytes:
    """Without what some servers take for the end of a line. Carriage returns are mere blanks in JSON."""
    if b"\r" in line:
        body = line.rstrip(b"\r\n")
        line = body.replace(b"\r", b" ") + line[len(body) :]
    return escape_line_ends(line)


def _almost_a_call(method: Any) -> bool:
    return isinstance(method, str) and _plain_method(method) == _CALL


def _plain_method(method: str) -> str:
    return method.strip().casefold()


def _may_hold_a_call(text: bytes) -> bool:
    """Or what a call goes on with, or what else is judged."""
    lower = text.lower()
    return b"\\u" in text or any(word in lower for word in _JUDGED)


_JUDGED: Final = (b"call", b"update", b"resources/", b"prompts/", b"completion/", b"\\/")
"""In every message that is judged; the last is another way to write a slash."""


def _two_methods(line: Bytes) -> bool:
    """Whether it may be a call for a server that reads another of two methods."""
    text = bytes(line)
    if not _may_hold_a_call(text):
        return False
    twice = duplicate_keys(text.decode("utf-8", "replace"), value(text))
    return "method" in twice or "" in twice


def _cancelled(message: Message) -> Id | None:
    known = mapping(value(message.params)).get("requestId")
    return known if isinstance(known, (int, float, str)) else None


def _same(passed: Bytes, came: Raw) -> bool:
    return passed is came or bytes(passed) == bytes(came)


def _raw(id: Id | None) -> Raw:
    return Raw(encode(id))


MOST_FROM_CLIENT: Final = 64 << 20
"""Bytes of a message of the client; a longer one cannot be judged, so it is refused."""
MOST_FROM_SERVER: Final = 8 << 20
"""Bytes of a message of the server that is looked into; a longer one passes in pieces."""
_TAIL: Final = 4096


class Pump:
    """One client, one server, until one of them ends."""

    def __init__(
        self, door: Door, space: str, command: Sequence[str], source: int, target: int, *, answerable: bool
    ) -> None:
        """Starts the server. Raises ConfigError when it cannot be started. `answerable`: whether questions can be
        answered elsewhere too."""
        self._server = Server(command)
        door.locate(space, way_of(command))
        self._source = source
        self._to_client = Output(target)
        self._to_server = Output(self._server.input)
        self._ends = Ends(self._to_client.send, self._to_server.send)
        self._between = Between(door, space, self._ends, context=f"wrap-{token_hex(4)}", answerable=answerable)
        self._over = Ending(source, self._server.input)
        self._server_done = False
        self._why = "The server ended before it answered."
        """Why calls that are still open get no answer."""
        self._up = threading.Thread(target=self._until_over, args=(self._from_client,), daemon=True)
        self._down = threading.Thread(target=self._until_over, args=(self._from_server,), daemon=True)

    def run(self) -> int:
        """Pumps until one side ends; the server's exit code."""
        self._up.start()
        self._down.start()
        try:
            if self._over.wait() or self._ends.server_lost:
                self._part_from_deaf()
            self._finish()
        except KeyboardInterrupt as stop:
            self._why = "RightCall was told to end before the server answered."
            self._server.hurry(signal.SIGINT if type(stop) is KeyboardInterrupt else signal.SIGTERM)
            raise
        finally:
            self._between.calls.server_gone(self._why, tell=False)
        return self._server.code or int(self.was_deaf)

    @property
    def was_deaf(self) -> bool:
        """Whether the server was ended because it had closed its input while it was running."""
        return self._why is UNHEARD

    def _part_from_deaf(self) -> None:
        """The server has closed its input. One that is just ending closes its output too; any other is of no use to
        its client, which would wait for ever. Whether it is started again is for the client to say, who started it."""
        self._down.join(HURRY)
        if not self._server_done:
            self._why = UNHEARD
            self._between.calls.server_gone(UNHEARD)

    def _finish(self) -> None:
        """One side has ended: what is on its way arrives, then the server ends too."""
        by_itself = self._server_done and not self.was_deaf
        leaves = not self._server_done and not self.was_deaf
        if leaves:
            self._why = "The client ended the connection before the server answered."
        if leaves and not self._ends.client_lost:
            self._up.join(GRACE)  # what the client had written before it went
            self._between.calls.listing.settled(START)  # calls that wait for a server that is still starting
        told = self._to_server.close(HURRY)  # not where the server reads nothing any more
        if told:
            self._server.close_input()
        self._server.end(HURRY if self._server_done else GRACE if told and leaves else 0.0)
        self._down.join(HURRY)  # somebody whom the server has started may still hold its output open
        if by_itself and self._server.code:
            log.warning("rightcall: the MCP server ended (exit code %d)", self._server.code)

    def _until_over(self, pump: Callable[[], None]) -> None:
        try:
            pump()
        except Exception:  # noqa: BLE001 - an error of ours must not leave a server behind
            log.exception("rightcall: the connection to the MCP server failed")
        finally:
            self._over.say()

    def _from_client(self) -> None:
        for part, data in parts(self._source, MOST_FROM_CLIENT):
            if part in ("line", "rest"):
                self._between.from_client(data)
            elif part == "head":
                self._between.too_long(data)
            if self._ends.server_lost:
                return

    def _from_server(self) -> None:
        head, tail, size, swallowed = b"", b"", 0, False
        for part, data in parts(self._server.output, MOST_FROM_SERVER):
            if part == "line":
                self._between.from_server(data)
            elif part == "rest":
                self._piece(self._to_client.half, data)
            else:
                if part == "head":
                    head, tail, size, swallowed = data[:_TAIL], b"", 0, self._between.is_for_us(data)
                tail, size = (tail + data)[-_TAIL:], size + len(data)
                if part == "tail":  # before the client can act on it
                    self._between.passes_unread(head, tail, size)
                if not swallowed:
                    self._piece(self._to_client.last if part == "tail" else self._to_client.piece, data)
            if self._ends.client_lost:  # what the server still says is read, or it could not end
                self._over.say()
        self._server_done = True
        self._piece(self._to_client.half, b"")
        self._between.calls.server_gone(self._why)

    def _piece(self, send: Callable[[bytes], None], data: bytes) -> None:
        try:
            send(data)
        except OSError:
            self._ends.client_lost = True
