"""Files that a program has removed and still holds, open or mapped: they take room on the disk and have no name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from rightcall.execute.sandbox.inside import mapped

_MARGIN = 256 << 20
"""What others may write meanwhile, without the program being blamed for it."""


class Removed:
    def __init__(self, folders: Sequence[int]) -> None:
        """The open folders in which a program can make files."""
        self._folders = {os.fstat(folder).st_dev: folder for folder in folders}
        self._paths = tuple({os.fsencode(os.readlink(f"/proc/self/fd/{folder}")) + b"/" for folder in folders})
        self._free = self._free_now()

    def used(self, processes: list[int], most: int) -> int:
        """Bytes in them. Only root is told how large a file is that is mapped and not open: for anybody else the disk
        itself has to tell, by the room that has gone."""
        sizes: dict[tuple[int, int], int] = {}
        for process in processes:
            with suppress(OSError):
                for name in os.listdir(f"/proc/{process}/fd"):
                    with suppress(OSError):
                        self._note(os.stat(f"/proc/{process}/fd/{name}"), sizes)
        found, all_known = mapped.removed(processes)
        for each in found:
            if each.path.startswith(self._paths):
                try:
                    self._note(each.on_disk(), sizes)
                except FileNotFoundError:
                    continue
                except OSError:
                    all_known = False
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
