"""Tool definitions that could hang, recurse, reach out or make no sense, each with a call to check by it."""

from collections.abc import Callable
from typing import Any

from support.hostile.kinds import Expect, Kind

Schema = Callable[[int], Any]


LARGEST = 200_000
"""Bytes of a tool definition: people write these, and one of 5,000 arguments is beyond any that was seen."""


def schema(name: str, make: Schema, arguments: Any, expect: Expect = "any", grows: bool = False) -> Kind:
    def tools(size: int) -> list[Any]:
        return [{"name": "odd", "parameters": make(min(size, LARGEST))}]

    call = arguments if callable(arguments) else lambda _: arguments
    return Kind(f"schema {name}", call, expect, grows, tools)


def of(**properties: Any) -> Schema:
    return lambda _: {"type": "object", "properties": properties}


def pattern(name: str, regex: str, text: str, expect: Expect = "any") -> Kind:
    return schema(f"pattern {name}", of(text={"type": "string", "pattern": regex}), {"text": text}, expect)


def doubling(levels: int) -> Any:
    """Each definition asks twice for the next: 2 to the levels ways through."""
    definitions: dict[str, Any] = {
        f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(levels)
    }
    definitions[f"d{levels}"] = {"type": "integer"}
    return {"type": "object", "properties": {"n": {"$ref": "#/$defs/d0"}}, "$defs": definitions}


def nested(levels: int, keyword: str) -> Any:
    inner: Any = {"type": "object"}
    for _ in range(levels):
        inner = {"type": "object", "properties": {"a": inner}} if keyword == "properties" else {keyword: [inner]}
    return inner


TREE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["name"],
}
LOOP = {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/a"}}}
MUTUAL = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/a"}},
    "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}},
}


def tree(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"name": "leaf"}
    for _ in range(levels):
        value = {"name": "n", "children": [value]}
    return value


