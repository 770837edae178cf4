"""Questions of servers of the old era to a client (sampling, elicitation, roots): whom they are meant for.

    with a request of a client's      that client, and no other
    about a task                      the client that began it
    out of the blue                   the only client of a caller who is alone here; else nobody

A client that runs what it is asked as a task of its own (2025-11-25) is asked for it by the server later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from msgspec import Raw

from rightcall.mcp.gateway_news import News
from rightcall.mcp.messages import mapping, value
from rightcall.mcp.serving import Client, Exchange
from rightcall.mcp.serving_answers import METHOD_NOT_FOUND, Answer, failure, success
from rightcall.mcp.tasks import RELATED
from rightcall.mcp.upstream import Upstream

MEETING: Final = 30.0
"""Seconds for which a question to the only client waits until that has shaken hands: servers ask as soon as they are
greeted, which may be before."""
MOST: Final = 1_000
"""Tasks of clients that are remembered."""
_ASKED: Final = {"sampling/createMessage": "sampling", "elicitation/create": "elicitation", "roots/list": "roots"}
_TASKS: Final = frozenset(("tasks/get", "tasks/result", "tasks/cancel", "tasks/list"))


class Questions:
    """`began` says who began a task at a server; `alone`: only one client will ever come."""

    def __init__(self, news: News, began: Callable[[Upstream, str], Client | None], *, alone: bool) -> None:
        self._news = news
        self._began = began
        self._alone = alone
        self._callers: set[str] = set()
        self._met = asyncio.Event()
        self._run_by: dict[tuple[str, str], Client] = {}
        """Which client runs a task for which server."""

    def came(self, caller: str) -> None:
        """A request of this caller's."""
        self._callers.add(caller)

    def met(self) -> None:
        """A client has shaken hands."""
        self._met.set()

    def gone(self, client: Client) -> None:
        self._run_by = {key: one for key, one in self._run_by.items() if one is not client}

    @property
    def only(self) -> Client | None:
        """The one client to whom all that is said unasked can be told, since there never was another caller."""
        sessions = self._news.sessions
        return next(iter(sessions)) if len(sessions) == 1 and len(self._callers) <= 1 else None

    async def ask(self, upstream: Upstream, method: str, params: Raw, exchange: Exchange | None) -> Answer:
        """`exchange`: the request that the question came with, where that can be told."""
        if method == "ping":
            return success({})
        told = mapping(value(params))
        params = params or Raw(b"{}")
        if method in _TASKS:
            return await self._ask_runner(upstream.name, method, params, told)
        capability = _ASKED.get(method)
        if capability is None:
            return failure(METHOD_NOT_FOUND, "Method not found", method)
        beginner = self._beginner(upstream, told)
        if exchange is not None and (beginner is None or beginner is exchange.client):
            if not exchange.can(capability):
                return failure(METHOD_NOT_FOUND, f"the client of this call does not support {capability}")
            return self._kept(upstream.name, exchange.client, await exchange.ask(method, params))
        client = beginner or await self._alone_here()
        if client is None or not isinstance(client.capabilities.get(capability), dict):
            return failure(METHOD_NOT_FOUND, _nobody(upstream.name, method))
        return self._kept(upstream.name, client, await client.ask(method, params, client.send))

    async def _alone_here(self) -> Client | None:
        if self._alone and not self._met.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(MEETING):
                    await self._met.wait()
        return self.only

    def _beginner(self, upstream: Upstream, told: Mapping[str, Any]) -> Client | None:
        related = mapping(mapping(told.get("_meta")).get(RELATED)).get("taskId")
        client = self._began(upstream, related) if isinstance(related, str) else None
        return client if client in self._news.sessions else None

    def _kept(self, server: str, client: Client, answer: Answer) -> Answer:
        """A client may answer with a task, for which the server will ask."""
        if answer.result is not None and b'"taskId"' in bytes(answer.result):
            task = mapping(mapping(value(answer.result)).get("task")).get("taskId")
            if isinstance(task, str):
                if len(self._run_by) >= MOST:
                    del self._run_by[next(iter(self._run_by))]
                self._run_by[server, task] = client
        return answer

    async def _ask_runner(self, server: str, method: str, params: Raw, told: Mapping[str, Any]) -> Answer:
        task = told.get("taskId")
        client = self._run_by.get((server, task)) if isinstance(task, str) else self.only if self._alone else None
        if client is None:
            return failure(METHOD_NOT_FOUND, _nobody(server, method))
        return await client.ask(method, params, client.send)


def _nobody(server: str, method: str) -> str:
    return (
        f"{server} asks ({method}) while no call, or calls of several clients, are under way: "
        "the gateway cannot tell whom it asks"
    )
