"""What the proxy did about the calls of one answer: in a few words for the client, and as records for the audit.

    x-rightcall: repaired=1 lifted=1        under `observe`: would-repair=1 would-lift=1
    : rightcall repaired=1                  the same at the end of a stream

Nothing that a model or a client wrote is ever in those words: they are counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final, NamedTuple, cast

import msgspec

from rightcall.base.redact import Redactor
from rightcall.base.text import render_json
from rightcall.executor.calls import (
    LONGEST_EMISSION,
    LONGEST_VALUE,
    Written,
    kept_problems,
    kept_repairs,
    make_storable,
    redact_text,
)
from rightcall.proxy.gates import Did, Fate
from rightcall.record.tables import CallBody
from rightcall.types import Repair

CALLER: Final = "proxy"
"""Who calls with the server's own token."""
CALLER_HEADER: Final = b"x-rightcall-caller"
"""May only repeat what the token says."""

LONGEST_NAME: Final = 200
"""Characters of a caller's and of a model's name."""

LOOKED_AT: Final = 16_000
"""Bytes of arguments that are searched for secrets as a whole."""
_DEEPEST, _MOST_ITEMS = 4, 100
MOST_TOLD: Final = 200
"""Repairs and problems of one call that a record names."""

_TOLD: tuple[Fate, ...] = ("repaired", "lifted", "left", "repeated")
_WOULD: dict[Fate, str] = {"repaired": "would-repair", "lifted": "would-lift"}
_WORDS = ("repaired", "would-repair", "lifted", "would-lift", "left", "repeated")

_sorted = msgspec.json.Encoder(order="deterministic").encode


def header(
    did: Iterable[Did], *, retries: int = 0, taught: bool = False, ran: int = 0, observe: bool = False
) -> str | None:
    """The value of `x-rightcall`; None when nothing was done.

    >>> from rightcall import Verdict
    >>> header([Did("repaired", Verdict(True, None), "add"), Did("right", Verdict(True, None), "add")], retries=1)
    'repaired=1 retried=1'
    """
    words = [word_for(one, observe=observe) for one in did if one.fate in _TOLD]
    counts = {word: words.count(word) for word in _WORDS} | {"retried": retries, "taught": int(taught), "ran": ran}
    return " ".join(f"{word}={count}" for word, count in counts.items() if count) or None


def comment(
    did: Iterable[Did], *, retries: int = 0, taught: bool = False, ran: int = 0, observe: bool = False
) -> bytes:
    """The same as a comment in a stream of server-sent events, which clients skip; empty when nothing was done. Lines
    of JSON know no comments: it has no place there."""
    words = header(did, retries=retries, taught=taught, ran=ran, observe=observe)
    return b"" if words is None else b": rightcall %s\n\n" % words.encode("ascii")


def word_for(did: Did, *, observe: bool) -> str:
    """What became of a call in one word; where it was only looked at, what would have.

    >>> from rightcall import Verdict
    >>> one = Did("lifted", Verdict(True, None), "add")
    >>> word_for(one, observe=False), word_for(one, observe=True), word_for(one._replace(fate="right"), observe=True)
    ('lifted', 'would-lift', 'right')
    """
    return _WOULD.get(did.fate, did.fate) if observe or did.verdict.mode == "observe" else did.fate


class Provenance(NamedTuple):
    """How an answer came about."""

    wire: str
    model: str
    provider: str
    caller: str = CALLER
    policy: str = ""
    """Digest of the one in force."""
    retries: int = 0
    taught: bool = False
    observe: bool = False


def notes(did: Iterable[Did], redactor: Redactor, came: Provenance) -> list[CallBody]:
    """One record for each call of an answer, also for those that were right, without their secrets."""
    exchange = {
        "caller": redactor.text(came.caller), "provider": redactor.text(came.provider), "policy": came.policy,
        "wire": came.wire, "model": redactor.text(came.model[: LONGEST_NAME * 4])[:LONGEST_NAME],
        "retries": int(came.retries), "taught": bool(came.taught),
    }  # fmt: skip
    return [_body(one, redactor, came.observe, exchange) for one in did]


