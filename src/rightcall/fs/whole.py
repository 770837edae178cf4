"""Files that are replaced in one step: whoever reads sees the old one or the new one, also after a crash."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def whole_file(path: str, beside: str) -> Generator[BinaryIO]:
    """What the block writes takes the place of `path` when the block ends; nothing is left where it fails. It is
    written to `beside`, which must not be there and which only its owner can read."""
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with open(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    settle(os.path.dirname(path) or ".")


def settle(folder: str | os.PathLike[str]) -> None:
    """A name that is not on the disk is lost in a power cut, whatever was written under it."""
    if os.name == "posix":  # elsewhere folders cannot be opened
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
