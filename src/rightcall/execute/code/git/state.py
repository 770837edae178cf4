"""In which state a history is: changes whenever a commit is made, a branch moved, a reflog written."""

import os
import stat
from hashlib import sha256
from time import time_ns

from rightcall.execute.code.git.layout import PSEUDO, Stamp, stamp
from rightcall.execute.code.git.repository import Repository
from rightcall.fs.sight import Sight

_MOST = 5_000
"""Refs that are looked at one by one; a repository with more has most of them in one file, or pays with its cache."""
_SETTLED = 20_000_000
"""Nanoseconds in which a file can change twice and look the same."""


def history_state(sight: Sight, repository: Repository) -> object:
    """The looks of everything that names a commit. Raises OSError when that is too much, or has changed just now."""
    del sight  # what may be seen of a history does not depend on its state
    own, common = repository.git_dir, repository.common_dir
    paths = [os.path.join(own, name) for name in ("HEAD", "logs/HEAD", *PSEUDO)]
    paths += [os.path.join(common, name) for name in ("packed-refs", "shallow", "objects/pack")]
    looks = [(path, stamp(path)) for path in paths]
    for name in ("refs", "logs/refs", "reftable"):
        _tree(os.path.join(common, name), looks)
    latest = max((look[4] for _, look in looks if look), default=0)
    if abs(time_ns() - latest) < _SETTLED:
        raise OSError("changed a moment ago")
    return sha256(repr(looks).encode(errors="surrogateescape")).hexdigest()


def _tree(folder: str, looks: list[tuple[str, Stamp]]) -> None:
    todo = [folder]
    while todo:
        at = todo.pop()
        seen = stamp(at)
        looks.append((at, seen))
        if len(looks) > _MOST:
            raise OSError("too many refs to look at")
        if seen and stat.S_ISDIR(seen[0]):
            with os.scandir(at) as entries:
                todo.extend(sorted(entry.path for entry in entries))
