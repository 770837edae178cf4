"""What is wrong with a database, in words: which fault it is, that nothing was run, and what would help."""

import errno
import os
import sqlite3
from pathlib import Path
from shlex import quote

from rightcall.errors import StoreError, StoreFault

_IO, _CANNOT_OPEN, _MOVED = 10, 14, 1032
_KINDS: dict[int, StoreFault] = {
    3: "read-only",
    5: "locked",
    6: "locked",
    8: "read-only",
    11: "corrupt",
    13: "full",
    26: "corrupt",
}
"""SQLite's result codes: PERM, BUSY, LOCKED, READONLY, CORRUPT, FULL, NOTADB."""
_ERRNO: dict[int, StoreFault] = {
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EROFS: "read-only",
    errno.EACCES: "read-only",
    errno.EPERM: "read-only",
}
_WORDS: dict[StoreFault, tuple[str, str]] = {
    "locked": ("another process keeps it locked", "It goes on by itself once that one lets go."),
    "full": ("the disk is full", "It goes on by itself once there is space again."),
    "read-only": ("it cannot be written", "Make the file, those beside it and their folder writable for this user."),
    "corrupt": ("it is damaged, or no database", "Put back a copy that is whole."),
    "failed": ("something is wrong with it", "It goes on by itself once that is mended."),
}
_LITTLE = 256 * 1024
"""Bytes of free space with which SQLite cannot do much."""


def way_out(path: Path) -> str:
    """Of a file that is not the audit that was there: put that back, or say on purpose that this one is."""
    return (
        f"Put back the right files ({path.name} and those beside it), or go on with what is there now: "
        f"`rightcall audit adopt --db {quote(str(path))}`, then restart what was running."
    )


def unusable(path: Path, what: str, help: str, fault: StoreFault) -> StoreError:
    return StoreError(f"the record {path} cannot be used: {what}. Nothing was run. {help}", fault)


def fault_of(error: Exception, path: Path) -> StoreError:
    """The error as one of the store's own; each caller gets one of its own to raise."""
    if isinstance(error, StoreError):
        return StoreError(str(error), error.fault)
    code = getattr(error, "sqlite_errorcode", 0)
    if code == _MOVED:
        return gone(path)
    fault = _ERRNO.get(error.errno or 0, "failed") if isinstance(error, OSError) else _kind(code, path)
    what, after = _WORDS[fault]
    return unusable(path, f"{what} ({error})", way_out(path) if fault == "corrupt" else after, fault)


def _kind(code: int, path: Path) -> StoreFault:
    kind = code & 0xFF
    if kind in (_IO, _CANNOT_OPEN):  # these two do not say why
        if _is_full(path.parent):
            return "full"
        if kind == _CANNOT_OPEN and not os.access(path, os.R_OK | os.W_OK):
            return "read-only"
    return _KINDS.get(kind, "failed")


def _is_full(folder: Path) -> bool:
    try:
        usage = os.statvfs(folder)
    except (OSError, AttributeError):  # Windows has no such call
        return False
    return usage.f_bavail * usage.f_frsize < _LITTLE


def gone(path: Path) -> StoreError:
    return unusable(path, "it was deleted or moved away while in use", way_out(path), "failed")


def empty(path: Path) -> StoreError:
    return unusable(path, "it is empty, and was not before", way_out(path), "corrupt")


def replaced(path: Path, seq: int) -> StoreError:
    what = f"the last record that this process wrote (number {seq}) is no longer in it"
    return unusable(path, what, way_out(path), "corrupt")


def read_only(path: Path) -> StoreError:
    return unusable(path, *_WORDS["read-only"], "read-only")


def shared(path: Path) -> StoreError:
    return unusable(path, "other users may write it", f"Run `chmod go-w {quote(str(path))}`.", "failed")


def closed(path: Path) -> StoreError:
    return unusable(path, "it was closed", "Open it again.", "closed")


def forked(path: Path) -> StoreError:
    what = "it was opened before this process was forked from another"
    return unusable(path, what, "Open it in the process that uses it.", "closed")


def is_fault(error: BaseException) -> bool:
    """Whether it says that the database cannot be used, and not that a work was wrong."""
    return isinstance(error, sqlite3.OperationalError) or type(error) in (sqlite3.DatabaseError, sqlite3.InternalError)


def is_locked(error: sqlite3.Error) -> bool:
    return _KINDS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF) == "locked"
