"""One gateway for many clients, which can do different things.

In the old era a server is told once what its client can do (be asked, have its model used), and offers tools to match.
So that every client finds what it would find without us, clients that can do the same share one session with each
server; those that can do nothing, which are most, share the first. Where a server knows both eras, clients of the old
one share sessions of that. A client that has folders to tell of (roots) shares its session with nobody: one's are not
another's. There are only so many groups; a client that would need one more is served with the first. A group that
nobody has used for some minutes ends with its servers, and that of one client when the client leaves.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import count
from time import monotonic
from typing import Any, Final, TypeVar, cast

from msgspec import Raw, Struct, json
from msgspec.structs import replace

from rightcall.base.text import escaped, wire_name
from rightcall.errors import ToolFailure
from rightcall.executor.calls import identity_now
from rightcall.executor.door import Door
from rightcall.executor.toolbox import Missing, other_names
from rightcall.mcp.gateway.forward import asks, era_of
from rightcall.mcp.gateway.gateway import GREETING, Following, Gateway, Shared
from rightcall.mcp.gateway.names import ToolEntry
from rightcall.mcp.gateway.tasks import Tasks
from rightcall.mcp.links import for_caller, open_link
from rightcall.mcp.messages import Answer, Era, Refused, header_value, mapping, mirrored, value
from rightcall.mcp.serving import Client, Exchange
from rightcall.mcp.session import ServerGone, ServerSlow, Session, SessionExpired, describe_loss, spawn
from rightcall.mcp.upstream import Opening, Upstream, envelope_for, headers_for
from rightcall.policy.types import caller_for
from rightcall.record.notes import remember_tools

ABILITIES: Final = (
    "elicitation", "elicitation.form", "elicitation.url", "sampling", "sampling.context", "sampling.tools",
    "tasks", "tasks.list", "tasks.cancel", "tasks.requests.sampling.createMessage", "tasks.requests.elicitation.create",
)  # fmt: skip
"""What clients can do for a server, and the ways of it."""
PAGES: Final = "io.modelcontextprotocol/ui"
"""The extension of clients that show pages of a server. It has no requests of its own: the pages are resources."""
MOST_SAID: Final = 1_000
"""Bytes of what a client says of that."""
MOST: Final = 8
"""Groups that clients share,"""
MOST_OWN: Final = 8
"""and those of one client each."""
MOST_CALLERS: Final = 64
"""Callers with sessions of their own, at servers where each has a login."""
PATIENCE: Final = 20.0
"""Seconds that a client waits for servers that start for its group and are known to work: without us it would wait for
them too."""
CUTTING: Final = 5.0
"""Seconds in which what is cut off must have been recorded."""
UNUSED: Final = 300.0
"""Seconds after which a group without clients ends."""


class Group(Struct, frozen=True):
    """Clients that share one session with each server."""

    abilities: tuple[str, ...] = ()
    era: Era = "new"
    """In which servers that know both are spoken to."""
    own: int = 0
    """It is one client's alone, which a server may ask; 0: any client's that can do this."""
    roots: bool = False
    """Whether that client tells its folders."""
    pages: bytes = b""
    """Which pages of servers the clients show, as they say it; none where they show none."""
    caller: str = ""
    """Whose clients they are, where a server wants a login of each (`per_caller`)."""


_NOTHING: Final = Group()


class Place(Struct, frozen=True):
    """Where several processes are one server: the name of this one, and how it reaches servers that run once for all
    of them; it is told which group of clients it is for, and "" where that is one client's alone."""

    name: str = ""
    opening: Callable[[str], Opening] | None = None


_ALONE: Final = Place()


