"""One gateway for many clients, which can do different things.

In the old era a server is told once what its client can do (be asked, have its model used), and offers tools to match.
So that every client finds what it would find without us, clients that can do the same share one session with each
server; those that can do nothing, which are most, share the first. There are only so many groups; a client that would
need one more is served with the first. Folders of a client (roots) are never passed on: one's are not another's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Raw

from rightcall.door import Door
from rightcall.mcp.gateway import Gateway
from rightcall.mcp.messages import mapping
from rightcall.mcp.serving import Client, Exchange
from rightcall.mcp.serving_answers import Answer
from rightcall.mcp.upstream import Opening
from rightcall.record.known_tools import remember_tools

ABILITIES: Final = {"elicitation": ("form", "url"), "sampling": ("context", "tools")}
"""What clients can do for a server, and the ways of it."""
MOST: Final = 8
Group = tuple[tuple[str, tuple[str, ...]], ...]
_NOTHING: Final[Group] = ()


class SharedGateway:
    """The same for its clients as a `Gateway` of their own."""

    def __init__(self, door: Door, open_link: Opening, *, news: Callable[[str], None] = lambda _: None) -> None:
        self.door = door
        self._open_link = open_link
        self._known: dict[str, dict[Group, Mapping[str, Any]]] = {}
        self._groups: dict[Group, Gateway] = {}
        self._groups[_NOTHING] = self._gateway(_NOTHING, news)

    @property
    def first(self) -> Gateway:
        """That of the clients which can do nothing; it stands for all where people look."""
        return self._groups[_NOTHING]

    def start(self) -> None:
        self.first.start()

    def state(self) -> dict[str, Any]:
        return self.first.state()

    def end_news(self) -> None:
        for gateway in self._groups.values():
            gateway.news.end()

    async def aclose(self) -> None:
        for gateway in self._groups.values():
            await gateway.aclose()

    # what clients ask

    async def introduction(self, capabilities: Mapping[str, Any]) -> dict[str, Any]:
        return await self.group_of(capabilities).introduction(capabilities)

    async def answer(self, exchange: Exchange) -> Answer:
        return await self.group_of(exchange.capabilities).answer(exchange)

    def noticed(self, client: Client, method: str, params: Raw) -> None:
        self.group_of(client.capabilities).noticed(client, method, params)

    def gone(self, client: Client) -> None:
        self.group_of(client.capabilities).gone(client)

    def group_of(self, capabilities: Mapping[str, Any]) -> Gateway:
        """The gateway of the clients that can do this; its servers start with the first of them."""
        group = _group(capabilities)
        gateway = self._groups.get(group)
        if gateway is None and len(self._groups) >= MOST:
            return self.first
        if gateway is None:
            gateway = self._groups[group] = self._gateway(group, lambda _: None)
            gateway.start()
        return gateway

    def _gateway(self, group: Group, news: Callable[[str], None]) -> Gateway:
        def know(definitions: list[Any], space: str) -> None:
            self._know(group, definitions, space)

        told: dict[str, Any] = {name: {way: {} for way in ways} for name, ways in group}
        return Gateway(self.door, self._open_link, capabilities=told, news=news, know=know)

    def _know(self, group: Group, definitions: list[Any], space: str) -> None:
        """The door knows every tool that any client may see."""
        known = self._known.setdefault(space, {})
        known.pop(group, None)
        known[group] = {str(mapping(one).get("name")): one for one in definitions}
        joined: dict[str, Any] = {}
        for one in known.values():
            joined |= one
        self.door.know(list(joined.values()), space)
        remember_tools(self.door.store, space, joined.values())  # for the hooks of hosts that use the same server


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
