"""What a store keeps, as small operations on tables. Each backend (SQLite, memory) implements these and nothing else:
what they mean together (admitting a call, answering an approval, pruning) is written once, on top of them.

    Store.transact(work) ─▶ work(tables), all of it or nothing, durable when it returns
    Store.look(work)     ─▶ the same for reading alone
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeVar

from msgspec import Struct, json

from rightcall.errors import StoreError
from rightcall.policy.types import (
    Approval,
    ApprovalStatus,
    Credential,
    DecisionKind,
    Facts,
    Grant,
    Pause,
    Spent,
    Status,
    Token,
)

if TYPE_CHECKING:
    from rightcall.record.rollup.rollup import Rollup

T = TypeVar("T")

# ── entries ──
# What the records of the audit hold, by kind, as JSON. Everything a model wrote is redacted before it comes here.


class Inputs(Struct, frozen=True, omit_defaults=True):
    """What else of a `Request` its decision used, as far as it is not the usual: with these, the rest of the body and
    the records before it, the same decision can be made again."""

    own: bool = False
    permit: str = ""
    called: tuple[str, ...] = ()
    repeatable: bool = False
    turn: str = ""
    """Within which identical calls were counted."""
    unsure: bool = False
    """What it touches has a state that nobody could tell: answers were compared instead."""
    dry_run: bool = False
    asks: tuple[str, ...] = ()
    rehearse: tuple[str, ...] = ()
    repaired: bool = False
    paths: tuple[str | tuple[str, str], ...] = ()
    """Each as it was written and as it was resolved; one text where both are the same."""
    guesses: bool = False
    """They are guessed from the names of the arguments."""
    outside: tuple[str, ...] = ()
    linked: bool = False
    inner: tuple[str, ...] = ()
    approval: str | None = None
    """That the caller named."""
    commanded: tuple[str, ...] = ()
    """Arguments that are commands or addresses,"""
    findings: tuple[tuple[str, str, str], ...] = ()
    """what was found in them (answer, rule, why), redacted,"""
    command_paths: tuple[tuple[str, str, bool], ...] = ()
    """and the paths in them: as written, as resolved, and whether they are written to."""
    server: tuple[str, str] = ("", "")
    """The server that would run it, and the digest of how it is reached."""
    space: str = ""
    """The server by the name that its door has for it,"""
    folder: str = ""
    """and where the host worked, if not in the root."""
    runs_here: bool = False
    """We ran it ourselves, although a door judged it."""
    unpinned: bool = False
    """The definition was not compared with an earlier one."""
    unasked: bool = False
    """The policies were not asked: by its name or its arguments there was nothing to ask them about."""
    partial: bool = False
    """Something above was too long to be kept: the decision cannot be made again."""


NO_INPUTS = Inputs()
UNASKED = Inputs(unasked=True)


NO_IDENTITY: Final = ("", "")


class CallFacts(Struct, frozen=True, omit_defaults=True):
    """Who wanted what, what was made of it, and what was decided by which rule."""

    caller: str
    tool: str
    params: Any
    """The arguments that run, redacted."""
    digest: str
    """Of the whole canonical call, before anything was redacted."""
    decision: DecisionKind | Literal["passed"]
    """`passed`: nobody decided; it went from the model to the client, who may run it."""
    rule: str
    reason: str = ""
    context: str | None = None
    step: str | None = None
    emission: Any = None
    """What the model wrote, redacted and cut; absent where it is the call itself."""
    repairs: tuple[dict[str, Any], ...] = ()
    """path, before, after, strategy, rule, confidence; redacted."""
    strategy: str = "direct"
    confidence: float = 1.0
    truncated: bool = False
    problems: tuple[dict[str, str], ...] = ()
    origin: str = "native"
    definition: str = ""
    state: str = ""
    effects: tuple[str, ...] = ()
    policy: str = ""
    """Digest of the policy file that decided."""
    rights: str = ""
    approval: str | None = None
    grant: str | None = None
    earlier: int | None = None
    retry_after: float | None = None
    provider: str = ""
    wire: str = ""
    """Of a call that a host runs: which host. Of a call that passed through the proxy: the API,"""
    model: str = ""
    """the model that the client asked for,"""
    written: str = ""
    """the tool's name as the model wrote it, where it is another,"""
    retries: int = 0
    """how often the model was asked again,"""
    taught: bool = False
    """and whether it was told of the tools in its prompt."""


