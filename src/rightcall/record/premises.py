"""Where an executor keeps its record: a file beside the policy, memory, or a store it is given. And the folder that
tools work in, with the files of ours that none of them may touch."""

import os
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from typing import Any, Literal, cast

from msgspec import Struct

from rightcall.base.files.guarded import desks_folder, guarded_files, leaves_folder
from rightcall.base.globs import quoted
from rightcall.errors import ConfigError
from rightcall.policy.settings import Policy
from rightcall.record.tables import Clock, Store


class Premises(Struct, frozen=True):
    """The folder that tools work in, and the files of ours that none of them may touch."""

    root: str
    policy_file: str | None
    database: str

    @property
    def protected(self) -> tuple[str, ...]:
        """As patterns below the root."""
        return guarded_paths(self.root, self.policy_file, self.database)

    @property
    def guarded(self) -> tuple[str, ...]:
        """As whole paths."""
        return guarded_files(self.policy_file, self.database)

    @property
    def desk(self) -> str:
        return desk_folder(self.database, self.root)


def store_path(policy: Policy, policy_file: str | None, root: str) -> str:
    """The database; a relative path counts from the policy's folder, without a policy file from the root."""
    base = os.path.dirname(policy_file) if policy_file is not None else root
    return os.path.join(base, policy.settings.audit.path)


def store_place(policy: Policy, policy_file: str | None, root: str) -> str:
    """Where audit, limits and approvals are kept: the server that the policy names, else the database. What lies beside
    the database (the journal of changes, worktrees, packets) stays on its machine either way."""
    return policy.settings.store.url or store_path(policy, policy_file, root)


def existing_folder(root: str | os.PathLike[str]) -> str:
    """The root as a whole path. One that is not there is a mistake: a new audit would count everything anew."""
    if not isinstance(root, (str, os.PathLike)):  # pyright: ignore[reportUnnecessaryIsInstance] - no types at run time
        raise ConfigError(f"`root` must be the path of a folder, not {type(root).__name__}")
    path: str = os.path.abspath(root)
    if not os.path.isdir(path):
        raise ConfigError(f"`root`: no such folder: {path!r}")
    return path


Held = tuple[str, int, int]
"""A folder by its name, with its device and number."""


def held_folders(folders: Iterable[str]) -> tuple[Held, ...]:
    """Those that are there, to be known again."""
    found: list[Held] = []
    for folder in folders:
        with suppress(OSError):
            seen = os.stat(folder)
            found.append((folder, seen.st_dev, seen.st_ino))
    return tuple(found)


def is_moved(held: tuple[Held, ...]) -> bool:
    """Whether one of these folders was renamed, removed or replaced: whoever works in it is elsewhere than its name
    says, and links there are not seen from here."""
    try:
        for folder, device, number in held:
            seen = os.stat(folder)
            if seen.st_ino != number or seen.st_dev != device:
                return True
    except OSError:
        return True
    return False


def desk_folder(database: str, root: str) -> str:
    """Where the tools that write on one root keep their journal, worktrees and pull requests. An audit outside the root
    may be that of several roots: then each has a desk of its own."""
    desks, base = desks_folder(database), os.path.realpath(root)
    if os.path.realpath(desks).startswith(base.rstrip(os.sep) + os.sep):
        return desks
    return os.path.join(desks, sha256(os.fsencode(base)).hexdigest()[:16])


def guarded_paths(root: str, policy_file: str | None, database: str) -> tuple[str, ...]:
    """Patterns below the root for files that no call may touch: a policy that its own subjects can write is none, and
    neither is a packet a request any more that one of its tools has written, nor a review one."""
    base = os.path.realpath(root)
    found: list[str] = []
    for file in guarded_files(policy_file, database):
        relative = os.path.relpath(file, base)
        if relative not in (os.curdir, os.pardir) and not relative.startswith(os.pardir + os.sep):
            ends = ("",) if file.endswith(os.sep) else ("", "-*", ".key")
            found += [quoted(relative.replace(os.sep, "/")) + end for end in ends]
    return tuple(found)


def listed(tools: Any) -> list[Any]:
    """The functions that were given; one alone is a common slip."""
    if callable(tools) or isinstance(tools, (str, bytes)) or not isinstance(tools, Iterable):
        raise ConfigError("`tools` must be a list of functions, such as tools=[add]")
    return list(cast("Iterable[Any]", tools))


def found_folder(policy: Policy, policy_file: str | None, root: str) -> str | None:
    """The folder whose store it is, where nobody named the store: it may have come with the folder. None where the
    policy was named, or says in words that somebody trusts where else the store is."""
    named = policy_file is not None and policy.standing == "given"
    if named or (policy.standing != "tightened" and leaves_folder(policy.settings.audit.path)):
        return None
    return root if policy_file is None else os.path.dirname(policy_file) or "."


def open_store(
    given: Store | Literal["memory"] | None, path: str, clock: Clock | None, found_in: str | None = None, keep: int = 0
) -> Store:
    """Raises StoreError when the store cannot be used. `path` is what `store_place` says, `found_in` what
    `found_folder` does. After `keep` days records go; 0: never."""
    if given == "memory":
        from rightcall.record.memory import MemoryStore  # late: a hook has a file

        return MemoryStore(clock)
    if isinstance(given, str) or (given is not None and not hasattr(given, "transact")):
        raise ConfigError(f'`store` must be "memory", a Store, or nothing for SQLite, not {given!r:.60}')
    if given is not None:
        return given
    if path.startswith(("postgresql://", "postgres://")):
        from rightcall.record.postgres import PostgresStore  # late: it needs an extra

        return PostgresStore(path, clock, keep=keep)
    if path.startswith(("postgresql:", "postgres:")):
        raise ConfigError(f"{path!r:.60} is not a URL; write postgresql://USER@HOST/DATABASE")
    from rightcall.record.sqlite import SqliteStore  # late: what needs no file should not load it

    if found_in is not None:
        from rightcall.record.identity import refuse_leaving

        refuse_leaving(path, found_in)
    return SqliteStore(path, clock, found=found_in or False, keep=keep)
