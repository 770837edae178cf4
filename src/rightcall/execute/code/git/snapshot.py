"""The files of a work tree as they are now, as an index that git compares with. Git opens none of them itself: it would
follow a link swapped in at the right moment, believe what a crafted index says of a file, or wait for a pipe.

    what the index knows (ls-files) ─▶ a look at each file, beneath the root ─▶ the content of those that look
    otherwise, as objects of our own ─▶ an index with them
"""

import os
import re
import shutil
import stat
import tempfile
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha1, sha256
from time import monotonic

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.code.git.private import Private, private_for
from rightcall.execute.code.git.repository import Repository
from rightcall.execute.code.git.run import checked, run_in
from rightcall.execute.code.git.settings import OWN, Files
from rightcall.fs.beneath import open_beneath
from rightcall.fs.sight import Sight

_ENTRY = re.compile(
    rb"(\d+) ([0-9a-f]+) (\d)\t([^\0]+)\0"
    rb"  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n  uid: \d+\tgid: \d+\n"
    rb"  size: (\d+)\tflags: ([0-9a-f]+)\n"
)
_LEFT_ALONE = 0x8000 | 1 << 30
"""Flags of entries whose files are not looked at: assumed to be unchanged, or left out of a sparse checkout."""
_SUBMODULE, _LINK, _FILE, _PROGRAM = 0o160000, 0o120000, 0o100644, 0o100755
_LARGEST = 5 << 20
"""Bytes of a file that are compared; a larger one only counts as changed."""
_MOST_READ = 256 << 20
_MOST_LISTED = 256 << 20
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SHORT_ID = 40
"""Digits of an id; those of the newer kind have more."""
_GONE = b"0 %s\t%s\0"


class _Entry(Struct, frozen=True):
    """What the index knows of a file."""

    mode: int
    id: bytes
    staged: bool
    """One of several, which a merge has left."""
    path: bytes
    ctime: int
    mtime: int
    inode: int
    size: int
    flags: int


@contextmanager
def snapshot(sight: Sight, repository: Repository, paths: Sequence[str], deadline: float) -> Generator[Files]:
    """An index of the files as they are, as far as they lie in one of the paths (all, when there are none) and may be
    seen. Raises ToolFailure when there is not enough time for it."""
    private = private_for(repository)
    files = private.take_index()
    known = os.stat(files.index).st_mtime_ns if os.path.exists(files.index) else 0
    listed = run_in(
        private, ["ls-files", "--stage", "--debug", "-z", "--", *paths],
        seconds=deadline - monotonic(), most=_MOST_LISTED, files=files,
    )  # fmt: skip
    folder = tempfile.mkdtemp(prefix="files-", dir=os.path.join(private.path, OWN))
    try:
        look = _Look(sight, repository, Files(os.path.join(folder, "index"), folder), known, deadline)
        with look:
            for entry in _entries(checked(listed)):
                look.at(entry)
        yield _written(private, files, look, deadline)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _entries(listed: bytes) -> Iterator[_Entry]:
    for found in _ENTRY.finditer(listed):
        mode, known, stage, path, *numbers, flags = found.groups()
        ctime, cnano, mtime, mnano, inode, size = map(int, numbers)
        yield _Entry(
            int(mode, 8), known, stage != b"0", path, ctime * 10**9 + cnano, mtime * 10**9 + mnano, inode, size,
            int(flags, 16),
        )  # fmt: skip


def _written(private: Private, files: Files, look: "_Look", deadline: float) -> Files:
    """The index with what has changed, or the one there was."""
    if not look.changes:
        return files
    if os.path.exists(files.index):
        shutil.copy2(files.index, look.files.index)
    told = run_in(
        private, ["update-index", "-z", "--index-info"], seconds=deadline - monotonic(), most=1_000,
        stdin=b"".join(look.changes), files=look.files,
    )  # fmt: skip
    checked(told)
    return look.files


