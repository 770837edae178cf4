"""What every code tool is made of: its name, the record of its arguments, and a function of both a `Sight` and that
record. Its schema, description and example stand in the pack `code`."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightcall.catalog import PackTool
from rightcall.execute.functions import LocalTool
from rightcall.execute.packed import packed_tool
from rightcall.execute.trace import current_trace
from rightcall.fs.sight import Opened, Sight

_GRACE = 2.0
"""Seconds beyond a tool's own deadline, at which it answers with what it has found so far."""


class CodeTool(Struct, frozen=True):
    """One tool. `seconds` is its deadline; `state` says in which state what it reads is, None where the files in its
    path arguments say enough; `traced`: it notes what it looks at, by which its results can be kept, and its state
    cannot be told before."""

    name: str
    arguments: type[Struct]
    run: Callable[[Sight, Any], Any]
    seconds: float
    state: Callable[[Sight, Any], object] | None = None
    traced: bool = False


def local(tool: CodeTool, about: PackTool, sight: Sight) -> LocalTool:
    """The tool on one root, as the executor runs it."""
    made = packed_tool(
        about, tool.arguments, partial(_run_traced, tool.run, sight) if tool.traced else partial(tool.run, sight),
        state=partial(tool.state, sight) if tool.state is not None else None,
    )  # fmt: skip
    return replace(made, timeout=tool.seconds + _GRACE, cacheable=not tool.traced, traced=tool.traced, rooted=True)


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
