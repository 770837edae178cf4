"""`code/pull-request`: ask for a branch to be merged."""

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from rightcall.base.globs import path_matches
from rightcall.errors import ToolFailure
from rightcall.execute.diff import one_line
from rightcall.execute.write.branches import BranchRecord, branch_for
from rightcall.execute.write.changes import GitScope, Moved
from rightcall.execute.write.editing_state import digest, must_be
from rightcall.execute.write.git import Writer
from rightcall.execute.write.git_names import guard_name
from rightcall.execute.write.pulls import (
    LONGEST_TITLE,
    PullRecord,
    PullStatus,
    Remark,
    all_pulls,
    checked_text,
    moment,
    next_id,
    pull_step,
)
from rightcall.execute.write.pulls_git import (
    Commit,
    commits_between,
    counts,
    fork_point,
    refuse_untouchable,
    required_tip,
    shown_diff,
)
from rightcall.text.cut import MOST_SHOWN
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk

_SHORT: Final = 10


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


class _Plan(Struct, frozen=True):
    writer: Writer
    title: str
    body: str
    branch: BranchRecord
    base: str
    head: str
    tip: str
    fork: str
    commits: tuple[Commit, ...]


def open_state(desk: "Desk", asked: OpenArguments) -> str:
    return _state(_planned(desk, asked))


def open_preview(desk: "Desk", asked: OpenArguments) -> str:
    plan = _planned(desk, asked)
    must_be(asked.expected, _state(plan), lambda: "")
    return "\n".join(
        [
            f"Would open a pull request: {one_line(plan.branch.name)} into {one_line(plan.base)}",
            f"title: {one_line(plan.title)}",
            *(f"  {line}" for line in plan.body.split("\n") if plan.body),
            *commit_lines(plan.commits),
            *_left_out(plan.branch),
            "",
            *_changes(plan),
        ]
    )


def open_pull(desk: "Desk", asked: OpenArguments) -> Opened:
    with desk.working() as worker:
        plan = _planned(desk, asked)
        if asked.expected not in (None, _state(plan)):
            raise Moved(
                f"The branch {escaped(plan.branch.name, 200)} or its base has changed since this was looked at; "
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
    return [f"commit {one.hash[:_SHORT]}  {one_line(one.subject)}  ({_by(one)})" for one in commits]


def refuse_frozen(desk: "Desk", base: str) -> None:
    if any(path_matches(pattern, base) for pattern in desk.settings.frozen):
        raise ToolFailure(
            f"base: the branch {escaped(base, 200)} is frozen ([write] frozen): nothing is merged into it"
        )


def _planned(desk: "Desk", asked: OpenArguments) -> _Plan:
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
    writer.check_only_meaning(branch.name)
    head, tip = required_tip(writer, branch.name, "branch"), required_tip(writer, base, "base")
    commits = commits_between(writer, tip, head)
    if not commits:
        rest = " What was changed on it is not committed: code/commit does that" if branch.dirty else ""
        raise ToolFailure(f"{escaped(branch.name, 200)} has no commit that {escaped(base, 200)} lacks.{rest}")
    fork = fork_point(writer, tip, head)
    refuse_untouchable([path for path, _ in writer.changed(fork, head)], writer, desk.sight, desk.settings)
    return _Plan(writer, title, body, branch, base, head, tip, fork, commits)


def _refuse_second(desk: "Desk", branch: BranchRecord) -> None:
    for other in all_pulls(desk):
        if (other.branch, other.repository, other.status) == (branch.name, branch.repository, "open"):
            raise ToolFailure(
                f"Pull request {other.id} is open for {escaped(branch.name, 200)} already: what you commit there "
                "becomes a part of it"
            )


def _state(plan: _Plan) -> str:
    return digest("open", plan.branch.name, plan.branch.repository, plan.base, plan.head, plan.tip)


def _changes(plan: _Plan) -> list[str]:
    """What whoever reviews it will look at. To ask for that needs no look at all of it: what is asked stands above."""
    diff = plan.writer.shown(plan.fork, plan.head, MOST_SHOWN)
    listed = [f"Not all of it is below: {diff.left_out} Every file:", *diff.files, ""] if diff.left_out else []
    return [*listed, diff.text.rstrip("\n")]


def _left_out(branch: BranchRecord) -> list[str]:
    paths = ", ".join(map(one_line, branch.dirty))
    return [f"not committed, and so not a part of it: {paths}"] if branch.dirty else []


def _by(commit: Commit) -> str:
    return ", ".join(map(one_line, commit.names))
