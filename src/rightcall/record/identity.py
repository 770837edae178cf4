"""The record of a folder that somebody else may have filled: what in it may be believed, and what is not even opened.

A store that this user made is known by a word in it that the user's state folder knows as well. Where that folder knows
another word for the path, another store was put in place of ours, and nothing runs. In any other, what was approved or
granted before this user came does not count. Its tables must be ours before anything is written to them:
triggers and views of somebody else would write, too. Whatever leads out of the folder is refused.
"""

import os
import sqlite3
import stat
from collections.abc import Collection
from contextlib import closing, suppress
from functools import cache
from hashlib import sha256
from shlex import quote
from typing import Any, Protocol

from msgspec import MsgspecError, json
from msgspec.json import encode

from rightcall.base.files.guarded import true_place, whole_file
from rightcall.base.text import escaped
from rightcall.errors import ConfigError, StoreError
from rightcall.policy import trust
from rightcall.policy.trust import stopped, warn
from rightcall.record.sqlite_file import KEY_BYTES, META, STEPS, fault_of, key_beside, unusable, version_of, way_out
from rightcall.record.tables import AuditEntry, EntryKind, NoteBody
from rightcall.record.tables import encode as tables_encode

_ALL = 2**63 - 1
_WORD = "known_to:"
"""How the word begins, as a name in `meta`."""
_PRESENT = "SELECT 1 FROM meta WHERE name = ?"
_SUPER_JOURNAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
"""How a rollback journal ends that names a further file, which SQLite would open, and delete."""
_PERMISSIONS = "approvals, grants, tokens and people"
_NAME_IT = "If it is yours, name it: --store FILE, or --policy FILE for its policy."


class Since:
    """What came with a store does not count where it would permit something: rows numbered up to here."""

    __slots__ = ("approvals", "credentials", "grants", "tokens")

    def __init__(self) -> None:
        self.take()

    def take(self, approvals: int = 0, credentials: int = 0, grants: int = 0, tokens: int = 0) -> None:
        self.approvals, self.credentials, self.grants, self.tokens = approvals, credentials, grants, tokens


