"""The tools that write, on one desk, ready for an executor. The order is that of the design's stages.

What an executor must know of them before one is called stands here; their code is loaded with the first call.
"""

import os
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.guarded import true_place
from rightcall.base.files.sight import Sight
from rightcall.catalog.packs import load_pack
from rightcall.catalog.tool import PackTool
from rightcall.policy.settings import WriteSettings
from rightcall.tools.functions import LocalTool, Work, packed_tool

if TYPE_CHECKING:
    from rightcall.tools.sandbox.sandbox import Sandbox
    from rightcall.tools.write.desk import Desk

SECONDS: Final = 60.0
"""A worktree of a large repository takes some."""
_AROUND: Final = 60.0
"""Seconds that a merge may take besides its checks, which may run twice."""


class DeskWork(Struct, frozen=True):
    """What every tool that works at a desk is made of: a function of the desk and its arguments, and two more that say
    what it would do, and onto what."""

    arguments: type[Struct]
    run: Callable[["Desk", Any], Any]
    preview: Callable[["Desk", Any], str]
    state: Callable[["Desk", Any], str]


def desk_tool(about: PackTool, desk: Callable[[], "Desk"], load: Callable[[], DeskWork]) -> LocalTool:
    """The tool on one desk. It is told who calls, and the state that was judged: it writes onto nothing else."""

    def work() -> Work:
        own, at = load(), desk()
        return Work(own.arguments, partial(own.run, at), partial(own.state, at), partial(own.preview, at))

    made = packed_tool(about, work, state=True, preview=True)
    return replace(made, timeout=SECONDS, rooted=True, caller="caller", expected="expected", lasting=True)


# ── saving ──
# `file/save`.


def saving_tools(desk: Callable[[], "Desk"], settings: WriteSettings, guarded: Sequence[str] = ()) -> list[LocalTool]:
    """The tool on one desk. `guarded` are the true paths of files that no tool may write wherever they are, such as a
    policy and an audit outside the root."""

    def load() -> DeskWork:
        from rightcall.tools.write.save import SaveArguments, preview_save, save, save_state

        return DeskWork(
            SaveArguments, partial(save, guarded=guarded), partial(preview_save, guarded=guarded),
            partial(save_state, guarded=guarded),
        )  # fmt: skip

    outside = tuple(os.path.realpath(folder) for folder in settings.folders if folder.startswith("/"))
    return [replace(desk_tool(_pack()["file/save"], desk, load), lasting=False, outside=outside)]


# ── branches ──
# The tools that work on branches: `code/create-branch`, `code/edit`, `code/create-test` and `code/commit`.


def branch_tools(desk: Callable[[], "Desk"], guarded: Sequence[str] = ()) -> list[LocalTool]:
    """The tools on one desk; `guarded` as for `file/save`."""
    about = _pack()

    def edit() -> DeskWork:
        from rightcall.tools.write.save import EditArguments, edit, edit_state, preview_edit

        return DeskWork(
            EditArguments, partial(edit, guarded=guarded), partial(preview_edit, guarded=guarded),
            partial(edit_state, guarded=guarded),
        )  # fmt: skip

    return [
        desk_tool(about["code/create-branch"], desk, _load_branch),
        desk_tool(about["code/edit"], desk, edit),
        desk_tool(about["code/create-test"], desk, _load_test),
        desk_tool(about["code/commit"], desk, _load_commit),
    ]


def _load_branch() -> DeskWork:
    from rightcall.tools.write.commit import BranchArguments, branch_state, create_branch, preview_branch

    return DeskWork(BranchArguments, create_branch, preview_branch, branch_state)


def _load_test() -> DeskWork:
    from rightcall.tools.write.save import CreateTestArguments, create_test, created_state, preview_created

    return DeskWork(CreateTestArguments, create_test, preview_created, created_state)


def _load_commit() -> DeskWork:
    from rightcall.tools.write.commit import CommitArguments, commit, commit_state, preview_commit

    return DeskWork(CommitArguments, commit, preview_commit, commit_state)


# ── pull requests ──
# The tools of peer review: `code/pull-request`, `code/review` and `code/merge`.


def pull_tools(
    desk: Callable[[], "Desk"], settings: WriteSettings, sandbox: "Callable[[], Sandbox]", visible: tuple[str, ...] = ()
) -> list[LocalTool]:
    """The tools on one desk; `sandbox` makes the sandbox when checks are run, `visible` are folders that can be read in
    it."""
    about = _pack()

    def merging() -> DeskWork:
        from rightcall.tools.write.merge import Checker, MergeArguments, merge, merge_preview, merge_state

        run = partial(merge, checker=Checker(sandbox, visible))
        return DeskWork(MergeArguments, run, merge_preview, merge_state)

    return [
        desk_tool(about["code/pull-request"], desk, _load_pull),
        desk_tool(about["code/review"], desk, _load_review),
        replace(desk_tool(about["code/merge"], desk, merging), timeout=2 * settings.check.seconds + _AROUND),
    ]


def _load_pull() -> DeskWork:
    from rightcall.tools.write.commit import OpenArguments, open_preview, open_pull, open_state

    return DeskWork(OpenArguments, open_pull, open_preview, open_state)


def _load_review() -> DeskWork:
    from rightcall.tools.write.review import ReviewArguments, review, review_preview, review_state

    return DeskWork(ReviewArguments, review, review_preview, review_state)


def write_tools(
    folder: str, sight: Sight, settings: WriteSettings, sandbox: "Callable[[], Sandbox]",
    visible: tuple[str, ...] = (), guarded: Sequence[str] = (),
) -> list[LocalTool]:  # fmt: skip
    """All of them, on the desk in this folder. `sandbox` is where checks run, `visible` what they can read besides;
    `guarded` are the true paths of files that none may write, wherever they lie."""

    true = true_place(folder)  # now: a link that is put there later leads nowhere

    @cache
    def desk() -> "Desk":
        from rightcall.tools.write.desk import Desk

        return Desk(true, sight, settings, is_true=True)

    return [
        *saving_tools(desk, settings, guarded),
        *branch_tools(desk, guarded),
        *pull_tools(desk, settings, sandbox, visible),
    ]


def _pack() -> dict[str, PackTool]:
    return {tool.name: tool for tool in load_pack("code").tools}
