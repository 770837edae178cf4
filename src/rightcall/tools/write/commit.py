"""From a branch to a pull request: `code/create-branch`, `code/commit` (what tools have changed in the worktree of a
branch becomes a commit on it, by its owner alone), and opening and closing pull requests."""

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.write import Seen, seen_file, step
from rightcall.base.globs import path_matches
from rightcall.base.text import MOST_SHOWN, escaped
from rightcall.errors import ToolFailure
from rightcall.tools.code.patch import SHORT_HASH
from rightcall.tools.diff import one_line
from rightcall.tools.write.branches import (
    BranchRecord,
    branch_for,
    branch_step,
    check_free,
    dirty_step,
    exists,
    prepare,
    settle,
    tidy,
    tree_of,
)
from rightcall.tools.write.changes import Change, GitScope, Moved, RefStep
from rightcall.tools.write.edit import DeskWork, branch_path, digest, identify_file, must_be
from rightcall.tools.write.plumbing import Writer, author_of, check_name, check_only_meaning, guard_name
from rightcall.tools.write.pulls import (
    LONGEST_TITLE,
    Commit,
    PullRecord,
    PullStatus,
    Remark,
    all_pulls,
    checked_text,
    commits_between,
    counts,
    diff_preview,
    fork_point,
    moment,
    names,
    next_id,
    pull_of,
    pull_step,
    refuse_untouchable,
    require_open,
    required_tip,
    shown_diff,
    with_remark,
)
from rightcall.tools.write.refs import HEADS, in_the_way

if TYPE_CHECKING:
    from rightcall.tools.write.desk import Desk


NAME = "code/commit"
_LONGEST = 20_000
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

    writer: Writer
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

    def shown(self) -> str:
        name, mail = author_of(self.caller)
        head = [
            f"Would commit to {one_line(self.record.name)} on top of {self.tip[:12]}",
            f"Author: {one_line(name)} <{mail}>",
            "",
            *(f"    {line}" for line in self.message.split("\n")),
            "",
        ]
        return diff_preview(head, self.writer, self.tip, self.tree, "Commit fewer files at a time (paths)")


def commit(desk: "Desk", asked: CommitArguments) -> CommitResult:
    with desk.working() as worker:
        plan = _planned(desk, asked)
        writer = plan.writer
        must_be(asked.expected, plan)
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


def _look_up(desk: "Desk", asked: CommitArguments) -> _Found:
    writer = Writer(desk.sight)
    record = branch_for(desk, asked.caller, asked.branch, writer)
    guard_name(desk.settings, record.name)
    check_only_meaning(writer, record.name)
    check_free(writer, record)
    tip = writer.tip(record.name)
    assert tip is not None  # or `branch_for` would have said so
    chosen = _chosen(desk, writer, record, asked.paths)
    if not chosen or not exists(writer, record):
        raise _nothing(record)
    return _Found(writer, record, tip, {path: seen_file(record.tree, path) for path in chosen})


def _planned(desk: "Desk", asked: CommitArguments) -> _Plan:
    message = cleaned_message(asked.message)
    found = _look_up(desk, asked)
    writer = found.writer
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
    return _Plan(writer, found.record, found.tip, found.files, message, asked.caller, tree)


def cleaned_message(message: str) -> str:
    """Without blanks at the ends of lines and empty lines around; else as it was written. Raises ToolFailure."""
    if len(message) > _LONGEST:
        raise ToolFailure(f"message: {len(message):,} characters; at most {_LONGEST:,} are taken")
    try:
        message.encode()
    except UnicodeEncodeError:
        raise ToolFailure("message: it contains a lone surrogate (half a character)") from None
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


# ── creating a branch ──
# `code/create-branch`: a new branch and its record. Nothing is checked out until something is edited there.

BRANCH = "code/create-branch"


class BranchArguments(Struct, frozen=True, kw_only=True):
    name: str
    base: str | None = None
    caller: str = ""
    expected: str | None = None


class BranchResult(Struct, frozen=True, kw_only=True):
    success: bool = True
    branch: str
    base: str
    commit: str
    worktree: str
    change: str
    undo: str


class _PlanBranches(Struct, frozen=True):
    writer: Writer
    tree: str
    """Where its files would be."""
    name: str
    base: str
    """A branch, or empty."""
    commit: str
    subject: str

    def state(self) -> str:
        return digest(BRANCH, self.name, self.base, self.commit, "free")

    def shown(self) -> str:
        began = f"the branch {one_line(self.base)}" if self.base else "a commit that is on no named branch"
        return (
            f"Would create the branch {one_line(self.name)}\n"
            f"  from {began}, at {self.commit[:12]} {one_line(self.subject)}\n"
            f"  its files in {one_line(self.tree)}, once something is edited there"
        )


