"""Tools from Python: functions, dataclasses, TypedDicts, msgspec Structs, pydantic models, and objects that carry a
name and a schema (as MCP's and agent frameworks' own tool objects do)."""

import dataclasses
import enum
import functools
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from inspect import cleandoc
from itertools import takewhile
from textwrap import dedent
from typing import Any, get_type_hints, is_typeddict

from msgspec import Struct, ValidationError, convert

from rightcall.base.text import fault_text, message_of
from rightcall.catalog.tidy import (
    Part,
    Schema,
    as_schema,
    jsonable,
    map_parts,
    model_schema,
    parts,
    ref_name,
    schema_of,
)
from rightcall.errors import ToolError

# ── docstrings ──
# What a docstring says of a function and of each parameter: Google, NumPy and Sphinx style.

_GOOGLE = re.compile(r"^(?:Args|Arguments|Parameters|Params|Keyword Args|Other Parameters|Attributes):[ \t]*$", re.M)
_NUMPY = re.compile(r"^(?:Parameters|Other Parameters|Attributes)[ \t]*\n-{3,}[ \t]*$", re.M)
_SPHINX = re.compile(r"^[ \t]*:(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:\n]*\s)?(\*{0,2}\w+)\s*:", re.M)
_SPHINX_FIELD = re.compile(r"^[ \t]*:\w[^:\n]*:", re.M)
_SECTION = re.compile(r"^(?:[A-Z][A-Za-z ]*:[ \t]*$|[A-Z][A-Za-z ]*\n-{3,}[ \t]*$)", re.M)
_GOOGLE_ITEM = re.compile(r"^(\*{0,2}\w+)\s*(?:\([^)\n]*\))?\s*:\s*(.*)$")
_NUMPY_ITEM = re.compile(r"^(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")


def read_docstring(text: str | None) -> tuple[str, dict[str, str]]:
    """The description of the whole, and of each parameter.

    >>> read_docstring('''Add.
    ...
    ...     Args:
    ...         n (int): What to add.
    ... ''')
    ('Add.', {'n': 'What to add.'})
    """
    if not text or not text.strip():
        return "", {}
    doc = cleandoc(text)
    items: dict[str, str] = {}
    starts: list[int] = []
    for header, read in ((_GOOGLE, _google), (_NUMPY, _numpy)):
        for found in header.finditer(doc):
            starts.append(found.start())
            items.update(read(_body(doc, found.end())))
    fields = list(_SPHINX_FIELD.finditer(doc))
    starts += [field.start() for field in fields[:1]]
    items.update(_sphinx(doc))
    other = _SECTION.search(doc)
    starts += [other.start()] if other else []
    return doc[: min(starts, default=len(doc))].strip(), items


def _body(doc: str, start: int) -> str:
    following = _SECTION.search(doc, start)
    return doc[start : following.start() if following else len(doc)].strip("\n")


def _google(body: str) -> dict[str, str]:
    items: dict[str, list[str]] = {}
    current: list[str] | None = None
    indented = takewhile(lambda line: line[:1] in ("", " ", "\t"), body.splitlines())  # what follows is prose again
    for line in dedent("\n".join(indented)).splitlines():
        found = _GOOGLE_ITEM.match(line)
        if found:
            current = items.setdefault(found[1].lstrip("*"), [])
            current.append(found[2])
        elif current is not None:
            current.append(line.strip())
    return _joined(items)


def _numpy(body: str) -> dict[str, str]:
    items: dict[str, list[str]] = {}
    current: list[list[str]] = []
    for line in dedent(body).splitlines():
        found = _NUMPY_ITEM.match(line)
        if found:
            names = [name.strip().lstrip("*") for name in found[1].split(",")]
            current = [items.setdefault(name, []) for name in names]
        else:
            for lines in current:
                lines.append(line.strip())
    return _joined(items)


def _sphinx(doc: str) -> dict[str, str]:
    items: dict[str, list[str]] = {}
    for found in _SPHINX.finditer(doc):
        following = _SPHINX_FIELD.search(doc, found.end())
        text = doc[found.end() : following.start() if following else len(doc)]
        paragraph = re.split(r"\n[ \t]*\n", text, maxsplit=1)[0]
        items[found[1].lstrip("*")] = [line.strip() for line in paragraph.splitlines()]
    return _joined(items)


