"""Doing a change, whole or not at all, and rolling back what was left half done.

    plan: compare, name what is made ─▶ journal ─▶ folders ─▶ files in their order ─▶ refs ─▶ done

Back it goes in the other order. A file that is neither as before nor as after is somebody else's by now, and stays.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from errno import ENOENT, ENOTDIR

from rightcall.errors import ToolFailure
from rightcall.execute.write.changes import FileStep, Moved
from rightcall.execute.write.indexes import index_back
from rightcall.execute.write.journal import (
    BEGUN,
    DAMAGED,
    DONE,
    Contents,
    Damaged,
    Filed,
    Journal,
    JournalEntry,
    Kept,
    Made,
    backwards,
    forwards,
)
from rightcall.execute.write.refs import Refs
from rightcall.fs.gitdirs import no_repository, repository_made
from rightcall.fs.spots import Differs, describe_error, failure, opened_tree, plain_path, seen_file, shown_path, spot
from rightcall.fs.writing import make_folders, mend, missing_folders, remove_folders, step, write

MARK = ".rightcall-"
"""What the names of temporary files begin with."""


def planned(steps: Sequence[FileStep]) -> tuple[list[FileStep], list[Kept], list[Made]]:
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
