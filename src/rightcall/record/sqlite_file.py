"""The database as a file: made for its owner's eyes only, never made twice, and known again by what the system says
of it. SQLite's own locks end when any other descriptor of the file is closed: nothing here ever opens it but SQLite."""

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, NamedTuple

from rightcall.fs.whole import plain_file, settle
from rightcall.record.schema import VERSION, bring_up_to_date, version_of
from rightcall.record.sqlite_faults import empty, gone, is_locked, read_only, shared, unusable, way_out
from rightcall.record.tables import T

if TYPE_CHECKING:
    from rightcall.record.origin import Origin

_READING = (
    "PRAGMA busy_timeout = 40",  # in steps that start small; then we look whether the time is over
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",  # finds damage early
)
_WRITING = (
    *_READING,
    "PRAGMA synchronous = FULL",  # a commit that returned survives a power cut
    "PRAGMA wal_autocheckpoint = 4000",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA cache_size = -16000",
    "PRAGMA temp_store = MEMORY",
)


KEY_BYTES = 32


class Stamp(NamedTuple):
    """`file` says which file it is; the rest shows that somebody wrote to it."""

    file: tuple[int, int]
    size: int
    changed: int


def stamp(path: Path) -> Stamp:
    """StoreError when there is no such file."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise gone(path) from None
    return Stamp((found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns)


def make_file(path: Path) -> None:
    """An empty file that only its owner can read, in a folder likewise, unless they are there."""
    if not path.parent.is_dir():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        settle(path.parent)


def connect(path: Path, deadline: float, origin: "Origin", *, new: bool) -> sqlite3.Connection:
    """The connection that writes. Only a `new` database may still be empty: its tables are made."""
    if not os.access(path, os.R_OK | os.W_OK):  # before SQLite makes files beside it with the same permissions
        raise read_only(path)
    _refuse_shared(path)
    open_up(path)
    connection = _open(path, "mode=rw")
    try:
        patiently(lambda: _set_up(connection, path, origin, new=new), deadline)
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_shared(path: Path) -> None:
    """What others may write proves nothing: neither what ran, nor what was approved."""
    found = os.stat(path)
    if not found.st_mode & 0o022 or not stat.S_ISREG(found.st_mode):  # what is no file is told by whoever opens it
        return
    from rightcall.trust.modes import modes_mean_nothing, others_may_write  # late: hardly any file needs it

    if others_may_write(found) and not modes_mean_nothing(found):
        raise shared(path)


def open_up(path: Path) -> None:
    """Whoever looked into a database that could only be read has left files beside it that can only be read: once it
    can be written again, so must they."""
    for beside in (path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm")):
        with suppress(OSError):
            if not beside.stat().st_mode & 0o200:
                beside.chmod(path.stat().st_mode & 0o777)


def connect_reader(path: Path, deadline: float, origin: "Origin | None" = None) -> sqlite3.Connection:
    """A connection that cannot write, for any thread. `origin`: nobody has looked yet where the store comes from."""
    connection = _open(path, "mode=ro")
    try:
        patiently(lambda: _set_up_reader(connection, path, origin), deadline)
    except BaseException:
        connection.close()
        raise
    return connection


def _open(path: Path, mode: str) -> sqlite3.Connection:
    if path.exists() and not path.is_file():  # SQLite would wait for the other end of a pipe
        raise unusable(path, "it is no file", "Move it away.", "failed")
    return sqlite3.connect(
        f"{path.as_uri()}?{mode}",
        uri=True,
        isolation_level=None,
        cached_statements=256,
        check_same_thread="rw" in mode,  # the writer's belongs to its thread alone
    )


def _set_up_reader(connection: sqlite3.Connection, path: Path, origin: "Origin | None") -> None:
    for pragma in _READING:
        connection.execute(pragma)
    version_of(connection, path)
    if origin is not None:
        origin.examine(connection)
        origin.hide(connection)


def _set_up(connection: sqlite3.Connection, path: Path, origin: "Origin", *, new: bool) -> None:
    for pragma in _WRITING:
        connection.execute(pragma)
    version = version_of(connection, path)
    origin.examine(connection)
    made = False
    if version == 0 and not new:
        raise empty(path)
    if version < VERSION:  # before there is a log beside the file, so that the file alone is whole
        connection.execute("BEGIN EXCLUSIVE")
        try:
            made = version_of(connection, path) == 0  # another process may have been quicker
            bring_up_to_date(connection, path)
            if made:
                origin.begin(connection)
            connection.execute("COMMIT")
        finally:
            roll_back(connection)
    connection.execute("PRAGMA journal_mode = WAL")
    if not made:
        origin.take_over(connection)


def examine(connection: sqlite3.Connection, path: Path, deadline: float) -> None:
    """Whether the pages of a file fit together, as far as there is time. One that took the place of another may have
    been left with a log that belongs to the other."""
    connection.set_progress_handler(lambda: monotonic() >= deadline, 100_000)
    try:
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
    else:
        if found != "ok":
            raise unusable(path, f"its pages do not fit together ({found})", way_out(path), "corrupt")
    finally:
        connection.set_progress_handler(None, 0)


def patiently(action: Callable[[], T], deadline: float) -> T:
    """Try until the deadline as long as the database is locked."""
    while True:
        try:
            return action()
        except sqlite3.OperationalError as error:
            if not is_locked(error) or monotonic() >= deadline:
                raise
            sleep(0.001)


def roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def key_beside(path: Path) -> bytes:
    """The 32 secret bytes of a store, made by whoever comes first."""
    file = path.with_name(path.name + ".key")
    deadline = monotonic() + 1.0
    with suppress(FileExistsError):
        _make_key(file)
    while len(key := _read_key(file)) != KEY_BYTES:
        if monotonic() >= deadline:
            what = f"its key {file.name} has {len(key)} bytes instead of {KEY_BYTES}"
            raise unusable(path, what, way_out(path), "corrupt")
        sleep(0.001)  # another process has made the file and not yet written
    return key


def _read_key(file: Path) -> bytes:
    with open(file, "rb", opener=plain_file) as opened:
        return opened.read()


def _make_key(file: Path) -> None:
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(fd, os.urandom(KEY_BYTES))
        os.fsync(fd)
    except OSError:
        file.unlink()
        raise
    finally:
        os.close(fd)
