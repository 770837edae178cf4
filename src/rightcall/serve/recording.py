"""The record of what passed through the proxy, written beside the answers: nobody waits for the disk.

    told ─▶ queue, bounded ─▶ one thread: makes the records, without secrets ─▶ many in one commit ─▶ the store

The proxy runs nothing, so that a store that cannot be used stops no answer (A-04 is for calls that run): what cannot be
written yet waits, is tried again, and is written once the fault is gone. When too much waits, the newest is counted as
lost.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from time import monotonic, sleep
from typing import Literal, NamedTuple, cast

from msgspec import Struct

from rightcall.config import Policy
from rightcall.errors import StoreError
from rightcall.executor_opening import existing_folder, found_folder, open_store, store_path
from rightcall.packs import pack_digests
from rightcall.record.clock import Clock
from rightcall.record.notes import note_policy, policy_note
from rightcall.record.sqlite_identity import Identified, wrong_with
from rightcall.record.tables import Store, Tables
from rightcall.serve.facts import Facts
from rightcall.serve.noting import Told, make_records, parts_of, weight_of
from rightcall.text.escape import escaped
from rightcall.text.redact import Redactor
from rightcall.trust.stops import stopped
from rightcall.types_running import Pause

log = logging.getLogger("rightcall")

MOST_WAITING = 20_000
MOST_BYTES = 64_000_000
"""Of calls and records that wait; what comes beyond is lost."""
_GROUP = 1000
"""Records in one transaction: other processes want to write as well."""
_LONGEST_PAUSE = 5.0
_LOOKING = 1.0
"""Seconds until it is looked again whether the store can be read, for `/health`."""
_STOPPING = 10.0
"""Seconds in which what waits is still written when the server stops."""


class State(Struct, frozen=True):
    """How the record is doing, for `/health`. Says nothing of where it lies."""

    ok: bool
    fault: str
    """In one word why nothing can be written now (`full`, `locked`, `read-only`, `corrupt` …); empty where it can."""
    recorded: int
    waiting: int
    failures: int
    """How often writing was tried in vain."""
    lost: int
    """Records that there was no room for, or that could not be written before the server stopped."""


class Backlog(NamedTuple):
    """How long, and how much, waits until it is written."""

    gather: float = 0.05
    """Seconds in which records come together, so that they share a commit. Whoever kills the process loses these."""
    first_pause: float = 0.25
    """Seconds until a store that could not be used is tried again; twice as long each time."""
    most: int = MOST_WAITING
    most_bytes: int = MOST_BYTES


_BACKLOG = Backlog()


class Recording:
    """`told` may be called from an event loop: it never waits. `stop` writes what is left, and closes the store where
    it was opened for this."""

    def __init__(
        self, store: Store, policy: Policy | None = None, *, owned: bool = True, backlog: Backlog = _BACKLOG
    ) -> None:
        policy = policy or Policy()
        self.redactor = Redactor(store.key(), policy.settings.audit.redact)
        self.policy = policy.digest
        self.failures = 0
        self.lost = 0
        self.recorded = 0
        self.fault = ""
        self.store = store
        self._owned = owned
        self._backlog = backlog
        self._told: deque[Told] = deque()
        self._told_calls = 0
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._stopping = threading.Event()
        self._deadline = 0.0
        self._look_again = 0.0
        self._unread = ""
        self._thread = threading.Thread(target=self._write, name="rightcall recording", daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    @property
    def state(self) -> State:
        fault = self.fault or ("closed" if self._stopping.is_set() else "") or self._unreadable()
        return State(not fault, fault, self.recorded, self._count, self.failures, self.lost)

    def _unreadable(self) -> str:
        """Why the store cannot even be read, as when its file is gone: tokens cannot be checked then. Nobody need write
        for that to be noticed."""
        if (now := monotonic()) >= self._look_again:
            self._look_again = now + _LOOKING
            try:
                self._unread = "replaced" if self.store.look(self._strangeness) else ""
            except StoreError as error:
                self._unread = "" if error.fault == "locked" else error.fault
        return self._unread

    def _strangeness(self, tables: Tables) -> str:
        """Why the file is not the one that was opened; empty where it is, or the store has no file."""
        path: Path | None = getattr(self.store, "path", None)
        return "" if path is None else wrong_with(path, cast("Identified", tables))

    def paused(self) -> Pause | None:
        """The emergency stop, while it holds. Where the store cannot be read nobody can tell whether it has one of its
        own, and answers pass: the proxy runs nothing."""
        try:
            return self.store.look(lambda tables: tables.paused())
        except StoreError:
            return stopped()

    def told(self, facts: Facts) -> None:
        """A request is over: every call of its answer is recorded. Never waits and never raises."""
        if not facts.did:
            return
        try:
            self._take(facts, [weight_of(one) for one in facts.did])
        except Exception:  # an error of ours must not reach the answer
            self._lose(len(facts.did))
            log.exception("rightcall: the calls of an answer could not be recorded")

    def under(self, policy: Policy) -> None:
        """From now on calls pass under this policy, which may name further secrets."""
        self.redactor = Redactor(self.store.key(), policy.settings.audit.redact)
        self.policy = policy.digest

    def note_policy(self, what: str, policy: Policy, problem: str | None = None) -> None:
        """Which policy is in force, or why an edit of its file was not taken: as an executor notes it."""
        note, digest = policy_note(what, policy, pack_digests(policy.packs), problem)
        self.store.later(lambda tables: note_policy(tables, note, digest))

    def _take(self, facts: Facts, weights: list[int]) -> None:
        with self._lock:
            taken = 0 if self._stopping.is_set() else self._room_for(weights)
            self._told.extend(parts_of(facts, weights[:taken], self.redactor, self.policy))
            self._told_calls += taken
            self._bytes += sum(weights[:taken])
            left_out = len(weights) - taken
            first = left_out > 0 and self.lost == 0
            self.lost += left_out
        if first:
            log.error("rightcall: records of calls are lost, since too many wait to be written: see /health")
        if taken and not self._news.is_set():
            self._news.set()

    def stop(self, timeout: float = _STOPPING) -> None:
        """Write what waits, for as long as this at most, and end. A second time does nothing."""
        with self._lock:
            if not self._stopping.is_set():
                self._deadline = monotonic() + timeout
            self._stopping.set()
            self._news.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout + 1)
        atexit.unregister(self.stop)

    @property
    def _count(self) -> int:
        return self._told_calls + len(self._waiting)

    def _room_for(self, weights: list[int]) -> int:
        """How many of these have room. What came first stays: a record of an earlier call is worth no less."""
        room, size = self._backlog.most - self._count, self._bytes
        for nth, weight in enumerate(weights):
            size += weight
            if nth >= room or size > self._backlog.most_bytes:
                return nth
        return len(weights)

    def _lose(self, count: int) -> None:
        with self._lock:
            self.lost += count

    # ── the thread ───────────────────────────────────────────────────────────────────────────────────────────────

    def _write(self) -> None:
        pause = 0.0
        while not self._stopping.is_set() or self._count:
            if not self._count:
                self._news.wait()
            self._rest(pause)
            self._news.clear()
            pause = 0.0 if self._wrote_all() else min(max(self._backlog.first_pause, pause * 2), _LONGEST_PAUSE)
        if self._owned:
            self.store.close()

    def _rest(self, pause: float) -> None:
        """Until records have come together; after a fault, until it is time to try again."""
        if not self._stopping.wait(pause or self._backlog.gather) or not pause:
            return
        if self._is_late:
            self._give_up()
        else:  # it is worth a few more tries: nobody writes these records later
            sleep(min(self._backlog.first_pause, max(0.0, self._deadline - monotonic())))

    @property
    def _is_late(self) -> bool:
        return self._stopping.is_set() and monotonic() >= self._deadline

    def _make(self) -> None:
        """Enough records for a transaction, of what was told; none when it is too late to make any."""
        while self._told and len(self._waiting) < _GROUP and not self._is_late:
            told = self._told[0]
            records = make_records(told)
            with self._lock:
                self._told.popleft()
                self._told_calls -= len(told.did)
                self._waiting.extend(records)
                self._bytes += sum(map(len, records)) - told.weight
                self.lost += len(told.did) - len(records)

    def _wrote_all(self) -> bool:
        """Whether everything that waited is on disk."""
        while self._count:
            self._make()
            with self._lock:
                group = [self._waiting[at] for at in range(min(_GROUP, len(self._waiting)))]
            if not group:
                if self._told:
                    self._give_up()
                continue
            try:
                self.store.transact(lambda tables, group=group: _append(tables, group))
            except StoreError as error:
                self._note_fault(error)
                return False
            except Exception:  # one of them is not what a record may be: the others are
                log.exception("rightcall: a record of a call could not be written")
                self._one_by_one(group)
                continue
            self._forget(len(group), written=len(group))
        return True

    def _one_by_one(self, group: list[bytes]) -> None:
        for body in group:
            written = 0
            try:
                self.store.transact(lambda tables, body=body: _append(tables, [body]))
                written = 1
            except StoreError as error:
                self._note_fault(error)
                return
            except Exception:  # noqa: BLE001  it was told already
                self.failures += 1
            self._forget(1, written=written)

    def _forget(self, count: int, *, written: int) -> None:
        with self._lock:
            for _ in range(count):
                self._bytes -= len(self._waiting.popleft())
            self.recorded += written
            self.lost += count - written
        if self.fault and written:
            self.fault = ""
            log.warning("rightcall: calls are recorded again; %d records are lost", self.lost)

    def _note_fault(self, error: StoreError) -> None:
        first, self.fault = not self.fault, error.fault
        self.failures += 1  # last: whoever sees it counted also sees why
        if first:
            why = str(error).replace(" Nothing was run.", "")  # true of calls that run; these only pass
            log.error("rightcall: calls pass and are not recorded for now: %s", escaped(why, 500))

    def _give_up(self) -> None:
        with self._lock:
            left = self._count
            self.lost += left
            self._told.clear()
            self._told_calls = 0
            self._waiting.clear()
            self._bytes = 0
        log.error("rightcall: %d records of calls could not be written before the end", left)


def open_recording(
    policy: Policy, policy_file: str | os.PathLike[str] | None = None, *, root: str | os.PathLike[str] = ".",
    store: Store | Literal["memory"] | None = None, clock: Clock | None = None,
) -> Recording:  # fmt: skip
    """The audit that an executor with this policy would use: a database beside the policy file, without one below
    `root`; or "memory", or a store that stays open. Raises StoreError when it cannot be used from the start."""
    file = None if policy_file is None else os.path.abspath(policy_file)
    folder = existing_folder(root)
    opened = open_store(store, store_path(policy, file, folder), clock, found_folder(policy, file, folder))
    recording = Recording(opened, policy, owned=opened is not store)
    recording.note_policy("loaded", policy)
    return recording


def _append(tables: Tables, bodies: Iterable[bytes]) -> None:
    for body in bodies:
        tables.append("proxied", 0, body)
