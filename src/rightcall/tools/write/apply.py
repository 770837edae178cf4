"""Doing a change, whole or not at all, and rolling back what was left half done.

    plan: compare, name what is made ─▶ journal ─▶ folders ─▶ files in their order ─▶ refs ─▶ done

Back it goes in the other order. A file that is neither as before nor as after is somebody else's by now, and stays.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from errno import ENOENT, ENOTDIR
from typing import TYPE_CHECKING

from rightcall.base.files.sight import Sight, no_repository, repository_made
from rightcall.base.files.write import (
    Differs,
    describe_error,
    failure,
    make_folders,
    mend,
    missing_folders,
    opened_tree,
    plain_path,
    remove_folders,
    seen_file,
    shown_path,
    spot,
    step,
    write,
)
from rightcall.base.text import escaped
from rightcall.errors import ToolFailure
from rightcall.tools.write.changes import (
    BEGUN,
    DAMAGED,
    DONE,
    Contents,
    Damaged,
    Filed,
    FileStep,
    Journal,
    JournalEntry,
    Kept,
    Made,
    Moved,
    RefStep,
    backwards,
    forwards,
)

if TYPE_CHECKING:
    from rightcall.tools.write.git import Writer


# ── refs ──
# The refs of a change: set all at once, and put back where nobody has moved them since.

_HEADS = "refs/heads/"


class Refs:
    """Those of one repository below the root. `lock` is held until git has ended, also when we are killed."""

    def __init__(self, sight: Sight, repository: str, lock: int, by: str) -> None:
        self._sight = sight
        self._repository = repository
        self._lock = lock
        self._by = by

    def set(self, steps: Sequence[RefStep]) -> None:
        """All or none. Raises Moved or ToolFailure."""
        if steps:
            self._writer().set_refs(steps, holding=[self._lock], by=self._by)

    def now(self, steps: Sequence[RefStep]) -> list[str | None]:
        """Where each of them is."""
        if not steps:
            return []
        writer = self._writer()
        return [writer.tip(one.name.removeprefix(_HEADS)) for one in steps]

    def back(self, steps: Sequence[RefStep]) -> tuple[list[str], bool]:
        """Put back those that are where they were set to. Returns what to say of the others, and whether one of them
        was set and has been built on since."""
        if not steps or not os.path.isdir(os.path.join(self._sight.root, self._repository)):
            return [], False
        now = self.now(steps)
        ours = [one for one, at in zip(steps, now, strict=True) if at == one.after and at != one.before]
        moved = [(one, at) for one, at in zip(steps, now, strict=True) if at not in (one.before, one.after)]
        if any(self._built_on(one, at) for one, at in moved):
            return [f"{_name(one)} has been built on since; the change stays" for one, _ in moved], True
        self.set([RefStep(one.name, one.after, one.before) for one in ours])
        return [f"{_name(one)} was moved by somebody else; it was left so" for one, _ in moved], False

    def _built_on(self, step: RefStep, at: str | None) -> bool:
        if at is None or step.after is None:
            return False
        try:
            return self._writer().is_ancestor(step.after, at)
        except ToolFailure:  # one of them is not here
            return False

    def _writer(self) -> "Writer":
        from rightcall.tools.write.git import Writer  # late: a file is saved without it

        return Writer(self._sight, self._repository)


def _name(step: RefStep) -> str:
    return f"the branch {escaped(step.name.removeprefix(_HEADS), 200)}"


# ── indexes ──
# Taking back what a change did to a checkout's index, though git has written it again since: it does so whenever it
# has looked at a file.


def index_back(kept: Kept, contents: Contents) -> tuple[bytes, bytes | None] | None:
    """The index as it is and as it would be without the change; None where its files are staged anew. ToolFailure for
    one that cannot be read."""
    from rightcall.tools.write.checkout import taken_back  # late: most changes touch no index

    seen = seen_file(kept.tree, kept.path)
    if seen is None:
        return None
    before, after = contents.read(kept.before), contents.read(kept.after)
    if seen.content == after:
        return seen.content, before
    written = os.stat(os.path.join(kept.tree, kept.path), follow_symlinks=False).st_mtime_ns
    found = taken_back(before, after, seen.content, written)
    return None if found is None else (seen.content, found)


MARK = ".rightcall-"
"""What the names of temporary files begin with."""


def plan_steps(steps: Sequence[FileStep]) -> tuple[list[FileStep], list[Kept], list[Made]]:
    """The steps that change something, how each will be done, and the folders they need. Moved when something is not
    as they say, ToolFailure for what is in the way; nothing was touched."""
    wanted: list[FileStep] = []
    kept: list[Kept] = []
    made: dict[tuple[str, str], Made] = {}
    known: set[tuple[str, str]] = set()
    for one in steps:
        tree = one.tree
        _sayable(f"{tree}/{one.path}")
        if (tree, one.path) in known:
            raise ToolFailure(f"{shown_path(one.path)} is named twice in one change")
        known.add((tree, one.path))
        seen = seen_file(tree, plain_path(one.path))
        if (None if seen is None else seen.content) != one.before:
            raise Moved(f"{shown_path(one.path)} {_how_moved(seen is None, one)}; nothing was changed")
        if one.before == one.after and (one.keep or seen is None or seen.mode == one.mode):
            continue
        if one.after is not None:
            made |= {(tree, path): Made(tree, path) for path in _missing(tree, one.path)}
        wanted.append(one)
        kept.append(
            Kept(
                tree=tree, path=one.path, before=None, after=None, mode=one.mode, keep=one.keep, lock=one.lock,
                was=None if seen is None else seen.mode, beside=f"{MARK}{os.urandom(12).hex()}.tmp",
            )
        )  # fmt: skip
    _no_repositories((there.tree, one.path) for one, there in zip(wanted, kept, strict=True) if not _no_new_name(one))
    return wanted, kept, list(made.values())


def _no_new_name(one: FileStep) -> bool:
    """What goes, and an index of git's own, which belongs where it is."""
    return one.after is None or bool(one.lock)


