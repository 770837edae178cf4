"""The lines that a server writes for people, and its log, on standard error.

say ─▶ queue, bounded ─▶ one thread ─▶ the terminal

A terminal that was stopped, or a pipe that nobody reads any more, must hold up no answer: what finds no room is counted
and left out, and once nobody is there any more nothing is written.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from queue import SimpleQueue
from time import sleep
from typing import TextIO

from rightcall.cli.terminal import harmless_lines

MOST_WAITING = 1000
MOST_BYTES = 16_000_000
"""Of what the lines that wait are made from."""
_ENDING = 1.0
"""Seconds in which what waits is still written at the end."""
_LONGEST_LOG = 80
"""Lines of one entry of the log, the way to an error included."""

Work = Callable[[], str]


class Lines:
    """`say` and `make` never wait and never raise."""

    def __init__(self, stream: TextIO, most: int = MOST_WAITING) -> None:
        self._stream = stream
        self._most = most
        self._queue: SimpleQueue[tuple[Work, int] | None] = SimpleQueue()
        self._bytes = self._left_out = 0
        self._lock = threading.Lock()
        self._gone = False
        self._thread = threading.Thread(target=self._write_all, name="rightcall lines", daemon=True)
        self._thread.start()

    def say(self, text: str) -> None:
        """Leave a line, or several, to be written."""
        self.make(lambda: text, len(text))

    def make(self, work: Work, weight: int) -> None:
        """Leave lines to be made in the thread, and written; `weight` is about how many bytes they are made from."""
        with self._lock:
            if self._gone:
                return
            if self._queue.qsize() >= self._most or self._bytes + weight > MOST_BYTES:
                self._left_out += 1
                return
            self._bytes += weight
        self._queue.put((work, weight))

    def close(self, timeout: float = _ENDING) -> None:
        """Write what waits, for as long as this at most."""
        self._queue.put(None)
        self._thread.join(timeout)

    def _write_all(self) -> None:
        while (found := self._queue.get()) is not None:
            work, weight = found
            self._write(_make_line(work))
            with self._lock:
                self._bytes -= weight
                left_out, self._left_out = self._left_out, 0
            if left_out:
                self._write(f"rightcall: nobody read these lines for a while: {left_out} were left out")

    def _write(self, text: str) -> None:
        if self._gone or not text:
            return
        try:
            self._put(f"{text}\n")
        except (OSError, ValueError):  # the other end, or the stream, is closed
            self._gone = True

    def _put(self, text: str) -> None:
        try:
            number = self._stream.fileno()
        except (OSError, ValueError, AttributeError):
            number = -1
        if number < 0:  # no file behind it, as in tests
            self._stream.write(text)
            self._stream.flush()
        else:  # past Python's own buffer, whose lock would be held, at the end of the program too, while this waits
            _write_to(number, text.encode(self._stream.encoding or "utf-8", "backslashreplace"))


def _make_line(work: Work) -> str:
    try:
        return work()
    except Exception as error:  # noqa: BLE001  a line that cannot be made must not end the others
        return f"rightcall: a line could not be made ({type(error).__name__})"


def _write_to(number: int, data: bytes) -> None:
    import os

    while data:
        try:
            data = data[os.write(number, data) :]
        except BlockingIOError:  # somebody else who has this terminal does not want to wait for it
            sleep(0.05)


class _Log(logging.Handler):
    def __init__(self, lines: Lines) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines
        self._format = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self._format.format(record).removeprefix("rightcall: ")
        except Exception as error:  # noqa: BLE001  what is wrong with an entry of the log is no reason to fail
            text = f"an entry of the log cannot be read ({type(error).__name__})"
        self._lines.say("\n".join(harmless_lines(f"rightcall: {text}", most=_LONGEST_LOG)))


@contextmanager
def lines_and_log(stream: TextIO) -> Generator[Lines]:
    """Lines to this stream, where the log goes as well for as long as the `with` lasts."""
    lines = Lines(stream)
    handler = _Log(lines)
    loggers = [logging.getLogger(name) for name in ("rightcall", "asyncio")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield lines
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        lines.close()
