"""The options with which a command finds the store (audit, limits, approvals), and the store they describe.

--db FILE ─▶ that file
--policy FILE ─▶ what its `[audit] path` says, counted from its folder
otherwise ─▶ the same for rightcall.toml in --root DIR (or here), else .rightcall/audit.db there
"""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from rightcall.door_guarding import POLICY_FILE
from rightcall.errors import StoreError

if TYPE_CHECKING:
    from rightcall.config import Policy
    from rightcall.record.tables import Store, Tables
    from rightcall.text.redact import Redactor

T = TypeVar("T")

_PATIENCE = 3.0
"""Seconds that a look waits while somebody holds the database."""


def store_options(parser: ArgumentParser) -> None:
    """--policy, --root, --db."""
    group = parser.add_argument_group("where the audit is")
    group.add_argument("--policy", metavar="FILE", help=f"the policy file (default: {POLICY_FILE} in --root, if any)")
    group.add_argument("--root", metavar="DIR", default=".", help="the folder that is worked in (default: this one)")
    group.add_argument("--db", metavar="FILE", help="the database itself, instead of the one the policy names")


def policy_file(options: Namespace) -> str | None:
    """The policy file that the options name, or the one that lies in the root; None when there is none."""
    if options.policy is not None:
        return options.policy
    usual = os.path.join(options.root, POLICY_FILE)
    return usual if os.path.lexists(usual) else None


def policy_of(options: Namespace) -> "Policy":
    """The policy in force there. Raises PolicyError for a file that is wrong."""
    from rightcall.config import load_policy

    return load_policy(policy_file(options))


def redactor_of(options: Namespace, store: "Store") -> "Redactor":
    """Hides what must not stand in the records of this store."""
    from rightcall.text.redact import Redactor

    return Redactor(store.key(), policy_of(options).settings.audit.redact)


def database_of(options: Namespace) -> str:
    """Where the store's file is, or would be."""
    if options.db is not None:
        return options.db
    from rightcall.executor_opening import store_path

    return store_path(policy_of(options), policy_file(options), options.root)


def open_store(options: Namespace, *, create: bool = False) -> "Store":
    """The store. Only a command that runs calls may `create` it: looking into it never leaves an empty one behind."""
    path = database_of(options) if create else _existing(options)
    from rightcall.record.sqlite import SqliteStore

    return SqliteStore(path)


class Looking:
    """A store that is only looked into: nothing is written beside what others write, not even that they ended."""

    def __init__(self, path: str) -> None:
        from pathlib import Path

        from rightcall.record.clock import SystemClock
        from rightcall.record.runs import Runs
        from rightcall.record.sqlite_readers import Readers

        file = self.path = Path(path).absolute()
        self.clock = SystemClock()
        self._readers = Readers(file, self.clock, Runs(file.with_name(file.name + "-runs")), _PATIENCE)

    def look(self, work: Callable[["Tables"], T]) -> T:
        return self._readers.look(work)

    def close(self) -> None:
        self._readers.close()


def look_into(options: Namespace) -> Looking:
    """The store, for a command that changes nothing in it."""
    return Looking(_existing(options))


def _existing(options: Namespace) -> str:
    path = database_of(options)
    if os.path.isdir(path):
        raise StoreError(f"{path} is a folder, not the file of an audit")
    from pathlib import Path

    from rightcall.record.sqlite_faults import unusable, way_out
    from rightcall.record.sqlite_identity import lost

    file = Path(path).resolve()
    if problem := lost(file):
        raise unusable(file, problem, way_out(file), "replaced")
    if not os.path.exists(path):
        raise StoreError(
            f"there is no audit at {path}: nothing was recorded there yet. "
            f"--policy FILE, --root DIR or --db FILE say where else to look{_of_hooks()}"
        )
    return path


def _of_hooks() -> str:
    """Hooks of projects without a policy keep one record for all of them."""
    from rightcall.hosts.hook_place import record_without_policy

    path = record_without_policy()
    return f". Hooks without a policy file record in {path}: --db {path}" if os.path.exists(path) else ""
