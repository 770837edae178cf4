"""Which processes are alive. Each open store is a run: it holds a lock on a file of its own beside the database, which
the system lets go when the process ends, however it ends. Whoever can take the lock knows that the run is dead."""

import os
import sys
from contextlib import suppress
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def take_lock(fd: int) -> bool:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def take_lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class Runs:
    """The runs of one database, `id` being this one. Locks belong to the open file, not to the process: two stores in
    one process are two runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.id = ""
        self._fd = -1

    def start(self) -> None:
        """Begin this run; the files of dead ones are removed."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        for name in os.listdir(self._folder):
            self.alive(name)
        while not self._hold(os.urandom(8).hex()):
            """Another process took the new file for a dead one's."""

    def _hold(self, run: str) -> bool:
        path = self._folder / run
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        held = False
        try:
            held = take_lock(fd) and _is_at(fd, path)
        finally:
            if not held:
                os.close(fd)
        if held:
            self.id, self._fd = run, fd
        return held

    def alive(self, run: str) -> bool:
        """Whether a run still goes on. The file of one that does not is removed."""
        if run == self.id:
            return True
        if not run.isalnum():  # no name of ours: never a path
            return False
        path = self._folder / run
        try:
            return not self._is_free(path)
        except FileNotFoundError:
            return False
        except OSError:
            return True  # another user's perhaps: who cannot tell must not declare it dead

    def _is_free(self, path: Path) -> bool:
        fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            if not take_lock(fd):
                return False
            with suppress(OSError):  # Windows removes no open file
                path.unlink()
            return True
        finally:
            os.close(fd)

    def stop(self) -> None:
        """End this run."""
        if self._fd >= 0:
            with suppress(OSError):
                (self._folder / self.id).unlink()
            self.leave()

    def leave(self) -> None:
        """In a forked child: let go of the parent's lock without giving it up."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _is_at(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False
