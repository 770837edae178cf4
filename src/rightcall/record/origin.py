"""The record of a folder that somebody else may have filled: what in it may be believed, and what is not even opened.

A store that this user made is known by a word in it that the user's state folder knows as well. Where that folder knows
another word for the path, another store was put in place of ours, and nothing runs. In any other, what was approved or
granted before this user came does not count. Its tables must be ours before anything is written to them:
triggers and views of somebody else would write, too. Whatever leads out of the folder is refused.
"""

import os
import sqlite3
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.json import encode

from rightcall.errors import ConfigError, StoreError
from rightcall.record.schema import META, STEPS, version_of
from rightcall.record.sqlite_faults import unusable, way_out
from rightcall.text.escape import escaped
from rightcall.trust import ledger
from rightcall.trust.stops import stopped
from rightcall.trust.telling import warn

_ALL = 2**63 - 1
_WORD = "known_to:"
"""How the word begins, as a name in `meta`."""
_PRESENT = "SELECT 1 FROM meta WHERE name = ?"
_SUPER_JOURNAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
"""How a rollback journal ends that names a further file, which SQLite would open, and delete."""
_PERMISSIONS = "approvals, grants and tokens"
_NAME_IT = "If it is yours, name it: --db FILE, or --policy FILE for its policy."


class Since:
    """What came with a store does not count where it would permit something: rows numbered up to here."""

    __slots__ = ("approvals", "grants", "tokens")

    def __init__(self, approvals: int = 0, grants: int = 0, tokens: int = 0) -> None:
        self.take(approvals, grants, tokens)

    def take(self, approvals: int, grants: int, tokens: int) -> None:
        self.approvals, self.grants, self.tokens = approvals, grants, tokens


class Origin:
    """Where one store comes from. `since` is shared with everybody who reads it."""

    def __init__(self, path: Path, *, found: bool, since: Since | None = None, adopting: bool = False) -> None:
        """`adopting`: a person takes whatever is there for the audit from now on."""
        self._path = path
        self._found = found
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
            self.since.take(_ALL, _ALL, _ALL)
            warn(f"{escaped(str(self._path))} was not made by you here: {_PERMISSIONS} in it do not count")

    def begin(self, connection: sqlite3.Connection) -> None:
        """Inside the transaction that makes it, so that whoever opens it next finds both words, or neither."""
        if self._word() is not None and not self._adopting:
            warn(f"the audit log {escaped(str(self._path))}, which you used before, is gone: a new one begins")
        self._keep(self._mark(connection))
        if (pause := stopped(str(self._path))) is not None:
            connection.execute("INSERT INTO meta VALUES ('paused', ?)", (encode(pause).decode(),))
            since = f"since {pause.since} UTC by {escaped(pause.by)}"
            warn(f"calls are still paused in {escaped(str(self._path))}, {since}. To let them run: rightcall resume")

    def _mark(self, connection: sqlite3.Connection) -> str:
        """Inside a transaction: leave the word by which this user will know it."""
        token = os.urandom(16).hex()
        connection.execute("INSERT INTO meta VALUES (?, '')", (f"{_WORD}{token}",))
        return token

    def _keep(self, token: str) -> None:
        """This user made it, or uses it from now on."""
        about = {"token": token, **{table: getattr(self.since, table) for table in Since.__slots__}}
        try:
            ledger.note("stores", str(self._path), about)
        except ConfigError as fault:
            # then it is a stranger next time, which is the stricter
            warn(f"{fault}. So {_PERMISSIONS} made now in {escaped(str(self._path))} will not count later. {_NAME_IT}")

    def keep_head(self, head: tuple[int, bytes]) -> None:
        """Something was taken back: from now on a copy that ends before this record is none of ours."""
        about = ledger.recall("stores", str(self._path))
        if about is not None:
            with suppress(ConfigError):  # as above: then only what lies beside the file tells
                ledger.note("stores", str(self._path), about | {"head": [head[0], head[1].hex()]})

    def kept_head(self) -> tuple[int, bytes] | None:
        about = ledger.recall("stores", str(self._path)) or {}
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
                f"{escaped(str(self._path))} was not made by you here: {_PERMISSIONS} that were in it do not "
                "count. To use them, name it with --db"
            )

    def _is_known(self, connection: sqlite3.Connection) -> bool:
        known = ledger.recall("stores", str(self._path))
        word = _word_of(known)
        if known is None or word is None or not _holds(connection, word):
            return False
        self.since.take(*(_number(known.get(table)) for table in Since.__slots__))
        return True

    def _word(self) -> str | None:
        return _word_of(ledger.recall("stores", str(self._path)))


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


def _refuse_other_tables(connection: sqlite3.Connection, path: Path) -> None:
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
