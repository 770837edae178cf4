"""When somebody ends the program from outside, with SIGTERM, or by closing its terminal: it stops as it does for Ctrl-C
and leaves nothing behind, neither a program that works for it nor a temporary folder."""

import os
import signal
from time import monotonic
from types import FrameType

_PATIENCE = 5.0
"""Seconds in which a further signal means the same end: a terminal that closes tells twice. Whoever asks again later
means it."""


class Ended(KeyboardInterrupt):
    """Everything that ends well for Ctrl-C ends well for this too."""


class Ending:
    """Listens for the signals. `code` is the exit code once one of them has come."""

    def __init__(self) -> None:
        self.code: int | None = None
        self._since: float | None = None
        self._tidying = False
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # not with `nohup`
                signal.signal(number, self._heard)

    def tidying(self) -> None:
        """The work is done and what it has left is removed: a signal need not hurry that any more."""
        self._tidying = True

    def _heard(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._since is not None:
            if monotonic() - self._since > _PATIENCE:
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
            return
        self._since = monotonic()
        if not self._tidying:
            self.code = 128 + number
            raise Ended
