"""Renames that lose nothing: two names that change places in one step, and a new name only where there is none.

Linux has `renameat2`, macOS `renameatx_np`. Where the system or the file system has neither, `Unsupported` says so, and
whoever asked does the next best.
"""

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

_CANNOT = frozenset((errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP))
_NUMBERS = {"x86_64": 316, "aarch64": 276, "riscv64": 276}
"""Of the call, for C libraries that have no function for it."""
_FIRST_TAKEN, _SWAPPED = (0x4, 0x2) if sys.platform == "darwin" else (0x1, 0x2)

_Rename = Callable[[int, bytes, int, bytes, int], int]


class Unsupported(OSError):
    """Neither the system nor the file system can do it in one step."""


def exchange(folder: int, one: str, other: str) -> None:
    """Two names of an open folder change places. Raises OSError; Unsupported where it cannot be done."""
    _renamed(folder, one, other, _SWAPPED)


def rename_new(folder: int, old: str, new: str) -> None:
    """Rename within an open folder, FileExistsError when the new name is taken. Where the system has no call for it, a
    second name is made first, which cannot replace anything either."""
    try:
        _renamed(folder, old, new, _FIRST_TAKEN)
    except Unsupported:
        _linked(folder, old, new)


def _linked(folder: int, old: str, new: str) -> None:
    try:
        os.link(old, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except (PermissionError, NotImplementedError):  # a file system without second names
        with suppress(FileNotFoundError):
            os.stat(new, dir_fd=folder, follow_symlinks=False)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.unlink(old, dir_fd=folder)


def _renamed(folder: int, old: str, new: str, how: int) -> None:
    call = _function()
    if call is None:
        raise Unsupported(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(folder, os.fsencode(old), folder, os.fsencode(new), how) == 0:
        return
    number = ctypes.get_errno()
    kind = Unsupported if number in _CANNOT else OSError
    raise kind(number, os.strerror(number))


@lru_cache(1)
def _function() -> _Rename | None:
    """The system's own function; None where it has none."""
    if os.name != "posix":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    types = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    for name in ("renameat2", "renameatx_np"):
        with suppress(AttributeError):
            function = library[name]
            function.argtypes, function.restype = types, ctypes.c_int
            return function
    number = _NUMBERS.get(platform.machine())
    if number is None or not sys.platform.startswith("linux"):
        return None
    call = library.syscall
    call.argtypes, call.restype = (ctypes.c_long, *types), ctypes.c_long

    def numbered(old_folder: int, old: bytes, new_folder: int, new: bytes, how: int) -> int:
        return call(number, old_folder, old, new_folder, new, how)

    return numbered
