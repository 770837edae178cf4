"""Where schemas stand inside a schema: the one table that every walk over a schema uses. And definitions as people and
generators write them, made into plain JSON Schema 2020-12.
Quietly mended: type names of other languages (`dict`, `float`, `tuple`, `any`, `STRING`), OpenAPI's `nullable`,
`required: true` inside a property, `example`, and what drafts 4 to 7 wrote differently. What cannot be understood is a
`ToolError`.
"""

import collections.abc as abc
import enum
import re
import types as std_types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, NotRequired, Required, Union, cast, get_args, get_origin

from rightcall.errors import ToolError
from rightcall.types import Rules

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


# ── ruled ──
# Rules beside the schema (`required`, `required_any`, …) said in JSON Schema, so that one compiled check decides all.
#
# A required argument must be there, not null and not blank: 0 and false are values, blank text is none.

BLANK = r"\s\x1c-\x1f"
"""What Python's `str.strip` takes away, as the inside of a character class of the linear engine."""
NOT_BLANK = f"[^{BLANK}]"


def with_rules(schema: Schema, rules: Rules) -> Schema:
    """The strict schema with everything that `rules` demand of a call that needs nothing more."""
    properties = dict(as_schema(schema.get("properties")))
    required = list(as_list(schema.get("required")))
    demands: list[Schema] = []
    for name in rules.required:
        if name not in rules.required_unless:
            required.append(name)
            properties[name] = _and(properties.get(name, True), _present(properties.get(name, True)))
    for name, least in rules.min_length.items():
        properties[name] = _and(properties.get(name, True), {"minLength": least})
    for name, wrong in _wrong_values(rules, properties):
        if name in properties or not is_place(name):
            properties[name] = _and(properties.get(name, True), {"not": wrong})
        else:
            demands.append(_inside(name, {"not": wrong}))
    demands += [{"anyOf": [_require_present(name) for name in group]} for group in rules.required_any if group]
    for name, excuses in rules.required_unless.items():
        excused = [_one_of(argument, values) for argument, values in excuses.items()]
        demands.append({"anyOf": [_require_present(name), *excused]})
    required += (name for name in rules.defaults if not is_place(name))  # what lacks one is completed on the slow way
    made = dict(schema)
    if properties:
        made["properties"] = properties
    if required:
        made["required"] = list(dict.fromkeys(required))
    if demands:
        made["allOf"] = [*as_list(schema.get("allOf")), *demands]
    return made


def is_place(name: str) -> bool:
    """Whether a rule speaks of something inside an argument: `filter.language`, `items[].size`, `tags[]`."""
    return "." in name or name.endswith("[]")


def _inside(place: str, demand: Schema) -> Schema:
    """What is demanded at a place inside of arguments, said of the whole call."""
    for step in reversed(place.split(".")):
        if step.endswith("[]"):
            demand = {"items": demand}
        demand = {"properties": {step.removesuffix("[]"): demand}}
    return demand


def _wrong_values(rules: Rules, properties: Schema) -> Iterator[tuple[str, Schema]]:
    """Values that fit the schema and yet mean another: by argument, or by the place inside one."""
    for name, spellings in rules.values.items():
        wrong = _wrong_spellings(spellings, as_schema(properties.get(name)))
        if wrong:
            yield name, wrong
    if not rules.forms:
        return
    from rightcall.catalog.forms import refused_pattern  # late: few tools have any

    for name, forms in rules.forms.items():
        if pattern := refused_pattern(forms):
            yield name, {"type": "string", "pattern": pattern}


def same_text(values: Iterable[str]) -> str:
    """A pattern for these texts, without regard to case and surrounding blanks."""
    return rf"^[{BLANK}]*(?i:{'|'.join(_escaped(value.strip()) for value in values)})[{BLANK}]*$"


def _escaped(text: str) -> str:
    """Literal text as a pattern that both the linear engine and ECMAScript's grammar read."""
    return re.sub(r"[\\^$.|?*+()\[\]{}/-]", lambda found: "\\" + found[0] if found[0] != "-" else "-", text)


