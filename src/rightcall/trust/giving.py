"""Trust given, renewed and taken back: by a person, or by a command of ours that wrote the file."""

import os
from hashlib import sha256
from typing import cast

from msgspec import Struct

from rightcall.hosts.hook_place import identity
from rightcall.trust import ledger
from rightcall.trust.loading import digest_of, is_trusted, read_text
from rightcall.trust.requests import Beyond, requests_of


class Offer(Struct, frozen=True):
    """A policy file as a person is asked to trust it: these bytes, and what they ask for."""

    file: str
    digest: str
    requests: tuple[Beyond, ...]
    trusted: bool
    known: frozenset[str] | None
    """The requests that were there when the file was last trusted; None: it never was."""

    def is_new(self, request: Beyond) -> bool:
        """Whether it has come since."""
        return self.known is not None and _mark(request) not in self.known


def offer(file: str) -> Offer:
    """What there is to trust. Raises PolicyError for a file that cannot be used."""
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
    _note(file, digest_of(raw), [_mark(one) for one in requests_of(file, raw)])


def take_back(file: str) -> bool:
    """Whether it was trusted."""
    return ledger.forget("policies", identity(file))


def _note(file: str, digest: str, marks: list[str]) -> None:
    from rightcall.record.clock import SystemClock

    ledger.note("policies", identity(file), {"sha256": digest, "at": SystemClock().wall(), "requests": marks})


def _mark(request: Beyond) -> str:
    return sha256(f"{request.key} = {request.value}".encode()).hexdigest()[:16]


def state_of(entry: dict[str, object]) -> str:
    """Whether what was trusted is still there: `trusted`, `changed` or `gone`."""
    from rightcall.errors import PolicyError

    path = str(entry.get("path", ""))
    try:
        return "trusted" if entry.get("sha256") == digest_of(read_text(path).raw) else "changed"
    except PolicyError:
        return "changed" if os.path.lexists(path) else "gone"
