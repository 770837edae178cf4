"""What every code tool is made of: its name, the record of its arguments, and a function of both a `Sight` and that
record. Its schema, description and example stand in the pack `code`."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, ValidationError, convert, to_builtins

from rightcall.catalog import PackTool
from rightcall.errors import ToolFailure
from rightcall.execute.functions import LocalTool
from rightcall.fs.sight import Sight
from rightcall.text.escape import escaped

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

    def run(**arguments: Any) -> Any:
        return to_builtins(tool.run(sight, _record(tool, arguments)))

    def state(arguments: Mapping[str, Any]) -> object:
        assert tool.state is not None
        return tool.state(sight, _record(tool, arguments))

    return LocalTool(
        name=tool.name,
        function=run,
        definition={"name": tool.name, "description": about.description, "parameters": about.schema},
        effects=about.effects,
        repeatable=about.rules.repeatable,
        timeout=tool.seconds + _GRACE,
        cacheable=tool.cached,
        state=state if tool.state is not None else None,
        paths=about.rules.paths,
        example=about.rules.example,
        rooted=True,
        about=about,
    )


def _record(tool: CodeTool, arguments: Mapping[str, Any]) -> Any:
    try:
        return convert(dict(arguments), tool.arguments)
    except ValidationError as fault:  # the schema has let it pass: a whole number written as 1.5e300, say
        raise ToolFailure(f"{tool.name}: {escaped(str(fault), 200)}") from fault
