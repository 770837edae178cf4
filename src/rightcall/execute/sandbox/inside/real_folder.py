"""A scratch folder on a real disk: a temporary one where nothing can be mounted, or one that the caller has made. Its
size is not limited by itself, so it is looked at now and then; it is handed over for the run and taken back after."""

from __future__ import annotations

import os

from rightcall.execute.sandbox.inside import folders
from rightcall.execute.sandbox.inside.lending import Lent
from rightcall.execute.sandbox.inside.removed import Removed
from rightcall.execute.sandbox.inside.request import Request


def base_of(token: str) -> str:
    """Not `tempfile`: it would remember its folder, and every script would find it there."""
    folder = next((path for path in ("/tmp", "/var/tmp") if os.access(path, os.W_OK)), "/tmp")
    return f"{folder}/rightcall-sandbox-{token}"


class RealFolder:
    """It is `prepare`d, and closed in any case: also when that went wrong halfway."""

    def __init__(self, request: Request, uid: int, gid: int) -> None:
        self._uid, self._gid = uid, gid
        self._other = uid != os.geteuid()
        self._base: str | None = None
        self._lent: Lent | None = None
        self._folder = -1
        self._tmp = -1
        self._before = folders.Use(0, 0)
        self._removed: Removed | None = None
        self.request = request
        self.temporary = "/tmp"

    def prepare(self, base: str | None, code: int = -1) -> None:
        """`base` is a folder to be made for temporary files, for the program's own file, which is open as `code`, and
        for the scratch unless that is there already."""
        if base is not None:
            os.mkdir(base, 0o711)
            self._base = base
            self.temporary = self._made("tmp")
            if code >= 0:
                self._put_code(code)
            if not self.request.bind:
                self.request = self.request.moved(self._made("scratch"))
        self._folder = os.open(self.request.place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if self.request.bind:
            self._lent = Lent(self._folder, self._uid, self._gid)
            self._lent.lend()
        self._before = folders.used(self._folder)
        if self._base is not None:
            self._tmp = os.open(self.temporary, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._removed = Removed([file for file in (self._folder, self._tmp) if file >= 0])

    def _made(self, name: str) -> str:
        path = f"{self._base}/{name}"
        os.mkdir(path, 0o700)
        if self._other:
            os.chown(path, self._uid, self._gid)
        return path

    def _put_code(self, code: int) -> None:
        self.request = self.request.with_code_in(self._made("code"))
        folders.write_copy(code, self.request.code, 0o400)
        if self._other:
            os.chown(self.request.code, self._uid, self._gid)

    def open(self) -> int:
        return os.dup(self._folder)

    def used(self, processes: list[int], most: int) -> int:
        """Bytes more than there were, with what was removed and is still held. It is more than `most` as well where
        there are too many entries, and where it cannot be told."""
        try:
            found = self._named(most)
            if found.entries > folders.entries_in(most):
                return most + 1
            return found.size + (self._removed.used(processes, most) if self._removed is not None else 0)
        except OSError:
            return most + 1

    def _named(self, most: int) -> folders.Use:
        """What can still be found by its name."""
        room = folders.Use(most, folders.entries_in(most))
        before = self._before
        found = folders.used(self._folder, folders.Use(before.size + room.size, before.entries + room.entries))
        temporary = folders.used(self._tmp, room) if self._tmp >= 0 else folders.Use(0, 0)
        return folders.Use(
            found.size - before.size + temporary.size, found.entries - before.entries + temporary.entries
        )

    def close(self) -> None:
        """When no process of the run is left."""
        try:
            if self._lent is not None:
                self._lent.take_back()
        finally:
            for file in (self._folder, self._tmp):
                if file >= 0:
                    os.close(file)
            if self._base is not None:
                folders.remove(self._base)
