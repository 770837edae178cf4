"""Folders for private git directories: removed by whoever made them, at the latest when its process ends; and if that
was killed, by whoever makes the next one in the same place.

Each holds a file that is locked for as long as its maker lives: the system lets go of a lock, whatever kills a process.
"""

import fcntl
import os
import shutil
import signal
import stat
import sys
import tempfile
import weakref
from contextlib import suppress
from itertools import islice
from time import monotonic, time

_PREFIX = ".rightcall-git-"
_LOCK = ".lock"
_YOUNG = 60.0
"""Seconds. A folder that was changed so lately may be one that is just being made, or removed."""
_YOUNG_WITHOUT_LOCK = 3600.0
"""The same for one that has no lock: its maker was killed at once, or is of an older version and may be at work."""
_MOST_SEEN = 20_000
_MOST_REMOVED = 32
_LONGEST = 100_000
"""Bytes of an environment; that of our git is short."""

_held: set[int] = set()
_swept: dict[str, float] = {}


class PrivateFolder:
    """A new folder in that place, for nobody else to open, gone when nobody holds this object any more. Raises OSError
    when it cannot be made."""

    def __init__(self, place: str) -> None:
        if monotonic() - _swept.get(place, -_YOUNG) >= _YOUNG:
            _swept[place] = monotonic()
            sweep(place)
        self.path = tempfile.mkdtemp(prefix=_PREFIX, dir=place)
        self.remove = weakref.finalize(self, _remove, self.path, os.getpid(), _locked(self.path))


def sweep(place: str) -> None:
    """Remove what others have left there: folders of ours that nobody holds."""
    try:
        with os.scandir(place) as entries:
            names = [entry.name for entry in islice(entries, _MOST_SEEN) if entry.name.startswith(_PREFIX)]
    except OSError:
        return
    removed = 0
    for name in names:
        removed += _swept_up(os.path.join(place, name))
        if removed == _MOST_REMOVED:
            return


def _swept_up(path: str) -> bool:
    """Whether it was left behind, and is removed."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        seen = os.fstat(folder)
        if seen.st_uid != os.geteuid() or time() - seen.st_mtime < _YOUNG:
            return False
        lock = _free_lock(folder)
        if lock is None:
            return False
        try:
            if lock < 0 and time() - seen.st_mtime < _YOUNG_WITHOUT_LOCK:
                return False
            if not os.path.samestat(seen, os.lstat(path)):
                return False
            _end_workers(path)
            shutil.rmtree(path, ignore_errors=True)  # links are removed, not followed
            return True
        finally:
            if lock >= 0:
                os.close(lock)
    except OSError:  # another one was quicker
        return False
    finally:
        os.close(folder)


def _end_workers(path: str) -> None:
    """A git that a killed process has left waiting for ever, at a pipe in the place of a file for instance, uses no CPU
    that would come to an end. It is known by its git directory, which is nobody else's."""
    if sys.platform != "linux":
        return
    mark = os.fsencode(f"GIT_DIR={path}")
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):  # it has gone, or is not ours
            process = os.pidfd_open(int(name))
            try:
                seen = os.stat(f"/proc/{name}")
                with open(f"/proc/{name}/environ", "rb") as environ:
                    if seen.st_uid == os.geteuid() and mark in environ.read(_LONGEST).split(b"\0"):
                        signal.pidfd_send_signal(process, signal.SIGKILL)
            finally:
                os.close(process)


def _free_lock(folder: int) -> int | None:
    """The lock of an open folder, now ours; None when somebody else has it, -1 when there is none."""
    try:
        lock = os.open(_LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return -1
    except OSError:
        return None
    try:
        if stat.S_ISREG(os.fstat(lock).st_mode):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
    except OSError:
        pass
    os.close(lock)
    return None


def _locked(path: str) -> int:
    """The descriptor that keeps the lock, -1 where there are no locks."""
    lock = -1
    try:
        lock = os.open(os.path.join(path, _LOCK), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if lock >= 0:
            os.close(lock)
        return -1
    _held.add(lock)
    return lock


def _remove(path: str, maker: int, lock: int) -> None:
    if os.getpid() != maker:
        return
    shutil.rmtree(path, ignore_errors=True)
    if lock in _held:
        _held.discard(lock)
        with suppress(OSError):
            os.close(lock)


def _let_go() -> None:
    """In a child after a fork: closed here, a lock stays with the parent, and goes with it."""
    for lock in _held:
        with suppress(OSError):
            os.close(lock)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
