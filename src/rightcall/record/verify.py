"""Whether the audit is as it was written: the chain is computed anew from the first record to the last.

Found is the first record that was changed, removed or put elsewhere. A cut tail leaves a chain that is whole as far as
it goes: only an anchor, number and hash of a record kept somewhere else (`rightcall audit head`), shows it.
"""

from collections.abc import Callable
from typing import Any

from msgspec import DecodeError, Struct

from rightcall.record.chain import START, link
from rightcall.record.entries import NoteBody, read_note
from rightcall.record.tables import AuditEntry, Tables

EVERY = 20_000
"""Records after which progress is told."""

_MOST_PRUNES = 100_000


class Verification(Struct, frozen=True):
    """`problem` says in words what is wrong with record `first_wrong`; None where no record can be named."""

    ok: bool
    checked: int
    """Records that are as they were written."""
    first_wrong: int | None
    problem: str
    head: tuple[int, bytes]
    """Number and hash of the last record that was found right."""
    pruned: int = 0
    """The last record that was pruned, as the chain itself says."""


class Checkpoint(Struct, frozen=True):
    """What a prune leaves behind: the number and hash of the last record it removed."""

    seq: int
    hash: bytes


class _Wrong(Exception):
    def __init__(self, seq: int | None, problem: str) -> None:
        self.seq = seq
        self.problem = problem


def verify(
    tables: Tables, anchor: tuple[int, bytes] | None = None, progress: Callable[[int], None] | None = None
) -> Verification:
    """Check every record. `progress` is told every so often how many were checked."""
    walk = _Walk(tables)
    try:
        walk.begin()
        for entry in tables.entries():
            walk.step(entry)
            if anchor is not None and entry.seq == anchor[0] and entry.hash != anchor[1]:
                raise _Wrong(entry.seq, f"record {entry.seq} is not the one of the anchor: its hash is another")
            if progress is not None and walk.checked % EVERY == 0:
                progress(walk.checked)
        walk.end(anchor)
    except _Wrong as wrong:
        return Verification(False, walk.checked, wrong.seq, wrong.problem, walk.head, walk.pruned.seq)
    return Verification(True, walk.checked, None, "", walk.head, walk.pruned.seq)


class _Walk:
    """From record to record, with what the next one must fit."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.checked = 0
        self.pruned = Checkpoint(0, START)
        self.head = (0, START)
        self._open: set[int] = set()
        """Calls that have begun and not ended."""
        self._ended: set[int] = set()
        """Calls whose beginning is gone and whose end is not."""

    def begin(self) -> None:
        """Where the records start: with the first, or behind what a prune record in the chain vouches for."""
        first = next(iter(self._tables.entries()), None)
        if first is None:
            return
        known = checkpoints(self._tables)
        if first.seq != 1:
            vouched = next((one for one in known if one.seq == first.seq - 1), None)
            if vouched is None:
                missing = max((one.seq for one in known if one.seq < first.seq), default=0) + 1
                raise _Wrong(missing, f"{_records(missing, first.seq - 1)} removed, and no prune record vouches for it")
            self.pruned = vouched
            self.head = vouched.seq, vouched.hash

    def step(self, entry: AuditEntry) -> None:
        """The next record: it fits the one before, and a call begins once and ends at most once, after it began."""
        last, before = self.head
        seq, kind, call = entry.seq, entry.kind, entry.call
        if seq != last + 1:
            raise _Wrong(last + 1, f"{_records(last + 1, seq - 1)} missing")
        try:
            fits = link(before, seq, kind, call, entry.at, entry.body) == entry.hash
        except TypeError:  # a field that is not even of its type
            fits = False
        if not fits:
            raise _Wrong(seq, f"record {seq} does not fit its hash: it, or the one before it, was changed")
        if kind == "begin":
            self._open.add(seq)
        elif kind == "end":
            if call in self._open:
                self._open.remove(call)
            elif 0 < call <= self.pruned.seq and call not in self._ended:
                self._ended.add(call)
            else:
                raise _Wrong(seq, f"record {seq} ends call {call}, which had not begun or had already ended")
        self.head = seq, entry.hash
        self.checked += 1

    def end(self, anchor: tuple[int, bytes] | None) -> None:
        had = self._tables.head()[0]
        if had and not self.checked:
            raise _Wrong(1, f"the audit is empty, but it had {had} records: not even the record of a prune is left")
        if anchor is None:
            return
        if anchor[0] > self.head[0]:
            what = f"the audit ends with record {self.head[0]}, the anchor is record {anchor[0]}"
            raise _Wrong(self.head[0] + 1, f"the tail is cut off: {what}")
        if anchor[0] == self.pruned.seq and anchor[0] and anchor[1] != self.pruned.hash:
            raise _Wrong(anchor[0], f"record {anchor[0]} was pruned, and it was not the one of the anchor")
        if 0 < anchor[0] < self.pruned.seq:
            what = f"records up to {self.pruned.seq} were pruned; take a new one with `rightcall audit head`"
            raise _Wrong(None, f"the anchor (record {anchor[0]}) can no longer be compared: {what}")


def checkpoints(tables: Tables) -> list[Checkpoint]:
    """What the prune records say, the newest first."""
    found = [_checkpoint(entry) for entry in tables.newest(_MOST_PRUNES, ("prune",))]
    return [one for one in found if one is not None]


def _checkpoint(entry: AuditEntry) -> Checkpoint | None:
    try:
        note: NoteBody = read_note(entry.body)
        data: Any = note.data
        if note.what == "through" and type(data["seq"]) is int and data["seq"] < entry.seq:
            return Checkpoint(data["seq"], bytes.fromhex(data["hash"]))
    except (DecodeError, LookupError, TypeError, ValueError):  # somebody else wrote it
        return None
    return None


def _records(first: int, last: int) -> str:
    return f"record {first} is" if first == last else f"records {first} to {last} are"
