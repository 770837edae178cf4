"""Whether the audit is as it was written: the chain is computed anew from the first record to the last. And pruning,
which removes the oldest records and leaves a chain that verifies.

Found is the first record that was changed, removed or put elsewhere. A cut tail leaves a chain that is whole as far as
it goes: only an anchor, number and hash of a record kept somewhere else (`rightcall audit head`), shows it.
"""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_hex
from typing import Any, Literal, cast

from msgspec import DecodeError, Struct, json

from rightcall.base.files.guarded import state_folder
from rightcall.errors import ConfigError
from rightcall.record.tables import START, AuditEntry, NoteBody, Tables, encode, link, read_call, read_note

EVERY = 20_000
"""Records after which progress is told."""

_MOST_PRUNES = 100_000
_HASH = 64

Anchor = tuple[int, bytes]
"""Number and hash of a record, as somebody keeps them elsewhere."""


def anchor_text(anchor: Anchor) -> str:
    return f"{anchor[0]}:{anchor[1].hex()}"


def read_anchor(text: str) -> Anchor | None:
    """An anchor as `anchor_text` writes it; None for anything else."""
    seq, _, digest = text.strip().partition(":")
    try:
        if seq.isascii() and seq.isdecimal() and len(seq) <= 18 and len(digest) == _HASH:
            return int(seq), bytes.fromhex(digest)
    except ValueError:
        pass
    return None


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
    erased: int = 0
    """Records whose content was erased, as the chain itself says."""


class Checkpoint(Struct, frozen=True):
    """What a prune leaves behind: the number and hash of the last record it removed."""

    seq: int
    hash: bytes
    chains: dict[int, Anchor] = {}
    """The same of each node, where several write."""


def seal(entry: AuditEntry, body: bytes) -> bytes:
    """What an `erase` record says of a record that has this body from then on: all that is left of it, with the hash
    that it was written with."""
    return link(entry.hash, entry.seq, entry.kind, entry.call, entry.at, body)


def sealed_by(entry: AuditEntry) -> dict[int, bytes]:
    """What an `erase` record says."""
    try:
        data: Any = read_note(entry.body).data
        return {int(seq): bytes.fromhex(own) for seq, own in data["records"].items()}
    except (DecodeError, LookupError, TypeError, ValueError, AttributeError):  # somebody else wrote it
        return {}


def is_erased(entry: AuditEntry) -> bool:
    """Whether what a person or a model wrote was removed from it on purpose: then its hash no longer tells what it
    holds, and the record of the erasure does."""
    try:
        body: Any = json.decode(entry.body)
    except DecodeError:
        return False
    return isinstance(body, dict) and cast("dict[str, Any]", body).get("erased") is True


class _Wrong(Exception):
    def __init__(self, seq: int | None, problem: str) -> None:
        self.seq = seq
        self.problem = problem


def heads_of(tables: Tables) -> dict[int, Anchor]:
    """The last record of each chain; of a store with one chain, of node 0."""
    chains = tables.chains()
    return {0: tables.head()} if chains is None else chains


def verify_audit(
    tables: Tables, anchor: Anchor | None = None, progress: Callable[[int], None] | None = None,
    heads: dict[int, Anchor] | None = None,
) -> Verification:  # fmt: skip
    """Check every record. `progress` is told every so often how many were checked. `heads` are those of an earlier
    `heads_of`, kept elsewhere."""
    walk = _Walk(tables)
    kept = heads or {}
    try:
        walk.begin()
        for entry in tables.entries():
            walk.step(entry)
            if anchor is not None and entry.seq == anchor[0] and entry.hash != anchor[1]:
                raise _Wrong(entry.seq, f"record {entry.seq} is not the one of the anchor: its hash is another")
            known = kept.get(entry.node) if kept else None
            if known is not None and known[0] == entry.seq and known[1] != entry.hash:
                raise _Wrong(entry.seq, f"record {entry.seq} is not the one of the heads file: its hash is another")
            if progress is not None and walk.checked % EVERY == 0:
                progress(walk.checked)
        walk.end(anchor)
        walk.compare_kept(kept)
    except _Wrong as wrong:
        return Verification(False, walk.checked, wrong.seq, wrong.problem, walk.head, walk.pruned.seq)
    return Verification(True, walk.checked, None, "", walk.head, walk.pruned.seq, walk.erased)


