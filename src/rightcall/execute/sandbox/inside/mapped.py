"""What processes have mapped into their memory and nobody else can name: it takes room as long as it is mapped, however
little of it is, and is in no sum of theirs."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from rightcall.execute.sandbox.inside.threads import first_seen

_ANONYMOUS = b"/dev/zero (deleted)"
"""As the kernel calls memory that is shared with child processes."""
_MOST = 4 << 20
"""Bytes that are read about the mappings of all processes together, so that looking takes no long time."""


class Mapped(NamedTuple):
    """A removed file that is mapped: by whom, where, and which one it is."""

    process: int
    where: str
    path: bytes

    def on_disk(self) -> os.stat_result:
        """Only root may look there."""
        first, _, last = self.where.partition("-")
        return os.stat(f"/proc/{self.process}/map_files/{int(first, 16):x}-{int(last, 16):x}")


def removed(processes: list[int]) -> tuple[list[Mapped], bool]:
    """The removed files that are mapped, and whether these are all: there may be more than are looked at."""
    found: list[Mapped] = []
    left = _MOST
    for process in processes:
        text = first_seen(process, partial(_maps, most=left)) or b""
        left -= len(text)
        if left <= 0:
            return found, False
        for line in text.splitlines():
            if line.endswith(b" (deleted)"):
                fields = line.split(None, 5)
                found.append(Mapped(process, fields[0].decode(), fields[5]))
    return found, True


def _maps(view: str, most: int) -> bytes:
    with open(f"{view}/maps", "rb") as file:
        return file.read(most)


def shares_memory(processes: list[int]) -> bool:
    """Whether one of them holds memory that may be much more than is mapped of it."""
    found, all_seen = removed(processes)
    return not all_seen or any(each.path == _ANONYMOUS for each in found)


def shared_memory() -> int:
    """Bytes of it that the machine holds now, whoever has made them."""
    with suppress(OSError), open("/proc/meminfo", "rb", buffering=0) as file:
        for line in file.read(8192).splitlines():
            if line.startswith(b"Shmem:"):
                return int(line.split()[1]) << 10
    return 0
