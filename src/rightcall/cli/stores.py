"""The options with which a command finds the store (audit, limits, approvals), and the store they describe.

--db FILE ─▶ that file
--policy FILE ─▶ what its `[audit] path` says, counted from its folder
otherwise ─▶ the same for rightcall.toml in --root DIR (or here), else .rightcall/audit.db there
"""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from rightcall.base.files.guarded import POLICY_FILE
from rightcall.base.text import escaped
from rightcall.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from rightcall.base.redact import Redactor
    from rightcall.policy.discovery import FoundPolicy
    from rightcall.policy.settings import Policy
    from rightcall.record.identity import Identified
    from rightcall.record.tables import Store, Tables
    from rightcall.types import Mode

T = TypeVar("T")

_PATIENCE = 3.0
"""Seconds that a look waits while somebody holds the database."""


def store_options(parser: ArgumentParser) -> None:
    """--policy, --root, --db."""
    group = parser.add_argument_group("where the audit is")
    group.add_argument("--policy", metavar="FILE", help=f"the policy file (default: {POLICY_FILE} in --root, if any)")
    group.add_argument("--root", metavar="DIR", default=".", help="the folder that is worked in (default: this one)")
    group.add_argument("--db", metavar="FILE", help="the database itself, instead of the one the policy names")


def policy_file(options: Namespace) -> "str | FoundPolicy | None":
    """The policy file that the options name, or the one that was found in the root; None when there is none."""
    if options.policy is not None:
        return options.policy
    usual = os.path.join(options.root, POLICY_FILE)
    if not os.path.lexists(usual):
        return None
    return found_policy(usual)


def found_policy(path: str, least: "Mode" = "block") -> "FoundPolicy":
    """A policy file that a command has found; what is ignored of it is said on standard error."""
    from rightcall.policy.discovery import FoundPolicy
    from rightcall.policy.ledger import speak_on_stderr

    speak_on_stderr()
    return FoundPolicy(path, least)


def policy_path(options: Namespace) -> str | None:
    """The same as a path, for whoever only says where it is."""
    file = policy_file(options)
    return None if file is None else os.fspath(file)


def policy_of(options: Namespace) -> "Policy":
    """The policy in force there; of one that was only found, what may be believed of it. Raises PolicyError for a file
    that is wrong. A command reads it once: what it decides by is what it tells."""
    key, read = (options.policy, options.root), getattr(options, "policy_read", None)
    if read is None or read[0] != key:
        from rightcall.policy.loader import load_policy

        read = options.policy_read = key, load_policy(policy_file(options))
    return read[1]


def redactor_of(options: Namespace, store: "Store") -> "Redactor":
    """Hides what must not stand in the records of this store."""
    from rightcall.base.redact import Redactor

    return Redactor(store.key(), policy_of(options).settings.audit.redact)


def database_of(options: Namespace) -> str:
    """Where the store's file is, or would be. StoreError where it leads out of a folder in which it was only found."""
    if options.db is not None:
        return options.db
    from rightcall.executor.stores import store_path

    path = store_path(policy_of(options), policy_path(options), options.root)
    if (folder := found_in(options)) is not None:
        from rightcall.record.identity import refuse_leaving

        refuse_leaving(path, folder)
    return path


def found_in(options: Namespace) -> str | None:
    """The folder that the store may have come with; None where the options name it."""
    if options.db is not None:
        return None
    from rightcall.executor.stores import found_folder
    from rightcall.policy.ledger import speak_on_stderr

    speak_on_stderr()

    return found_folder(policy_of(options), policy_path(options), options.root)


def open_store(options: Namespace, *, create: bool = False) -> "Store":
    """The store. Only a command that runs calls may `create` it: looking into it never leaves an empty one behind."""
    path = database_of(options) if create else _existing(options)
    from rightcall.record.sqlite import SqliteStore

    return SqliteStore(path, found=found_in(options) is not None)


def existing_place(options: Namespace) -> None:
    """Raises ConfigError where a folder that the options name is missing: a store made there would be nobody's."""
    for name, folder in (
        ("--root", options.root),
        ("--db", options.db and os.path.dirname(os.path.abspath(options.db))),
    ):
        if folder is not None and not os.path.isdir(folder):
            raise ConfigError(f"there is no folder {escaped(folder)}; nothing was changed. Check `{name}`")


class Looking:
    """A store that is only looked into: nothing is written beside what others write, not even that they ended."""

    def __init__(self, path: str, *, found: bool) -> None:
        from pathlib import Path

        from rightcall.record.identity import Origin
        from rightcall.record.sqlite import Readers
        from rightcall.record.sqlite_tables import Runs
        from rightcall.record.tables import SystemClock

        file = self.path = Path(path).resolve()
        self.clock = SystemClock()
        self._origin = Origin(file, found=found)
        runs = Runs(file.with_name(file.name + "-runs"))
        self._readers = Readers(file, self.clock, runs, _PATIENCE, self._origin, alone=True)

    def look(self, work: Callable[["Tables"], T]) -> T:
        return self._readers.look(work)

    def strangeness(self, tables: "Tables") -> str:
        """Why it is not the audit that was written here last: what lies beside it knows, and so does this user's state,
        also where all of it was put back; empty where it is."""
        from rightcall.record.identity import older, wrong_with

        seen, known = cast("Identified", tables), self._origin.kept_head()
        return wrong_with(self.path, seen) or ("" if known is None else older(seen, known))

    def close(self) -> None:
        self._readers.close()


def look_into(options: Namespace) -> Looking:
    """The store, for a command that changes nothing in it."""
    return Looking(_existing(options), found=found_in(options) is not None)


def _existing(options: Namespace) -> str:
    path = database_of(options)
    if os.path.isdir(path):
        raise StoreError(f"{path} is a folder, not the file of an audit")
    from pathlib import Path

    from rightcall.record.identity import lost
    from rightcall.record.sqlite_file import unusable, way_out

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
    from rightcall.hosts.hooks.place import record_without_policy

    path = record_without_policy()
    return f". Hooks without a policy file record in {path}: --db {path}" if os.path.exists(path) else ""
