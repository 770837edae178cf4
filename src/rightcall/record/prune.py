"""Removing the oldest records of the audit, as one cut, behind a checkpoint with which the chain still verifies.

Whatever is not over stays: a call that runs, a call whose end would be left alone, a question that still waits.
"""

import re
from collections.abc import Callable
from typing import Literal

from msgspec import DecodeError, Struct

from rightcall.errors import ConfigError
from rightcall.record.entries import NoteBody, encode, read_call
from rightcall.record.tables import AuditEntry, Tables

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)?")

STEP = 20_000
"""Records that go in one transaction."""

Reason = Literal["", "running", "overlapping", "waiting"]


class Cut(Struct, frozen=True):
    """What a prune would remove: records `first` to `through`, `count` of them; 0 of them where there is nothing."""

    first: int = 0
    through: int = 0
    count: int = 0
    spared: int = 0
    """Records that are old enough and have to stay,"""
    because: Reason = ""
    """for this reason: the first record that stays is of a call that runs, that overlaps with later ones, or waits."""


class Pruned(Struct, frozen=True):
    """What was removed: so many records, up to this one."""

    removed: int
    through: int
    checkpoint: int = 0
    """The record that says so."""


def plan(
    tables: Tables, *, before: str | None = None, keep: int | None = None, through: int | None = None,
    now: int | None = None,
) -> Cut:  # fmt: skip
    """What `prune` would remove now. `before` is a moment in UTC, `keep` how many of the newest records stay, `through`
    the last record that may go; with several, only what all of them allow. `now` is the store's clock: questions that
    have expired by then wait no more."""
    first = next(iter(tables.entries()), None)
    if first is None:
        return Cut()
    wanted = _wanted(tables, first, before, keep, through)
    if wanted < first.seq:
        return Cut(first.seq)
    last, because = _allowed(tables, first.seq, wanted, now)
    count = max(0, last - first.seq + 1)
    return Cut(first.seq, last if count else 0, count, wanted - first.seq + 1 - count, because)


def prune(
    tables: Tables, *, before: str | None = None, keep: int | None = None, through: int | None = None, by: str,
    now: int | None = None,
) -> Pruned:  # fmt: skip
    """Remove the oldest records; first the checkpoint is written, in the same transaction."""
    cut = plan(tables, before=before, keep=keep, through=through, now=now)
    last = tables.entry(cut.through) if cut.count else None
    if last is None:
        return Pruned(0, 0)
    checkpoint = tables.append("prune", 0, checkpoint_body(cut.first, last, by))
    return Pruned(tables.remove_through(last.seq), last.seq, checkpoint)


def checkpoint_body(first: int, last: AuditEntry, by: str = "") -> bytes:
    """What vouches for the records that are removed, from `first` to `last`."""
    count = last.seq - first + 1
    data = {"seq": last.seq, "hash": last.hash.hex(), "count": count, "first": first, "at": last.at}
    return encode(NoteBody("through", by, data))


def prune_in_steps(
    transact: Callable[[Callable[[Tables], Pruned]], Pruned], cut: Cut, by: str, now: Callable[[], int],
    step: int = STEP,
) -> Pruned:  # fmt: skip
    """Remove what `plan` found, in transactions that hold up nobody for long; each leaves a checkpoint of its own."""
    removed, last, size = 0, Pruned(0, 0), step
    while last.through < cut.through:
        until = min(cut.through, max(last.through, cut.first - 1) + size)
        done = transact(lambda tables, until=until: prune(tables, keep=0, through=until, by=by, now=now()))
        if done.removed:
            removed, last, size = removed + done.removed, done, step
        elif until == cut.through:
            break
        else:
            size *= 2  # a call that goes on for longer than so many records
    return Pruned(removed, last.through, last.checkpoint)


def _wanted(tables: Tables, first: AuditEntry, before: str | None, keep: int | None, through: int | None) -> int:
    """The last record that is to go, were all of them over."""
    if before is None and keep is None:
        raise ConfigError("before, keep: neither is given; one has to say what is old")
    last = tables.head()[0] if through is None else min(tables.head()[0], through)
    if keep is not None:
        if keep < 0:
            raise ConfigError(f"keep: {keep} is less than no record; give 0 or more")
        last = min(last, tables.head()[0] - keep)
    if before is not None:
        if not _MOMENT.fullmatch(before):
            raise ConfigError(
                f"before: {before!r} is no moment; it is written as 2026-01-31 or 2026-01-31 23:59:59.999, in UTC"
            )
        # dates are set now and then: the first record that is not old enough ends the cut, whatever comes after it
        young = next((entry.seq for entry in tables.entries(since=before)), None)
        last = last if young is None else min(last, young - 1)
    return max(last, first.seq - 1)


def _allowed(tables: Tables, first: int, wanted: int, now: int | None) -> tuple[int, Reason]:
    """The last record up to which everything is over, and why it is not the one that was wanted."""
    unended, questions = _left_open(tables, first, wanted)
    running = set(tables.running())
    needed: dict[int, Reason] = dict.fromkeys(unended & running, "running")
    for call in unended - running:
        if any(entry.kind == "end" for entry in tables.belonging(call)):
            needed[call] = "overlapping"
    for seq, approval in questions.items():
        if _waits(tables, approval, now):
            needed[seq] = "waiting"
    if not needed:
        return wanted, ""
    first_needed = min(needed)
    return _last_idle(tables, first, first_needed - 1, unended - needed.keys()), needed[first_needed]


def _left_open(tables: Tables, first: int, through: int) -> tuple[set[int], dict[int, str]]:
    """Of the records up to one: calls that have not ended by then, and the approvals that records wait for."""
    calls: set[int] = set()
    questions: dict[int, str] = {}
    for entry in tables.entries(first - 1):
        if entry.seq > through:
            break
        if entry.kind == "begin":
            calls.add(entry.seq)
        elif entry.kind == "end":
            calls.discard(entry.call)
        elif entry.kind == "waiting" and (approval := _approval(entry)) is not None:
            questions[entry.seq] = approval
    return calls, questions


def _last_idle(tables: Tables, first: int, through: int, never: set[int]) -> int:
    """The last record, not after `through`, behind which no call is under way; those that `never` end do not count."""
    under_way: set[int] = set()
    idle = first - 1
    for entry in tables.entries(first - 1):
        if entry.seq > through:
            break
        if entry.kind == "begin" and entry.seq not in never:
            under_way.add(entry.seq)
        elif entry.kind == "end":
            under_way.discard(entry.call)
        if not under_way:
            idle = entry.seq
    return idle


def _approval(entry: AuditEntry) -> str | None:
    try:
        return read_call(entry.body).approval
    except DecodeError:  # somebody else wrote it
        return None


def _waits(tables: Tables, id: str, now: int | None) -> bool:
    approval = tables.approval(id)
    if approval is None or approval.status not in ("waiting", "approved"):
        return False
    return now is None or approval.expires_at > now
