"""Hears of answers that people give on other nodes, so that whoever waits for one goes on at once.

    a node answers ─▶ NOTIFY with its COMMIT ─▶ Listener of every node on which somebody waits ─▶ who waits looks

The connection is there only while somebody waits. Nothing depends on it: whoever waits looks each second as well, so
that a listener that was cut off, or a server that knows no NOTIFY, costs a second and no answer.
"""

import threading
from collections import OrderedDict
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from rightcall.record.postgres.connection import Address, connect, load_driver

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    import psycopg

CHANNEL = "rightcall_answers"
LOOK_SECONDS = 1.0
"""After which whoever waits looks, whatever was heard."""

_HEAR_SECONDS = 0.25
"""How long one listens before one sees whether anybody still waits."""
_IDLE_SECONDS = 30.0
"""For how long one listens on when nobody waits any more."""
_AGAIN_SECONDS = 1.0
"""Between two attempts to connect."""
_REMEMBERED = 1_000
"""Answers that are remembered for those who look just now."""

_Waiting = tuple["AbstractEventLoop", "Future[None]"]


class Listener:
    """Of one node: a thread and a connection while somebody waits."""

    def __init__(self, address: Address, lock_seconds: float) -> None:
        self._address = address
        self._patience = lock_seconds
        self._door = threading.Lock()
        self._waiting: dict[str, list[_Waiting]] = {}
        self._answered: OrderedDict[str, None] = OrderedDict()
        self._thread: threading.Thread | None = None
        self._last = 0.0
        """When somebody last waited."""
        self._stopped = threading.Event()

    async def wait(self, id: str, seconds: float) -> None:
        """Until that approval was answered, as far as one hears of it, or it is time to look."""
        from asyncio import get_running_loop, wait  # late: who has no event loop does not pay for one

        loop = get_running_loop()
        future: Future[None] = loop.create_future()
        entry = loop, future
        with self._door:
            if self._answered.pop(id, self) is None:
                return
            self._waiting.setdefault(id, []).append(entry)
            self._last = monotonic()
            self._start()
        try:
            await wait((future,), timeout=min(seconds, LOOK_SECONDS))
        finally:
            with self._door:
                left = [one for one in self._waiting.get(id, ()) if one is not entry]
                if left:
                    self._waiting[id] = left
                else:
                    self._waiting.pop(id, None)
                self._last = monotonic()

    def _start(self) -> None:
        if not self._stopped.is_set() and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._hear, name="rightcall postgres answers", daemon=True)
            self._thread.start()

    def _is_wanted(self) -> bool:
        """Whether anybody waits, or did a moment ago. Once it says no, the thread is no longer this one."""
        with self._door:
            wanted = bool(self._waiting) or monotonic() - self._last < _IDLE_SECONDS
            if self._stopped.is_set() or not wanted:
                self._thread = None
                self._answered.clear()
                return False
            return True

    def _hear(self) -> None:
        while self._is_wanted():
            with suppress(Exception):  # whoever waits looks by itself
                connection = connect(self._address, lock_seconds=self._patience)
                try:
                    connection.execute(f"LISTEN {CHANNEL}".encode())
                    if not self._listen(connection):
                        return
                finally:
                    connection.close()
            self._stopped.wait(_AGAIN_SECONDS)

    def _listen(self, connection: "psycopg.Connection[Any]") -> bool:
        """Until the connection breaks, or False once nobody wants it."""
        errors: Any = load_driver()
        while self._is_wanted():
            try:
                for heard in connection.notifies(timeout=_HEAR_SECONDS):
                    self._tell(heard.payload)
            except errors.Error:
                return True
        return False

    def _tell(self, id: str) -> None:
        with self._door:
            waiting = self._waiting.get(id, ())
            if not waiting:
                self._answered[id] = None
                while len(self._answered) > _REMEMBERED:
                    self._answered.popitem(last=False)
            for loop, future in waiting:
                with suppress(RuntimeError):  # the loop has ended, and with it whoever waited there
                    loop.call_soon_threadsafe(_set, future)

    def stop(self) -> None:
        self._stopped.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(2 * _HEAR_SECONDS)


def _set(future: "Future[None]") -> None:
    if not future.done():
        future.set_result(None)
