"""Branches that tools work on: who owns each, where it began, and which of its files are changed and not committed.

A record is a document on the desk. What is not committed yet stands in files of its own, one for each path, so that a
change of one file can be taken back whatever happened to another.
"""

import os
import re
import shutil
import stat
from contextlib import suppress
from functools import partial
from hashlib import sha1, sha256
from typing import TYPE_CHECKING, Final

from msgspec import DecodeError, Struct
from msgspec.json import decode, encode
from msgspec.structs import replace

from rightcall.base.files.sight import path_of
from rightcall.base.files.write import (
    Written,
    describe_error,
    failure,
    make_tree,
    opened_tree,
    seen_file,
    spot,
    step,
    write,
)
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure
from rightcall.tools.git.repository import small_file
from rightcall.tools.write.changes import FileStep
from rightcall.tools.write.plumbing import Writer
from rightcall.tools.write.refs import HEADS, find_checkouts

if TYPE_CHECKING:
    from rightcall.tools.write.desk import Desk


BRANCHES: Final = "branches"
TREES: Final = "trees"
_DIRTY = "dirty"
_SHOWN = 200
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
            f"branch: {shown} is not a branch made by a tool; tools work only on those. "
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
    names = ", ".join(escaped(record.name, _SHOWN) for record in found[-20:])
    return f"Yours: {names}"


def _dirty(desk: "Desk", slug: str) -> tuple[str, ...]:
    folder = os.path.join(desk.folder, _DIRTY, slug)
    try:
        names = os.listdir(folder)
    except OSError:
        return ()
    found = (small_file(os.path.join(folder, name), 4096) for name in names if not name.startswith("."))
    return tuple(sorted(os.fsdecode(path) for path in found if path))


# ── whether a worktree is clean ──
# Whether a folder holds the files of a commit and nothing else: then it can go without a loss.

_LINK, _SUBMODULE = 0o120000, 0o160000


def is_clean(writer: Writer, commit: str, folder: str) -> bool:
    """Says no wherever it cannot tell."""
    try:
        entries = dict(writer.paths(commit))
        found = _files(folder)
    except (ToolFailure, OSError):
        return False
    wanted = {path: entry for path, entry in entries.items() if entry[0] != _SUBMODULE}
    if found != wanted.keys():
        return False
    try:
        return all(_blob(os.path.join(folder, path), entry) for path, entry in wanted.items())
    except OSError:
        return False


def _files(folder: str) -> set[str]:
    found: set[str] = set()
    for here, folders, names in os.walk(folder, onerror=_raise):
        inside = os.path.relpath(here, folder)
        links = [name for name in folders if os.path.islink(os.path.join(here, name))]
        for name in (*names, *links):
            if inside == "." and name == ".git":
                continue
            found.add(name if inside == "." else f"{inside}/{name}")
    return found


def _raise(error: OSError) -> None:
    raise error


def _blob(path: str, entry: tuple[int, str]) -> bool:
    """Whether a file is the blob that a commit names."""
    mode, oid = entry
    kind = os.lstat(path).st_mode
    if mode == _LINK:
        if not stat.S_ISLNK(kind):
            return False
        content = os.fsencode(os.readlink(path))
    else:
        if not stat.S_ISREG(kind) or bool(kind & 0o100) != bool(mode & 0o100):
            return False
        with open(path, "rb") as file:
            content = file.read()
    whole = b"blob %d\0" % len(content) + content
    made = sha1(whole, usedforsecurity=False) if len(oid) == 40 else sha256(whole)
    return made.hexdigest() == oid


# ── worktree ──
# The worktree of a branch: its files in a folder on the desk, registered with the repository as `git worktree add`
# does it, so that a person can go there and use git. Never anybody's checkout.
#
#     checked out under a passing name ─▶ renamed into place ─▶ registered in <git>/worktrees/<slug>
#
# Everything here happens under the desk's lock. Whatever a killed process has left is finished, or removed, by the
# next.

