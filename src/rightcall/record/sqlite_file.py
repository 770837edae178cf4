"""The database as a file: made for its owner's eyes only, never made twice, and known again by what the system says
of it. SQLite's own locks end when any other descriptor of the file is closed: nothing here ever opens it but SQLite."""

import errno
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import suppress
from shlex import quote
from time import monotonic, sleep
from typing import TYPE_CHECKING

from msgspec import Struct

from rightcall.base.files.guarded import plain_file, settle
from rightcall.errors import StoreError, StoreFault
from rightcall.record.tables import T

if TYPE_CHECKING:
    from rightcall.record.identity import Origin


# ── faults ──
# What is wrong with a database, in words: which fault it is, that nothing was run, and what would help.

_IO, _CANNOT_OPEN, _MOVED = 10, 14, 1032
_KINDS: dict[int, StoreFault] = {
    3: "read-only",
    5: "locked",
    6: "locked",
    8: "read-only",
    11: "corrupt",
    13: "full",
    26: "corrupt",
}
"""SQLite's result codes: PERM, BUSY, LOCKED, READONLY, CORRUPT, FULL, NOTADB."""
_ERRNO: dict[int, StoreFault] = {
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
    errno.EROFS: "read-only",
    errno.EACCES: "read-only",
    errno.EPERM: "read-only",
}
_WORDS: dict[StoreFault, tuple[str, str]] = {
    "locked": ("another process keeps it locked", "It continues by itself once that process releases it."),
    "full": ("the disk is full", "It continues by itself once there is space again."),
    "read-only": ("it cannot be written", "Make the file, those beside it and their folder writable for this user."),
    "corrupt": ("it is damaged, or no database", ""),
    "failed": ("something is wrong with it", "It continues by itself once that is fixed."),
}
_LITTLE = 256 * 1024
"""Bytes of free space with which SQLite cannot do much."""


def way_out(path: str) -> str:
    """Of a file that is not the audit that was there: put that back, or say on purpose that this one is."""
    return (
        f"Put back the right files ({os.path.basename(path)} and those beside it), or go on with what is there now: "
        f"`rightcall audit adopt --store {quote(path)}`, then restart what was running."
    )


def unusable(path: str, what: str, help: str, fault: StoreFault) -> StoreError:
    return StoreError(f"the record {path} cannot be used: {what}. Nothing was run. {help}", fault)


def fault_of(error: Exception, path: str) -> StoreError:
    """The error as one of the store's own; each caller gets one of its own to raise."""
    if isinstance(error, StoreError):
        return StoreError(str(error), error.fault)
    code = getattr(error, "sqlite_errorcode", 0)
    if code == _MOVED:
        return gone(path)
    if isinstance(error, (FileExistsError, NotADirectoryError)):
        return no_folder(path)
    fault = _ERRNO.get(error.errno or 0, "failed") if isinstance(error, OSError) else _kind(code, path)
    what, after = _WORDS[fault]
    return unusable(path, f"{what} ({error})", after or way_out(path), fault)


def _kind(code: int, path: str) -> StoreFault:
    kind = code & 0xFF
    if kind in (_IO, _CANNOT_OPEN):  # these two do not say why
        if _is_full(os.path.dirname(path)):
            return "full"
        if kind == _CANNOT_OPEN and not os.access(path, os.R_OK | os.W_OK):
            return "read-only"
    return _KINDS.get(kind, "failed")


def _is_full(folder: str) -> bool:
    try:
        usage = os.statvfs(folder)
    except (OSError, AttributeError):  # Windows has no such call
        return False
    return usage.f_bavail * usage.f_frsize < _LITTLE


def gone(path: str) -> StoreError:
    return unusable(path, "it was deleted or moved away while in use", way_out(path), "failed")


def empty(path: str) -> StoreError:
    return unusable(path, "it is empty, and was not before", way_out(path), "corrupt")


def replaced(path: str, seq: int) -> StoreError:
    what = f"the last record that this process wrote (number {seq}) is no longer in it"
    return unusable(path, what, way_out(path), "corrupt")


def read_only(path: str) -> StoreError:
    return unusable(path, *_WORDS["read-only"], "read-only")


