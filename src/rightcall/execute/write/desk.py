"""The desk: where changes are journaled, done, and kept to be taken back. One lock for all processes that write.

    with desk.working() as worker:                 # whatever a killed process left half done is rolled back first
        step = FileStep(tree, "a.txt", before, after)
        change = worker.apply(tool="file/save", caller="teacher", summary="save a.txt", files=[step])

Below its folder: `lock`, `changes/<id>/` (change.json and the bytes), `branches/`, `pulls/` (documents), `trees/`.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rightcall.execute.write.changes import Change, FileStep, RefStep
from rightcall.fs.sight import Sight

if TYPE_CHECKING:
    from rightcall.config_hands import WriteSettings

PATIENCE = 10.0
"""Seconds to wait for another process that writes."""


class Desk:
    """Where changes are kept. Makes nothing until something is written."""

    def __init__(self, folder: str, sight: Sight, settings: "WriteSettings") -> None:
        self.folder = folder
        self.sight = sight
        self.settings = settings

    @contextmanager
    def working(self, patience: float = PATIENCE) -> Generator["Worker"]:
        """The lock shared by all processes; ToolFailure when it is held for longer than `patience` seconds."""
        raise NotImplementedError
        yield

    def changes(self, limit: int = 50) -> list[Change]:
        """The latest changes, newest first, without the contents of their files."""
        raise NotImplementedError

    def change(self, id: str) -> Change:
        """One change, with contents as far as they are kept; ToolFailure when there is none."""
        raise NotImplementedError

    def document(self, kind: str, name: str) -> bytes | None:
        """A record that tools keep beside their changes, such as `("branches", "fix-login")`; None: there is none."""
        raise NotImplementedError

    def documents(self, kind: str) -> list[str]:
        """The names of all of a kind, sorted."""
        raise NotImplementedError

    def document_step(self, kind: str, name: str, after: bytes | None) -> FileStep:
        """The step that writes or removes a document, from what it is now. Within `working` only."""
        raise NotImplementedError


class Worker:
    """Whoever holds the lock."""

    def __init__(self, desk: Desk, notes: tuple[str, ...] = ()) -> None:
        self.desk = desk
        self.notes = notes
        """What was found half done and rolled back, in words."""

    def apply(
        self, *, tool: str, caller: str, summary: str, files: Sequence[FileStep] = (), refs: Sequence[RefStep] = (),
        repository: str = "", branch: str = "", pull: str = "",
    ) -> Change:  # fmt: skip
        """Do it all, files in their order and then the refs, or nothing of it: then ToolFailure, or Moved when
        something is not as `before` says."""
        raise NotImplementedError

    def undo(self, id: str, *, by: str) -> Change:
        """Take a change back; ToolFailure that names what is newer where something depends on it."""
        raise NotImplementedError
