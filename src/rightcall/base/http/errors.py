"""What can go wrong when a server is asked, as data: who asks puts it into words.

A fault is made of numbers and the system's own words for a failed connection. Nothing of the request goes into it, and
so no key.
"""

import ssl
from collections.abc import Mapping
from typing import Final, Literal, cast

from msgspec import Struct

from rightcall.errors import RightCallError

Kind = Literal["unreachable", "tls", "timeout", "broken", "too_large"]
Phase = Literal["connect", "first byte", "between pieces"]
Code = Literal[
    "unreachable", "unnamed", "untrusted", Phase, "large", "silent", "half head", "half body", "reset", "reset body",
    "not http", "status", "upgrade", "headers", "length", "lengths", "encoding", "chunks", "packed", "other",
]  # fmt: skip

_KINDS: Final[dict[Code, Kind]] = {
    "unreachable": "unreachable",
    "unnamed": "unreachable",
    "untrusted": "tls",
    "connect": "timeout",
    "first byte": "timeout",
    "between pieces": "timeout",
    "large": "too_large",
}
WORDS: Final[dict[Code, str]] = {
    "unreachable": "cannot be reached ({told})",
    "unnamed": "has a name that cannot be looked up",
    "untrusted": "cannot be trusted or does not speak TLS ({told})",
    "connect": "did not accept a connection within {seconds:g} s",
    "first byte": "did not begin to answer within {seconds:g} s",
    "between pieces": "stopped in the middle of its answer and was silent for {seconds:g} s",
    "large": "sent {told} of more than {most:,} bytes, which is not taken",
    "silent": "gave no answer",
    "half head": "closed the connection in the middle of an answer's head",
    "half body": "closed the connection in the middle of its answer",
    "reset": "broke off the connection",
    "reset body": "broke off the connection",
    "not http": "did not answer in HTTP",
    "status": "answered with the status {told}, which HTTP does not have",
    "upgrade": "wanted to change to another protocol",
    "headers": "did not answer in HTTP",
    "length": "did not answer in HTTP",
    "lengths": "did not answer in HTTP",
    "encoding": "sent its answer in a transfer encoding other than chunked",
    "chunks": "sent an answer whose body is not as its head says",
    "packed": "compressed its answer although it was not asked to",
    "other": "{told}",
}
CLOSER: Final[dict[Code, str]] = {
    **WORDS,
    "half head": "closed the connection without a whole answer",
    "half body": "broke off in the middle of its answer",
    "reset": "broke the connection off",
    "reset body": "broke off in the middle of its answer",
    "headers": "sent headers that are none",
    "length": "sent an answer whose length is no number",
    "lengths": "gave two lengths for one answer",
    "chunks": "sent chunks that are none",
}
"""For who asks a server of its own choice, and can look into what it sent."""


class Fault(Struct, frozen=True):
    """What went wrong, and the particulars that its words name."""

    code: Code
    told: str = ""
    seconds: float = 0.0
    most: int = 0

    @property
    def kind(self) -> Kind:
        return _KINDS.get(self.code, "broken")

    def describe(self, words: Mapping[Code, str] = WORDS) -> str:
        """What the server did: the rest of a sentence that begins with it.

        >>> Fault("large", "headers", most=64_000).describe()
        'sent headers of more than 64,000 bytes, which is not taken'
        """
        return words[self.code].format(told=self.told, seconds=self.seconds, most=self.most)


class HttpError(RightCallError):
    """The server gave no whole answer. `kind` says why in one word, `phase` what a timeout waited for."""

    def __init__(self, host: str, fault: Fault, advice: str = "") -> None:
        super().__init__(f"{host} {fault.describe()}{advice}")
        self.host = host
        self.fault = fault
        self.kind: Kind = fault.kind
        self.phase: Phase | None = cast("Phase", fault.code) if fault.kind == "timeout" else None


class Broken(Exception):
    """An answer that cannot be read on: raised where it is read, caught where it is awaited."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.code)
        self.fault = fault
        self.body = b""
        """What came of it in the same moment."""


def read_failure(why: OSError) -> Fault:
    """Why a connection could not be made."""
    if isinstance(why, ssl.SSLError):
        told = getattr(why, "verify_message", None) or why.reason or type(why).__name__
        return Fault("untrusted", str(told).lower().replace("_", " "))
    return Fault("unreachable", str(why.strerror or type(why).__name__))
