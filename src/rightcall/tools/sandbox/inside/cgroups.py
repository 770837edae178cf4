"""Control groups for a run, where they can be had: the kernel then ends what takes too much memory, before anybody has
to notice, and tells whether a process was refused, which nobody else can know."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

_PREFIX = "rightcall-"


class Home(NamedTuple):
    """A folder in which groups can be made; the version of its interface; what they limit there."""

    folder: str
    version: int
    kinds: tuple[str, ...]


def usable_homes() -> list[Home]:
    """One for `memory` and one for `pids`, or one for both. Found by making a group in each."""
    found: list[Home] = []
    for home in (*_second(), *_first()):
        missing = tuple(kind for kind in home.kinds if not any(kind in other.kinds for other in found))
        second = home.version == 2 and any(other.version == 2 for other in found)  # a process is in one group of these
        wanted = home._replace(kinds=missing)
        if missing and not second and _works(wanted):
            found.append(wanted)
    return found


def _works(home: Home) -> bool:
    group = Group([home], f"probe-{os.getpid()}", 1 << 30, 1 << 10)
    try:
        return group.kinds == set(home.kinds)
    finally:
        group.close()


class Group:
    """What of it can be made is made; `kinds` says what that limits."""

    def __init__(self, homes: Iterable[Home], token: str, memory: int, tasks: int) -> None:
        self._homes: list[Home] = []
        """With the folders of our own."""
        for home in homes:
            own = home._replace(folder=f"{home.folder}/{_PREFIX}{token}")
            with suppress(OSError):
                os.mkdir(own.folder)
                self._homes.append(own)
                _limit(own, memory, tasks)
                continue
            self._drop(own)

    @property
    def kinds(self) -> set[str]:
        return {kind for home in self._homes for kind in home.kinds}

    def join(self, pid: int) -> None:
        for home in tuple(self._homes):
            try:
                _write(home, "cgroup.procs", str(pid))
            except OSError:
                self._drop(home)

    def ran_out(self) -> bool:
        """Whether something in it was ended for its memory."""
        return self._counted("memory", "memory.events", "memory.oom_control", "oom_kill")

    def refused(self) -> bool:
        """Whether a process or thread could not be started for want of room."""
        return self._counted("pids", "pids.events", "pids.events", "max")

    def _counted(self, kind: str, second: str, first: str, word: str) -> bool:
        for home in self._homes:
            name = second if home.version == 2 else first
            if kind in home.kinds:
                with suppress(OSError), open(f"{home.folder}/{name}") as file:
                    return any(int(line.split()[1]) > 0 for line in file if line.startswith(f"{word} "))
        return False

    def close(self) -> None:
        for home in tuple(self._homes):
            self._drop(home)

    def _drop(self, home: Home) -> None:
        if home in self._homes:
            self._homes.remove(home)
            with suppress(OSError):
                os.rmdir(home.folder)


def _limit(home: Home, memory: int, tasks: int) -> None:
    if "pids" in home.kinds:
        _write(home, "pids.max", str(tasks))
    if "memory" not in home.kinds:
        return
    if home.version == 2:
        _write(home, "memory.max", str(memory))
        with suppress(OSError):
            _write(home, "memory.swap.max", "0")
        _write(home, "memory.oom.group", "1")
    else:
        _write(home, "memory.limit_in_bytes", str(memory))
        with suppress(OSError):
            _write(home, "memory.memsw.limit_in_bytes", str(memory))


def _write(home: Home, name: str, text: str) -> None:
    file = os.open(f"{home.folder}/{name}", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def remove_group(homes: Sequence[Home], token: str) -> None:
    """What a supervisor left behind that was killed."""
    for home in homes:
        with suppress(OSError):
            os.rmdir(f"{home.folder}/{_PREFIX}{token}")


def _second() -> list[Home]:
    """Our own group or the one above it, whichever lets its children have a limit on memory."""
    own = _own_folder("cgroup2", "")
    if own is None:
        return []
    found: list[Home] = []
    for folder in (own, os.path.dirname(own)):
        with suppress(OSError), open(f"{folder}/cgroup.subtree_control") as file:
            offered = file.read().split()
            if "memory" in offered:
                found.append(Home(folder, 2, tuple(kind for kind in ("memory", "pids") if kind in offered)))
    return found


def _first() -> list[Home]:
    own = {kind: _own_folder("cgroup", kind) for kind in ("memory", "pids")}
    return [Home(folder, 1, (kind,)) for kind, folder in own.items() if folder is not None]


def _own_folder(kind: str, controller: str) -> str | None:
    """Where our own group can be seen: the mount that shows it, and our path in there."""
    with suppress(OSError, StopIteration, ValueError):
        with open("/proc/self/cgroup") as file:
            path = next(
                line.rstrip("\n").split(":", 2)[2] for line in file if controller in line.split(":")[1].split(",")
            )
        with open("/proc/self/mountinfo") as file:
            for line in file:
                fields, _, rest = line.partition(" - ")
                filesystem, _, options = rest.split(" ", 2)
                root, point = fields.split(" ")[3:5]
                if filesystem == kind and (not controller or controller in options.strip().split(",")):
                    inner = path if root == "/" else path[len(root) :] if path.startswith(root) else ""
                    return (point + inner).rstrip("/")
    return None
