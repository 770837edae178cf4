"""The desk: where changes are journaled, done, and kept to be taken back. One lock for all processes that write.

    with desk.working() as worker:                 # whatever a killed process left half done is rolled back first
        step = FileStep(tree, "a.txt", before, after)
        change = worker.apply(tool="file/save", caller="teacher", summary="save a.txt", files=[step])

Below its folder: `lock`, `begun/` and `changes/` (see `changes.py`), `branches/`, `pulls/` (documents), `trees/`.
"""

import errno
import os
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic, sleep, time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from msgspec import MsgspecError, Struct, json
from msgspec.structs import replace

from rightcall.base.files.guarded import plain_file, true_place, whole_file
from rightcall.base.files.sight import Sight, open_true, path_of
from rightcall.base.files.write import closing, describe_error, failure, make_tree, seen_file, shown_path, step
from rightcall.base.text import escaped, utc
from rightcall.errors import ToolFailure
from rightcall.tools.write.apply import Refs, do, plan_steps, roll_back, undo
from rightcall.tools.write.changes import (
    BEGUN,
    CONTENTS,
    DAMAGED,
    DONE,
    FOREIGN,
    NO_GIT,
    Change,
    Contents,
    Filed,
    FileStep,
    GitScope,
    Journal,
    JournalEntry,
    RefStep,
    new_id,
)

if TYPE_CHECKING:
    from rightcall.policy.settings import WriteSettings


# ── opening a desk ──
# The desk's folder and its lock: made when they are first needed, and taken by one process at a time.
#
# A desk lies in the folder that is worked in, so it may have come with it, from somebody who wants its records to be
# believed. It is believed only where it was made: its folder is still the one that was sealed then.

try:
    import fcntl
except ImportError:  # Windows
    fcntl: Any = None

_LOCK, _SEAL = "lock", "seal.json"


class _Seal(Struct, frozen=True):
    folder: int


@contextmanager
def open_folder(folder: str) -> Generator[str]:
    """The desk's folder, made if there is none: a path that leads to it for as long as this lasts, whatever its name
    leads to by then. ToolFailure when it cannot be made, is a link, or was made elsewhere."""
    try:
        make_tree(folder)
        step("desk")
        fd = open_true(folder)
    except OSError as error:
        raise failure(error, folder) from error
    with closing(fd):
        here = path_of(fd, folder)
        _believed(here, folder)
        yield here


def _believed(here: str, folder: str) -> None:
    try:
        foreign = not (is_own(here) or _is_bare(here))
    except OSError as error:
        raise failure(error, folder) from error
    if foreign:
        raise ToolFailure(
            f"The folder {shown_path(folder)}, where changes are kept, was made elsewhere and copied here, or its "
            f"{_SEAL} is lost, so nothing in it is believed and nothing is written. A person can move it away, or, "
            "knowing where it comes from, take it over: rightcall undo --adopt"
        )


def furnish(folder: str, name: str) -> None:
    """Under the lock: a new desk is sealed, and gets the folders that it needs. `name` is what it is known by."""
    try:
        if not is_own(folder):
            for left in os.listdir(folder):
                if left.startswith(f"{_SEAL}."):  # of somebody who was killed while sealing it
                    os.unlink(os.path.join(folder, left))
            adopt(folder)
        step("sealed")
        for inner in (BEGUN, DONE):
            with suppress(FileExistsError):
                os.mkdir(os.path.join(folder, inner), 0o700)
    except OSError as error:
        raise failure(error, name) from error


def _is_bare(folder: str) -> bool:
    """Whether there is nothing in it that could be believed."""
    return all(name == _LOCK or name.startswith(f"{_SEAL}.") for name in os.listdir(folder))


def is_own(folder: str) -> bool:
    """Whether a desk was made where it is. Nobody who ships one can know which number its folder will get."""
    try:
        if os.path.islink(folder):
            return False
        with open(os.path.join(folder, _SEAL), "rb", opener=plain_file) as file:
            return json.decode(file.read(1000), type=_Seal).folder == os.stat(folder).st_ino
    except (OSError, MsgspecError):
        return False


def distrust(folder: str) -> str:
    """Why nothing can be told of the desk that is there; empty: it can, or there is none yet."""
    try:
        if not os.path.islink(folder) and (is_own(folder) or _is_bare(folder) or is_own(folder)):  # sealed meanwhile
            return ""
        with open(os.path.join(folder, _SEAL), "rb", opener=plain_file):
            pass  # it can be read, and is that of another folder
    except FileNotFoundError:
        if not os.path.lexists(folder):
            return ""
    except OSError as error:
        return f"{shown_path(folder)} cannot be read: {(error.strerror or str(error)).lower()}"
    return (
        f"{shown_path(folder)} was made elsewhere and copied here, or its {_SEAL} is lost: nothing in it is believed. "
        "If you know where it comes from, `rightcall undo --adopt` takes it over"
    )


