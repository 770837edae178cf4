"""Tools that ship with us: what they are called, take and are for stands in a pack; here is how they run."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct, ValidationError, convert, to_builtins

from rightcall.catalog import PackTool
from rightcall.errors import ToolFailure
from rightcall.execute.functions import LocalTool
from rightcall.text.escape import escaped


def packed_tool(
    about: PackTool, arguments: type[Struct], run: Callable[[Any], Any], *,
    state: Callable[[Any], object] | None = None, preview: Callable[[Any], Any] | None = None,
) -> LocalTool:  # fmt: skip
    """A tool of a pack whose function takes the record of its arguments, and gives one of its result. `state` and
    `preview` take the same record."""

    def call(**given: Any) -> Any:
        return to_builtins(run(_record(about.name, arguments, given)))

    def on_record(function: Callable[[Any], Any]) -> Callable[[Mapping[str, Any]], Any]:
        return lambda given: function(_record(about.name, arguments, given))

    return LocalTool(
        name=about.name,
        function=call,
        definition={"name": about.name, "description": about.description, "parameters": about.schema},
        effects=about.effects,
        repeatable=about.rules.repeatable,
        state=on_record(state) if state is not None else None,
        preview=on_record(preview) if preview is not None else None,
        paths=about.rules.paths,
        commands=about.rules.commands,
        example=about.rules.example,
        about=about,
    )


def _record(name: str, kind: type[Struct], given: Mapping[str, Any]) -> Any:
    try:
        return convert(dict(given), kind)
    except ValidationError as fault:  # what a schema lets pass, such as 1e300 for a whole number
        raise ToolFailure(f"{name}: {escaped(str(fault), 200)}") from fault