class SharedGateway:
    """The same for its clients as a `Gateway` of their own."""

    def __init__(
        self, door: Door, open_link: Opening, *, news: Callable[[str], None] = lambda _: None, place: Place = _ALONE
    ) -> None:
        self.door = door
        self._place = place
        self.tidying: list[Callable[[], None]] = []
        """What else is to be done from time to time."""
        self._open_link = open_link
        self._recorded = 0
        self._tasks = Tasks(door, place.name)
        self._numbers = count(1)
        self._group_of: dict[Client, Group] = {}
        """Of clients that have shaken hands: they stay with the servers that they were introduced to."""
        self._known = Known(door)
        self._groups: dict[Group, Gateway] = {}
        self._used: dict[Group, float] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._following = Following(door, self._follow, self._tidy)
        self._groups[_NOTHING] = self._gateway(_NOTHING, news)

    @property
    def first(self) -> Gateway:
        """That of the clients which can do nothing; it stands for all where people look."""
        return self._groups[_NOTHING]

    def start(self) -> None:
        self.first.start()
        self._following.start()

    def state(self) -> dict[str, Any]:
        """Of each server; `groups` says how its further sessions are, for clients that can do more."""
        told = self.first.state()
        for group, gateway in self._groups.items():
            for server, state in gateway.state().items() if group != _NOTHING else ():
                told.setdefault(server, {"state": "off"}).setdefault("groups", {})[_called(group)] = state
        return told

    def definitions(self) -> list[tuple[str, dict[str, Any]]]:
        """Every tool of the servers, each with its server."""
        return self.first.definitions()

    @property
    def recorded(self) -> int:
        """Calls of which there is a record, also of groups that have ended."""
        return self._recorded + sum(gateway.recorded for gateway in self._groups.values())

    @property
    def is_busy(self) -> bool:
        """Whether any client has begun something that only this gateway can end."""
        return any(gateway.is_busy for gateway in self._groups.values())

    @property
    def is_answering(self) -> bool:
        return bool(self._running())

    async def cut_off(self) -> None:
        """End what still runs, and wait until that is recorded."""
        running = self._running()
        for task in running:
            if not task.cancelling():  # a second time would cut off its record
                task.cancel()
        if running:
            await asyncio.wait(running, timeout=CUTTING)

    def _running(self) -> set[asyncio.Task[Any]]:
        return {task for gateway in self._groups.values() for task in gateway.running}

    def end_news(self) -> None:
        for gateway in self._groups.values():
            gateway.news.end()

    async def aclose(self) -> None:
        self._following.stop()
        await asyncio.gather(*(gateway.aclose() for gateway in self._groups.values()), *self._closing)

    def _follow(self) -> None:
        for gateway in self._groups.values():
            gateway.follow()

    def _tidy(self) -> None:
        for work in self.tidying:
            work()
        now = monotonic()
        for group, gateway in list(self._groups.items()):
            if gateway.is_used:
                self._used[group] = self._used[group] if group.own else now  # since its client has asked for something
            elif group != _NOTHING and now - self._used.get(group, now) > UNUSED:
                self._end(group)

    def _end(self, group: Group) -> None:
        gateway = self._groups.pop(group)
        self._recorded += gateway.recorded
        self._used.pop(group, None)
        self._known.forget(group)
        spawn(self._closing, gateway.aclose())

    # what clients ask

    async def introduction(self, client: Client, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        if not client.is_greeted:
            return await self.group_of(capabilities, client.caller).introduction(client, capabilities)
        await self.first.settled(GREETING)  # which shows what eras its servers know
        self._leave(client)
        gateway = self._greeted(client)
        working = [one for one in gateway.upstreams() if self._works(one.name)]
        await asyncio.gather(*(one.tried(PATIENCE) for one in working))
        return await gateway.introduction(client, capabilities)

    async def answer(self, exchange: Exchange) -> Answer:
        client = exchange.client
        own = self._greeted(client) if client.is_greeted else self.group_of(exchange.capabilities, client.caller)
        return await own.answer(exchange)

    def noticed(self, client: Client, method: str, params: Raw) -> None:
        own = self._greeted(client) if client.is_greeted else self.group_of(client.capabilities, client.caller)
        own.noticed(client, method, params)

    def gone(self, client: Client) -> None:
        for gateway in self._groups.values():
            gateway.gone(client)
        self._leave(client)

    def _leave(self, client: Client) -> None:
        """It has gone, or shakes hands again and may be another's then."""
        group = self._group_of.pop(client, None)
        gateway = self._groups.get(group) if group is not None else None
        if gateway is not None:
            gateway.news.sessions.discard(client)
        if group is not None and gateway is not None and group.own:
            self._end(group)

    def _greeted(self, client: Client) -> Gateway:
        """The gateway of a client of the old era."""
        known = self._group_of.get(client)
        if known is not None and known in self._groups:
            return self._opened(known)
        group = self._split(_group(client.capabilities, "old" if self._know_both else "new"), client.caller)
        roots = isinstance(client.capabilities.get("roots"), dict)
        if (roots or (group.abilities and self._asks_anybody)) and self._has_room_for_one():
            group = replace(group, own=next(self._numbers), roots=roots)
        group = self._group_of[client] = group if self._has_room(group) else _NOTHING
        gateway = self._opened(group)
        if known is not None:  # its group has made room for another meanwhile
            gateway.noticed(client, "notifications/initialized", Raw(b""))
        return gateway

    def _has_room_for_one(self) -> bool:
        """One that has asked nothing for some minutes makes room: its client may have gone without a word."""
        own = [group for group in self._groups if group.own]
        if len(own) + len(self._closing) < MOST_OWN:
            return True
        idle = [one for one in own if monotonic() - self._used[one] > UNUSED and not self._groups[one].is_busy]
        if idle:
            self._end(min(idle, key=self._used.__getitem__))
        return bool(idle)

    @property
    def _know_both(self) -> bool:
        """Whether the era of a client may make a difference to any server; one that just starts may know both."""
        return any(era_of(one) == "new" or one.state == "starting" for one in self.first.upstreams())

    @property
    def _asks_anybody(self) -> bool:
        """Whether a server's question may be any client's that shares it: over pipes it names no call."""
        return any(one.server.command for one in self.first.upstreams())

    def _works(self, server: str) -> bool:
        upstream = self.first.upstream(server)
        return upstream is not None and upstream.state == "ready"

    def group_of(self, capabilities: Mapping[str, Any], caller: str = "") -> Gateway:
        """The gateway of this caller's clients of the new era that can do this."""
        group = self._split(_group(capabilities, "new"), caller)
        return self._opened(group if self._has_room(group) else _NOTHING)

    def _split(self, group: Group, caller: str) -> Group:
        """Of this caller alone, where any server knows its callers by a login of each; of one person, where an identity
        provider says who it is: several may be one caller."""
        if not any(one.per_caller for one in self.door.policy.servers.values()):
            return group
        issuer, subject = identity_now()
        return replace(group, caller=caller_for(issuer, subject) if issuer else caller)

    def _has_room(self, group: Group) -> bool:
        if group in self._groups or group.own > 0:
            return True
        shared = [one.caller for one in self._groups if one.own == 0]
        return shared.count(group.caller) < MOST and (group.caller in shared or len({*shared}) <= MOST_CALLERS)

    def _opened(self, group: Group) -> Gateway:
        """Its servers start with the first of its clients."""
        self._following.look()
        gateway = self._groups.get(group)
        if gateway is None:
            gateway = self._groups[group] = self._gateway(group, lambda _: None)
            gateway.start()
        self._used[group] = monotonic()
        return gateway

    def _gateway(self, group: Group, news: Callable[[str], None]) -> Gateway:
        shared = Shared(
            self._tasks, partial(self._known.take, group), group.era, alone=group.own > 0, place=self._place.name
        )
        opening, named = self._place.opening, "" if group.own else json.encode(group).decode()
        open_link = self._open_link if opening is None else opening(named)
        if group.caller:
            open_link = for_caller(open_link, group.caller)
        return Gateway(self.door, open_link, capabilities=_describe_abilities(group), news=news, shared=shared)


class Known:
    """What the door knows of tools that several find each in their own way: every one that any of them may see."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._of: dict[str, dict[Hashable, dict[str, Any]]] = {}
        self._knowing = threading.Lock()

    def take(self, whose: Hashable, definitions: list[Any], space: str) -> None:
        """Called in threads: one at a time, so that what is known last is what was learnt last."""
        with self._knowing:
            known = self._of.setdefault(space, {})
            known.pop(whose, None)
            known[whose] = {str(mapping(one).get("name")): one for one in definitions}
            joined: dict[str, Any] = {}
            for one in known.values():
                joined |= one
            self._door.know(list(joined.values()), space)
            remember_tools(self._door.store, space, joined.values())  # for the hooks of hosts with the same server

    def forget(self, whose: Hashable) -> None:
        with self._knowing:
            for known in self._of.values():
                known.pop(whose, None)


def _called(group: Group) -> str:
    """
    >>> _called(Group(("elicitation", "elicitation.form", "elicitation.url", "sampling")))
    'elicitation (form, url), sampling'
    >>> _called(Group((), "old", 3, roots=True)), _called(Group(("sampling",), "old", 3))
    ('handshake, roots of client 3', 'sampling, handshake, client 3 alone')
    >>> _called(Group(pages=b"{}")), _called(Group(caller="ann"))
    ('pages', 'caller ann')
    """
    names = [name for name in group.abilities if "." not in name]
    ways = {name: [one.partition(".")[2] for one in group.abilities if one.startswith(f"{name}.")] for name in names}
    parts = [f"{name} ({', '.join(ways[name])})" if ways[name] else name for name in names]
    parts += ["pages"] if group.pages else []
    parts += [f"caller {escaped(group.caller, 100)}"] if group.caller else []
    parts += ["handshake"] if group.era == "old" else []
    alone = f"roots of client {group.own}" if group.roots else f"client {group.own} alone"
    return ", ".join([*parts, alone] if group.own else parts)


def _group(capabilities: Mapping[str, Any], era: Era) -> Group:
    said = mapping(capabilities.get("extensions")).get(PAGES)
    pages = json.encode(said, order="deterministic") if isinstance(said, dict) else b""
    return Group(_abilities(capabilities), era, pages=pages if len(pages) <= MOST_SAID else b"")


def _abilities(capabilities: Mapping[str, Any]) -> tuple[str, ...]:
    """
    >>> _abilities({"roots": {}, "elicitation": {"url": {}, "form": {}, "own": {}}, "tasks": {"requests": 1}})
    ('elicitation', 'elicitation.form', 'elicitation.url', 'tasks')
    """
    return tuple(path for path in ABILITIES if _holds(capabilities, path))


def _holds(capabilities: Mapping[str, Any], path: str) -> bool:
    found: Any = capabilities
    for name in path.split("."):
        found = mapping(found).get(name)
    return isinstance(found, dict)


def _describe_abilities(group: Group) -> dict[str, Any]:
    """What servers are told that the clients of a group can do."""
    told: dict[str, Any] = {"roots": {"listChanged": True}} if group.roots else {}
    for path in group.abilities:
        inner = told
        for name in path.split("."):
            inner = inner.setdefault(name, {})
    return {**told, "extensions": {PAGES: json.decode(group.pages)}} if group.pages else told


# ── for an executor ──
# The servers of the policy as a source of tools for an executor: a gateway without clients, in a thread and an event
# loop of its own, so that it can be asked from any other. `rightcall.executor.servers` says what an executor needs.
#
# A server is told that nobody here can be asked anything (no elicitation, no sampling, no roots).

log = logging.getLogger("rightcall")

T = TypeVar("T")

CLOSING: Final = 15.0
"""Seconds in which servers must have ended; then they are left to see the end of their input."""
_LATE: Final = 3.0
"""Seconds beyond what a list may take, in which it is given up whatever it does."""
_CALL: Final = "tools/call"


class ServerSource:
    """Of one caller, where each has its own; else of all. `own` tells the names of the executor's other tools, `reach`
    how servers are reached, `known` takes what all of them find. Nothing is started before it is asked for."""

    def __init__(self, door: Door, own: _Names, reach: Opening, known: Known, caller: str = "") -> None:
        self._door = door
        self._reach = for_caller(reach, caller) if caller else reach
        self._own = own
        self._known = known
        self._caller = caller
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._gateway: Gateway | None = None
        self._is_closed = False

    @classmethod
    def maker(
        cls, door: Door, own: Callable[[], Iterable[str]], reach: Opening | None = None
    ) -> Callable[[str], ServerSource]:
        """Makes the source of a caller; empty: that of all."""
        names, known = _Names(own), Known(door)
        return lambda caller: cls(door, names, reach or open_link, known, caller)

    @property
    def version(self) -> int:
        return 0 if self._gateway is None else self._gateway.table.version

    def tools(self) -> Mapping[str, tuple[str, str]]:
        """In the order of the servers and of their lists."""
        if self._gateway is None:
            return {}
        if any(map(self._own.has, self._gateway.table.wires())):  # a function has been registered under that name
            self._begin(self._renamed(self._gateway)).result(_LATE)
        table, spaces = self._gateway.table, [one.name for one in self._gateway.upstreams()]
        pairs = [(space, name) for space in spaces for name in table.of(space)]
        return {wire: pair for pair in pairs if (wire := table.wire(*pair)) is not None}

    def away(self) -> Mapping[str, Missing]:
        upstreams = [] if self._gateway is None else self._gateway.upstreams()
        return {one.name: _why(one) for one in upstreams if one.session is None}

    def settle(self, seconds: float) -> None:
        with suppress(TimeoutError, ToolFailure):
            self._begin(self._settled(seconds)).result(seconds + _LATE)

    async def asettle(self, seconds: float) -> None:
        with suppress(ToolFailure):
            await asyncio.wrap_future(self._begin(self._settled(seconds)))

    def follow(self) -> None:
        with suppress(ToolFailure):
            self._begin(self._settled(0.0))

    async def call(self, server: str, tool: str, arguments: Mapping[str, Any]) -> Any:
        answer = await asyncio.wrap_future(self._begin(self._asked(server, tool, arguments)))
        return _plain(server, answer)

    def close(self) -> None:
        """From any thread but its own. In a forked child the servers are the parent's."""
        with self._lock:
            loop, self._loop, self._is_closed = self._loop, None, True
        if loop is None or self._thread is None or os.getpid() != self._process:
            return
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._closed(), loop).result(CLOSING)
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join(CLOSING)
        if not self._thread.is_alive():
            loop.close()

    def _begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        with self._lock:
            if self._is_closed:
                work.close()
                raise ToolFailure("The executor was closed, and its servers with it.")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="rightcall-servers", daemon=True)
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    # ── in the loop ──────────────────────────────────────────────────────────────────────────────────────────────

    def _joined(self) -> Gateway:
        """The gateway, with the servers that the policy has at this moment."""
        if self._gateway is None:
            self._gateway = Gateway(self._door, self._reach, capabilities={}, own=self._own, news=log.info)
            self._gateway.know = partial(self._known.take, self._caller)
        self._gateway.start()
        return self._gateway

    async def _renamed(self, gateway: Gateway) -> None:
        gateway.table.rename()

    async def _settled(self, seconds: float) -> None:
        await self._joined().refreshed(seconds)

    async def _asked(self, server: str, tool: str, arguments: Mapping[str, Any]) -> Answer:
        gateway = self._joined()
        upstream = gateway.upstream(server)
        entry = gateway.table.of(server).get(tool)
        if upstream is None or entry is None:
            raise ToolFailure(f"The server {server} has no tool {tool} any more.")
        seconds = upstream.server.timeout
        try:
            try:
                return await self._put(await upstream.ready(), gateway, entry, arguments, seconds)
            except SessionExpired:  # it has not looked at the request
                return await self._put(await upstream.ready(), gateway, entry, arguments, seconds)
        except (ServerGone, ServerSlow) as gone:
            raise ToolFailure(describe_loss(server, gone)) from None

    async def _put(
        self, session: Session, gateway: Gateway, entry: ToolEntry, arguments: Mapping[str, Any], seconds: float
    ) -> Answer:
        agreed = session.agreed
        assert agreed is not None
        params: dict[str, Any] = {"name": entry.name, "arguments": arguments}
        meta, headers = self._door.telemetry.meta(), None
        if agreed.era == "new":
            headers = headers_for(_CALL, agreed.version, header_value(entry.name)) | mirrored(entry.mirrors, arguments)
            meta |= envelope_for(gateway.hello, agreed.version)
        if meta:
            params["_meta"] = meta
        return await session.request(_CALL, params, seconds, headers=headers)

    async def _closed(self) -> None:
        others = [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
        if self._gateway is not None:
            await self._gateway.aclose()
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


class ServerAnswer(ToolFailure):
    """What a server says went wrong, in its own words."""

    plain = False


def _plain(server: str, answer: Answer) -> Any:
    """The result as data: what the server gives as data, else its text, else all its pieces. Raises ServerAnswer for
    an error of the tool, ToolFailure for what is no result."""
    if answer.result is None:
        raise ServerAnswer(str(mapping(value(answer.error or b"")).get("message") or "The server reported an error."))
    result = mapping(value(answer.result))
    if asks(answer):
        raise ToolFailure(f"The server {server} asks its user something first, and nobody can be asked here.")
    content = result.get("content")
    pieces = cast("list[Any]", content) if isinstance(content, list) else []
    texts = [one["text"] for one in map(mapping, pieces) if isinstance(one.get("text"), str)]
    if result.get("isError") is True:
        raise ServerAnswer("\n".join(texts) or "The tool reported an error.")
    structured = result.get("structuredContent")
    if structured is not None:
        return structured
    return "\n".join(texts) if len(texts) == len(pieces) else pieces


def _why(upstream: Upstream) -> Missing:
    if upstream.awaits_login:
        return Missing(f"cannot be used: {upstream.problem}", awaits_login=True)
    if upstream.state == "starting" and not upstream.problem:
        return Missing("has not started yet")
    return Missing(f"is not running: {upstream.problem or 'it was not started'}")


class _Names:
    """The executor's other tools, as the gateway asks for its own: by name alone, since none of them runs there."""

    def __init__(self, own: Callable[[], Iterable[str]]) -> None:
        self._own = own
        self._known: tuple[frozenset[str], dict[str, tuple[str, ...]]] = frozenset(), {}

    def names(self) -> Mapping[str, tuple[str, ...]]:
        names = frozenset(self._own())
        if names != self._known[0]:
            self._known = names, {wire_name(name): _others(name) for name in sorted(names)}
        return self._known[1]

    def has(self, name: str) -> bool:
        return name in self._own() or name in self.names()

    def listed(self, caller: str) -> list[Raw]:
        del caller
        return []

    async def call(self, exchange: Exchange) -> Answer:
        raise Refused(-32601, "Method not found", exchange.method)


def _others(name: str) -> tuple[str, ...]:
    space, _, rest = name.partition("/")
    return (name, other_names(space, rest)[1]) if rest else (name,)
