"""`rightcall wrap`: a byte pump between a client and a server that speak MCP over standard input and output.

client ──▶ up ──▶ server       judges calls             a thread for each; the main thread waits for the end,
client ◀── down ◀── server     learns tools, records    so that signals are heard at once
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from rightcall.door_origin import way_of
from rightcall.mcp.wrap_between import Between
from rightcall.mcp.wrap_calls import UNHEARD
from rightcall.mcp.wrap_ends import Ends, log
from rightcall.mcp.wrap_lines import Output, parts
from rightcall.mcp.wrap_process import GRACE, HURRY, Ending, Server

if TYPE_CHECKING:
    from rightcall.door import Door

MOST_FROM_CLIENT: Final = 64 << 20
"""Bytes of a message of the client; a longer one cannot be judged, so it is refused."""
MOST_FROM_SERVER: Final = 8 << 20
"""Bytes of a message of the server that is looked into; a longer one passes in pieces."""
_TAIL: Final = 4096
_SERVER_ENDED: Final = "The server ended before it answered."
_CLIENT_LEFT: Final = "The client ended the connection before the server answered."
_TOLD_TO_END: Final = "RightCall was told to end before the server answered."


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
        self._why = _SERVER_ENDED
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
            self._why = _TOLD_TO_END
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
            self._why = _CLIENT_LEFT
        if leaves and not self._ends.client_lost:
            self._up.join(GRACE)  # what the client had written before it went
            self._between.calls.listing.settled(GRACE)
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
