"""The tools of peer review: `code/pull-request`, `code/review` and `code/merge`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from rightcall.execute.functions import LocalTool
from rightcall.execute.write.checking import Checker
from rightcall.execute.write.desk_tool import desk_tool
from rightcall.execute.write.merging import MergeArguments, merge, merge_preview, merge_state
from rightcall.execute.write.pulls_opening import OpenArguments, open_preview, open_pull, open_state
from rightcall.execute.write.reviewing import ReviewArguments, review, review_preview, review_state

if TYPE_CHECKING:
    from rightcall.execute.sandbox.sandbox import Sandbox
    from rightcall.execute.write.desk import Desk

_AROUND: Final = 60.0
"""Seconds that a merge may take besides its checks, which may run twice."""


def pull_tools(desk: "Desk", sandbox: "Callable[[], Sandbox]", visible: tuple[str, ...] = ()) -> list[LocalTool]:
    """The tools on one desk; `sandbox` makes the sandbox when checks are run, `visible` are folders that can be read in
    it."""
    from rightcall.packs import load_pack

    about = {tool.name: tool for tool in load_pack("code").tools}
    checker = Checker(sandbox, visible)

    def merging(desk: "Desk", asked: MergeArguments) -> Any:
        return merge(desk, asked, checker)

    return [
        desk_tool(about["code/pull-request"], OpenArguments, desk, open_pull, open_preview, open_state),
        desk_tool(about["code/review"], ReviewArguments, desk, review, review_preview, review_state),
        replace(
            desk_tool(about["code/merge"], MergeArguments, desk, merging, merge_preview, merge_state),
            timeout=2 * desk.settings.check.seconds + _AROUND,
        ),
    ]  # fmt: skip