_REGISTERED: Final = "worktrees"
_MARK = "rightcall"
"""A file beside the registered index: the commit that the index was made for."""
_FILES = ("gitdir", "commondir", "HEAD", "index", _MARK)
_INDEX_LOCK = "index.lock"
_PASSING, _KEPT = ".new-", ".kept-"
_SHOWN_WORKTREE = 300


def prepare(desk: "Desk", writer: Writer, record: BranchRecord) -> None:
    """Make the worktree, or bring what git keeps about it up to date. Raises ToolFailure when it cannot be used."""
    tip = writer.tip(record.name)
    if tip is None:
        raise ToolFailure(f"branch: {escaped(record.name, 200)} is gone from the repository")
    check_free(writer, record)
    if os.path.islink(record.tree):
        raise ToolFailure(
            f"The worktree {escaped(record.tree, _SHOWN_WORKTREE)} is a link, and tools do not write through links"
        )
    if not os.path.isdir(record.tree):
        _check_out(desk, writer, record, tip)
    _sweep(writer, record.slug)
    _register(writer, record, tip)
    _lead_here(writer, record)
    _bring_index(writer, record, tip)


def settle(writer: Writer, record: BranchRecord) -> None:
    """After the branch has moved by our doing: the index follows, if there is a worktree."""
    tip = writer.tip(record.name)
    if tip is not None and exists(writer, record):
        _bring_index(writer, record, tip)


def follow(desk: "Desk", repository: str = "") -> None:
    """After branches were moved or removed without their worktrees, by an undo: these follow. What fails is caught up
    with when the branch is next worked on."""
    with suppress(ToolFailure, OSError):
        writer = Writer(desk.sight, repository)
        tidy(desk, writer)
        for record in all_branches(desk):
            with suppress(ToolFailure, OSError):
                _sweep(writer, record.slug)
                settle(writer, record)


def bring_back(desk: "Desk", repository: str, name: str) -> None:
    """Before a commit is taken back: its files go on in the worktree, which is made anew where a merge has removed it.
    Raises ToolFailure when it cannot be used."""
    record = branch_record(desk, name)
    writer = Writer(desk.sight, repository)
    if record is not None and not exists(writer, record):
        prepare(desk, writer, record)


def exists(writer: Writer, record: BranchRecord) -> bool:
    """Whether the worktree is there."""
    return os.path.isdir(record.tree) and small_file(_registration(writer, record.slug, "gitdir")) is not None


def check_free(writer: Writer, record: BranchRecord) -> None:
    """Raises ToolFailure where the branch is checked out by somebody else, or something else is in its worktree."""
    held = find_checkouts(writer.repository.common_dir).get(record.name)
    own = _registration(writer, record.slug)
    name = escaped(record.name, 200)
    if held is not None and held != own:
        raise ToolFailure(
            f"The branch {name} is checked out by a person: tools leave it alone until another one is checked out there"
        )
    head = small_file(os.path.join(own, "HEAD"))
    if head is not None and head.strip() != f"ref: {record.ref}".encode():
        raise ToolFailure(
            f"A person has something else checked out in the worktree of {name}: `git switch {name}` in "
            f"{escaped(record.tree, _SHOWN_WORKTREE)} brings it back"
        )


def tidy(desk: "Desk", writer: Writer) -> None:
    """Remove the worktrees of branches that are gone or merged, and what killed processes have left. Files that were
    changed there by hand are kept, under another name."""
    folder = os.path.join(desk.folder, TREES)
    with suppress(OSError), opened_tree(folder) as trees:
        _tidy(desk, writer, path_of(trees, folder))