def create_branch(desk: "Desk", asked: BranchArguments) -> BranchResult:
    with desk.working() as worker:
        plan = _plan(desk, asked)
        writer, tree = plan.writer, plan.tree
        must_be(asked.expected, plan)
        tidy(desk, writer)
        record = BranchRecord(
            name=plan.name, owner=asked.caller, base=plan.base, start=plan.commit, repository=writer.folder, tree=tree,
            made=moment(),
        )  # fmt: skip
        change = worker.apply(
            tool=BRANCH, caller=asked.caller, summary=f"create the branch {plan.name}",
            files=[branch_step(desk, record)], refs=[RefStep(record.ref, None, plan.commit)],
            scope=GitScope(writer.folder, plan.name),
        )  # fmt: skip
    return BranchResult(
        branch=plan.name, base=plan.base, commit=plan.commit, worktree=tree, change=change.id,
        undo=f"rightcall undo {change.id}",
    )  # fmt: skip


def _plan(desk: "Desk", asked: BranchArguments) -> _PlanBranches:
    writer, name = Writer(desk.sight), asked.name.strip().removeprefix(HEADS)
    check_name(writer, name)
    guard_name(desk.settings, name, "name")
    if writer.tip(name) is not None:
        raise ToolFailure(f"name: there is a branch {escaped(name, _SHOWN)} already; choose another name")
    if (other := in_the_way(writer, name)) is not None:
        raise ToolFailure(
            f"name: {escaped(name, _SHOWN)} cannot be made beside the branch {escaped(other, _SHOWN)}: git keeps "
            "branches as files in folders, and one would be both. Choose another name"
        )
    check_only_meaning(writer, name, "name")
    written = (asked.base or "").strip()
    base = writer.branch() if written in ("", "HEAD", "@") else written.removeprefix(HEADS)
    commit = writer.commit_of(written or "HEAD")
    if base is None or writer.tip_or_none(base) != commit:
        base = ""
    return _PlanBranches(writer, tree_of(desk, name), name, base, commit, writer.subject(commit))


# ── opening a pull request ──
# `code/pull-request`: ask for a branch to be merged.


class OpenArguments(Struct, frozen=True, kw_only=True):
    title: str
    body: str = ""
    branch: str | None = None
    base: str | None = None
    caller: str = ""
    expected: str | None = None


class Opened(Struct, frozen=True, rename="camel", kw_only=True):
    success: bool = True
    id: str
    title: str
    branch: str
    base: str
    commits: int
    files_changed: int
    insertions: int
    deletions: int
    status: PullStatus
    uncommitted: tuple[str, ...] = ()
    """Changed on the branch and not in any commit: not a part of it."""
    change: str
    undo: str


class _PlanPulls(Struct, frozen=True):
    writer: Writer
    title: str
    body: str
    branch: BranchRecord
    base: str
    head: str
    tip: str
    fork: str
    commits: tuple[Commit, ...]

    def state(self) -> str:
        return digest("open", self.branch.name, self.branch.repository, self.base, self.head, self.tip)

    def shown(self) -> str:
        dirty = ", ".join(map(one_line, self.branch.dirty))
        return "\n".join(
            [
                f"Would open a pull request: {one_line(self.branch.name)} into {one_line(self.base)}",
                f"title: {one_line(self.title)}",
                *(f"  {line}" for line in self.body.split("\n") if self.body),
                *commit_lines(self.commits),
                *([f"not committed, and so not a part of it: {dirty}"] if dirty else []),
                "",
                *self._changes(),
            ]
        )

    def _changes(self) -> list[str]:
        """What whoever reviews it will look at. To ask for that needs no look at all of it: what is asked stands
        above."""
        diff = self.writer.shown(self.fork, self.head, MOST_SHOWN)
        listed = [f"Not all of it is below: {diff.left_out} Every file:", *diff.files, ""] if diff.left_out else []
        return [*listed, diff.text.rstrip("\n")]