def _joined(items: dict[str, list[str]]) -> dict[str, str]:
    return {name: text for name, lines in items.items() if (text := " ".join(part for part in lines if part).strip())}


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
        return definition | {"parameters": _unfold(model_schema(cls))}
    if dataclasses.is_dataclass(cls):
        return definition | {"parameters": _from_fields(cls, _dataclass_defaults(cls), notes)}
    if is_typeddict(cls):
        optional = dict.fromkeys(cls.__optional_keys__, inspect.Parameter.empty)
        return definition | {"parameters": _from_fields(cls, optional, notes)}
    if hasattr(cls, "__struct_fields__"):
        return definition | {"parameters": _unfold(schema_of(cls))}
    raise ToolError(
        f"the class {cls.__name__} is not a model: pass a pydantic model, msgspec Struct, dataclass or TypedDict, "
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
    required = [name for name in names if name not in defaults]
    return _unfold({"type": "object", "properties": properties, "required": required})


def _from_object(thing: Any) -> dict[str, Any] | None:
    """An object with a name and a schema: MCP's `Tool`, LangChain's tools and their like."""
    name = getattr(thing, "name", None)
    if not isinstance(name, str):
        return None
    for attribute in _SCHEMA_ATTRIBUTES:
        schema = getattr(thing, attribute, None)
        if hasattr(schema, "model_json_schema"):
            schema = _unfold(model_schema(schema))
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
    return _unfold(schema)


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


# ── definitions ──
# The schema of a hint has its own `$defs`. Providers look only at those of the root, and Ollama follows no reference.

_BESIDE = frozenset(("$ref", "title", "description", "default", "examples", "deprecated"))
"""What may stand beside a reference whose schema is put in its place."""


def _unfold(schema: Schema) -> Schema:
    """What is referred to once in its place; what circles or is referred to more often in `$defs` of the root."""
    from rightcall.catalog.schema import localise  # late: most functions have no such hint

    if not any("$defs" in part for part in _inside(schema)):
        return schema
    try:
        flat = localise(schema)
    except ToolError:  # a model with references of its own that lead nowhere: whoever reads the schema says so
        return schema
    defs = as_schema(flat.pop("$defs", None))
    uses = _uses(flat, defs)

    def place(part: Part) -> Part:
        if not isinstance(part, dict):
            return part
        mine = map_parts(part, lambda _keyword, inner, _key: place(inner))
        name = ref_name(mine.get("$ref", ""))
        if uses[name] != 1:  # 0 where there is no reference
            return mine
        target = as_schema(place(defs[name]))
        texts = [one["description"] for one in (mine, target) if isinstance(one.get("description"), str)]
        said = {"description": "\n".join(texts)} if texts else {}
        return {**target, **{key: value for key, value in mine.items() if key != "$ref"}, **said}

    whole = as_schema(place(flat))
    shared = {name: place(part) for name, part in defs.items() if uses[name] > 1}
    return whole | {"$defs": shared} if shared else whole


def _uses(flat: Schema, defs: Schema) -> Counter[str]:
    """How often each definition is referred to; one that cannot be put in place counts as more than once."""
    uses: Counter[str] = Counter()
    todo = [flat]
    while todo:
        for part in _inside(todo.pop()):
            if "$ref" in part:
                name = ref_name(part["$ref"])
                todo += [] if uses[name] else [defs[name]]
                uses[name] += 1 if part.keys() <= _BESIDE else 2
    return uses


def _inside(part: Part) -> Iterator[Schema]:
    """Every schema in a schema, itself first."""
    if isinstance(part, dict):
        yield part
        for _, _, inner in parts(part):
            yield from _inside(inner)


# ── convert ──
# From the JSON of a call to the Python values a function declares: dataclass, enum, date, set, path, pydantic.

_REASON = 500


class Misfit(Struct, frozen=True):
    """An argument whose declared type cannot hold its value, and why."""

    name: str
    reason: str


Converter = Callable[[Mapping[str, Any]], tuple[dict[str, Any], tuple[Misfit, ...]]]
"""The keyword arguments in the declared types; what does not fit stays as it was and is named beside them."""


def converter(function: Callable[..., Any]) -> Converter:
    """How to turn JSON into the keyword arguments that `function` takes. Nothing raises later.

    Where a declared type cannot be made from JSON at all, the value stays what the schema let through.

    >>> def plan(days: set[int]) -> None: ...
    >>> converter(plan)({"days": [1, 2, 2]})
    ({'days': {1, 2}}, ())
    """
    hints = _fitting_hints(function)

    def convert_arguments(given: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Misfit, ...]]:
        arguments = dict(given)
        misfits: tuple[Misfit, ...] = ()
        for name, value in given.items():
            hint = hints.get(name)
            if value is None or hint is None or type(value) is hint:
                continue
            try:
                arguments[name] = convert(_whole(value), hint, str_keys=True, dec_hook=_make)
            except _ForeignError:
                continue
            except Exception as error:  # noqa: BLE001 - a type of the author's may raise anything at what a model wrote
                misfits += (Misfit(name, _reason(error)),)
        return arguments, misfits

    return convert_arguments


class _ForeignError(Exception):
    """A declared type that only the function's author knows how to make."""


def _make(kind: Any, value: Any) -> Any:
    """msgspec's door for types it does not know."""
    from pathlib import PurePath  # late: a gate without functions needs none

    if inspect.isclass(kind) and issubclass(kind, PurePath):
        return kind(value)
    validate: Callable[[Any], Any] | None = getattr(kind, "model_validate", None)  # pydantic, without importing it
    if validate is None:
        raise _ForeignError
    return validate(value)


def _fitting_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The declared types that can be made from JSON at all."""
    target: Any = function
    while isinstance(target, functools.partial):
        target = target.func
    if not inspect.isroutine(target):
        target = type(target).__call__  # an object that is called
    return {name: hint for name, hint in _hints(target).items() if name != "return" and _known(hint)}


def _known(hint: Any) -> bool:
    try:
        convert(None, hint, dec_hook=_make)
    except (ValidationError, _ForeignError):
        pass  # the type is fine, None is just no value of it
    except Exception:  # noqa: BLE001 - TypeError for a union of two dataclasses; an author's own type may raise others
        return False
    return True


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return message_of(error, _REASON)
    return fault_text(error, _REASON)


def _whole(value: Any) -> Any:
    """5.0 is an integer to JSON Schema, but not to Python."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