class Origin:
    """Where one store comes from. `since` is shared with everybody who reads it."""

    def __init__(self, path: str, *, found: bool | str, since: Since | None = None, adopting: bool = False) -> None:
        """`adopting`: a person takes whatever is there for the audit from now on. `found`: nobody named it; the folder
        in which it was found, where that is known."""
        self._path = path
        self._found = bool(found)
        self.folder = found if isinstance(found, str) else ""
        self._adopting = adopting
        self.since = since or Since()
        self.foreign = ""
        """Why it is not the store that this user has used at this path; empty where it is, or none was."""

    def examine(self, connection: sqlite3.Connection) -> None:
        """Before anything is read or written. StoreError where a store that was found is not one of ours, or another
        one has taken the place of ours: with its key and its head, only this user's own ledger tells them apart."""
        word, self.foreign = self._word(), ""
        if version_of(connection, self._path) == 0:  # it is to be made
            return
        if word is not None and not _holds(connection, word):
            self.foreign = "it is not the audit that you used here before: another one was put in its place"
        if self.foreign or (self._found and word is None):
            _refuse_other_tables(connection, self._path)
        if self.foreign and not self._adopting:
            raise unusable(self._path, self.foreign, way_out(self._path), "replaced")

    def hide(self, connection: sqlite3.Connection) -> None:
        """For whoever only reads: nothing is taken over, so nothing counts that this user has not begun."""
        if self._found and not self._is_known(connection):
            self.since.take(_ALL, _ALL, _ALL, _ALL)
            warn(
                f"{escaped(self._path)} was not made by you here: {_PERMISSIONS} in it do not count. "
                f"{_make_it_yours(self._path)}"
            )

    def begin(self, connection: sqlite3.Connection) -> None:
        """Inside the transaction that makes it, so that whoever opens it next finds both words, or neither."""
        if self._word() is not None and not self._adopting:
            warn(f"the audit log {escaped(self._path)}, which you used before, is gone: a new one begins")
        self._keep(self._mark(connection))
        if (pause := stopped(self._path)) is not None:
            connection.execute("INSERT INTO meta VALUES ('paused', ?)", (encode(pause).decode(),))
            since = f"since {pause.since} UTC by {escaped(pause.by)}"
            resume = f"rightcall resume --store {escaped(quote(self._path))}"
            warn(f"calls are still paused in {escaped(self._path)}, {since}. To let them run: {resume}")

    def _mark(self, connection: sqlite3.Connection) -> str:
        """Inside a transaction: leave the word by which this user will know it."""
        token = os.urandom(16).hex()
        connection.execute("INSERT INTO meta VALUES (?, '')", (f"{_WORD}{token}",))
        return token

    def _keep(self, token: str) -> None:
        """This user made it, or uses it from now on."""
        about = {"token": token, **{table: getattr(self.since, table) for table in Since.__slots__}}
        try:
            trust.note("stores", self._path, about)
        except ConfigError as fault:
            # then it is a stranger next time, which is the stricter
            warn(f"{fault}. So {_PERMISSIONS} made now in {escaped(self._path)} will not count later. {_NAME_IT}")

    def keep_head(self, head: tuple[int, bytes]) -> None:
        """Something was taken back: from now on a copy that ends before this record is none of ours."""
        about = trust.recall("stores", self._path)
        if about is not None:
            with suppress(ConfigError):  # as above: then only what lies beside the file tells
                trust.note("stores", self._path, about | {"head": [head[0], head[1].hex()]})

    def kept_head(self) -> tuple[int, bytes] | None:
        about = trust.recall("stores", self._path) or {}
        match about.get("head"):
            case [int(seq), str(own)]:
                with suppress(ValueError):
                    return seq, bytes.fromhex(own)
            case _:
                pass
        return None

    def take_over(self, connection: sqlite3.Connection) -> None:
        """A store that this user has not used yet: from now on, and with nothing that was said in it before."""
        if not (self._found or self.foreign) or self._is_known(connection):
            return
        connection.execute("BEGIN IMMEDIATE")
        last = [connection.execute(f"SELECT ifnull(max(n), 0) FROM {table}").fetchone()[0] for table in Since.__slots__]
        token = self._mark(connection)
        connection.execute("COMMIT")
        self.since.take(*last)
        self._keep(token)
        if any(last):
            warn(
                f"{escaped(self._path)} was not made by you here: {_PERMISSIONS} that were in it do not "
                f"count. {_make_it_yours(self._path)}"
            )

    def _is_known(self, connection: sqlite3.Connection) -> bool:
        known = trust.recall("stores", self._path)
        word = _word_of(known)
        if known is None or word is None or not _holds(connection, word):
            return False
        self.since.take(*(_number(known.get(table)) for table in Since.__slots__))
        return True

    def _word(self) -> str | None:
        return _word_of(trust.recall("stores", self._path))


def _make_it_yours(path: str) -> str:
    return f"If it is yours (restored, moved), run `rightcall audit adopt --store {escaped(quote(path))}`"


def counts_whole(path: str) -> bool:
    """Whether this user knows the store at this path, with everything in it."""
    known = trust.recall("stores", path)
    return _word_of(known) is not None and not any(_number((known or {}).get(table)) for table in Since.__slots__)


def note_adoption(path: str) -> None:
    """A person goes on with the store at this path, without what came with it."""
    about = trust.recall("stores", path)
    if about is not None:
        with suppress(ConfigError):  # then the next one is told anew how to adopt it
            trust.note("stores", path, about | {"adopted": True})


def was_adopted(path: str) -> bool:
    return (trust.recall("stores", path) or {}).get("adopted") is True


def own(path: str) -> None:
    """A person says that this store is theirs: from now on everything in it counts, whoever finds it. Raises
    ConfigError where that cannot be kept."""
    token = os.urandom(16).hex()
    about = (trust.recall("stores", path) or {}) | {"token": token} | dict.fromkeys(Since.__slots__, 0)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO meta VALUES (?, '')", (f"{_WORD}{token}",))
    trust.note("stores", path, about)


def refuse_link(path: str | os.PathLike[str], to: str, *, adopting: bool) -> None:
    """StoreError where this user has a store of their own at a path that now leads `to` another one: then that is the
    store which was put in its place, be it theirs too."""
    for place in {os.path.abspath(path), true_place(os.fspath(path))} - {to}:
        if trust.recall("stores", place) is None:
            continue
        if not adopting:
            raise unusable(place, f"it leads to {escaped(to)} now, and did not before", way_out(place), "replaced")
        trust.forget("stores", place)


def _word_of(known: dict[str, Any] | None) -> str | None:
    token = None if known is None else known.get("token")
    return token if isinstance(token, str) else None


def _holds(connection: sqlite3.Connection, word: str) -> bool:
    return _is_our_meta(connection) and connection.execute(_PRESENT, (f"{_WORD}{word}",)).fetchone() is not None


