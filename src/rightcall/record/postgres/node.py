"""One node: the process that has a lease to write. Its chain of records, the numbers it has taken for the next ones,
and the lease itself, which other nodes see instead of a lock on a file.

    join ─▶ (node, epoch) ─▶ every transaction locks its row and compares the epoch ─▶ leave
                                    └─ gone, or too late: fenced; whoever is alive ends its calls
"""

import os
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from rightcall.errors import StoreError
from rightcall.record.postgres.connection import Address, unusable
from rightcall.record.tables import START, Clock, EntryKind, SystemClock, link, written

if TYPE_CHECKING:
    import psycopg

LEASE_SECONDS = 10
"""After which a node that says nothing is taken for dead."""
BEAT_SECONDS = 3
"""How often one that has nothing to write says that it lives."""
_KEPT_SECONDS = 2.0
"""How long a number that was taken and not used may still be: the order of numbers follows time so closely."""
_MOST_NODES = 100_000
_MOST_NUMBERS = 1_000

LOCK_OWN = "SELECT seq, hash FROM nodes WHERE id = %s AND epoch = %s AND until > clock_timestamp() FOR UPDATE"
LOCK_JOINING = "SELECT n FROM changes WHERE space = '' FOR UPDATE"
"""A row that every node may lock and none counts in. To lock a row one needs the right to change it, and nobody who
only appends may change a row of `meta`, such as the pause."""
LOCK_ALL = "SELECT id, until > clock_timestamp() FROM nodes ORDER BY id FOR UPDATE"
MOVE = (
    "UPDATE nodes SET seq = %s, hash = %s, until = clock_timestamp() + make_interval(secs => %s)"
    " WHERE id = %s AND epoch = %s"
)
_KEEP = "UPDATE running SET node = %s, epoch = %s WHERE node = %s AND epoch = %s"


class Chain:
    """Where this node's records end, and the numbers of the next ones."""

    def __init__(self, node: int, epoch: int, seq: int, hash: bytes) -> None:
        self.node = node
        self.epoch = epoch
        self.seq = seq
        self.hash = hash
        self._numbers: list[int] = []
        """The smallest last."""
        self._used: list[int] = []
        """In the present transaction, in order."""
        self._taken = monotonic()

    def next_number(self, more: Callable[[int], list[int]], *, peek: bool = False) -> int:
        """The next one; `more` asks the server for some."""
        if not self._numbers:  # a work that writes many asks ever less often
            self.take(more(max(1, min(len(self._used), _MOST_NUMBERS))))
        if peek:
            return self._numbers[-1]
        number = self._numbers.pop()
        self._used.append(number)
        return number

    def take(self, numbers: list[int]) -> None:
        if not self._numbers:
            self._taken = monotonic()
        self._numbers[:0] = sorted(numbers, reverse=True)

    def left(self) -> int:
        """How many are there; what was taken too long ago is thrown away."""
        if self._numbers and monotonic() - self._taken > _KEPT_SECONDS:
            self._numbers.clear()
        return len(self._numbers)

    def drop_numbers(self) -> None:
        self._numbers.clear()

    def append(
        self, kind: EntryKind, call: int, body: bytes, clock: Clock, more: Callable[[int], list[int]]
    ) -> tuple[Any, ...]:
        """Add a record: its row in the audit table, whose second column is its number. `more` as for the numbers."""
        seq, at = self.next_number(more), clock.wall()
        own = link(self.hash, seq, kind, call, at, body)
        row = (at[:10], seq, self.node, kind, call, at, own, body.decode())
        self.seq, self.hash = seq, own
        return row

    def state(self) -> tuple[int, bytes, int]:
        """To go back to, within one transaction."""
        return self.seq, self.hash, len(self._used)

    def go_back(self, state: tuple[int, bytes, int]) -> None:
        self.seq, self.hash, used = state
        self._numbers += reversed(self._used[used:])
        del self._used[used:]

    def begin(self, seq: int, hash: bytes) -> None:
        """A transaction begins, with the head as the server has it."""
        self._used.clear()
        self.seq, self.hash = seq, hash


def join(connection: "psycopg.Connection[Any]", label: str = "", lapsed: Chain | None = None) -> Chain:
    """Take over the place of a node that is gone, whose chain goes on, or a new one. `lapsed`: what this process had
    until its lease was over; its calls that nobody has ended meanwhile go on under the new one."""
    told = label or f"{socket.gethostname()} {os.getpid()}"
    with connection.transaction():
        connection.execute(LOCK_JOINING)
        connection.execute(LOCK_ALL)
        free = "SELECT id, epoch, seq, hash FROM nodes WHERE until < clock_timestamp() ORDER BY id LIMIT 1"
        found = connection.execute(free).fetchone()
        if found is None:
            (node,) = connection.execute("SELECT coalesce(max(id), -1) + 1 FROM nodes").fetchone() or (0,)
            if node >= _MOST_NODES:
                raise StoreError(f"there are {node:,} nodes already. Nothing was run.", "failed")
            found = node, 0, 0, START
            connection.execute("INSERT INTO nodes VALUES (%s, 0, clock_timestamp(), 0, %s, %s)", (node, START, told))
        node, epoch, seq, head = found
        connection.execute(
            "UPDATE nodes SET epoch = %s, label = %s, until = clock_timestamp() + make_interval(secs => %s)"
            " WHERE id = %s",
            (epoch + 1, told, LEASE_SECONDS, node),
        )
        if lapsed is not None:  # whoever ends calls of others locks all nodes, too
            connection.execute(_KEEP, (node, epoch + 1, lapsed.node, lapsed.epoch))
    return Chain(node, epoch + 1, seq, head)


def leave(connection: "psycopg.Connection[Any]", chain: Chain) -> None:
    """Somebody else may take this place from now on."""
    connection.execute("UPDATE nodes SET until = '-infinity' WHERE id = %s AND epoch = %s", (chain.node, chain.epoch))


def fenced(address: Address, chain: Chain) -> StoreError:
    what = f"this node ({chain.node}) was silent for longer than its lease of {LEASE_SECONDS} s, and was taken for dead"
    return unusable(
        address, what, "It goes on with a new lease; calls that another node has ended count as interrupted.", "fenced"
    )


# ── clock ──
# The database's time, which is the same for all nodes: what limits, expiry and records go by.
#
# Inside a transaction it stands still at the moment that the server told after all locks were taken. Elsewhere it goes
# on from what the server told last, by this machine's own clock, whose date nobody needs.


class DatabaseClock:
    def __init__(self) -> None:
        self._own = SystemClock()
        self._ahead = 0
        """Nanoseconds since 1970 less this machine's own count."""
        self._owner = 0
        """The thread that is inside a transaction,"""
        self._at = 0
        """and when that is."""
        self._written = -1, ""

    def tell(self, now: int) -> None:
        """What the server says it is."""
        self._ahead = now - self._own.now()

    @contextmanager
    def standing(self, at: int) -> Generator[None]:
        """Stands still for this thread."""
        self._at, self._owner = at, threading.get_ident()
        try:
            yield
        finally:
            self._owner = 0

    def now(self) -> int:
        if self._owner and self._owner == threading.get_ident():
            return self._at
        return self._own.now() + self._ahead

    def wall(self) -> str:
        moment = self.now() // 1_000_000
        known, text = self._written
        if known != moment:
            text = written(moment / 1000)
            self._written = moment, text
        return text
