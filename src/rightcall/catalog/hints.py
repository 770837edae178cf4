"""Python type hints as JSON Schema. A hint that nobody can express becomes no constraint, never an error."""

import collections.abc as abc
import enum
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, NotRequired, Required, Union, cast, get_args, get_origin

from rightcall.catalog.keywords import Schema

_LISTS = (list, set, frozenset, abc.Sequence, abc.MutableSequence, abc.Set, abc.MutableSet, abc.Iterable,
          abc.Collection)  # fmt: skip
_MAPS = (dict, abc.Mapping, abc.MutableMapping)
_CONSTRAINTS = {
    "ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum", "multiple_of": "multipleOf",
    "pattern": "pattern",
}  # fmt: skip


def schema_of(hint: Any) -> Schema:
    """The JSON Schema of a type hint.

    >>> schema_of(list[Literal["a", "b"]] | None)
    {'anyOf': [{'type': 'array', 'items': {'enum': ['a', 'b']}}, {'type': 'null'}]}
    """
    hint = getattr(hint, "__value__", hint)  # `type Name = …` of Python 3.12
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin is Annotated:
        return _annotated(arguments[0], arguments[1:])
    if origin in (Required, NotRequired, Final) and arguments:
        return schema_of(arguments[0])
    if origin is Literal:
        return {"enum": [_plain(value) for value in arguments]}
    if origin in (Union, types.UnionType):
        return _union([schema_of(part) for part in arguments])
    if origin in _LISTS:
        return {"type": "array"} | _under("items", schema_of(arguments[0]))
    if origin is tuple:
        return _tuple(arguments)
    if origin in _MAPS:
        return {"type": "object"} | _under("additionalProperties", schema_of(arguments[1]))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": [_plain(member) for member in hint]}
    return _leaf(hint)


def _leaf(hint: Any) -> Schema:
    if hasattr(hint, "model_json_schema"):
        return model_schema(hint)
    import msgspec  # the whole package: `msgspec.json.schema` loads inspection late by itself

    try:
        schema = msgspec.json.schema(hint, schema_hook=_foreign)
    except TypeError:  # what it says of types it cannot express
        return {}
    return _own_names(schema)


def model_schema(model: Any) -> Schema:
    """What a pydantic model says of itself; pydantic is loaded already where there is one."""
    return _own_names(cast("Callable[[], Schema]", model.model_json_schema)())


def _foreign(hint: Any) -> Schema:
    return model_schema(hint) if hasattr(hint, "model_json_schema") else {}


def _own_names(schema: Schema) -> Schema:
    """Definitions of its own get an `$id` around them, so that two models may use the same name."""
    return {"$id": "hint", **schema} if "$defs" in schema else schema


def _annotated(hint: Any, notes: tuple[Any, ...]) -> Schema:
    """A text is the description; constraints are read by name, so that no library needs to be loaded for them."""
    schema = schema_of(hint)
    said: Schema = {}
    for note in notes:
        if isinstance(note, str):
            said["description"] = note
            continue
        for part in (note, *getattr(note, "metadata", ())):
            if isinstance(getattr(part, "description", None), str):
                said["description"] = part.description
            for attribute, keyword in _CONSTRAINTS.items():
                value = getattr(part, attribute, None)
                if isinstance(value, (int, float, str)):
                    said[keyword] = value
            said |= _lengths(part, schema)
    if "$ref" in schema and said.keys() - {"description"}:
        return {"allOf": [schema], **said}
    return schema | said


def _lengths(note: Any, schema: Schema) -> Schema:
    unit = "Items" if schema.get("type") == "array" else "Properties" if schema.get("type") == "object" else "Length"
    found = {end: getattr(note, f"{end}_length", None) for end in ("min", "max")}
    return {f"{end}{unit}": value for end, value in found.items() if isinstance(value, int)}


def _union(parts: list[Schema]) -> Schema:
    if {} in parts:
        return {}  # one of them may be anything, so all may
    return parts[0] if len(parts) == 1 else {"anyOf": parts}


def _tuple(arguments: tuple[Any, ...]) -> Schema:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return {"type": "array"} | _under("items", schema_of(arguments[0]))
    count = len(arguments)
    return {
        "type": "array", "prefixItems": [schema_of(part) for part in arguments], "items": False,
        "minItems": count, "maxItems": count,
    }  # fmt: skip


def _under(keyword: str, schema: Schema) -> Schema:
    return {keyword: schema} if schema else {}


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else value


def jsonable(value: Any) -> bool:
    """Whether a default can be shown in a schema."""
    if isinstance(value, (list, tuple)):
        return all(jsonable(item) for item in cast("list[Any]", value))
    if isinstance(value, Mapping):
        table = cast("Mapping[Any, Any]", value)
        return all(isinstance(key, str) and jsonable(item) for key, item in table.items())
    return value is None or isinstance(value, (bool, int, float, str))
