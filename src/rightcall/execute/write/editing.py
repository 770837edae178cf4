"""Changing files on a branch: all of a call or nothing of it, in the branch's own worktree.

`Edit` is one such call; `code/edit`, `code/create-test` and, with a branch, `file/save` are made of it. What is there
is read from the worktree, or from the branch's commit as long as there is no worktree: looking makes nothing.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from rightcall.errors import ToolFailure
from rightcall.execute.diff import content_diff, one_line, shown_text
from rightcall.execute.write.branches import BranchRecord, branch_for, dirty_step
from rightcall.execute.write.changes import LARGEST, FileStep, GitScope
from rightcall.execute.write.editing_paths import branch_path, check_apart, check_ways
from rightcall.execute.write.editing_state import digest, identify_file, must_be
from rightcall.execute.write.git import Writer
from rightcall.execute.write.git_names import guard_name
from rightcall.execute.write.worktree import exists, prepare, tidy
from rightcall.fs.spots import Seen, seen_file
from rightcall.text.cut import MOST_SHOWN, bounded, cut_lines
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk

Kind = Literal["modify", "insert", "delete", "save"]
_SHOWN = 200
_MOST_DIFF = 50_000
_MOST_SUMMARY = 3


class Operation(Struct, frozen=True):
    """`save` is for whoever does not mind whether the file is there."""

    type: Kind
    path: str
    content: str | None = None


class FileChange(Struct, frozen=True):
    path: str
    status: Literal["added", "modified", "deleted", "unchanged"]
    insertions: int
    deletions: int


class EditResult(Struct, frozen=True, kw_only=True):
    success: bool = True
    branch: str
    files: list[FileChange]
    change: str
    undo: str
    diff: str


class Item(Struct, frozen=True):
    path: str
    before: Seen | None
    after: bytes | None

    @property
    def diff(self) -> str:
        return content_diff(self.path, None if self.before is None else self.before.content, self.after)

    def told(self) -> FileChange:
        lines = self.diff.split("\n")[2:]
        plus, minus = (sum(line.startswith(sign) for line in lines) for sign in "+-")
        if self.before is None:
            return FileChange(self.path, "added", plus, minus)
        if self.after is None:
            return FileChange(self.path, "deleted", plus, minus)
        return FileChange(self.path, "modified" if plus or minus or self.changes else "unchanged", plus, minus)

    @property
    def changes(self) -> bool:
        return self.after != (None if self.before is None else self.before.content)


class Plan(Struct, frozen=True):
    """What an edit comes to, on what was found."""

    record: BranchRecord
    tip: str
    items: tuple[Item, ...]

    def state(self) -> str:
        found = tuple((item.path, identify_file(item.before)) for item in self.items)
        return digest("edit", self.record.name, self.tip, found)

    def shown(self) -> str:
        head = [f"On the branch {one_line(self.record.name)} at {self.tip[:12]}:"]
        files = (f"  {one.status} {one_line(one.path)}  +{one.insertions} -{one.deletions}" for one in self.told())
        return bounded(
            head, files, "\n".join(item.diff for item in self.items), "Change fewer files at a time", MOST_SHOWN
        )

    def told(self) -> list[FileChange]:
        return [item.told() for item in self.items]


class Edit:
    """One call of a tool that changes files on a branch. `argument` is what its errors name."""

    def __init__(
        self, desk: "Desk", tool: str, caller: str, branch: str | None, operations: Sequence[Operation],
        argument: str = "operations",
    ) -> None:  # fmt: skip
        self._desk = desk
        self._tool = tool
        self._caller = caller
        self._branch = branch
        self._operations = operations
        self._argument = argument

    def preview(self, expected: str | None = None) -> str:
        """One diff over all files, if they are in the state that is expected."""
        plan = self._planned(Writer(self._desk.sight))
        must_be(expected, plan.state(), plan.shown)
        return plan.shown()

    def state(self) -> str:
        return self._planned(Writer(self._desk.sight)).state()

    def apply(self, expected: str | None) -> EditResult:
        desk = self._desk
        with desk.working() as worker:
            writer = Writer(desk.sight)
            plan = self._planned(writer)
            must_be(expected, plan.state(), plan.shown)
            if not any(item.changes for item in plan.items):
                raise ToolFailure(f"{self._argument}: the files are so already; there is nothing to change")
            tidy(desk, writer)
            prepare(desk, writer, plan.record)
            change = worker.apply(
                tool=self._tool, caller=self._caller, summary=_summary(plan), files=_steps(desk, plan),
                scope=GitScope(plan.record.repository, plan.record.name),
            )  # fmt: skip
        return EditResult(
            branch=plan.record.name, files=plan.told(), change=change.id,
            undo=f"rightcall undo {change.id}", diff=cut_diff(plan.items),
        )  # fmt: skip

    def _planned(self, writer: Writer) -> Plan:
        desk = self._desk
        record = branch_for(desk, self._caller, self._branch, writer)
        guard_name(desk.settings, record.name)
        tip = writer.tip(record.name)
        assert tip is not None  # or `branch_for` would have said so
        paths = [branch_path(desk, writer, one.path, self._named(at)) for at, one in enumerate(self._operations)]
        check_apart(paths, self._argument)
        there = exists(writer, record)
        check_ways(writer, tip, paths, record.tree if there else None)
        items: list[Item] = []
        for at, (path, one) in enumerate(zip(paths, self._operations, strict=True)):
            before = seen_file(record.tree, path) if there else _committed(writer, tip, path)
            items.append(Item(path, before, content_after(one, before is not None, self._named(at))))
        return Plan(record, tip, tuple(items))

    def _named(self, at: int) -> str:
        return f"operations[{at}].path" if self._argument == "operations" else self._argument


def _committed(writer: Writer, tip: str, path: str) -> Seen | None:
    found = writer.blob(tip, path)
    return None if found is None else Seen(found[0], _permissions(found[1]))


def _permissions(mode: int) -> int:
    """As a checkout makes them."""
    return 0o755 if mode & 0o100 else 0o644


def content_after(one: Operation, there: bool, argument: str) -> bytes | None:
    shown = escaped(one.path, _SHOWN)
    if one.type == "insert" and there:
        how = "type modify" if argument.startswith("operations") else "code/edit"
        raise ToolFailure(f"{argument}: {shown} is there already; {how} changes it")
    if one.type in ("modify", "delete") and not there:
        advice = "; type insert makes one" if one.type == "modify" else ", so there is nothing to delete"
        raise ToolFailure(f"{argument}: there is no file {shown} on the branch{advice}")
    if one.type == "delete":
        if one.content:
            raise ToolFailure(f"{argument}: {shown} is to be deleted and has a content: leave one of them out")
        return None
    if one.content is None:
        if one.type == "insert":
            return b""
        raise ToolFailure(f"{argument}: {shown} needs its new whole content (an empty text makes it empty)")
    try:
        content = one.content.encode()
    except UnicodeEncodeError:
        raise ToolFailure(f"{argument}: the content for {shown} holds half a character (a lone surrogate)") from None
    if len(content) > LARGEST:
        raise ToolFailure(f"{argument}: the content for {shown} has {len(content):,} bytes; at most {LARGEST:,} fit")
    return content


def _steps(desk: "Desk", plan: Plan) -> list[FileStep]:
    steps: list[FileStep] = []
    marks: list[FileStep] = []
    for item in plan.items:
        if item.changes:
            before = None if item.before is None else item.before.content
            steps.append(FileStep(plan.record.tree, item.path, before, item.after))
            if (mark := dirty_step(desk, plan.record, item.path, True)) is not None:
                marks.append(mark)
    return [*steps, *marks]


def _summary(plan: Plan) -> str:
    names = [item.path for item in plan.items if item.changes]
    return f"change {short_list(names)} on {plan.record.name}"


def short_list(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_SUMMARY} more" if len(names) > _MOST_SUMMARY else ""
    return f"{', '.join(names[:_MOST_SUMMARY])}{more}"


def cut_diff(items: Sequence[Item]) -> str:
    """The diff for a result, of bounded length."""
    diff = shown_text("\n".join(item.diff for item in items))
    return cut_lines(diff, _MOST_DIFF)
