"""Tasks through the gateway: a call that has become one stays open in the record until its result has come, it was
cancelled, or it has expired. Its id is its caller's alone: to any other it is as unknown as one that never was.

A task keeps the id that its server gave it; only where two servers gave one caller the same is the second told apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from time import monotonic
from typing import Any, Final

from msgspec import Raw, json

from rightcall.executor.door import Door
from rightcall.executor.passage import Passage
from rightcall.mcp.gateway.forward import TASKS, Continuations, Errand, News, era_of, forward, names_in
from rightcall.mcp.messages import (
    EXPIRED,
    EXTENSION,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    STATUS,
    STATUS_NEW,
    UPDATE,
    Answer,
    Created,
    Outcome,
    Refused,
    created_by,
    ending_of,
    ending_told,
    fields,
    is_able,
    mapping,
    notification,
    renamed,
    success,
    value,
    with_warning,
)
from rightcall.mcp.serving import Client, Exchange
from rightcall.mcp.session import ServerGone, ServerSlow
from rightcall.mcp.upstream import Upstream

MOST: Final = 10_000
MOST_OF_ONE: Final = 1_000
"""Of one caller: its oldest makes room for its newest, never for another's."""
LISTING: Final = 10.0
PAGES: Final = 100
MISSING_CAPABILITY: Final = -32021


class Task:
    """One that a server has begun for a call."""

    def __init__(self, wire: str, own: str, errand: Errand, passage: Passage, exchange: Exchange) -> None:
        self.wire = wire
        """What its client calls it,"""
        self.own = own
        """and its server."""
        self.upstream = errand.upstream
        self.passage = passage
        self.digest = errand.digest
        """Of the policy that let its call through."""
        self.client = exchange.client
        self.caller = exchange.caller
        self.stateless = exchange.peer.stateless
        self.began = monotonic()
        self.is_open = True
        """Whether the record of its call waits for its end."""
        self.timer: asyncio.TimerHandle | None = None


