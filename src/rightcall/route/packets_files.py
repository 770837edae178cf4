"""Files that only their owner can read: written in one step, read without following or waiting for anything."""

import os
import stat
from contextlib import suppress
from secrets import token_hex

UNFINISHED = ".part"
"""How a file ends that is still being written, or was when its process ended."""


def make_folder(folder: str) -> None:
    """Makes a folder for its owner alone, which stays out of version control."""
    if os.path.isdir(folder):
        return
    os.makedirs(os.path.dirname(folder) or ".", mode=0o700, exist_ok=True)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
        write(os.path.join(folder, ".gitignore"), b"*\n")


def write(path: str, data: bytes) -> None:
    """Whoever reads sees the old file or the new one, also after a crash."""
    beside = f"{path}.{token_hex(6)}{UNFINISHED}"
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with open(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
    _settle(os.path.dirname(path) or ".")


def read(path: str, most: int) -> bytes:
    """At most one byte more than `most`. Raises OSError, also for what is no plain file: a link, a pipe, a folder."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    with open(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is no file")
        return stream.read(most + 1)


def _settle(folder: str) -> None:
    """A name that is not on the disk is lost in a power cut, whatever was written under it."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
