"""An example is a right call, or there is none."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.catalog.catalog import build_catalog
from rightcall.catalog.tool import PackTool, Tool
from rightcall.gate.examples import example, text_matching
from rightcall.types import Rules
from support.every import every


def tool_of(schema: Any, **rules: Any) -> Tool:
    return build_catalog(overlays=[PackTool("w", schema=schema, rules=Rules(**rules), pack="p")]).tools["w"]


def made(part: Any) -> Any:
    found = example(tool_of({"type": "object", "properties": {"a": part}, "required": ["a"]}))
    assert found is not None, part
    return found["a"]


@pytest.mark.promise("V-03")
@every(
    ("part", "value"),
    [
        ({"type": "string"}, "<a>"),
        ({"type": "integer"}, 1),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "integer", "exclusiveMinimum": 5}, 6),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "multipleOf": 7, "minimum": 8}, 14),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5}, 0.25),
        ({"type": "boolean"}, True),
        ({"type": ["null", "integer"]}, 1),
        ({"type": "null"}, None),
        ({"enum": [None, "b"]}, "b"),
        ({"const": 7}, 7),
        ({"type": "string", "examples": ["x"], "default": "y"}, "x"),
        ({"type": "string", "default": "y"}, "y"),
        ({"type": "integer", "examples": ["12"], "default": "13"}, 1),
        ({"type": "string", "format": "date"}, "2025-01-31"),
        ({"type": "string", "minLength": 6}, "<a>xxx"),
        ({"type": "string", "maxLength": 2}, "<a"),
        ({"type": "string", "pattern": "^[A-Z]{2,3}\\d+$"}, "AA1"),
        ({"type": "string", "pattern": "^(red|blue)-\\w+$"}, "red-a"),
        ({"type": "string", "pattern": "^\\d+$", "minLength": 4}, "1111"),
        ({"type": "array", "items": {"type": "integer"}}, [1]),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": True}, [1, 2]),
        ({"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 2, "uniqueItems": True}, ["x", "y"]),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2}, [1, "<a>"]),
        ({"type": "object", "properties": {"b": {"type": "integer"}, "c": {}}, "required": ["b"]}, {"b": 1}),
        ({"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}}, {"key1": 1}),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1),
        ({"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 9}]}, 3),
    ],
)
def test_an_example_is_plain_and_fits(part: Any, value: Any) -> None:
    assert made(part) == value


def test_an_example_has_what_is_required_and_little_more() -> None:
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("a", "b", "c", "d")},
        "required": ["b"],
    }
    tool = tool_of(schema, required=("a",), required_any=(("c", "d"),), defaults={"b": "x"}, min_length={"a": 12})
    assert example(tool) == {"a": "<a> " + "…" * 8, "c": "<c>"}
    assert example(tool_of({"type": "object", "properties": {"a": {"type": "integer"}}})) == {"a": 1}
    assert example(tool_of({"type": "object", "properties": {}})) == {}


def test_a_declared_example_is_used_as_it_is() -> None:
    tool = tool_of({"type": "object", "properties": {"a": {}}}, example={"a": [1]})
    assert example(tool) == {"a": [1]}


def test_changing_an_example_changes_it_for_nobody_else() -> None:
    tool = tool_of({"type": "object", "properties": {"a": {"type": "integer"}}})
    first = example(tool)
    assert first is not None
    first["a"] = "changed"
    assert example(tool) == {"a": 1}


@every(
    "part",
    [
        False,
        {"type": "string", "pattern": "^(a{3}){2}$"},
        {"type": "string", "minLength": 10**9},
        {"type": "array", "items": {"type": "string"}, "minItems": 10**9},
        {"type": "integer", "minimum": 10**400, "multipleOf": 7},
        {"enum": []},
    ],
)
def test_where_none_can_be_made_there_is_none(part: Any) -> None:
    assert example(tool_of({"type": "object", "properties": {"a": part}, "required": ["a"]})) is None


def test_a_schema_that_holds_itself_has_an_example() -> None:
    tree = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}, "n": {"type": "integer"}},
    }
    assert example(tool_of({**tree, "required": ["n"]})) == {"n": 1}


@every("pattern", ["(?=a)b", "[", "a" * 1000, "(((", "\\p{L}", "a**", "a{999999999}", "[a", "[^a1\\-A_ ]"])
def test_a_pattern_that_is_not_simple_gives_no_text(pattern: str) -> None:
    assert text_matching(pattern) is None


SIMPLE = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"enum": ["a", "b"]},
        {"type": "null"},
    ]
)
BOUNDED = st.one_of(
    SIMPLE,
    st.builds(
        lambda low, width: {"type": "integer", "minimum": low, "maximum": low + width},
        st.integers(-9, 9),
        st.integers(0, 9),
    ),
    st.builds(
        lambda low, width: {"type": "string", "minLength": low, "maxLength": low + width},
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    st.builds(lambda step: {"type": "number", "multipleOf": step, "exclusiveMinimum": 1}, st.integers(1, 9)),
)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.sampled_from(["a", "b", "c"])
    return st.one_of(
        st.builds(lambda item, low: {"type": "array", "items": item, "minItems": low}, inner, st.integers(0, 2)),
        st.builds(
            lambda props: {"type": "object", "properties": props, "required": list(props)},
            st.dictionaries(names, inner, max_size=3),
        ),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=3)),
    )


@given(st.dictionaries(st.sampled_from(["x", "y", "z"]), st.recursive(BOUNDED, nested, max_leaves=6), max_size=3))
def test_for_plain_schemas_there_is_always_a_right_example(properties: dict[str, Any]) -> None:
    tool = tool_of({"type": "object", "properties": properties, "required": list(properties)})
    found = example(tool)
    assert found is not None
    assert tool.accepts(found)


ODD = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "array", "object", "null"]),
        "enum": st.lists(st.integers(0, 2) | st.sampled_from(["a", None]), max_size=2),
        "minimum": st.integers(-3, 3),
        "maximum": st.integers(-3, 3),
        "minLength": st.integers(0, 5),
        "pattern": st.sampled_from(["^a+$", "[0-9]", "^(x|y)$", "."]),
        "minItems": st.integers(0, 3),
        "uniqueItems": st.booleans(),
        "not": st.sampled_from([{"type": "string"}, {"const": 1}]),
        "required": st.lists(st.sampled_from(["p", "q"]), max_size=2),
        "minProperties": st.integers(0, 3),
    },
)


@given(ODD, st.lists(ODD, max_size=2))
def test_whatever_the_schema_an_example_fits_or_is_none(part: dict[str, Any], branches: list[dict[str, Any]]) -> None:
    whole = part | ({"anyOf": branches} if branches else {})
    tool = tool_of({"type": "object", "properties": {"a": whole}, "required": ["a"]})
    found = example(tool)
    assert found is None or tool.accepts(found)
