"""The one connection of a store that writes. It mends itself: after a fault, or when somebody else has touched the
file, the next transaction opens the database anew, and goes on only if it is still the same one."""

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rightcall.record.chores import EVERY, tidy
from rightcall.record.clock import Clock
from rightcall.record.runs import Runs
from rightcall.record.schema import VERSION, version_of
from rightcall.record.sqlite_faults import empty, gone, replaced
from rightcall.record.sqlite_file import Stamp, connect, examine, patiently, roll_back, stamp
from rightcall.record.sqlite_identity import Identity, older
from rightcall.record.sqlite_private import PrivateTexts
from rightcall.record.sqlite_tables import SqliteTables

if TYPE_CHECKING:
    from rightcall.record.origin import Origin

_ANY_NUMBER = 2**30


class Session:
    """begin ─▶ works on `tables` ─▶ commit; or, when anything is wrong, `give_up`."""

    def __init__(
        self, path: Path, clock: Clock, runs: Runs, private: PrivateTexts, identity: Identity, origin: "Origin"
    ) -> None:
        self._path = path
        self._clock = clock
        self._runs = runs
        self._private = private
        self._identity = identity
        self._origin = origin
        self._open: tuple[sqlite3.Connection, SqliteTables] | None = None
        self._stamp: Stamp | None = None
        """Of the file as our last transaction left it; None when the connection is not to be trusted."""
        self._others = -1
        """Changes whenever another connection has written."""
        self._tidied: int | None = None
        self._last = 0, b""
        """The last record that is known to stand there."""
        self._file: tuple[int, int] | None = None
        """Which file it is; None before it was opened for the first time."""
        self.most_pages: int | None = None
        """As if the disk were full beyond so many pages."""

    def begin(self, deadline: float) -> tuple[sqlite3.Connection, SqliteTables]:
        """A transaction that writes: until it ends, no other process has one."""
        found = stamp(self._path)
        if self._open is None or found != self._stamp:
            self._reopen(found, deadline)
        assert self._open is not None
        connection, tables = self._open
        patiently(lambda: self._lock(connection), deadline)
        self._notice_others(connection, tables)
        now = self._clock.now()
        if self._tidied is None or now - self._tidied >= EVERY:
            self._identity.keep_head(tables.head())
            tidy(tables, self._clock)
            self._tidied = now
        return self._open

    def _lock(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA max_page_count = {self.most_pages or _ANY_NUMBER}")
        connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """When it returns, everything is on disk."""
        assert self._open is not None
        connection, tables = self._open
        last = tables.head()
        connection.execute("COMMIT")
        found = stamp(self._path)
        if found.file != self._file:
            raise gone(self._path)  # what was written went with it
        self._stamp, self._last = found, last
        tables.forget_private()
        if tables.withdraws:
            tables.withdraws = False
            self._origin.keep_head(last)

    def give_up(self) -> None:
        """Nothing of this transaction happens. The next one begins with a new connection."""
        self._stamp = self._tidied = None
        if self._open is not None:
            roll_back(self._open[0])

    def _reopen(self, found: Stamp, deadline: float) -> None:
        """The old connection is closed last: should the new one be no good, it keeps what is in the log beside the
        file from being written into a file that is damaged."""
        connection = connect(self._path, deadline, self._origin, new=self._file is None)
        tables = SqliteTables(connection, self._clock, self._runs, self._private, self._origin.since)
        try:
            if self._file not in (None, found.file):
                examine(connection, self._path, deadline)
            after = stamp(self._path)
            if after.file != found.file:
                raise gone(self._path)
        except BaseException:
            connection.close()
            raise
        if self._open is not None:
            self._open[0].close()
        self._open, self._stamp, self._file = (connection, tables), after, after.file
        self._others, self._tidied = -1, None

    def _recognise(self, tables: SqliteTables) -> None:
        """Somebody may have put back a copy, or removed records: our last one must be there, or have been pruned."""
        seq, last_hash = self._last
        if seq:
            entry = tables.entry(seq)
            if tables.pruned()[0] < seq if entry is None else entry.hash != last_hash:
                raise replaced(self._path, seq)

    def _notice_others(self, connection: sqlite3.Connection, tables: SqliteTables) -> None:
        (others,) = connection.execute("PRAGMA data_version").fetchone()
        if self._identity.key_was_touched():
            self._others = -1
        if others != self._others:
            tables.refresh()
            if version_of(connection, self._path) != VERSION:
                raise empty(self._path)
            self._recognise(tables)
            if self._others < 0:
                self._identity.recognise(tables, self._origin.foreign or self._rolled_back(tables))
            self._others = others

    def _rolled_back(self, tables: SqliteTables) -> str:
        """Why a copy is older than what this user knows of it, also where all beside it was put back too."""
        known = self._origin.kept_head()
        problem = "" if known is None else older(tables, known)
        if problem:
            tables.withdraws = True  # whoever adopts it begins to count from here
        return problem

    def close(self) -> None:
        if self._open is not None:
            connection = self._open[0]
            with suppress(sqlite3.Error):
                if self._stamp is not None:
                    self._identity.keep_last_head(self._last)
                    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.close()
            self._open = None
