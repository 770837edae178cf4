"""What servers say unasked, and which clients hear it: changed lists, changed resources, tasks, log messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, cast

from msgspec import Raw

from rightcall.mcp.messages import (
    INTERNAL,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    PREFIX,
    SUBSCRIPTION_KEY,
    Answer,
    Refused,
    failed_result,
    fields,
    mapping,
    notification,
    success,
    value,
)
from rightcall.mcp.serving import Client, Exchange
from rightcall.mcp.tasks import RELATED, STATUS_NEW
from rightcall.mcp.upstream.upstream import Upstream

MOST: Final = 1_000
"""Clients that listen at a time."""
MOST_OF_ONE: Final = 100
"""That listen for one caller."""
MOST_WATCHED: Final = 1_000
"""Resources or tasks that one client hears of."""
RESOURCES: Final = "resourceSubscriptions"
TASKS: Final = "taskIds"
MESSAGE: Final = "notifications/message"
UPDATED: Final = "notifications/resources/updated"
TOOLS: Final = "notifications/tools/list_changed"
LISTS: Final[Mapping[str, str]] = {
    TOOLS: "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}
"""With what a client of the new era asks to hear of them."""
LOG_LEVEL: Final = PREFIX + "logLevel"
LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class News:
    """Who listens: sessions of the old era, and the `subscriptions/listen` of the new one."""

    def __init__(self) -> None:
        self.sessions: set[Client] = set()
        self._listens: dict[Exchange, tuple[Mapping[str, Any], asyncio.Future[None]]] = {}

    @property
    def is_heard(self) -> bool:
        return bool(self.sessions or self._listens)

    @property
    def level(self) -> str | None:
        """The most talkative that a session wants; None where none has said."""
        levels = [LEVELS.index(one.level) for one in self.sessions if one.level in LEVELS]
        return LEVELS[min(levels)] if levels else None

    def watched(self) -> set[str]:
        """The resources that anybody wants to hear of."""
        return {uri for client in self.sessions for uri in client.subscribed} | {
            uri for wanted, _ in self._listens.values() for uri in names_in(wanted, RESOURCES)
        }

    def watched_tasks(self) -> set[tuple[str, str]]:
        """The tasks that anybody wants to hear of, by caller."""
        return {(one.caller, task) for one, (wanted, _) in self._listens.items() for task in names_in(wanted, TASKS)}

    def changed(self, method: str) -> None:
        """A list of one of the servers has changed."""
        for client in list(self.sessions):
            client.send(notification(method))
        for exchange, (wanted, _) in list(self._listens.items()):
            if wanted.get(LISTS[method]) is True:
                exchange.emit(notification(method, {"_meta": _stamp(exchange)}))

    def updated(self, params: Raw) -> None:
        uri = value(fields(params).get("uri", b""))
        if not isinstance(uri, str):
            return
        for client in list(self.sessions):
            if uri in client.subscribed:
                client.send(notification(UPDATED, params))
        for exchange, (wanted, _) in list(self._listens.items()):
            if uri in names_in(wanted, RESOURCES):
                exchange.emit(notification(UPDATED, {"uri": uri, "_meta": _stamp(exchange)}))

    def task_moved(self, caller: str, id: str, params: Raw) -> None:
        """To those of its caller who want to hear of a task."""
        for exchange, (wanted, _) in list(self._listens.items()):
            if exchange.caller == caller and id in names_in(wanted, TASKS):
                exchange.emit(notification(STATUS_NEW, {**fields(params), "_meta": _stamp(exchange)}))

    def logged(self, params: Raw, cause: Exchange | None, only: Client | None) -> None:
        """To the client whose call it is about, since it may tell of that call; else to the only one there ever was
        (`only`), else to nobody."""
        level = value(fields(params).get("level", b""))
        if cause is not None and cause.peer.stateless:  # which wants to hear it only where the request says so
            wanted = cause.meta.get(LOG_LEVEL)
            if wanted in LEVELS and _is_loud_enough(level, wanted):
                cause.emit(notification(MESSAGE, params))
            return
        client = cause.client if cause is not None else only
        if client is not None and _is_loud_enough(level, client.level):
            (cause.emit if cause is not None else client.send)(notification(MESSAGE, params))

    async def listen(self, exchange: Exchange, tasks: Sequence[str] = ()) -> Answer:
        """`subscriptions/listen`: its answer comes when it ends. `tasks` are those that it may hear of."""
        of_one = sum(one.caller == exchange.caller for one in self._listens)
        if len(self._listens) >= MOST or of_one >= MOST_OF_ONE:
            raise Refused(INTERNAL, "too many clients listen already")
        wanted = mapping(value(exchange.params.get("notifications", b"")))
        honoured: dict[str, Any] = {key: True for key in LISTS.values() if wanted.get(key) is True}
        for key, names in ((RESOURCES, names_in(wanted, RESOURCES)), (TASKS, tasks)):
            if len(names) > MOST_WATCHED:
                raise Refused(INVALID_PARAMS, f"params.notifications.{key}: {MOST_WATCHED} at most")
            if names:
                honoured[key] = names
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._listens[exchange] = honoured, ended
        try:
            exchange.emit(
                notification(
                    "notifications/subscriptions/acknowledged", {"notifications": honoured, "_meta": _stamp(exchange)}
                )
            )
            await ended
        finally:
            self._listens.pop(exchange, None)
        return success({"resultType": "complete", "_meta": _stamp(exchange)})

    def end(self) -> None:
        """No more news: those who listen are told that it was on purpose."""
        for _, ended in list(self._listens.values()):
            if not ended.done():
                ended.set_result(None)


def names_in(wanted: Mapping[str, Any], key: str) -> list[str]:
    found = wanted.get(key)
    return [one for one in cast("list[Any]", found) if isinstance(one, str)] if isinstance(found, list) else []


def _stamp(exchange: Exchange) -> dict[str, Any]:
    return {SUBSCRIPTION_KEY: value(exchange.id)}


def _is_loud_enough(level: Any, wanted: str | None) -> bool:
    return wanted is None or level not in LEVELS or LEVELS.index(level) >= LEVELS.index(wanted)


# ── questions of servers ──
# Questions of servers of the old era to a client (sampling, elicitation, roots): whom they are meant for.
#
#     with a request of a client's      that client, and no other
#     about a task                      the client that began it
#     out of the blue                   the only client of a caller who is alone here; else nobody
#
# A client that runs what it is asked as a task of its own (2025-11-25) is asked for it by the server later.

MEETING: Final = 30.0
"""Seconds for which a question to the only client waits until that has shaken hands: servers ask as soon as they are
greeted, which may be before."""
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
            return failed_result(METHOD_NOT_FOUND, "Method not found", method)
        beginner = self._beginner(upstream, told)
        if exchange is not None and (beginner is None or beginner is exchange.client):
            if not exchange.can(capability):
                return failed_result(METHOD_NOT_FOUND, f"the client of this call does not support {capability}")
            return self._kept(upstream.name, exchange.client, await exchange.ask(method, params))
        client = beginner or await self._alone_here()
        if client is None or not isinstance(client.capabilities.get(capability), dict):
            return failed_result(METHOD_NOT_FOUND, _nobody(upstream.name, method))
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
            return failed_result(METHOD_NOT_FOUND, _nobody(server, method))
        return await client.ask(method, params, client.send)


def _nobody(server: str, method: str) -> str:
    return (
        f"{server} asks ({method}) while no call, or calls of several clients, are under way: "
        "the gateway cannot tell whom it asks"
    )
