"""What a node does by itself: it ends the calls of nodes that are gone, empties questions whose time is over, forgets
old starts, prepares the days to come, and ties the chains of all nodes together.

An anchor is a record in one chain that holds the heads of all others: whoever rewrites or cuts one of them has to do so
with every chain that has an anchor of it.
"""

from collections.abc import Callable
from contextlib import closing, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from rightcall.policy.types import HOUR, SECOND, Decision
from rightcall.record.admission import Admission, end_interrupted, finish_once, sweep
from rightcall.record.postgres.connection import Address, connect
from rightcall.record.postgres.node import Chain
from rightcall.record.postgres.schema import make_days
from rightcall.record.postgres.tables import PostgresTables
from rightcall.record.tables import Clock, EndBody, NoteBody, Tables, encode
from rightcall.record.verify import retain, told_heads

if TYPE_CHECKING:
    import psycopg

EVERY = 3 * SECOND // 4
"""How often a node looks whether all others live: a call ends within two seconds after the lease of its node."""
_ALL_EVERY = 5 * SECOND
"""How often it looks for everything that is over, which costs more the more calls are under way."""
ANCHOR_SECONDS = 60.0
ANCHOR_RECORDS = 1_000
"""After so much time or so many records, whichever is first, the heads of the other chains are written down."""
_AHEAD = 2
"""Days whose partitions are made: this one, and the next."""
_PURGE = 5_000
_ENDED = 1_000
"""Calls of dead nodes that are ended in one transaction, while the other nodes wait; the next ones follow."""
_DOUBTED = EndBody("interrupted", error="The database did not answer in time, so the call did not run.")
_DROP_SECONDS = 30.0
_OLD = (
    "DELETE FROM windows WHERE (scope, n) IN"
    f" (SELECT scope, n FROM windows WHERE at <= %s ORDER BY at LIMIT {_PURGE} FOR UPDATE SKIP LOCKED)"
)
_UNFINISHED = (
    "SELECT EXISTS (SELECT 1 FROM running LEFT JOIN nodes ON nodes.id = running.node AND nodes.epoch = running.epoch"
    " WHERE (running.node IS NOT NULL AND (nodes.id IS NULL OR nodes.until < clock_timestamp()))"
    " OR (running.node IS NULL AND running.at < to_char(%s::timestamp - interval '1 day', 'YYYY-MM-DD HH24:MI:SS.MS')))"
    " OR EXISTS (SELECT 1 FROM approvals WHERE status IN ('waiting', 'approved') AND expires_at <= %s)"
    " OR EXISTS (SELECT 1 FROM grants WHERE expires_at <= %s)"
)
_LEASES = "SELECT id, epoch FROM nodes WHERE until > clock_timestamp()"
_OTHERS = "SELECT id, seq, hash FROM nodes WHERE id <> %s AND seq > 0 ORDER BY id"


class Chores:
    """Of one node."""

    def __init__(self, clock: Clock, keep: int = 0) -> None:
        """`keep`: days after which records go; 0: never."""
        self._clock = clock
        self._keep = keep
        self._kept: int | None = None
        """When this node last saw to it."""
        self._done: int | None = None
        self._looked: int | None = None
        """When it last looked for everything that is over,"""
        self._is_left = False
        """and whether there was anything."""
        self._leases: set[Any] = set()
        """Of all nodes that lived when it last looked."""
        self._days: set[str] = set()
        self._anchored = monotonic()
        self._anchored_at = 0
        self._heads: list[Any] = []
        """Of the other chains, as the last anchor has them."""

    def due(self, connection: "psycopg.Connection[Any]", chain: Chain) -> list[Callable[[Tables], object]]:
        """Before each batch: does what needs no transaction of its own, and returns works for what does."""
        now, wall = self._clock.now(), self._clock.wall()
        if wall[:10] not in self._days:
            connection.execute("DELETE FROM spent WHERE day < %s", (wall[:10],))
            self._days.update(make_days(connection, wall[:10], _AHEAD))
        if self._done is not None and 0 <= now - self._done < EVERY:
            return []
        again, self._done = self._done is None, now
        works: list[Callable[[Tables], object]] = []
        if self._is_one_gone(connection) or again or self._is_left or not 0 <= now - (self._looked or 0) < _ALL_EVERY:
            self._looked = now
            connection.execute(_OLD.encode(), (now - HOUR,))
            found = connection.execute(_UNFINISHED, (wall, now, now)).fetchone()
            self._is_left = found is not None and found[0]
            if self._is_left:
                works.append(tidy)
        if self._keep and (self._kept is None or now - self._kept >= HOUR):
            self._kept = now
            works.append(lambda tables: retain(tables, self._keep, now))
        if self._is_anchor_due(chain):
            heads = connection.execute(_OTHERS, (chain.node,)).fetchall()
            if heads != self._heads:
                self._heads = heads
                works.append(lambda tables: write_anchor(tables, heads))
            self._anchored, self._anchored_at = monotonic(), chain.seq
        return works

    def _is_one_gone(self, connection: "psycopg.Connection[Any]") -> bool:
        """Whether a node that lived has died or left since."""
        before, self._leases = self._leases, set(connection.execute(_LEASES).fetchall())
        return not before <= self._leases

    def _is_anchor_due(self, chain: Chain) -> bool:
        late = monotonic() - self._anchored >= ANCHOR_SECONDS
        return late or chain.seq - self._anchored_at >= ANCHOR_RECORDS


def write_anchor(tables: Tables, heads: list[Any]) -> None:
    data = {"heads": told_heads({node: (seq, own) for node, seq, own in heads})}
    tables.append("store", 0, encode(NoteBody("anchor", data=data)))


def drop_tables(address: Address, names: list[str]) -> None:
    """On a connection of its own, beside the node's work. What cannot be dropped now goes with the next day."""
    with suppress(Exception), closing(connect(address, lock_seconds=_DROP_SECONDS)) as connection:
        for name in names:
            connection.execute(f"DROP TABLE IF EXISTS {name}".encode())


def tidy(tables: Tables) -> None:
    """Alone: calls of dead nodes get their end, and are never run again (A-01); what is over is emptied."""
    assert isinstance(tables, PostgresTables)
    left = tables.left_behind()[:_ENDED]
    if left:
        with tables.ending(left):
            end_interrupted(tables, left)
    sweep(tables, tables.now())


def end_doubted(calls: list[tuple[int, bytes]]) -> Callable[[Tables], object]:
    """Calls that nobody ran because nobody knew whether they had begun: those that had are ended."""

    def work(tables: Tables) -> None:
        assert isinstance(tables, PostgresTables)
        with tables.ending([call for call, _ in calls]):
            for call, own in calls:
                finish_once(tables, Admission(Decision("deny", "store:doubt"), call, hash=own), _DOUBTED)

    return work