def _tidy(desk: "Desk", writer: Writer, folder: str) -> None:
    names = os.listdir(folder)
    if not names:
        return
    known = all_branches(desk)
    live = {record.slug for record in known if (record.dirty or not record.merged) and _may_be_there(writer, record)}
    live |= set(desk.documents(BRANCHES)) - {record.slug for record in known}  # nobody knows what a damaged record says
    for name in names:
        if name.startswith(_PASSING):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
        elif not name.startswith(_KEPT) and name not in live:
            _remove(writer, os.path.join(folder, name), os.path.join(desk.folder, TREES, name))


def _may_be_there(writer: Writer, record: BranchRecord) -> bool:
    """Whether a branch is there, or cannot be read: then its files are left alone."""
    try:
        return writer.tip(record.name) is not None
    except ToolFailure:
        return True


def _remove(writer: Writer, tree: str, name: str) -> None:
    """The worktree at a path that is ours; `name` is the one it is registered by."""
    slug = os.path.basename(tree)
    mark = small_file(_registration(writer, slug, _MARK)) or b""
    if mark and is_clean(writer, mark.decode(errors="replace").strip(), tree):
        shutil.rmtree(tree, ignore_errors=True)
    else:
        with suppress(OSError):
            os.rename(tree, os.path.join(os.path.dirname(tree), f"{_KEPT}{slug}-{os.urandom(3).hex()}"))
    common = writer.repository.common_dir
    with suppress(OSError), opened_tree(common) as top:
        if _names_tree(writer, slug, name):
            with opened_tree(os.path.join(common, _REGISTERED)) as registered:
                shutil.rmtree(slug, ignore_errors=True, dir_fd=registered)
        os.rmdir(_REGISTERED, dir_fd=top)  # the last one takes the folder with it, as git does it


def _check_out(desk: "Desk", writer: Writer, record: BranchRecord, tip: str) -> None:
    folder = os.path.join(desk.folder, TREES)
    passing = f"{_PASSING}{record.slug}-{os.urandom(4).hex()}"
    try:
        make_tree(folder)
        with opened_tree(folder) as trees:
            try:
                writer.checkout(tip, os.path.join(folder, passing))
                with opened_tree(os.path.join(folder, passing)) as fd:
                    step("checked out")
                    with open(".git", "xb", opener=partial(os.open, dir_fd=fd)) as file:
                        file.write(_leading(writer, record))
                os.rename(passing, record.slug, src_dir_fd=trees, dst_dir_fd=trees)
                step("worktree")
            finally:
                shutil.rmtree(passing, ignore_errors=True, dir_fd=trees)
    except OSError as error:
        raise ToolFailure(f"The worktree cannot be made: {describe_error(error)}") from error


def _register(writer: Writer, record: BranchRecord, tip: str) -> None:
    """As `git worktree add` does it. The mark comes last: what lacks it is made anew."""
    slug = record.slug
    if small_file(_registration(writer, slug, _MARK)) is not None and _names_tree(writer, slug, record.tree):
        return
    common = writer.repository.common_dir
    _folder(common, _REGISTERED)
    _folder(common, f"{_REGISTERED}/{slug}")
    named = small_file(_registration(writer, slug, "gitdir"))
    if named is not None and not _names_tree(writer, slug, record.tree) and not _was_moved(writer, slug, named):
        raise ToolFailure(f"The repository has a worktree {slug} already, of somebody else")
    _put(writer, slug, "gitdir", os.fsencode(os.path.join(record.tree, ".git")) + b"\n")
    if named is not None and small_file(_registration(writer, slug, _MARK)) is not None:
        return  # it was elsewhere, and is as it was apart from that
    _put(writer, slug, "commondir", b"../..\n")
    _put(writer, slug, "HEAD", f"ref: {record.ref}\n".encode())
    _put(writer, slug, "index", writer.index_of(tip), lock=_INDEX_LOCK)
    _put(writer, slug, _MARK, f"{tip}\n".encode())


