"""The worktree of a branch: its files in a folder on the desk, registered with the repository as `git worktree add`
does it, so that a person can go there and use git. Never anybody's checkout.

    checked out under a passing name ─▶ renamed into place ─▶ registered in <git>/worktrees/<slug>

Everything here happens under the desk's lock. Whatever a killed process has left is finished, or removed, by the next.
"""

import os
import shutil
import stat
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from rightcall.errors import ToolFailure
from rightcall.execute.code.git.pointers import small_file
from rightcall.execute.write.branches import BRANCHES, TREES, BranchRecord, all_branches, branch_record
from rightcall.execute.write.git import Writer
from rightcall.execute.write.git_refs import checked_out
from rightcall.execute.write.worktree_clean import is_clean
from rightcall.fs.beneath import path_of
from rightcall.fs.spots import describe_error, failure, make_tree, opened_tree, seen_file, spot
from rightcall.fs.writing import Written, step, write
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk

_REGISTERED: Final = "worktrees"
_MARK = "rightcall"
"""A file beside the registered index: the commit that the index was made for."""
_FILES = ("gitdir", "commondir", "HEAD", "index", _MARK)
_INDEX_LOCK = "index.lock"
_PASSING, _KEPT = ".new-", ".kept-"
_SHOWN = 300


def prepare(desk: "Desk", writer: Writer, record: BranchRecord) -> None:
    """Make the worktree, or bring what git keeps about it up to date. Raises ToolFailure when it cannot be used."""
    tip = writer.tip(record.name)
    if tip is None:
        raise ToolFailure(f"branch: {escaped(record.name, 200)} is gone from the repository")
    check_free(writer, record)
    if os.path.islink(record.tree):
        raise ToolFailure(
            f"The worktree {escaped(record.tree, _SHOWN)} is a link, and tools do not write through links"
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
    held = checked_out(writer.repository.common_dir).get(record.name)
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
            f"{escaped(record.tree, _SHOWN)} brings it back"
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
    made = writer.index_of(tip) if index is None else writer.index_moved(index.content, known, tip)
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
        raise ToolFailure(f"{path} in the git directory is no folder: no worktree can be registered")


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
