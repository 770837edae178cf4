"""A tool as a model's API wants to be told of it."""

from typing import Any, Literal

from rightcall.catalog import Tool
from rightcall.text.wire import wire_name

DefinitionShape = Literal["openai", "anthropic", "mcp"]


def definition(tool: Tool, shape: DefinitionShape = "openai") -> dict[str, Any]:
    """The definition, in a copy: whoever gets it may change it."""
    schema = _copied(tool.schema)
    match shape:
        case "openai":
            about = {"name": wire_name(tool.name), "description": tool.description, "parameters": schema}
            return {"type": "function", "function": about}
        case "anthropic":
            return {"name": wire_name(tool.name), "description": tool.description, "input_schema": schema}
        case "mcp":
            return {"name": tool.name, "description": tool.description, "inputSchema": schema}
    raise ValueError(f"there is no shape {shape!r} for definitions; known are openai, anthropic and mcp")


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType] - JSON
    return [_copied(item) for item in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]
