"""An error of our own while reading is logged and not raised: where it must not happen, it has to be looked for."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(f"{record.getMessage()}: {record.exc_info[1]!r}" if record.exc_info else record.getMessage())


@contextmanager
def faults() -> Iterator[list[str]]:
    """The errors that are logged meanwhile. Warnings are silent: every refusal is one."""
    log, collector = logging.getLogger("rightcall"), _Collector()
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    log.addHandler(collector)
    try:
        yield collector.found
    finally:
        log.removeHandler(collector)
        logging.disable(before)
