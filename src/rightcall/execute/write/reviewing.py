"""`code/review`: a word on somebody else's pull request, bound to the commit that was looked at."""

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.json import encode

from rightcall.errors import ToolFailure
from rightcall.execute.diff import one_line
from rightcall.execute.write.branches import BranchRecord, branch_record
from rightcall.execute.write.changes import GitScope, Moved
from rightcall.execute.write.editing_state import digest, must_be
from rightcall.execute.write.git import Writer
from rightcall.execute.write.pulls import (
    Decision,
    PullRecord,
    PullStatus,
    Remark,
    checked_text,
    moment,
    pull_of,
    pull_step,
    require_open,
    with_remark,
)
from rightcall.execute.write.pulls_git import commits_between, diff_preview, fork_point, required_tip, shown_diff
from rightcall.execute.write.pulls_opening import commit_lines
from rightcall.execute.write.reviewing_rules import Standing, involved, refuse_second, require_other, standing
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk
    from rightcall.execute.write.pulls_git import Commit

_SHORT: Final = 10
_DONE: Final = {"comment": "commented on", "approve": "approved", "reject": "rejected"}


class ReviewArguments(Struct, frozen=True, kw_only=True):
    id: str | int
    decision: Decision | None = None
    comment: str = ""
    caller: str = ""
    expected: str | None = None


class Reviewed(Struct, frozen=True, rename="camel", kw_only=True):
    success: bool = True
    id: str
    decision: Decision
    commit: str
    """What the branch was at: the word counts for this commit alone."""
    status: PullStatus
    approvals: int
    needed: int
    change: str
    undo: str


class Case(Struct, frozen=True):
    """A pull request as it is now, with what git says of it."""

    record: PullRecord
    writer: Writer
    head: str
    tip: str
    """What the base branch is at."""
    fork: str
    commits: "tuple[Commit, ...]"
    people: tuple[str, ...]
    """Whose work it is."""
    now: Standing


def case_of(desk: "Desk", given: str | int) -> Case:
    """An open pull request; ToolFailure where there is none, or its branches are gone."""
    record = pull_of(desk, given)
    require_open(record)
    writer = Writer(desk.sight, record.repository)
    head, tip = required_tip(writer, record.branch, "branch"), required_tip(writer, record.base, "base")
    commits = commits_between(writer, tip, head)
    people = involved(record, _owner(branch_record(desk, record.branch)), commits)
    fork = fork_point(writer, tip, head)
    return Case(record, writer, head, tip, fork, commits, people, standing(record, head, people))


def review_state(desk: "Desk", asked: ReviewArguments) -> str:
    return _state(_judged(desk, asked, asked.caller)[0])


def review_preview(desk: "Desk", asked: ReviewArguments) -> str:
    case, decision, text = _judged(desk, asked, asked.caller)
    must_be(asked.expected, _state(case), lambda: "")
    return diff_preview(
        [
            f"Would {_would(decision)} pull request {case.record.id} at commit {case.head[:_SHORT]}",
            f"{one_line(case.record.branch)} into {one_line(case.record.base)}, by {one_line(case.record.author)}",
            f"title: {one_line(case.record.title)}",
            *(f"  {line}" for line in text.split("\n") if text),
            *commit_lines(case.commits),
            "",
        ],
        case.writer, case.fork, case.head,
        f"A person can look at all of it (rightcall pr diff {case.record.id}) and say it (rightcall pr)",
    )  # fmt: skip


def review(desk: "Desk", asked: ReviewArguments, *, person: bool = False, at: str | None = None) -> Reviewed:
    """Say it. `person`: by somebody at the command line, who was shown the commit `at`."""
    with desk.working() as worker:
        case, decision, text = _judged(desk, asked, asked.caller)
        record = case.record
        if asked.expected not in (None, _state(case)) or at not in (None, case.head):
            raise Moved(
                f"Pull request {record.id}, or what was said about it, has changed since it was looked at: "
                f"{escaped(record.branch, 200)} is at {case.head[:_SHORT]} now. Nothing was said; look at it again",
                shown_diff(case.writer, case.fork, case.head, 20_000),
            )
        said = with_remark(record, Remark(asked.caller, decision, moment(), text, case.head, person))
        change = worker.apply(
            tool="code/review", caller=asked.caller, summary=f"{_DONE[decision]} pull request {record.id}",
            files=[pull_step(desk, said)], scope=GitScope(record.repository, pull=record.id),
        )  # fmt: skip
    now = standing(said, case.head, case.people)
    return Reviewed(
        id=record.id, decision=decision, commit=case.head, status=said.status, approvals=len(now.approved),
        needed=desk.settings.reviews, change=change.id, undo=f"rightcall undo {change.id}",
    )  # fmt: skip


def _judged(desk: "Desk", asked: ReviewArguments, by: str) -> tuple[Case, Decision, str]:
    text = checked_text("comment", asked.comment)
    if asked.decision is None and not text:
        raise ToolFailure("Say something: comment, or decision (comment, approve or reject), or both")
    decision: Decision = asked.decision or "comment"
    if decision == "comment" and not text:
        raise ToolFailure("comment: a comment needs some words; decision approve needs none")
    if decision == "reject" and not text:
        raise ToolFailure("comment: whoever rejects says why")
    case = case_of(desk, asked.id)
    if decision != "comment":
        # a no counts from anybody: else a message that names somebody as co-author would silence them
        people = case.people if decision == "approve" else ()
        require_other(by, people, "An approval" if decision == "approve" else "A rejection")
        if not case.commits:
            raise ToolFailure(f"Pull request {case.record.id} has no commit that its base lacks: nothing to review")
    if decision == "approve":
        refuse_second(case.record, case.now, case.head, by)
    return case, decision, text


def _state(case: Case) -> str:
    return digest("review", encode(case.record), case.head, case.fork)


def _would(decision: Decision) -> str:
    return "comment on" if decision == "comment" else decision


def _owner(branch: BranchRecord | None) -> str:
    return "" if branch is None else branch.owner
