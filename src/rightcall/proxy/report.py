"""What the proxy did about the calls of one answer: in a few words for the client, and as records for the audit.

    x-rightcall: repaired=1 lifted=1        under `observe`: would-repair=1 would-lift=1
    : rightcall repaired=1                  the same at the end of a stream

Nothing that a model or a client wrote is ever in those words: they are counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from rightcall.errors import CallError
from rightcall.executor_calls import LONGEST_VALUE, Who, Written, call_body
from rightcall.proxy.settle import Did, Fate
from rightcall.record.entries import CallBody
from rightcall.text.redact import Redactor
from rightcall.types import Verdict

CALLER: Final = "proxy"
"""Who calls, where the client does not say."""
CALLER_HEADER: Final = b"x-rightcall-caller"

LONGEST_NAME: Final = 200
"""Characters of a caller's and of a model's name."""

_TOLD: tuple[Fate, ...] = ("repaired", "lifted", "left", "repeated")
_WOULD: dict[Fate, str] = {"repaired": "would-repair", "lifted": "would-lift"}
_NO_ID = "The call had no id, so that nobody could have answered it; it was given one."

_sorted = msgspec.json.Encoder(order="deterministic").encode


def header(did: Iterable[Did], *, retries: int = 0, taught: bool = False, observe: bool = False) -> str | None:
    """The value of `x-rightcall`; None when nothing was done.

    >>> header([Did("repaired", Verdict(True, None), "add"), Did("right", Verdict(True, None), "add")], retries=1)
    'repaired=1 retried=1'
    """
    fates = [one.fate for one in did]
    counts = {word_for(fate, observe=observe): fates.count(fate) for fate in _TOLD}
    counts |= {"retried": retries, "taught": int(taught)}
    return " ".join(f"{word}={count}" for word, count in counts.items() if count) or None


def comment(did: Iterable[Did], *, retries: int = 0, taught: bool = False, observe: bool = False) -> bytes:
    """The same as a comment in a stream of server-sent events, which clients skip; empty when nothing was done. Lines
    of JSON know no comments: it has no place there."""
    words = header(did, retries=retries, taught=taught, observe=observe)
    return b"" if words is None else b": rightcall %s\n\n" % words.encode("ascii")


def word_for(fate: Fate, *, observe: bool) -> str:
    """What became of a call in one word; under `observe`, what would have.

    >>> word_for("lifted", observe=False), word_for("lifted", observe=True), word_for("right", observe=True)
    ('lifted', 'would-lift', 'right')
    """
    return _WOULD.get(fate, fate) if observe else fate


def caller_of(given: bytes | None) -> str:
    """The caller's name out of the request's header `x-rightcall-caller`. Raises CallError for what is none."""
    if given is None:
        return CALLER
    try:
        name = given.decode().strip()
    except UnicodeDecodeError:
        name = ""
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        header_name = CALLER_HEADER.decode()
        raise CallError(f"{header_name}: a caller needs a name of 1 to {LONGEST_NAME} printable characters, in UTF-8")
    return name


def notes(
    did: Iterable[Did], redactor: Redactor, *, wire: str, model: str, provider: str, caller: str = CALLER,
    policy: str = "", retries: int = 0, taught: bool = False, observe: bool = False,
) -> list[CallBody]:  # fmt: skip
    """One record for each call of an answer, also for those that were right, without their secrets. `policy` is the
    digest of the one in force."""
    who = Who(redactor.text(caller), provider=redactor.text(provider), policy=policy)
    named = redactor.text(model[: LONGEST_NAME * 4])[:LONGEST_NAME]
    return [
        replace(_body(one, who, redactor, observe), wire=wire, model=named, retries=retries, taught=taught)
        for one in did
    ]


def _body(did: Did, who: Who, redactor: Redactor, observe: bool) -> CallBody:
    verdict = did.verdict
    call = verdict.call or verdict.found
    from_text = call is None or call.origin == "text"  # a native call has always a name, whatever its server wrote
    text = did.said if isinstance(did.said, str) else None
    body = call_body(Written(verdict, did.written, text), who, None, redactor)
    given = None if call is None else call.arguments
    same = did.fate in ("right", "unknown") and not from_text
    return replace(
        body,
        decision="passed",
        rule=f"proxy:{word_for(did.fate, observe=observe)}",
        reason=_reason(did, given, redactor),
        digest=_digest(verdict, body.digest, redactor),
        written="" if body.tool == did.written else redactor.beside(did.written, given)[:LONGEST_VALUE],
        emission=None if same else body.emission,
        origin="text" if from_text else "native",
    )


def _reason(did: Did, given: Any, redactor: Redactor) -> str:
    if did.fate == "repaired" and not did.verdict.repairs:
        return _NO_ID
    hint = did.verdict.hint
    return redactor.beside(hint, given)[:LONGEST_VALUE] if hint else ""


def _digest(verdict: Verdict, refused: str, redactor: Redactor) -> str:
    """As an executor would know the call, should one run it; keyed where something in it is secret."""
    call = verdict.call
    if not verdict.ok or call is None or type(call.arguments) is not dict:
        return refused
    try:
        raw = _sorted({"name": call.name, "arguments": call.arguments})
    except (TypeError, ValueError, OverflowError, RecursionError):
        return refused
    digest = sha256(raw).hexdigest()
    return redactor.keyed(digest.encode()) if refused.startswith("keyed:") else digest
