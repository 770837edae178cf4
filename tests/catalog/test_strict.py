"""An argument that nobody named does not fit, at any depth; and nothing else changes."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.catalog.catalog import build_catalog
from rightcall.catalog.schema import RESERVED_KEYS
from rightcall.catalog.tool import Tool
from rightcall.errors import ToolError
from support.every import every

A = {"type": "object", "properties": {"a": {"type": "integer"}}}
B = {"type": "object", "properties": {"b": {"type": "integer"}}}
A_NEEDED = {**A, "required": ["a"]}
OBJECT = {"type": "object"}


def tool_of(schema: dict[str, Any], **options: Any) -> Tool:
    return build_catalog([{"name": "w", "parameters": schema}], **options).tools["w"]


@pytest.mark.promise("V-01")
@every(
    ("schema", "right", "wrong"),
    [
        (A, {"a": 1}, {"a": 1, "x": 1}),
        ({"properties": {}}, {}, {"x": 1}),
        (OBJECT, {"x": {"y": 1}}, None),
        ({"additionalProperties": True, **A}, {"x": 1}, {"a": "1"}),
        ({"additionalProperties": {"type": "string"}, **A}, {"x": "1"}, {"x": 1}),
        ({"patternProperties": {"^x": {"type": "integer"}}, **A}, {"x1": 1, "q": 2}, {"x1": "1"}),
        ({"properties": {"p": A}}, {"p": {"a": 1}}, {"p": {"a": 1, "x": 1}}),
        ({"properties": {"p": {"type": "array", "items": A}}}, {"p": [{"a": 1}]}, {"p": [{"a": 1}, {"x": 1}]}),
        ({"properties": {"p": {"additionalProperties": A}}}, {"p": {"k": {"a": 1}}}, {"p": {"k": {"x": 1}}}),
        ({"allOf": [A, B]}, {"a": 1, "b": 2}, {"a": 1, "x": 1}),
        ({**A, "allOf": [B]}, {"a": 1, "b": 2}, {"a": 1, "b": 2, "x": 1}),
        ({**A, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1}, {"a": 1, "b": 1}),
        ({"anyOf": [A, B]}, {"a": 1, "b": 2}, {"x": 1}),
        ({"oneOf": [{**A, "required": ["a"]}, {**B, "required": ["b"]}]}, {"a": 1}, {"a": 1, "x": 1}),
        ({"properties": {"p": {"anyOf": [A, {"type": "null"}]}}}, {"p": None}, {"p": {"x": 1}}),
        ({"properties": {"p": {"anyOf": [OBJECT, {"type": "array", "items": A}]}}}, {"p": {"x": 1}}, {"p": [{"x": 1}]}),
        ({"properties": {"p": {"anyOf": [{**A, "required": ["a"]}, OBJECT]}}}, {"p": {"x": 1}}, {"p": 5}),
        ({**A, "$ref": "#/$defs/B", "$defs": {"B": B}}, {"a": 1, "b": 2}, {"a": 1, "b": 2, "x": 1}),
        ({**A, "if": {"required": ["a"]}, "then": B}, {"a": 1, "b": 2}, {"a": 1, "x": 2}),
        ({**A, "dependentSchemas": {"a": B}}, {"a": 1, "b": 2}, {"b": 2}),
        ({"oneOf": [{"properties": {"p": one}} for one in (A_NEEDED, B)]}, {"p": {"b": 2}}, {"p": {"a": 1}}),
        ({"properties": {"p": {"not": {"properties": {"q": A}}}}}, {"p": {"q": 5}}, {"p": {"q": {"a": 1, "x": 2}}}),
        ({"properties": {"p": {"not": A}}}, {"p": {"a": "1", "x": 2}}, {"p": {"a": 1}}),
    ],
)
def test_an_argument_that_nobody_named_does_not_fit(schema: Any, right: Any, wrong: Any) -> None:
    tool = tool_of(schema)
    assert tool.accepts(right)
    assert wrong is None or not tool.accepts(wrong)
    assert not tool.accepts([])


def test_a_definition_used_alone_and_as_a_part_is_closed_where_it_stands_alone() -> None:
    schema = {"properties": {"alone": {"$ref": "#/$defs/A"}, "part": {**B, "$ref": "#/$defs/A"}}, "$defs": {"A": A}}
    tool = tool_of(schema)
    assert tool.accepts({"alone": {"a": 1}, "part": {"a": 1, "b": 2}})
    assert not tool.accepts({"alone": {"a": 1, "b": 2}})
    assert not tool.accepts({"part": {"a": 1, "b": 2, "c": 3}})


def test_unknown_arguments_can_be_kept_by_policy() -> None:
    tool = tool_of({"properties": {"p": A}}, unknown_argument="keep")
    assert tool.accepts({"x": 1, "p": {"x": 1}})
    assert not tool.accepts({"p": {"a": "1"}})


@pytest.mark.promise("N-11")
@every("key", RESERVED_KEYS)
def test_reserved_keys_do_not_fit_where_keys_are_free_unless_the_schema_names_them(key: str) -> None:
    free = {"properties": {"p": OBJECT, "q": {"additionalProperties": {"type": "integer"}}}}
    assert not tool_of(OBJECT).accepts({key: 1})
    assert not tool_of(free).accepts({"p": {key: 1}})
    assert not tool_of(free).accepts({"q": {key: 1}})
    assert not tool_of(free, unknown_argument="keep").accepts({key: 1})
    assert tool_of({"additionalProperties": True, "properties": {key: {}}}).accepts({key: 1})


@every(
    ("part", "is_open"),
    [
        ({"type": "string"}, False),
        ({"enum": [1]}, False),
        ({"type": "array", "items": {"type": "string"}}, False),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, False),
        ({"type": "object", "additionalProperties": {"type": "string"}}, False),
        (A, False),
        ({"properties": {"a": {"type": "integer"}}}, True),
        ({}, True),
        (True, True),
        ({"type": "array"}, True),
        ({"type": "object"}, True),
        ({"description": "anything"}, True),
        ({"anyOf": [{"type": "string"}, {}]}, True),
        ({**A, "additionalProperties": True}, True),
        ({"allOf": [{**A, "additionalProperties": True}, B]}, True),
    ],
)
def test_a_tool_says_whether_it_has_places_where_anything_may_stand(part: Any, is_open: bool) -> None:
    assert tool_of({"properties": {"p": part}}).open is is_open


def test_numbers_that_are_none_do_not_fit_a_number() -> None:
    tool = tool_of({"properties": {"n": {"type": "number"}}})
    assert not tool.accepts({"n": float("nan")})
    assert not tool.accepts({"n": float("inf")})


NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
LEAVES = st.sampled_from(
    [{}, {"type": "string"}, {"type": "integer"}, {"type": "object"}, {"enum": ["a", 1]}, {"$ref": "#/$defs/D"}, True]
)


def bigger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    branches = st.lists(inner, min_size=1, max_size=2)
    return st.one_of(
        st.fixed_dictionaries(
            {"properties": st.dictionaries(NAMES, inner, max_size=2)},
            optional={
                "required": st.lists(NAMES, max_size=1),
                "additionalProperties": st.booleans() | inner,
                "anyOf": branches,
                "oneOf": branches,
                "allOf": branches,
            },
        ),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        *(st.fixed_dictionaries({word: branches}) for word in ("anyOf", "oneOf", "allOf")),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"if": inner, "then": inner}),
    )


SCHEMAS = st.recursive(LEAVES, bigger, max_leaves=8)


@given(SCHEMAS, SCHEMAS, st.lists(st.dictionaries(NAMES, VALUES, max_size=3), min_size=1, max_size=6))
def test_what_a_tool_accepts_is_valid_by_its_schema(part: Any, definition: Any, calls: list[dict[str, Any]]) -> None:
    properties = {"a": part, "b": {"type": "array", "items": part}}
    schema = {"type": "object", "properties": properties, "$defs": {"D": definition}}
    try:
        tool = tool_of(schema)
    except ToolError:
        return  # a definition that refers to itself in one place
    original = jsonschema_rs.Draft202012Validator(schema)
    for call in calls:
        if tool.accepts(call):
            assert original.is_valid(call)


KEYWORDS = (
    "type", "properties", "items", "required", "enum", "anyOf", "$ref", "$defs", "D", "not", "oneOf", "$id", "if",
    "additionalProperties", "patternProperties", "const", "nullable", "example",
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["string", "#", "#/$defs/D", "a", "true"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYWORDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_whatever_is_given_as_a_schema_makes_a_tool_or_a_tool_error(schema: Any) -> None:
    try:
        tool = build_catalog([{"name": "w", "parameters": schema}]).tools["w"]
    except ToolError:
        return
    assert tool.accepts({}) in (True, False)
    assert isinstance(list(tool.errors({"a": 1})), list)
