"""A folder of a person's that a program works in itself: lent for the run, and whose it was, all of it, after that."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from rightcall.execute.sandbox.inside.folders import walked

_LENDS_RIGHTS = stat.S_ISUID | stat.S_ISGID
_CAPABILITIES = "security.capability"


class Lent:
    """Whoever owns the folder may move things in it at any moment. So what is given away is looked at and given by one
    descriptor, and only what is the program's user's is taken back."""

    def __init__(self, top: int, uid: int, gid: int) -> None:
        self._top = top
        self._uid, self._gid = uid, gid
        self._other = uid != os.geteuid()
        self._of = os.fstat(top)
        self._owners: dict[tuple[int, int], tuple[int, int]] = {}
        """By device and number, what was here before."""
        self._lending: dict[tuple[int, int], int] = {}
        """Files that lent their rights before, and when they were last changed."""

    def lend(self) -> None:
        if self._other:
            os.fchown(self._top, self._uid, self._gid)
        for folder, name, found in walked(self._top):
            if stat.S_ISREG(found.st_mode) and found.st_mode & _LENDS_RIGHTS:
                self._lending[found.st_dev, found.st_ino] = found.st_ctime_ns
            elif self._other:
                with suppress(OSError):  # it has gone, or nobody may change it: then neither may the program
                    self._give(folder, name)

    def _give(self, folder: int, name: str) -> None:
        """A file with a second name may have that name anywhere, and stays whose it is; so does one that would lose the
        rights that it lends."""
        file = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            found = os.fstat(file)
            path = f"/proc/self/fd/{file}"
            if stat.S_ISREG(found.st_mode) and (found.st_mode & _LENDS_RIGHTS or _has_capabilities(path)):
                return
            if stat.S_ISDIR(found.st_mode) or found.st_nlink == 1:
                self._owners[found.st_dev, found.st_ino] = found.st_uid, found.st_gid
                os.chown(path, self._uid, self._gid)
        finally:
            os.close(file)

    def take_back(self) -> None:
        """What is new is the owner's of the folder, and lends nobody any rights. Those go first: a file must not be
        somebody else's while it still has them."""
        try:
            for folder, name, found in walked(self._top):
                if found.st_uid == self._uid and (self._other or self._is_newly_lending(found)):
                    with suppress(OSError):
                        self._take(folder, name)
        finally:
            if self._other:
                os.fchown(self._top, self._of.st_uid, self._of.st_gid)

    def _take(self, folder: int, name: str) -> None:
        file = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            found = os.fstat(file)
            path = f"/proc/self/fd/{file}"
            if self._is_newly_lending(found):
                os.chmod(path, stat.S_IMODE(found.st_mode) & 0o777)
            if self._other and found.st_uid == self._uid:
                owner = self._owners.get((found.st_dev, found.st_ino), (self._of.st_uid, self._of.st_gid))
                os.chown(path, *owner)
        finally:
            os.close(file)

    def _is_newly_lending(self, found: os.stat_result) -> bool:
        lends = stat.S_ISREG(found.st_mode) and found.st_mode & _LENDS_RIGHTS
        return bool(lends) and self._lending.get((found.st_dev, found.st_ino)) != found.st_ctime_ns


def _has_capabilities(path: str) -> bool:
    with suppress(OSError):
        return bool(os.getxattr(path, _CAPABILITIES))
    return False
