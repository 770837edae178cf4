"""The desk: where changes are journaled, done, and kept to be taken back. One lock for all processes that write.

    with desk.working() as worker:                 # whatever a killed process left half done is rolled back first
        step = FileStep(tree, "a.txt", before, after)
        change = worker.apply(tool="file/save", caller="teacher", summary="save a.txt", files=[step])

Below its folder: `lock`, `begun/` and `changes/` (see `journal`), `branches/`, `pulls/` (documents), `trees/`.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from time import time
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from msgspec.structs import replace

from rightcall.errors import ToolFailure
from rightcall.execute.code.moments import utc
from rightcall.execute.write.changes import NO_GIT, Change, FileStep, GitScope, RefStep, new_id
from rightcall.execute.write.desk_opening import distrust, furnished, is_own, locked, opened, seal_of
from rightcall.execute.write.doing import do, planned, roll_back
from rightcall.execute.write.journal import BEGUN, DAMAGED, FOREIGN, Contents, Filed, Journal, JournalEntry
from rightcall.execute.write.keeping import make_room
from rightcall.execute.write.refs import Refs
from rightcall.fs.sight import Sight
from rightcall.fs.spots import describe_error, failure, seen_file, shown_path
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.config_hands import WriteSettings

PATIENCE: Final = 10.0
"""Seconds to wait for another process that writes."""
_ENDING = ".json"
_LONGEST_NAME = 240
_LONGEST_SUMMARY = 500


class Desk:
    """Where changes are kept. Makes nothing until something is written."""

    def __init__(self, folder: str, sight: Sight, settings: "WriteSettings") -> None:
        above, name = os.path.split(os.path.abspath(folder))
        self.folder = os.path.join(os.path.realpath(above), name)
        """Its true path: from now on no link on the way is followed."""
        self.sight = sight
        self.settings = settings
        self.journal = Journal(self.folder)

    @contextmanager
    def working(self, patience: float = PATIENCE) -> Generator["Worker"]:
        """The lock shared by all processes; ToolFailure when it is held for longer than `patience` seconds."""
        with opened(self.folder) as here, locked(here, patience, self.folder) as lock:
            furnished(here, self.folder)
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
            raise ToolFailure(f"There is no change {escaped(id, 60)}; `rightcall undo` lists the last ones")
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
    if not name or len(file) > _LONGEST_NAME:
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
        from rightcall.execute.write.undoing import undo

        return undo(self, id, by)

    def carry_out(self, entry: JournalEntry, files: Sequence[FileStep]) -> Change:
        """Do what an entry is about."""
        steps, kept, made = planned(files)
        root = os.path.realpath(self.desk.sight.root)
        ready = replace(entry, files=tuple(kept), made=tuple(made), root=root, seal=seal_of(self.lock))
        filed = do(self.journal, ready, steps, self.refs(entry))
        make_room(self.journal, filed)
        return replace(filed.change(), files=tuple(steps))

    def refs(self, entry: JournalEntry) -> Refs:
        return Refs(self.desk.sight, entry.repository, self.lock, entry.caller)


def _text(told: str) -> str:
    """On one line, and such that any JSON can carry it."""
    return " ".join(told.encode(errors="replace").decode().split())[:_LONGEST_SUMMARY]
