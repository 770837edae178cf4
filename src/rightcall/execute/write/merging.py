"""`code/merge`: an approved pull request becomes a part of its base, once its checks pass.

    rules ─▶ merged tree, in the object store ─▶ checks, in the sandbox ─▶ rules again, under the lock ─▶ ONE change
                                                      │ red
                                                      └─▶ nothing of it; the record says why

The one change is the base branch, the person's checkout where it shows that branch, and the record. Whatever fails on
the way leaves all of it as it was.
"""

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from rightcall.errors import ToolFailure
from rightcall.execute.diff import one_line
from rightcall.execute.write.branches import branch_record, branch_step
from rightcall.execute.write.changes import Change, FileStep, GitScope, Moved, RefStep
from rightcall.execute.write.checking import Checker, require_command, run_checks, why_red
from rightcall.execute.write.checkout import checkout_steps, clean_checkout
from rightcall.execute.write.editing_paths import refuse_repositories
from rightcall.execute.write.editing_state import digest, must_be
from rightcall.execute.write.git import author_of
from rightcall.execute.write.git_refs import HEADS
from rightcall.execute.write.pulls import (
    CheckRun,
    PullRecord,
    Remark,
    moment,
    pull_of,
    pull_step,
    with_check,
    with_remark,
)
from rightcall.execute.write.pulls_git import counts, diff_preview, names, refuse_untouchable, shown_diff
from rightcall.execute.write.pulls_opening import commit_lines, refuse_frozen
from rightcall.execute.write.reviewing import Case, case_of
from rightcall.execute.write.reviewing_rules import has_approved, require_approved
from rightcall.execute.write.worktree import tidy
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.config_hands import Check
    from rightcall.execute.write.desk import Desk, Worker

NAME: Final = "code/merge"
_TRIES: Final = 2
"""Whoever moves the base while the checks run makes them run again, once."""
_SHORT: Final = 10
_LONGEST_WHY: Final = 4_000


class MergeArguments(Struct, frozen=True, kw_only=True):
    id: str | int
    caller: str = ""
    expected: str | None = None


class Merge(Struct, frozen=True, rename="camel", kw_only=True):
    success: bool = True
    id: str
    title: str
    branch: str
    base: str
    commit: str
    approved_by: tuple[str, ...]
    checks: str
    check_seconds: float
    sandbox: str
    files_changed: int
    insertions: int
    deletions: int
    checkout: bool
    """Whether the files of the person's own checkout were changed."""
    status: str = "merged"
    change: str
    undo: str


class Plan(Struct, frozen=True):
    """What would be merged, at this moment."""

    case: Case
    tree: str
    check: "Check"

    @property
    def state(self) -> str:
        """All that a person is shown, and all that the rules go by: the request with everything said about it, both
        branches, what comes of them, and what is run before."""
        return digest(NAME, self._apart, self.case.head, self.case.tip, self.tree)

    @property
    def difference(self) -> str:
        """The same without where the base is: that may move, as long as the same files change in the same way."""
        return digest(self._apart, self.case.head, self.case.writer.difference(self.case.tip, self.tree))

    @property
    def _apart(self) -> bytes:
        return encode((self.case.record, self.case.now.approved, self.check))

    def diff(self, most: int) -> str:
        return shown_diff(self.case.writer, self.case.tip, self.tree, most)


def merge_plan(desk: "Desk", given: str | int, *, approving: str | None = None) -> Plan:
    """All that must hold before the checks are run; ToolFailure says what does not. `approving` is a person who is
    about to approve it as it is."""
    case = case_of(desk, given)
    record = case.record
    refuse_frozen(desk, record.base)
    if not case.commits:
        raise ToolFailure(f"Pull request {record.id} has no commit that {escaped(record.base, 200)} lacks")
    needed = desk.settings.reviews - (0 if approving is None or has_approved(case.now, approving) else 1)
    require_approved(record, case.now, case.head, needed)
    require_command(desk.settings.check)
    merged = case.writer.merged(case.tip, case.head)
    if merged.conflicts:
        raise ToolFailure(
            f"{escaped(record.branch, 200)} and {escaped(record.base, 200)} have both changed the same lines of "
            f"{names(merged.conflicts)}: nothing was merged. Bring the branch up to date first"
        )
    changed = case.writer.changed(case.tip, merged.tree)
    refuse_untouchable([path for path, _ in changed], case.writer, desk.sight, desk.settings)
    refuse_repositories(case.writer, merged.tree, [path for path, kind in changed if kind != "D"])
    clean_checkout(case.writer, record.base, case.tip, merged.tree)
    return Plan(case, merged.tree, desk.settings.check)


