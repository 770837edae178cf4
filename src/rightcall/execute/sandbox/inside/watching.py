"""What the processes of a run use, all of them together, seen from outside."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

from rightcall.execute.sandbox.inside.threads import descriptors, first_seen, threads

_PAGE = os.sysconf("SC_PAGE_SIZE")
_MEMORY = (b"VmRSS", b"VmPTE", b"VmSwap")
_FREE_SOCKETS = 32
"""So many are not counted: event loops and pipes of child processes need a few each."""
_SOCKET = 2 * 212_992
"""Bytes that wait in a socket at most, as systems are set up: memory of the kernel's own, in no process's sum."""


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and theirs; not itself."""
    children_of = _children if _children_are_told() else _found_children()
    found: list[int] = []
    waiting = [pid]
    while waiting:
        children = children_of(waiting.pop())
        found += children
        waiting += children
    return found


@lru_cache(1)
def _children_are_told() -> bool:
    """Kernels can be built without that list."""
    return os.path.exists("/proc/thread-self/children")


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{task}/children", "rb", buffering=0) as file:
                children += map(int, file.read(1 << 20).split())
    return children


def _found_children() -> Callable[[int], list[int]]:
    """By looking at every process there is, once."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                parent = int(file.read(4096).rpartition(b")")[2].split()[1])
                children.setdefault(parent, []).append(int(name))
    return lambda pid: children.get(pid, [])


def memory_of(processes: list[int], most: int) -> int:
    """As the kernel counts it cheaply, with page tables and what was swapped out. Pages that several processes share
    are in that sum several times, so they are counted properly as soon as it exceeds `most`."""
    sums = [_measure(process) for process in processes]
    memory = sum(used for used, _ in sums)
    if memory > most:
        memory = sum(map(_share, processes))
    return memory + sum(beside for _, beside in sums) + _in_sockets(processes)


def _measure(process: int) -> tuple[int, int]:
    """What it uses, and what there is of it beside: page tables, and pages that were swapped out."""
    return first_seen(process, _told_by) or (0, 0)


def _told_by(view: str) -> tuple[int, int] | None:
    found: dict[bytes, int] = {}
    with open(f"{view}/status", "rb", buffering=0) as file:
        for line in file.read(8192).splitlines():
            name, _, value = line.partition(b":")
            if name in _MEMORY:
                found[name] = int(value.split()[0]) << 10
    if b"VmRSS" not in found:
        return None
    return found[b"VmRSS"], found.get(b"VmPTE", 0) + found.get(b"VmSwap", 0)


def _in_sockets(processes: list[int]) -> int:
    """What may wait in the sockets of all processes together."""
    if sum(map(_open_files, processes)) <= _FREE_SOCKETS:
        return 0
    sockets: set[str] = set()
    for process in processes:
        for thread, name in descriptors(process):
            with suppress(OSError):
                target = os.readlink(f"{thread}/fd/{name}")
                if target.startswith("socket:"):
                    sockets.add(target)
    return max(len(sockets) - _FREE_SOCKETS, 0) * _SOCKET


def _open_files(process: int) -> int:
    """More than the first three. Newer kernels tell how many there are without a list of them."""
    total = 0
    for thread in threads(process):
        with suppress(OSError):
            folder = f"{thread}/fd"
            total += max((os.stat(folder).st_size or len(os.listdir(folder))) - 3, 0)
    return total


def _share(process: int) -> int:
    """Its part of the pages it uses."""
    return first_seen(process, _share_by) or 0


def _share_by(view: str) -> int | None:
    try:
        with open(f"{view}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) << 10
    except OSError:
        with open(f"{view}/statm", "rb", buffering=0) as file:
            return int(file.read(200).split()[1]) * _PAGE
    return None


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