SCHEMAS = [
    schema("that names itself", lambda _: TREE, tree(20), "ok"),
    schema("that names itself, wrong deep down", lambda _: TREE, {"name": "n", "children": [{"nam": 1}]}),
    schema("that names itself, 100,000 deep", lambda _: TREE, lambda _: tree(100_000), "refused"),
    schema("that is its own reference", lambda _: {"$ref": "#"}, {"a": 1}),
    schema("with a reference in a circle", lambda _: LOOP, {"a": "1"}),
    schema("with two references in a circle", lambda _: MUTUAL, {"a": "1"}),
    schema("of doubling choices", lambda _: doubling(30), {"n": "x"}),
    schema("of doubling choices, mendable", lambda _: doubling(30), {"n": "7"}),
    schema("nested deep", lambda _: nested(200, "properties"), {"b": 1}),
    schema("nested deeper", lambda _: nested(5_000, "properties"), {"b": 1}),
    schema("of nested choices", lambda _: nested(200, "anyOf"), {"b": 1}),
    schema("of nested demands", lambda _: nested(200, "allOf"), {"b": 1}),
    schema("of nested demands, deeper", lambda _: nested(5_000, "allOf"), {"b": 1}),
    schema(
        "with many values",
        lambda size: of(a={"enum": [f"value-{n}" for n in range(size // 12)]})(size),
        {"a": "valeu 17"},
        grows=True,
    ),
    schema(
        "with many arguments",
        lambda size: {"type": "object", "properties": {f"argument_{n}": {"type": "string"} for n in range(size // 40)}},
        {"argumentx": "x", "arg_7": "y"},
        grows=True,
    ),
    schema(
        "with many arguments, all required",
        lambda size: {
            "type": "object",
            "properties": {f"argument_{n}": {"type": "string"} for n in range(size // 40)},
            "required": [f"argument_{n}" for n in range(size // 40)],
        },
        {},
        "refused",
        grows=True,
    ),
    schema("with a long description", lambda size: {"type": "object", "description": "x" * size}, {}, "ok", grows=True),
    schema(
        "with many choices", lambda _: of(a={"anyOf": [{"const": n} for n in range(1_000)]})(0), {"a": "x"}, "refused"
    ),
    schema(
        "of many choices of objects",
        lambda _: {
            "type": "object",
            "anyOf": [{"properties": {f"k{n}": {"type": "integer"}}, "required": [f"k{n}"]} for n in range(500)],
        },
        {"K7": "1"},
    ),
    pattern("(a+)+$", r"(a+)+$", "a" * 50_000 + "!", "refused"),
    pattern("(a|a)*b", r"^(a|a)*b$", "a" * 50_000, "refused"),
    pattern("(.*)*x", r"^(.*)*x$", "a" * 50_000, "refused"),
    pattern("of counted repeats", r"^(a{1,100}){1,100}$", "a" * 5_000 + "!"),
    pattern("of nested counts", r"((((a{1,50}){1,50}){1,50}){1,50}){1,50}", "b"),
    pattern("that looks ahead", r"^(?=.*\d)(?!.*x)\w+$", "abc1"),
    pattern("that looks back", r"(?<!a)b", "ab"),
    pattern("that refers back", r"^(a+)\1$", "a" * 10_001),
    pattern("that refers back, for ever", r"^(a|a)*\1b$", "a" * 100),
    pattern("that is none", r"([", "x"),
    pattern("of many letters", "|".join(f"word{n}" for n in range(20_000)), "word19999"),
    schema(
        "with hostile names of arguments",
        lambda _: {"type": "object", "patternProperties": {"^(a+)+$": {"type": "integer"}}},
        {"a" * 30 + "!": 1},
    ),
    schema(
        "of unlike objects",
        of(a={"type": "array", "uniqueItems": True}),
        lambda size: {"a": [{"n": n} for n in range(size // 10)]},
        grows=True,
    ),
    schema(
        "that contains",
        of(a={"type": "array", "contains": {"const": -1}}),
        lambda size: {"a": list(range(size // 8))},
        "refused",
        grows=True,
    ),
    schema("with a huge minimum length", of(a={"type": "string", "minLength": 10**30}), {"a": "x"}),
    schema("with a huge minimum", of(a={"type": "number", "minimum": 10**400}), {"a": 1}),
    schema("with an infinite minimum", of(a={"type": "number", "minimum": float("inf")}), {"a": 1}),
    schema("with NaN as a value", of(a={"enum": [float("nan"), 1]}), {"a": 2}),
    schema("with a tiny step", of(a={"type": "number", "multipleOf": 1e-308}), {"a": 1e308}),
    schema("with a step of nothing", of(a={"type": "number", "multipleOf": 0}), {"a": 1}),
    schema("with a lone surrogate", of(**{"a\ud800": {"enum": ["\udfff"]}}), {"a": "x"}),
    schema("with a lone surrogate in its text", lambda _: {"type": "object", "description": "\ud800"}, {"a": "x"}),
    schema("from the network", of(a={"$ref": "http://192.0.2.1/schema.json"}), {"a": 1}),
    schema(
        "from the network by name", lambda _: {"$schema": "https://example.invalid/draft", "type": "object"}, {"a": 1}
    ),
    schema("from a file", of(a={"$ref": "file:///etc/hostname"}), {"a": 1}),
    schema("with a reference to nothing", of(a={"$ref": "#/$defs/none"}), {"a": 1}),
    schema(
        "with a name for its base",
        lambda _: {"$id": "http://192.0.2.1/", "properties": {"a": {"$ref": "b.json"}}},
        {"a": 1},
    ),
    schema(
        "with dynamic references",
        lambda _: {"$dynamicAnchor": "n", "properties": {"a": {"$dynamicRef": "#n"}}},
        {"a": {"a": {}}},
    ),
    schema("that wants nothing", lambda _: False, {"a": 1}),
    schema("that wants anything", lambda _: True, {"a": 1}),
    schema("that wants its own opposite", lambda _: {"type": "object", "not": {}}, {"a": 1}),
    schema("of an unknown type", of(a={"type": "strin"}), {"a": "x"}),
    schema("whose type is a number", lambda _: {"type": 7}, {"a": 1}),
    schema("that is a list", lambda _: [1, 2], {"a": 1}),
    schema("that is text", lambda _: "object", {"a": 1}),
    schema("whose properties are a list", lambda _: {"type": "object", "properties": ["a"]}, {"a": 1}),
    schema("whose required is text", lambda _: {"type": "object", "required": "a"}, {"a": 1}),
    schema("with no values to choose from", of(a={"enum": []}), {"a": 1}),
    schema("of another kind than an object", lambda _: {"type": "string"}, {"a": 1}),
    schema("with cycles in Python", lambda _: cyclic(), {"a": 1}),
    schema("with keys that are no text", lambda _: {"type": "object", "properties": {1: {"type": "string"}}}, {"1": 2}),
    schema("with a default that is a trap", of(a={"type": "integer", "default": "x"}), {}, "ok"),
    schema(
        "with reserved names", of(__proto__={"type": "string"}, constructor={"type": "string"}), {"constructor": "x"}
    ),
]


def cyclic() -> dict[str, Any]:
    inner: dict[str, Any] = {"type": "object"}
    inner["properties"] = {"a": inner}
    return inner