class CallBody(CallFacts, frozen=True, omit_defaults=True):
    """`begin`, `refused`, `waiting` and `proxied`."""

    now: int = 0
    """When it was decided, by the monotonic clock that limits and expiry go by."""
    order: dict[str, int] = {}
    """Of what it counts towards (`all`, `caller`, `tool`): the how many-th start there it is."""
    changes: int = 0
    """How many changes were seen by then: the same call after a change is no repetition."""
    inputs: Inputs = NO_INPUTS
    held: int = 0
    """Bytes that the question to a person holds, of a call that waits or for whose question there was no room."""
    packs: str = ""
    """Digest of the rule packs, where there are any."""
    identity: tuple[str, str] = NO_IDENTITY
    """Issuer and subject, where an identity provider said who calls."""
    erased: bool = False
    """What somebody wrote was removed from it; an `erase` record says so."""


class EndBody(Struct, frozen=True, omit_defaults=True):
    """`end`: what came of a call. Never the whole result."""

    status: Status
    execution_time: float = 0.0
    """Milliseconds."""
    error: str | None = None
    summary: str = ""
    tokens: int = 0
    cached: bool = False
    sandbox: str | None = None
    """The tier that was used, where there was one."""
    answer: str = ""
    """Keyed digest of all that it gave, where somebody saw that: the same call with another answer is no loop."""
    erased: bool = False


class AnswerBody(Struct, frozen=True, omit_defaults=True):
    """`answer`: approval `id` was answered by a person; `call` of the entry is the waiting record."""

    id: str
    status: Literal["approved", "denied", "expired", "used"]
    by: str
    digest: str
    kind: str = "call"
    tool: str = ""
    caller: str = ""
    reason: str = ""
    """Why, where the person said so."""
    now: int = 0
    until: int = 0
    """When it was answered, and until when the answer holds, by the monotonic clock."""
    through: str = ""
    """Where the person was, if not at a terminal: `console`."""
    erased: bool = False


class NoteBody(Struct, frozen=True, omit_defaults=True):
    """`grant`, `definition`, `policy`, `release`, `change`, `prune`, `erase`, `message`: words and values."""

    what: str
    """Such as `made`, `revoked`; `first seen`, `accepted`; `loaded`, `kept`; `through`; `message`, `diagnosis`."""
    by: str = ""
    data: Any = None
    erased: bool = False


def reader_of(kind: type[T]) -> Callable[[bytes], T]:
    """Reads a body of this kind. The decoder is made for the first one: many a process only writes."""

    @cache
    def decoder() -> json.Decoder[T]:
        return json.Decoder(kind)

    return lambda body: decoder().decode(body)


encode = json.Encoder().encode
read_call = reader_of(CallBody)
read_end = reader_of(EndBody)
read_answer = reader_of(AnswerBody)
read_note = reader_of(NoteBody)


# ── chain ──
# The hash chain of the audit: each record's hash covers everything it holds and the hash of the one before.

START = b"\0" * 32
"""What stands before the first record."""
_BLANK = sha256()
"""To be copied, which takes half as long as a new one."""


def link(before: bytes, seq: int, kind: str, call: int, at: str, body: bytes) -> bytes:
    """The hash of one record. The lengths are covered too, so that nothing can move between two fields.

    >>> link(START, 1, "begin", 0, "2026-01-01 00:00:00.000", b"{}").hex()[:16]
    'e563f152b3bc55c5'
    """
    digest = _BLANK.copy()
    digest.update(before + f"{seq}\0{kind}\0{call}\0{at}\0{len(body)}\0".encode() + body)
    return digest.digest()


# ── clock ──
# Two clocks: a monotonic one that decides (limits, expiry), and the wall's, which is only written down.
#
# The monotonic one is the same for all processes of a machine and goes on while it sleeps; setting the date changes
# nothing.


class Clock(Protocol):
    def now(self) -> int:
        """Nanoseconds that never go back."""
        ...

    def wall(self) -> str:
        """The date and time in UTC, as SQLite's own functions write it, with milliseconds."""
        ...


class SystemClock:
    """The machine's own clocks."""

    _last = -1, ""
    """The last thousandth of a second, and how it is written: many moments lie in the same one, most in its second."""

    if hasattr(time, "CLOCK_BOOTTIME"):

        def now(self) -> int:
            return time.clock_gettime_ns(time.CLOCK_BOOTTIME)

    else:  # macOS and Windows: theirs counts sleep as well

        def now(self) -> int:
            return time.monotonic_ns()

    def wall(self) -> str:
        moment = time.time_ns() // 1_000_000
        known, text = self._last
        if moment != known:
            same_second = moment // 1000 == known // 1000
            text = f"{text[:-3]}{moment % 1000:03}" if same_second else written(moment / 1000)
            self._last = moment, text
        return text


