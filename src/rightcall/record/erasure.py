"""Removing what a caller wrote, and what tools answered it, from records that stay: who called what, when, under which
rule and with which end is still there, and the chain is whole.

    find_erasable ─▶ erase ─▶ each record keeps its number and its hash, its body loses the content
                          └─▶ one `erase` record names them, each with a digest of what is left

A hash covers the whole body, so that of an erased record can no longer be computed. The next record's hash covers it
all the same, and the `erase` record, itself in the chain, says what the emptied one must look like: `verify` compares
both. Records that were written before this could be done need nothing for it.
"""

from collections.abc import Callable, Iterator
from typing import Any, cast

from msgspec import MsgspecError, Struct
from msgspec.structs import replace

from rightcall.record.calls import CALLS
from rightcall.record.tables import (
    AnswerBody,
    AuditEntry,
    CallBody,
    EndBody,
    Inputs,
    NoteBody,
    Store,
    Tables,
    encode,
    read_answer,
    read_call,
    read_end,
    read_note,
)
from rightcall.record.verify import seal

STEP = 500
"""Records of one transaction, and of one `erase` record."""
_AT_ONCE = 50
"""Records that are read at once, whole as they are."""
_NOTES = ("grant", "message", "definition")
_BLANK: dict[str, Any] = {"text": "", "why": "", "digest": "", "where": {}, "note": "", "described": ""}
"""What notes hold of what somebody wrote: posts in rooms, reasons of a router, conditions of grants, and tools that a
client offered a model."""


class Erasable(Struct, frozen=True):
    """What would be emptied."""

    records: tuple[int, ...] = ()
    """With the end of each call, which comes first: a call that was emptied is not looked at again."""
    calls: int = 0
    spared: int = 0
    """Calls that still run or wait: they keep everything until they are over."""


class Erased(Struct, frozen=True):
    """What was emptied."""

    records: int = 0
    calls: int = 0


def find_erasable(tables: Tables, caller: str, before: str | None = None) -> Erasable:
    """What `erase` would empty now. `before` is a moment in UTC."""
    word = encode(caller)
    records: list[int] = []
    running: set[int] = set()
    calls = spared = 0
    for entry in tables.entries(until=before):
        if entry.kind == "end" and entry.call in running:
            running.remove(entry.call)
            records += entry.seq, entry.call
        elif word not in entry.body or _emptied(entry, caller) is None:
            continue
        elif entry.kind == "begin":
            running.add(entry.seq)
            calls += 1
        elif entry.kind == "waiting" and _is_waiting(tables, entry):
            spared += 1
        else:
            records.append(entry.seq)
            calls += entry.kind in CALLS
    for call in sorted(running):  # it may have ended since, or under a lower number on another node
        ends = [one.seq for one in tables.belonging(call) if one.kind == "end"]
        records += [*ends, call] if ends else []
        spared += not ends
        calls -= not ends
    return Erasable(tuple(records), calls, spared)


def erase(
    store: Store, found: Erasable, caller: str, by: str, before: str | None = None,
    progress: Callable[[Erased], None] = lambda _: None,
) -> Erased:  # fmt: skip
    """In short transactions: what is to be written is read before them. Each leaves an `erase` record of its own, and
    then `progress` hears what was erased so far. What another has erased or removed meanwhile does not count."""
    records = calls = 0
    for some in _parts(found.records, STEP):
        cuts = [
            cut
            for few in _parts(some, _AT_ONCE)
            for cut in store.look(lambda tables, few=few: list(_cuts(tables, few, caller)))
        ]
        done = store.transact(lambda tables, cuts=cuts: _cut(tables, cuts, caller, by, before))
        records += len(done)
        calls += sum(entry.kind in CALLS for entry in done)
        progress(Erased(records, calls))
    return Erased(records, calls)


def _parts(numbers: tuple[int, ...], size: int) -> Iterator[tuple[int, ...]]:
    return (numbers[first : first + size] for first in range(0, len(numbers), size))


def _cuts(tables: Tables, some: tuple[int, ...], caller: str) -> Iterator[AuditEntry]:
    """Each record as it is afterwards."""
    for entry in tables.entries_of(some):
        body = _emptied_end(entry) if entry.kind == "end" else _emptied(entry, caller)
        if body is not None:
            yield replace(entry, body=body)


def _cut(tables: Tables, cuts: list[AuditEntry], caller: str, by: str, before: str | None) -> list[AuditEntry]:
    changed = set(tables.rewrite(cuts))
    done = [entry for entry in cuts if entry.seq in changed]
    if done:
        sealed = {str(entry.seq): seal(entry, entry.body).hex() for entry in done}
        data: dict[str, Any] = {"caller": caller, "records": sealed} | ({} if before is None else {"before": before})
        tables.append("erase", 0, encode(NoteBody("content", by, data)))
    return done


def _is_waiting(tables: Tables, entry: AuditEntry) -> bool:
    """Whether something may still come of a call that a person was asked about."""
    name = read_call(entry.body).approval
    approval = None if name is None else tables.approval(name)
    return approval is not None and approval.status in ("waiting", "approved")


def _emptied(entry: AuditEntry, caller: str) -> bytes | None:
    """The body of a record of this caller without its content; None for any other, and for one that is empty."""
    if entry.kind in CALLS:
        return _emptied_call(entry, caller)
    if entry.kind == "answer":
        return _emptied_answer(entry, caller)
    return _emptied_note(entry, caller) if entry.kind in _NOTES else None


def _emptied_call(entry: AuditEntry, caller: str) -> bytes | None:
    try:
        body = read_call(entry.body)
    except MsgspecError:  # not as we write it
        return None
    if body.caller != caller or body.erased:
        return None
    kept = CallBody(
        caller=body.caller, tool=body.tool, params=None, digest="", decision=body.decision, rule=body.rule,
        context=body.context, step=body.step, strategy=body.strategy, confidence=body.confidence,
        truncated=body.truncated, origin=body.origin, definition=body.definition, effects=body.effects,
        policy=body.policy, rights=body.rights, approval=body.approval, grant=body.grant, earlier=body.earlier,
        retry_after=body.retry_after, provider=body.provider, wire=body.wire, model=body.model, retries=body.retries,
        taught=body.taught, now=body.now, order=body.order, changes=body.changes, inputs=Inputs(partial=True),
        held=body.held, packs=body.packs, erased=True,
    )  # fmt: skip
    return encode(kept)


def _emptied_end(entry: AuditEntry) -> bytes | None:
    try:
        body: EndBody = read_end(entry.body)
    except MsgspecError:
        return None
    return None if body.erased else encode(replace(body, error=None, summary="", answer="", erased=True))


def _emptied_answer(entry: AuditEntry, caller: str) -> bytes | None:
    try:
        body: AnswerBody = read_answer(entry.body)
    except MsgspecError:
        return None
    if body.caller != caller or body.erased:
        return None
    return encode(replace(body, digest="", reason="", erased=True))


def _emptied_note(entry: AuditEntry, caller: str) -> bytes | None:
    try:
        body: NoteBody = read_note(entry.body)
    except MsgspecError:
        return None
    told: Any = body.data
    data = cast("dict[str, Any]", told) if isinstance(told, dict) else {}
    if body.erased or data.get("caller") != caller:
        return None
    blank = {name: empty for name, empty in _BLANK.items() if data.get(name)}
    return encode(NoteBody(body.what, body.by, data | blank, True)) if blank else None
