"""`code/commit`: what tools have changed in the worktree of a branch becomes a commit on it, by its owner alone."""

from typing import TYPE_CHECKING

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.code.changes import SHORT_HASH
from rightcall.execute.diff import one_line
from rightcall.execute.write.branches import BranchRecord, branch_for, dirty_step
from rightcall.execute.write.changes import GitScope, RefStep
from rightcall.execute.write.editing_paths import branch_path
from rightcall.execute.write.editing_state import digest, identify_file, must_be
from rightcall.execute.write.git import Writer, author_of
from rightcall.execute.write.git_names import guard_name
from rightcall.execute.write.pulls_git import counts, diff_preview, names
from rightcall.execute.write.worktree import check_free, exists, prepare, settle, tidy
from rightcall.fs.spots import Seen, seen_file
from rightcall.fs.writing import step
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk

NAME = "code/commit"
_LONGEST = 20_000
_SHORT = 12
_SHOWN = 200


class CommitArguments(Struct, frozen=True, kw_only=True):
    message: str
    branch: str | None = None
    paths: list[str] | None = None
    caller: str = ""
    expected: str | None = None


class CommitResult(Struct, frozen=True, kw_only=True, rename="camel"):
    success: bool = True
    commit: str
    short_hash: str
    branch: str
    files_changed: int
    insertions: int
    deletions: int
    change: str
    undo: str


class _Found(Struct, frozen=True):
    """What would be committed, and onto what."""

    record: BranchRecord
    tip: str
    files: dict[str, Seen | None]

    def state(self) -> str:
        return digest(
            NAME, self.record.name, self.tip, tuple((path, identify_file(seen)) for path, seen in self.files.items())
        )


class _Plan(_Found, frozen=True):
    message: str
    caller: str
    tree: str
    """The tree that the commit would have."""

    def shown(self, writer: Writer) -> str:
        name, mail = author_of(self.caller)
        head = [
            f"Would commit to {one_line(self.record.name)} on top of {self.tip[:_SHORT]}",
            f"Author: {one_line(name)} <{mail}>",
            "",
            *(f"    {line}" for line in self.message.split("\n")),
            "",
        ]
        return diff_preview(head, writer, self.tip, self.tree, "Commit fewer files at a time (paths)")


def commit(desk: "Desk", asked: CommitArguments) -> CommitResult:
    with desk.working() as worker:
        writer = Writer(desk.sight)
        plan = _planned(desk, writer, asked)
        must_be(asked.expected, plan.state(), lambda: plan.shown(writer))
        record = plan.record
        tidy(desk, writer)
        prepare(desk, writer, record)
        made = writer.commit_tree(plan.tree, [plan.tip], plan.message, author_of(asked.caller))
        step("objects")
        marks = [dirty_step(desk, record, path, False) for path in plan.files]
        change = worker.apply(
            tool=NAME, caller=asked.caller, summary=f"commit to {record.name}: {plan.message.partition(chr(10))[0]}",
            files=[mark for mark in marks if mark is not None], refs=[RefStep(record.ref, plan.tip, made)],
            scope=GitScope(record.repository, record.name),
        )  # fmt: skip
        step("committed")
        settle(writer, record)
        counted = counts(writer, plan.tip, made)
    return CommitResult(
        commit=made, short_hash=made[:SHORT_HASH], branch=record.name, files_changed=counted.files,
        insertions=counted.insertions, deletions=counted.deletions, change=change.id,
        undo=f"rightcall undo {change.id}",
    )  # fmt: skip


def preview_commit(desk: "Desk", asked: CommitArguments) -> str:
    writer = Writer(desk.sight)
    plan = _planned(desk, writer, asked)
    must_be(asked.expected, plan.state(), lambda: plan.shown(writer))
    return plan.shown(writer)


def commit_state(desk: "Desk", asked: CommitArguments) -> str:
    return _look_up(desk, Writer(desk.sight), asked).state()


def _look_up(desk: "Desk", writer: Writer, asked: CommitArguments) -> _Found:
    record = branch_for(desk, asked.caller, asked.branch, writer)
    guard_name(desk.settings, record.name)
    writer.check_only_meaning(record.name)
    check_free(writer, record)
    tip = writer.tip(record.name)
    assert tip is not None  # or `branch_for` would have said so
    chosen = _chosen(desk, writer, record, asked.paths)
    if not chosen or not exists(writer, record):
        raise _nothing(record)
    return _Found(record, tip, {path: seen_file(record.tree, path) for path in chosen})


def _planned(desk: "Desk", writer: Writer, asked: CommitArguments) -> _Plan:
    message = cleaned_message(asked.message)
    found = _look_up(desk, writer, asked)
    # a file that is there no more as it was is a removal; one that a commit does not have either is none
    there = writer.entries(found.tip, list(found.files))
    changes = {
        path: None if seen is None else (seen.mode, seen.content)
        for path, seen in found.files.items()
        if seen is not None or path in there
    }
    tree = writer.tree(found.tip, changes)
    if tree == writer.tree_of(found.tip):
        raise _nothing(found.record)
    return _Plan(found.record, found.tip, found.files, message, asked.caller, tree)


def cleaned_message(message: str) -> str:
    """Without blanks at the ends of lines and empty lines around; else as it was written. Raises ToolFailure."""
    if len(message) > _LONGEST:
        raise ToolFailure(f"message: {len(message):,} characters; at most {_LONGEST:,} are taken")
    try:
        message.encode()
    except UnicodeEncodeError:
        raise ToolFailure("message: it holds half a character (a lone surrogate)") from None
    text = "\n".join(line.rstrip() for line in message.replace("\0", "").replace("\r\n", "\n").split("\n")).strip("\n")
    if not text.strip():
        raise ToolFailure("message: it is empty; one line that says what the commit does would be right")
    return text


def _chosen(desk: "Desk", writer: Writer, record: BranchRecord, paths: list[str] | None) -> list[str]:
    if not paths:
        return list(record.dirty)
    chosen = list(dict.fromkeys(branch_path(desk, writer, path, "paths") for path in paths))
    clean = [path for path in chosen if path not in record.dirty]
    if clean:
        changed = f"Those that are: {names(record.dirty)}" if record.dirty else "None is"
        raise ToolFailure(f"paths: no tool has changed {names(clean)} since the last commit. {changed}")
    return chosen


def _nothing(record: BranchRecord) -> ToolFailure:
    return ToolFailure(
        f"There is nothing to commit on {escaped(record.name, _SHOWN)}: code/edit and code/create-test change files "
        "there"
    )