def refuse_leaving(path: str, folder: str) -> None:
    """Raises StoreError where the store of a folder that was found lies outside it, or where what lies there leads out
    of it. Nothing has been made or opened then."""
    inside, name = os.path.split(path)
    base, place = os.path.realpath(folder), os.path.realpath(inside)
    if place != base and os.path.commonpath((base, place)) != base:
        raise StoreError(
            f"{escaped(path)}: the audit log leads out of its folder, so nothing is read or run. {_NAME_IT}"
        )
    try:
        with os.scandir(place) as found:
            for one in found:
                if (one.name.startswith(name) or one.name in _BESIDE) and (why := _strangeness(one, name)):
                    raise StoreError(f"{escaped(one.path)} {why}, so nothing is read or run. {_NAME_IT}")
    except (FileNotFoundError, NotADirectoryError):  # there is nothing yet, or whoever opens it says what is wrong
        return
    except OSError as fault:
        raise StoreError(
            f"{escaped(inside)} cannot be read: {str(fault.strerror or fault).lower()}. {_NAME_IT}"
        ) from None


_BESIDE = ("packets", "desk")


def _strangeness(one: "os.DirEntry[str]", database: str) -> str:
    """What is wrong with something that lies where the store and its files are; empty for nothing."""
    found = one.stat(follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode):
        return "is a folder" if one.name == database else ""
    if not stat.S_ISREG(found.st_mode):
        return "is a link, or no file"
    if found.st_nlink > 1:
        return "is known by another name as well"
    if one.name == f"{database}-journal" and _names_another(one.path):
        return "names another file, which would be deleted"
    return ""


def _names_another(journal: str) -> bool:
    with open(journal, "rb") as opened:
        opened.seek(0, os.SEEK_END)
        opened.seek(-min(len(_SUPER_JOURNAL), opened.tell()), os.SEEK_END)
        return opened.read() == _SUPER_JOURNAL


def _is_our_meta(connection: sqlite3.Connection) -> bool:
    """Whether asking `meta` asks a table, and not something that a stranger has put in its place."""
    return connection.execute("SELECT type, sql FROM sqlite_master WHERE name = 'meta'").fetchall() == [("table", META)]


def _refuse_other_tables(connection: sqlite3.Connection, path: str) -> None:
    version = version_of(connection, path)
    found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    if frozenset(one for one in found if not _is_sqlites_own(one)) != _tables(version):
        what = "it has other tables, views or triggers than RightCall makes, and was not made by you here"
        raise unusable(path, what, f"Move it away. {_NAME_IT}", "corrupt")


def _is_sqlites_own(row: tuple[Any, ...]) -> bool:
    kind, name, _, sql = row
    return (kind == "index" and sql is None and str(name).startswith("sqlite_autoindex_")) or (
        kind == "table" and str(name).startswith("sqlite_stat")
    )


@cache
def _tables(version: int) -> frozenset[tuple[Any, ...]]:
    """Everything that a store of this version holds, as SQLite tells it."""
    connection = sqlite3.connect(":memory:")
    try:
        for step in STEPS[:version]:
            connection.executescript(step)
        found = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    finally:
        connection.close()
    return frozenset(one for one in found if not _is_sqlites_own(one))