def adopt(folder: str) -> None:
    """Seal a desk anew where it is: a person says that it may be believed. Raises OSError."""
    path = os.path.join(folder, _SEAL)
    with whole_file(path, f"{path}.{os.urandom(8).hex()}") as file:
        file.write(json.encode(_Seal(os.stat(folder).st_ino)))


@contextmanager
def hold_lock(folder: str, patience: float, name: str = "") -> Generator[int]:
    """The lock of all who write; yields its descriptor. ToolFailure when somebody else holds it for too long. `name` is
    what the folder is known by."""
    until = monotonic() + patience
    try:
        file = open(os.path.join(folder, _LOCK), "ab", opener=_own_file)  # noqa: SIM115
    except OSError as error:
        raise failure(error, os.path.join(name or folder, _LOCK)) from error
    with file:
        while not _taken(file.fileno()):
            if monotonic() >= until:
                raise ToolFailure(
                    f"Another process has been writing for more than {patience:g} seconds. Nothing was changed; "
                    "try again later"
                )
            sleep(0.02)
        yield file.fileno()


def _own_file(path: str, flags: int) -> int:
    return plain_file(path, flags | getattr(os, "O_NOFOLLOW", 0))


def seal_of(lock: int) -> tuple[int, int]:
    """What tells this desk from a copy of it, for what was begun on it: the lock's number, and when it was made."""
    found = os.fstat(lock)
    return found.st_ino, found.st_ctime_ns


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise failure(error, "the lock of all who write") from error
        return False
    return True


# ── keeping ──
# How much is kept to be taken back: the oldest changes lose their contents first, much later their records.

MOST_CHANGES: Final = 1_000
MOST_BYTES: Final = 200_000_000
MOST_RECORDS: Final = 10_000
_EVERY = 16
_BIG = 1_000_000
"""Looking through all of them takes milliseconds: done now and then, and after each big change."""


def make_room(journal: Journal, last: Filed) -> None:
    """Drop what is beyond the limits, never the change that was made last. Nothing raises: there is room for one more
    in any case."""
    with suppress(OSError):
        own = _size(os.path.join(last.folder, CONTENTS))
        if last.number % _EVERY == 0 or own > _BIG:
            _made_room(journal, last.folder)


def _made_room(journal: Journal, spared: str) -> None:
    changes = bytes_kept = 0
    for count, folder in enumerate(journal.folders()):
        contents = os.path.join(folder, CONTENTS)
        size = _size(contents)
        changes += size >= 0
        bytes_kept += max(size, 0)
        if folder == spared:
            continue
        if count >= MOST_RECORDS:
            shutil.rmtree(folder, ignore_errors=True)
        elif size >= 0 and (changes > MOST_CHANGES or bytes_kept > MOST_BYTES):
            os.unlink(contents)


