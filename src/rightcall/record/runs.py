"""Which processes are alive. Each open store is a run: it holds a lock on a file of its own beside the database, which
the system lets go when the process ends, however it ends. Whoever can take the lock knows that the run is dead."""

import os
from contextlib import suppress

from rightcall.base.files.guarded import take_lock


class Runs:
    """The runs of one database, `id` being this one. Locks belong to the open file, not to the process: two stores in
    one process are two runs."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.id = ""
        self._fd = -1
        self._is_new = False

    def start(self) -> None:
        """Begin this run; the files of dead ones are removed."""
        with suppress(FileExistsError):
            os.mkdir(self._folder, 0o700)
            self._is_new = True
        for name in os.listdir(self._folder):
            self.alive(name)
        while not self._hold(os.urandom(8).hex()):
            """Another process took the new file for a dead one's."""

    def _hold(self, run: str) -> bool:
        path = os.path.join(self._folder, run)
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
        path = os.path.join(self._folder, run)
        try:
            return not self._is_free(path)
        except FileNotFoundError:
            return False
        except OSError:
            return True  # another user's perhaps: who cannot tell must not declare it dead

    def _is_free(self, path: str) -> bool:
        fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        try:
            if not take_lock(fd):
                return False
            with suppress(OSError):  # Windows removes no open file
                os.unlink(path)
            return True
        finally:
            os.close(fd)

    def stop(self) -> None:
        """End this run."""
        if self._fd >= 0:
            with suppress(OSError):
                os.unlink(os.path.join(self._folder, self.id))
            self.leave()

    def undo(self) -> None:
        """End this run, and leave nothing of it: there is no database of ours."""
        self.stop()
        if self._is_new:
            with suppress(OSError):  # another one has begun
                os.rmdir(self._folder)

    def leave(self) -> None:
        """In a forked child: let go of the parent's lock without giving it up."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _is_at(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False
