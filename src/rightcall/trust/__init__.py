"""Whose word a policy file is. One that somebody named has its full word; one that was only found in a folder may have
come with the folder, so it can make things stricter and nothing else, until a person trusts its very bytes.

    named (--policy, a program's argument) ──────────────────────────▶ the policy as it is written
    found ─▶ these bytes are trusted, by this user, at this path ────▶ the policy as it is written
          └▶ they are not ─▶ the defaults, with what makes them stricter; the rest is ignored, and that is said

A record that was found beside it is judged on its own: approvals and grants count from when this user began to use it.
"""

import os

from msgspec import Struct

from rightcall.types import Mode

__all__ = ["FoundPolicy", "leaves_folder"]


class FoundPolicy(Struct, frozen=True):
    """A policy file that nobody named, in place of its path: whoever loads it loads what may be believed of it."""

    path: str
    least: Mode = "block"
    """What happens to a wrong call here, as somebody set it up: what was found is never milder than that."""

    quiet: bool = False
    """A hook is started for every call: what it ignores it does not tell each time."""

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path

    def absolute(self) -> "FoundPolicy":
        return FoundPolicy(os.path.abspath(self.path), self.least, self.quiet)


def leaves_folder(path: str) -> bool:
    """Whether a path that counts from the policy's folder says, as it is written, that it leads out of it.

    >>> [leaves_folder(path) for path in (".rightcall/audit.db", "/var/audit.db", "a/../../audit.db", ".")]
    [False, True, True, True]
    """
    plain = os.path.normpath(path.replace("\\", "/"))
    outside = os.path.isabs(plain) or os.path.splitdrive(path)[0] or plain.split("/")[0] in ("..", "~")
    return bool(outside) or plain == "." or "\0" in path