def _size(path: str) -> int:
    """-1 where there is none."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return -1


PATIENCE: Final = 10.0
"""Seconds to wait for another process that writes."""
_ENDING = ".json"


class Desk:
    """Where changes are kept. Makes nothing until something is written."""

    def __init__(self, folder: str, sight: Sight, settings: "WriteSettings", *, is_true: bool = False) -> None:
        self.folder = folder if is_true else true_place(folder)
        """Its true path: from now on no link on the way is followed."""
        self.sight = sight
        self.settings = settings
        self.journal = Journal(self.folder)

    @contextmanager
    def working(self, patience: float = PATIENCE) -> Generator["Worker"]:
        """The lock shared by all processes; ToolFailure when it is held for longer than `patience` seconds."""
        with open_folder(self.folder) as here, hold_lock(here, patience, self.folder) as lock:
            furnish(here, self.folder)
            journal = Journal(self.folder, here)
            yield Worker(self, lock, journal, self._recovered(lock, journal))

    def _recovered(self, lock: int, journal: Journal) -> tuple[str, ...]:
        """Roll back what a killed process has left; says what was found."""
        unfinished, damaged = journal.unfinished()
        notes = [_given_up(journal, name) for name in damaged]
        for filed in unfinished:
            entry = filed.entry
            if entry.seal != seal_of(lock):
                journal.set_aside(entry.id, FOREIGN)
                notes.append(f"{entry.id} was begun elsewhere; it was set aside, and nothing was done about it")
                continue
            refs = Refs(Sight(entry.root, self.sight.rules), entry.repository, lock, entry.caller)
            try:
                found = roll_back(journal, filed, refs)
            except (ToolFailure, OSError) as error:
                where = shown_path(os.path.join(self.folder, BEGUN, entry.id))
                raise ToolFailure(
                    f"The change {entry.id} was interrupted and cannot be taken back yet: {describe_error(error)}. "
                    f"Nothing is written until it is. It lies in {where}"
                ) from error
            notes += [f"{entry.id} ({escaped(entry.summary, 100)}) was interrupted and was taken back", *found]
        return tuple(notes)

    def damaged(self) -> list[str]:
        """The folders of changes that were interrupted and could not be taken back, since they are damaged."""
        return self.journal.aside(DAMAGED) if is_own(self.folder) else []

    def changes(self, limit: int = 50) -> list[Change]:
        """The latest changes, newest first, without the contents of their files."""
        if not is_own(self.folder):
            return []
        return [filed.change() for filed, _ in zip(self.journal.all(), range(limit), strict=False)]

    def change(self, id: str) -> Change:
        """One change, with contents as far as they are kept; ToolFailure when there is none."""
        filed = self.filed(id)
        return filed.change(Contents(filed.folder) if filed.kept else None)

    def filed(self, id: str) -> Filed:
        """The same as it lies in the journal."""
        found = self.journal.find(id) if self._is_believed() else None
        if found is None:
            raise ToolFailure(f"Unknown change {escaped(id, 60)}; `rightcall undo` lists the last ones")
        return found

    def document(self, kind: str, name: str) -> bytes | None:
        """A record that tools keep beside their changes, such as `("branches", "fix-login")`; None: there is none.
        ToolFailure for a desk that cannot be read or believed: it is not an empty one."""
        if not self._is_believed():
            return None
        found = seen_file(self.folder, _document_path(kind, name))
        return None if found is None else found.content

    def documents(self, kind: str) -> list[str]:
        """The names of all of a kind, sorted."""
        if not self._is_believed():
            return []
        try:
            files = os.listdir(os.path.join(self.folder, kind))
        except FileNotFoundError:
            return []
        return sorted(unquote(file.removesuffix(_ENDING)) for file in files if file.endswith(_ENDING))

    def _is_believed(self) -> bool:
        """False where there is none yet."""
        if is_own(self.folder):
            return True
        if why := distrust(self.folder):
            raise ToolFailure(why)
        return is_own(self.folder)

    def document_step(self, kind: str, name: str, after: bytes | None) -> FileStep:
        """The step that writes or removes a document, from what it is now. Within `working` only."""
        return FileStep(self.folder, _document_path(kind, name), self.document(kind, name), after, 0o600)


def _given_up(journal: Journal, name: str) -> str:
    """A damaged change is no reason for others to wait: it is kept for a person to look at."""
    try:
        kept = journal.set_aside(name, DAMAGED)
    except OSError as error:
        raise failure(error, os.path.join(journal.desk, DAMAGED)) from error
    return f"{name} was interrupted and its record is damaged: what it had done stays. It is kept in {kept}"


def _document_path(kind: str, name: str) -> str:
    """A file name that is no path, whatever the name is."""
    file = quote(name, safe="").replace(".", "%2E")
    if not name or len(file) > 240:
        raise ToolFailure(f"{escaped(name, 100)} is too long a name")
    return f"{kind}/{file}{_ENDING}"


class Worker:
    """Whoever holds the lock."""

    def __init__(self, desk: Desk, lock: int, journal: Journal, notes: tuple[str, ...] = ()) -> None:
        self.desk = desk
        self.lock = lock
        self.journal = journal
        self.notes = notes
        """What was found half done and rolled back, in words."""

    def apply(
        self, *, tool: str, caller: str, summary: str, files: Sequence[FileStep] = (), refs: Sequence[RefStep] = (),
        scope: GitScope = NO_GIT,
    ) -> Change:  # fmt: skip
        """Do it all, files in their order and then the refs, or nothing of it: then ToolFailure, or Moved when
        something is not as `before` says."""
        entry = JournalEntry(
            id=new_id(), tool=tool, caller=_text(caller), summary=_text(summary), at=utc(time()),
            refs=tuple(one for one in refs if one.before != one.after),
            repository=scope.repository, branch=scope.branch, pull=scope.pull,
        )  # fmt: skip
        return self.carry_out(entry, files)

    def undo(self, id: str, *, by: str) -> Change:
        """Take a change back; ToolFailure that names what is newer where something depends on it."""
        return undo(self, id, by)

    def carry_out(self, entry: JournalEntry, files: Sequence[FileStep]) -> Change:
        """Do what an entry is about."""
        steps, kept, made = plan_steps(files)
        root = os.path.realpath(self.desk.sight.root)
        ready = replace(entry, files=tuple(kept), made=tuple(made), root=root, seal=seal_of(self.lock))
        filed = do(self.journal, ready, steps, self.refs(entry))
        make_room(self.journal, filed)
        return replace(filed.change(), files=tuple(steps))

    def refs(self, entry: JournalEntry) -> Refs:
        return Refs(self.desk.sight, entry.repository, self.lock, entry.caller)


def _text(told: str) -> str:
    """On one line, and such that any JSON can carry it."""
    return " ".join(told.encode(errors="replace").decode().split())[:500]
