"""The tools that write, on one desk, ready for an executor. The order is that of the design's stages."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from rightcall.tools.functions import LocalTool
from rightcall.tools.write.commit import OpenArguments, open_preview, open_pull, open_state
from rightcall.tools.write.desk import Desk
from rightcall.tools.write.merge import Checker, MergeArguments, merge, merge_preview, merge_state
from rightcall.tools.write.review import ReviewArguments, review, review_preview, review_state
from rightcall.tools.write.save import branch_tools, desk_tool, saving_tools

if TYPE_CHECKING:
    from rightcall.tools.sandbox.sandbox import Sandbox


# ── pull requests ──
# The tools of peer review: `code/pull-request`, `code/review` and `code/merge`.

_AROUND: Final = 60.0
"""Seconds that a merge may take besides its checks, which may run twice."""


def pull_tools(desk: "Desk", sandbox: "Callable[[], Sandbox]", visible: tuple[str, ...] = ()) -> list[LocalTool]:
    """The tools on one desk; `sandbox` makes the sandbox when checks are run, `visible` are folders that can be read in
    it."""
    from rightcall.catalog.packs import load_pack

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


def write_tools(
    desk: Desk, sandbox: "Callable[[], Sandbox]", visible: tuple[str, ...] = (), guarded: Sequence[str] = ()
) -> list[LocalTool]:
    """All of them. `sandbox` is where checks run, `visible` what they can read besides; `guarded` are the true paths of
    files that none may write, wherever they lie."""
    return [*saving_tools(desk, guarded=guarded), *branch_tools(desk, guarded), *pull_tools(desk, sandbox, visible)]
