"""What is noted beside the calls: definitions of known tools, which policy is in force, and what a host can tell: that
a message was written, whether a diagnosis was right, how far a plan is, and what a router decided; and what callers
posted to their room. Two of the success metrics need the messages, one the diagnoses; without them these say "not
reported".

    records `definition` ─▶ Known (a tool or a server, each Sighting of it in order)

And documents, which belong to a store and are no records.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from itertools import islice
from threading import get_ident
from typing import Any, Final, Literal, Protocol

from msgspec import DecodeError, MsgspecError, Struct, json
from msgspec.structs import replace

from rightcall import LateLog, __version__
from rightcall.base.text import is_encodable, render_json
from rightcall.errors import ConfigError, StoreError
from rightcall.policy.settings import Policy
from rightcall.policy.types import server_key
from rightcall.record.tables import AuditEntry, NoteBody, Tables, encode, reader_of

LONGEST = 500
"""Characters of a name."""


class HostNoteData(Struct, frozen=True, gc=False):
    """What a host has told, as it is read back."""

    caller: str = ""
    context: str | None = None
    task: str | None = None
    used_tools: bool | None = None
    correct: bool | None = None
    turns: int = 0
    tool_turns: int = 0


class HostNote(Struct, frozen=True):
    what: str
    data: HostNoteData = HostNoteData()


def note_message(
    tables: Tables, caller: str, context: str | None = None, task: str | None = None, used_tools: bool | None = None,
    turns: tuple[int, int] | None = None,
) -> int:  # fmt: skip
    """A model has finished a message; returns the number of the record. `task` is the kind of work (`debug` is the one
    that is measured). Whether it used tools is seen from the calls since its last one, unless `used_tools` says so.
    `turns` is how often the model was asked for it, and in how many of its replies it called a tool."""
    data: dict[str, Any] = {
        "caller": _name("caller", caller),
        "context": None if context is None else _name("context", context),
        "task": None if task is None else _name("task", task),
        "used_tools": _yes_or_no("used_tools", used_tools),
    }
    if turns is not None:
        data |= {"turns": turns[0], "tool_turns": turns[1]}
    return tables.append("message", 0, encode(NoteBody("message", data=data)))


def note_diagnosis(tables: Tables, caller: str, context: str, correct: bool | None) -> int:
    """A model has named a cause in this context; `correct` is what a person found, None as long as nobody has looked.
    The last word on a caller's context counts. Returns the number of the record."""
    data = {
        "caller": _name("caller", caller),
        "context": _name("context", context),
        "task": "debug",
        "correct": _yes_or_no("correct", correct),
    }
    return tables.append("message", 0, encode(NoteBody("diagnosis", data=data)))


class Routed(Struct, frozen=True, omit_defaults=True):
    """What a router decided of a request that it ran no call for, or what a person said to it."""

    caller: str
    context: str
    """The packet's id, under which its calls are recorded too."""
    decision: str
    """One word, such as `no_tool`, `low_confidence` or `confirmed`."""
    tool: str = ""
    confidence: float | None = None
    why: str = ""
    by: str = ""
    """The person who said so, where one did."""
    digest: str = ""
    """Keyed: of the call that a person is asked about, or has said yes to."""


_PACKET = "(packet) "
"""Under this name and the packet's, the digest of the call that it waits with is kept beside those of the tools."""
_USED = "used "

Confirmation = Literal["confirmed", "used", "unknown"]
"""Of a yes: it counts; it was given before; it is not to the call that was shown."""


def note_routing(tables: Tables, routed: Routed) -> int:
    """A router's decision without a call; returns the number of the record. The request itself is not in it. With a
    digest, the packet waits from now on for a yes to exactly that call; without, for none any more."""
    name = _packet_name(routed)
    if routed.digest or tables.definition(name) is not None:
        tables.pin(name, routed.digest)
    return _noted(tables, routed)