def _body(did: Did, redactor: Redactor, observe: bool, exchange: Mapping[str, Any]) -> CallBody:
    verdict = did.verdict
    call = verdict.call or verdict.found
    given = None if call is None else call.arguments
    small = shorten_value(given, redactor)
    params = redactor.beside(small, small)
    from_text = call is None or call.origin == "text"  # a native call always has a name, whatever its server wrote
    tool = redactor.beside(call.name if call is not None else did.written, small)[:LONGEST_VALUE]
    as_written = from_text or did.fate not in ("right", "unknown")
    return CallBody(
        tool=tool,
        params=make_storable(params),
        digest=_digest(did, given, None if params is given else redactor),
        decision="passed",
        rule=f"proxy:{word_for(did, observe=observe)}",
        reason=_reason(did, small, redactor),
        written="" if did.written == tool else redact_text(did.written, LONGEST_VALUE, small, redactor),
        emission=_emission(did, small, redactor) if as_written else None,
        repairs=_repairs(verdict.repairs, small, redactor) if verdict.repairs else (),
        problems=kept_problems(verdict.problems[:MOST_TOLD], small, redactor) if verdict.problems else (),
        strategy=verdict.strategy,
        confidence=verdict.confidence,
        truncated=verdict.truncated,
        origin="text" if from_text else "native",
        **exchange,
    )


def _emission(did: Did, given: Any, redactor: Redactor) -> Any:
    """What the model wrote: the text of a call in the text, or the arguments of a native one; `written` is its name."""
    if isinstance(did.said, str):
        return redact_text(did.said, LONGEST_EMISSION, given, redactor)
    return make_storable(redactor.beside(shorten_value(did.said, redactor), given))


def _repairs(repairs: tuple[Repair, ...], given: Any, redactor: Redactor) -> tuple[dict[str, Any], ...]:
    """All of them looked through at once, and only what a model wrote: that is most of what a record costs."""
    told, left_out = repairs[:MOST_TOLD], len(repairs) - MOST_TOLD
    written = [
        {"path": one.path, "before": shorten_value(one.before, redactor), "after": shorten_value(one.after, redactor)}
        for one in told
    ]
    hidden: Any = redactor.beside(written, given)
    if not isinstance(hidden, list):  # too many secrets to tell them apart
        return kept_repairs(told, given, redactor)
    found = tuple(
        {
            "path": one["path"], "before": make_storable(one["before"]), "after": make_storable(one["after"]),
            "strategy": repair.strategy, "rule": repair.rule, "confidence": repair.confidence,
        }
        for one, repair in zip(cast("list[dict[str, Any]]", hidden), told, strict=True)
    )  # fmt: skip
    return found if left_out <= 0 else (*found, {**found[-1], "path": "", "before": f"and {left_out} more"})


def _reason(did: Did, given: Any, redactor: Redactor) -> str:
    if did.fate == "repaired" and not did.verdict.repairs:
        return "The call had no id, so that nobody could have answered it; it was given one."
    hint = did.verdict.hint
    return redact_text(hint, LONGEST_VALUE, given, redactor) if hint else ""


def _digest(did: Did, given: Any, redactor: Redactor | None) -> str:
    """Of a call that fits, as an executor would know it, should one run it. Keyed (with a `redactor`) where something
    in it is not in the record: who knows all but one short secret must not be able to try values until it fits."""
    call = did.verdict.call
    digest = ""
    if did.verdict.ok and call is not None:
        with suppress(TypeError, ValueError, OverflowError, RecursionError):
            digest = sha256(_sorted({"name": call.name, "arguments": given})).hexdigest()
    digest = digest or Written(did.verdict, did.written, did.said if isinstance(did.said, str) else None).digest
    return digest if redactor is None else redactor.keyed(digest.encode())


def shorten_value(value: Any, redactor: Redactor) -> Any:
    """The value, where it is much longer than a record keeps with its long texts cut: looking for secrets in a
    megabyte takes longer than an answer should wait. The same object where it is not."""
    if type(value) is str:
        return value if len(value) <= LOOKED_AT else _cut(value, redactor)
    if not isinstance(value, (dict, list)):
        return value
    try:
        size = len(_sorted(value))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return redact_text(render_json(value, LOOKED_AT), LONGEST_VALUE, None, redactor)
    if size <= LOOKED_AT:
        return cast("Any", value)
    smaller = _smaller(value, redactor, 0)
    return smaller if len(_sorted(smaller)) <= LOOKED_AT else _cut(_sorted(value).decode(), redactor)


def _smaller(value: Any, redactor: Redactor, depth: int) -> Any:
    if type(value) is str:
        return value if len(value) <= LONGEST_VALUE else _cut(value, redactor)
    if not isinstance(value, (dict, list)):
        return value
    holder = cast("dict[Any, Any] | list[Any]", value)
    if depth >= _DEEPEST or len(holder) > _MOST_ITEMS:
        return _cut(_sorted(holder).decode(), redactor)
    if isinstance(holder, dict):
        return {key: _smaller(item, redactor, depth + 1) for key, item in holder.items()}
    return [_smaller(item, redactor, depth + 1) for item in holder]


def _cut(text: str, redactor: Redactor) -> str:
    return f"{redact_text(text, LONGEST_VALUE, None, redactor)}… ({len(text)} characters)"
