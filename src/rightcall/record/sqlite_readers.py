"""Connections that only read, for `look`: as many as look at once. They see the last commit and hold up nobody."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, cast

from rightcall.record.clock import Clock
from rightcall.record.runs import Runs
from rightcall.record.sqlite_faults import closed, fault_of, is_fault
from rightcall.record.sqlite_file import connect_reader, patiently, roll_back, stamp
from rightcall.record.sqlite_private import PrivateTexts
from rightcall.record.sqlite_tables import SqliteTables
from rightcall.record.tables import ReadOnly, T, Tables

if TYPE_CHECKING:
    from rightcall.record.origin import Origin


class _Reader(NamedTuple):
    connection: sqlite3.Connection
    tables: SqliteTables
    file: tuple[int, int]

    def begin(self) -> None:
        roll_back(self.connection)
        self.connection.execute("BEGIN")
        self.connection.execute("SELECT 1 FROM meta LIMIT 1").fetchall()  # from here on it sees one state
        self.tables.refresh()


class Readers:
    def __init__(
        self, path: Path, clock: Clock, runs: Runs, busy_seconds: float, origin: "Origin", *, alone: bool = False
    ) -> None:
        """`alone`: there is no writer who has seen where the store comes from."""
        self._private = PrivateTexts(path)
        self._path = path
        self._clock = clock
        self._runs = runs
        self._patience = busy_seconds
        self._origin = origin
        self._alone = alone
        self._idle: list[_Reader] = []
        self._closed = False

    def look(self, work: Callable[[Tables], T]) -> T:
        if self._closed:
            raise closed(self._path)
        reader = self._ready(monotonic() + self._patience)
        try:
            return work(cast("Tables", ReadOnly(reader.tables)))
        except sqlite3.Error as error:
            if is_fault(error):
                raise fault_of(error, self._path) from error
            raise
        finally:
            self._give_back(reader)

    def _ready(self, deadline: float) -> _Reader:
        try:
            file = stamp(self._path).file
            reader = self._take(file) or self._connect(file, deadline)
        except (sqlite3.Error, OSError) as error:
            raise fault_of(error, self._path) from error
        try:
            patiently(reader.begin, deadline)
        except sqlite3.Error as error:
            reader.connection.close()
            raise fault_of(error, self._path) from error
        return reader

    def _take(self, file: tuple[int, int]) -> _Reader | None:
        """An idle one, unless it reads a file that is no longer there."""
        while self._idle:
            reader = self._idle.pop()
            if reader.file == file:
                return reader
            reader.connection.close()
        return None

    def _connect(self, file: tuple[int, int], deadline: float) -> _Reader:
        connection = connect_reader(self._path, deadline, self._origin if self._alone else None)
        tables = SqliteTables(connection, self._clock, self._runs, self._private, self._origin.since)
        return _Reader(connection, tables, file)

    def _give_back(self, reader: _Reader) -> None:
        roll_back(reader.connection)
        self._idle.append(reader)
        if self._closed:
            self.close()

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().connection.close()
