"""A value that fits a schema, small and plain. Best effort: who uses it checks the result."""

import math
from typing import Any, cast

from rightcall.catalog.keywords import Part, Schema, as_list, as_schema, ref_name, types
from rightcall.parse.kinds import json_type
from rightcall.validate.sample_text import text_for

_DEEP = 12


class NoSampleError(Exception):
    """No value can be found."""


class Sampler:
    """Makes values for one tool. `generous` also fills in what is optional, for schemas that ask for it indirectly."""

    def __init__(self, root: Schema, generous: bool = False) -> None:
        self.root = root
        self.defs = as_schema(root.get("$defs"))
        self.generous = generous

    def arguments(self, wanted: list[str]) -> dict[str, Any]:
        """The arguments of a call: what the schema requires and what is `wanted`; one at least, if there is any."""
        node = self.whole(self.root)
        properties = as_schema(node.get("properties"))
        names = [name for name in properties if name in (*as_list(node.get("required")), *wanted)]
        names += [name for name in (*as_list(node.get("required")), *wanted) if name not in properties]
        if not names and properties and not self.generous:
            names = [next(iter(properties))]
        return self.object(node, "", 0, list(dict.fromkeys(names)))

    def value(self, part: Part, name: str, depth: int) -> Any:
        if part is False or depth > _DEEP:
            raise NoSampleError(name)
        node = self.whole(part)
        if "const" in node:
            return node["const"]
        for keyword in ("enum", "examples"):
            told = [value for value in as_list(node.get(keyword)) if value is not None and _is_of(types(node), value)]
            if told:
                return told[0]
        if node.get("default") is not None and _is_of(types(node), node["default"]):
            return node["default"]
        branches = as_list(node.get("anyOf")) or as_list(node.get("oneOf"))
        if branches:
            return self.branch(node, branches, name, depth)
        kinds = [kind for kind in types(node) or () if kind != "null"] or list(types(node) or ()) or [_guessed(node)]
        return self.of_kind(kinds[0], node, name, depth)

    def whole(self, part: Part) -> Schema:
        """The schema with `$ref` and `allOf` taken in."""
        node = as_schema(part)
        for _ in range(_DEEP):
            inner: list[Any] = as_list(node.get("allOf"))
            if "$ref" in node:
                inner = [self.defs.get(ref_name(node["$ref"]), True), *inner]
            if not inner:
                break
            node = {key: value for key, value in node.items() if key not in ("$ref", "allOf")}
            for more in inner:
                node = _both(as_schema(more), node)
        return node

    def branch(self, node: Schema, branches: list[Part], name: str, depth: int) -> Any:
        """The first alternative that can be made; null only when there is nothing else."""
        rest = {key: value for key, value in node.items() if key not in ("anyOf", "oneOf")}
        real = [part for part in branches if as_schema(part).get("type") != "null"]
        for part in real or branches:
            try:
                return self.value(_both(self.whole(part), rest), name, depth + 1)
            except NoSampleError:
                continue
        raise NoSampleError(name)

    def of_kind(self, kind: str, node: Schema, name: str, depth: int) -> Any:
        if kind == "string":
            return text_for(node, name)
        if kind in ("integer", "number"):
            return _number(node, whole=kind == "integer")
        if kind == "array":
            return self.array(node, name, depth)
        if kind == "object":
            return self.object(node, name, depth, as_list(node.get("required")))
        return kind == "boolean" or None

    def array(self, node: Schema, name: str, depth: int) -> list[Any]:
        made = [self.value(part, name, depth + 1) for part in as_list(node.get("prefixItems"))]
        least, most = node.get("minItems", 0), node.get("maxItems", math.inf)
        items = cast("Part", node.get("items", True))
        if not made and items is not True and items is not False and most >= 1:
            least = max(least, 1)
        if least > 50:
            raise NoSampleError(name)
        while len(made) < least:
            value = self.value(items if items is not True else {"type": "string"}, name, depth + 1)
            made.append(_another(value, made, as_schema(items)) if node.get("uniqueItems") else value)
        return made[: int(most)] if most != math.inf else made

    def object(self, node: Schema, name: str, depth: int, names: list[str]) -> dict[str, Any]:
        properties = as_schema(node.get("properties"))
        if self.generous:
            names = list(dict.fromkeys((*names, *properties)))
        made: dict[str, Any] = {}
        for key in names:
            try:
                made[key] = self.value(cast("Part", properties.get(key, {"type": "string"})), key, depth + 1)
            except NoSampleError:
                if key in as_list(node.get("required")):
                    raise
        for key in properties:
            if len(made) < node.get("minProperties", 0) and key not in made:
                made[key] = self.value(cast("Part", properties[key]), key, depth + 1)
        extra = cast("Part", node.get("additionalProperties", not properties))
        while len(made) < min(node.get("minProperties", 0), 50) and extra is not False:
            made[f"key{len(made) + 1}"] = self.value(
                extra if extra is not True else {"type": "string"}, name, depth + 1
            )
        return made


