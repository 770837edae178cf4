"""The small tools that need no store: an answer at once, and the load of this process and its machine.

What the system does not tell is None; nothing names a process, a user, a host or a variable of the environment.
"""

import os
import time
from datetime import UTC, datetime

from msgspec import Struct


class Pong(Struct, frozen=True, rename="camel"):
    success: bool
    time: str
    """UTC."""


class ProcessLoad(Struct, frozen=True, rename="camel", kw_only=True):
    """Of the process that runs the tools."""

    cpu_seconds: float
    memory_bytes: int | None
    threads: int | None
    open_files: int | None
    uptime_seconds: float | None


class MachineLoad(Struct, frozen=True, rename="camel", kw_only=True):
    load_average: tuple[float, float, float] | None
    """Of the last 1, 5 and 15 minutes."""
    cores: int | None
    memory_total_bytes: int | None
    memory_available_bytes: int | None
    disk_total_bytes: int | None
    """Of the file system on which the root lies."""
    disk_free_bytes: int | None
    uptime_seconds: float | None


class Load(Struct, frozen=True, rename="camel", kw_only=True):
    success: bool = True
    time: str
    process: ProcessLoad
    machine: MachineLoad


def ping() -> Pong:
    return Pong(True, _now())


def monitor(root: str) -> Load:
    """The load at this moment. `root` says which file system is meant."""
    up = _machine_uptime()
    return Load(time=_now(), process=_process(up), machine=_machine(root, up))


def _process(machine_uptime: float | None) -> ProcessLoad:
    about = read_table("/proc/self/status")
    return ProcessLoad(
        cpu_seconds=round(time.process_time(), 3),
        memory_bytes=_bytes(about.get("VmRSS")),
        threads=_whole(about.get("Threads")),
        open_files=_open_files(),
        uptime_seconds=_process_uptime(machine_uptime),
    )


def _machine(root: str, uptime: float | None) -> MachineLoad:
    memory = read_table("/proc/meminfo")
    total, free = _disk(root)
    return MachineLoad(
        load_average=_load_average(),
        cores=os.cpu_count(),
        memory_total_bytes=_bytes(memory.get("MemTotal")) or _physical_memory(),
        memory_available_bytes=_bytes(memory.get("MemAvailable")),
        disk_total_bytes=total,
        disk_free_bytes=free,
        uptime_seconds=uptime,
    )


def read_table(path: str) -> dict[str, str]:
    """`Name: value` lines of a file of the kernel; empty where there is no such file."""
    lines = (line.partition(":") for line in _text(path).splitlines())
    return {name: value.strip() for name, _, value in lines}


def _text(path: str) -> str:
    """Of one of the few files named here, which the kernel writes; "" where there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(100_000)
    except OSError:
        return ""


def _bytes(stated: str | None) -> int | None:
    """From `1234 kB`."""
    number = _whole((stated or "").removesuffix("kB").strip())
    return None if number is None else number * 1024


def _whole(stated: str | None) -> int | None:
    return int(stated) if stated and stated.isdecimal() else None


def _open_files() -> int | None:
    for folder in ("/proc/self/fd", "/dev/fd"):
        try:
            return len(os.listdir(folder)) - 1  # one is the folder itself, while it is listed
        except OSError:
            continue
    return None


def _machine_uptime() -> float | None:
    first = _text("/proc/uptime").split(" ", 1)[0]
    try:
        return float(first)
    except ValueError:
        return None


def _process_uptime(machine_uptime: float | None) -> float | None:
    fields = _text("/proc/self/stat").rpartition(")")[2].split()  # the name before it may hold blanks and brackets
    ticks = _whole(fields[19]) if len(fields) > 19 else None
    if ticks is None or machine_uptime is None:
        return None
    return round(max(0.0, machine_uptime - ticks / os.sysconf("SC_CLK_TCK")), 2)


def _load_average() -> tuple[float, float, float] | None:
    try:
        one, five, fifteen = os.getloadavg()
    except (OSError, AttributeError):  # Windows has none
        return None
    return round(one, 2), round(five, 2), round(fifteen, 2)


def _physical_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return None


def _disk(root: str) -> tuple[int | None, int | None]:
    from shutil import disk_usage  # late: few programs need it

    try:
        usage = disk_usage(root)
    except OSError:
        return None, None
    return usage.total, usage.free


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
