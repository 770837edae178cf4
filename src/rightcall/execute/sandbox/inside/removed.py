"""Files that a program has removed and still holds, open or mapped: they take room on the disk and have no name."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress

from rightcall.execute.sandbox.inside import mapped
from rightcall.execute.sandbox.inside.threads import descriptors

_MARGIN = 256 << 20
"""What others may write meanwhile, without the program being blamed for it."""


class Removed:
    def __init__(self, folders: Sequence[int]) -> None:
        """The open folders in which a program can make files."""
        self._folders = {os.fstat(folder).st_dev: folder for folder in folders}
        self._paths = tuple({os.fsencode(os.readlink(f"/proc/self/fd/{folder}")) + b"/" for folder in folders})
        self._free = self._free_now()

    def used(self, processes: list[int], most: int) -> int:
        """Bytes in them. Only root is told how large a file is that is mapped and not open, and nobody of one that
        waits in a socket: there the disk itself has to tell, by the room that has gone."""
        sizes: dict[tuple[int, int], int] = {}
        all_known = True
        for process in processes:
            for thread, name in descriptors(process):
                with suppress(OSError):
                    found = os.stat(f"{thread}/fd/{name}")
                    self._note(found, sizes)
                    if stat.S_ISSOCK(found.st_mode) and _carries_files(f"{thread}/fdinfo/{name}"):
                        all_known = False
        mappings, all_seen = mapped.removed(processes)
        for each in mappings:
            if each.path.startswith(self._paths):
                try:
                    self._note(each.on_disk(), sizes)
                except OSError:
                    all_known = False
        all_known = all_known and all_seen
        if not all_known and self._free - self._free_now() > most + _MARGIN:
            return most + 1
        return sum(sizes.values())

    def _note(self, found: os.stat_result, sizes: dict[tuple[int, int], int]) -> None:
        if not found.st_nlink and found.st_dev in self._folders:
            sizes[found.st_dev, found.st_ino] = found.st_blocks * 512

    def _free_now(self) -> int:
        return sum(
            found.f_bfree * found.f_frsize for found in (os.fstatvfs(folder) for folder in self._folders.values())
        )


def _carries_files(path: str) -> bool:
    """Whether open files wait in a socket to be taken."""
    with open(path, "rb", buffering=0) as file:
        return any(line.startswith(b"scm_fds:") and int(line.split()[1]) for line in file.read(4096).splitlines())
