"""What people and balancers are told of a server's health: `/health`, `/health/live` and `/health/ready`.

Whether calls can be decided is asked of the very stores that decide them, with a transaction that writes as much as a
call: a store that can be read may still be full, or another than it was, and then every call is refused. What the last
call has found counts as well.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from math import inf
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol

from msgspec import json
from starlette.requests import Request
from starlette.responses import Response

from rightcall.errors import StoreError
from rightcall.record.tables import Needs, Planned, Store
from rightcall.server.access import entrance_of

LOOKING: Final = 3.0
"""Seconds for which an answer of the stores counts: each is a commit."""
STALE: Final = 30.0
"""Seconds after which a fault that nobody has asked about again is forgotten."""
_REFUSED: Final = "store:"
"""How the rules begin by which a call is refused that no store can record."""

log = logging.getLogger("rightcall")


class Condition:
    """Whether a server takes new work, for balancers."""

    def __init__(self) -> None:
        self.draining = False


class Notice(Protocol):
    """Whether people were told that calls are refused. All workers of a server share one."""

    @property
    def is_told(self) -> bool: ...
    @is_told.setter
    def is_told(self, is_told: bool) -> None: ...


class OwnNotice:
    """That of a server in one process."""

    is_told = False


class Readiness:
    """Of the stores that decide calls; `stores` is asked each time, since some are opened late. `notice`: where calls
    run here, which are refused while a store cannot record them."""

    def __init__(self, stores: Callable[[], Iterable[Store]], notice: Notice | None = None) -> None:
        self._stores = stores
        self._notice = notice
        self._fault = ""
        self._known = -inf
        self._failed = -inf
        self._asking: asyncio.Task[None] | None = None
        self.refused = 0
        """Calls that were refused because a store could not record them."""

    @property
    def fault(self) -> str:
        """In one word why no call can be decided, as far as that was asked; empty where it can."""
        return self._fault if monotonic() - self._known < STALE else ""

    def decided(self, rule: str, seconds: float) -> None:
        """A call that came so many seconds ago was decided by this rule: it has found what the next one will find."""
        if rule.startswith(_REFUSED):
            self.refused += 1
            self._note(rule.removeprefix(_REFUSED))
        elif self._fault and monotonic() - seconds > self._failed:
            self._note("")

    async def look(self) -> None:
        """Ask them, in a thread: a store may take its time to say that it cannot be used. All who wait share one
        answer."""
        is_news = self._notice is not None and self._notice.is_told and not self._fault  # from another worker
        if monotonic() - self._known < LOOKING and not is_news:
            return
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._look())
        await asyncio.shield(self._asking)

    async def _look(self) -> None:
        began = monotonic()
        fault = await asyncio.to_thread(self._ask)
        if fault or began > self._failed:  # else a call was refused meanwhile
            self._note(fault)

    def _ask(self) -> str:
        try:
            for store in {id(one): one for one in self._stores()}.values():
                store.transact(Planned(lambda tables: tables.touch(), Needs))
        except StoreError as error:
            return error.fault
        return ""

    def _note(self, fault: str) -> None:
        if fault == "locked":  # by whoever writes: that is over in a moment
            fault = ""
        self._fault, self._known = fault, monotonic()
        if fault:
            self._failed = self._known
        if self._notice is None or self._notice.is_told == bool(fault):
            return
        self._notice.is_told = bool(fault)
        if fault:
            log.error("rightcall: audit log cannot be written (%s); calls are refused until it can", fault)
        else:
            log.warning("rightcall: audit log can be written again; calls run")


class Health(NamedTuple):
    """What stands in `/health` beside status and uptime, for whoever has the server's own token. Everybody else reads
    `version` and whether the server is ready."""

    about: Mapping[str, Any]
    state: Callable[[], Mapping[str, Any]] = dict
    """What is so at the moment; it may say `ready`, and `status` where the server is ready and something is missing."""
    condition: Condition = Condition()
    look: Callable[[], Awaitable[None]] | None = None
    """Awaited before, so that the state is that of now."""

    async def find_state(self) -> Mapping[str, Any]:
        if self.look is not None:
            await self.look()
        return self.state()


_PUBLIC = ("status", "version", "ready", "paused")
"""What `/health` tells whoever asks."""


def health_pages(health: Health) -> dict[str, Callable[[Request], Awaitable[Response]]]:
    started = monotonic()

    async def tell_health(request: Request) -> Response:
        told: dict[str, Any] = {"status": "ok", **health.about, "ready": True, **await health.find_state()}
        told["ready"] = told["ready"] and not health.condition.draining
        told["status"] = told["status"] if told["ready"] else "degraded"
        if entrance_of(request.scope).operator:
            told["uptime_seconds"] = round(monotonic() - started, 1)
        else:
            told = {key: told[key] for key in _PUBLIC if key in told}
        return _answer(told)

    async def tell_live(_: Request) -> Response:
        return _answer({"status": "ok"})

    async def tell_ready(_: Request) -> Response:
        """Says nothing of MCP servers: a machine that has lost one is of more use than none."""
        ready = (await health.find_state()).get("ready", True)
        why = "draining" if health.condition.draining else "" if ready else "store"
        return _answer({"status": "not ready", "why": why}, 503) if why else _answer({"status": "ready"})

    return {"/health": tell_health, "/health/live": tell_live, "/health/ready": tell_ready}


def _answer(told: Mapping[str, Any], status: int = 200) -> Response:
    return Response(json.encode(told), status, media_type="application/json")
