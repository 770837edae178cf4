"""A tool's arguments as a model reads them best: `{ path: string, startLine?: number }`, from its JSON Schema."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from rightcall.catalog.keywords import Schema, as_list, as_schema, ref_name, types
from rightcall.catalog.tool import Tool
from rightcall.text.escape import escaped, render_json

_WORDS = {"integer": "number", "string": "string", "number": "number", "boolean": "boolean", "null": "null",
          "object": "object", "array": "any[]"}  # fmt: skip
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]{0,60}")
_MOST_ARGUMENTS, _MOST_CHOICES, _DEEPEST = 20, 8, 3


def signature(tool: Tool, names: Iterable[str] | None = None) -> str:
    """The arguments of a tool, or those of these names."""
    rules = tool.rules
    required = {*as_list(tool.schema.get("required")), *rules.required} - rules.required_unless.keys()
    return _object(tool.schema, tool.schema, required, 0, names)


def _object(node: Schema, root: Schema, required: Iterable[Any], depth: int, names: Iterable[str] | None = None) -> str:
    properties = as_schema(node.get("properties"))
    wanted = list(properties) if names is None else [name for name in names if name in properties]
    needed = set(map(str, required))
    parts = [
        f"{_name(name)}{'' if name in needed else '?'}: {_type(properties[name], root, depth + 1)}"
        for name in wanted[:_MOST_ARGUMENTS]
    ]
    parts += ["…"] if len(wanted) > _MOST_ARGUMENTS else []
    return f"{{ {', '.join(parts)} }}" if parts else "{}"


def _name(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else render_json(name, 60)


def _type(part: Any, root: Schema, depth: int) -> str:
    if not isinstance(part, Mapping) or depth > _DEEPEST:
        return "any"
    node = cast("Schema", part)
    if "$ref" in node:
        return _type(as_schema(root.get("$defs")).get(ref_name(node["$ref"]), True), root, depth + 1)
    if "const" in node:
        return render_json(node["const"], 40)
    if "enum" in node:
        return _union(render_json(value, 40) for value in as_list(node["enum"]))
    branches = as_list(node.get("anyOf")) or as_list(node.get("oneOf"))
    if branches:
        return _union(_type(branch, root, depth) for branch in branches)
    return _union(_plain(name, node, root, depth) for name in types(node) or (None,))


def _plain(name: str | None, node: Schema, root: Schema, depth: int) -> str:
    if name == "array" and "items" in node:
        inner = _type(node["items"], root, depth)
        return f"({inner})[]" if " | " in inner and inner[0] != "{" else f"{inner}[]"
    if name in ("object", None) and node.get("properties") and depth < _DEEPEST:
        return _object(node, root, as_list(node.get("required")), depth)
    return _WORDS.get(name or "", "any")


def _union(parts: Iterable[str]) -> str:
    found = list(dict.fromkeys(parts))
    rest = ["…"] if len(found) > _MOST_CHOICES else []
    return escaped(" | ".join([*found[:_MOST_CHOICES], *rest]) or "any", 400)
