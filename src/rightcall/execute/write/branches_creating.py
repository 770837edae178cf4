"""`code/create-branch`: a new branch and its record. Nothing is checked out until something is edited there."""

from typing import TYPE_CHECKING

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.diff import one_line
from rightcall.execute.write.branches import BranchRecord, branch_step, tree_of
from rightcall.execute.write.changes import GitScope, RefStep
from rightcall.execute.write.editing_state import digest, must_be
from rightcall.execute.write.git import Writer
from rightcall.execute.write.git_names import guard_name
from rightcall.execute.write.git_refs import HEADS
from rightcall.execute.write.pulls import moment
from rightcall.execute.write.worktree import tidy
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk

NAME = "code/create-branch"
_SHOWN = 200


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


class _Plan(Struct, frozen=True):
    name: str
    base: str
    """A branch, or empty."""
    commit: str
    subject: str

    def state(self) -> str:
        return digest(NAME, self.name, self.base, self.commit, "free")

    def shown(self, tree: str) -> str:
        began = f"the branch {one_line(self.base)}" if self.base else "a commit that is on no named branch"
        return (
            f"Would create the branch {one_line(self.name)}\n"
            f"  from {began}, at {self.commit[:12]} {one_line(self.subject)}\n"
            f"  its files in {one_line(tree)}, once something is edited there"
        )


def create_branch(desk: "Desk", asked: BranchArguments) -> BranchResult:
    with desk.working() as worker:
        writer = Writer(desk.sight)
        plan = _plan(desk, writer, asked)
        tree = tree_of(desk, plan.name)
        must_be(asked.expected, plan.state(), lambda: plan.shown(tree))
        tidy(desk, writer)
        record = BranchRecord(
            name=plan.name, owner=asked.caller, base=plan.base, start=plan.commit, repository=writer.folder, tree=tree,
            made=moment(),
        )  # fmt: skip
        change = worker.apply(
            tool=NAME, caller=asked.caller, summary=f"create the branch {plan.name}",
            files=[branch_step(desk, record)], refs=[RefStep(record.ref, None, plan.commit)],
            scope=GitScope(writer.folder, plan.name),
        )  # fmt: skip
    return BranchResult(
        branch=plan.name, base=plan.base, commit=plan.commit, worktree=tree, change=change.id,
        undo=f"rightcall undo {change.id}",
    )  # fmt: skip


def preview_branch(desk: "Desk", asked: BranchArguments) -> str:
    plan = _plan(desk, Writer(desk.sight), asked)
    shown = plan.shown(tree_of(desk, plan.name))
    must_be(asked.expected, plan.state(), lambda: shown)
    return shown


def branch_state(desk: "Desk", asked: BranchArguments) -> str:
    return _plan(desk, Writer(desk.sight), asked).state()


def _plan(desk: "Desk", writer: Writer, asked: BranchArguments) -> _Plan:
    name = asked.name.strip().removeprefix(HEADS)
    writer.check_name(name)
    guard_name(desk.settings, name, "name")
    if writer.tip(name) is not None:
        raise ToolFailure(f"name: there is a branch {escaped(name, _SHOWN)} already; choose another name")
    if (other := writer.in_the_way(name)) is not None:
        raise ToolFailure(
            f"name: {escaped(name, _SHOWN)} cannot be made beside the branch {escaped(other, _SHOWN)}: git keeps "
            "branches as files in folders, and one would be both. Choose another name"
        )
    writer.check_only_meaning(name, "name")
    written = (asked.base or "").strip()
    base = writer.branch() if written in ("", "HEAD", "@") else written.removeprefix(HEADS)
    commit = writer.commit_of(written or "HEAD")
    if base is None or writer.tip_or_none(base) != commit:
        base = ""
    return _Plan(name, base, commit, writer.subject(commit))
