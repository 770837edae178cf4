"""Where a git that writes may write: in folders that are held open, and nowhere else. Git goes by names, and follows a
link that somebody puts in the place of `refs/heads` at that moment; Landlock looks at what is behind the name. Systems
without it have to do with what was looked at before."""

import os
import struct
import sys
from collections.abc import Callable, Sequence
from errno import EPERM

from rightcall.execute.sandbox.inside import kernel

_WRITE_FILE = 1 << 1
_CHANGES = 0b1_1111_1111 << 4
"""Removing and making, of the first version of Landlock."""
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_NOTHING = "/dev/null"


def only_in(folders: Sequence[int], *paths: str) -> Callable[[], None] | None:
    """What the thread that starts a program has to do first, so that it can write in these open folders and those at
    the paths alone; None where the system has no means for it. The thread itself can do no more either."""
    version = kernel.landlock_version() if folders and sys.platform == "linux" else 0
    if not version:
        return None

    def confine() -> None:
        handled = _WRITE_FILE | _CHANGES | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
        try:
            _enter(handled, folders, paths)
        except kernel.Step as error:
            raise OSError(error.errno or EPERM, str(error)) from error

    return confine


def _enter(handled: int, folders: Sequence[int], paths: Sequence[str]) -> None:
    rules = kernel.landlock_rules(struct.pack("Q", handled))
    try:
        for folder in folders:
            kernel.landlock_allow(rules, handled, folder, "a folder")
        whole = [(path, handled) for path in paths]
        for name, rights in (*whole, (_NOTHING, handled & (_WRITE_FILE | _TRUNCATE))):
            fd = os.open(name, os.O_PATH | os.O_CLOEXEC)
            try:
                kernel.landlock_allow(rules, rights, fd, name)
            finally:
                os.close(fd)
        kernel.no_new_privileges()
        kernel.landlock_enter(rules)
    finally:
        os.close(rules)