def confirm_routing(tables: Tables, routed: Routed) -> Confirmation:
    """A person says yes to the call that a packet waits with. It counts once, whoever asks at the same time, and only
    for the call as it was shown; then it stands in the record."""
    name = _packet_name(routed)
    known = tables.definition(name)
    if not routed.digest or known != routed.digest:
        return "used" if routed.digest and known == _USED + routed.digest else "unknown"
    tables.pin(name, _USED + routed.digest)
    _noted(tables, routed)
    return "confirmed"


def _packet_name(routed: Routed) -> str:
    return f"{_PACKET}{routed.context}"


def _noted(tables: Tables, routed: Routed) -> int:
    return tables.append("message", 0, encode(NoteBody("routing", routed.by, routed)))


POST = "post"


class Post(Struct, frozen=True):
    """What a caller told the others in its room, redacted. The room is the context."""

    caller: str
    context: str
    kind: str
    text: str


def note_post(tables: Tables, post: Post) -> int:
    """Returns the number of the record, in which order posts are read."""
    return tables.append("message", 0, encode(NoteBody(POST, data=post)))


RESCUE = "repair"


class Rescued(Struct, frozen=True, omit_defaults=True):
    """That a model was asked about a call which nothing could repair: what came of it, and what it cost. Nothing of the
    call or of the answer is in it."""

    caller: str
    context: str | None
    tool: str
    model: str
    taken: bool
    """Whether its answer took the place of the call."""
    why: str = ""
    """Why it did not."""
    tokens: int = 0
    seconds: float = 0.0
    cached: bool = False


def note_rescue(tables: Tables, rescued: Rescued) -> int:
    """Returns the number of the record."""
    return tables.append("message", 0, encode(NoteBody(RESCUE, data=rescued)))


STEP = "step"
_LONGEST_RESULT = 20_000


class PlanStep(Struct, frozen=True, omit_defaults=True):
    """What a host tells of one step of a plan, redacted; None: nothing new. The plan is the context."""

    context: str
    step: str
    action: str | None = None
    expected_outcome: str | None = None
    completed: bool | None = None
    result: Any = None
    error: str | None = None


def note_step(tables: Tables, step: PlanStep) -> int:
    """Returns the number of the record. Of a long result the beginning is kept."""
    if len(encode(step.result)) > _LONGEST_RESULT:
        step = replace(step, result=render_json(step.result, _LONGEST_RESULT))
    return tables.append("message", 0, encode(NoteBody(STEP, data=step)))


