"""A scratch folder on a real disk: a temporary one where nothing can be mounted, or one that the caller has made. Its
size is not limited by itself, so it is looked at now and then; it is handed over for the run and taken back after."""

from __future__ import annotations

import os
from contextlib import suppress

from rightcall.execute.sandbox.inside import folders
from rightcall.execute.sandbox.inside.request import Request
from rightcall.execute.sandbox.inside.watching import removed_files


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
        self._owner: os.stat_result | None = None
        self._folder = -1
        self._before = 0
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
        if self.request.bind and self._other:
            self._owner = os.fstat(self._folder)
            folders.give(self._folder, self._uid, self._gid)
        self._before = folders.used(self._folder, 1 << 62)

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
        """Bytes more than there were, with what was removed and is still open."""
        found = folders.used(self._folder, self._before + most) - self._before
        if self._base is not None:
            found += self._used_temporary(most)
        return found + removed_files(processes, os.fstat(self._folder).st_dev)

    def _used_temporary(self, most: int) -> int:
        with suppress(OSError):
            folder = os.open(self.temporary, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                return folders.used(folder, most)
            finally:
                os.close(folder)
        return 0

    def close(self) -> None:
        """When no process of the run is left."""
        try:
            if self.request.bind and self._folder >= 0:
                folders.take_back(self._folder, self._uid, self._owner)
        finally:
            if self._folder >= 0:
                os.close(self._folder)
            if self._base is not None:
                folders.remove(self._base)
