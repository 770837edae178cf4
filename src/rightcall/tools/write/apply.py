"""Doing a change, whole or not at all; rolling back what was left half done; and taking back what was done.

    plan: compare, name what is made ─▶ journal ─▶ folders ─▶ files in their order ─▶ refs ─▶ done

Back it goes in the other order. A file that is neither as before nor as after is somebody else's by now, and stays.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from errno import ENOENT, ENOTDIR
from time import time
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from msgspec import DecodeError
from msgspec.json import decode, encode
from msgspec.structs import replace

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
from rightcall.base.text import cut_end, escaped, utc
from rightcall.errors import ToolFailure
from rightcall.tools.diff import content_diff, one_line, shown_line
from rightcall.tools.write.changes import (
    BEGUN,
    DAMAGED,
    DONE,
    RECORD,
    Change,
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
    Shown,
    backwards,
    file_step,
    forwards,
    new_id,
)

if TYPE_CHECKING:
    from rightcall.tools.write.desk import Desk, Worker
    from rightcall.tools.write.plumbing import Writer
    from rightcall.tools.write.pulls import PullRecord

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
        from rightcall.tools.write.plumbing import Writer  # late: a file is saved without it

        return Writer(self._sight, self._repository)


def _name(step: RefStep) -> str:
    return f"the branch {escaped(step.name.removeprefix(_HEADS), 200)}"


# ── indexes ──
# Taking back what a change did to a checkout's index, though git has written it again since: it does so whenever it
# has looked at a file.


def index_back(kept: Kept, contents: Contents) -> tuple[bytes, bytes | None] | None:
    """The index as it is and as it would be without the change; None where its files are staged anew. ToolFailure for
    one that cannot be read."""
    from rightcall.tools.write.checkout import index_without  # late: most changes touch no index

    seen = seen_file(kept.tree, kept.path)
    if seen is None:
        return None
    before, after = contents.read(kept.before), contents.read(kept.after)
    if seen.content == after:
        return seen.content, before
    written = os.stat(os.path.join(kept.tree, kept.path), follow_symlinks=False).st_mtime_ns
    found = index_without(before, after, seen.content, written)
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
    # what goes makes no repository, and an index of git's own belongs where it is
    _no_repositories((one.tree, one.path) for one in wanted if one.after is not None and not one.lock)
    return wanted, kept, list(made.values())


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
        raise ToolFailure(f"{shown_path(path)} has a name that is not text; tools do not write such files") from None


def _how_moved(gone: bool, one: FileStep) -> str:
    if gone:
        return "is gone since it was checked"
    return "exists now; it did not when it was checked" if one.before is None else "was changed since then"


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


# ── undo ──
# Taking a change back: only while everything is as it left it. An undo is a change itself, and can be undone.
#
# What is newer is named: the later change that touched the same file or branch, or that somebody did it by hand.

TOOL: Final = "undo"
_RECORDS: Final = {
    "pulls": "pull request {}",
    "branches": "the record of the branch {}",
    "dirty": "what is not committed on {}",
}
"""Files of the desk, as people know them."""


def undo(worker: "Worker", id: str, by: str) -> Change:
    """See `Worker.undo`."""
    filed = worker.desk.filed(id)
    if why := why_not(worker.desk, filed):
        raise ToolFailure(f"{id} cannot be undone: {shown_line(why)}")
    entry = filed.entry
    if entry.tool == "code/commit":
        from rightcall.tools.write.branches import bring_back  # late: a file is saved without git

        bring_back(worker.desk, entry.repository, entry.branch)
    back = JournalEntry(
        id=new_id(), tool=TOOL, caller=by, summary=f"undo {id}: {entry.summary}", at=utc(time()),
        refs=tuple(RefStep(one.name, one.after, one.before) for one in reversed(entry.refs)),
        repository=entry.repository, branch=entry.branch, pull=entry.pull, undoes=id, emptied=entry.made,
    )  # fmt: skip
    change = worker.carry_out(back, [*steps_back(worker.desk, filed), *_noted(worker.desk, filed, back.id)])
    if entry.refs:
        from rightcall.tools.write.branches import follow

        follow(worker.desk, entry.repository)
    return change


def why_not(desk: "Desk", filed: Filed) -> str:
    """Why a change cannot be undone; empty: it can. On one line, and escaped by whoever shows it."""
    entry = filed.entry
    if entry.undone:
        return f"it was undone already, by {entry.undone}"
    if entry.root != os.path.realpath(desk.sight.root):
        return f"it was made in {one_line(entry.root)}, and can be undone only there (--root)"
    if not filed.kept:
        return "what was there before is no longer kept: newer changes needed the room"
    try:
        files = [kept for kept in _own(desk, entry) if not _as_left(desk, filed, kept)]
        now = Refs(desk.sight, entry.repository, -1, entry.caller).now(entry.refs)
        merged = list(_merged(desk, filed))
    except ToolFailure as error:
        return str(error)
    refs = [one for one, at in zip(entry.refs, now, strict=True) if at != one.after]
    newer = _newer(desk, filed, files, refs) if files or refs else ()
    return "; ".join((*newer, *_worked_on(desk, filed), *merged))


def preview(desk: "Desk", filed: Filed) -> str:
    """What an undo would change, as a diff and a line for each branch; escaped by whoever shows it."""
    return "\n".join(one.text for one in show_undo(desk, filed))


def show_done(desk: "Desk", filed: Filed) -> list[Shown]:
    """What a change did, whatever came since. Raises ToolFailure where that is not kept any more."""
    contents = Contents(filed.folder)
    steps = [file_step(kept, contents) for kept in _own(desk, filed.entry) if not kept.lock]
    shown = [_compare(desk, one, is_past=True) for one in steps if not _is_desk(desk, one.tree)]
    refs = (f"{_branch(one.name)}: {_short(one.before)} → {_short(one.after)}" for one in filed.entry.refs)
    return [*shown, *(Shown("", line) for line in refs)]


def _compare(desk: "Desk", one: FileStep, *, is_past: bool = False) -> Shown:
    name = _file_name(desk, one.tree, one.path)
    return Shown(name, content_diff(name, one.before, one.after, is_past=is_past))


def show_undo(desk: "Desk", filed: Filed) -> list[Shown]:
    """What an undo would change."""
    steps = steps_back(desk, filed)
    files = [one for one in steps if not _is_desk(desk, one.tree) and not one.lock]
    refs = (f"{_branch(one.name)}: {_short(one.after)} → {_short(one.before)}" for one in filed.entry.refs)
    shown = [*(_compare(desk, one) for one in files), *(Shown("", line) for line in refs)]
    contents = Contents(filed.folder)
    were = [contents.read(kept.before) for kept in _own(desk, filed.entry)]
    for one in (one for one in steps if one not in files):
        told = "as it was before" if one.after in were else "without what this change did, and with what came since"
        shown.append(Shown("", f"{_file_name(desk, one.tree, one.path)}: {told}"))
    return shown


def steps_back(desk: "Desk", filed: Filed) -> list[FileStep]:
    """The steps that take its files back."""
    contents = Contents(filed.folder)
    found: list[FileStep] = []
    for kept in reversed(_own(desk, filed.entry)):
        one = file_step(kept, contents)
        mode = kept.mode if kept.was is None else kept.was
        back = replace(one, before=one.after, after=one.before, mode=mode)
        if (again := _again(desk, kept, contents)) is not None:
            back = replace(back, before=again[0], after=again[1])
        found.append(back)
    return found


def _own(desk: "Desk", entry: JournalEntry) -> list[Kept]:
    """Its files, without what was noted on other changes: that is noted anew."""
    return [kept for kept in entry.files if not (_is_desk(desk, kept.tree) and kept.path.startswith(f"{DONE}/"))]


def _is_desk(desk: "Desk", tree: str) -> bool:
    return tree in (desk.folder, os.path.realpath(desk.folder))


def _is_worktree(desk: "Desk", tree: str) -> bool:
    return _is_desk(desk, os.path.dirname(os.path.dirname(tree)))


def _noted(desk: "Desk", filed: Filed, by: str) -> Iterator[FileStep]:
    """That this change is undone; and where it was an undo itself, that what it took back holds again."""
    yield _marked(desk, filed, by)
    if filed.entry.undoes and (first := desk.journal.find(filed.entry.undoes)) is not None:
        yield _marked(desk, first, "")


def _marked(desk: "Desk", filed: Filed, undone: str) -> FileStep:
    path = f"{DONE}/{os.path.basename(filed.folder)}/{RECORD}"
    before = seen_file(desk.folder, path)
    content = None if before is None else before.content
    return FileStep(desk.folder, path, content, encode(replace(filed.entry, undone=undone)), 0o600)


def _as_left(desk: "Desk", filed: Filed, kept: Kept) -> bool:
    seen, contents = seen_file(kept.tree, kept.path), Contents(filed.folder)
    if (None if seen is None else seen.content) == contents.read(kept.after):
        return True
    return _again(desk, kept, contents) is not None


def _again(desk: "Desk", kept: Kept, contents: Contents) -> tuple[bytes, bytes | None] | None:
    """What there is now and what it would be without the change, where something that does not depend on it was written
    since; None elsewhere."""
    if kept.lock:
        return index_back(kept, contents)
    if not (_is_desk(desk, kept.tree) and kept.path.startswith("pulls/")):
        return None

    return remark_back(kept, contents)


def _newer(desk: "Desk", filed: Filed, files: list[Kept], refs: list[RefStep]) -> Iterator[str]:
    """What has happened since to each of these."""
    later = _later(desk, filed)
    tidied = False
    for kept in files:
        name = _file_name(desk, kept.tree, kept.path)
        by = next((one for one in later if any((f.tree, f.path) == (kept.tree, kept.path) for f in one.files)), None)
        if by is not None:
            yield f"{by.id} has changed {name} since ({_about(by)})"
        elif not os.path.lexists(kept.tree) and _is_worktree(desk, kept.tree):
            tidied = True
        else:
            yield f"{name} was changed by hand since"
    if tidied:
        yield f"the worktree of {_branch(filed.entry.branch)} {_why_gone(desk, filed.entry.branch)}"
    for ref in refs:
        by = next((one for one in later if any(r.name == ref.name for r in one.refs)), None)
        name = _branch(ref.name)
        yield f"{name} was moved by hand since" if by is None else f"{by.id} has moved {name} since ({_about(by)})"


def _later(desk: "Desk", filed: Filed) -> list[JournalEntry]:
    """What was done since and still holds, newest first."""
    return [one.entry for one in desk.journal.all(after=filed.number) if not one.entry.undone and not one.entry.undoes]


def _why_gone(desk: "Desk", branch: str) -> str:
    from rightcall.tools.write.branches import branch_record  # late, as above

    try:
        record = branch_record(desk, branch)
    except ToolFailure:
        record = None
    return "was tidied away when it was merged" if record is not None and record.merged else "is gone"


def _merged(desk: "Desk", filed: Filed) -> Iterator[str]:
    """Merges that rest on a commit of this change: the branch could go back, and they would still hold it."""
    ends = {one.name: one.after for one in filed.entry.refs if one.after is not None}
    if not ends:
        return
    from rightcall.tools.write.plumbing import Writer  # late, as above
    from rightcall.tools.write.pulls import all_pulls

    for record in all_pulls(desk):
        commit = ends.get(f"{_HEADS}{record.branch}")
        if commit is None or record.status != "merged" or record.repository != filed.entry.repository:
            continue
        if commit == record.head or Writer(desk.sight, record.repository).is_ancestor(commit, record.head):
            by = next((one.id for one in _later(desk, filed) if one.pull == record.id and one.refs), None)
            told = f"pull request {record.id} has merged it into {one_line(record.base)}"
            yield f"{told}: undo {by} first" if by is not None else told


def _worked_on(desk: "Desk", filed: Filed) -> Iterator[str]:
    """What was changed on a branch that would be gone with this."""
    going = [one for one in filed.entry.refs if one.before is None]
    if going:
        for later in desk.journal.all(after=filed.number):
            one = later.entry
            if f"{_HEADS}{one.branch}" in [ref.name for ref in going] and not one.undone and not one.undoes:
                yield f"{one.id} has changed files on {_branch(going[0].name)} since ({_about(one)})"
                return


def _about(entry: JournalEntry) -> str:
    return f"{_cut(entry.caller, 40)}: {_cut(entry.summary, 80)}"


def _cut(text: str, most: int) -> str:
    return cut_end(one_line(text), most)


def _file_name(desk: "Desk", tree: str, path: str) -> str:
    """A file as people know it: below the root by its path there, elsewhere whole."""
    if _is_desk(desk, tree):
        kind, _, name = path.removesuffix(".json").partition("/")
        told = _RECORDS.get(kind, "the record of {}")
        return told.format(one_line(unquote(name).split("/")[0]))
    if _is_worktree(desk, tree):
        return f"{one_line(path)} on its branch"
    root = os.path.realpath(desk.sight.root).rstrip("/") + "/"
    return one_line(os.path.join(tree, path).removeprefix(root))


def _branch(name: str) -> str:
    return f"the branch {one_line(name.removeprefix(_HEADS))}"


def _short(commit: str | None) -> str:
    return "none" if commit is None else commit[:12]


# ── remarks ──
# Taking back one word on a pull request, though more was said since: only what depends on it stands in the way, as
# the merge does that it was counted for, and no comment.


def remark_back(kept: Kept, contents: Contents) -> tuple[bytes, bytes] | None:
    """The record of a pull request as it is and as it would be without the remark that a change has added; None where
    the change did anything else, or the request is not open any more. `kept` is such a record."""
    seen = seen_file(kept.tree, kept.path)
    before, after = _record(contents.read(kept.before)), _record(contents.read(kept.after))
    now = None if seen is None else _record(seen.content)
    if seen is None or before is None or after is None or now is None:
        return None
    said = after.discussion[-1:]
    only = replace(after, discussion=before.discussion) == before and after.discussion == (*before.discussion, *said)
    if not said or not only or now.status != "open" or said[0] not in now.discussion:
        return None
    at = len(now.discussion) - 1 - now.discussion[::-1].index(said[0])
    without = replace(now, discussion=(*now.discussion[:at], *now.discussion[at + 1 :]))
    return seen.content, encode(without) + b"\n"


def _record(content: bytes | None) -> "PullRecord | None":
    from rightcall.tools.write.pulls import PullRecord  # late, as above

    try:
        return None if content is None else decode(content, type=PullRecord)
    except DecodeError:
        return None
