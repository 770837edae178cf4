"""The doors behind which the server judges for hooks: one for each host, project and mode, over one store."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from rightcall.executor_opening import open_store, store_path
from rightcall.hosts.hook_found import usable
from rightcall.hosts.hook_judging import Hook, Hooks

if TYPE_CHECKING:
    from rightcall.record.tables import Store
    from rightcall.types import Mode

_MOST = 64
"""Doors that are kept open; beyond that the oldest one makes room."""


class Wanted(Struct, frozen=True):
    """What a hook was started with. An empty word means: none was given."""

    host: str
    root: str
    mode: str
    caller: str
    found: bool


class Doors:
    """Opened when they are first asked for. Thread-safe."""

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._lock = threading.Lock()
        self._open: dict[Wanted, Hooks] = {}
        self._store: Store | None = None

    def of(self, wanted: Wanted) -> Hooks:
        """Raises what opening a door raises: the hook then tries by itself, and tells what is wrong."""
        with self._lock:
            found = self._open.get(wanted)
            if found is None:
                policy = usable(self._policy, found=wanted.found)
                if self._store is None:
                    path = store_path(policy, self._policy, os.path.dirname(self._policy))
                    self._store = open_store(None, path, None)
                while len(self._open) >= _MOST:
                    self._open.pop(next(iter(self._open)))  # others may still use it, so that it is not closed
                mode = cast("Mode | None", wanted.mode or None)
                hook = Hook(wanted.host, self._policy, wanted.root, mode, wanted.caller or None, wanted.found)
                found = self._open[wanted] = Hooks(hook, every_tool=True, store=self._store)
            return found

    def close(self) -> None:
        with self._lock:
            self._open.clear()
            store, self._store = self._store, None
        if store is not None:
            store.close()
