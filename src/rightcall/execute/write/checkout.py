"""A person's own checkout, when the branch that it shows is merged into: which files change in it, and whether each is
as it was committed.

    base, merged ─▶ every changed file is exactly what base says, here and in the index ─▶ steps for files and index

Anything uncommitted in the way refuses the merge and is named. What is not in the way is not touched: not the files,
not what is staged, not the stash.
"""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.code.git.pointers import small_file
from rightcall.execute.write.changes import FileStep
from rightcall.execute.write.checkout_index import Index, Version, edited, read_index
from rightcall.execute.write.git import Writer
from rightcall.execute.write.git_refs import checked_out
from rightcall.execute.write.pulls_git import blobs, names
from rightcall.fs.beneath import open_beneath
from rightcall.text.escape import escaped

_FILES: Final = (0o100644, 0o100755)
_INDEX, _LOCK = "index", "index.lock"
_LARGEST_INDEX: Final = 256 << 20
_UNFINISHED: Final = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
}
_HEAD_NAMES: Final = ("rebase-merge/head-name", "rebase-apply/head-name")


Changes = Mapping[str, tuple[Version | None, Version | None]]
"""By path: the version of a file before and after."""


class Checkout(Struct, frozen=True):
    """A checkout in which nothing is in the way of going from one commit to another."""

    tree: str
    git_dir: str
    changes: Changes
    index: bytes | None
    written: int
    old: Mapping[str, bytes]
    """The content of each blob that is replaced."""


def clean_checkout(writer: Writer, base: str, old: str, new: str) -> Checkout | None:
    """The person's checkout, looked over: None unless the branch `base` is checked out there, or where nothing changes.
    `new` may be a tree. Raises ToolFailure where something is in the way."""
    repository = writer.repository
    shown_at = checked_out(repository.common_dir).get(base)
    _refuse_rebased(repository.common_dir, base)
    if shown_at is None:
        return None
    if os.path.realpath(shown_at) != os.path.realpath(repository.git_dir):
        raise ToolFailure(
            f"{escaped(base, 200)} is checked out in another worktree, whose files would no longer fit: "
            "`git worktree list` shows where; check out another branch there"
        )
    _refuse_unfinished(repository.git_dir)
    changes = _changes(writer, old, new)
    index, written = _index_file(repository.git_dir)
    _refuse_staged(read_index(index), changes)
    contents = blobs(writer, [before[1] for before, _ in changes.values() if before is not None])
    _refuse_dirty(repository.work_tree, changes, contents)
    return Checkout(repository.work_tree, repository.git_dir, changes, index, written, contents) if changes else None


def checkout_steps(writer: Writer, clean: Checkout | None) -> tuple[FileStep, ...]:
    """The steps that bring it there; the blobs must be in the repository by now. Files that go come first."""
    if clean is None:
        return ()
    new = blobs(writer, [after[1] for _, after in clean.changes.values() if after is not None])
    steps = [_step(clean, path, before, after, new) for path, (before, after) in clean.changes.items()]
    steps.sort(key=lambda step: (step.after is not None, step.path))
    index = edited(clean.index, clean.written, {path: version for path, (_, version) in clean.changes.items()})
    return (*steps, FileStep(clean.git_dir, _INDEX, clean.index, index, mode=0o644, lock=_LOCK))


def _step(
    clean: Checkout, path: str, before: Version | None, after: Version | None, new: Mapping[str, bytes]
) -> FileStep:
    return FileStep(
        clean.tree,
        path,
        None if before is None else clean.old[before[1]],
        None if after is None else new[after[1]],
        mode=0o755 if after is not None and after[0] & 0o100 else 0o644,
        keep=before is None or after is None or before[0] == after[0],
    )


def _changes(writer: Writer, old: str, new: str) -> Changes:
    before, after = writer.paths(old), writer.paths(new)
    changed = {path: (before.get(path), after.get(path)) for path, _ in writer.changed(old, new)}
    special = [
        path for path, versions in changed.items() if any(one is not None and one[0] not in _FILES for one in versions)
    ]
    if special:
        raise ToolFailure(
            f"The branch changes links or submodules, which are not put into a checkout from here: {names(special)}. "
            "Check out another branch, or merge it with git"
        )
    _refuse_turned(changed)
    return changed


