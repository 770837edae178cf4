"""Rooms (design 002 §12): what callers that share a context tell one another.

    room/post ─▶ redacted ─▶ a record `message` of the audit ─▶ room/read of every caller that was in the room

A room is a context, and the host alone says under which context a call runs: so nobody gets into a room by naming it. A
caller is in the room of the call it makes now, in those under which the audit has calls of its own, and in those that
the policy names (`rooms` in `[callers.NAME]`), for callers whose contexts are never the same, such as clients over MCP.
One that may see everybody's records (`records = "all"`) reads every room, and still writes only in its own.

The tools count as reading: a post changes nothing but the record, which holds the arguments of every call anyway, and
what others do because of it is judged as their own call. So they run in every stage, without a person. What bounds
them: `deny`, `[policy.approval] tools`, the limits on calls, and the size of a post. What another agent wrote is
hostile input to whoever reads it, and is shown as such.

The messages are part of the audit: in the chain, shared by the processes of a store, removed by `audit prune`.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, Literal

from msgspec import DecodeError, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from rightcall.base.redact import Redactor
from rightcall.base.text import AnswerRoom, render_json
from rightcall.catalog.packs import load_pack
from rightcall.errors import StoreError, ToolFailure
from rightcall.policy.settings import Settings, records_of
from rightcall.record.browse import SEARCHED, look_up, moment, newest_first
from rightcall.record.calls import CALLS
from rightcall.record.notes import POST, Post, note_post
from rightcall.record.tables import AuditEntry, Store, Tables, encode
from rightcall.tools.functions import LocalTool, Work, packed_tool

_LONGEST: Final = 4000
"""Characters of a post, and"""
_MOST: Final = 100
"""messages in one reading, as the schemas say; a policy may let calls pass that do not fit them."""
_MOST_ROOMS: Final = 50
_MOST_NAMES: Final = 20
_NO_ROOM: Final = (
    "This call belongs to no conversation, so it has no room. A host names the conversation (`context`) when it runs a "
    "call; go on without a room."
)


# ── the tools ──


class PostArguments(Struct, frozen=True, kw_only=True):
    text: str
    kind: Literal["message", "finding"] = "message"
    room: str | None = None
    caller: str = ""
    context: str | None = None


class ReadArguments(Struct, frozen=True, kw_only=True):
    since: int | None = None
    limit: int = 20
    room: str | None = None
    caller: str = ""
    context: str | None = None


class ListArguments(Struct, frozen=True, kw_only=True):
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
        packed_tool(about["room/read"], lambda: Work(ReadArguments, guard.read)),
        packed_tool(about["room/list"], lambda: Work(ListArguments, guard.list)),
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

    def read(self, asked: ReadArguments) -> Messages:
        room, most = self._room("room/read", asked), min(max(asked.limit, 1), _MOST)
        return look_up(self._store(), lambda tables: _read(tables, room, asked.since, most))

    def list(self, asked: ListArguments) -> Rooms:
        whose = None if self._sees_all(asked.caller) else asked.caller
        current, named = self._hidden(asked.context), self._named(asked.caller)
        return look_up(self._store(), lambda tables: _list(tables, whose, current, named))

    def _hidden(self, told: Any) -> Any:
        """As the records have it."""
        return Redactor(self._store().key(), self._settings.audit.redact).value(told)

    def _named(self, caller: str) -> tuple[str, ...]:
        """The rooms that the policy lets a caller into."""
        own = self._settings.callers.get(caller)
        return own.rooms if own is not None else ()

    def _sees_all(self, caller: str) -> bool:
        return records_of(self._settings, caller) == "all"

    def _room(self, tool: str, asked: PostArguments | ReadArguments) -> str:
        """The room that a call means. One that its caller was never in is as unknown to it as one that does not exist;
        before anything is written, so that nobody waits for the search."""
        room, current = self._hidden(asked.room or asked.context), self._hidden(asked.context)
        if room is None:
            raise ToolFailure(_NO_ROOM)
        at_home = room == current or room in self._named(asked.caller)
        if at_home or (tool == "room/read" and self._sees_all(asked.caller)):
            return room
        if look_up(self._store(), lambda tables: _was_in(tables, asked.caller, room)):
            return room
        known = "room/list shows those that there are"
        raise ToolFailure(f"{tool}: `room` names no room of yours: {render_json(room, 100)}; {known}.")


# ── in the record ──


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
    return any(_whose(entry) == (caller, room) for entry in calls)


def _whose(entry: AuditEntry) -> tuple[str, str | None]:
    try:
        found = _read_whose(entry.body)
    except DecodeError:
        return "", None
    return found.caller, found.context


def _read(tables: Tables, room: str, since: int | None, limit: int) -> Messages:
    head, wanted = tables.head()[0], encode(room)

    def posts(entries: Iterator[AuditEntry]) -> Iterator[Message]:
        for entry in entries:
            found = _post_in(entry) if wanted in entry.body else None
            if found is not None and found.context == room:
                yield Message(entry.seq, moment(entry.at), found.caller, found.kind, found.text)

    # one more than is asked for tells whether there are more
    entries = newest_first(tables) if since is None else tables.entries(max(since, head - SEARCHED))
    found, left = list(islice(posts(entries), limit + 1)), AnswerRoom()
    shown = [one for one in found[:limit] if left.take(one)]
    more = len(shown) < len(found)
    if since is None:
        return Messages(room=room, messages=shown[::-1], next=head, truncated=more)
    return Messages(room=room, messages=shown, next=shown[-1].id if more and shown else head, truncated=more)


def _list(tables: Tables, whose: str | None, current: str | None, named: tuple[str, ...]) -> Rooms:
    """One pass over the newest records: rooms with messages, and where the caller was; those that the policy names are
    there without a message, too."""
    rooms: dict[str, dict[str, Any]] = {}
    own = {current, *named}
    for entry in newest_first(tables):
        post = _post_in(entry)
        if post is not None:
            room = rooms.setdefault(post.context, _empty(post.context, moment(entry.at)))
            room["messages"] += 1
            if post.caller not in room["from"] and len(room["from"]) < _MOST_NAMES:
                room["from"].append(post.caller)
        elif whose is not None and entry.kind in CALLS:
            caller, context = _whose(entry)
            if caller == whose:
                own.add(context)
    seen = [room for name, room in rooms.items() if whose is None or name in own]
    seen += [_empty(name) for name in named if name not in rooms]
    return Rooms(current=current, rooms=seen[:_MOST_ROOMS], truncated=len(seen) > _MOST_ROOMS)


def _empty(room: str, last: str | None = None) -> dict[str, Any]:
    return {"room": room, "messages": 0, "from": list[str](), "last": last}
