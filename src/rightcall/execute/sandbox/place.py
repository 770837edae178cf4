"""Folders of our own for as long as a program runs: where its scratch folder is seen, and where its code is."""

import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress

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
    """Down into each folder and up again, with one of them open at a time: neither their depth nor a missing
    permission stops it. Nothing runs in there any more, so that `..` is where it was."""
    with suppress(OSError):
        at = os.open(path, _FOLDER)
        try:
            above: list[str] = []
            waiting = [_without_files(at)]
            while waiting[-1] or above:
                name = waiting[-1].pop() if waiting[-1] else None
                below = _opened(name or "..", at)
                if below is not None:
                    os.close(at)
                    at = below
                if name is None:
                    waiting.pop()
                    with suppress(OSError):
                        os.rmdir(above.pop(), dir_fd=at)
                elif below is not None:
                    above.append(name)
                    waiting.append(_without_files(at))
        finally:
            os.close(at)


def _opened(name: str, folder: int) -> int | None:
    try:
        if name != "..":
            os.chmod(name, 0o700, dir_fd=folder)
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError:
        return None


def _without_files(folder: int) -> list[str]:
    """Removes everything but folders, whose names come back."""
    with os.scandir(folder) as found:
        entries = [(entry.name, stat.S_ISDIR(entry.stat(follow_symlinks=False).st_mode)) for entry in found]
    for name, is_folder in entries:
        if not is_folder:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in entries if is_folder]
