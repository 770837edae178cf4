"""What every tool that works at a desk is made of: a function of the desk and its arguments, and two more that say what
it would do, and onto what."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from rightcall.catalog import PackTool
from rightcall.execute.functions import LocalTool
from rightcall.execute.packed import packed_tool

if TYPE_CHECKING:
    from rightcall.execute.write.desk import Desk

_SECONDS: Final = 60.0
"""A worktree of a large repository takes some."""


def desk_tool(
    about: PackTool, arguments: type[Struct], desk: "Desk", run: Callable[["Desk", Any], Any],
    preview: Callable[["Desk", Any], str], state: Callable[["Desk", Any], str],
) -> LocalTool:  # fmt: skip
    """The tool on one desk. It is told who calls, and the state that was judged: it writes onto nothing else."""
    made = packed_tool(about, arguments, partial(run, desk), preview=partial(preview, desk), state=partial(state, desk))
    return replace(made, timeout=_SECONDS, rooted=True, caller="caller", expected="expected", lasting=True)
