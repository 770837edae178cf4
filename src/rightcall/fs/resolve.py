"""Where a written path leads: its true path below the root, as the kernel would follow it. Only names are found out
here; whoever opens the file opens it again by the true path, without following a link (`beneath.py`)."""

import errno
import os
import stat
from functools import lru_cache

from rightcall.fs.beneath import has_openat2, open_anywhere

_MOST_LINKS = 40
_LONGEST = 4095
"""As many links as the kernel follows, and as many bytes as it reads of a path."""


def true_path(root: int, real_root: str, path: str) -> str:
    """The true path of something that exists, relative to the root, `""` for the root itself. Links may leave the root
    and come back. Raises OSError: EXDEV when it ends outside."""
    if not path:
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    if len(path) > _LONGEST or len(os.fsencode(path)) > _LONGEST:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    whole = _by_kernel(root, path) if _tells_names() else _by_hand(real_root, path)
    return below(whole, real_root)


def real_path(folder: int, given: str) -> str:
    """The true path of an open folder."""
    if _tells_names():
        return os.readlink(f"/proc/self/fd/{folder}")
    return os.path.realpath(given, strict=True)


def _tells_names() -> bool:
    """Whether the kernel says where a path has led; it needs /proc for that, which not every sandbox has."""
    return has_openat2() and _has_proc()


@lru_cache(1)
def _has_proc() -> bool:
    return os.path.islink("/proc/self")


def below(whole: str, real_root: str) -> str:
    """An absolute path as seen from the root; OSError when it lies outside.

    >>> below("/srv/app/a.py", "/srv/app"), below("/srv/app", "/srv/app"), below("/a", "/")
    ('a.py', '', 'a')
    """
    if whole == real_root:
        return ""
    top = real_root.rstrip("/") + "/"
    if not whole.startswith(top):
        raise OSError(errno.EXDEV, "outside the root")
    return whole[len(top) :]


def _by_kernel(root: int, path: str) -> str:
    found = open_anywhere(root, path)
    try:
        whole = os.readlink(f"/proc/self/fd/{found}")
        if whole.endswith(" (deleted)") and os.fstat(found).st_nlink == 0:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        return whole
    finally:
        os.close(found)


def _by_hand(real_root: str, path: str) -> str:
    """The same component by component: each must exist, and be a folder where something follows it."""
    at = "/" if path.startswith("/") else real_root
    todo = path.split("/")[::-1]
    links = 0
    while todo:
        part = todo.pop()
        if part in ("", "."):
            if todo or part == "." or path.endswith("/"):
                _must_be_folder(at)
            continue
        if part == "..":
            _must_be_folder(at)
            at = os.path.dirname(at)
            continue
        here = os.path.join(at, part)
        seen = os.lstat(here)
        if stat.S_ISLNK(seen.st_mode):
            links += 1
            target = os.readlink(here)
            if links > _MOST_LINKS or not target:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if here.startswith("/proc/"):  # such links are no names
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            at = "/" if target.startswith("/") else at
            todo += target.split("/")[::-1]
            continue
        if todo and not stat.S_ISDIR(seen.st_mode):
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        at = here
    return at


def _must_be_folder(path: str) -> None:
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