def _was_moved(writer: Writer, slug: str, named: bytes) -> bool:
    """Whether a registration is one of ours that names another folder only since the project was moved or copied: what
    is there by now, if anything, does not lead here."""
    if small_file(_registration(writer, slug, _MARK)) is None:
        return False
    there = os.fsdecode(named.rstrip(b"\n"))
    leads = os.fsdecode((small_file(there) or b"").removeprefix(b"gitdir: ").rstrip(b"\n"))
    return os.path.realpath(os.path.join(os.path.dirname(there), leads)) != os.path.realpath(
        _registration(writer, slug)
    )


def _leading(writer: Writer, record: BranchRecord) -> bytes:
    return b"gitdir: " + os.fsencode(_registration(writer, record.slug)) + b"\n"


def _lead_here(writer: Writer, record: BranchRecord) -> None:
    """The worktree names its registration, also after both were moved."""
    wanted = _leading(writer, record)
    if small_file(os.path.join(record.tree, ".git")) == wanted:
        return
    try:
        with spot(record.tree, ".git") as here:
            found = here.seen()
            here.drop(_beside(".git"))
            write(here, Written(None if found is None else found.content, wanted), _beside(".git"))
    except OSError as error:
        raise failure(error, os.path.join(record.tree, ".git")) from error


def _bring_index(writer: Writer, record: BranchRecord, tip: str) -> None:
    """The index follows a branch that was moved without it: by a commit of ours, or its undoing. What a person has
    staged stays."""
    known = (small_file(_registration(writer, record.slug, _MARK)) or b"").decode(errors="replace").strip()
    if known == tip:
        return
    index = seen_file(writer.repository.common_dir, f"{_REGISTERED}/{record.slug}/index")
    made = writer.index_of(tip) if index is None else writer.moved_index(index.content, known, tip)
    _put(writer, record.slug, "index", made, lock=_INDEX_LOCK)
    _put(writer, record.slug, _MARK, f"{tip}\n".encode())


def _registration(writer: Writer, slug: str, name: str = "") -> str:
    whole = os.path.join(writer.repository.common_dir, _REGISTERED, slug)
    return os.path.join(whole, name) if name else whole


def _names_tree(writer: Writer, slug: str, tree: str) -> bool:
    named = small_file(_registration(writer, slug, "gitdir")) or b""
    return os.fsdecode(named.rstrip(b"\n")) == os.path.join(tree, ".git")


def _folder(common: str, path: str) -> None:
    """A folder of the git directory, made if it is not there; a link in its place is an error."""
    try:
        with spot(common, path) as here:
            with suppress(FileExistsError):
                os.mkdir(here.name, 0o777, dir_fd=here.folder)
            kind = os.stat(here.name, dir_fd=here.folder, follow_symlinks=False).st_mode
    except OSError as error:
        raise ToolFailure(f"No worktree can be registered in the git directory: {describe_error(error)}") from error
    if not stat.S_ISDIR(kind):
        raise ToolFailure(f"{path} in the git directory is not a folder: no worktree can be registered")


def _beside(name: str) -> str:
    """The name of the temporary file, always the same: whoever holds the desk's lock is the only one who writes it."""
    return f".rightcall-{name}.tmp"


def _sweep(writer: Writer, slug: str) -> None:
    """Remove what a killed process has left between two names; git's own lock only if it was ours."""
    for name in _FILES:
        with suppress(OSError), spot(writer.repository.common_dir, f"{_REGISTERED}/{slug}/{name}") as here:
            left = here.identity(_beside(name))
            if left is not None and here.identity(_INDEX_LOCK) == left:
                here.drop(_INDEX_LOCK)
            here.drop(_beside(name))


def _put(writer: Writer, slug: str, name: str, content: bytes, lock: str = "") -> None:
    path = f"{_REGISTERED}/{slug}/{name}"
    try:
        with spot(writer.repository.common_dir, path) as here:
            found = here.seen()
            before = None if found is None else found.content
            if before != content:
                write(here, Written(before, content, 0o644, lock=lock), _beside(name))
    except OSError as error:
        raise failure(error, path) from error
