"""Which tools a server has: learned from the lists that pass by, asked for where a call comes before any list."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, cast

from msgspec import Struct

from rightcall.mcp.eras import envelope
from rightcall.mcp.messages import Id, Message, mapping, request, value

MOST_PAGES: Final = 100
MOST_BYTES: Final = 4 << 20
"""Of one list: a longer one passes and is not learned."""
MOST_TOOLS: Final = 10_000
_MOST_OPEN: Final = 1_000
"""Lists of the client that wait for an answer, and cursors that are remembered."""

Resume = Callable[[], None]


class Own(Struct, frozen=True):
    """A request of our own for a page."""

    id: Id
    page: int
    envelope: Mapping[str, Any]
    age: int


class Links(Protocol):
    """What a listing needs of its surroundings."""

    def own_id(self) -> str: ...
    def to_server(self, line: bytes) -> bool: ...
    def later(self, seconds: float, work: Callable[[], None]) -> None: ...
    def soon(self, work: Callable[[], None]) -> None: ...


class Listing:
    """The tools of one server, and the calls that wait for them. Thread-safe; nothing is sent under its lock."""

    def __init__(self, links: Links, learn: Callable[[list[Any]], None], seconds: float) -> None:
        self._links = links
        self._learn = learn
        self._seconds = seconds
        self._lock = threading.Condition()
        self._age = 0
        """Grows when the server says that its tools have changed."""
        self._ready = False
        self._vain = False
        """The server was asked and gave no list: calls wait no longer for it."""
        self._asked: dict[Id, tuple[str | None, int]] = {}
        self._begun: dict[str, list[Any]] = {}
        """By cursor: the tools on the pages before it."""
        self._known: list[Any] = []
        self._own: Own | None = None
        self._held: dict[Id, Resume] = {}
        self._resuming = 0

    def client_asks(self, id: Id, params: Mapping[str, Any]) -> None:
        """The client asks for a list, or for its next page."""
        cursor = params.get("cursor")
        with self._lock:
            if len(self._asked) < _MOST_OPEN:
                self._asked[id] = (cursor if isinstance(cursor, str) else None, self._age)

    def changed(self) -> None:
        """The server says that its tools are others now."""
        with self._lock:
            self._age += 1
            self._ready = self._vain = False

    def hold(self, id: Id, meta: Mapping[str, Any], resume: Resume) -> bool:
        """Keep a call until the tools are known; False when they are, or when nobody will tell."""
        with self._lock:
            if self._ready or self._vain:
                return False
            self._held[id] = resume
            if self._own is not None:
                return True
            own = self._own = Own(self._links.own_id(), 1, envelope(meta), self._age)
            self._asked[own.id] = (None, own.age)
        self._send(own, {})
        return True

    def _send(self, own: Own, cursor: Mapping[str, Any]) -> None:
        self._links.later(self._seconds, lambda: self._given_up(own))
        self._links.to_server(request(own.id, "tools/list", {**own.envelope, **cursor}) + b"\n")

    def drop(self, id: Id) -> bool:
        """The client takes a call back; whether it was held here."""
        with self._lock:
            return self._held.pop(id, None) is not None

    def settled(self, within: float) -> bool:
        """Wait until no call is held; False when some still are after so many seconds."""
        with self._lock:
            return self._lock.wait_for(lambda: not self._held and not self._resuming, within)

    def answered(self, id: Id, message: Message) -> None:
        """A response arrives; if it is a list that was asked for, it is learned."""
        with self._lock:
            asked = self._asked.pop(id, None)
            own = self._own if self._own is not None and self._own.id == id else None
        if asked is None:
            return
        result = mapping(value(message.result) if len(bytes(message.result)) <= MOST_BYTES else None)
        tools: Any = result.get("tools")
        if isinstance(tools, list):
            self._learned(cast("list[Any]", tools), asked, result.get("nextCursor"))
        if own is not None:
            self._links.soon(lambda: self._next(own, result))

    def _learned(self, tools: list[Any], asked: tuple[str | None, int], following: Any) -> None:
        cursor, age = asked
        with self._lock:
            all_tools = _once([*(self._begun.pop(cursor, []) if cursor is not None else []), *tools])
            if isinstance(following, str) and len(self._begun) < _MOST_OPEN:
                self._begun[following] = all_tools
            whole = not isinstance(following, str) and age == self._age
            told = (whole or not self._ready) and all_tools != self._known
        if told:
            self._learn(all_tools)
            self._known = all_tools
        if whole:
            with self._lock:
                self._ready = age == self._age
                self._begun.clear()

    def _next(self, own: Own, result: Mapping[str, Any]) -> None:
        following = result.get("nextCursor")
        if not isinstance(following, str) or own.page >= MOST_PAGES:
            self._given_up(own)
            return
        after = Own(self._links.own_id(), own.page + 1, own.envelope, own.age)
        with self._lock:
            if self._own is not own:  # given up meanwhile
                return
            self._own = after
            self._asked[after.id] = (following, after.age)
        self._send(after, {"cursor": following})

    def _given_up(self, own: Own) -> None:
        """Nothing more is to be waited for: the calls that waited go on, whatever is known by now."""
        with self._lock:
            if self._own is not own:
                return
            self._own = None
            self._vain = not self._ready and own.age == self._age
            held, self._held = self._held, {}
            self._resuming += 1
        try:
            for resume in held.values():
                resume()
        finally:
            with self._lock:
                self._resuming -= 1
                self._lock.notify_all()


def _once(tools: list[Any]) -> list[Any]:
    """Each name once: the first that the server gave it to, as a client would find it."""
    found: dict[Any, Any] = {}
    for tool in tools:
        name = mapping(tool).get("name")
        if isinstance(name, str) and len(found) < MOST_TOOLS:
            found.setdefault(name, tool)
    return list(found.values())
