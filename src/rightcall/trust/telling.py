"""What a person should know of something that was found, said once: in the log, and at a command line on stderr."""

import logging
import sys
from contextlib import suppress

_log = logging.getLogger("rightcall.trust")
_said: set[str] = set()


def warn(text: str) -> None:
    """Once in a process, however often it is found. The text is one line, escaped."""
    if text not in _said:
        _said.add(text)
        _log.warning("rightcall: %s", text)


class _Stderr(logging.Handler):
    """Wherever standard error leads at the time."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):  # nobody is left to be told
            sys.stderr.write(record.getMessage() + "\n")
            sys.stderr.flush()


_STDERR = _Stderr(logging.WARNING)


def speak_on_stderr() -> None:
    """For a command line: its user has configured no log."""
    if _STDERR not in _log.handlers:
        _log.addHandler(_STDERR)
        _log.propagate = False
