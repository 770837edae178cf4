"""The tools that work on branches: `code/create-branch`, `code/edit`, `code/create-test` and `code/commit`."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from rightcall.base.globs import path_matches
from rightcall.catalog import PackTool
from rightcall.errors import ToolFailure
from rightcall.execute.functions import LocalTool
from rightcall.execute.write import branches_creating, committing
from rightcall.execute.write.desk_tool import desk_tool
from rightcall.execute.write.editing import Edit, EditResult, Operation
from rightcall.execute.write.editing_folders import FolderEdit, is_for_folders
from rightcall.execute.write.editing_paths import branch_path
from rightcall.execute.write.git import Writer
from rightcall.packs import load_pack
from rightcall.text.escape import escaped

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk

_PATTERNS = 6
EDIT, CREATE_TEST = "code/edit", "code/create-test"


class EditArguments(Struct, frozen=True, kw_only=True):
    operations: list[Operation]
    branch: str | None = None
    caller: str = ""
    expected: str | None = None


class CreateTestArguments(Struct, frozen=True, kw_only=True):
    path: str
    content: str
    branch: str | None = None
    caller: str = ""
    expected: str | None = None


def branch_tools(desk: "Desk", guarded: Sequence[str] = ()) -> list[LocalTool]:
    """The tools on one desk. What is said of them stands in the pack `code`; `guarded` as for `file/save`."""
    about: dict[str, PackTool] = {tool.name: tool for tool in load_pack("code").tools}
    return [
        desk_tool(about[branches_creating.NAME], branches_creating.BranchArguments, desk,
                  branches_creating.create_branch, branches_creating.preview_branch, branches_creating.branch_state),
        desk_tool(about[EDIT], EditArguments, desk,
                  partial(edit, guarded=guarded), partial(preview_edit, guarded=guarded),
                  partial(edit_state, guarded=guarded)),
        desk_tool(about[CREATE_TEST], CreateTestArguments, desk, create_test, preview_created, created_state),
        desk_tool(about[committing.NAME], committing.CommitArguments, desk,
                  committing.commit, committing.preview_commit, committing.commit_state),
    ]  # fmt: skip


def edit(desk: "Desk", asked: EditArguments, guarded: Sequence[str] = ()) -> EditResult:
    return _edit(desk, asked, guarded).apply(asked.expected)


def preview_edit(desk: "Desk", asked: EditArguments, guarded: Sequence[str] = ()) -> str:
    return _edit(desk, asked, guarded).preview(asked.expected)


def edit_state(desk: "Desk", asked: EditArguments, guarded: Sequence[str] = ()) -> str:
    return _edit(desk, asked, guarded).state()


def create_test(desk: "Desk", asked: CreateTestArguments) -> EditResult:
    return _test(desk, asked).apply(asked.expected)


def preview_created(desk: "Desk", asked: CreateTestArguments) -> str:
    return _test(desk, asked).preview(asked.expected)


def created_state(desk: "Desk", asked: CreateTestArguments) -> str:
    return _test(desk, asked).state()


def save_on_branch(desk: "Desk", tool: str, caller: str, branch: str, path: str, content: str) -> Edit:
    """`file/save` in the worktree of a branch: whether the file is there or not. `preview`, `state` and `apply`."""
    return Edit(desk, tool, caller, branch, [Operation("save", path, content)], "path")


def _edit(desk: "Desk", asked: EditArguments, guarded: Sequence[str]) -> Edit | FolderEdit:
    if not asked.operations:
        raise ToolFailure("operations: at least one is needed")
    if any(one.type == "save" for one in asked.operations):
        raise ToolFailure("operations: type is modify, insert or delete")
    if asked.branch is None and is_for_folders(desk, asked.caller, asked.operations, guarded):
        return FolderEdit(desk, EDIT, asked.caller, asked.operations, guarded)
    return Edit(desk, EDIT, asked.caller, asked.branch, asked.operations)


def _test(desk: "Desk", asked: CreateTestArguments) -> Edit:
    path = branch_path(desk, Writer(desk.sight), asked.path)
    if not any(path_matches(pattern, path) for pattern in desk.settings.tests):
        tests = desk.settings.tests
        more = f" and {len(tests) - _PATTERNS} more" if len(tests) > _PATTERNS else ""
        patterns = ", ".join(escaped(pattern, 200) for pattern in tests[:_PATTERNS]) + more
        raise ToolFailure(
            f"path: {escaped(path, 200)} is no test file. Test files are those that match [write] tests: {patterns}; "
            "code/edit changes other files"
        )
    return Edit(desk, CREATE_TEST, asked.caller, asked.branch, [Operation("insert", path, asked.content)], "path")