def no_folder(path: str) -> StoreError:
    what = f"{os.path.dirname(path)} is a file, not a folder"
    return unusable(path, what, "Move it away; a new audit log begins then.", "failed")


def shared(path: str) -> StoreError:
    return unusable(path, "other users may write it", f"Run `chmod go-w {quote(path)}`.", "failed")


def closed(path: str) -> StoreError:
    return unusable(path, "it was closed", "Open it again.", "closed")


def forked(path: str) -> StoreError:
    what = "it was opened before this process was forked from another"
    return unusable(path, what, "Open it in the process that uses it.", "closed")


def is_fault(error: BaseException) -> bool:
    """Whether it says that the database cannot be used, and not that a work was wrong."""
    return isinstance(error, sqlite3.OperationalError) or type(error) in (sqlite3.DatabaseError, sqlite3.InternalError)


def is_locked(error: sqlite3.Error) -> bool:
    return _KINDS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF) == "locked"


# ── schema ──
# The tables of the store as SQL, with the version they are in. What is older is brought up to date, what is newer is
# refused: a program that does not know a table cannot keep its promises.
#
#     audit        the records, chained; only ever added to
#     windows      starts per scope, numbered, for limits and repeats; kept for an hour
#     running      calls that have begun, each with the run (process) it is in
#     approvals, grants, definitions, tokens, credentials
#     spent        calls and tokens of each caller and day, where they are limited
#     meta         few words: the last record once all are pruned, changes, the boot the times belong to

APPLICATION = 0x52434C31
"""Marks the file as ours (`RCL1`): `PRAGMA application_id`."""

_TABLES = """
CREATE TABLE audit (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, call INTEGER NOT NULL, at TEXT NOT NULL,
    hash BLOB NOT NULL, body TEXT NOT NULL
);
CREATE INDEX audit_call ON audit (call) WHERE call > 0;
CREATE INDEX audit_at ON audit (at);
CREATE TABLE windows (
    scope TEXT NOT NULL, n INTEGER NOT NULL, at INTEGER NOT NULL, call INTEGER NOT NULL, PRIMARY KEY (scope, n)
) WITHOUT ROWID;
CREATE INDEX windows_at ON windows (at);
CREATE TABLE running (seq INTEGER PRIMARY KEY, run TEXT NOT NULL);
CREATE TABLE definitions (tool TEXT PRIMARY KEY, definition TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE approvals (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, caller TEXT NOT NULL, tool TEXT NOT NULL,
    canonical TEXT NOT NULL, digest TEXT NOT NULL, binding TEXT NOT NULL, definition TEXT NOT NULL,
    state TEXT NOT NULL, why TEXT NOT NULL, details TEXT NOT NULL, asked_at INTEGER NOT NULL, asked TEXT NOT NULL,
    expires_at INTEGER NOT NULL, status TEXT NOT NULL, "by" TEXT NOT NULL, answered TEXT NOT NULL,
    used_by INTEGER NOT NULL
);
CREATE INDEX approvals_binding ON approvals (binding);
CREATE INDEX approvals_status ON approvals (status);
CREATE TABLE grants (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, caller TEXT NOT NULL, tool TEXT NOT NULL, "where" TEXT NOT NULL,
    uses INTEGER NOT NULL, expires_at INTEGER NOT NULL, "by" TEXT NOT NULL, made TEXT NOT NULL, note TEXT NOT NULL
);
CREATE INDEX grants_caller ON grants (caller, tool);
"""

META = "CREATE TABLE meta (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID"