def _refuse_turned(changed: Changes) -> None:
    """Each file is a step of its own, compared and put back by its own name: none can stand where another's folder was
    a moment ago."""
    gone = {path for path, (before, after) in changed.items() if before is not None and after is None}
    came = {path for path, (before, after) in changed.items() if before is None and after is not None}
    turned = {
        above for paths, others in ((came, gone), (gone, came)) for path in paths for above in _above(path) & others
    }
    if turned:
        raise ToolFailure(
            f"The branch turns a file into a folder, or a folder into a file, which is not put into a checkout from "
            f"here: {names(sorted(turned))}. Check out another branch, or merge it with git"
        )


def _above(path: str) -> set[str]:
    parts = path.split("/")
    return {"/".join(parts[:length]) for length in range(1, len(parts))}


def _refuse_rebased(common_dir: str, base: str) -> None:
    """A rebase has the branch in hand although it is not checked out: it would overwrite what is merged meanwhile."""
    folders = [common_dir]
    with suppress(OSError):
        linked = os.path.join(common_dir, "worktrees")
        folders += [os.path.join(linked, name) for name in os.listdir(linked)]
    for folder in folders:
        for name in _HEAD_NAMES:
            held = small_file(os.path.join(folder, name)) or b""
            if held.strip() == b"refs/heads/" + os.fsencode(base):
                raise ToolFailure(f"{escaped(base, 200)} is being rebased: finish that first")


def _refuse_unfinished(git_dir: str) -> None:
    for name, what in _UNFINISHED.items():
        if os.path.lexists(os.path.join(git_dir, name)):
            raise ToolFailure(f"{what.capitalize()} is under way in the checkout: finish or abort it first")


def _index_file(git_dir: str) -> tuple[bytes | None, int]:
    """The index, and when it was written."""
    try:
        fd = os.open(os.path.join(git_dir, _INDEX), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None, 0
    except OSError:
        raise ToolFailure("The checkout's index (.git/index) cannot be read") from None
    with os.fdopen(fd, "rb") as file:
        seen = os.fstat(fd)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > _LARGEST_INDEX:
            raise ToolFailure("The checkout's index (.git/index) is no file that can be read")
        return file.read(), seen.st_mtime_ns


def _refuse_staged(index: Index, changes: Changes) -> None:
    if any(one.is_skipped for one in index.entries):
        raise ToolFailure(
            "The checkout is sparse: some of its files are left out, and a merge cannot be put into it from here. "
            "`git sparse-checkout disable` makes it whole"
        )
    if any(one.stage for one in index.entries):
        raise ToolFailure("The checkout has files with unresolved conflicts: resolve them first")
    staged = index.staged()
    promised = {one.name for one in index.entries if one.is_promised}
    in_the_way = [
        path
        for path, (before, _) in changes.items()
        if staged.get(path) != before or os.fsencode(path) in promised
    ]  # fmt: skip
    _refuse(in_the_way, "has staged changes in the way of the merge", "commit or unstage them first")


def _refuse_dirty(tree: str, changes: Changes, contents: Mapping[str, bytes]) -> None:
    top = os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        dirty = [
            path
            for path, (before, _) in changes.items()
            if not (_is_free(top, path) if before is None else _is_as(top, path, before[0], contents[before[1]]))
        ]
    finally:
        os.close(top)
    _refuse(
        dirty,
        "has uncommitted changes in the way of the merge",
        "commit or move them first; a file that git converts (line ends, filters) counts as changed, too",
    )


def _is_as(top: int, path: str, mode: int, content: bytes) -> bool:
    """Whether a file of the checkout is as committed."""
    try:
        fd = open_beneath(top, path, os.O_RDONLY)
    except (OSError, ValueError):
        return False
    with os.fdopen(fd, "rb") as file:
        seen = os.fstat(fd)
        if not stat.S_ISREG(seen.st_mode) or bool(seen.st_mode & 0o100) != bool(mode & 0o100):
            return False
        return seen.st_size == len(content) and file.read(len(content) + 1) == content


def _is_free(top: int, path: str) -> bool:
    """Whether nothing has this name, and its folders are folders."""
    parts = path.split("/")
    for length in range(1, len(parts) + 1):
        way = "/".join(parts[:length])
        try:
            seen = os.lstat(way, dir_fd=top)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        if length == len(parts) or not stat.S_ISDIR(seen.st_mode):
            return False
    return True


def _refuse(paths: list[str], what: str, advice: str) -> None:
    if paths:
        raise ToolFailure(f"The checkout {what}: {names(sorted(paths))}. Nothing was merged; {advice}")