def _is_of(kinds: tuple[str, ...] | None, value: Any) -> bool:
    """Examples in the wild are often written as text, whatever the type."""
    return kinds is None or json_type(value) in kinds or (json_type(value) == "integer" and "number" in kinds)


def _both(under: Schema, over: Schema) -> Schema:
    """Two schemas of the same value in one; where both speak, names add up and otherwise `over` wins."""
    node = {**under, **over}
    for keyword in ("properties", "$defs"):
        if keyword in under and keyword in over:
            node[keyword] = {**as_schema(under[keyword]), **as_schema(over[keyword])}
    if "required" in under and "required" in over:
        node["required"] = list(dict.fromkeys((*as_list(under["required"]), *as_list(over["required"]))))
    for keyword in ("allOf",):
        if keyword in under and keyword in over:
            node[keyword] = [*as_list(under[keyword]), *as_list(over[keyword])]
    for keyword, tighter in (("minimum", max), ("minLength", max), ("minItems", max), ("maximum", min),
                             ("maxLength", min), ("maxItems", min)):  # fmt: skip
        if keyword in under and keyword in over:
            node[keyword] = tighter(under[keyword], over[keyword])
    return node


def _guessed(node: Schema) -> str:
    """What an untyped schema probably speaks of."""
    for kind, words in (
        ("object", ("properties", "required", "additionalProperties", "minProperties", "patternProperties")),
        ("array", ("items", "prefixItems", "minItems", "uniqueItems", "maxItems")),
        ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    ):
        if any(word in node for word in words):
            return kind
    return "string"


def _number(node: Schema, *, whole: bool) -> int | float:
    low = node.get("minimum", -math.inf)
    high = node.get("maximum", math.inf)
    above, below = node.get("exclusiveMinimum", -math.inf), node.get("exclusiveMaximum", math.inf)
    step = node.get("multipleOf", 1 if whole else 0)
    if whole and step != int(step):
        step = 1
    tries: list[float] = [1, 0, low, high, above + 1, below - 1, (max(low, above) + min(high, below)) / 2]
    if step:
        tries += [math.ceil(value / step) * step for value in tries if math.isfinite(value)]
        tries += [(math.floor(above / step) + 1) * step] if math.isfinite(above) else []
    for value in tries:
        number = int(value) if math.isfinite(value) and value == int(value) else value
        fits = low <= number <= high and above < number < below and math.isfinite(number)
        if fits and (not whole or number == int(number)) and (not step or abs(number % step) < 1e-9):
            return number
    raise NoSampleError("number")


def _another(value: Any, taken: list[Any], items: Schema) -> Any:
    """A value unlike those already there, for lists without repetition."""
    choices = [one for one in as_list(items.get("enum")) if one not in taken]
    if "enum" in items:
        if not choices:
            raise NoSampleError("enum")
        return choices[0]
    count = 0
    candidate = value
    while candidate in taken:
        count += 1
        if isinstance(value, bool):
            candidate = not value
        elif isinstance(value, (int, float)):
            candidate = value + count * (items.get("multipleOf") or 1)
        elif isinstance(value, str):
            candidate = f"{value}{count}"
        if count > 50 or candidate is value:
            raise NoSampleError("unique")
    return candidate
