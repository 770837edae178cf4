"""A policy file as it is found: its bytes, read once, and whether this user trusts them.

    named (--policy, a program's argument) ──────────────────────────▶ the policy as it is written
    found ─▶ these bytes are trusted, by this user, at this path ────▶ the policy as it is written
          └▶ they are not ─▶ the defaults, with what makes them stricter; the rest is ignored, and that is said

Whatever has the file's name and is no file (a pipe, a device, a folder) is neither opened nor waited for. One that
others may write is refused. One that was found and leads out of its folder is somebody else's file: unless it is
trusted, nothing of it is parsed, so that no error can show what is in it.
"""

import os
import stat
from shlex import quote
from typing import NamedTuple

from msgspec import Struct

from rightcall.base.files.guarded import identity
from rightcall.errors import PolicyError
from rightcall.policy import ledger
from rightcall.policy.ledger import modes_mean_nothing, others_may_write
from rightcall.types import Mode

MOST_BYTES = 1_000_000
"""Of a policy file. People do not write longer ones."""
_STRANGE = "not a regular file, or a link to nothing"


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


class PolicyText(NamedTuple):
    """The bytes of a policy file, and what the file system says of it."""

    raw: bytes
    shared: bool
    """Whether nobody can tell who may write it: then naming it is not enough."""


def read_text(file: str) -> PolicyText:
    """Raises PolicyError for what is no file, cannot be read, is too long, or can be written by others."""
    try:
        _refuse_strange(os.stat(file), file)  # before it is opened: a device may act on that alone
        with open(file, "rb", opener=_open_at_once) as opened:
            found = os.fstat(opened.fileno())
            _refuse_strange(found, file)
            raw = opened.read(MOST_BYTES + 1)
    except PolicyError:
        raise
    except (OSError, ValueError) as fault:  # ValueError: a NUL in the path
        nothing = isinstance(fault, FileNotFoundError) and os.path.islink(file)
        raise _unreadable(file, _STRANGE if nothing else str(getattr(fault, "strerror", None) or fault)) from None
    if len(raw) > MOST_BYTES:
        raise _unreadable(file, f"it is longer than {MOST_BYTES:,} bytes")
    if not others_may_write(found):
        return PolicyText(raw, shared=False)
    if modes_mean_nothing(found):
        return PolicyText(raw, shared=True)
    raise PolicyError(
        "other users may write this policy file, so it cannot be relied on; "
        f"run `chmod go-w {quote(os.path.abspath(file))}`",
        source=file,
    )


def _refuse_strange(found: os.stat_result, file: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise _unreadable(file, "Is a directory")
    if not stat.S_ISREG(found.st_mode):
        raise _unreadable(file, _STRANGE)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def digest_of(raw: bytes) -> str:
    from hashlib import sha256

    return sha256(raw).hexdigest()


def is_trusted(file: str, raw: bytes) -> bool:
    """Whether this user has trusted these very bytes at this path."""
    known = ledger.recall("policies", identity(file))
    return known is not None and known.get("sha256") == digest_of(raw)


def refuse_leaving_link(file: str) -> None:
    """Raises PolicyError for a file that is a link out of its folder."""
    if os.path.islink(file) and os.path.dirname(os.path.realpath(file)) != os.path.realpath(os.path.dirname(file)):
        raise PolicyError(
            "this policy is a link that leads out of its folder, and was only found there, so it is not read; "
            "name the file that it leads to with --policy, if it is yours",
            source=file,
        )


def _unreadable(file: str, why: str) -> PolicyError:
    return PolicyError(f"the policy cannot be read: {why}", source=file)