def _name(argument: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST or not is_encodable(value):
        raise ConfigError(
            f"{argument}: {render_json(value, 60)} is not a valid name; expected 1 to {LONGEST} characters"
        )
    return value


def _yes_or_no(argument: str, value: Any) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise ConfigError(f"{argument}: {render_json(value, 60)} is neither True, False nor None")
    return value


def note_change(tables: Tables, what: str, by: str, data: Any = None) -> int:
    """A person has changed something by a command of their own, such as `undo` or `pr merge`; returns the number of the
    record."""
    return tables.append("change", 0, encode(NoteBody(what, _name("by", by), data)))


def policy_note(what: str, policy: Any, packs: dict[str, str], problem: str | None) -> tuple[NoteBody, str]:
    """What is noted of a policy, and what it is known by: its own digest and that of the packs beside it."""
    data: dict[str, Any] = {"digest": policy.digest, "source": policy.source}
    data |= {"packs": packs} if packs else {}
    data |= {"problem": problem} if problem else {}
    standing = "" if policy.standing == "given" else policy.standing
    data |= {"standing": standing} if standing else {}
    known = " ".join(part for part in (policy.digest, packs_digest(packs), standing) if part)
    return NoteBody(what, data=data), known


def packs_digest(packs: dict[str, str]) -> str:
    """As a record names them; empty where there are none."""
    return sha256(json.encode(sorted(packs.items()))).hexdigest()[:16] if packs else ""


class Decider(Struct, frozen=True):
    """What decides calls besides their record: kept once in a store, so that they can be decided again."""

    policy: Policy
    protected: tuple[str, ...] = ()
    """Paths that no call may touch, whatever the policy says."""
    root: str = ""
    folder: str = ""
    """The folder of the policy, where that is not the root: patterns count from both."""


def decider_of(policy: Policy, protected: tuple[str, ...], file: str | None, root: str) -> Decider:
    """`file` is where the policy came from, if from a file."""
    folder = root if file is None else os.path.dirname(os.path.abspath(file))
    return Decider(policy, protected, root, "" if folder == root else folder)


_POLICY = "(policy)"
"""Under this name the digest of the policy that was noted last is kept beside those of the tools; no tool has it. With
a digest behind it: the number of the record that holds what such a policy says."""


def note_policy(tables: Tables, note: NoteBody, digest: str, decider: Decider | None = None) -> None:
    """Which policy is in force and whose word it is, or why an edit was not taken. A process that finds the one before
    it notes nothing: hooks and commands come and go with every call."""
    is_known = tables.definition(_POLICY) == digest
    key = "" if decider is None or note.what != "loaded" else f"{_POLICY} {_decider_key(decider, digest)}"
    is_kept = not key or _is_there(tables, tables.definition(key))
    if note.what == "loaded" and is_known and is_kept:
        return
    tables.pin(_POLICY, digest if note.what == "loaded" else "")
    if decider is not None and not is_kept:
        note = replace(note, data=note.data | _decider_data(decider))
    seq = tables.append("policy", 0, encode(note))
    if not is_kept:
        tables.pin(key, str(seq))


def _is_there(tables: Tables, number: str | None) -> bool:
    """Whether a record still stands: it may have been pruned."""
    return number is not None and number.isdecimal() and tables.entry(int(number)) is not None


def _decider_key(decider: Decider, digest: str) -> str:
    said = [digest, __version__, decider.protected, decider.folder, decider.root]
    return sha256(json.encode(said)).hexdigest()[:16]


def _decider_data(decider: Decider) -> dict[str, Any]:
    """Nothing where it holds a secret: then its calls can only be decided again with the same file."""
    from rightcall.base.secrets import Redactor  # late, both: once for each policy of a store
    from rightcall.policy.content import content_of

    content = content_of(decider.policy)
    data: dict[str, Any] = {"version": __version__, "protected": decider.protected}
    data |= {name: value for name in ("root", "folder") if (value := getattr(decider, name))}
    data |= {"notify": True} if decider.policy.settings.approvals.notify else {}
    plain = json.decode(json.encode(content))
    return data | {"content": plain} if Redactor(b"none").value(plain) == plain else data


SEEN: Final = "seen"
_SEEN = "(seen) "


def note_seen(tables: Tables, tool: str, digest: str, described: str) -> None:
    """What a tool is that was called and did not run: a tool that runs is pinned, which says it too. Without it nobody
    could check the call again."""
    key = f"{_SEEN}{digest[:16]} {tool}"
    if tables.definition(tool) == digest or tables.definition(key) is not None:
        return
    tables.pin(key, digest)
    data = {"tool": tool, "definition": digest, "described": described}
    tables.append("definition", 0, encode(NoteBody(SEEN, data=data)))


OFFERED: Final = "offered"
_OFFERED = "(offered) "
"""Keys of the pins of lists of tools have this before them and their digest behind it: the number of the record."""
LONGEST_OFFERED: Final = 256_000
"""Bytes of a list of tools that is kept."""


def note_offered(tables: Tables, digest: str, caller: str, described: str) -> None:
    """The tools that a client of the proxy offered a model, as JSON: once for each list, and again where its record was
    pruned or erased. Calls name it by its digest; without it nobody could check them again. `caller` was the first."""
    key = f"{_OFFERED}{digest[:16]}"
    if offered_tools(tables, digest):
        return
    data = {"offered": digest, "caller": caller, "described": described}
    tables.pin(key, str(tables.append("definition", 0, encode(NoteBody(OFFERED, data=data)))))


def offered_tools(tables: Tables, digest: str) -> bytes:
    """The list that a proxied call was checked against, by the digest in its record; empty where it is not kept."""
    number = tables.definition(f"{_OFFERED}{digest[:16]}")
    entry = tables.entry(int(number)) if number is not None and number.isdecimal() else None
    try:
        note = None if entry is None else json.decode(entry.body, type=_OfferedNote)
    except MsgspecError:
        return b""
    is_it = note is not None and note.what == OFFERED and note.data.offered[:16] == digest[:16]
    return note.data.described.encode() if note is not None and is_it else b""


class _OfferedData(Struct, frozen=True):
    offered: str
    described: str = ""


class _OfferedNote(Struct, frozen=True):
    what: str
    data: _OfferedData


# ── known tools ──
# The definitions of MCP servers' tools, kept beside the audit: what one process learnt, the next one knows.
#
# A hook sees calls of a server's tools and never the server itself, so that it could not tell a wrong argument's name.
# Whoever does see it (`rightcall wrap`, the gateway, `rightcall hook learn`) leaves what the server listed here.
#
#     <audit>-definitions/<server>.json     {"version": 1, "server": "files", "tools": [ … as listed … ]}
#
# One file for each server, replaced as a whole; folder and files are for their owner's eyes only.

log = LateLog()

VERSION = 1
MOST_BYTES = 16_000_000
"""A list of tools that is longer than this is not kept, and not read."""
_LONGEST = 200
_MOST_SERVERS = 1000
_END = ".json"
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class _Known(Struct, frozen=True):
    version: int
    server: str
    tools: list[dict[str, Any]]


def remember_tools(store: object, server: str, tools: Iterable[Any]) -> bool:
    """Keep what a server listed (`tools` of `tools/list`, as it came) beside this store, or in it where it is on a
    server; it takes the place of what was kept of it. False where nothing can be kept. Never raises."""
    folder, shelf = folder_beside(store), shelf_of(store, "tools")
    if (folder is None and shelf is None) or not 0 < len(server) <= _LONGEST:
        return False
    try:
        text = json.encode(_Known(VERSION, server, [tool for tool in tools if isinstance(tool, dict)]))
        if len(text) > MOST_BYTES:
            log.warning("rightcall: the tools of server %r are too long to be kept for hooks", server)
            return False
        if shelf is not None:
            if shelf.get(server) != text:
                shelf.put(server, text, soon=True)
            return True
        return _replace(folder or "", _file_of(server), text)
    except (OSError, TypeError, ValueError, RecursionError, StoreError) as fault:
        log.warning("rightcall: the tools of server %r could not be kept for hooks: %s", server, fault)
        return False


def remembered_tools(store: object, server: str) -> list[dict[str, Any]]:
    """What is kept of a server; nothing where nobody has learnt it, or it cannot be read."""
    folder, shelf = folder_beside(store), shelf_of(store, "tools")
    if (folder is None and shelf is None) or not 0 < len(server) <= _LONGEST:
        return []
    try:
        kept = shelf.get(server) if shelf is not None else _contents(os.path.join(folder or "", _file_of(server)))
        if kept is None:
            return []
        known = json.decode(kept, type=_Known)
    except (OSError, MsgspecError, RecursionError, StoreError):  # without it a hook knows less, and is no less strict
        return []
    return known.tools if known.version == VERSION and known.server == server else []


def remembered_servers(store: object) -> list[str]:
    """The servers of which something is kept, in order."""
    folder, shelf = folder_beside(store), shelf_of(store, "tools")
    try:
        if shelf is not None:
            return [name for name, _ in shelf.saved()[:_MOST_SERVERS]]
        with os.scandir(folder or "") as files:
            names = [file.name for file in islice(files, _MOST_SERVERS)]
    except (OSError, StoreError):
        return []
    return sorted(_server_of(name) for name in names if name.endswith(_END))


def _contents(path: str) -> bytes:
    """Of a plain file: what else has its name (a pipe, a device, a link) is neither followed nor waited for."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    with open(handle, "rb") as opened:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
            raise OSError("it is not a file, or too long")
        return opened.read(MOST_BYTES)


def folder_beside(store: object) -> str | None:
    """Beside the database of a store, under a name that the paths it guards cover; None for one that is no file."""
    path = None if hasattr(store, "shelf") else getattr(store, "path", None)
    return None if path is None else f"{path}-definitions"


def _replace(folder: str, name: str, text: bytes) -> bool:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, name)
    with suppress(OSError):
        if _contents(path) == text:
            return True
    fresh = f"{path}.{os.getpid()}.{get_ident()}"
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        with open(fd, "wb") as opened:
            opened.write(text)
        os.replace(fresh, path)
    except OSError:
        with suppress(OSError):
            os.unlink(fresh)
        raise
    return True


def _file_of(server: str) -> str:
    """A server may be called anything; a file may not."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in server.encode()) + _END


def _server_of(file: str) -> str:
    from urllib.parse import unquote

    return unquote(file.removesuffix(_END), errors="replace")


# ── what the tools and servers were, and what people have accepted ──

_MOST_READ: Final = 10_000
"""Records of definitions that are read, the newest of them."""

KnownKind = Literal["tool", "server"]


class Sighting(Struct, frozen=True):
    """One definition of a tool, or one way to a server, and since when it counts."""

    record: int
    at: str
    """UTC."""
    what: str
    """`first seen`, or `accepted` by a person."""
    by: str
    digest: str
    described: str
    """JSON."""


class Known(Struct, frozen=True):
    """A tool or a server that was seen, as it was each time, the oldest first."""

    kind: KnownKind
    name: str
    seen: tuple[Sighting, ...]

    @property
    def first(self) -> Sighting:
        return self.seen[0]

    @property
    def last(self) -> Sighting:
        return self.seen[-1]

    @property
    def is_changed(self) -> bool:
        return self.first.digest != self.last.digest


def known_definitions(tables: Tables) -> dict[tuple[KnownKind, str], Known]:
    """By kind and name, those that are pinned now. Their first sightings may be pruned: then the oldest that is kept
    counts as the first."""
    found: dict[tuple[KnownKind, str], list[Sighting]] = {}
    for entry in reversed(tables.newest(_MOST_READ, ("definition",))):
        read = _read(entry)
        if read is not None and read[1].what != SEEN:
            found.setdefault(read[0], []).append(read[1])
    return {
        (kind, name): Known(kind, name, tuple(seen))
        for (kind, name), seen in found.items()
        if tables.definition(server_key(name) if kind == "server" else name) is not None
    }


class _Data(Struct, frozen=True):
    definition: str
    tool: str = ""
    server: str = ""
    described: str = ""


class _Note(Struct, frozen=True):
    what: str
    data: _Data
    by: str = ""


_decode = reader_of(_Note)


def _read(entry: AuditEntry) -> tuple[tuple[KnownKind, str], Sighting] | None:
    """None for a record that somebody else wrote."""
    try:
        note = _decode(entry.body)
    except DecodeError:
        return None
    data = note.data
    kind: KnownKind = "server" if data.server else "tool"
    sighting = Sighting(entry.seq, entry.at, note.what, note.by, data.definition, data.described)
    return (kind, data.server or data.tool), sighting


# ── documents ──
# Documents that belong to a store and are no records: what MCP servers listed last, requests that were routed.
#
#     a store on a server ─▶ in its tables, for all nodes
#     a store in memory   ─▶ in memory
#     a SQLite file       ─▶ no shelf: they lie beside it as files (above, and `router/packets.py`)
#
# Nothing decides by a document alone, and none is part of the chain.

Kind = Literal["tools", "requests"]
"""What a shelf holds: the lists of MCP servers' tools by the server's name, or saved requests by their id."""


class Shelf(Protocol):
    """Raises StoreError where the store cannot be used."""

    place: str
    """How it is called in messages."""

    def put(self, name: str, data: bytes, *, soon: bool = False) -> None:
        """In the place of what was there. `soon`: nobody waits for it."""
        ...

    def get(self, name: str) -> bytes | None: ...

    def saved(self) -> list[tuple[str, float]]:
        """The names in order, each with the moment it was last saved, in seconds since 1970."""
        ...

    def drop(self, name: str) -> bool:
        """Whether there was one."""
        ...


def shelf_of(store: object, kind: Kind) -> Shelf | None:
    """None for a store beside which such documents are files."""
    make = getattr(store, "shelf", None)
    return None if make is None else make(kind)