_VIEWS = """
CREATE VIEW tool_usage_logs AS
SELECT
    asked.seq AS id,
    asked.at AS timestamp,
    json_extract(asked.body, '$.caller') AS persona_id,
    json_extract(asked.body, '$.caller') AS persona_name,
    json_extract(asked.body, '$.context') AS context_id,
    json_extract(asked.body, '$.step') AS step_id,
    json_extract(asked.body, '$.tool') AS tool,
    json_quote(json_extract(asked.body, '$.params')) AS params,
    CASE asked.kind WHEN 'begin' THEN coalesce(json_extract(done.body, '$.status'), 'pending')
        ELSE asked.kind END AS status,
    CASE WHEN done.seq IS NOT NULL THEN coalesce(json_extract(done.body, '$.execution_time'), 0.0) END
        AS execution_time,
    CASE asked.kind WHEN 'begin' THEN json_extract(done.body, '$.error')
        ELSE json_extract(asked.body, '$.reason') END AS error,
    json_extract(done.body, '$.summary') AS result_summary,
    coalesce(json_extract(done.body, '$.tokens'), 0) AS tokens_consumed,
    coalesce(json_extract(done.body, '$.status') = 'success', 0) AS success,
    coalesce(json_extract(done.body, '$.cached'), 0) AS cached,
    json_extract(asked.body, '$.rule') AS rule,
    json_extract(asked.body, '$.decision') AS decision
FROM audit AS asked
LEFT JOIN audit AS done ON done.call = asked.seq AND done.call > 0 AND done.kind = 'end'
WHERE asked.kind IN ('begin', 'refused', 'waiting');

CREATE VIEW tool_usage_by_persona AS
SELECT
    persona_name,
    tool,
    count(*) AS call_count,
    avg(execution_time) AS avg_time_ms,
    100.0 * sum(success) / count(*) AS success_rate
FROM tool_usage_logs
WHERE timestamp > datetime('now', '-24 hours')
GROUP BY persona_name, tool
ORDER BY call_count DESC;
"""
"""`tool_usage_by_persona` is design 002's own query (the last 24 hours) with a rate that is not cut to an integer."""

_APPROVAL_CONTEXT = """
ALTER TABLE approvals ADD COLUMN context TEXT;
CREATE INDEX approvals_waiting ON approvals (caller, expires_at) WHERE status = 'waiting';
CREATE INDEX approvals_open ON approvals (expires_at) WHERE status IN ('waiting', 'approved');
"""
"""Questions that waited before have none, and so only a call without a context redeems them."""

_TOKENS = """
CREATE TABLE tokens (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, caller TEXT NOT NULL, digest TEXT NOT NULL UNIQUE,
    expires TEXT NOT NULL, "by" TEXT NOT NULL, made TEXT NOT NULL, note TEXT NOT NULL
);
"""

_CREDENTIALS = """
CREATE TABLE credentials (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, person TEXT NOT NULL, may TEXT NOT NULL,
    digest TEXT NOT NULL, expires TEXT NOT NULL, "by" TEXT NOT NULL, made TEXT NOT NULL
);
"""

_DEFINITIONS = "CREATE INDEX IF NOT EXISTS audit_definitions ON audit (seq) WHERE kind = 'definition'"
"""Few records among very many, which pages list."""

_SPENT = """
CREATE TABLE spent (
    caller TEXT NOT NULL, day TEXT NOT NULL, calls INTEGER NOT NULL, tokens INTEGER NOT NULL, PRIMARY KEY (caller, day)
) WITHOUT ROWID;
"""

STEPS = (f"{_TABLES}{META};\n{_VIEWS}", _APPROVAL_CONTEXT + _TOKENS, _CREDENTIALS + _DEFINITIONS, _SPENT)
"""What leads from each version to the next; an empty file is version 0."""

VERSION = len(STEPS)


_STATE = """
SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)
FROM pragma_application_id, pragma_user_version
"""
"""In one statement: another process may be making the tables just now."""


def version_of(connection: sqlite3.Connection, path: str) -> int:
    """The version of a store, checked: StoreError when the file is another program's, or newer than this one knows."""
    application, version, objects = connection.execute(_STATE).fetchone()
    if application != APPLICATION and (application or version or objects):
        raise unusable(path, "it is a database of another program", _OTHER, "corrupt")
    if version > VERSION:
        what = f"a newer RightCall wrote it (tables of version {version}, this one knows {VERSION})"
        raise unusable(path, what, f"Update RightCall. {_OTHER}", "version")
    return version


_OTHER = "Another file can be named under [audit] path in the policy file."


def bring_up_to_date(connection: sqlite3.Connection, path: str) -> None:
    """Inside a transaction: make the tables, or take them from an older version to this one."""
    for step in STEPS[version_of(connection, path) :]:
        for statement in step.split(";\n"):
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


