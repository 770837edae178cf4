"""Where schemas stand inside a schema: the one table that every walk over a schema uses."""

from collections.abc import Callable, Iterator
from typing import Any, cast

from rightcall.errors import ToolError

Schema = dict[str, Any]
Part = Schema | bool
"""A place where a schema stands may also hold `true` (anything) or `false` (nothing)."""

IN_PLACE_ONE = ("not", "if", "then", "else")
IN_PLACE_LIST = ("allOf", "anyOf", "oneOf")
IN_PLACE_MAP = ("dependentSchemas",)
"""Keywords whose schemas speak of the same value, not of a value inside it."""

_ONE = frozenset(
    (*IN_PLACE_ONE, "additionalProperties", "items", "contains", "propertyNames", "unevaluatedItems",
     "unevaluatedProperties", "contentSchema")
)  # fmt: skip
_LIST = frozenset((*IN_PLACE_LIST, "prefixItems"))
_MAP = frozenset((*IN_PLACE_MAP, "properties", "patternProperties", "$defs"))
NESTING = _ONE | _LIST | _MAP
"""Every keyword that holds schemas."""
DEPTH = 64
"""Deepest nesting of a tool's schema that is read."""


def as_schema(value: object) -> Schema:
    """A dict as a schema, anything else as the empty one."""
    return cast("Schema", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def parts(schema: Schema) -> Iterator[tuple[str, str | int | None, Part]]:
    """Every schema directly inside: keyword, key or index, schema."""
    for keyword, value in schema.items():
        if keyword in _ONE and isinstance(value, (dict, bool)):
            yield keyword, None, cast("Part", value)
        elif keyword in _LIST:
            for index, part in enumerate(as_list(value)):
                yield keyword, index, part
        elif keyword in _MAP:
            for key, part in as_schema(value).items():
                yield keyword, key, part


def map_parts(schema: Schema, change: Callable[[str, Part, str], Part]) -> Schema:
    """A copy with every schema directly inside replaced by `change(keyword, schema, key)`."""
    copy: Schema = {}
    for keyword, value in schema.items():
        if keyword in _ONE and isinstance(value, (dict, bool)):
            copy[keyword] = change(keyword, cast("Part", value), "")
        elif keyword in _LIST and isinstance(value, list):
            copy[keyword] = [change(keyword, part, str(n)) for n, part in enumerate(cast("list[Part]", value))]
        elif keyword in _MAP and isinstance(value, dict):
            copy[keyword] = {key: change(keyword, part, key) for key, part in cast("dict[str, Part]", value).items()}
        else:
            copy[keyword] = value
    return copy


def in_place(schema: Schema) -> Iterator[tuple[str, Part]]:
    """The schemas that speak of the same value, without following `$ref`."""
    for keyword, _, part in parts(schema):
        if keyword in IN_PLACE_ONE or keyword in IN_PLACE_LIST or keyword in IN_PLACE_MAP:
            yield keyword, part


def types(schema: Schema) -> tuple[str, ...] | None:
    """The types a schema names itself, None when it names none."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return (kind,)
    return tuple(cast("list[str]", kind)) if isinstance(kind, list) else None


def ref_name(ref: str) -> str:
    """The name in `$defs` behind a tidied `$ref`."""
    return ref.removeprefix("#/$defs/")


def ref_to(name: str) -> str:
    return f"#/$defs/{name}"


def deeper(depth: int) -> int:
    """The next depth, or an error where the nesting has no end in sight."""
    if depth >= DEPTH:
        raise ToolError(f"the schema is nested deeper than {DEPTH} levels")
    return depth + 1
