"""Taking a change back: only while everything is as it left it. An undo is a change itself, and can be undone.

What is newer is named: the later change that touched the same file or branch, or that somebody did it by hand.
"""

import os
from collections.abc import Iterator
from time import time
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from msgspec import DecodeError
from msgspec.json import decode, encode
from msgspec.structs import replace

from rightcall.base.files.write import seen_file
from rightcall.base.text import cut_end
from rightcall.errors import ToolFailure
from rightcall.tools.code.opening import utc
from rightcall.tools.diff import content_diff, one_line, shown_line
from rightcall.tools.write.apply import Refs, index_back
from rightcall.tools.write.changes import (
    DONE,
    RECORD,
    Change,
    Contents,
    Filed,
    FileStep,
    JournalEntry,
    Kept,
    RefStep,
    file_step,
    rewritten,
)
from rightcall.tools.write.pulls import PullRecord

if TYPE_CHECKING:
    from rightcall.tools.write.desk import Desk, Worker


TOOL: Final = "undo"
_COMMIT: Final = "code/commit"
_HEADS = "refs/heads/"
_RECORDS: Final = {
    "pulls": "pull request {}",
    "branches": "the record of the branch {}",
    "dirty": "what is not committed on {}",
}
"""Files of the desk, as people know them."""
_NO_LOCK = -1
_LONGEST_NAME = 40
_LONGEST_SUMMARY = 80


def undo(worker: "Worker", id: str, by: str) -> Change:
    """See `Worker.undo`."""
    from rightcall.tools.write.changes import new_id

    filed = worker.desk.filed(id)
    if why := why_not(worker.desk, filed):
        raise ToolFailure(f"{id} cannot be undone: {shown_line(why)}")
    entry = filed.entry
    if entry.tool == _COMMIT:
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
        now = Refs(desk.sight, entry.repository, _NO_LOCK, entry.caller).now(entry.refs)
        merged = list(_merged(desk, filed))
    except ToolFailure as error:
        return str(error)
    refs = [one for one, at in zip(entry.refs, now, strict=True) if at != one.after]
    newer = _newer(desk, filed, files, refs) if files or refs else ()
    return "; ".join((*newer, *_worked_on(desk, filed), *merged))


def preview(desk: "Desk", filed: Filed) -> str:
    """What an undo would change, as a diff and a line for each branch; escaped by whoever shows it."""
    steps = steps_back(desk, filed)
    files = [one for one in steps if not _is_desk(desk, one.tree) and not one.lock]
    shown = [content_diff(_name(desk, one.tree, one.path), one.before, one.after) for one in files]
    shown += [f"{_branch(one.name)}: {_short(one.after)} → {_short(one.before)}" for one in filed.entry.refs]
    contents = Contents(filed.folder)
    were = [contents.read(kept.before) for kept in _own(desk, filed.entry)]
    for one in (one for one in steps if one not in files):
        told = "as it was before" if one.after in were else "without what this change did, and with what came since"
        shown.append(f"{_name(desk, one.tree, one.path)}: {told}")
    return "\n".join(shown)


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
    return FileStep(desk.folder, path, content, rewritten(replace(filed.entry, undone=undone)), 0o600)


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
        name = _name(desk, kept.tree, kept.path)
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
    from rightcall.tools.write.git import Writer  # late, as above
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
    return f"{_cut(entry.caller, _LONGEST_NAME)}: {_cut(entry.summary, _LONGEST_SUMMARY)}"


def _cut(text: str, most: int) -> str:
    return cut_end(one_line(text), most)


def _name(desk: "Desk", tree: str, path: str) -> str:
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


def _record(content: bytes | None) -> PullRecord | None:
    try:
        return None if content is None else decode(content, type=PullRecord)
    except DecodeError:
        return None
