"""One file after the other, as a walk has found them: by the true names that the rules have judged, without following
a link. Neighbours share their open folder, which is half the work."""

import os
import stat
from types import TracebackType
from typing import Self

from rightcall.fs.beneath import open_beneath
from rightcall.fs.sight import Opened, Sight

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Opener:
    """Holds the root and the folder of the last file open, until it is closed."""

    def __init__(self, sight: Sight) -> None:
        self._root = sight.open_root()
        self._path: str = ""
        self._folder = -1
        self._settled: dict[str, bool] = {}

    def file(self, path: str) -> Opened | None:
        """A regular file, which the caller closes; None when it is gone, or something else by now."""
        folder, _, name = path.rpartition("/")
        try:
            file = os.open(name, _FLAGS, dir_fd=self._folder_of(folder))
        except (OSError, ValueError):
            return None
        seen = os.fstat(file)
        if stat.S_ISREG(seen.st_mode):
            return Opened(file, path, seen)
        os.close(file)
        return None

    def look(self, path: str) -> os.stat_result | None:
        """What the system tells of a file or folder without opening it; None when it is gone."""
        folder, _, name = path.rpartition("/")
        try:
            return os.stat(name, dir_fd=self._folder_of(folder), follow_symlinks=False)
        except (OSError, ValueError):
            return None

    def link(self, path: str) -> bytes | None:
        """What is written in a link, which is not followed."""
        folder, _, name = path.rpartition("/")
        try:
            return os.fsencode(os.readlink(name, dir_fd=self._folder_of(folder)))
        except (OSError, ValueError):
            return None

    def settled(self, folder: str, since: int) -> bool:
        """Whether nothing in a folder, or in one above it, has been put in the place of something else since then
        (nanoseconds; always the same for one opener)."""
        known = self._settled.get(folder)
        if known is None:
            try:
                seen = os.fstat(self._folder_of(folder))
                known = seen.st_ctime_ns < since and (not folder or self.settled(folder.rpartition("/")[0], since))
            except (OSError, ValueError):
                known = False
            self._settled[folder] = known
        return known

    def _folder_of(self, path: str) -> int:
        if self._folder < 0 or path != self._path:
            self._forget()
            self._folder = open_beneath(self._root, path, os.O_RDONLY | os.O_DIRECTORY)
            self._path = path
        return self._folder

    def _forget(self) -> None:
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._forget()
        os.close(self._root)