class Tasks:
    """Those of all clients, whichever sessions with servers they share. Used within one event loop. `place` names the
    process that follows them, where one among several does: a client without a session asks any of these."""

    def __init__(self, door: Door, place: str = "") -> None:
        self._door = door
        self._place = place
        self._kept = Continuations(place)
        self._tasks: dict[tuple[str, str], Task] = {}

    def are_open_at(self, upstreams: Iterable[Upstream]) -> bool:
        """Whether anybody may still ask these servers for one."""
        return bool(self._tasks) and not {one.upstream for one in self._tasks.values()}.isdisjoint(upstreams)

    def capabilities(self, upstreams: Iterable[Upstream], *, stateless: bool) -> dict[str, Any]:
        """What clients of this era are told that servers of the same can do with tasks."""
        told = [found for one in upstreams if (found := _capability(one, stateless=stateless))]
        if not told:
            return {}
        if stateless:
            return {"extensions": {EXTENSION: {}}}
        joined: dict[str, Any] = {}
        for one in told:
            joined |= {key: one[key] for key in ("list", "cancel") if isinstance(one.get(key), dict)}
            if isinstance(mapping(mapping(one.get("requests")).get("tools")).get("call"), dict):
                joined["requests"] = {"tools": {"call": {}}}
        return {"tasks": joined}

    # ── a call becomes one ───────────────────────────────────────────────────────────────────────────────────────

    def begun(self, answer: Answer, errand: Errand, exchange: Exchange) -> Answer | None:
        """What the client gets of an answer that is a task; None where it is none."""
        is_new = exchange.peer.stateless
        wanted, able = "task" in errand.params and not is_new, is_new and is_able(exchange.capabilities)
        created = created_by(answer.result, wanted=wanted, able=able)
        if created is None or errand.passage is None or answer.result is None:
            return None
        self._make_room(exchange.caller)
        task = self._added(created, errand, errand.passage, exchange)
        return answer if task.wire == task.own else Answer(renamed(answer.result, task.wire))

    def _added(self, created: Created, errand: Errand, passage: Passage, exchange: Exchange) -> Task:
        caller, wire, upstream = exchange.caller, created.id, errand.upstream
        if self._place and exchange.peer.stateless:
            wire = f"{self._place}.{wire}"
        known = self._tasks.get((caller, wire))
        while known is not None and known.upstream is not upstream:
            wire = f"{wire}.{upstream.name}"
            known = self._tasks.get((caller, wire))
        if known is not None:
            self._drop((caller, wire), Outcome(ok=False, error="The server gave the id of this task to another call."))
        task = self._tasks[caller, wire] = Task(wire, created.id, errand, passage, exchange)
        task.timer = asyncio.get_running_loop().call_later(created.seconds, self._expire, (caller, wire), task)
        return task

    def _make_room(self, caller: str) -> None:
        own = [key for key in self._tasks if key[0] == caller]
        full = own if len(own) >= MOST_OF_ONE else list(self._tasks) if len(self._tasks) >= MOST else []
        if full:
            why = "Too many tasks were open; this one is not followed any more."
            self._drop(full[0], Outcome(ok=False, error=why))

    # ── what clients ask about them ──────────────────────────────────────────────────────────────────────────────

    async def ask(self, exchange: Exchange, upstreams: Iterable[Upstream]) -> Answer:
        """`tasks/get`, `tasks/result`, `tasks/cancel` and `tasks/update`."""
        self._check(exchange, upstreams)
        task = self._of(exchange)
        if exchange.method == UPDATE:
            await self._check_allowed(task, exchange)
        params = {**{key: raw for key, raw in exchange.params.items() if key != "_meta"}, "taskId": task.own}
        seconds = None if exchange.method == "tasks/result" else task.upstream.server.timeout
        errand = Errand(task.upstream, exchange.method, params, task.own, seconds=seconds)
        answer = await forward(errand, exchange, self._kept)
        return self._told(task, exchange.method, answer)

    async def list(self, exchange: Exchange, upstreams: Iterable[Upstream]) -> Answer:
        """Those of this caller, as their servers describe them."""
        self._check(exchange, upstreams)
        own = {(one.upstream.name, one.own): one for key, one in self._tasks.items() if key[0] == exchange.caller}
        wanted = {name: one.upstream for (name, _), one in own.items() if not one.stateless}
        pages = await asyncio.gather(*map(self._listed, wanted.values()))
        found = [
            renamed(raw, task.wire) if task.wire != task.own else raw
            for name, items in zip(wanted, pages, strict=True)
            for raw in items
            if (task := own.get((name, str(value(fields(raw).get("taskId", b"")))))) is not None
        ]
        return success({"tasks": found})

    async def _listed(self, upstream: Upstream) -> list[Raw]:
        session = upstream.session
        if session is None or not isinstance(_capability(upstream, stateless=False).get("list"), dict):
            return []
        found: list[Raw] = []
        cursor: Any = None
        for _ in range(PAGES):
            params = {} if cursor is None else {"cursor": cursor}
            try:
                answer = await session.request("tasks/list", params, LISTING)
            except (ServerGone, ServerSlow):
                break
            page = fields(answer.result or b"")
            found += _items(page.get("tasks", b"[]"))
            cursor = value(page.get("nextCursor", b""))
            if cursor is None:
                break
        return found

    def _check(self, exchange: Exchange, upstreams: Iterable[Upstream]) -> None:
        """Raises Refused where no server has tasks, or this client cannot have any."""
        told = self.capabilities(upstreams, stateless=exchange.peer.stateless)
        if not told and not any(caller == exchange.caller for caller, _ in self._tasks):
            raise Refused(METHOD_NOT_FOUND, "Method not found", exchange.method)
        if exchange.peer.stateless and not is_able(exchange.capabilities):
            needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
            raise Refused(MISSING_CAPABILITY, "Missing required client capability", needed)

    async def _check_allowed(self, task: Task, exchange: Exchange) -> None:
        """Raises Refused where a call may not go on with answers: all calls are paused, or the policy of now does not
        let it through. Under the policy that did it is not judged twice."""
        digest = self._door.policy.digest
        if task.digest == digest and not await asyncio.to_thread(self._door.is_paused):
            return
        passage = task.passage
        judge = partial(self._door.judge, caller=exchange.caller, context=exchange.client.context)
        again = await asyncio.to_thread(judge, passage.name, passage.arguments, space=task.upstream.name)
        if again.action != "allow":
            raise Refused(INVALID_PARAMS, again.message)
        self._door.ended(again, summary="It was judged anew, and its task goes on as it began.")
        task.digest = digest

    def _of(self, exchange: Exchange) -> Task:
        wire = value(exchange.params.get("taskId", b""))
        task = self._tasks.get((exchange.caller, wire)) if isinstance(wire, str) else None
        if task is None or task.stateless != exchange.peer.stateless or task.upstream.state == "off":
            raise Refused(INVALID_PARAMS, "Task not found")
        return task

    def _told(self, task: Task, method: str, answer: Answer) -> Answer:
        ending = ending_of(method, answer.result, answer.error)
        if ending is not None:
            self._close(task, ending)
        result = answer.result
        if result is None:
            return answer
        if task.passage.message:
            result = with_warning(method, result, task.passage.message)
        if task.wire != task.own:
            result = renamed(result, task.wire)
        return answer if result is answer.result else Answer(result)

    # ── what servers say of them ─────────────────────────────────────────────────────────────────────────────────

    def beginner(self, upstream: Upstream, id: str) -> Client | None:
        """The client that began a task."""
        task = self._found(upstream, id)
        return task.client if task is not None else None

    def heard_by(self, exchange: Exchange, upstreams: Iterable[Upstream]) -> list[str]:
        """Of the tasks that a client asks to hear of, those that are its caller's (2026-07-28). Raises Refused."""
        asked = names_in(mapping(value(exchange.params.get("notifications", b""))), TASKS)
        if not asked:
            return []
        self._check(exchange, upstreams)
        here = set(upstreams)
        found = {wire: self._tasks.get((exchange.caller, wire)) for wire in asked}
        return [wire for wire, one in found.items() if one is not None and one.stateless and one.upstream in here]

    def watched_at(self, upstream: Upstream, news: News) -> set[str]:
        """Those of a server that anybody wants to hear of, as it calls them."""
        found = map(self._tasks.get, news.watched_tasks())
        return {task.own for task in found if task is not None and task.upstream is upstream}

    def notify(self, upstream: Upstream, method: str, params: Raw, news: News) -> bool:
        """The status of a task, to the client that began it (2025-11-25), or to those of its caller who listen. False
        where nobody has begun it yet: a server may say so before it answers the call."""
        own = value(fields(params).get("taskId", b""))
        task = self._found(upstream, own) if isinstance(own, str) else None
        if task is None or task.stateless is not (method == STATUS_NEW):
            return False
        if (ending := ending_told(params)) is not None:
            self._close(task, ending)
        told = params if task.wire == task.own else renamed(params, task.wire)
        if not task.stateless:
            task.client.send(notification(STATUS, told))
        else:
            warned = with_warning("tasks/get", told, task.passage.message) if task.passage.message else told
            news.task_moved(task.caller, task.wire, warned)
        return True

    def _found(self, upstream: Upstream, id: str) -> Task | None:
        return next((one for one in self._tasks.values() if one.own == id and one.upstream is upstream), None)

    # ── their end ────────────────────────────────────────────────────────────────────────────────────────────────

    def end(self, upstream: Upstream, why: str) -> None:
        """A server is not there any more, and its tasks with it."""
        for key in [key for key, one in self._tasks.items() if one.upstream is upstream]:
            self._drop(key, Outcome(ok=False, error=why))

    def _expire(self, key: tuple[str, str], task: Task) -> None:
        if self._tasks.get(key) is task:
            self._drop(key, Outcome(ok=False, error=EXPIRED))

    def _drop(self, key: tuple[str, str], ending: Outcome) -> None:
        task = self._tasks.pop(key, None)
        if task is not None:
            if task.timer is not None:
                task.timer.cancel()
            self._close(task, ending)

    def _close(self, task: Task, ending: Outcome) -> None:
        if task.is_open:
            task.is_open = False
            self._door.ended(
                task.passage, ok=ending.ok, summary=ending.summary, error=ending.error, seconds=monotonic() - task.began
            )


def _capability(upstream: Upstream, *, stateless: bool) -> Mapping[str, Any]:
    """What a server says of tasks; empty where it has none, or speaks another era than the client."""
    session = upstream.session
    if session is None or session.agreed is None or (era_of(upstream) == "new") is not stateless:
        return {}
    told = session.agreed.capabilities
    if not stateless:
        return mapping(told.get("tasks"))
    return {EXTENSION: True} if EXTENSION in mapping(told.get("extensions")) else {}


def _items(raw: Raw | bytes) -> list[Raw]:
    try:
        return json.decode(raw, type=list[Raw])
    except (ValueError, RecursionError):
        return []