class _Look:
    """Looks at one file after the other, in the order of the index, with the folder of the last one open."""

    def __init__(self, sight: Sight, repository: Repository, files: Files, known: int, deadline: float) -> None:
        self.files = files
        self.changes: list[bytes] = []
        self._sight, self._repository = sight, repository
        self._known, self._deadline = known, deadline
        self._left = _MOST_READ
        self._path: str | None = None
        self._folder = self._root = -1

    def __enter__(self) -> None:
        self._root = self._sight.open_root()

    def __exit__(self, *_: object) -> None:
        self._close()
        os.close(self._root)

    def at(self, entry: _Entry) -> None:
        """Note what has become of a file, if it is another now."""
        if entry.mode == _SUBMODULE or entry.flags & _LEFT_ALONE:
            return
        path = self._repository.outside(os.fsdecode(entry.path))
        if not self._sight.sees(path):
            return
        name = path.rpartition("/")[2]
        folder = self._folder_of(path[: -len(name) - 1])
        try:
            seen = os.stat(name, dir_fd=folder, follow_symlinks=False) if folder >= 0 else None
        except (OSError, ValueError):
            seen = None
        if seen is not None and self._same(entry, seen):
            return
        content = self._content(name, folder, seen) if seen is not None else None
        none = b"0" * len(entry.id)
        if content is None or seen is None:
            self.changes.append(_GONE % (none, entry.path))
            return
        whole = b"blob %d\0" % len(content) + content
        made = sha1(whole, usedforsecurity=False) if len(entry.id) == _SHORT_ID else sha256(whole)
        now, mode = made.hexdigest(), _mode(seen)
        if entry.staged or now.encode() != entry.id or mode != entry.mode:
            self._store(now, whole)
            self.changes.append(_GONE % (none, entry.path) if entry.staged else b"")
            self.changes.append(b"%o %s\t%s\0" % (mode, now.encode(), entry.path))

    def _same(self, entry: _Entry, seen: os.stat_result) -> bool:
        """Whether a file looks as it did when it was put into the index. One that was changed as late as the index
        itself could have been changed again."""
        return (
            not entry.staged
            and seen.st_size == entry.size
            and seen.st_mtime_ns == entry.mtime
            and seen.st_ctime_ns == entry.ctime
            and seen.st_ino & 0xFFFFFFFF == entry.inode
            and _mode(seen) == entry.mode
            and seen.st_mtime_ns < self._known
        )

    def _folder_of(self, path: str) -> int:
        if path != self._path:
            self._close()
            self._path = path
            try:
                self._folder = open_beneath(self._root, path, os.O_RDONLY | os.O_DIRECTORY)
            except (OSError, ValueError):  # gone, or a link by now: nothing of it is there for a repository
                self._folder = -1
        return self._folder

    def _close(self) -> None:
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    def _content(self, name: str, folder: int, seen: os.stat_result) -> bytes | None:
        """What git would store of it; None for what it stores nothing of."""
        if monotonic() > self._deadline or self._left < 0:
            raise ToolFailure("Too many files differ from the index; compare fewer with paths")
        try:
            if stat.S_ISLNK(seen.st_mode):
                return os.fsencode(os.readlink(name, dir_fd=folder))
            return self._read(name, folder) if stat.S_ISREG(seen.st_mode) else None
        except OSError:
            return None

    def _read(self, name: str, folder: int) -> bytes | None:
        fd = os.open(name, _FLAGS, dir_fd=folder)
        with os.fdopen(fd, "rb") as file:
            size = os.fstat(fd).st_size
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None
            data = file.read(_LARGEST + 1) if size <= _LARGEST else b""
        self._left -= len(data)
        return data if len(data) <= _LARGEST and size <= _LARGEST else b"\0%d bytes" % size

    def _store(self, id: str, whole: bytes) -> None:
        """Keep a content as an object of ours."""
        folder = os.path.join(self.files.objects, id[:2])
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, id[2:]), "wb") as file:
            file.write(zlib.compress(whole, 1))


def _mode(seen: os.stat_result) -> int:
    if stat.S_ISLNK(seen.st_mode):
        return _LINK
    return _PROGRAM if seen.st_mode & stat.S_IXUSR else _FILE
