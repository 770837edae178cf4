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
import threading
from collections.abc import Callable, Mapping
from itertools import count
from time import monotonic
from typing import Any, Final

from msgspec import Raw, Struct
from msgspec.structs import replace

from rightcall.executor.door import Door
from rightcall.mcp.gateway.forward import era_of
from rightcall.mcp.gateway.gateway import GREETING, Following, Gateway, Shared
from rightcall.mcp.gateway.tasks import Tasks
from rightcall.mcp.messages import Answer, Era, mapping
from rightcall.mcp.serving import Client, Exchange
from rightcall.mcp.upstream.upstream import Opening
from rightcall.record.notes import remember_tools

ABILITIES: Final = (
    "elicitation", "elicitation.form", "elicitation.url", "sampling", "sampling.context", "sampling.tools",
    "tasks", "tasks.list", "tasks.cancel", "tasks.requests.sampling.createMessage", "tasks.requests.elicitation.create",
)  # fmt: skip
"""What clients can do for a server, and the ways of it."""
MOST: Final = 8
"""Groups that clients share,"""
MOST_OWN: Final = 8
"""and those of one client each."""
PATIENCE: Final = 20.0
"""Seconds that a client waits for servers that start for its group and are known to work: without us it would wait for
them too."""
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


_NOTHING: Final = Group()


class SharedGateway:
    """The same for its clients as a `Gateway` of their own."""

    def __init__(self, door: Door, open_link: Opening, *, news: Callable[[str], None] = lambda _: None) -> None:
        self.door = door
        self.tidying: list[Callable[[], None]] = []
        """What else is to be done from time to time."""
        self._open_link = open_link
        self._recorded = 0
        self._tasks = Tasks(door)
        self._numbers = count(1)
        self._group_of: dict[Client, Group] = {}
        """Of clients that have shaken hands: they stay with the servers that they were introduced to."""
        self._known: dict[str, dict[Group, Mapping[str, Any]]] = {}
        self._knowing = threading.Lock()
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

    @property
    def recorded(self) -> int:
        """Calls of which there is a record, also of groups that have ended."""
        return self._recorded + sum(gateway.recorded for gateway in self._groups.values())

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
        with self._knowing:
            for known in self._known.values():
                known.pop(group, None)
        task = asyncio.get_running_loop().create_task(gateway.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    # what clients ask

    async def introduction(self, client: Client, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        if not client.is_greeted:
            return await self.group_of(capabilities).introduction(client, capabilities)
        await self.first.settled(GREETING)  # which shows what eras its servers know
        self._leave(client)
        gateway = self._greeted(client)
        working = [one for one in gateway.upstreams() if self._works(one.name)]
        await asyncio.gather(*(one.tried(PATIENCE) for one in working))
        return await gateway.introduction(client, capabilities)

    async def answer(self, exchange: Exchange) -> Answer:
        own = self._greeted(exchange.client) if exchange.client.is_greeted else self.group_of(exchange.capabilities)
        return await own.answer(exchange)

    def noticed(self, client: Client, method: str, params: Raw) -> None:
        own = self._greeted(client) if client.is_greeted else self.group_of(client.capabilities)
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
        group = Group(_abilities(client.capabilities), "old" if self._know_both else "new")
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

    def group_of(self, capabilities: Mapping[str, Any]) -> Gateway:
        """The gateway of the clients of the new era that can do this."""
        group = Group(_abilities(capabilities))
        return self._opened(group if self._has_room(group) else _NOTHING)

    def _has_room(self, group: Group) -> bool:
        return group in self._groups or group.own > 0 or sum(one.own == 0 for one in self._groups) < MOST

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
        def know(definitions: list[Any], space: str) -> None:
            self._know(group, definitions, space)

        shared = Shared(self._tasks, know, group.era, alone=group.own > 0)
        return Gateway(self.door, self._open_link, capabilities=_describe_abilities(group), news=news, shared=shared)

    def _know(self, group: Group, definitions: list[Any], space: str) -> None:
        """The door knows every tool that any client may see. Called in threads: one at a time, so that what is known
        last is what was learnt last."""
        with self._knowing:
            known = self._known.setdefault(space, {})
            known.pop(group, None)
            known[group] = {str(mapping(one).get("name")): one for one in definitions}
            joined: dict[str, Any] = {}
            for one in known.values():
                joined |= one
            self.door.know(list(joined.values()), space)
            remember_tools(self.door.store, space, joined.values())  # for the hooks of hosts that use the same server


def _called(group: Group) -> str:
    """
    >>> _called(Group(("elicitation", "elicitation.form", "elicitation.url", "sampling")))
    'elicitation (form, url), sampling'
    >>> _called(Group((), "old", 3, roots=True)), _called(Group(("sampling",), "old", 3))
    ('handshake, roots of client 3', 'sampling, handshake, client 3 alone')
    """
    names = [name for name in group.abilities if "." not in name]
    ways = {name: [one.partition(".")[2] for one in group.abilities if one.startswith(f"{name}.")] for name in names}
    parts = [f"{name} ({', '.join(ways[name])})" if ways[name] else name for name in names]
    parts += ["handshake"] if group.era == "old" else []
    alone = f"roots of client {group.own}" if group.roots else f"client {group.own} alone"
    return ", ".join([*parts, alone] if group.own else parts)


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
    return told