def approved_plan(desk: "Desk", shown: Plan, by: str) -> Plan:
    """The plan once `by` has approved what was shown: nothing else may have been said or changed since."""
    now = merge_plan(desk, shown.case.record.id)
    own = [one for one in now.case.record.discussion if one not in shown.case.record.discussion]
    rest = tuple(one for one in now.case.record.discussion if one not in own)
    before = replace(shown, case=replace(shown.case, now=now.case.now))
    after = replace(now, case=replace(now.case, record=replace(now.case.record, discussion=rest)))
    if [(one.by, one.kind) for one in own] != [(by, "approve")] or before.state != after.state:
        raise _moved(now)
    return now


def merge_state(desk: "Desk", asked: MergeArguments) -> str:
    return merge_plan(desk, asked.id).state


def merge_preview(desk: "Desk", asked: MergeArguments) -> str:
    plan = merge_plan(desk, asked.id)
    must_be(asked.expected, plan.state, lambda: "")
    return preview_lines(desk, plan)


def preview_lines(desk: "Desk", plan: Plan) -> str:
    case = plan.case
    record = case.record
    return diff_preview(
        [
            f"Would merge pull request {record.id}: {one_line(record.branch)} into {one_line(record.base)}",
            f"title: {one_line(record.title)}",
            f"by: {one_line(record.author)}",
            f"approved by: {', '.join(map(one_line, case.now.approved)) or 'nobody yet'}",
            f"after this has succeeded: {' '.join(map(one_line, desk.settings.check.command))}",
            *commit_lines(case.commits),
            "",
        ],
        case.writer, case.tip, plan.tree,
        f"A person can look at all of it (rightcall pr diff {record.id}) and merge it (rightcall pr merge {record.id})",
    )  # fmt: skip


def merge(desk: "Desk", asked: MergeArguments, checker: Checker, *, person: bool = False) -> Merge:
    """Do it. Takes as long as the checks do."""
    plan = merge_plan(desk, asked.id)
    if asked.expected not in (None, plan.state):
        raise _moved(plan)
    shown = plan.difference
    for left in reversed(range(_TRIES)):
        run = _checked(desk, plan, checker, asked.caller, person)
        try:
            return _finished(desk, plan, run, asked.caller, person)
        except _BaseMoved:
            plan = merge_plan(desk, asked.id)
            if plan.difference != shown:
                raise _moved(plan) from None
            if not left:
                break
    raise ToolFailure(
        f"{escaped(plan.case.record.base, 200)} moved again while the checks ran; nothing was merged. Try again when "
        "nobody else is merging"
    )


class _BaseMoved(Exception):
    """While the checks ran, somebody else has changed the branch that is merged into."""


def _checked(desk: "Desk", plan: Plan, checker: Checker, by: str, person: bool) -> CheckRun:
    """A green run, or ToolFailure with the reason, which the record then holds as well."""
    case = plan.case
    try:
        run = run_checks(desk, case.writer, plan.tree, case.head, case.tip, checker)
    except ToolFailure as why:
        text = f"The checks could not be run: {why}"
        _note(desk, case.record.id, Remark(by, "check", moment(), text[:_LONGEST_WHY], case.head, person))
        raise
    if run.ok:
        return run
    why = why_red(run, desk.settings.check.command)
    _note(desk, case.record.id, Remark(by, "check", moment(), why, case.head, person), run)
    tail = "\n".join(escaped(line, 500) for line in run.tail.split("\n")[-60:])
    raise ToolFailure(
        f"{why}. Nothing was merged: {escaped(case.record.base, 200)} is as it was, and pull request "
        f"{case.record.id} stays open. The end of what it printed:\n{tail}"
    )


