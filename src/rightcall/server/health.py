"""What people and balancers are told of a server's health: `/health`, `/health/live` and `/health/ready`.

Whether calls can be decided is asked of the very stores that decide them, with a transaction that does nothing: a store
that can be read may still be another than it was, and then every call is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from math import inf
from time import monotonic
from typing import Any, Final, NamedTuple

from msgspec import json
from starlette.requests import Request
from starlette.responses import Response

from rightcall.errors import StoreError
from rightcall.record.tables import Needs, Planned, Store
from rightcall.server.access import entrance_of

LOOKING: Final = 1.0
"""Seconds for which an answer of the stores counts."""
STALE: Final = 30.0
"""Seconds after which a fault that nobody has asked about again is forgotten."""


class Condition:
    """Whether a server takes new work, for balancers."""

    def __init__(self) -> None:
        self.draining = False


class Readiness:
    """Of the stores that decide calls; `stores` is asked each time, since some are opened late."""

    def __init__(self, stores: Callable[[], Iterable[Store]]) -> None:
        self._stores = stores
        self._fault = ""
        self._known = -inf
        self._asking: asyncio.Task[None] | None = None

    @property
    def fault(self) -> str:
        """In one word why no call can be decided, as far as that was asked; empty where it can."""
        return self._fault if monotonic() - self._known < STALE else ""

    async def look(self) -> None:
        """Ask them, in a thread: a store may take its time to say that it cannot be used. All who wait share one
        answer."""
        if monotonic() - self._known < LOOKING:
            return
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._look())
        await asyncio.shield(self._asking)

    async def _look(self) -> None:
        self._fault = await asyncio.to_thread(self._ask)
        self._known = monotonic()

    def _ask(self) -> str:
        try:
            for store in {id(one): one for one in self._stores()}.values():
                store.transact(Planned(lambda _: None, Needs))
        except StoreError as error:
            return "" if error.fault == "locked" else error.fault
        return ""


class Health(NamedTuple):
    """What stands in `/health` beside status and uptime, for whoever has the server's own token. Everybody else reads
    `version` and whether the server is ready."""

    about: Mapping[str, Any]
    state: Callable[[], Mapping[str, Any]] = dict
    """What is so at the moment; it may say `ready`."""
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
        told["status"] = "ok" if told["ready"] else "degraded"
        if entrance_of(request.scope).operator:
            told["uptime_seconds"] = round(monotonic() - started, 1)
        else:
            told = {key: told[key] for key in _PUBLIC if key in told}
        return _answer(told)

    async def tell_live(_: Request) -> Response:
        return _answer({"status": "ok"})

    async def tell_ready(_: Request) -> Response:
        """Says nothing of MCP servers: a machine that has lost one is of more use than none."""
        audit = (await health.find_state()).get("audit")
        why = "draining" if health.condition.draining else "" if audit is None or audit["ok"] else "store"
        return _answer({"status": "not ready", "why": why}, 503) if why else _answer({"status": "ready"})

    return {"/health": tell_health, "/health/live": tell_live, "/health/ready": tell_ready}


def _answer(told: Mapping[str, Any], status: int = 200) -> Response:
    return Response(json.encode(told), status, media_type="application/json")