class ManualClock:
    """Stands still until it is moved: for tests.

    >>> clock = ManualClock()
    >>> clock.advance(1.5)
    >>> clock.now(), clock.wall()
    (1500000000, '2026-01-01 00:00:01.500')
    """

    def __init__(self, start: int = 0, wall: float = 1_767_225_600.0) -> None:
        self._at = start
        self._wall = wall

    def now(self) -> int:
        return self._at

    def wall(self) -> str:
        return written(self._wall)

    def advance(self, seconds: float) -> None:
        self._at += round(seconds * 1e9)
        self._wall += seconds

    def set_wall(self, seconds: float) -> None:
        """Somebody sets the date; the monotonic clock does not notice."""
        self._wall = seconds


def written(seconds: float) -> str:
    """A moment (seconds since 1970) as the audit writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


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
    "erase",  # what a caller wrote was removed from its records
    "message",  # what a host told about messages and diagnoses, for the metrics
]


class AuditEntry(Struct, frozen=True):
    """One record of the audit. Records are only ever added; `audit prune` removes the oldest, `audit erase` content."""

    seq: int
    kind: EntryKind
    call: int
    """The record this one belongs to; 0 for none."""
    at: str
    """UTC."""
    body: bytes
    """JSON, redacted: one of the bodies above."""
    hash: bytes
    node: int = 0
    """Whose chain it is in, where several nodes write."""


class Tables(Facts, Protocol):
    """Inside one transaction. A policy sees only the part that is `Facts`."""

    def now(self) -> int:
        """The time of the transaction, which may have waited to begin."""
        ...

    def append(self, kind: EntryKind, call: int, body: bytes) -> int:
        """Add a record to the chain at the present time; returns its number."""
        ...

    def entry(self, seq: int) -> AuditEntry | None: ...

    def entries_of(self, seqs: Collection[int]) -> list[AuditEntry]:
        """Those of these records that are there, in the order of their numbers."""
        ...

    def entries(self, after: int = 0, until: str | None = None, since: str | None = None) -> Iterator[AuditEntry]:
        """Records in order: those with a number above `after`, not before `since` and before `until` (UTC). Where
        several nodes write, also those after the head."""
        ...

    def newest(self, count: int, kinds: tuple[EntryKind, ...] = (), before: int | None = None) -> list[AuditEntry]:
        """The last records, newest first; only those kinds when any are named, only those below a number when one
        is."""
        ...

    def belonging(self, seq: int) -> list[AuditEntry]:
        """The records whose `call` is this one, in order."""
        ...

    def is_open(self, seq: int, hash: bytes) -> bool:
        """Whether that record stands, with this hash, and no `end` belongs to it."""
        ...

    def head(self) -> tuple[int, bytes]:
        """Number and hash of the last record; (0, START) when there is none. Where several nodes write, the last
        before which none can come any more: whoever comes back for what is new goes on from there."""
        ...

    def oldest(self) -> int:
        """The number of the first record that is left; 0 when there is none."""
        ...

    def last_through(self, seq: int) -> AuditEntry | None:
        """The last record whose number is at most this."""
        ...

    def last_before(self, moment: str) -> int:
        """The last number that may go where all before a moment (UTC) is to. Dates are set now and then: the first
        record that is not old enough ends it, whatever comes after. Where a day is removed whole, what has a lower
        number than the last of that day goes with it."""
        ...

    def chains(self) -> dict[int, tuple[int, bytes]] | None:
        """Number and hash of the last record of each node, where several write: each has a chain of its own, and
        numbers may be missing in between. None where there is one chain, without a gap."""
        ...

    def heads(self, through: int) -> dict[int, tuple[int, bytes]]:
        """The last record of each of these chains up to a number; empty where there is one chain."""
        ...

    def rollup(self) -> "Rollup":
        """What was counted of these records, as far as somebody has: `Rollup.catch_up` counts the rest."""
        ...

    def remove_through(self, seq: int) -> int:
        """Remove all records up to this one; returns how many."""
        ...

    def rewrite(self, entries: Sequence[AuditEntry]) -> list[int]:
        """Put the body of each in place of what its record holds, of which nothing is left; its hash stays. The numbers
        of those that held another."""
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

    def spend(self, caller: str, calls: int = 0, tokens: int = 0) -> None:
        """So much more was used up today: see `Facts.spent`."""
        ...

    def spending(self) -> list[Spent]:
        """What each caller has used up today, as far as anything was counted."""
        ...

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

    def approvals(self, *status: ApprovalStatus, ids: Collection[str] | None = None) -> list[Approval]:
        """As stored (a question whose time is over is still `waiting`), oldest first; all when no status is named.
        `ids`: only these."""
        ...

    def overdue(self, now: int) -> list[Approval]:
        """Those that wait, or were approved and not used, whose time is over."""
        ...

    def count_waiting(self, now: int) -> int:
        """How many questions can still be answered; nothing of them is read, however much they hold."""
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

    def put_credential(self, credential: Credential) -> None: ...

    def drop_credential(self, id: str) -> None: ...

    def credentials(self) -> list[Credential]:
        """Of the people who may open the console: oldest first, expired ones too."""
        ...

    def touch(self) -> None:
        """Write about as much as a call does, of which nobody reads anything: to find out whether it can be written."""
        ...


WRITES = frozenset(
    (
        "append", "remove_through", "rewrite", "begun", "ended", "mark", "spend", "forget", "changed", "pin",
        "put_approval", "put_grant", "drop_grant", "put_pause", "put_token", "drop_token", "put_credential",
        "drop_credential", "touch",
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


class Needs(Struct, frozen=True):
    """What a work reads and writes beside its own record, as far as it can tell beforehand. A store on a server asks
    for all of it at once, and locks what is counted; a work that touches more is done again, alone."""

    callers: tuple[str, ...] = ()
    """Whose repeated and refused calls are counted."""
    scopes: tuple[tuple[str, int], ...] = ()
    """What limits count: the name, and how many starts back one looks."""
    tails: tuple[str, ...] = ()
    """Scopes of which the last few starts are looked at: those of refused calls."""
    same: tuple[tuple[str, str], ...] = ()
    """The same of identical calls: what stands before and after the number of changes in their names."""
    definitions: tuple[str, ...] = ()
    bindings: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    grants: tuple[tuple[str, str], ...] = ()
    """By caller and tool."""
    ends: tuple[int, ...] = ()
    """Calls that end."""
    budgets: tuple[str, ...] = ()
    """Callers of whom it is counted what they use up in a day."""


class Planned(Generic[T]):
    """A work, and what it needs; asked only by stores for which a question costs a round trip."""

    __slots__ = ("_work", "needs")

    def __init__(self, work: Callable[[Tables], T], needs: Callable[[], Needs]) -> None:
        self._work = work
        self.needs = needs

    def __call__(self, tables: Tables) -> T:
        return self._work(tables)


class Store(Protocol):
    """Raises StoreError when it cannot be used; then nothing of the work has happened."""

    clock: Clock
    is_remote: bool
    """Whether a look waits for another process."""

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

    async def next_answer(self, id: str, seconds: float) -> None:
        """Wait until it is worth looking whether somebody has answered that approval, on this node or another: not
        longer than so many seconds."""
        ...

    def key(self) -> bytes:
        """32 secret bytes of this store, for digests of what was redacted."""
        ...

    def close(self) -> None: ...


ASIDE_SECONDS: Final = 1.0
"""For which whoever serves waits for a store; what it then does is for whoever asks to say."""


async def look_aside(store: Store, work: Callable[[Tables], T], seconds: float = ASIDE_SECONDS) -> T:
    """`look` from an event loop, which goes on meanwhile where another process answers. Raises StoreError also where
    that takes longer than this."""
    if not store.is_remote:
        return store.look(work)  # a thread would cost more than the look
    from asyncio import timeout, to_thread  # late: who has no event loop does not pay for one

    try:
        async with timeout(seconds):
            return await to_thread(store.look, work)
    except TimeoutError:
        raise StoreError(f"the store did not answer within {seconds:g} seconds. Try again.", "unreachable") from None


async def pause_between_looks(seconds: float) -> None:
    """For stores that hear nothing of what other processes do."""
    from asyncio import sleep  # late: who has no event loop does not pay for one

    await sleep(min(seconds, 0.1))


def held_bytes(approval: Approval) -> int:
    """What a question takes in the store, apart from a few short fields."""
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in (approval.canonical, approval.details))


def report(error: BaseException) -> None:
    """Of a work that was left for later: nobody waits for it any more, so it is logged."""
    import logging

    logging.getLogger(__name__).error("a record that was left for later could not be written", exc_info=error)
