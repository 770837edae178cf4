"""What every code tool is made of: its name, the record of its arguments, and a function of both a `Sight` and that
record. Its schema, description and example stand in the pack `code`."""

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Struct

from rightcall.catalog import PackTool
from rightcall.execute.functions import LocalTool
from rightcall.execute.packed import packed_tool
from rightcall.fs.sight import Sight

_GRACE = 2.0
"""Seconds beyond a tool's own deadline, at which it answers with what it has found so far."""


class CodeTool(Struct, frozen=True):
    """One tool. `seconds` is its deadline; `state` says in which state what it reads is, None where the files in its
    path arguments say enough; `cached` whether an unchanged state means an unchanged result."""

    name: str
    arguments: type[Struct]
    run: Callable[[Sight, Any], Any]
    seconds: float
    state: Callable[[Sight, Any], object] | None = None
    cached: bool = True


def local(tool: CodeTool, about: PackTool, sight: Sight) -> LocalTool:
    """The tool on one root, as the executor runs it."""
    return packed_tool(
        about, tool.arguments, partial(tool.run, sight),
        state=partial(tool.state, sight) if tool.state is not None else None,
        timeout=tool.seconds + _GRACE, cacheable=tool.cached, rooted=True,
    )  # fmt: skip
