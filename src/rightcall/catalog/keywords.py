"""Where schemas stand inside a schema: the one table that every walk over a schema uses."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

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


def is_missing(value: Any) -> bool:
    """Absent (None here), null or blank."""
    return value is None or (isinstance(value, str) and not value.strip())


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
    for name, spellings in rules.values.items():
        wrong = _wrong_spellings(spellings, as_schema(properties.get(name)))
        if wrong:
            properties[name] = _and(properties.get(name, True), {"not": wrong})
    demands += [{"anyOf": [_require_present(name) for name in group]} for group in rules.required_any if group]
    for name, excuses in rules.required_unless.items():
        excused = [_one_of(argument, values) for argument, values in excuses.items()]
        demands.append({"anyOf": [_require_present(name), *excused]})
    required += rules.defaults  # a call that lacks one is completed on the slow way
    made = dict(schema)
    if properties:
        made["properties"] = properties
    if required:
        made["required"] = list(dict.fromkeys(required))
    if demands:
        made["allOf"] = [*as_list(schema.get("allOf")), *demands]
    return made


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
    for name in (*listed, *rules.min_length, *rules.values, *rules.defaults, *rules.aliases.values()):
        names[name] = {}
    for name in rules.min_length:
        names[name] = {"type": "string"}
    for name, value in (rules.example or {}).items():
        names.setdefault(name, {"examples": [value]})
    return {"type": "object", "properties": cast("Schema", names), "additionalProperties": True}
