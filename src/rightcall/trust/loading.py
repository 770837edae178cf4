"""Reads a policy file, once: the bytes that are looked up are the bytes that are parsed.

Whatever has the file's name and is no file (a pipe, a device, a folder) is neither opened nor waited for. One that
others may write is refused. One that was found and leads out of its folder is somebody else's file: unless it is
trusted, nothing of it is parsed, so that no error can show what is in it.
"""

import os
import stat
from shlex import quote
from typing import NamedTuple

from rightcall.config import Policy
from rightcall.config_read import read_bytes
from rightcall.errors import PolicyError
from rightcall.hosts.hook_place import identity
from rightcall.text.escape import escaped
from rightcall.trust import FoundPolicy, ledger
from rightcall.trust.modes import modes_mean_nothing, others_may_write
from rightcall.trust.telling import warn

MOST_BYTES = 1_000_000
"""Of a policy file. People do not write longer ones."""
_STRANGE = "not a regular file, or a link to nothing"
_MOST_KEYS = 8


class PolicyText(NamedTuple):
    """The bytes of a policy file, and what the file system says of it."""

    raw: bytes
    shared: bool
    """Whether nobody can tell who may write it: then naming it is not enough."""


def load_file(policy: str | os.PathLike[str]) -> Policy:
    """The policy in a file: as it is written where it was named, or is trusted; else what makes the defaults stricter.
    Raises PolicyError."""
    from msgspec.structs import replace

    file = os.fspath(policy)
    text = read_text(file)
    found = policy if isinstance(policy, FoundPolicy) else FoundPolicy(file) if text.shared else None
    if found is None:
        return read_bytes(file, text.raw)
    if text.shared and not isinstance(policy, FoundPolicy):
        warn(f"{file}: modes mean nothing on this file system, so anybody may have written it")
    if is_trusted(file, text.raw):
        return replace(read_bytes(file, text.raw), standing="trusted")
    refuse_leaving_link(file)
    from rightcall.trust.tightening import tighten

    said = read_bytes(file, text.raw)
    tight = tighten(said, found.least)
    if not found.quiet:
        _tell_ignored(file, said, tight)
    return tight


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


def _tell_ignored(file: str, said: Policy, tight: Policy) -> None:
    from rightcall.trust.requests import ignored_keys

    keys = ignored_keys(said, tight)
    if not keys:
        return
    shown = ", ".join(escaped(key, 60) for key in keys[:_MOST_KEYS])
    more = f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
    warn(
        f"{escaped(file)} is not trusted, so it can only make things stricter. Ignored: {shown}{more}. "
        f"To read and trust it: rightcall trust {escaped(quote(os.path.abspath(file)))}"
    )


def _unreadable(file: str, why: str) -> PolicyError:
    return PolicyError(f"the policy cannot be read: {why}", source=file)
