"""Files that are replaced in one step: whoever reads sees the old one or the new one, also after a crash. What took the
place of one and is no file is not read."""

import errno
import os
import stat
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


def plain_file(path: str, flags: int) -> int:
    """An opener for `open`. Nobody waits for the other end of a pipe: what is no file raises OSError."""
    handle = os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0), 0o600)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return handle


def settle(folder: str | os.PathLike[str]) -> None:
    """A name that is not on the disk is lost in a power cut, whatever was written under it."""
    if os.name == "posix":  # elsewhere folders cannot be opened
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
