"""What a store keeps, as small operations on tables. Each backend (SQLite, memory) implements these and nothing else:
what they mean together (admitting a call, answering an approval, pruning) is written once, on top of them.

    Store.transact(work) ─▶ work(tables), all of it or nothing, durable when it returns
    Store.look(work)     ─▶ the same for reading alone
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol, TypeVar

from msgspec import Struct

from rightcall.record.clock import Clock
from rightcall.types_running import Approval, ApprovalStatus, Facts, Grant, Pause, Token

T = TypeVar("T")

EntryKind = Literal[
    "begin",  # a call was admitted and may now run
    "end",  # what came of it; `call` is its begin
    "refused",  # a call that did not run
    "waiting",  # a call that waits for a person
    "proxied",  # a call that passed through the proxy on its way to a client, who may run it
    "answer",  # what the person said, or that the question expired
    "grant",  # one was given, used up or taken back
    "definition",  # a tool was first seen, or its change was accepted
    "policy",  # the policy in force, when a process starts and whenever it changes, or why a change was not taken
    "release",  # a call was let out of quarantine
    "store",  # a new audit was begun, or another file taken for it, on purpose
    "pause",  # all calls were stopped, or let go on
    "change",  # a person merged, reviewed or took back something, or made a token, by a command of their own
    "prune",  # older records were removed; the checkpoint
    "message",  # what a host told about messages and diagnoses, for the metrics
]


class AuditEntry(Struct, frozen=True):
    """One record of the audit. Records are only ever added; `audit prune` removes the oldest."""

    seq: int
    kind: EntryKind
    call: int
    """The record this one belongs to; 0 for none."""
    at: str
    """UTC."""
    body: bytes
    """JSON, redacted; `entries.py` has its shapes."""
    hash: bytes


class Tables(Facts, Protocol):
    """Inside one transaction. A policy sees only the part that is `Facts`."""

    def wall(self) -> str:
        """The present time as it is written down, UTC."""
        ...

    def append(self, kind: EntryKind, call: int, body: bytes) -> int:
        """Add a record to the chain at the present time; returns its number."""
        ...

    def entry(self, seq: int) -> AuditEntry | None: ...

    def entries(self, after: int = 0, until: str | None = None, since: str | None = None) -> Iterator[AuditEntry]:
        """Records in order: those with a number above `after`, not before `since` and before `until` (UTC)."""
        ...

    def newest(self, count: int, kinds: tuple[EntryKind, ...] = ()) -> list[AuditEntry]:
        """The last records, newest first; only those kinds when any are named."""
        ...

    def belonging(self, seq: int) -> list[AuditEntry]:
        """The records whose `call` is this one, in order."""
        ...

    def head(self) -> tuple[int, bytes]:
        """Number and hash of the last record; (0, START) when there is none."""
        ...

    def remove_through(self, seq: int) -> int:
        """Remove all records up to this one; returns how many."""
        ...

    def begun(self, seq: int, *, elsewhere: bool = False) -> None:
        """This process is running that call; or, `elsewhere`, a host does, which will say when it has ended."""
        ...

    def ended(self, seq: int) -> None: ...

    def running(self) -> list[int]:
        """Calls that have begun and not ended, in any process that is alive."""
        ...

    def mark(self, scope: str, call: int, at: int | None = None) -> int:
        """A start in a scope, at the moment for which it was decided (else now); returns the how many-th it is there.
        After an hour without a start, counting may begin anew."""
        ...

    def forget(self, scope: str) -> None: ...

    def scopes(self, prefix: str) -> list[tuple[str, int]]:
        """The scopes whose name starts so, each with how many starts of the last hour are kept."""
        ...

    def changed(self, by: str) -> None:
        """A call with side effects, known by its digest, begins or ends: see `Facts.changes`."""
        ...

    def pin(self, tool: str, definition: str) -> None: ...

    def put_approval(self, approval: Approval) -> None:
        """Insert, or replace the one with that id."""
        ...

    def approvals(self, *status: ApprovalStatus) -> list[Approval]:
        """As stored (a question whose time is over is still `waiting`), oldest first; all when no status is named."""
        ...

    def overdue(self, now: int) -> list[Approval]:
        """Those that wait, or were approved and not used, whose time is over."""
        ...

    def waiting(self, caller: str, now: int) -> tuple[int, int]:
        """How many questions of a caller can still be answered, and how many bytes they hold (`held_bytes`)."""
        ...

    def put_grant(self, grant: Grant) -> None: ...

    def drop_grant(self, id: str) -> None: ...

    def all_grants(self) -> list[Grant]: ...

    def own_pause(self) -> Pause | None:
        """That of this store alone, not the one that holds for all of this user."""
        ...

    def put_pause(self, pause: Pause | None) -> None:
        """Stop every call from now on, or let them go on."""
        ...

    def put_token(self, token: Token) -> None: ...

    def drop_token(self, id: str) -> None: ...

    def tokens(self) -> list[Token]:
        """Oldest first, expired ones too."""
        ...


WRITES = frozenset(
    (
        "append", "remove_through", "begun", "ended", "mark", "forget", "changed", "pin", "put_approval", "put_grant",
        "drop_grant", "put_pause", "put_token", "drop_token",
    )
)  # fmt: skip
"""The operations that `look` does not allow."""


class ReadOnly:
    """Tables that can only be read, for `Store.look`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def __getattr__(self, name: str) -> Any:
        if name in WRITES:
            raise RuntimeError(f"a work that only looks called `{name}`: use `transact` to write")
        return getattr(self._tables, name)


class Store(Protocol):
    """Raises StoreError when it cannot be used; then nothing of the work has happened."""

    clock: Clock

    def transact(self, work: Callable[[Tables], T]) -> T:
        """Do this, all of it or nothing: what it raises undoes it and comes back from here. Not from inside a work."""
        ...

    async def atransact(self, work: Callable[[Tables], T]) -> T:
        """The same from an event loop. Who is cancelled while waiting does not know whether it was done: once the
        store has taken it up, it is."""
        ...

    def later(self, work: Callable[[Tables], object]) -> None:
        """Do this as soon as it can be done, at the latest with the next transaction that succeeds, and wait for
        nothing: for what can no longer be refused."""
        ...

    def look(self, work: Callable[[Tables], T]) -> T:
        """Read only. A work that writes raises."""
        ...

    def key(self) -> bytes:
        """32 secret bytes of this store, for digests of what was redacted."""
        ...

    def close(self) -> None: ...


def held_bytes(approval: Approval) -> int:
    """What a question takes in the store, apart from a few short fields."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in (approval.canonical, approval.details))


def report(error: BaseException) -> None:
    """Of a work that was left for later: nobody waits for it any more, so it is logged."""
    import logging

    logging.getLogger(__name__).error("a record that was left for later could not be written", exc_info=error)