BUSY = "PRAGMA busy_timeout = 40"
"""In steps that start small; then we look whether the time is over."""
NOT_BUSY = "PRAGMA busy_timeout = 0"
"""SQLite sleeps a millisecond, then two, then five: longer than what it waits for takes. `patiently` waits instead."""
_READING = (
    BUSY,
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
_INCREMENTAL = 2
"""Of `auto_vacuum`: pages that are free can be given back without writing the file anew."""


class Stamp(Struct, frozen=True):
    """`file` says which file it is; the rest shows that somebody wrote to it."""

    file: tuple[int, int]
    size: int
    changed: int


def stamp(path: str) -> Stamp:
    """StoreError when there is no such file."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise gone(path) from None
    return Stamp((found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns)


def make_file(path: str) -> None:
    """An empty file that only its owner can read, in a folder likewise, unless they are there."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(os.path.join(folder, ".gitignore"), "w", encoding="utf-8") as ignored:
            ignored.write("*\n")
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        settle(folder)


def connect(path: str, deadline: float, origin: "Origin", *, new: bool) -> sqlite3.Connection:
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


def _refuse_shared(path: str) -> None:
    """What others may write proves nothing: neither what ran, nor what was approved."""
    found = os.stat(path)
    if not found.st_mode & 0o022 or not stat.S_ISREG(found.st_mode):  # what is no file is told by whoever opens it
        return
    from rightcall.policy.trust import modes_mean_nothing, others_may_write  # late: hardly any file needs it

    if others_may_write(found) and not modes_mean_nothing(found):
        raise shared(path)


def open_up(path: str) -> None:
    """Whoever looked into a database that could only be read has left files beside it that can only be read: once it
    can be written again, so must they."""
    for beside in (f"{path}{end}" for end in ("-wal", "-shm")):
        with suppress(OSError):
            if not os.stat(beside).st_mode & 0o200:
                os.chmod(beside, os.stat(path).st_mode & 0o777)


def connect_reader(path: str, deadline: float, origin: "Origin | None" = None) -> sqlite3.Connection:
    """A connection that cannot write, for any thread. `origin`: nobody has looked yet where the store comes from."""
    connection = _open(path, "mode=ro&immutable=1" if _is_at_rest(path) else "mode=ro")
    try:
        patiently(lambda: _set_up_reader(connection, path, origin), deadline)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_at_rest(path: str) -> bool:
    """Whether it lies where nobody here can write, and whole: a copy on a read-only disk. Reading it needs no lock,
    which SQLite would have to write."""
    if os.access(os.path.dirname(path), os.W_OK):
        return False
    try:
        return os.stat(f"{path}-wal").st_size == 0
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _open(path: str, mode: str) -> sqlite3.Connection:
    if os.path.exists(path) and not os.path.isfile(path):  # SQLite would wait for the other end of a pipe
        raise unusable(path, "it is not a file", "Move it away.", "failed")
    return sqlite3.connect(
        f"{as_uri(path)}?{mode}",
        uri=True,
        isolation_level=None,
        cached_statements=256,
        check_same_thread=False,  # the writer's belongs to whoever has the turn
    )


def as_uri(path: str) -> str:
    """A whole path as SQLite reads it, which takes only these signs for something else."""
    slashed = path if os.sep == "/" else "/" + path.replace(os.sep, "/")
    return "file://" + slashed.replace("%", "%25").replace("?", "%3F").replace("#", "%23")


def _set_up_reader(connection: sqlite3.Connection, path: str, origin: "Origin | None") -> None:
    for pragma in _READING:
        connection.execute(pragma)
    version_of(connection, path)
    if origin is not None:
        origin.examine(connection)
        origin.hide(connection)


def _set_up(connection: sqlite3.Connection, path: str, origin: "Origin", *, new: bool) -> None:
    for pragma in _WRITING:
        connection.execute(pragma)
    version = version_of(connection, path)
    origin.examine(connection)
    made = False
    if version == 0 and not new:
        raise empty(path)
    if version == 0:
        connection.execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}")  # before there is anything in it
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


def examine(connection: sqlite3.Connection, path: str, deadline: float) -> None:
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


