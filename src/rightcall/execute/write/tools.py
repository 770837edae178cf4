"""The tools that write, on one desk, ready for an executor. The order is that of the design's stages."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rightcall.execute.functions import LocalTool
from rightcall.execute.write.desk import Desk
from rightcall.execute.write.editing_tools import branch_tools
from rightcall.execute.write.pulls_tools import pull_tools
from rightcall.execute.write.saving import saving_tools

if TYPE_CHECKING:
    from rightcall.execute.sandbox.sandbox import Sandbox


def write_tools(
    desk: Desk, sandbox: "Callable[[], Sandbox]", visible: tuple[str, ...] = (), guarded: Sequence[str] = ()
) -> list[LocalTool]:
    """All of them. `sandbox` is where checks run, `visible` what they can read besides; `guarded` are the true paths of
    files that none may write, wherever they lie."""
    return [*saving_tools(desk, guarded=guarded), *branch_tools(desk, guarded), *pull_tools(desk, sandbox, visible)]
