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
from typing import TYPE_CHECKING, NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.guarded import identity, plain_file
from rightcall.base.text import escaped
from rightcall.errors import PolicyError
from rightcall.policy import ledger
from rightcall.policy.ledger import modes_mean_nothing, others_may_write, warn
from rightcall.policy.settings import Policy
from rightcall.types import Mode

if TYPE_CHECKING:
    from rightcall.policy.tightening import Beyond

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


class PolicyText(NamedTuple):
    """The bytes of a policy file, and what the file system says of it."""

    raw: bytes
    shared: bool
    """Whether nobody can tell who may write it: then naming it is not enough."""


def read_text(file: str) -> PolicyText:
    """Raises PolicyError for what is no file, cannot be read, is too long, or can be written by others."""
    try:
        _refuse_strange(os.stat(file), file)  # before it is opened: a device may act on that alone
        with open(file, "rb", opener=plain_file) as opened:
            found = os.fstat(opened.fileno())
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


# ── trust ──
# What a file that was found may say, and how a person's trust is given and taken back.

_MOST_KEYS = 8
_MOST_MARKS = 3_500
"""Requests that are known again one by one: of more, the note would be too long to be read back."""


def load_file(policy: str | os.PathLike[str]) -> Policy:
    """The policy in a file: as it is written where it was named, or is trusted; else what makes the defaults stricter.
    Raises PolicyError."""
    from rightcall.policy.reader import read_bytes  # late: a file that is only looked at is not read as a policy

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
    from rightcall.policy.tightening import tighten

    said = read_bytes(file, text.raw)
    tight = tighten(said, found.least)
    if not found.quiet:
        _tell_ignored(file, said, tight)
    return tight


def _tell_ignored(file: str, said: Policy, tight: Policy) -> None:
    from rightcall.policy.tightening import ignored_keys

    keys = ignored_keys(said, tight)
    if not keys:
        return
    shown = ", ".join(escaped(key, 60) for key in keys[:_MOST_KEYS])
    more = f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
    warn(
        f"{escaped(identity(file))} is not trusted, so it can only make things stricter. Ignored: {shown}{more}. "
        f"To read and trust it: rightcall trust {escaped(quote(os.path.abspath(file)))}"
    )


class TrustOffer(Struct, frozen=True):
    """A policy file as a person is asked to trust it: these bytes, and what they ask for."""

    file: str
    digest: str
    requests: "tuple[Beyond, ...]"
    trusted: bool
    known: frozenset[str] | None
    """The requests that were there when the file was last trusted; None: it never was."""

    def is_new(self, request: "Beyond") -> bool:
        """Whether it has come since."""
        return self.known is not None and _mark(request) not in self.known


def offer(file: str) -> TrustOffer:
    """What there is to trust. Raises PolicyError for a file that cannot be used."""
    from rightcall.policy.tightening import requests_of  # late: who only loads a policy shows nobody what is in it

    raw = read_text(file).raw
    before = ledger.recall("policies", identity(file))
    marks = None if before is None else before.get("requests")
    known = None if before is None else frozenset(map(str, cast("list[object]", marks) if marks else ()))
    return TrustOffer(file, digest_of(raw), tuple(requests_of(file, raw)), is_trusted(file, raw), known)


def give(offered: TrustOffer) -> None:
    """The bytes that were shown are trusted, and no others. Raises ConfigError where that cannot be kept."""
    _note(offered.file, offered.digest, [_mark(one) for one in offered.requests])


def give_to_own(file: str, raw: bytes) -> None:
    """A command of ours has written the whole file."""
    from rightcall.policy.tightening import requests_of

    _note(file, digest_of(raw), [_mark(one) for one in requests_of(file, raw)])


def take_back(file: str) -> bool:
    """Whether it was trusted."""
    return ledger.forget("policies", identity(file))


def _note(file: str, digest: str, marks: list[str]) -> None:
    from datetime import UTC, datetime

    if len(marks) > _MOST_MARKS:
        marks = []  # then all of them are shown as new next time, which is the stricter
    at = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
    ledger.note("policies", identity(file), {"sha256": digest, "at": at, "requests": marks})


def _mark(request: "Beyond") -> str:
    return digest_of(f"{request.key} = {request.value}".encode())[:16]


def state_of(entry: dict[str, object]) -> str:
    """Whether what was trusted is still there: `trusted`, `changed` or `gone`."""
    path = str(entry.get("path", ""))
    try:
        return "trusted" if entry.get("sha256") == digest_of(read_text(path).raw) else "changed"
    except PolicyError:
        return "changed" if os.path.lexists(path) else "gone"
