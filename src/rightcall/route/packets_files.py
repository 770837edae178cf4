"""Files that only their owner can read: written in one step, read without following or waiting for anything."""

import os
import stat
from contextlib import suppress
from secrets import token_hex

from rightcall.fs.whole import whole_file

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
    with whole_file(path, f"{path}.{token_hex(6)}{UNFINISHED}") as stream:
        stream.write(data)


def read(path: str, most: int) -> bytes:
    """At most one byte more than `most`. Raises OSError, also for what is no plain file: a link, a pipe, a folder."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    with open(handle, "rb") as stream:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is no file")
        return stream.read(most + 1)
