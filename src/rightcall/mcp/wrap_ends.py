"""The two ends between which `wrap` stands, for requests of its own as well: ids that nobody else uses, and time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from secrets import token_hex
from typing import Final

from rightcall.mcp.messages import Id

log = logging.getLogger("rightcall")

Send = Callable[[bytes], None]
"""Takes a line with its end; raises OSError when nobody reads any more."""

_END: Final = b"\n"


class Ends:
    """Sending never raises: who is gone is noticed by whoever reads from there."""

    def __init__(self, client: Send, server: Send) -> None:
        self._client = client
        self._server = server
        self._lists, self._questions = (f"rightcall-{token_hex(16)}-" for _ in "ab")
        """The server sees the one and the client the other: neither knows what an id for the other begins with."""
        self.client_lost = False
        """Nobody reads our answers any more."""
        self.server_lost = False
        """Nor does the server read what it is sent."""

    def to_client(self, line: bytes) -> bool:
        sent = _sent(self._client, line)
        self.client_lost = self.client_lost or not sent
        return sent

    def to_server(self, line: bytes) -> bool:
        sent = _sent(self._server, line)
        self.server_lost = self.server_lost or not sent
        return sent

    def list_id(self) -> str:
        """For a request of our own to the server."""
        return self._lists + token_hex(8)

    def question_id(self) -> str:
        """For one to the client. Whoever knows other ids of ours cannot tell this one."""
        return self._questions + token_hex(16)

    def is_question(self, id: Id | None) -> bool:
        return isinstance(id, str) and id.startswith(self._questions)

    def is_own(self, id: Id | None) -> bool:
        return isinstance(id, str) and id.startswith((self._lists, self._questions))

    def later(self, seconds: float, work: Callable[[], None]) -> Callable[[], None]:
        """What it returns calls it off."""
        timer = threading.Timer(seconds, _guarded(work))
        timer.daemon = True
        timer.start()
        return timer.cancel

    def soon(self, work: Callable[[], None]) -> None:
        """In a thread of its own: who reads from one end must never wait for the other, or both wait for ever."""
        threading.Thread(target=_guarded(work), daemon=True).start()


def _sent(send: Send, line: bytes) -> bool:
    try:
        send(line if line.endswith(_END) else line + _END)
    except OSError:
        return False
    return True


def _guarded(work: Callable[[], None]) -> Callable[[], None]:
    def done() -> None:
        try:
            work()
        except Exception:
            log.exception("rightcall: a call that was held could not go on")

    return done