def _number(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else _ALL


# ── the identity of a store ──
# Whether the file that is found is the audit that was there before. What lies beside it knows: the key, of which the
# database keeps a fingerprint, and `<audit>-head`, the number and hash of a record that is known to be on disk.
#
#     audit.db.key     32 secret bytes; `meta.store` holds their fingerprint: another store has another
#     audit.db-head    "seq:hash:check", written every few seconds and at the end, always after a commit
#
# An empty, deleted, foreign or older file is an error, never a new beginning: `rightcall audit adopt` begins anew on
# purpose, and that is the first thing the new audit records. A crash never looks like that: what the head names was
# synced to disk before it was written.

Head = tuple[int, bytes]

_BESIDE_SQLITE = ("-runs", "-private", "-definitions")
"""What only a store that was in use has beside it, apart from its key and its head."""
_LONGEST_HEAD = 200
_WRITING = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Through no link, and without waiting for whoever might read a pipe."""


class Identified(Protocol):
    """What is asked of the tables."""

    def entry(self, seq: int) -> AuditEntry | None: ...
    def pruned(self) -> Head: ...
    def meta(self, name: str) -> object: ...
    def put_meta(self, name: str, value: int | str | bytes) -> None: ...
    def append(self, kind: EntryKind, call: int, body: bytes) -> int: ...
    def head(self) -> Head: ...


class Identity:
    """Of the database at one path. `adopting`: who takes whatever is there for the audit from now on, and why."""

    def __init__(self, path: str, adopting: tuple[str, str] | None = None) -> None:
        self._path = path
        self._key_file = f"{path}.key"
        self._adopting = adopting
        self._head_file = f"{path}-head"
        self._kept: Head | None = None
        self._lost = ""
        self._key_stamp: object = None
        """Of the key's file when it was last read."""
        self.key = b""

    def refuse_new_beginning(self) -> None:
        """Before a file is made. The key is looked for first: it is only made once there are tables."""
        self._lost = lost(self._path)
        if self._lost and self._adopting is None:
            raise self._unusable(self._lost)

    def recognise(self, tables: Identified, foreign: str = "") -> None:
        """Inside a transaction, when a file has just been opened: is it ours? A new one becomes so. `foreign`: why it
        is not, though everything beside it fits."""
        stamp = self._stamp_of_key()
        found = _beside(self._path)
        problem = self._lost or _compared(os.path.basename(self._path), found, tables) or foreign
        if problem and self._adopting is None:
            raise self._unusable(problem)
        key, self._kept = found
        self.key = key if key is not None and len(key) == KEY_BYTES else key_beside(self._path)
        if tables.meta("store") != fingerprint(self.key):
            tables.put_meta("store", fingerprint(self.key))
        if problem and self._adopting is not None:
            self._note(tables, problem, *self._adopting)
            self._adopting, self._lost, self._kept = None, "", None
        self._key_stamp = stamp or self._stamp_of_key()

    def refuse_moved(self, problem: str) -> None:
        """Raises unless a person goes on here on purpose."""
        if self._adopting is None:
            then = (
                "Name the new store under [store] url in the policy, or with --store. If moving was interrupted, run "
                "`rightcall store migrate` again. To go on here instead: "
                f"`rightcall audit adopt --store {quote(str(self._path))}`."
            )
            raise unusable(self._path, problem, then, "replaced")

    def key_was_touched(self) -> bool:
        """Whether the key's file is another one than was read, or was written to: then `recognise` must look again."""
        return self._stamp_of_key() != self._key_stamp

    def _stamp_of_key(self) -> object:
        try:
            found = os.stat(self._key_file)
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def _note(self, tables: Identified, problem: str, by: str, reason: str) -> None:
        before = kept_head(self._path)
        data = {"found": problem, "reason": reason, "expected": "" if before is None else _text(before)}
        what = "adopted" if tables.head()[0] else "begun anew"
        tables.append(
            "store", 0, tables_encode(NoteBody(what, by, {key: value for key, value in data.items() if value}))
        )

    def keep_head(self, head: Head) -> None:
        """Write down a record that is on disk. It may fail: then an older one is known."""
        if head == self._kept or not head[0]:
            return
        text = _text(head)
        check = sha256(text.encode()).hexdigest()[:8]
        with suppress(OSError):
            fd = os.open(self._head_file, _WRITING, 0o600)
            try:
                os.write(fd, f"{text}:{check}\n".ljust(_LONGEST_HEAD - 1).encode())
            finally:
                os.close(fd)
            self._kept = head

    def keep_last_head(self, head: Head) -> None:
        """At the end, when nothing is locked: another process may have written down a later one."""
        known = kept_head(self._path) if head != self._kept else head
        if known is None or known[0] < head[0]:
            self.keep_head(head)

    def _unusable(self, problem: str) -> StoreError:
        return unusable(self._path, problem, way_out(self._path), "replaced")


def fingerprint(key: bytes) -> str:
    return sha256(b"rightcall store\0" + key).hexdigest()[:32]


def lost(path: str) -> str:
    """Why a file that is empty, or not there, cannot be a new audit: something beside it says that there was one."""
    known = _first_there(path, (".key", "-head"))
    try:
        size = os.stat(path).st_size
    except OSError:
        size = -1
        known = known or _first_there(path, _BESIDE_SQLITE)
    if size > 0 or not known:
        return ""
    name = os.path.basename(path)
    return f"it is {'empty' if size == 0 else 'gone'}, but {name}{known} beside it shows that there was one"


def _first_there(path: str, ends: tuple[str, ...]) -> str:
    return next((end for end in ends if os.path.lexists(f"{path}{end}")), "")


def wrong_with(path: str, tables: Identified) -> str:
    """Why the database at a path is not the one that what lies beside it belongs to; empty where it is."""
    return _compared(os.path.basename(path), _beside(path), tables)


def _beside(path: str) -> tuple[bytes | None, Head | None]:
    """The key and the head, as far as they are there."""
    return _read(f"{path}.key"), kept_head(path)


def _compared(name: str, found: tuple[bytes | None, Head | None], tables: Identified) -> str:
    (key, head), store = found, tables.meta("store")
    if store is None:  # new, or of an earlier version: then nothing beside it knows better
        return "" if head is None else f"{name}-head beside it belongs to another audit"
    if key is None:
        return f"its key {name}.key is missing"
    if len(key) == KEY_BYTES and store != fingerprint(key):  # of a damaged one is told when it is needed
        return f"it is not the audit that {name}.key belongs to: one of the two was replaced"
    return "" if head is None else older(tables, head)


def older(tables: Identified, head: Head) -> str:
    """Why a database that lacks a record that stood in it is not the one that was used; empty where it is there, or was
    pruned."""
    seq, known = head
    entry = tables.entry(seq)
    if tables.pruned()[0] >= seq if entry is None else entry.hash == known:
        return ""
    last = tables.head()[0]
    if entry is None:
        return f"it is an older copy: it ends with record {last}, and record {seq} was written before"
    return f"record {seq} in it is not the one that was written: it is another audit, or was changed"


def kept_head(path: str) -> Head | None:
    """What is written down of the last record; None where nothing is, or not whole."""
    try:
        text, _, check = (_read(f"{path}-head") or b"").decode().strip().rpartition(":")
        seq, _, own = text.partition(":")
        if sha256(text.encode()).hexdigest()[:8] == check:
            return int(seq), bytes.fromhex(own)
    except ValueError:
        pass
    return None


def _text(head: Head) -> str:
    return f"{head[0]}:{head[1].hex()}"


def _read(path: str) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    try:
        return os.read(fd, _LONGEST_HEAD)
    except OSError:
        return None
    finally:
        os.close(fd)


# ── what must be gone once it is used ──
# What must be gone from the disk once it is used: the calls that wait for a person, and the conditions of grants.
#
# A database keeps what was deleted, in its log and in free pages, for as long as it likes. So these texts never go
# into it: each lies in a file of its own beside it, `<audit>-private/`, which is removed when the row that needs it
# no longer does. Files are only made and removed while the database is locked for writing, or after a commit that
# says so; what a killed process left behind is removed by the next one that writes.

FOLDER = "-private"
MOST_BYTES = 64_000_000
_NEW = ".new"


class PrivateTexts:
    """A few texts under a name each, for the owner's eyes only."""

    def __init__(self, database: str) -> None:
        self.database = database
        self._folder = f"{database}{FOLDER}"

    def put(self, name: str, *texts: str) -> None:
        """Raises StoreError. On disk when it returns; the same again costs a look."""
        path, data = self._path(name), json.encode(texts)
        try:
            if self._read(path) == data:
                return
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            with suppress(FileNotFoundError):
                os.unlink(path + _NEW)  # a process was killed while it wrote
            with whole_file(path, path + _NEW) as stream:
                stream.write(data)
        except OSError as error:
            raise fault_of(error, self.database) from error

    def get(self, name: str) -> tuple[str, ...] | None:
        """None where nothing is kept under this name any more, or it cannot be read."""
        try:
            return json.decode(self._read(self._path(name)) or b"", type=tuple[str, ...])
        except (OSError, MsgspecError, RecursionError):
            return None

    def drop(self, name: str) -> None:
        with suppress(OSError):  # gone already, or still read by somebody: then it is swept
            os.unlink(self._path(name))

    def sweep(self, kept: Collection[str]) -> None:
        """Remove all but these."""
        try:
            found = os.listdir(self._folder)
        except OSError:
            return
        wanted = {_file_of(name) for name in kept}
        for file in found:
            if file not in wanted:
                with suppress(OSError):
                    os.unlink(os.path.join(self._folder, file))

    def is_empty(self) -> bool:
        try:
            with os.scandir(self._folder) as files:
                return next(files, None) is None
        except OSError:
            return True

    def _read(self, path: str) -> bytes | None:
        """Of a plain file of ours: a link is not followed, a pipe not waited for."""
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            return None
        with open(handle, "rb") as opened:
            return opened.read(MOST_BYTES)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, _file_of(name))


def _file_of(name: str) -> str:
    """Ids may be anything; files may not."""
    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