def _require_present(name: str) -> Schema:
    return {"required": [name], "properties": {name: _present(True)}}


def _present(part: Part) -> Schema:
    """Not null and not blank; as little as the property's own type leaves open, for speed."""
    kinds = _kinds(part) if isinstance(part, dict) else None
    if kinds is None:
        return {"not": {"type": "null"}, "pattern": NOT_BLANK}
    demand: Schema = {}
    if "null" in kinds:
        demand["not"] = {"type": "null"}
    if "string" in kinds and "enum" not in as_schema(part):
        demand["pattern"] = NOT_BLANK
    return demand


def _kinds(part: Schema) -> tuple[str, ...] | None:
    """The types that a property names, itself or in each of its alternatives; None where it leaves some open."""
    named = types(part)
    branches = [types(as_schema(one)) for one in as_list(part.get("anyOf"))]
    if named is not None or not branches or None in branches:
        return named
    return tuple(dict.fromkeys(kind for kinds in branches for kind in kinds or ()))


def _and(part: Part, demand: Schema) -> Part:
    """Both at once; beside each other where no keyword is said twice, since that is faster."""
    if part is True:
        return demand
    if isinstance(part, bool) or not demand:
        return part
    return {"allOf": [part, demand]} if part.keys() & demand.keys() else part | demand


def _one_of(name: str, values: Iterable[Any]) -> Schema:
    """The argument has one of these values; text is compared as in `same_text`."""
    every = list(values)
    texts = [value for value in every if isinstance(value, str)]
    choices: list[Schema] = [{"type": "string", "pattern": same_text(texts)}] if texts else []
    choices += [{"const": value} for value in every if not isinstance(value, str)]
    return {"required": [name], "properties": {name: {"anyOf": choices}}}


def _wrong_spellings(spellings: Mapping[str, Any], part: Schema) -> Schema | None:
    """Values that stand for another one, unless the schema or the table itself calls them right."""
    if "enum" in part or "const" in part:
        return None  # whatever is not right is refused anyway
    right = {value.strip().casefold() for value in spellings.values() if isinstance(value, str)}
    wrong = [text for text in spellings if text.strip().casefold() not in right]
    return {"type": "string", "pattern": same_text(wrong)} if wrong else None


def schema_from_rules(rules: Rules) -> Schema:
    """What rules alone tell of a tool's arguments: their names. Others may exist, so the object stays open."""
    names: dict[str, Part] = {}
    listed = (*rules.required, *(name for group in rules.required_any for name in group), *rules.required_unless)
    spoken = (*rules.min_length, *rules.values, *rules.defaults, *rules.aliases.values(), *rules.forms)
    for name in (*listed, *(name.split(".")[0].removesuffix("[]") for name in spoken)):
        names[name] = {}
    for name in rules.min_length:
        names[name] = {"type": "string"}
    for name, value in (rules.example or {}).items():
        names.setdefault(name, {"examples": [value]})
    return {"type": "object", "properties": cast("Schema", names), "additionalProperties": True}


