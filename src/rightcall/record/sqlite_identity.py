"""Whether the file that is found is the audit that was there before. What lies beside it knows: the key, of which the
database keeps a fingerprint, and `<audit>-head`, the number and hash of a record that is known to be on disk.

    audit.db.key     32 secret bytes; `meta.store` holds their fingerprint: another store has another
    audit.db-head    "seq:hash:check", written every few seconds and at the end, always after a commit

An empty, deleted, foreign or older file is an error, never a new beginning: `rightcall audit adopt` begins anew on
purpose, and that is the first thing the new audit records. A crash never looks like that: what the head names was
synced to disk before it was written.
"""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from rightcall.errors import StoreError
from rightcall.record.entries import NoteBody, encode
from rightcall.record.sqlite_faults import unusable, way_out
from rightcall.record.sqlite_file import KEY_BYTES, key_beside
from rightcall.record.tables import AuditEntry, EntryKind

Head = tuple[int, bytes]

_BESIDE = ("-runs", "-private", "-definitions")
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

    def __init__(self, path: Path, adopting: tuple[str, str] | None = None) -> None:
        self._path = path
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
        problem = self._lost or _compared(self._path.name, found, tables) or foreign
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

    def key_was_touched(self) -> bool:
        """Whether the key's file is another one than was read, or was written to: then `recognise` must look again."""
        return self._stamp_of_key() != self._key_stamp

    def _stamp_of_key(self) -> object:
        try:
            found = os.stat(f"{self._path}.key")
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def _note(self, tables: Identified, problem: str, by: str, reason: str) -> None:
        before = kept_head(self._path)
        data = {"found": problem, "reason": reason, "expected": "" if before is None else _text(before)}
        what = "adopted" if tables.head()[0] else "begun anew"
        tables.append("store", 0, encode(NoteBody(what, by, {key: value for key, value in data.items() if value})))

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


def lost(path: Path) -> str:
    """Why a file that is empty, or not there, cannot be a new audit: something beside it says that there was one."""
    known = _first_there(path, (".key", "-head"))
    try:
        size = os.stat(path).st_size
    except OSError:
        size = -1
        known = known or _first_there(path, _BESIDE)
    if size > 0 or not known:
        return ""
    return f"it is {'empty' if size == 0 else 'gone'}, but {path.name}{known} beside it shows that there was one"


def _first_there(path: Path, ends: tuple[str, ...]) -> str:
    return next((end for end in ends if os.path.lexists(f"{path}{end}")), "")


def wrong_with(path: Path, tables: Identified) -> str:
    """Why the database at a path is not the one that what lies beside it belongs to; empty where it is."""
    return _compared(path.name, _beside(path), tables)


def _beside(path: Path) -> tuple[bytes | None, Head | None]:
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


def kept_head(path: Path) -> Head | None:
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
