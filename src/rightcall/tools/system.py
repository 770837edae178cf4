"""The small tools: an answer at once, the load of this process and its machine, and what the audit tells.

What the system does not tell is None; nothing names a process, a user, a host or a variable of the environment.
"""

import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, to_builtins

from rightcall.base.files.sight import Sight
from rightcall.policy.settings import Settings, WriteSettings, records_of
from rightcall.record.browse import Collection, Row, Rows, list_records, log_lines, read_record
from rightcall.record.calls import Period
from rightcall.record.tables import Store, Tables
from rightcall.tools.functions import Work
from rightcall.tools.state import untold

if TYPE_CHECKING:
    from rightcall.tools.write.pulls import PullRecord

# ── which tool does what ──


class NoArguments(Struct, frozen=True):
    pass


class LogsArguments(Struct, frozen=True, kw_only=True):
    limit: int = 50
    caller: str = ""


class ListArguments(Struct, frozen=True, kw_only=True):
    collection: str
    filter: dict[str, Any] | None = None
    limit: int = 20
    caller: str = ""


class ReadArguments(Struct, frozen=True, kw_only=True):
    collection: str
    id: str | int
    caller: str = ""


class ReportArguments(Struct, frozen=True, kw_only=True):
    caller: str
    period: Period = "1day"


class UsageArguments(Struct, frozen=True, kw_only=True, rename={"persona": "personaId"}):
    caller: str
    persona: str | None = None
    period: Period = "1day"


def small_work(name: str, store: Callable[[], Store], root: str, desk: str, settings: Settings) -> Work:
    """The code of the small tool of this name. `root` lies on the file system whose room is told, in the folder `desk`
    are the pull requests, and `settings` say who sees the records of others."""

    def seen(caller: str) -> str | None:
        return whose(settings, caller)

    def logs(asked: LogsArguments) -> Any:
        return log_lines(store(), asked.limit, seen(asked.caller))

    def listed(asked: ListArguments) -> Any:
        pulls = pull_collection(root, desk)
        return list_records(store(), asked.collection, asked.filter, asked.limit, pulls, whose=seen(asked.caller))

    def read(asked: ReadArguments) -> Any:
        pulls = pull_collection(root, desk)
        return read_record(store(), asked.collection, asked.id, pulls, whose=seen(asked.caller))

    def report(asked: ReportArguments) -> Any:
        from rightcall.record.analytics import own_report  # late: the other tools need none of it

        return own_report(store(), asked.caller, asked.period)

    def usage(asked: UsageArguments) -> Any:
        from rightcall.record.analytics import tool_usage

        everybody = seen(asked.caller) is None
        return tool_usage(store(), asked.caller, asked.persona, asked.period, all_records=everybody)

    works = {
        "ping": Work(NoArguments, lambda _: ping()),
        "system/monitor": Work(NoArguments, lambda _: monitor(root)),
        "debug/logs": Work(LogsArguments, logs),
        "data/list": Work(ListArguments, listed, untold),
        "data/read": Work(ReadArguments, read, untold),
        "ai/report": Work(ReportArguments, report),
        "analytics/tool-usage": Work(UsageArguments, usage),
    }
    return works[name]


def whose(settings: Settings, caller: str) -> str | None:
    """Whose records a caller sees: its own, or with None everybody's."""
    return None if records_of(settings, caller) == "all" else caller


# ── the system ──


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


# ── pull requests as data ──
# Pull requests as models look at them, with `data/list` and `data/read`: rows like those of the audit's own tables.
# Every caller sees all of them: they are there to be reviewed by others.
#
# They lie on the desk and not in the store; nothing of the files they change is in them, apart from what a check
# printed.

NAME: Final = "pull_requests"
_COLUMNS: Final = (
    "id", "title", "author", "branch", "base", "status", "made", "head", "body", "merge", "discussion", "checks",
)  # fmt: skip


def pull_collection(root: str, desk: str) -> Mapping[str, Collection]:
    """The collection, by its name. Reads the desk when it is asked, and makes none."""

    def records() -> list["PullRecord"]:
        if not desk or os.name != "posix":
            return []
        from rightcall.tools.write.desk import Desk
        from rightcall.tools.write.pulls import all_pulls

        return all_pulls(Desk(desk, Sight(root), WriteSettings()))

    def rows(_: Tables, __: str | None) -> Rows:
        return ((lambda record=record: _row(record)) for record in records())

    def row(_: Tables, id: str, __: str | None) -> Row | None:
        return next((_row(record) for record in records() if record.id == id.removeprefix("#")), None)

    return {NAME: Collection(_COLUMNS, rows, row, bounded=False)}


def _row(record: "PullRecord") -> Row:
    fields: dict[str, Any] = {name: getattr(record, name) for name in _COLUMNS}
    return fields | {"discussion": to_builtins(record.discussion), "checks": to_builtins(record.checks)}
