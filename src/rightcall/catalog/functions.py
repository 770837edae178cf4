"""Tools from Python: functions, dataclasses, TypedDicts, msgspec Structs, pydantic models, and objects that carry a
name and a schema (as MCP's and agent frameworks' own tool objects do)."""

import dataclasses
import enum
import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints, is_typeddict

from rightcall.catalog.docstrings import read_docstring
from rightcall.catalog.hints import jsonable, model_schema, schema_of
from rightcall.catalog.keywords import Schema
from rightcall.errors import ToolError

_SCHEMA_ATTRIBUTES = ("inputSchema", "input_schema", "args_schema", "parameters", "params_json_schema")


def from_python(thing: Any) -> dict[str, Any]:
    """A bare definition `{name, description, parameters}` of anything Python."""
    if isinstance(thing, type):
        return _from_class(thing)
    carried = _from_object(thing)
    if carried is not None:
        return carried
    if callable(thing):
        return _from_function(thing)
    raise ToolError(
        f"a tool must be a dict with a name and a schema, a function, a model class or a path to a .toml file; "
        f"got {type(thing).__name__}"
    )


def _from_class(cls: Any) -> dict[str, Any]:
    doc, notes = read_docstring(None if _generated(cls) else cls.__doc__)
    definition: dict[str, Any] = {"name": cls.__name__, "description": doc}
    if hasattr(cls, "model_json_schema"):
        return definition | {"parameters": model_schema(cls)}
    if dataclasses.is_dataclass(cls):
        return definition | {"parameters": _from_fields(cls, _dataclass_defaults(cls), notes)}
    if is_typeddict(cls):
        optional = dict.fromkeys(cls.__optional_keys__, inspect.Parameter.empty)
        return definition | {"parameters": _from_fields(cls, optional, notes)}
    if hasattr(cls, "__struct_fields__"):
        return definition | {"parameters": schema_of(cls)}
    raise ToolError(
        f"the class {cls.__name__} is no model: give a pydantic model, msgspec Struct, dataclass or TypedDict, "
        "or one of its methods"
    )


def _generated(cls: type) -> bool:
    """A dataclass without a docstring gets its signature as one; a Struct or TypedDict inherits none of use."""
    doc = cls.__doc__ or ""
    return doc.startswith(f"{cls.__name__}(") or cls.__dict__.get("__doc__") is None


def _dataclass_defaults(cls: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        if field.default is not dataclasses.MISSING:
            defaults[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING or not field.init:
            defaults[field.name] = inspect.Parameter.empty
    return defaults


def _from_fields(cls: Any, defaults: Mapping[str, Any], notes: Mapping[str, str]) -> Schema:
    hints = _hints(cls)
    names = [field.name for field in dataclasses.fields(cls) if field.init] if dataclasses.is_dataclass(cls) else hints
    properties = {name: _parameter(hints.get(name, Any), defaults.get(name, ...), notes.get(name)) for name in names}
    return {"type": "object", "properties": properties, "required": [name for name in names if name not in defaults]}


def _from_object(thing: Any) -> dict[str, Any] | None:
    """An object with a name and a schema: MCP's `Tool`, LangChain's tools and their like."""
    name = getattr(thing, "name", None)
    if not isinstance(name, str):
        return None
    for attribute in _SCHEMA_ATTRIBUTES:
        schema = getattr(thing, attribute, None)
        if hasattr(schema, "model_json_schema"):
            schema = model_schema(schema)
        if isinstance(schema, dict):
            description = getattr(thing, "description", None)
            return {"name": name, "description": description or "", "parameters": schema}
    return None


def _from_function(function: Callable[..., Any]) -> dict[str, Any]:
    inner: Any = function
    while hasattr(inner, "func"):  # functools.partial
        inner = inner.func
    name = getattr(inner, "__name__", type(inner).__name__)
    if name == "<lambda>":
        raise ToolError("a lambda has no name to call it by: define a function")
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError) as fault:
        raise ToolError(f"`{name}` does not tell its parameters ({fault}): give its schema as a dict") from fault
    target = inner if inspect.isroutine(inner) else getattr(inner, "__call__", inner)  # noqa: B004 - an object that is called
    doc, notes = read_docstring(inspect.getdoc(inner) if inspect.isroutine(inner) else inspect.getdoc(target))
    return {"name": name, "description": doc, "parameters": _from_signature(signature, _hints(target), notes)}


def _from_signature(signature: inspect.Signature, hints: Mapping[str, Any], notes: Mapping[str, str]) -> Schema:
    schema: Schema = {"type": "object", "properties": {}, "required": []}
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind is parameter.VAR_POSITIONAL or (position == 0 and name in ("self", "cls")):
            continue
        hint = hints.get(name, Any)
        if parameter.kind is parameter.VAR_KEYWORD:
            schema["additionalProperties"] = schema_of(hint) or True
            continue
        required = parameter.default is parameter.empty
        schema["properties"][name] = _parameter(hint, ... if required else parameter.default, notes.get(name))
        if required:
            schema["required"].append(name)
    return schema


def _parameter(hint: Any, default: Any, note: str | None) -> Schema:
    """One parameter; `...` means that it has no default, `Parameter.empty` that the default cannot be shown."""
    schema = schema_of(hint)
    said: Schema = {"description": note} if note else {}
    if isinstance(default, enum.Enum):
        default = default.value
    if default is None and schema and not _allows_null(schema):
        schema = {"anyOf": [schema, {"type": "null"}]}  # `def f(n: int = None)`
    if default is not ... and jsonable(default):
        said["default"] = default
    return said | schema if "description" in schema else schema | said


def _allows_null(schema: Schema) -> bool:
    return (
        schema.get("type") == "null"
        or None in schema.get("enum", ())
        or any(_allows_null(part) for part in schema.get("anyOf", ()))
    )


def _hints(thing: Any) -> dict[str, Any]:
    try:
        return get_type_hints(thing, include_extras=True)
    except Exception:  # noqa: BLE001 - a hint is any expression of the user's; one that fails says nothing
        return {}
