"""Which caller a request speaks for: its token says so, and nothing else.

The tokens of the store are kept at hand and looked at again from time to time, so that a new token counts and a revoked
one stops counting while the server runs. While the store cannot be read, none of them counts.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final, NamedTuple

from starlette.types import Scope

from rightcall.record.tables import Store
from rightcall.record.tokens import has_expired

FRESH: Final = 1.0
"""Seconds after which the tokens are looked at again: so long a revoked one may still count."""
SOON: Final = 0.1
"""Seconds after which they are looked at again for a token that is not among them: it may be a new one."""
DEFAULTS: Final = {"/mcp": "gateway"}
"""By path, who calls with the server's own token, or where none is needed; everywhere else it is the proxy."""
DEFAULT: Final = "proxy"
_KEY: Final = "rightcall.entered"


class Entered(NamedTuple):
    """Who was let in."""

    caller: str
    operator: bool
    """Whether it came with the server's own token, or none is needed: such a client may see how the server is."""
    still: Callable[[], bool] = lambda: True
    """Whether its token still counts, for answers that take long. Raises StoreError."""


def enter(scope: Scope, entered: Entered) -> None:
    scope[_KEY] = entered


def entered(scope: Scope) -> Entered:
    """Raises KeyError for a request that nobody has let in."""
    return scope[_KEY]


class Callers:
    """Used within one event loop. Raises StoreError while the store cannot be read."""

    def __init__(
        self, store: Store, *, fresh: float = FRESH, soon: float = SOON, now: Callable[[], float] = monotonic
    ) -> None:
        self._store = store
        self._fresh = fresh
        self._soon = soon
        self._now = now
        self._looked: float | None = None
        self._known: dict[str, str] = {}

    def of(self, digest: str) -> str | None:
        """The caller for whom the token of this digest speaks; None for an unknown, revoked or expired one. How long it
        takes tells nothing of a token: only digests are compared."""
        self._look(self._fresh)
        found = self._known.get(digest)
        return self._known.get(digest) if found is None and self._look(self._soon) else found

    def _look(self, after: float) -> bool:
        """Whether it was time to look again."""
        now = self._now()
        if self._looked is not None and now - self._looked < after:
            return False
        self._looked, self._known = None, {}
        wall = self._store.clock.wall()
        tokens = self._store.look(lambda tables: tables.tokens())
        self._known = {one.digest: one.caller for one in tokens if not has_expired(one, wall)}
        self._looked = now
        return True
