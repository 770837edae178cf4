"""Trust in policy files: what a file that was found may say, and how a person's trust is given and taken back."""

import os
from shlex import quote
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.guarded import identity
from rightcall.base.text import escaped
from rightcall.errors import PolicyError
from rightcall.policy import ledger
from rightcall.policy.discovery import FoundPolicy, digest_of, is_trusted, read_text, refuse_leaving_link
from rightcall.policy.ledger import warn
from rightcall.policy.reader import read_bytes
from rightcall.policy.settings import Policy

if TYPE_CHECKING:
    from rightcall.policy.tightening import Beyond

_MOST_KEYS = 8
_MOST_MARKS = 3_500
"""Requests that are known again one by one: of more, the note would be too long to be read back."""


def load_file(policy: str | os.PathLike[str]) -> Policy:
    """The policy in a file: as it is written where it was named, or is trusted; else what makes the defaults stricter.
    Raises PolicyError."""
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


class Offer(Struct, frozen=True):
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


def offer(file: str) -> Offer:
    """What there is to trust. Raises PolicyError for a file that cannot be used."""
    from rightcall.policy.tightening import requests_of  # late: who only loads a policy shows nobody what is in it

    raw = read_text(file).raw
    before = ledger.recall("policies", identity(file))
    marks = None if before is None else before.get("requests")
    known = None if before is None else frozenset(map(str, cast("list[object]", marks) if marks else ()))
    return Offer(file, digest_of(raw), tuple(requests_of(file, raw)), is_trusted(file, raw), known)


def give(offered: Offer) -> None:
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
