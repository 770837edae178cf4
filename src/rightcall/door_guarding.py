"""The files that no call at a door may touch, wherever they are: what its subjects can write is no policy."""

import os
from collections.abc import Iterable

POLICY_FILE = "rightcall.toml"
STATE_FOLDER = ".rightcall"


def guarded_files(policy: str | None, store: str | None) -> tuple[str, ...]:
    """As whole paths, after every link; with the store go the files beside it."""
    return tuple(os.path.realpath(one) for one in (policy, store) if one is not None)


def touches(guarded: tuple[str, ...], root: str, paths: Iterable[tuple[str, str]]) -> str | None:
    """The first path, as it is written, that is one of these, or that could become one: a policy anywhere holds for
    what lies below it.

    >>> touches((), "/work", [("notes.txt", "notes.txt"), ("sub/rightcall.toml", "sub/rightcall.toml")])
    'sub/rightcall.toml'
    """
    base = os.path.realpath(root)
    for written, resolved in paths:
        whole = os.path.join(base, resolved)
        names = [part.casefold() for part in whole.replace("\\", "/").split("/")]
        if names[-1] == POLICY_FILE or STATE_FOLDER in names or any(_is_beside(whole, one) for one in guarded):
            return written
    return None


def _is_beside(path: str, file: str) -> bool:
    """The file itself, or one that is named after it (`audit.db-wal`, `audit.db.key`)."""
    return path == file or path.startswith((f"{file}-", f"{file}."))
