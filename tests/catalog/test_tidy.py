"""Schemas as the wild writes them are mended quietly; what was right stays as it is."""

from typing import Any

import pytest

from rightcall.catalog.catalog import build_catalog
from rightcall.catalog.tidy import tidy_arguments
from support.every import every


def prop(schema: Any) -> Any:
    """The tidied schema of one argument."""
    return tidy_arguments({"type": "object", "properties": {"a": schema}})["properties"]["a"]


@pytest.mark.promise("V-01")
@every(
    ("written", "meant"),
    [
        ({"type": "dict"}, {"type": "object"}),
        ({"type": "float"}, {"type": "number"}),
        ({"type": "tuple", "items": {"type": "int"}}, {"type": "array", "items": {"type": "integer"}}),
        ({"type": "any"}, {}),
        ({"type": ["string", "any"]}, {}),
        ({"type": ["str", "string", "int"]}, {"type": ["string", "integer"]}),
        ({"type": "STRING"}, {"type": "string"}),
        ({"type": "HashMap"}, {"type": "object"}),
        ({"type": ["str", "None"]}, {"type": ["string", "null"]}),
        ("string", {"type": "string"}),
        ("The city.", {"description": "The city."}),
        (None, True),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"enum": ["a"], "type": "string", "nullable": True}, {"enum": ["a", None], "type": ["string", "null"]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 1}),
        ({"type": "number", "maximum": 1, "exclusiveMaximum": False}, {"type": "number", "maximum": 1}),
        (
            {"items": [{"type": "int"}], "additionalItems": False},
            {"prefixItems": [{"type": "integer"}], "items": False},
        ),
        ({"type": "string", "example": "x"}, {"type": "string", "examples": ["x"]}),
        ({"type": "string", "enum": None, "items": None}, {"type": "string"}),
        ({"type": "string", "default": None, "description": 5}, {"type": "string", "default": None}),
        (
            {"type": "array", "items": {"type": "string"}, "enum": ["a", "b"]},
            {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        ),
        ({"type": "integer", "enum": ["1", "-2"]}, {"type": "integer", "enum": [1, -2]}),
        (
            {"type": "boolean", "enum": ["True", "False", "dontcare"]},
            {"type": ["boolean", "string"], "enum": [True, False, "dontcare"]},
        ),
        ({"type": "string", "enum": ["1"]}, {"type": "string", "enum": ["1"]}),
        (
            {"dependencies": {"x": ["y"], "z": {"required": ["q"]}}},
            {"dependentRequired": {"x": ["y"]}, "dependentSchemas": {"z": {"required": ["q"]}}},
        ),
    ],
)
def test_sloppy_schemas_are_read_as_they_were_meant(written: Any, meant: Any) -> None:
    assert prop(written) == meant


def test_required_inside_a_property_moves_to_the_list() -> None:
    schema = tidy_arguments({"properties": {"a": {"type": "string", "required": True}, "b": {"required": False}}})
    assert schema == {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}


def test_arguments_listed_without_the_object_around_them_are_arguments() -> None:
    schema = tidy_arguments({"title": {"type": "string"}, "type": {"type": "string"}})
    assert list(schema["properties"]) == ["title", "type"]


def test_a_required_name_that_properties_forgot_can_still_be_given() -> None:
    tool = build_catalog([{"name": "w", "parameters": {"properties": {"a": {}}, "required": ["b"]}}]).tools["w"]
    assert tool.accepts({"b": 1})
    assert not tool.accepts({"a": 1})


@every(
    "schema",
    [
        {"type": "object", "properties": {"type": {"type": "string"}, "required": {"type": "boolean"}}},
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "required": []},
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"type": "object", "properties": {}},
        {"type": "object"},
    ],
)
def test_what_is_right_stays_as_it_is(schema: dict[str, Any]) -> None:
    assert tidy_arguments(schema) == schema