def _finished(desk: "Desk", plan: Plan, run: CheckRun, by: str, person: bool) -> Merge:
    """The rules once more, now that nobody else can write, and then all at once."""
    record = plan.case.record
    try:
        with desk.working() as worker:
            now = merge_plan(desk, record.id)
            if now.case.head != plan.case.head:
                raise Moved(
                    f"{escaped(record.branch, 200)} has got further commits while the checks ran: nothing was merged, "
                    "they have to be reviewed first"
                )
            if now.case.tip != plan.case.tip:
                raise _BaseMoved
            if now.state != plan.state:
                raise Moved(
                    f"Something was said about pull request {record.id} while the checks ran: nothing was merged. Look "
                    f"at it (rightcall pr show {record.id}) and merge it again"
                )
            change, commit, steps = _applied(worker, now, run, by, person)
            with suppress(ToolFailure, OSError):  # it is merged; what is left of the worktree is tidied another time
                tidy(desk, now.case.writer)
    except ToolFailure as why:
        text = f"Merging failed after the checks had passed, and was rolled back: {why}"
        _note(desk, record.id, Remark(by, "merge", moment(), text[:_LONGEST_WHY], plan.case.head, person), run)
        raise
    told = counts(now.case.writer, now.case.tip, commit)
    return Merge(
        id=record.id, title=record.title, branch=record.branch, base=record.base, commit=commit,
        approved_by=now.case.now.approved, checks="passed", check_seconds=run.seconds, sandbox=run.tier,
        files_changed=told.files, insertions=told.insertions, deletions=told.deletions, checkout=bool(steps),
        change=change.id, undo=f"rightcall undo {change.id}",
    )  # fmt: skip


def _applied(
    worker: "Worker", plan: Plan, run: CheckRun, by: str, person: bool
) -> tuple[Change, str, tuple[FileStep, ...]]:
    desk, case = worker.desk, plan.case
    record = case.record
    message = _message(case)
    commit = case.writer.commit_tree(plan.tree, (case.tip, case.head), message, author_of(by))
    steps = checkout_steps(case.writer, clean_checkout(case.writer, record.base, case.tip, commit))
    said = Remark(by, "merge", moment(), f"merged into {record.base} as {commit[:_SHORT]}", case.head, person)
    merged = replace(
        with_check(with_remark(record, said), run), status="merged", merge=commit, before=case.tip, head=case.head
    )
    branch = branch_record(desk, record.branch)
    documents = [pull_step(desk, merged)]
    if branch is not None:
        documents.append(branch_step(desk, replace(branch, merged=commit)))
    change = worker.apply(
        tool=NAME, caller=by, summary=f"merge pull request {record.id}: {record.title}",
        files=[*steps, *documents], refs=[RefStep(HEADS + record.base, case.tip, commit)],
        scope=GitScope(record.repository, record.base, record.id),
    )  # fmt: skip
    return change, commit, steps


def _message(case: Case) -> str:
    record = case.record
    reviewers = [f"Reviewed-by: {author_of(name)[0]} <{author_of(name)[1]}>" for name in case.now.approved]
    return "\n".join([f"Merge pull request #{record.id} from {record.branch}", "", record.title, "", *reviewers])


def _note(desk: "Desk", id: str, remark: Remark, run: CheckRun | None = None) -> None:
    """Tell it in the record. What there is to say reaches the caller in any case: a desk that cannot be written to is
    no reason to hide it."""
    with suppress(ToolFailure, OSError), desk.working() as worker:
        record: PullRecord = pull_of(desk, id)
        if record.status != "open":
            return
        told = with_remark(record, remark)
        told = told if run is None else with_check(told, run)
        worker.apply(
            tool=NAME, caller=remark.by, summary=f"pull request {id} was not merged",
            files=[pull_step(desk, told)], scope=GitScope(record.repository, pull=id),
        )  # fmt: skip


def _moved(plan: Plan) -> Moved:
    record = plan.case.record
    return Moved(
        f"Pull request {record.id} would not merge what was looked at: {escaped(record.branch, 200)}, "
        f"{escaped(record.base, 200)}, what was said about it or the check command has changed since. Nothing was "
        "merged. Now it would be:",
        plan.diff(20_000),
    )