class _Walk:
    """From record to record, with what the next one must fit."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.checked = 0
        self.pruned = Checkpoint(0, START)
        self.head = (0, START)
        self._chains = tables.chains()
        """Where several nodes write."""
        self._heads: dict[int, Anchor] = {}
        """The last record of each node that was found right,"""
        self._passed: dict[int, dict[int, bytes]] = {}
        """and of each those that later anchors may name: number and hash."""
        self._open: set[int] = set()
        """Calls that have begun and not ended."""
        self._ended: set[int] = set()
        """Calls whose beginning is gone and whose end is not."""
        self._emptied: dict[int, bytes] = {}
        """Records without their content, each with what is left of it,"""
        self._sealed: dict[int, bytes] = {}
        """and what `erase` records say that must be."""
        self.erased = 0

    def begin(self) -> None:
        """Where the records start: with the first, or behind what a prune record in the chain vouches for."""
        first = next(iter(self._tables.entries()), None)
        if first is None:
            return
        known = checkpoints(self._tables)
        if self._chains is not None:
            self._begin_chains(first, known)
        elif first.seq != 1:
            vouched = next((one for one in known if one.seq == first.seq - 1), None)
            if vouched is None:
                missing = max((one.seq for one in known if one.seq < first.seq), default=0) + 1
                raise _Wrong(missing, f"{_records(missing, first.seq - 1)} removed, and no prune record vouches for it")
            self.pruned = vouched
            self.head = vouched.seq, vouched.hash

    def step(self, entry: AuditEntry) -> None:
        """The next record: it fits the one before, and a call begins once and ends at most once, after it began."""
        last, before = self.head if self._chains is None else self._heads.get(entry.node, (0, START))
        seq, kind, call = entry.seq, entry.kind, entry.call
        if seq != last + 1 and self._chains is None:
            raise _Wrong(last + 1, f"{_records(last + 1, seq - 1)} missing")
        try:
            fits = link(before, seq, kind, call, entry.at, entry.body) == entry.hash
        except TypeError:  # a field that is not even of its type
            fits = False
        if not fits:
            if not is_erased(entry):
                raise _Wrong(seq, f"record {seq} does not fit its hash: it, or the one before it, was changed")
            self._emptied[seq] = seal(entry, entry.body)
        if kind == "erase":
            self._sealed.update(sealed_by(entry))
        if kind == "begin":
            self._open.add(seq)
        elif kind == "end":
            if call in self._open:
                self._open.remove(call)
            elif 0 < call <= self.pruned.seq and call not in self._ended:
                self._ended.add(call)
            else:
                raise _Wrong(seq, f"record {seq} ends call {call}, which had not begun or had already ended")
        if self._chains is not None:
            self._heads[entry.node] = seq, entry.hash
            self._compare_heads(entry)
        self.head = seq, entry.hash
        self.checked += 1

    def _begin_chains(self, first: AuditEntry, known: list[Checkpoint]) -> None:
        """Each chain starts with its first record, or behind the last one that a prune removed."""
        vouched = next((one for one in known if one.seq < first.seq), None)
        if vouched is not None:
            self.pruned = vouched
            # one that was moved here from a single machine names one chain, which is that of node 0 now
            self._heads.update(vouched.chains or {0: (vouched.seq, vouched.hash)})

    def _compare_heads(self, entry: AuditEntry) -> None:
        """What an anchor says of the other chains. Two nodes write at once: what it names may have a higher number, and
        is compared at the end."""
        if entry.kind == "store":
            for node, (seq, named) in anchored_heads(entry).items():
                self._passed.setdefault(node, {})[seq] = named

    def _end_chains(self) -> None:
        for node, (seq, own) in (self._chains or {}).items():
            last, found = self._heads.get(node, (0, START))
            if self.pruned.seq < seq and (last, found) != (seq, own):
                raise _Wrong(seq, f"the chain of node {node} ends with record {last}, and its node wrote record {seq}")
        for node, named in self._passed.items():
            for seq, own in named.items():
                entry = None if seq <= self.pruned.seq else self._tables.entry(seq)
                if self.pruned.seq < seq and (entry is None or entry.hash != own or entry.node != node):
                    raise _Wrong(seq, f"record {seq} of node {node} is not the one that other nodes have seen")

    def end(self, anchor: Anchor | None) -> None:
        if self._chains is not None:
            self._end_chains()
        for seq, left in self._emptied.items():
            if self._sealed.get(seq) != left:
                raise _Wrong(seq, f"record {seq} was emptied, and no record of an erasure vouches for what is left")
        self.erased = len(self._emptied)
        had = self._tables.head()[0]
        if had and not self.checked:
            raise _Wrong(1, f"the audit is empty, but it had {had} records: not even the record of a prune is left")
        if anchor is None:
            return
        if anchor[0] > self.head[0]:
            what = f"the audit ends with record {self.head[0]}, the anchor is record {anchor[0]}"
            raise _Wrong(self.head[0] + 1, f"the tail is truncated: {what}")
        if anchor[0] == self.pruned.seq and anchor[0] and anchor[1] != self.pruned.hash:
            raise _Wrong(anchor[0], f"record {anchor[0]} was pruned, and it was not the one of the anchor")
        if 0 < anchor[0] < self.pruned.seq:
            what = f"records up to {self.pruned.seq} were pruned; take a new one with `rightcall audit head`"
            raise _Wrong(None, f"the anchor (record {anchor[0]}) can no longer be compared: {what}")

    def compare_kept(self, kept: dict[int, Anchor]) -> None:
        """Each chain reaches at least as far as the heads that somebody kept elsewhere."""
        lasts = {node: (self.head if self._chains is None else self._heads.get(node, (0, START)))[0] for node in kept}
        if short := {node: last for node, last in lasts.items() if last < kept[node][0]}:
            what = "; ".join(
                f"the chain of node {node} ends with record {last}, the heads file names record {kept[node][0]}"
                for node, last in short.items()
            )
            raise _Wrong(min(short.values()) + 1, f"the tail is truncated: {what}")
        for node, (seq, own) in kept.items():
            cut = self.pruned.chains.get(node, (self.pruned.seq, self.pruned.hash))
            if seq == cut[0] and seq and own != cut[1]:
                raise _Wrong(seq, f"record {seq} was pruned, and it was not the one of the heads file")
            if 0 < seq < cut[0]:
                what = f"records up to {cut[0]} were pruned; take new heads with `rightcall audit heads`"
                raise _Wrong(None, f"record {seq} of the heads file can no longer be compared: {what}")


def newest_fit(tables: Tables, count: int) -> tuple[int, int | None]:
    """Of the last `count` records, how many fit the one before, and the number of one that does not. A quick look: it
    says nothing of older ones, nor of one whose predecessor is not kept."""
    is_one = tables.chains() is None
    later: dict[int, AuditEntry] = {}
    checked = 0
    newest = list(tables.newest(count + 1))
    for entry in newest:
        after = later.get(entry.node)
        if after is not None:
            own = link(entry.hash, after.seq, after.kind, after.call, after.at, after.body)
            if (is_one and after.seq != entry.seq + 1) or (own != after.hash and not is_erased(after)):
                return checked, after.seq
            checked += 1
        later[entry.node] = entry
    if len(newest) > count or (tables.oldest() != 1 if is_one else checkpoints(tables)):  # numbers of many have gaps
        return checked, None
    for first in later.values():
        own = link(START, first.seq, first.kind, first.call, first.at, first.body)
        if own != first.hash and not is_erased(first):
            return checked, first.seq
        checked += 1
    return checked, None


def checkpoints(tables: Tables) -> list[Checkpoint]:
    """What the prune records say, the newest first."""
    found = [_checkpoint(entry) for entry in tables.newest(_MOST_PRUNES, ("prune",))]
    return [one for one in found if one is not None]


def _checkpoint(entry: AuditEntry) -> Checkpoint | None:
    try:
        note: NoteBody = read_note(entry.body)
        data: Any = note.data
        if note.what == "through" and type(data["seq"]) is int and data["seq"] < entry.seq:
            return Checkpoint(data["seq"], bytes.fromhex(data["hash"]), _read_heads(data.get("chains", {})))
    except (DecodeError, LookupError, TypeError, ValueError):  # somebody else wrote it
        return None
    return None


def anchored_heads(entry: AuditEntry) -> dict[int, Anchor]:
    """What an anchor in one chain says of the others; empty where it is none."""
    try:
        note: NoteBody = read_note(entry.body)
        data: Any = note.data
        return _read_heads(data["heads"]) if note.what == "anchor" else {}
    except (DecodeError, LookupError, TypeError, ValueError):  # somebody else wrote it
        return {}


def _read_heads(told: dict[str, Any]) -> dict[int, Anchor]:
    return {int(node): (int(seq), bytes.fromhex(own)) for node, (seq, own) in told.items()}


def told_heads(heads: dict[int, Anchor]) -> dict[str, tuple[int, str]]:
    """The heads of chains as a record holds them."""
    return {str(node): (seq, own.hex()) for node, (seq, own) in heads.items()}


def _records(first: int, last: int) -> str:
    return f"record {first} is" if first == last else f"records {first} to {last} are"


# ── prune ──
# Removing the oldest records of the audit, as one cut, behind a checkpoint with which the chain still verifies.
#
# Whatever is not over stays: a call that runs, a call whose end would be left alone, a question that still waits.

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
    at_once: bool = False
    """It costs the same however many they are: days go whole."""


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
    first = tables.oldest()
    if not first:
        return Cut()
    wanted = _wanted(tables, first, before, keep, through)
    if wanted < first:
        return Cut(first)
    # very many on a server: days go whole, and a call that goes on over the cut may lose its beginning
    at_once = tables.chains() is not None and wanted - first > STEP
    if at_once and before is not None and keep is None and through is None:
        wanted = max(wanted, tables.last_before(before))
    last, because = (_not_needed if at_once else _allowed)(tables, first, wanted, now)
    count = max(0, last - first + 1)
    return Cut(first, last if count else 0, count, wanted - first + 1 - count, because, at_once)


def prune(
    tables: Tables, *, before: str | None = None, keep: int | None = None, through: int | None = None, by: str,
    now: int | None = None,
) -> Pruned:  # fmt: skip
    """Remove the oldest records; first the checkpoint is written, in the same transaction."""
    return _remove(tables, plan(tables, before=before, keep=keep, through=through, now=now), by)


def _remove(tables: Tables, cut: Cut, by: str) -> Pruned:
    last = tables.last_through(cut.through) if cut.count else None
    if last is None or last.seq < cut.first:
        return Pruned(0, 0)
    checkpoint = tables.append("prune", 0, checkpoint_body(cut.first, last, by, heads_through(tables, last.seq)))
    return Pruned(tables.remove_through(last.seq), last.seq, checkpoint)


def heads_through(tables: Tables, through: int) -> "dict[int, Anchor]":
    """The last record of each chain up to a number; of one that has none left there, what was pruned last."""
    if tables.chains() is None:
        return {}
    known = next((one for one in checkpoints(tables) if one.seq <= through), None)
    earlier = {} if known is None else known.chains or {0: (known.seq, known.hash)}
    return earlier | tables.heads(through)


# What is too old by `[audit] keep` goes by itself. A call that goes on over the cut may lose its beginning: where calls
# always overlap, nothing else would ever be removed.

RETENTION = "[audit] keep"
"""Who prunes then."""
_AT_ONCE = 500
"""Records that go in one transaction where each of them has to be removed by itself."""


def retain(tables: Tables, days: int, now: int) -> bool:
    """Remove some of what is older than so many days; whether that was all."""
    before = (datetime.fromisoformat(tables.wall()) - timedelta(days)).strftime("%Y-%m-%d 00:00:00.000")
    oldest = tables.oldest()
    if not oldest:
        return True
    old = tables.last_before(before)
    through = old if tables.chains() is not None else min(old, oldest + _AT_ONCE - 1)
    if through < oldest:
        return True
    last, _ = _not_needed(tables, oldest, through, now)
    if last >= oldest:
        _remove(tables, Cut(oldest, last, last - oldest + 1), RETENTION)
    return last < through or through == old


def _not_needed(tables: Tables, first: int, wanted: int, now: int | None) -> "tuple[int, Reason]":
    """The last record before the first that something still needs: a call that runs, or a question that waits."""
    needed: dict[int, Reason] = {call: "running" for call in tables.running() if first <= call <= wanted}
    asked = [one.asked for one in tables.approvals("waiting", "approved") if now is None or one.expires_at > now]
    question = next(iter(tables.entries(since=min(asked))), None) if asked else None
    if question is not None and question.seq <= wanted:
        needed[question.seq] = "waiting"
    if not needed:
        return wanted, ""
    return min(needed) - 1, needed[min(needed)]


def checkpoint_body(first: int, last: AuditEntry, by: str = "", chains: "dict[int, Anchor] | None" = None) -> bytes:
    """What vouches for the records that are removed, from `first` to `last`; `chains` has the last of each node."""
    count = last.seq - first + 1
    data: dict[str, Any] = {
        "seq": last.seq, "hash": last.hash.hex(), "count": count, "first": first, "at": last.at,
    }  # fmt: skip
    if chains:
        data["chains"] = told_heads(chains)
    return encode(NoteBody("through", by, data))


def prune_in_steps(
    transact: Callable[[Callable[[Tables], Pruned]], Pruned], cut: Cut, by: str, now: Callable[[], int],
    step: int = STEP,
) -> Pruned:  # fmt: skip
    """Remove what `plan` found, in transactions that hold up nobody for long; each leaves a checkpoint of its own."""
    removed, last, size = 0, Pruned(0, 0), cut.through if cut.at_once else step
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


def _wanted(tables: Tables, first: int, before: str | None, keep: int | None, through: int | None) -> int:
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
                f"before: {before!r} is not a time; write it as 2026-01-31 or 2026-01-31 23:59:59.999, in UTC"
            )
        # dates are set now and then: the first record that is not old enough ends the cut, whatever comes after it
        young = next((entry.seq for entry in tables.entries(since=before)), None)
        last = last if young is None else min(last, young - 1)
    return max(last, first - 1)


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


# ── the last verification ──
# When somebody last verified a store, for whoever looks later. It is kept in the user's own state folder and not beside
# the records: whoever changed those could also say that they were found right.


class Verified(Struct, frozen=True):
    """When a whole chain was last verified, up to which record, and whether it was right."""

    at: str
    """UTC."""
    ok: bool
    seq: int
    """The last record that was found right."""


def note_verified(store: object, result: Verification, at: str) -> None:
    """Never raises: no answer depends on it. Of a store in memory nothing is kept."""
    place = _place_of(store)
    if place is None:
        return
    with suppress(OSError):
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        fresh = f"{place}.{token_hex(4)}"
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(json.encode(Verified(at, result.ok, result.head[0])))
        os.replace(fresh, place)


def last_verified(store: object) -> Verified | None:
    """None where nobody verified it yet, or another user did."""
    place = _place_of(store)
    try:
        if place is None:
            return None
        with open(place, "rb") as stream:
            return json.decode(stream.read(), type=Verified)
    except (OSError, DecodeError):
        return None


def _place_of(store: object) -> str | None:
    path = getattr(store, "path", None)
    if path is None:
        return None
    name = str(path) if "://" in str(path) else os.path.realpath(path)
    return os.path.join(state_folder(), "verified", sha256(os.fsencode(name)).hexdigest()[:32])