_PAGES_BACK = 4_000
"""Pages that are given back after one transaction: 16 MB, some milliseconds."""


def give_back(connection: sqlite3.Connection) -> None:
    """Outside of a transaction: pages that hold nothing any more go back to the system. Somebody else may be writing:
    then they go with the next that are free."""
    with suppress(sqlite3.OperationalError):
        connection.executescript(f"PRAGMA incremental_vacuum({_PAGES_BACK})")  # a step a page: `execute` takes one


def compact(path: str, connection: sqlite3.Connection) -> None:
    """Make the file as small as what it holds, now. A file of an older version is written anew for that, once."""
    (mode,) = connection.execute("PRAGMA auto_vacuum").fetchone()
    if mode == _INCREMENTAL:
        connection.executescript("PRAGMA incremental_vacuum")
    else:
        connection.execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}")
        try:
            connection.execute("VACUUM")
        except sqlite3.OperationalError as error:
            raise fault_of(error, path) from error
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


class Bell:
    """Rung after each transaction: workers of one server have it in common, and go on as soon as the database is free.
    Whoever hears it has the next turn; the others wait for the next ring. It is a hint and no lock: who hears nothing
    for a moment tries all the same, so that one that was stopped or killed holds up nobody. Without it they sleep, and
    half of the time that two could use is lost."""

    def __init__(self) -> None:
        self._ends: tuple[int, int] | None = None

    def hang(self, heard: int, rung: int) -> None:
        """The two ends of a pipe, which do not block."""
        self._ends = heard, rung

    def ring(self) -> None:
        if self._ends is not None:
            with suppress(BlockingIOError):  # nobody has waited for long
                os.write(self._ends[1], b".")

    def hear(self) -> None:
        """Before the first try: who has rung it may take the next turn, where nobody else has."""
        if self._ends is not None and not self._heard(self._ends[0]):
            self.wait(_LONGEST_PAUSE)

    def wait(self, seconds: float) -> None:
        """So long, or until it rings and nobody else was faster."""
        if self._ends is None:
            sleep(seconds)
            return
        from select import POLLIN, poll  # late: Windows, which has no workers, has none

        waiting, until = poll(), monotonic() + _LONGEST_PAUSE
        waiting.register(self._ends[0], POLLIN)
        while (left := until - monotonic()) > 0:
            if waiting.poll(left * 1000) and self._heard(self._ends[0]):
                return

    def _heard(self, end: int) -> bool:
        try:
            return bool(os.read(end, 4096))  # rings that nobody needed count as one
        except BlockingIOError:
            return False


BELL = Bell()
"""Of this process: it is inherited, as the listening socket is."""
_LONGEST_PAUSE = 0.005


def patiently(action: Callable[[], T], deadline: float, wait: Callable[[float], None] = sleep) -> T:
    """Try until the deadline as long as the database is locked. The first pauses are shorter than a transaction of
    another process, the last short enough to come after it before a third does."""
    pause = 0.0001
    while True:
        try:
            return action()
        except sqlite3.OperationalError as error:
            if not is_locked(error) or monotonic() >= deadline:
                raise
            wait(pause)
            pause = min(1.3 * pause, _LONGEST_PAUSE)


def roll_back(connection: sqlite3.Connection) -> None:
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def key_beside(path: str) -> bytes:
    """The 32 secret bytes of a store, made by whoever comes first."""
    file = f"{path}.key"
    deadline = monotonic() + 1.0
    with suppress(FileExistsError):
        _make_key(file)
    while len(key := _read_key(file)) != KEY_BYTES:
        if monotonic() >= deadline:
            what = f"its key {os.path.basename(file)} has {len(key)} bytes instead of {KEY_BYTES}"
            raise unusable(path, what, way_out(path), "corrupt")
        sleep(0.001)  # another process has made the file and not yet written
    return key


def _read_key(file: str) -> bytes:
    with open(file, "rb", opener=plain_file) as opened:
        return opened.read()


def _make_key(file: str) -> None:
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(fd, os.urandom(KEY_BYTES))
        os.fsync(fd)
    except OSError:
        os.unlink(file)
        raise
    finally:
        os.close(fd)
