"""The doors behind which the server judges for hooks: one for each host, project and mode, over one store."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from rightcall.config_load import load_policy
from rightcall.executor_opening import found_folder, open_store, store_path
from rightcall.hosts.hook_judging import Hook, Hooks, policy_source

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
        self._stores: dict[str | None, Store] = {}
        """By the folder that a store was found in: one that was named is another matter."""

    def of(self, wanted: Wanted) -> Hooks:
        """Raises what opening a door raises: the hook then tries by itself, and tells what is wrong."""
        with self._lock:
            found = self._open.get(wanted)
            if found is None:
                mode = cast("Mode | None", wanted.mode or None)
                hook = Hook(wanted.host, self._policy, wanted.root, mode, wanted.caller or None, wanted.found)
                store = self._store_for(hook)
                while len(self._open) >= _MOST:
                    self._open.pop(next(iter(self._open)))  # others may still use it, so that it is not closed
                found = self._open[wanted] = Hooks(hook, every_tool=True, store=store)
            return found

    def _store_for(self, hook: Hook) -> Store:
        policy, folder = load_policy(policy_source(hook)), os.path.dirname(self._policy)
        found_in = found_folder(policy, self._policy, folder)
        known = self._stores.get(found_in)
        if known is None:
            path = store_path(policy, self._policy, folder)
            known = self._stores[found_in] = open_store(None, path, None, found_in)
        return known

    def close(self) -> None:
        with self._lock:
            self._open.clear()
            stores, self._stores = self._stores, {}
        for store in stores.values():
            store.close()
