"""The small tools: an answer at once, the load of this process and its machine, what the audit tells, and rooms in
which callers leave messages for one another.

What the system does not tell is None; nothing names a process, a user, a host or a variable of the environment.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import DecodeError, Struct, to_builtins
from msgspec.json import Decoder
from msgspec.structs import replace

from rightcall.base.files.sight import Sight
from rightcall.base.secrets import Redactor
from rightcall.base.text import AnswerRoom, render_json
from rightcall.catalog.packs import load_pack
from rightcall.errors import StoreError, ToolFailure
from rightcall.policy.settings import Settings, WriteSettings, records_of, settings_of
from rightcall.record.browse import (
    SEARCHED,
    Collection,
    Row,
    Rows,
    list_records,
    log_lines,
    look_up,
    moment,
    newest_first,
    read_record,
)
from rightcall.record.calls import CALLS, Period
from rightcall.record.notes import POST, Post, note_post
from rightcall.record.tables import AuditEntry, Store, Tables, encode
from rightcall.tools.functions import LocalTool, Work, packed_tool
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


# ── rooms ──
# Rooms (design 002 §12): what callers that share a context tell one another.
#
#     room/post ─▶ redacted ─▶ a record `message` of the audit ─▶ room/read of every caller that was in the room
#
# A room is a context, and the host alone says under which context a call runs: so nobody gets into a room by naming it.
# A caller is in the room of the call it makes now, in those under which the audit has calls of its own, and in those
# that the policy names (`rooms` in `[callers.NAME]`), for callers whose contexts are never the same, such as clients
# over MCP. One that may see everybody's records (`records = "all"`) reads every room, and still writes only in its own.
#
# The tools count as reading: a post changes nothing but the record, which holds the arguments of every call anyway, and
# what others do because of it is judged as their own call. So they run in every stage, without a person. What bounds
# them: `deny`, `[policy.approval] tools`, the limits on calls, and the size of a post. What another agent wrote is
# hostile input to whoever reads it, and is shown as such.
#
# The messages are part of the audit: in the chain, shared by the processes of a store, removed by `audit prune`.

_LONGEST: Final = 4000
"""Characters of a post, and"""
_MOST_MESSAGES: Final = 100
"""messages in one reading, as the schemas say; a policy may let calls pass that do not fit them."""
_MOST_ROOMS: Final = 50
_NO_ROOM: Final = (
    "This call belongs to no conversation, so it has no room. A host names the conversation (`context`) when it runs a "
    "call; go on without a room."
)


class PostArguments(Struct, frozen=True, kw_only=True):
    text: str
    kind: Literal["message", "finding"] = "message"
    room: str | None = None
    caller: str = ""
    context: str | None = None


class ReadRoomArguments(Struct, frozen=True, kw_only=True):
    since: int | None = None
    limit: int = 20
    room: str | None = None
    caller: str = ""
    context: str | None = None


class ListRoomsArguments(Struct, frozen=True, kw_only=True):
    caller: str = ""
    context: str | None = None


class Posted(Struct, frozen=True, rename="camel", kw_only=True):
    """`room/post`"""

    success: bool = True
    room: str
    id: int
    redacted: bool
    """Whether something in it looked like a secret and was not passed on."""


class Message(Struct, frozen=True, rename={"caller": "from"}):
    id: int
    timestamp: str
    caller: str
    kind: str
    text: str


class Messages(Struct, frozen=True, rename="camel", kw_only=True):
    """`room/read`"""

    success: bool = True
    room: str
    messages: list[Message]
    """In the order in which they were posted."""
    next: int
    """As `since` of the next call: nothing is read twice, nothing is missed."""
    truncated: bool
    """Whether there are more: with `since` after these, else before them."""
    untrusted: bool = True
    """Other callers wrote it."""


class Rooms(Struct, frozen=True, rename="camel", kw_only=True):
    """`room/list`"""

    success: bool = True
    current: str | None
    """The room of the call that asks."""
    rooms: list[dict[str, Any]]
    """room, messages, from, last, newest first."""
    truncated: bool


def room_tools(store: Callable[[], Store], settings: Settings) -> list[LocalTool]:
    """What they are called, take and are for stands in the pack `room`."""
    about = {tool.name: tool for tool in load_pack("room").tools}
    guard = _Guard(store, settings)
    tools = (
        packed_tool(about["room/post"], lambda: Work(PostArguments, guard.post, _same), state=True),
        packed_tool(about["room/read"], lambda: Work(ReadRoomArguments, guard.read)),
        packed_tool(about["room/list"], lambda: Work(ListRoomsArguments, guard.list)),
    )
    return [replace(tool, caller="caller", context="context", in_turn=tool is tools[0]) for tool in tools]


def _same(_: object) -> int:
    """Nothing that a post touches ever changes for it: the same one again and again is a loop, whatever its id."""
    return 0


class _Guard:
    """The rooms of one store under one policy: who may do what in which."""

    def __init__(self, store: Callable[[], Store], settings: Settings) -> None:
        self._store = store
        self._settings = settings

    def post(self, asked: PostArguments) -> Posted:
        if len(asked.text) > _LONGEST:
            raise ToolFailure(f"room/post: `text` has {len(asked.text):,} characters, at most {_LONGEST:,} are posted.")
        room = self._room("room/post", asked)
        text: str = self._hidden(asked.text)
        try:
            number = self._store().transact(
                lambda tables: note_post(tables, Post(asked.caller, room, asked.kind, text))
            )
        except StoreError as error:
            raise ToolFailure(f"room/post: not posted, the record cannot be written ({error.fault}).") from error
        return Posted(room=room, id=number, redacted=text != asked.text)

    def read(self, asked: ReadRoomArguments) -> Messages:
        room, most = self._room("room/read", asked), min(max(asked.limit, 1), _MOST_MESSAGES)
        return look_up(self._store(), lambda tables: _read_room(tables, room, asked.since, most))

    def list(self, asked: ListRoomsArguments) -> Rooms:
        seen = whose(self._settings, asked.caller)
        current, named = self._hidden(asked.context), self._named(asked.caller)
        return look_up(self._store(), lambda tables: _list_rooms(tables, seen, current, named))

    def _hidden(self, told: Any) -> Any:
        """As the records have it."""
        return Redactor(self._store().key(), self._settings.audit.redact).value(told)

    def _named(self, caller: str) -> tuple[str, ...]:
        """The rooms that the policy lets a caller into."""
        own = settings_of(self._settings, caller)
        return own.rooms if own is not None else ()

    def _room(self, tool: str, asked: PostArguments | ReadRoomArguments) -> str:
        """The room that a call means. One that its caller was never in is as unknown to it as one that does not exist;
        before anything is written, so that nobody waits for the search."""
        room, current = self._hidden(asked.room or asked.context), self._hidden(asked.context)
        if room is None:
            raise ToolFailure(_NO_ROOM)
        at_home = room == current or room in self._named(asked.caller)
        if at_home or (tool == "room/read" and whose(self._settings, asked.caller) is None):
            return room
        if look_up(self._store(), lambda tables: _was_in(tables, asked.caller, room)):
            return room
        known = "room/list shows those that there are"
        raise ToolFailure(f"{tool}: `room` is not one of your rooms: {render_json(room, 100)}; {known}.")


# ── rooms in the record ──


class _Whose(Struct, frozen=True, gc=False):
    """Of the record of a call."""

    caller: str = ""
    context: str | None = None


class _Posted(Struct, frozen=True, gc=False):
    what: str
    data: Post | None = None


_read_whose = Decoder(_Whose).decode
_read_posted = Decoder(_Posted).decode


def _post_in(entry: AuditEntry) -> Post | None:
    if entry.kind != "message" or encode(POST) not in entry.body:
        return None
    try:
        found = _read_posted(entry.body)
    except DecodeError:  # another note, or one that somebody has changed: `audit verify` finds that
        return None
    return found.data if found.what == POST else None


def _was_in(tables: Tables, caller: str, room: str) -> bool:
    wanted = encode(room)
    calls = (entry for entry in newest_first(tables) if entry.kind in CALLS and wanted in entry.body)
    return any(_caller_of(entry) == (caller, room) for entry in calls)


def _caller_of(entry: AuditEntry) -> tuple[str, str | None]:
    try:
        found = _read_whose(entry.body)
    except DecodeError:
        return "", None
    return found.caller, found.context


def _read_room(tables: Tables, room: str, since: int | None, limit: int) -> Messages:
    head, wanted = tables.head()[0], encode(room)

    def posts(entries: Iterator[AuditEntry]) -> Iterator[Message]:
        for entry in entries:
            found = _post_in(entry) if wanted in entry.body else None
            if found is not None and found.context == room:
                yield Message(entry.seq, moment(entry.at), found.caller, found.kind, found.text)

    # one more than is asked for tells whether there are more
    new = tables.entries(max(since or 0, head - SEARCHED))
    entries = newest_first(tables) if since is None else takewhile(lambda entry: entry.seq <= head, new)
    found, left = list(islice(posts(entries), limit + 1)), AnswerRoom()
    shown = [one for one in found[:limit] if left.take(one)]
    more = len(shown) < len(found)
    if since is None:
        return Messages(room=room, messages=shown[::-1], next=head, truncated=more)
    return Messages(room=room, messages=shown, next=shown[-1].id if more and shown else head, truncated=more)


def _list_rooms(tables: Tables, whose: str | None, current: str | None, named: tuple[str, ...]) -> Rooms:
    """One pass over the newest records: rooms with messages, and where the caller was; those that the policy names are
    there without a message, too."""
    rooms: dict[str, dict[str, Any]] = {}
    own = {current, *named}
    for entry in newest_first(tables):
        post = _post_in(entry)
        if post is not None:
            room = rooms.setdefault(post.context, _empty(post.context, moment(entry.at)))
            room["messages"] += 1
            if post.caller not in room["from"] and len(room["from"]) < 20:
                room["from"].append(post.caller)
        elif whose is not None and entry.kind in CALLS:
            caller, context = _caller_of(entry)
            if caller == whose:
                own.add(context)
    seen = [room for name, room in rooms.items() if whose is None or name in own]
    seen += [_empty(name) for name in named if name not in rooms]
    return Rooms(current=current, rooms=seen[:_MOST_ROOMS], truncated=len(seen) > _MOST_ROOMS)


def _empty(room: str, last: str | None = None) -> dict[str, Any]:
    return {"room": room, "messages": 0, "from": list[str](), "last": last}
