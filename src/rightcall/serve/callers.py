"""Which caller a request speaks for: its token says so, and nothing else.

The tokens of the store are kept at hand and looked at again from time to time, so that a new token counts and a revoked
one stops counting while the server runs. While the store cannot be read, none of them counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final, NamedTuple

from starlette.types import Scope

from rightcall.errors import StoreError
from rightcall.record.tables import Store
from rightcall.record.tokens import has_expired

FRESH: Final = 1.0
"""Seconds after which the tokens are looked at again: so long a revoked one may still count."""
SOON: Final = 0.1
"""Seconds between two looks for tokens that are not among them: who comes with a new one waits that long at most, and
who guesses causes no more looks than that."""
DEFAULTS: Final = {"/mcp": "gateway"}
"""By path, who calls with the server's own token, or where none is needed; everywhere else it is the proxy."""
DEFAULT: Final = "proxy"
_KEY: Final = "rightcall.entered"


async def _always() -> bool:
    return True


class Entered(NamedTuple):
    """Who was let in."""

    caller: str
    operator: bool
    """Whether it came with the server's own token, or none is needed: such a client may see how the server is."""
    still: Callable[[], Awaitable[bool]] = _always
    """Whether its token still counts, for answers that take long. Raises StoreError."""


def enter(scope: Scope, entered: Entered) -> None:
    scope[_KEY] = entered


def entered(scope: Scope) -> Entered:
    """Raises KeyError for a request that nobody has let in."""
    return scope[_KEY]


class Callers:
    """Used within one event loop, which never waits for the disk."""

    def __init__(
        self,
        store: Store,
        *,
        fresh: float = FRESH,
        soon: float = SOON,
        now: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._store = store
        self._fresh = fresh
        self._soon = soon
        self._now = now
        self._sleep = sleep
        self._looked: float | None = None
        self._looking: asyncio.Task[None] | None = None
        self._known: dict[str, str] = {}
        self._fault: StoreError | None = None

    async def of(self, digest: str) -> str | None:
        """The caller for whom the token of this digest speaks; None for an unknown, revoked or expired one. Raises
        StoreError while the store cannot be read. How long it takes tells nothing of a token: only digests are
        compared."""
        await self._look(self._fresh)
        found = self._known.get(digest)
        if found is None and self._looked is not None and self._fault is None:
            if (left := self._looked + self._soon - self._now()) > 0:  # made since the last look, perhaps
                await self._sleep(left)
            await self._look(self._soon)
            found = self._known.get(digest)
        if self._fault is not None:
            raise self._fault
        return found

    async def _look(self, after: float) -> bool:
        """Whether it was time to look again. All who ask meanwhile wait for the same look; a store that could not be
        read is left alone for a while."""
        pause = after if self._fault is None else self._fresh
        if self._looked is not None and self._now() - self._looked < pause:
            return False
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._read())
        await asyncio.shield(self._looking)
        return True

    async def _read(self) -> None:
        began = self._now()
        try:
            tokens = await asyncio.to_thread(self._store.look, lambda tables: tables.tokens())
            wall = self._store.clock.wall()
            self._known = {one.digest: one.caller for one in tokens if not has_expired(one, wall)}
            self._fault = None
        except StoreError as fault:
            self._known, self._fault = {}, StoreError(str(fault), fault.fault)
        self._looked = began
