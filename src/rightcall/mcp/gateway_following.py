"""Looks at the policy from time to time, so that an edit counts also where nobody asks for anything."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from rightcall.door import Door

log = logging.getLogger("rightcall")

EVERY: Final = 1.0
"""Seconds between two looks."""


class Following:
    """`changed` is called when another policy is in force, `always` at every look."""

    def __init__(self, door: Door, changed: Callable[[], None], always: Callable[[], None] = lambda: None) -> None:
        self._door = door
        self._changed = changed
        self._always = always
        self._digest = door.policy.digest
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._follow(), name="mcp policy")

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def look(self) -> None:
        """Also asked by every request: an edit counts for the next one."""
        digest = self._door.policy.digest
        if digest != self._digest:
            self._digest = digest
            self._changed()

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            try:
                self.look()
                self._always()
            except Exception:
                log.exception("rightcall: following the policy failed")
