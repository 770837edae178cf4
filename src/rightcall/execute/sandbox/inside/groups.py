"""A control group for a run, where one can be had: the kernel then ends what takes too much memory, before anybody has
to notice."""

from __future__ import annotations

import os
from contextlib import suppress

_PREFIX = "rightcall-"


def usable_home() -> tuple[str, int] | None:
    """The folder in which groups can be made that limit memory, and the version of its interface. Found by making
    one."""
    for folder, version in (*_second(), *_first()):
        try:
            group = Group((folder, version), f"probe-{os.getpid()}", 1 << 30)
        except OSError:
            continue
        group.close()
        return folder, version
    return None


class Group:
    def __init__(self, home: tuple[str, int], token: str, most: int) -> None:
        folder, self._version = home
        self._folder = f"{folder}/{_PREFIX}{token}"
        os.mkdir(self._folder)
        try:
            if self._version == 2:
                self._write("memory.max", str(most))
                with suppress(OSError):
                    self._write("memory.swap.max", "0")
                self._write("memory.oom.group", "1")
            else:
                self._write("memory.limit_in_bytes", str(most))
                with suppress(OSError):
                    self._write("memory.memsw.limit_in_bytes", str(most))
        except OSError:
            os.rmdir(self._folder)
            raise

    def join(self, pid: int) -> None:
        self._write("cgroup.procs", str(pid))

    def ran_out(self) -> bool:
        """Whether something in it was ended for its memory."""
        name = "memory.events" if self._version == 2 else "memory.oom_control"
        with suppress(OSError), open(f"{self._folder}/{name}") as file:
            return any(int(line.split()[1]) > 0 for line in file if line.startswith("oom_kill "))
        return False

    def close(self) -> None:
        with suppress(OSError):
            os.rmdir(self._folder)

    def _write(self, name: str, text: str) -> None:
        file = os.open(f"{self._folder}/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)


def remove_group(home: tuple[str, int], token: str) -> None:
    """What a supervisor left behind that was killed."""
    with suppress(OSError):
        os.rmdir(f"{home[0]}/{_PREFIX}{token}")


def _second() -> list[tuple[str, int]]:
    """Our own group or the one above it, whichever lets its children have a limit on memory."""
    own = _own_folder("cgroup2", "")
    if own is None:
        return []
    found: list[tuple[str, int]] = []
    for folder in (own, os.path.dirname(own)):
        with suppress(OSError), open(f"{folder}/cgroup.subtree_control") as file:
            if "memory" in file.read().split():
                found.append((folder, 2))
    return found


def _first() -> list[tuple[str, int]]:
    own = _own_folder("cgroup", "memory")
    return [] if own is None else [(own, 1)]


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
