"""One word for all that a change is written onto: whoever approved it approved exactly that."""

from collections.abc import Callable
from hashlib import sha256
from typing import cast

from msgspec.json import encode

from rightcall.execute.write.changes import Moved
from rightcall.fs.spots import Seen


def digest(*parts: object) -> str:
    """Differs whenever a part does. Bytes and names that are no text count too.

    >>> digest("a", None) == digest("a", None), digest("a", b"1") == digest("a", b"2")
    (True, False)
    """
    return sha256(encode([_plain(part) for part in parts])).hexdigest()[:32]


def identify_file(seen: Seen | None) -> tuple[object, ...] | None:
    """What counts of a file: its bytes, and whether it can be run. All else depends on who has checked it out."""
    return None if seen is None else (seen.content, bool(seen.mode & 0o100))


def must_be(expected: str | None, found: str, now: Callable[[], str]) -> None:
    """Raises Moved with what would be done `now`, unless the state is the one in which the call was judged."""
    if expected is not None and expected != found:
        diff = now()
        rest = " It would now be:" if diff else ""
        raise Moved(f"What this would change has changed since it was looked at; nothing was written.{rest}", diff)


def _plain(part: object) -> object:
    if isinstance(part, bytes):
        return ["bytes", sha256(part).hexdigest()]
    if isinstance(part, str):
        return ["text", sha256(part.encode(errors="surrogatepass")).hexdigest()]
    if isinstance(part, tuple):
        return [_plain(one) for one in cast("tuple[object, ...]", part)]
    return part
