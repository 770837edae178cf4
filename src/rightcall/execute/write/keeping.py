"""How much is kept to be taken back: the oldest changes lose their contents first, much later their records."""

import os
import shutil
from contextlib import suppress
from typing import Final

from rightcall.execute.write.journal import CONTENTS, Filed, Journal

MOST_CHANGES: Final = 1_000
MOST_BYTES: Final = 200_000_000
MOST_RECORDS: Final = 10_000
_EVERY = 16
_BIG = 1_000_000
"""Looking through all of them takes milliseconds: done now and then, and after each big change."""


def make_room(journal: Journal, last: Filed) -> None:
    """Drop what is beyond the limits, never the change that was made last. Nothing raises: there is room for one more
    in any case."""
    with suppress(OSError):
        own = _size(os.path.join(last.folder, CONTENTS))
        if last.number % _EVERY == 0 or own > _BIG:
            _made_room(journal, last.folder)


def _made_room(journal: Journal, spared: str) -> None:
    changes = bytes_kept = 0
    for count, folder in enumerate(journal.folders()):
        contents = os.path.join(folder, CONTENTS)
        size = _size(contents)
        changes += size >= 0
        bytes_kept += max(size, 0)
        if folder == spared:
            continue
        if count >= MOST_RECORDS:
            shutil.rmtree(folder, ignore_errors=True)
        elif size >= 0 and (changes > MOST_CHANGES or bytes_kept > MOST_BYTES):
            os.unlink(contents)


def _size(path: str) -> int:
    """-1 where there is none."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return -1
