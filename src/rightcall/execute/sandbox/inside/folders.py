"""Folders that a program had to itself: counted, handed over, removed. Nothing in them is trusted: links are never
followed, and however deep it goes, one descriptor is enough."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MOST = 200_000
"""Entries that are counted; whoever makes more has used too much."""


def walked(top: int) -> Iterator[tuple[int, str, os.stat_result]]:
    """Everything below an open folder: the folder it lies in (open until the next step), its name, what it is. A folder
    comes before what is in it."""
    here = os.open(".", _FOLDER, dir_fd=top)
    levels = [iter(os.listdir(here))]
    try:
        while levels:
            name = next(levels[-1], None)
            if name is None:
                levels.pop()
                if levels:
                    here = _moved(here, "..")
                continue
            with suppress(OSError):  # gone meanwhile, or not to be entered: then it is not counted either
                found = os.stat(name, dir_fd=here, follow_symlinks=False)
                yield here, name, found
                if stat.S_ISDIR(found.st_mode):
                    here = _moved(here, name, os.O_NOFOLLOW)
                    levels.append(iter(os.listdir(here)))
    finally:
        os.close(here)


def _moved(here: int, name: str, flags: int = 0) -> int:
    there = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | flags, dir_fd=here)
    os.close(here)
    return there


def write_copy(source: int, path: str, mode: int, *, folder: int | None = None) -> None:
    """A new file with the content of one that is open."""
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
    try:
        done, size = 0, os.fstat(source).st_size
        while done < size and (part := os.sendfile(target, source, done, size - done)):
            done += part
        os.fchmod(target, mode)
    finally:
        os.close(target)


def used(top: int, most: int) -> int:
    """Bytes that everything below an open folder takes on the disk; it stops counting beyond `most`."""
    total = 0
    for number, (_, _, found) in enumerate(walked(top)):
        total += found.st_blocks * 512
        if number > MOST:
            return most + 1
        if total > most:
            break
    return total


def give(top: int, uid: int, gid: int) -> None:
    """Make a folder and what is in it somebody's. A file with a second name may have that name anywhere, and stays
    whose it is."""
    for folder, name, found in walked(top):
        if stat.S_ISDIR(found.st_mode) or found.st_nlink == 1:
            os.chown(name, uid, gid, dir_fd=folder, follow_symlinks=False)
    os.fchown(top, uid, gid)


def take_back(top: int, uid: int, to: os.stat_result | None) -> None:
    """After the run: nothing in an open folder is setuid any more, and what belongs to `uid` belongs to `to`'s owner.
    The bits go first: a file must not be somebody else's while it still has them."""
    for folder, name, found in walked(top):
        if stat.S_ISREG(found.st_mode) and found.st_mode & 0o6000:
            os.chmod(name, stat.S_IMODE(found.st_mode) & 0o777, dir_fd=folder)
        if to is not None and found.st_uid == uid:
            os.chown(name, to.st_uid, to.st_gid, dir_fd=folder, follow_symlinks=False)
    if to is not None:
        os.fchown(top, to.st_uid, to.st_gid)


def remove(path: str) -> None:
    """A folder and all that is in it."""
    try:
        here = os.open(path, _FOLDER)
    except OSError:
        return
    try:
        inside: list[str] = []
        levels = [iter(os.listdir(here))]
        while levels:
            name = next(levels[-1], None)
            if name is None:
                levels.pop()
                if inside:
                    here = _moved(here, "..")
                    os.rmdir(inside.pop(), dir_fd=here)
            elif stat.S_ISDIR(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
                with suppress(OSError):
                    os.chmod(name, 0o700, dir_fd=here)
                here = _moved(here, name, os.O_NOFOLLOW)
                inside.append(name)
                levels.append(iter(os.listdir(here)))
            else:
                os.unlink(name, dir_fd=here)
        os.rmdir(path)
    finally:
        os.close(here)
