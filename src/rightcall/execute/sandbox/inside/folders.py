"""Folders that a program had to itself: counted, handed over, removed. Nothing in them is trusted: links are never
followed, and however deep it goes, a few descriptors are enough."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_HELD = 24
"""So many levels are kept open. From deeper ones the way back is "..", which is looked at before it is believed."""
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ESTALE)
_LEAST_ENTRIES, _ENTRIES_PER_MEGABYTE = 4096, 128
_FOLDER_COUNTS = 8


class Use(NamedTuple):
    """Bytes on the disk, and entries. A folder counts for several: to make and to remove one is that much more work."""

    size: int
    entries: int


class _Level:
    """A folder on the way from the top to where we are."""

    def __init__(self, folder: int) -> None:
        self.folder = folder
        """Less than 0: closed, as it is deep down."""
        self.identity: tuple[int, int] = (0, 0)
        """Known as soon as it is closed."""
        self.names = iter(os.listdir(folder))


def walked(top: int) -> Iterator[tuple[int, str, os.stat_result]]:
    """Everything below an open folder: the folder it lies in (open until the next step), its name, what it is. A folder
    comes before what is in it. What cannot be seen though the program may have put something there is an OSError."""
    levels = [_Level(os.open(".", _FOLDER, dir_fd=top))]
    try:
        while levels:
            here = levels[-1].folder
            name = next(levels[-1].names, None)
            if name is None:
                _go_back(levels)
                continue
            try:
                found = os.stat(name, dir_fd=here, follow_symlinks=False)
            except OSError as error:
                if error.errno in _GONE or not _is_searchable(here):
                    continue
                raise
            yield here, name, found
            if stat.S_ISDIR(found.st_mode):
                below = _entered(here, name)
                if below is not None:
                    _go_down(levels, below)
    finally:
        for level in levels:
            if level.folder >= 0:
                os.close(level.folder)


def _go_down(levels: list[_Level], below: int) -> None:
    deep = len(levels) > _HELD
    if deep and not _is_searchable(below):  # there would be no way back
        os.close(below)
        return
    try:
        levels.append(_Level(below))
    except OSError:
        os.close(below)
        raise
    if deep:
        above = levels[-2]
        above.identity = _identity(above.folder)
        os.close(above.folder)
        above.folder = -1


def _go_back(levels: list[_Level]) -> None:
    left = levels.pop()
    try:
        if levels and levels[-1].folder < 0:
            levels[-1].folder = os.open("..", _FOLDER, dir_fd=left.folder)
            if _identity(levels[-1].folder) != levels[-1].identity:
                raise OSError(errno.EXDEV, "a folder was moved while it was looked at")
    finally:
        os.close(left.folder)


def _identity(folder: int) -> tuple[int, int]:
    found = os.fstat(folder)
    return found.st_dev, found.st_ino


def _is_searchable(folder: int) -> bool:
    """Whether we get at what is in it. Where we do not, nobody of our rights does, the program among them."""
    try:
        os.stat(".", dir_fd=folder)
    except PermissionError:
        return False
    return True


def _entered(here: int, name: str) -> int | None:
    """The folder of this name, open; None where it has gone, and where nobody of our rights gets at what is in it."""
    try:
        return os.open(name, _FOLDER, dir_fd=here)
    except PermissionError:
        pass
    except OSError as error:
        if error.errno in _GONE:
            return None
        raise
    itself = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    try:
        return _listable(itself) if _is_searchable(itself) else None
    except PermissionError:
        if os.access(f"/proc/self/fd/{itself}", os.W_OK):
            raise
        return None
    finally:
        os.close(itself)


def _listable(itself: int) -> int:
    """A folder of ours that cannot be read, open for reading. Its mode is changed for a moment only: it may be older
    than the run, and somebody's wish."""
    path = f"/proc/self/fd/{itself}"
    mode = stat.S_IMODE(os.fstat(itself).st_mode)
    os.chmod(path, mode | stat.S_IRUSR)
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.chmod(path, mode)


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


def used(top: int, most: Use | None = None) -> Use:
    """What everything below an open folder takes on the disk, a file of two names once; it stops beyond `most`."""
    size = entries = 0
    known: set[tuple[int, int]] = set()
    for _, _, found in walked(top):
        if found.st_nlink == 1 or stat.S_ISDIR(found.st_mode) or (found.st_dev, found.st_ino) not in known:
            size += found.st_blocks * 512
            known.add((found.st_dev, found.st_ino))
        entries += _FOLDER_COUNTS if stat.S_ISDIR(found.st_mode) else 1
        if most is not None and (size > most.size or entries > most.entries):
            break
    return Use(size, entries)


def entries_in(size: int) -> int:
    """How many entries a scratch folder of this size may hold."""
    return max(_LEAST_ENTRIES, (size >> 20) * _ENTRIES_PER_MEGABYTE)


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
