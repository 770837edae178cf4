"""Which tools a server has: learned from the lists that pass by, asked for where a call comes before any list.

Of a list that is not read whole, the part that was read is learned: a tool that was known and does not stand in it
counts as changed (P-08). Otherwise a list too long to be read would hide what has changed in it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, cast

from msgspec import Struct
from msgspec.json import encode

from rightcall.mcp.messages import Id, Message, envelope, mapping, request, value

MOST_PAGES: Final = 100
MOST_BYTES: Final = 4 << 20
"""Of one page: a longer one passes unread."""
MOST_TOOLS: Final = 10_000
_MOST_ATTEMPTS: Final = 3
_MOST_OPEN: Final = 1_000
"""Lists of the client that wait for an answer."""
_MOST_ALIKE: Final = 10
"""Definitions of one name; a tool with more is left out."""

Resume = Callable[[], None]
Told = Mapping[str, tuple[Any, ...]]
"""By name: how the server defines a tool, usually in one way."""


class Own(Struct, frozen=True):
    """A request of our own for a page."""

    id: Id
    page: int
    envelope: Mapping[str, Any]
    age: int
    attempt: int = 1
    """The tools may change while they are listed."""


class Gathered(Struct, frozen=True):
    """The tools on the pages so far."""

    tools: Told = {}
    whole: bool = True
    """Nothing of these pages is missing."""


_NOTHING: Final = Gathered(whole=False)


class Asked(Struct, frozen=True):
    """A list that is on its way."""

    cursor: str | None
    age: int
    own: bool = False


class Links(Protocol):
    """What a listing needs of its surroundings."""

    def list_id(self) -> str: ...
    def to_server(self, line: bytes) -> bool: ...
    def later(self, seconds: float, work: Callable[[], None]) -> Callable[[], None]: ...
    def soon(self, work: Callable[[], None]) -> None: ...


class Listing:
    """The tools of one server, and the calls that wait for them. Thread-safe; nothing is sent under its locks."""

    def __init__(self, links: Links, learn: Callable[[list[Any]], None], seconds: float) -> None:
        self._links = links
        self._learn = learn
        self._seconds = seconds
        self._lock = threading.Condition()
        self._learning = threading.Lock()
        """One after the other: what is read last is what is known."""
        self.age = 0
        """Grows when the server says that its tools have changed, and when others are learned."""
        self._ready = False
        self._vain = False
        """The server was asked and gave no list, or none that can be read: calls wait no longer for it."""
        self._asked: dict[Id, Asked] = {}
        self._begun: dict[str, Gathered] = {}
        """By cursor: what stands on the pages before it."""
        self._known: Gathered | None = None
        self._told: Told = {}
        """What the client was told last of each tool. A server may tell us otherwise, so that nobody would notice."""
        self._latest = _NOTHING
        self._own: Own | None = None
        self._call_off: Callable[[], None] = lambda: None
        self._news = 0
        """How often the server has said that its tools are others."""
        self._held: dict[Id, Resume] = {}
        self._resuming = 0

    def client_asks(self, id: Id, params: Mapping[str, Any]) -> None:
        """The client asks for a list, or for its next page."""
        cursor = params.get("cursor")
        with self._lock:
            if len(self._asked) >= _MOST_OPEN:  # its answer will not be known as one
                self._asked.pop(next(iter(self._asked)))
                self._ready = False
            self._asked[id] = Asked(cursor if isinstance(cursor, str) else None, self._news)

    def changed(self) -> None:
        """The server says that its tools are others now."""
        with self._lock:
            self.age += 1
            self._news += 1
            self._ready = self._vain = False
            self._latest = _NOTHING

    def hold(self, id: Id, meta: Mapping[str, Any], resume: Resume) -> bool:
        """Keep a call until the tools are known; False when they are, or when nobody will tell."""
        with self._lock:
            if self._ready or self._vain:
                return False
            self._held[id] = resume
            if self._own is not None:
                return True
            own = self._own = Own(self._links.list_id(), 1, envelope(meta), self._news)
            self._asked[own.id] = Asked(None, own.age, own=True)
            self._call_off = self._links.later(self._seconds, lambda: self._over(self._own))
        self._send(own, {})
        return True

    def holds(self, id: Id) -> bool:
        return id in self._held

    def _send(self, own: Own, cursor: Mapping[str, Any]) -> None:
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
        result = message.result if len(bytes(message.result)) <= MOST_BYTES else None
        self._answered(id, mapping(value(result)) if result is not None else {}, failed=bool(message.error))

    def unread(self, id: Id | None) -> None:
        """A response passes that is too long to be read. Where nobody can say whose it is, it may be a list."""
        if id is not None:
            self._answered(id, {}, failed=False)
            return
        with self._lock:
            waiting = bool(self._asked)
        if waiting:
            self._read(_NOTHING, None)

    def _answered(self, id: Id, result: Mapping[str, Any], *, failed: bool) -> None:
        with self._lock:
            asked = self._asked.pop(id, None)
            if asked is None and isinstance(id, str) and id.isdecimal() and len(id) < 20:
                asked = self._asked.pop(int(id), None)  # clients take the one for the other
            own = self._own if self._own is not None and self._own.id == id else None
        if asked is None:
            return
        tools: Any = result.get("tools")
        following = result.get("nextCursor") or None
        try:
            if isinstance(tools, list):
                self._page(cast("list[Any]", tools), asked, following)
            elif not failed:
                self._read(_NOTHING, None)
        except Exception:
            self._read(_NOTHING, None)
            raise
        finally:
            if own is not None:
                self._links.soon(lambda: self._next(own, following))

    def _page(self, tools: list[Any], asked: Asked, following: Any) -> None:
        with self._lock:
            before = Gathered() if asked.cursor is None else self._begun.get(asked.cursor, _NOTHING)
            gathered = self._latest = _joined(before, tools)
            if isinstance(following, str):
                if len(self._begun) >= MOST_PAGES:
                    self._begun.pop(next(iter(self._begun)))
                self._begun[following] = gathered
            if asked.own:
                gathered = _joined(gathered, [
                    one for name, told in self._told.items() if name in gathered.tools for one in told
                ])  # fmt: skip
            else:
                told = {**self._told, **gathered.tools}
                self._told = told if len(told) <= MOST_TOOLS else gathered.tools
            known, ready = self._known or _NOTHING, self._ready
        if following is None:
            self._read(gathered, asked.age)
        elif not gathered.whole or not isinstance(following, str):
            self._read(Gathered(gathered.tools, whole=False), None)
        elif ready:  # what is new in it counts at once, whether or not anybody reads on
            self._read(Gathered({**known.tools, **gathered.tools}, known.whole), None)

    def _read(self, gathered: Gathered, age: int | None) -> None:
        """A list has come to its end, or cannot be read. `age`: how new it is; None where that does not matter."""
        with self._learning:
            if gathered != self._known:
                self._learn([_as_one(told) for told in gathered.tools.values()])
                self._known = gathered
                with self._lock:
                    self.age += 1
            with self._lock:
                if age is None or age == self._news:
                    self._ready, self._vain = gathered.whole, not gathered.whole

    def _next(self, own: Own, following: str | None) -> None:
        with self._lock:
            old = own.age != self._news
        if old and own.attempt < _MOST_ATTEMPTS:
            self._follow(own, Own(self._links.list_id(), 1, own.envelope, self._news, own.attempt + 1), None)
        elif not old and isinstance(following, str) and own.page < MOST_PAGES:
            after = Own(self._links.list_id(), own.page + 1, own.envelope, own.age, own.attempt)
            self._follow(own, after, following)
        else:
            self._over(own)

    def _follow(self, own: Own, after: Own, cursor: str | None) -> None:
        with self._lock:
            if self._own is not own:  # given up meanwhile
                return
            self._own = after
            self._asked[after.id] = Asked(cursor, after.age, own=True)
        self._send(after, {} if cursor is None else {"cursor": cursor})

    def _over(self, own: Own | None) -> None:
        """Nothing more is to be waited for: the calls that waited go on, with what is known by now."""
        with self._lock:
            if own is None or self._own is not own:
                return
            vain = not self._ready and not self._vain
            part = Gathered(self._latest.tools, whole=False)
        if vain:
            self._read(part, None)
        with self._lock:
            if self._own is not own:
                return
            self._own = None
        self.end()

    def end(self) -> None:
        """No list will come: the calls that waited for one go on. Nothing is learned from that."""
        with self._lock:
            self._own = None
            self._call_off()
            held, self._held = self._held, {}
            self._resuming += 1
        try:
            for resume in held.values():
                resume()
        finally:
            with self._lock:
                self._resuming -= 1
                self._lock.notify_all()


def _joined(before: Gathered, tools: list[Any]) -> Gathered:
    """With further tools, as far as they have names and there is room."""
    found: dict[str, tuple[Any, ...]] = dict(before.tools)
    whole = before.whole
    for tool in tools:
        name = mapping(tool).get("name")
        if not isinstance(name, str):
            continue
        told = found.get(name, ())
        if tool in told:
            continue
        if len(told) >= _MOST_ALIKE or (not told and len(found) >= MOST_TOOLS):
            whole = False
            found.pop(name, None)
        else:
            found[name] = (*told, tool)
    return Gathered(found, whole)


def _as_one(told: tuple[Any, ...]) -> Any:
    """The first that the server gave the name to, as a client would find it; the others are part of what it says."""
    first, *others = told
    if not others:
        return first
    also = encode(others, order="deterministic").decode()
    return {**mapping(first), "description": f"{mapping(first).get('description', '')}\n\nUnder the same name: {also}"}
