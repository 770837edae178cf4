"""Branches that tools work on: who owns each, where it began, and which of its files are changed and not committed.

A record is a document on the desk. What is not committed yet stands in files of its own, one for each path, so that a
change of one file can be taken back whatever happened to another.
"""

import os
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from msgspec import DecodeError, Struct
from msgspec.json import decode, encode
from msgspec.structs import replace

from rightcall.errors import ToolFailure
from rightcall.execute.code.git.pointers import small_file
from rightcall.execute.write.changes import FileStep
from rightcall.execute.write.git import Writer
from rightcall.execute.write.git_refs import HEADS
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk

BRANCHES: Final = "branches"
TREES: Final = "trees"
_DIRTY = "dirty"
_LONGEST_PATH = 4096
_SHOWN = 200
_MOST_NAMED = 20
_NO_SLUG = re.compile(r"[^a-z0-9]+")


class BranchRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    owner: str
    """The caller who made it, and the only one who works on it."""
    base: str
    """The branch where it began; empty when that was a commit without one."""
    start: str
    """The commit where it began."""
    repository: str = ""
    """The folder of the repository's work tree below the root."""
    tree: str
    """The absolute path of its worktree, which is made when it is first needed."""
    made: str
    merged: str = ""
    """The commit that merged it: then nobody works on it any more."""
    dirty: tuple[str, ...] = ()
    """Paths that tools have changed and not committed; found anew whenever the record is read."""

    @property
    def ref(self) -> str:
        return HEADS + self.name

    @property
    def slug(self) -> str:
        """Its name as a file name, also that of its worktree's registration."""
        return os.path.basename(self.tree)


def slug_of(desk: "Desk", name: str) -> str:
    """A file name for a branch: readable, and different for every branch and every desk."""
    readable = _NO_SLUG.sub("-", name.casefold()).strip("-")[:40] or "branch"
    distinct = "\0".join((desk.folder, name)).encode(errors="surrogatepass")
    return f"{readable}-{sha256(distinct).hexdigest()[:8]}"


def tree_of(desk: "Desk", name: str) -> str:
    return os.path.join(desk.folder, TREES, slug_of(desk, name))


def branch_record(desk: "Desk", name: str) -> BranchRecord | None:
    """The record of a branch, None when no tool has made it."""
    slug = slug_of(desk, name)
    content = desk.document(BRANCHES, slug)
    if content is None:  # the desk may have been elsewhere when it was made
        return next((record for record in all_branches(desk) if record.name == name), None)
    record = _read(desk, slug, content)
    if record is None or record.name != name:
        raise ToolFailure(f"The record of the branch {escaped(name, _SHOWN)} is damaged")
    return record


def all_branches(desk: "Desk") -> list[BranchRecord]:
    """The records of all branches that tools have made, the newest last; a damaged one is left out."""
    found: dict[str, BranchRecord] = {}
    read = [_read(desk, slug, _document(desk, slug)) for slug in desk.documents(BRANCHES)]
    for record in sorted((one for one in read if one is not None), key=lambda record: (record.made, record.name)):
        known = found.get(record.name)
        if known is None or known.slug != slug_of(desk, record.name):  # made here once more, after the desk was moved
            found[record.name] = record
    return list(found.values())


def _document(desk: "Desk", slug: str) -> bytes:
    try:
        return desk.document(BRANCHES, slug) or b""
    except ToolFailure:
        return b""


def _read(desk: "Desk", slug: str, content: bytes) -> BranchRecord | None:
    """None for what is no record. Where its worktree is, the desk says: it may have been moved with it."""
    try:
        record = decode(content, type=BranchRecord)
    except (DecodeError, UnicodeDecodeError):
        return None
    return replace(record, tree=os.path.join(desk.folder, TREES, slug), dirty=_dirty(desk, slug))


def branch_step(desk: "Desk", record: BranchRecord) -> FileStep:
    """The step that writes a record, from what it is now. Under the lock only."""
    return desk.document_step(BRANCHES, record.slug, encode(replace(record, dirty=())) + b"\n")


def dirty_step(desk: "Desk", record: BranchRecord, path: str, dirty: bool) -> FileStep | None:
    """The step that marks a path as changed and not committed, or the opposite; None when it is so already."""
    if (path in record.dirty) == dirty:
        return None
    content = os.fsencode(path)
    name = f"{_DIRTY}/{record.slug}/{sha256(content).hexdigest()[:32]}"
    return FileStep(desk.folder, name, None if dirty else content, content if dirty else None, 0o600)


def open_branches(desk: "Desk", writer: Writer, caller: str) -> list[BranchRecord]:
    """The branches that a caller can work on: neither merged nor gone, nor damaged."""
    own = [record for record in all_branches(desk) if record.owner == caller and not record.merged]
    return [record for record in own if writer.tip_or_none(record.name) is not None]


def branch_for(desk: "Desk", caller: str, named: str | None, writer: Writer | None = None) -> BranchRecord:
    """The branch that a caller means: the one that is named, else the only open one. Raises ToolFailure that says which
    there are, and what to do."""
    writer = writer or Writer(desk.sight)
    if named is None or not named.strip():
        return _only(open_branches(desk, writer, caller))
    named = named.strip().removeprefix(HEADS)
    shown = escaped(named, _SHOWN)
    record = branch_record(desk, named)
    if record is None:
        raise ToolFailure(
            f"branch: {shown} is no branch that a tool has made, and tools work on no others. "
            f"{_advice(open_branches(desk, writer, caller))}"
        )
    if record.owner != caller:
        raise ToolFailure(
            f"branch: {shown} is {escaped(record.owner, 100)}'s: nobody else works on it. "
            f"{_advice(open_branches(desk, writer, caller))}"
        )
    if record.merged:
        raise ToolFailure(f"branch: {shown} is merged already. code/create-branch makes a new one")
    if writer.tip(named) is None:
        raise ToolFailure(f"branch: {shown} is gone from the repository. code/create-branch makes a new one")
    return record


def _only(found: list[BranchRecord]) -> BranchRecord:
    if len(found) == 1:
        return found[0]
    if not found:
        raise ToolFailure("You have no open branch: make one with code/create-branch, then go on there")
    raise ToolFailure(f"You have more than one open branch: say which with `branch`. {_advice(found)}")


def _advice(found: list[BranchRecord]) -> str:
    if not found:
        return "You have none: code/create-branch makes one"
    names = ", ".join(escaped(record.name, _SHOWN) for record in found[-_MOST_NAMED:])
    return f"Yours: {names}"


def _dirty(desk: "Desk", slug: str) -> tuple[str, ...]:
    folder = os.path.join(desk.folder, _DIRTY, slug)
    try:
        names = os.listdir(folder)
    except OSError:
        return ()
    found = (small_file(os.path.join(folder, name), _LONGEST_PATH) for name in names if not name.startswith("."))
    return tuple(sorted(os.fsdecode(path) for path in found if path))
