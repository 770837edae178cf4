"""One gateway for many clients, which can do different things.

In the old era a server is told once what its client can do (be asked, have its model used), and offers tools to match.
So that every client finds what it would find without us, clients that can do the same share one session with each
server; those that can do nothing, which are most, share the first. There are only so many groups; a client that would
need one more is served with the first. A group that nobody has used for some minutes ends with its
servers. Folders of a client (roots) are never passed on: one's are not another's.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, Final

from msgspec import Raw

from rightcall.door import Door
from rightcall.mcp.gateway import Gateway
from rightcall.mcp.gateway_following import Following
from rightcall.mcp.messages import mapping
from rightcall.mcp.serving import Client, Exchange
from rightcall.mcp.serving_answers import Answer
from rightcall.mcp.upstream import Opening
from rightcall.record.known_tools import remember_tools

ABILITIES: Final = {"elicitation": ("form", "url"), "sampling": ("context", "tools")}
"""What clients can do for a server, and the ways of it."""
MOST: Final = 8
UNUSED: Final = 300.0
"""Seconds after which a group without clients ends."""
Group = tuple[tuple[str, tuple[str, ...]], ...]
_NOTHING: Final[Group] = ()


class SharedGateway:
    """The same for its clients as a `Gateway` of their own."""

    def __init__(self, door: Door, open_link: Opening, *, news: Callable[[str], None] = lambda _: None) -> None:
        self.door = door
        self.tidying: list[Callable[[], None]] = []
        """What else is to be done from time to time."""
        self._open_link = open_link
        self._recorded = 0
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
            for server, state in gateway.state().items() if group else ():
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
                self._used[group] = now
            elif group and now - self._used.get(group, now) > UNUSED:
                self._end(group)

    def _end(self, group: Group) -> None:
        gateway = self._groups.pop(group)
        self._recorded += gateway.recorded
        del self._used[group]
        with self._knowing:
            for known in self._known.values():
                known.pop(group, None)
        task = asyncio.get_running_loop().create_task(gateway.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    # what clients ask

    async def introduction(self, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        return await self.group_of(capabilities).introduction(capabilities)

    async def answer(self, exchange: Exchange) -> Answer:
        return await self.group_of(exchange.capabilities).answer(exchange)

    def noticed(self, client: Client, method: str, params: Raw) -> None:
        own = self.group_of(client.capabilities)
        for gateway in self._groups.values():
            if gateway is not own:  # it may have shaken hands before, and been another's then
                gateway.news.sessions.discard(client)
        own.noticed(client, method, params)

    def gone(self, client: Client) -> None:
        for gateway in self._groups.values():
            gateway.gone(client)

    def group_of(self, capabilities: Mapping[str, Any]) -> Gateway:
        """The gateway of the clients that can do this; its servers start with the first of them."""
        self._following.look()
        group = _group(capabilities)
        gateway = self._groups.get(group)
        if gateway is None and len(self._groups) >= MOST:
            group, gateway = _NOTHING, self.first
        if gateway is None:
            gateway = self._groups[group] = self._gateway(group, lambda _: None)
            gateway.start()
        self._used[group] = monotonic()
        return gateway

    def _gateway(self, group: Group, news: Callable[[str], None]) -> Gateway:
        def know(definitions: list[Any], space: str) -> None:
            self._know(group, definitions, space)

        told: dict[str, Any] = {name: {way: {} for way in ways} for name, ways in group}
        return Gateway(self.door, self._open_link, capabilities=told, news=news, know=know, follows=False)

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
    >>> _called((("elicitation", ("form", "url")), ("sampling", ())))
    'elicitation (form, url), sampling'
    """
    return ", ".join(f"{name} ({', '.join(ways)})" if ways else name for name, ways in group)


def _group(capabilities: Mapping[str, Any]) -> Group:
    """
    >>> _group({"roots": {}, "elicitation": {"url": {}, "form": {}, "own": {}}})
    (('elicitation', ('form', 'url')),)
    """
    return tuple(
        (name, tuple(way for way in ways if way in mapping(capabilities[name])))
        for name, ways in ABILITIES.items()
        if isinstance(capabilities.get(name), dict)
    )
