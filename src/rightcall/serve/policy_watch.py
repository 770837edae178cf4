"""The policy file of a running server: an edit holds from the next request on, and a wrong one changes nothing (P-09).

How a change is noticed, and when a file counts as finished, is the executor's (`rightcall.executor_policy`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

from rightcall.config import Policy
from rightcall.errors import ConfigError, PolicyError
from rightcall.executor_policy import PolicyInForce
from rightcall.packs import load_pack

log = logging.getLogger("rightcall")

INTERVAL = 1.0
"""Seconds between two looks at the file."""

Noted = Callable[[str, Policy, str | None], None]


class PolicyWatch:
    """`take` puts a new policy in force, whole or not at all; `note` hears what became of an edit: `loaded`, or `kept`
    with the problem that keeps the old one."""

    def __init__(
        self, in_force: PolicyInForce, take: Callable[[Policy], None], note: Noted, *, interval: float | None = None
    ) -> None:
        self._in_force = in_force
        self._take = take
        self._note = note
        self._interval = INTERVAL if interval is None else interval
        self._looked = monotonic()

    def look(self) -> None:
        """Called with every request; at most once in the interval it asks for the file's date. Never raises."""
        now = monotonic()
        if now - self._looked < self._interval:
            return
        self._looked = now
        try:
            self._look()
        except Exception:  # an error of ours must not reach the answer; the old policy is in force
            log.exception("rightcall: the policy file could not be looked at")

    def _look(self) -> None:
        new = self._in_force.changed()
        if new is None:
            return
        try:
            if isinstance(new, PolicyError):
                raise new
            for name in new.packs:
                load_pack(name)
            self._take(new)
        except ConfigError as error:
            if self._in_force.keep(str(error)):
                self._note("kept", self._in_force.current, self._in_force.problem)
            return
        self._in_force.take(new)
        self._note("loaded", new, None)
        how = "as far as it tightens: you have not trusted it" if new.standing == "tightened" else "from now on"
        log.warning("rightcall: the policy file was changed; it holds %s", how)
