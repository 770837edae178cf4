"""What a call has looked at in a tree of folders, so that its result can be kept as long as all of that looks the same.

    the tool runs, and notes each folder it lists and each file that counts (`Trace`) ─▶ `Kept`: their paths, and how
    each looked ─▶ before the result is used again, one look at each of them (`Kept.holds`)

Why that is enough: a name that comes, goes or turns into something else changes the times of its folder, and whatever
is written into a file, or done to its rights, changes the times of the file. Both hold on the file systems named below,
and on others nobody can rely on it: a network share may answer from its own memory, and a bucket that is mounted as a
folder has no times of folders at all. And times are coarse: what changed a moment before the call began could change
again and look the same, so then nothing is kept.

What it cannot see: a program that has a file mapped into its memory and writes to it there. The kernel sets the times
when a page is first written to, and again only after that page was written back to the disk (on tmpfs never); until
then the content changes and nothing else does. A kept result may be older than such a write, but no older than results
may be at all (`[cache] seconds`).
"""

import os
import sys
from array import array
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from time import time_ns

from msgspec import Struct

from rightcall.fs.beneath import O_PATH

MOST_LOOKS = 5_000
"""Beyond this, looking again costs as much as the call: nothing is kept."""
_FINE, _COARSE = 20_000_000, 2_500_000_000
"""Nanoseconds that times may be behind: where they are fine, and where they may be whole seconds."""
_ROUND = 1_000_000
"""Nanoseconds. A time that is a multiple of this comes from a file system whose times are coarse."""
_DEPENDABLE = frozenset(
    ("ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs", "overlay", "f2fs", "zfs", "bcachefs")
)  # fmt: skip
_ITSELF = "/"
"""Ends the path of a folder of which only counts that it is the same one."""
_ESCAPES = (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\"))

_Look = tuple[int, int, int, int, int, int]
"""Device, inode, mode, size, and when it was changed: its content, and anything about it."""
_PARTS, _CHANGED = 6, 5
_ABSENT: _Look = (0, 0, 0, 0, 0, 0)


class Kept(Struct, frozen=True):
    """Paths below the root, each ended by a NUL, and the looks of all of them, one after the other."""

    paths: str
    looks: "array[int]"

    @property
    def weight(self) -> int:
        """Bytes that it takes."""
        return sys.getsizeof(self.paths) + sys.getsizeof(self.looks)

    def holds(self, root: str) -> bool:
        """Whether everything still looks the same."""
        try:
            folder = os.open(root, (O_PATH or os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return False
        looks = array("q")
        try:
            for path in self.paths.split("\0")[:-1]:
                looks.extend(_look(folder, path))
        except (OSError, ValueError, OverflowError):
            return False
        finally:
            os.close(folder)
        return looks == self.looks


class Trace:
    """Filled while one call runs. Paths are true paths below the root, `""` the root itself; each is noted together
    with all folders above it, so that none of them can have been swapped."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._began = time_ns()
        self._paths: list[str] = []
        self._looks: list[int] = []
        self._device: int | None = None
        self._lost = False
        self.kept: Kept | None = None

    @property
    def paths(self) -> Sequence[str]:
        """What was noted so far. A path can be there twice: should it look different, nothing will ever hold."""
        return self._paths

    def lose(self) -> None:
        """What the result depends on cannot be told."""
        self._lost = True

    def begin(self, root: int, written: str, found: str) -> None:
        """The call begins at a path: as it was written, and its true path. Where a link leads it elsewhere, one would
        have to follow that again."""
        if "/".join(part for part in written.split("/") if part not in ("", ".")) != found or written.startswith("/"):
            self.lose()
        for at, sign in enumerate(f"{found}/"):
            if sign == "/" and found:
                self.look(root, found[:at])
        self.look(root, "")

    def folder(self, path: str, seen: os.stat_result) -> None:
        """A folder, as it looked before its names were read. What is mounted in the tree is another file system."""
        if self._device is None:
            self._device = seen.st_dev
        if seen.st_dev != self._device:
            self.lose()
        self.file(path, seen)

    def file(self, path: str, seen: os.stat_result) -> None:
        """A file whose content, size or time is part of the result."""
        self._paths.append(path)
        self._looks.extend(_signature(seen))

    def look(self, folder: int, name: str, path: str | None = None) -> None:
        """The same of something that need not be there, by its name in an open folder; `path` is the whole one. Of a
        name that ends with a slash only counts what is there, not what was done in it."""
        try:
            look = _look(folder, name)
        except (OSError, ValueError):
            self.lose()
            return
        self._paths.append(name if path is None else path)
        self._looks.extend(look)

    def finish(self) -> None:
        """The call is done: what was noted becomes `kept`, unless something of it cannot be relied on."""
        known = not self._lost and 0 < len(self._paths) <= MOST_LOOKS
        if known and self._had_settled() and _dependable(self._root):
            self.kept = Kept("".join(f"{path}\0" for path in self._paths), array("q", self._looks))

    def _had_settled(self) -> bool:
        """Whether everything had rested when the call began, for longer than its times may be behind."""
        changes = self._looks[_CHANGED::_PARTS]
        recent = [change for change in changes if change >= self._began - _COARSE]
        return all(change % _ROUND and change < self._began - _FINE for change in recent)


_trace: ContextVar[Trace | None] = ContextVar("rightcall_trace", default=None)


@contextmanager
def tracing(root: str) -> Generator[Trace]:
    """Within, a tool that knows how notes what it looks at."""
    trace = Trace(root)
    token = _trace.set(trace)
    try:
        yield trace
    finally:
        _trace.reset(token)


def current_trace() -> Trace | None:
    """Where to note it; None where nobody wants to know."""
    return _trace.get()


def _look(root: int, path: str) -> _Look:
    try:
        seen = os.stat(path.rstrip(_ITSELF) or ".", dir_fd=root, follow_symlinks=False)
        return (seen.st_dev, seen.st_ino, seen.st_mode, 0, 0, 0) if path.endswith(_ITSELF) else _signature(seen)
    except (FileNotFoundError, NotADirectoryError):
        return _ABSENT


def _signature(seen: os.stat_result) -> _Look:
    return seen.st_dev, seen.st_ino, seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def _dependable(root: str) -> bool:
    """Whether the root lies on a file system whose times tell every change. Elsewhere than on Linux nobody says so."""
    try:
        seen = os.stat(root)
    except OSError:
        return False
    return _dependable_at(root, seen.st_dev, seen.st_ino)


@lru_cache(maxsize=100)
def _dependable_at(root: str, _device: int, _inode: int) -> bool:
    """The same, found out once for a folder as long as it is on the same file system."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return False
    place, best, kind = os.path.realpath(root) + "/", "", ""
    for line in lines:
        fields, _, source = line.partition(" - ")
        where = fields.split(" ")[4]
        for escape, sign in _ESCAPES:
            where = where.replace(escape, sign)
        where = where.rstrip("/") + "/"
        if place.startswith(where) and len(where) >= len(best):  # the last one covers those before it
            best, kind = where, source.split(" ")[0]
    return kind in _DEPENDABLE
