"""The schema made strict: an argument that nobody named is an error, at any depth.

The design's rule: a call fits when it is valid and has no argument that the schema does not name, unless the schema
states `additionalProperties`. Where an object is put together from several schemas (`allOf`, `anyOf`, `$ref` with
neighbours, `if`), only the outermost one can know all names: it gets `unevaluatedProperties: false`. A schema that
forbids (`not`) or decides (`if`) keeps its meaning, so nothing inside it is closed. Therefore each definition can be
needed in up to three ways, and `$defs` of the result holds those that are used.
"""

from typing import Literal, cast

from rightcall.catalog.keywords import Part, Schema, as_list, as_schema, in_place, map_parts, ref_name, ref_to, types

Way = Literal["closed", "within", "as_is"]
"""`closed`: this schema alone speaks of the value. `within`: an outer schema closes. `as_is`: nothing is closed."""

RESERVED_KEYS = (
    # JavaScript tools that merge an object with these keys change every object of the process
    "__proto__", "prototype", "constructor",
    # Python tools that set attributes by name reach the class, its module and the builtins through these
    "__class__", "__dict__", "__init__", "__globals__", "__builtins__", "__reduce__",
)  # fmt: skip
"""Keys that no call may carry where the schema does not name them."""

_STATED = ("additionalProperties", "patternProperties", "unevaluatedProperties")
_COMPOSED = ("$ref", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas")
_AS_IS = ("not", "if", "contains")


def strict(schema: Schema, *, close: bool = True) -> tuple[Schema, bool]:
    """The strict form of a tidied schema, and whether it has places where anything may stand."""
    maker = _Strict(as_schema(schema.get("$defs")), close)
    root = maker.visit({key: value for key, value in schema.items() if key != "$defs"}, "closed")
    if maker.made:
        root["$defs"] = maker.made
    return root, maker.open


class _Strict:
    def __init__(self, defs: Schema, close: bool) -> None:
        self.defs = defs
        self.close = close
        self.made: Schema = {}
        self.open = False

    def visit(self, node: Schema, way: Way) -> Schema:
        if way == "as_is":
            return self.copy(node, "as_is", "as_is")
        if way == "within":
            self.open = self.open or node.get("additionalProperties") is True or "patternProperties" in node
            return self.copy(node, "within", "closed")
        alone = self.closes_by_itself(node)
        copy = self.copy(node, "closed" if alone else "within", "closed")
        if self.close and not any(key in node for key in _STATED):
            if "properties" in node and not any(key in node for key in _COMPOSED):
                copy["additionalProperties"] = False
            elif not alone and self.names(node):
                copy["unevaluatedProperties"] = False
        self.look_after_the_rest(node, copy, alone)
        return copy

    def copy(self, node: Schema, same: Way, inner: Way) -> Schema:
        """`same` is the way for schemas that speak of the same value, `inner` for those of values inside it."""
        plain = {key: value for key, value in node.items() if key not in ("anyOf", "oneOf")}
        maps_possible = same == "within" and not self.names(plain)

        def change(keyword: str, part: Part, _key: str) -> Part:
            if not isinstance(part, dict):
                self.open = self.open or (part and keyword in ("properties", "items", "additionalProperties"))
                return part
            if keyword in _AS_IS:
                return self.visit(part, "as_is")
            if keyword in ("anyOf", "oneOf") and maps_possible and self.is_free_map(part):
                part = {**part, "additionalProperties": True}
            return self.visit(part, same if keyword in _COMPOSED else inner)

        made = map_parts(node, change)
        if "$ref" in node:
            made["$ref"] = self.define(ref_name(node["$ref"]), same)
        if same != "as_is" and self.is_choice(node):
            # A closed branch may no longer fit where the open one does: then two that fit would seem to be one.
            made["allOf"] = [*as_list(made.get("allOf")), {"anyOf": made.pop("oneOf")}]
            made["oneOf"] = [self.visit(as_schema(part), "as_is") for part in as_list(node["oneOf"])]
        return made

    def define(self, name: str, way: Way) -> str:
        key = name if way == "closed" else f"{name}.{way}"
        if key not in self.made:
            self.made[key] = {}  # taken: the definition may refer to itself
            self.made[key] = self.visit(as_schema(self.defs[name]), way)
        return ref_to(key)

    def closes_by_itself(self, node: Schema) -> bool:
        """Whether at most one schema inside can speak of an object, so that closing there closes all."""
        if "properties" in node or any(key in node for key in _STATED):
            return False
        composed = [key for key in _COMPOSED if key in node]
        if composed == ["$ref"] or not composed:
            return True
        if composed == ["allOf"]:
            return len(as_list(node["allOf"])) == 1
        if composed in (["anyOf"], ["oneOf"]):
            return sum(self.may_be("object", part) for part in as_list(node[composed[0]])) <= 1
        return False

    def is_choice(self, node: Schema) -> bool:
        """`oneOf` with several branches for objects or lists."""
        branches = as_list(node.get("oneOf"))
        return any(sum(self.may_be(kind, part) for part in branches) > 1 for kind in ("object", "array"))

    def may_be(self, kind: str, part: Part) -> bool:
        if isinstance(part, bool):
            return part
        kinds = types(part)
        if kinds is not None:
            return kind in kinds
        if "const" in part or "enum" in part:
            wanted = dict if kind == "object" else list
            return any(isinstance(value, wanted) for value in [part.get("const"), *as_list(part.get("enum"))])
        if "$ref" in part:
            return self.may_be(kind, cast("Part", self.defs[ref_name(part["$ref"])]))
        branches = as_list(part.get("anyOf")) or as_list(part.get("oneOf"))
        return any(self.may_be(kind, branch) for branch in branches) if branches else True

    def names(self, part: Part) -> set[str]:
        """The arguments named by this schema and those that speak of the same value; `*` for a pattern."""
        if isinstance(part, bool):
            return set()
        found = set(as_schema(part.get("properties")))
        if "patternProperties" in part:
            found.add("*")
        if "properties" in part:
            found.add("")  # names none, and says so
        if "$ref" in part:
            found |= self.names(cast("Part", self.defs[ref_name(part["$ref"])]))
        for keyword, inner in in_place(part):
            if keyword != "not":
                found |= self.names(inner)
        return found

    def is_free_map(self, part: Schema) -> bool:
        """`{"type": "object"}` as one of several alternatives: any keys are right there."""
        stated = any(key in part for key in (*_STATED, *_COMPOSED, "properties", "required"))
        return not stated and "object" in (types(part) or ())

    def look_after_the_rest(self, node: Schema, copy: Schema, alone: bool) -> None:
        """Where keys or values are left free: refuse reserved keys, and remember that the place is open."""
        composed = any(key in node for key in _COMPOSED)
        if alone and composed:
            return  # a schema inside says it all
        kinds = types(node)
        if kinds is None:
            kinds = () if "const" in node or "enum" in node else ("object",) if composed else ("object", "array")
        if "array" in kinds and "items" not in node:
            self.open = True
        extra = copy.get("additionalProperties", copy.get("unevaluatedProperties"))
        if "object" not in kinds or extra is False:
            return
        self.open = self.open or not isinstance(extra, dict) or "patternProperties" in node
        named = self.names(node)
        rule: Schema = {"not": {"enum": [key for key in RESERVED_KEYS if key not in named]}}
        stated = node.get("propertyNames")
        copy["propertyNames"] = rule if stated is None else {"allOf": [stated, rule]}
