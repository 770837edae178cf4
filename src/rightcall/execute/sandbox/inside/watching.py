"""What the processes of a run use, all of them together, seen from outside."""

from __future__ import annotations

import os
from contextlib import suppress

_PAGE = os.sysconf("SC_PAGE_SIZE")
_FREE_SOCKETS = 32
"""So many are not counted: event loops and pipes of child processes need a few each."""
_SOCKET = 2 * 212_992
"""Bytes that wait in a socket at most, as systems are set up: memory of the kernel's own, in no process's sum."""


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and theirs; not itself."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        children = _children(waiting.pop())
        found += children
        waiting += children
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{task}/children", "rb", buffering=0) as file:
                children += map(int, file.read(1 << 20).split())
    return children


def memory_of(processes: list[int], most: int) -> int:
    """As the kernel counts it cheaply. Pages that several processes share are in that sum several times, so
    they are counted properly as soon as it exceeds `most`."""
    memory = 0
    for process in processes:
        with suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{process}/stat", "rb", buffering=0) as file:
                fields = file.read(4096).rpartition(b")")[2].split()
            memory += int(fields[21]) * _PAGE
    if memory > most:
        memory = sum(map(_share, processes))
    return memory + _in_sockets(processes)


def _in_sockets(processes: list[int]) -> int:
    """What may wait in the sockets of all processes together."""
    if sum(map(_open_files, processes)) <= _FREE_SOCKETS:
        return 0
    sockets: set[str] = set()
    for process in processes:
        with suppress(OSError):
            for name in os.listdir(f"/proc/{process}/fd"):
                with suppress(OSError):
                    target = os.readlink(f"/proc/{process}/fd/{name}")
                    if target.startswith("socket:"):
                        sockets.add(target)
    return max(len(sockets) - _FREE_SOCKETS, 0) * _SOCKET


def _open_files(process: int) -> int:
    """More than the first three. Newer kernels tell how many there are without a list of them."""
    with suppress(OSError):
        folder = f"/proc/{process}/fd"
        return max((os.stat(folder).st_size or len(os.listdir(folder))) - 3, 0)
    return 0


def _share(process: int) -> int:
    """Its part of the pages it uses."""
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) << 10
    except OSError:
        with suppress(OSError), open(f"/proc/{process}/statm", "rb", buffering=0) as file:
            return int(file.read(200).split()[1]) * _PAGE
    return 0


def tasks_of(uid: int) -> int:
    """How many processes and threads a user has now."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                if os.stat(f"/proc/{name}").st_uid == uid:
                    with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                        total += int(file.read(4096).rpartition(b")")[2].split()[17])
    return total
