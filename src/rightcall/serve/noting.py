"""The records of an answer's calls: what they will weigh while they wait, and how they are made.

Making one looks through everything the model wrote for secrets, which takes longer than an event loop may wait: half a
millisecond for a call with a hundred arguments. So what is left on the loop is the weighing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from rightcall.proxy.report import CALLER, LONGEST_NAME, Provenance, notes
from rightcall.proxy.settle import Did
from rightcall.record.entries import CallBody, encode
from rightcall.serve.facts import Facts
from rightcall.text.escape import escaped
from rightcall.text.redact import Redactor

log = logging.getLogger("rightcall")

AT_ONCE = 50
"""Calls whose records are made together: whoever stops waits for these at most."""
_BARE, _PER_FINDING, _PER_BYTE = 1000, 300, 4
"""What a call takes in memory without what was written, for each repair or problem, and for each byte of it."""
_UNKNOWN = 100_000
"""For what cannot be weighed."""

_encoded_json = msgspec.json.Encoder().encode


class Told(NamedTuple):
    """Some calls of an answer, of which records are to be made."""

    facts: Facts
    did: list[Did]
    weight: int
    redactor: Redactor
    policy: str
    """The digest of the one that was in force. Another may be when the record is made."""


def weight_of(did: Did) -> int:
    """About how many bytes are kept while this waits."""
    findings = len(did.verdict.repairs) + len(did.verdict.problems)
    return _BARE + _PER_FINDING * findings + _PER_BYTE * _size(did.said)


def _size(said: Any) -> int:
    if isinstance(said, str):
        return len(said)
    try:
        return len(_encoded_json(said))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _UNKNOWN


def parts_of(facts: Facts, weights: list[int], redactor: Redactor, policy: str) -> Iterator[Told]:
    """The first calls of an answer, as many as there are weights, a few at a time. Nothing of it changes later."""
    kept = replace(facts, did=[], model=facts.model[: LONGEST_NAME * 4])
    for start in range(0, len(weights), AT_ONCE):
        end = min(start + AT_ONCE, len(weights))
        yield Told(kept, facts.did[start:end], sum(weights[start:end]), redactor, policy)


def make_records(told: Told) -> list[bytes]:
    """The records as they are stored, without their secrets. Never raises: what cannot be recorded is left out."""
    try:
        return _encode_records(told)
    except Exception:  # one of them is not what we take calls to be: the others are
        log.exception("rightcall: the calls of an answer could not be recorded")
    return [record for one in told.did for record in _alone(told._replace(did=[one]))]


def _alone(told: Told) -> list[bytes]:
    try:
        return _encode_records(told)
    except Exception:  # noqa: BLE001  it was told already
        return []


def _encode_records(told: Told) -> list[bytes]:
    facts = told.facts
    came = Provenance(
        facts.wire, facts.model, facts.provider, facts.caller or CALLER, told.policy, facts.retries, facts.taught,
        facts.observe,
    )  # fmt: skip
    return [_encoded(record) for record in notes(told.did, told.redactor, came)]


def _encoded(record: CallBody) -> bytes:
    """As it is stored. What JSON cannot carry, such as half of a character, is left out of it."""
    try:
        return encode(record)
    except (TypeError, ValueError, OverflowError, RecursionError):
        bare = CallBody(
            record.caller, escaped(record.tool, 200), None, record.digest, record.decision, record.rule,
            strategy=record.strategy, confidence=record.confidence, origin=record.origin, wire=record.wire,
        )  # fmt: skip
        return encode(replace(bare, emission="what the model wrote cannot be stored"))