def _no_repositories(places: Iterable[tuple[str, str]]) -> None:
    """ToolFailure where git would take a folder for a repository afterwards, whichever changes have led there."""
    for tree, paths in _grouped(places):
        try:
            with opened_tree(tree) as top:
                folder = repository_made(top, paths)
        except OSError as error:
            raise failure(error, paths[0]) from error
        if folder is not None:
            raise no_repository(folder)


def _sayable(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise ToolFailure(f"{shown_path(path)} has a name that is no text; tools do not write such files") from None


def _how_moved(gone: bool, one: FileStep) -> str:
    if gone:
        return "is gone since it was looked at"
    return "is there by now; it was not when it was looked at" if one.before is None else "was changed since then"


def _missing(tree: str, path: str) -> list[str]:
    try:
        return missing_folders(tree, path)
    except OSError as error:
        raise failure(error, path) from error


def do(journal: Journal, entry: JournalEntry, steps: Sequence[FileStep], refs: Refs) -> Filed:
    """Everything, or ToolFailure and nothing."""
    try:
        filed = journal.begin(entry, steps)
    except OSError as error:
        raise failure(error, os.path.join(journal.desk, BEGUN)) from error
    path = os.path.join(journal.desk, BEGUN)
    try:
        contents = Contents(filed.folder)
        for tree, folders in _by_tree(entry.made):
            path = folders[-1]
            make_folders(tree, folders)
        for kept in filed.entry.files:
            path = kept.path
            with spot(kept.tree, kept.path) as here:
                write(here, forwards(kept, contents), kept.beside)
            step("file")
        refs.set(entry.refs)
        step("refs")
        for tree, folders in _by_tree(entry.emptied):
            remove_folders(tree, folders)
        path = os.path.join(journal.desk, DONE)
        return journal.end(filed)
    except BaseException as error:
        if os.path.lexists(filed.folder):  # else it was done before this came
            _abandoned(journal, filed, refs, error, path)
        if isinstance(error, Differs):
            raise Moved(str(error)) from error
        if isinstance(error, OSError):
            raise failure(error, path) from error
        raise


def _abandoned(journal: Journal, filed: Filed, refs: Refs, error: BaseException, path: str) -> None:
    try:
        roll_back(journal, filed, refs)
    except (ToolFailure, OSError) as again:
        what = f"{shown_path(path)} cannot be written: " if isinstance(error, OSError) else ""
        raise ToolFailure(
            f"{what}{describe_error(error)}. What had been done by then cannot be taken back at this moment "
            f"({describe_error(again)}); that is tried again before anything else is written"
        ) from error


def roll_back(journal: Journal, filed: Filed, refs: Refs) -> list[str]:
    """Take back what was done of a begun change, as often as it is asked; then it is forgotten. Says what stayed since
    it is somebody else's. Raises ToolFailure or OSError when it has to be tried again."""
    entry = filed.entry
    notes, ahead = refs.back(entry.refs)
    if ahead:  # files come before refs: all of it was done, and somebody has built on it
        journal.end(filed)
        return notes
    contents = Contents(filed.folder)
    for tree, folders in _by_tree(entry.emptied):
        with suppress(FileNotFoundError):
            make_folders(tree, folders)
    damaged = False
    for kept in reversed(entry.files):
        try:
            notes += _taken_back(kept, contents, journal)
        except Damaged as error:
            damaged = True
            notes.append(f"{error}: {shown_path(kept.path)} was left as it is")
        except OSError as error:
            if error.errno not in (ENOENT, ENOTDIR):
                raise failure(error, kept.path) from error
            if kept.before is not None:
                notes.append(f"the folder of {shown_path(kept.path)} is gone; it was left so")
        step("file back")
    for tree, folders in _by_tree(entry.made):
        with suppress(FileNotFoundError):
            remove_folders(tree, folders)
    if damaged:
        notes.append(f"what was kept of it is in {journal.set_aside(entry.id, DAMAGED)}")
    else:
        journal.drop(filed)
    step("rolled back")
    return notes


def _taken_back(kept: Kept, contents: Contents, journal: Journal) -> Iterator[str]:
    back = backwards(kept, contents)
    with spot(kept.tree, kept.path) as here:
        found = [mend(here, back, kept.backwards), mend(here, forwards(kept, contents), kept.beside)]
        for rescued in found:
            if rescued is not None:
                yield f"{shown_path(kept.path)} was saved twice at once; the older one is in {journal.rescue(rescued)}"
        try:
            seen = here.seen()
        except ToolFailure as error:
            yield f"{error}: somebody else has put it there; it was left so"
            return
        now = None if seen is None else seen.content
        if kept.lock and now not in (back.before, back.after) and (again := index_back(kept, contents)) is not None:
            now, back = again[0], back._replace(before=again[0], after=again[1])
        if now == back.before and (now != back.after or (seen is not None and seen.mode != back.mode)):
            try:
                write(here, back, kept.backwards)
            except Differs as error:
                yield f"{error}: it was left so"
        elif now != back.after:
            yield f"{shown_path(kept.path)} was changed by somebody else; it was left so"


def _by_tree(folders: Iterable[Made]) -> list[tuple[str, list[str]]]:
    return _grouped((one.tree, one.path) for one in folders)


def _grouped(places: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for tree, path in places:
        found.setdefault(tree, []).append(path)
    return list(found.items())
