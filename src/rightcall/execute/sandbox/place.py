"""Folders of our own for as long as a program runs: where its scratch folder is seen, and where its code is."""

import os
import stat
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from secrets import token_hex

from rightcall.execute.sandbox.scratch import own, write_whole
from rightcall.execute.sandbox.types import Scratch

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def new_place() -> Generator[str]:
    """An empty folder that only we can see, gone at the end with all that a program has made in it."""
    path = os.path.realpath(tempfile.mkdtemp(prefix="rightcall-"))
    try:
        yield path
    finally:
        _clear(path)
        with suppress(OSError):
            os.rmdir(path)


@contextmanager
def code_beside(name: str, code: bytes) -> Generator["Code"]:
    """A file of that name in a folder of its own, which only the program that runs it can read."""
    with new_place() as folder:
        path = os.path.join(folder, name)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o400)
        try:
            write_whole(file, code)
        finally:
            os.close(file)
        yield Code(folder, path)


class Code:
    """Where the code is. `hand_over` gives it to whoever the program runs as."""

    def __init__(self, folder: str, path: str) -> None:
        self.folder = folder
        self.path = path

    def hand_over(self, scratch: Scratch) -> None:
        for path in (self.path, self.folder):
            opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                own(opened, scratch)
            finally:
                os.close(opened)


def _clear(path: str) -> None:
    """Folder by folder, each of whose folders comes up to the first level: neither their depth nor a missing
    permission stops it. Nothing runs in there any more."""
    with suppress(OSError):
        top = os.open(path, _FOLDER)
        try:
            names = (f".{token_hex(8)}" for _ in count())  # which nothing in there has
            while _cleared_once(top, names):
                pass
        finally:
            os.close(top)


def _cleared_once(top: int, names: Iterator[str]) -> bool:
    """Whether there may be more."""
    folders = _without_files(top)
    moved = False
    for folder in folders:
        with suppress(OSError):
            os.chmod(folder, 0o700, dir_fd=top)
            below = os.open(folder, _FOLDER, dir_fd=top)
            try:
                for inner in _without_files(below):
                    if sys.platform != "linux" or os.geteuid() != 0:
                        os.chmod(inner, 0o700, dir_fd=below)  # to move a folder is to write into it
                    os.rename(inner, next(names), src_dir_fd=below, dst_dir_fd=top)
                    moved = True
            finally:
                os.close(below)
            os.rmdir(folder, dir_fd=top)
            moved = True
    return moved


def _without_files(folder: int) -> list[str]:
    """Removes everything but folders, whose names come back."""
    with os.scandir(folder) as found:
        entries = [(entry.name, stat.S_ISDIR(entry.stat(follow_symlinks=False).st_mode)) for entry in found]
    for name, is_folder in entries:
        if not is_folder:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in entries if is_folder]
