"""Every way to write a tool, read into definitions: the dict shapes of the model APIs, Python things, TOML."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, cast

import msgspec

from rightcall.catalog.keywords import as_list, as_schema
from rightcall.catalog.merge import Definition
from rightcall.catalog.tool import PackTool, Tool
from rightcall.errors import ToolError
from rightcall.types import Effect, Rules

SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "schema", "arguments_schema", "args_schema")
SHAPES = (
    '{"type": "function", "function": {"name", "description", "parameters"}}, {"name", "input_schema"}, '
    '{"name", "inputSchema"} or {"name", "description", "parameters"}'
)


def flatten(tools: Any) -> list[dict[str, Any] | tuple[PackTool]]:
    """What `build_catalog` was given, as plain data: dicts of the model APIs, and ours as tuples of one.

    The tuple keeps apart what may declare effects and rules (our own records, TOML) from dicts that may come from a
    server, which may not.
    """
    if tools is None:
        return []
    if isinstance(tools, (str, PathLike)):
        return [(tool,) for tool in from_toml_file(cast("str | PathLike[str]", tools))]
    if isinstance(tools, Mapping):
        return _from_mapping(cast("Mapping[str, Any]", tools))
    if not isinstance(tools, Iterable):
        return _one(tools)
    flat: list[dict[str, Any] | tuple[PackTool]] = []
    for tool in cast("Iterable[Any]", tools):
        flat += [cast("dict[str, Any]", tool)] if isinstance(tool, dict) else _one(tool)
    return flat


def _one(tool: Any) -> list[dict[str, Any] | tuple[PackTool]]:
    if isinstance(tool, PackTool):
        return [(tool,)]
    if isinstance(tool, Tool):
        effects = tuple(sorted(tool.effects)) if tool.effects_declared else None
        return [(PackTool(tool.name, tool.description, tool.schema, effects, tool.rules, tool.source),)]
    if isinstance(tool, (str, PathLike)):
        return [(found,) for found in from_toml_file(cast("str | PathLike[str]", tool))]
    if isinstance(tool, Mapping):
        return [dict(cast("Mapping[str, Any]", tool))]
    from rightcall.catalog.functions import from_python  # late: inspecting needs modules that dicts do not

    return [from_python(tool)]


def _from_mapping(tools: Mapping[str, Any]) -> list[dict[str, Any] | tuple[PackTool]]:
    listed = tools.get("tools")
    if isinstance(listed, Mapping):
        return [(tool,) for tool in from_toml(tools, "tools")]
    if isinstance(listed, Sequence) and not isinstance(listed, str):
        return flatten(listed)
    return [dict(tools)]


def read_definitions(raw: dict[str, Any] | list[PackTool], number: int) -> Iterable[Definition]:
    """The definitions in one item of `flatten`; Gemini keeps several in one."""
    if isinstance(raw, list):
        return [Definition(*(getattr(raw[0], name) for name in ("name", "description", "schema", "effects", "rules")))]
    for key in ("functionDeclarations", "function_declarations"):
        if key in raw:
            return [_definition(as_schema(inner), number) for inner in as_list(raw[key])]
    return [_definition(raw, number)] if not _is_built_in(raw) else []


def _is_built_in(raw: dict[str, Any]) -> bool:
    """A tool that the model's provider runs itself, such as `{"type": "web_search"}`; its calls never come to us."""
    kind = raw.get("type")
    described = "function" in raw or any(key in raw for key in SCHEMA_KEYS)
    return isinstance(kind, str) and kind not in ("function", "object") and not described


def _definition(raw: dict[str, Any], number: int) -> Definition:
    for key in ("function", "toolSpec"):
        inner = raw.get(key)
        if isinstance(inner, dict):
            raw = cast("dict[str, Any]", inner)
    name = raw.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ToolError(f"tool number {number} has no name; right is {SHAPES}")
    schema: Any = next((raw[key] for key in SCHEMA_KEYS if raw.get(key) is not None), None)
    if as_schema(schema).keys() == {"json"}:  # Bedrock
        schema = schema["json"]
    description = raw.get("description")
    return Definition(name, description if isinstance(description, str) else "", schema)


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """`[tools.NAME]` beside the rules."""

    description: str = ""
    parameters: dict[str, Any] | None = None
    effects: tuple[Effect, ...] | None = None


def from_toml_file(path: str | PathLike[str]) -> list[PackTool]:
    """The tools of a TOML file, written as in a pack: `[tools.NAME]` with `parameters` and rules."""
    name = fspath(path)
    if not name.endswith(".toml"):
        raise ToolError(f"{name!r:.120} is no tool: a path to tools must end in .toml")
    import tomllib  # late: most catalogues come as dicts

    try:
        with open(name, "rb") as file:
            document = tomllib.load(file)
    except OSError as fault:
        raise ToolError(f"the file of tools cannot be read: {fault.strerror}", source=name) from fault
    except ValueError as fault:  # not UTF-8, or not TOML; the message says where
        raise ToolError(f"not valid TOML: {fault}", source=name) from fault
    return from_toml(document, name)


def from_toml(document: Mapping[str, Any], source: str) -> list[PackTool]:
    tables = document.get("tools")
    if not isinstance(tables, Mapping):
        raise ToolError("needs a table [tools.NAME] for each tool", source=source)
    found: list[PackTool] = []
    for name, table in cast("Mapping[str, Any]", tables).items():
        if not isinstance(table, Mapping):
            raise ToolError(f"[tools.{name}] must be a table", source=source)
        entry = cast("Mapping[str, Any]", table)
        rules = {key: value for key, value in entry.items() if key in Rules.__struct_fields__}
        about = {key: value for key, value in entry.items() if key not in rules}
        try:
            made = msgspec.convert(about, _Table)
            found.append(
                PackTool(name, made.description, made.parameters, made.effects, msgspec.convert(rules, Rules), source)
            )
        except msgspec.ValidationError as fault:
            raise ToolError(f"[tools.{name}]: {fault}", source=source) from fault
    return found
