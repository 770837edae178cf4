"""Where an executor keeps its record: a file beside the policy, memory, or a store it is given."""

import os
from typing import Literal

from rightcall.config import Policy
from rightcall.record.clock import Clock
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import Store


def store_path(policy: Policy, policy_file: str | None, root: str) -> str:
    """The database; a relative path counts from the policy's folder, without a policy file from the root."""
    base = os.path.dirname(os.path.abspath(policy_file)) if policy_file is not None else root
    return os.path.join(base, policy.settings.audit.path)


def open_store(given: Store | Literal["memory"] | None, path: str, clock: Clock | None) -> Store:
    """Raises StoreError when the database cannot be used."""
    if given == "memory":
        return MemoryStore(clock)
    if given is not None:
        return given
    from rightcall.record.sqlite import SqliteStore  # late: what needs no file should not load it

    return SqliteStore(path, clock)
