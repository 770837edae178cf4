"""The read-only code tools, one subject per file: `read`, `search`, `listing`, `diff`, `history` (log, show and blame).

Whatever they open, they open through a `Sight` (`rightcall.base.files`), many files with the `Opener` of `listing`.
What they start, they start through `rightcall.tools.process`. `pattern` is the search's own engine, `candidates` the
files it looks into, `patch` what git writes of changes, `structure` and `worker` the outline of a source file.

What every one of them is made of stands here: its name, the record of its arguments, and a function of both a `Sight`
and that record. Its schema, description and example stand in the pack `code`.
"""

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from rightcall.base.files.sight import Opened, Sight
from rightcall.catalog.tool import PackTool
from rightcall.tools.functions import LocalTool, Work, packed_tool
from rightcall.tools.state import current_trace

__all__ = [
    "CodeTool", "local",
]  # fmt: skip

SECONDS: Final = {
    "code/read": 10.0, "code/search": 10.0, "code/list": 10.0, "code/diff": 5.0, "code/log": 10.0, "code/show": 10.0,
    "code/blame": 20.0,
}  # fmt: skip
"""Each tool's deadline."""
_GRACE = 2.0
"""Seconds beyond it, at which a tool answers with what it has found so far."""
_TRACED: Final = frozenset(("code/search", "code/list"))
"""They note what they look at, by which their results can be kept; their state cannot be told before."""
_BY_PATHS: Final = frozenset(("code/read",))
"""Of these the files in their path arguments say enough of the state; any other tells its own."""


class CodeTool(Struct, frozen=True):
    """One tool. `state` says in which state what it reads is, None where the files in its path arguments say enough."""

    name: str
    arguments: type[Struct]
    run: Callable[[Sight, Any], Any]
    state: Callable[[Sight, Any], object] | None = None

    @property
    def seconds(self) -> float:
        return SECONDS[self.name]

    @property
    def traced(self) -> bool:
        return self.name in _TRACED


def local(about: PackTool, load: Callable[[], CodeTool], sight: Sight) -> LocalTool:
    """The tool on one root, as the executor runs it; `load` imports its code."""
    traced = about.name in _TRACED

    def work() -> Work:
        tool = load()
        run = partial(_run_traced, tool.run, sight) if traced else partial(tool.run, sight)
        return Work(tool.arguments, run, None if tool.state is None else partial(tool.state, sight))

    made = packed_tool(about, work, state=about.name not in _BY_PATHS)
    return replace(made, timeout=SECONDS[about.name] + _GRACE, cacheable=not traced, traced=traced, rooted=True)


def _run_traced(run: Callable[[Sight, Any], Any], sight: Sight, asked: Any) -> Any:
    result = run(sight, asked)
    if (trace := current_trace()) is not None:
        trace.finish()
    return result


def begin_trace(sight: Sight, written: str, start: Opened) -> None:
    """Note the folders above the place where a call begins."""
    trace = current_trace()
    if trace is None:
        return
    root = sight.open_root()
    try:
        trace.begin(root, written, start.path)
    finally:
        os.close(root)