_TYPE_NAMES = {
    **dict.fromkeys(("string", "str", "text", "char", "varchar", "date", "datetime", "time", "uuid", "enum"), "string"),
    **dict.fromkeys(("integer", "int", "int32", "int64", "long", "short", "byte", "bigint"), "integer"),
    **dict.fromkeys(("number", "float", "double", "decimal", "numeric", "real"), "number"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list", "tuple", "set", "arraylist", "sequence"), "array"),
    **dict.fromkeys(("object", "dict", "dictionary", "map", "hashmap", "hashtable", "mapping", "struct"), "object"),
    **dict.fromkeys(("null", "none", "nonetype"), "null"),
}
_ANY = frozenset({"any", "anything", "mixed", "unknown", "unspecified", "type_unspecified"})
RIGHT_TYPES = "string, integer, number, boolean, array, object or null"
_HOLDS_SCHEMAS = frozenset(
    ("properties", "patternProperties", "additionalProperties", "items", "not", "if", "then", "else", "$defs",
     "definitions", "contains", "propertyNames", "dependentSchemas")
)  # fmt: skip
_COMPOSED = frozenset({"$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "patternProperties"})


def tidy_arguments(schema: Any) -> Schema:
    """The schema of a tool's arguments: an object, whatever else was said."""
    if schema is None or schema is True:
        return {"type": "object"}
    if not isinstance(schema, dict):
        raise ToolError(f"the schema must be a JSON Schema object such as {{'type': 'object'}}, got {schema!r:.80}")
    root = cast("Schema", schema)
    if root and not _HOLDS_SCHEMAS & root.keys() and all(isinstance(part, dict) for part in root.values()):
        root = {"properties": root}  # arguments listed without the object around them
    tidied = as_schema(_tidy(root, "", 0))
    kinds = types(tidied)
    if kinds is not None and "object" not in kinds:
        raise ToolError(f"the arguments of a tool are an object, but the schema says type {' or '.join(kinds)}")
    return {"type": "object"} | tidied | {"type": "object"}


def _tidy(schema: Any, where: str, depth: int) -> Part:
    if isinstance(schema, bool):
        return schema
    if schema is None:
        return True
    if isinstance(schema, str):  # {"city": "string"}, or a description in the schema's place
        known = schema.lower() in _TYPE_NAMES or schema.lower() in _ANY
        schema = {"type": schema} if known else {"description": schema}
    if not isinstance(schema, dict):
        raise ToolError(f"{_at(where)} must be a schema such as {{'type': 'string'}}, got {schema!r:.80}")
    given = cast("Schema", schema)
    node = {key: value for key, value in given.items() if value is not None or key in ("const", "default")}
    _old_drafts(node)
    _types(node, where)
    _choices(node)
    _annotations(node)
    _required(node, where)
    _nullable(node)
    below = deeper(depth)
    return map_parts(node, lambda keyword, part, key: _tidy(part, _path(where, keyword, key), below))


def _types(node: Schema, where: str) -> None:
    named = types(node)
    if named is None:
        if "type" in node:
            raise ToolError(f"{_at(where)} has type {node['type']!r:.80}; right is {RIGHT_TYPES}")
        return
    names: list[str] = []
    for name in named:
        word = name.lower() if isinstance(cast("object", name), str) else ""
        if word in _ANY:
            names.clear()
            break
        if word not in _TYPE_NAMES:
            raise ToolError(f"{_at(where)} has type {name!r}; right is {RIGHT_TYPES}")
        if _TYPE_NAMES[word] not in names:
            names.append(_TYPE_NAMES[word])
    if names:
        node["type"] = names[0] if len(names) == 1 else names
    else:
        del node["type"]


def _choices(node: Schema) -> None:
    """A list of values none of which has the type beside it: nothing could ever fit as it is written.

    Beside `array` the values are those of the items. Beside a number or a boolean they are texts of such, and what is
    none (`["True", "False", "dontcare"]`) is one value more.
    """
    kinds, listed = types(node), as_list(node.get("enum"))
    if kinds is None or len(kinds) != 1 or not listed or not all(isinstance(value, str) for value in listed):
        return
    if kinds[0] == "array":
        items = node.get("items", {})
        if isinstance(items, dict) and "enum" not in items:
            node["items"] = {**cast("Schema", items), "enum": node.pop("enum")}
    elif kinds[0] in _WRITTEN:
        meant = [_WRITTEN[kinds[0]](value) for value in cast("list[str]", listed)]
        node["enum"] = meant
        node["type"] = [kinds[0], "string"] if any(isinstance(value, str) for value in meant) else kinds[0]


def _number(text: str) -> Any:
    whole = text.removeprefix("-")
    if whole.isdecimal() and whole.isascii() and len(whole) < 16:
        return int(text)
    return float(text) if re.fullmatch(r"-?\d{1,15}\.\d{1,15}", text, re.ASCII) else text


_WRITTEN: dict[str, Callable[[str], Any]] = {
    "integer": _number,
    "number": _number,
    "boolean": lambda text: {"true": True, "false": False}.get(text.lower(), text),
}


STRICT_BOUNDS = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))


def number_strict_bounds(node: Schema) -> None:
    """The flags of draft 4 as the numbers that later drafts have there."""
    for exclusive, inclusive in STRICT_BOUNDS:
        flag = node.get(exclusive)
        if isinstance(flag, bool):
            del node[exclusive]
            if flag and inclusive in node:
                node[exclusive] = node.pop(inclusive)


def _old_drafts(node: Schema) -> None:
    """Drafts 4 to 7 to 2020-12."""
    number_strict_bounds(node)
    if isinstance(node.get("items"), list):
        node["prefixItems"] = node.pop("items")
        if "additionalItems" in node:
            node["items"] = node["additionalItems"]
    node.pop("additionalItems", None)
    definitions = node.pop("definitions", None)
    if isinstance(definitions, dict):
        node["$defs"] = cast("Schema", definitions) | as_schema(node.get("$defs"))
    dependencies = node.pop("dependencies", None)
    for name, needs in as_schema(dependencies).items():
        keyword = "dependentRequired" if isinstance(needs, list) else "dependentSchemas"
        node[keyword] = as_schema(node.get(keyword)) | {name: needs}


def _annotations(node: Schema) -> None:
    """Notes in a shape that a strict reader of schemas would refuse; they decide nothing."""
    for keyword in ("description", "title", "$comment"):
        if keyword in node and not isinstance(node[keyword], str):
            del node[keyword]
    if "example" in node:
        node.setdefault("examples", [node["example"]])
        del node["example"]
    if "examples" in node and not isinstance(node["examples"], list):
        node["examples"] = [node["examples"]]
    for keyword in ("$schema", "$vocabulary", "deprecated", "readOnly", "writeOnly"):
        node.pop(keyword, None)


def _required(node: Schema, where: str) -> None:
    """`required: true` inside a property moves to the list beside `properties`; a listed name is a known argument."""
    properties = node.get("properties")
    if properties is not None and not isinstance(properties, dict):
        raise ToolError(f"{_at(where)}: `properties` must map argument names to schemas, got {properties!r:.80}")
    required = node.get("required")
    if isinstance(required, bool):
        del node["required"]
    elif isinstance(required, str):
        node["required"] = [required]
    elif required is not None and not isinstance(required, list):
        raise ToolError(f"{_at(where)}: `required` must be a list of argument names, got {required!r:.80}")
    listed = [name for name in as_list(node.get("required")) if isinstance(name, str)]
    if "required" in node:
        node["required"] = list(dict.fromkeys(listed))
    if not isinstance(properties, dict):
        return
    known = cast("dict[str, Any]", properties)
    listed += [name for name, part in known.items() if as_schema(part).get("required") is True and name not in listed]
    if listed or "required" in node:
        node["required"] = list(dict.fromkeys(listed))
    if known and not _COMPOSED & node.keys():
        missing = {name: True for name in listed if name not in known}
        node["properties"] = known | missing


def _nullable(node: Schema) -> None:
    """OpenAPI 3.0: `nullable: true` beside a type."""
    if node.pop("nullable", False) is not True:
        return
    kinds = types(node)
    if kinds is not None:
        node["type"] = list(dict.fromkeys((*kinds, "null")))
        if isinstance(node.get("enum"), list) and None not in node["enum"]:
            node["enum"] = [*node["enum"], None]
    elif "$ref" in node or "allOf" in node or "anyOf" in node or "oneOf" in node or "enum" in node:
        inner = dict(node)
        node.clear()
        node["anyOf"] = [inner, {"type": "null"}]


def _path(where: str, keyword: str, key: str) -> str:
    if keyword == "properties":
        return f"{where}.{key}" if where else key
    if keyword == "items":
        return f"{where}[]"
    return f"{where}/{keyword}/{key}" if key else f"{where}/{keyword}"


def _at(where: str) -> str:
    return f"`{where}`" if where else "the schema"


# ── hints ──
# Python type hints as JSON Schema. A hint that nobody can express becomes no constraint, never an error.

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
    if origin in (Union, std_types.UnionType):
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