def open_pull(desk: "Desk", asked: OpenArguments) -> Opened:
    with desk.working() as worker:
        plan = _planned_pulls(desk, asked)
        if asked.expected not in (None, plan.state()):
            raise Moved(
                f"The branch {escaped(plan.branch.name, 200)} or its base has changed since this was checked; "
                "nothing was opened. Now it would be:",
                shown_diff(plan.writer, plan.fork, plan.head, 20_000),
            )
        at = moment()
        record = PullRecord(
            id=next_id(desk),
            title=plan.title,
            body=plan.body,
            author=asked.caller,
            branch=plan.branch.name,
            base=plan.base,
            repository=plan.branch.repository,
            head=plan.head,
            made=at,
            discussion=(Remark(asked.caller, "opened", at, commit=plan.head),),
        )
        change = worker.apply(
            tool="code/pull-request", caller=asked.caller, summary=f"open pull request {record.id}: {record.title}",
            files=[pull_step(desk, record)], scope=GitScope(record.repository, record.branch, record.id),
        )  # fmt: skip
    told = counts(plan.writer, plan.fork, plan.head)
    return Opened(
        id=record.id, title=record.title, branch=record.branch, base=record.base, commits=len(plan.commits),
        files_changed=told.files, insertions=told.insertions, deletions=told.deletions, status=record.status,
        uncommitted=tuple(plan.branch.dirty), change=change.id, undo=f"rightcall undo {change.id}",
    )  # fmt: skip


def commit_lines(commits: tuple[Commit, ...]) -> list[str]:
    return [
        f"commit {one.hash[:10]}  {one_line(one.subject)}  ({', '.join(map(one_line, one.names))})" for one in commits
    ]


def refuse_frozen(desk: "Desk", base: str) -> None:
    if any(path_matches(pattern, base) for pattern in desk.settings.frozen):
        raise ToolFailure(
            f"base: the branch {escaped(base, 200)} is frozen ([write] frozen): nothing is merged into it"
        )


def _planned_pulls(desk: "Desk", asked: OpenArguments) -> _PlanPulls:
    title, body = checked_text("title", asked.title, LONGEST_TITLE), checked_text("body", asked.body)
    if not title or "\n" in title:
        raise ToolFailure("title: one line that says what the branch changes; the rest belongs into body")
    branch = branch_for(desk, asked.caller, asked.branch)
    base = (asked.base or branch.base).strip().removeprefix("refs/heads/")
    if not base:
        raise ToolFailure("base: your branch began at a commit without a branch; name the one to merge into")
    if base == branch.name:
        raise ToolFailure(f"base: {escaped(base, 200)} is the branch itself; name the one to merge into")
    refuse_frozen(desk, base)
    guard_name(desk.settings, branch.name)
    _refuse_second(desk, branch)
    writer = Writer(desk.sight, branch.repository)
    check_only_meaning(writer, branch.name)
    head, tip = required_tip(writer, branch.name, "branch"), required_tip(writer, base, "base")
    commits = commits_between(writer, tip, head)
    if not commits:
        rest = " What was changed on it is not committed: code/commit does that" if branch.dirty else ""
        raise ToolFailure(f"{escaped(branch.name, 200)} has no commit that {escaped(base, 200)} lacks.{rest}")
    fork = fork_point(writer, tip, head)
    refuse_untouchable([path for path, _ in writer.changed(fork, head)], writer, desk.sight, desk.settings)
    return _PlanPulls(writer, title, body, branch, base, head, tip, fork, commits)


def _refuse_second(desk: "Desk", branch: BranchRecord) -> None:
    for other in all_pulls(desk):
        if (other.branch, other.repository, other.status) == (branch.name, branch.repository, "open"):
            raise ToolFailure(
                f"Pull request {other.id} is open for {escaped(branch.name, 200)} already: what you commit there "
                "becomes a part of it"
            )


# ── closing a pull request ──
# Closing a pull request: it is not going to be merged. Its branch stays.


def close_pull(desk: "Desk", given: str | int, by: str, text: str) -> Change:
    """A person says that it is over."""
    with desk.working() as worker:
        record = pull_of(desk, given)
        require_open(record)
        head = Writer(desk.sight, record.repository).tip(record.branch) or record.head
        said = with_remark(record, Remark(by, "close", moment(), checked_text("text", text), head, person=True))
        closed = replace(said, status="closed", head=head)
        return worker.apply(
            tool="pr close", caller=by, summary=f"close pull request {record.id}: {record.title}",
            files=[pull_step(desk, closed)], scope=GitScope(record.repository, pull=record.id),
        )  # fmt: skip


COMMIT_WORK = DeskWork(CommitArguments, _planned, commit, _look_up)
BRANCH_WORK = DeskWork(BranchArguments, _plan, create_branch)
OPEN_WORK = DeskWork(OpenArguments, _planned_pulls, open_pull)
