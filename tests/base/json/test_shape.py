"""What a reader needs to know of a schema: looked through `$ref`, `allOf`, `anyOf`, and never without end."""

from typing import Any

import pytest

from rightcall.base.json.shape import ANY, Shape, loses_digits, shape_of
from support.every import every

TEXT = {"type": "string"}
NUMBER = {"type": "number"}


def named(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_keys_items_and_choices_are_known() -> None:
    shape = shape_of(
        named(tags={"type": "array", "items": TEXT}, mode={"enum": ["a", "b"]}, one={"const": 1})
        | {"required": ["mode"]}
    )
    assert shape.types == {"object"}
    assert shape.required == {"mode"}
    assert shape.props["tags"].items is not None
    assert shape.props["tags"].items.verbatim
    assert shape.props["mode"].enum == ("a", "b")
    assert shape.props["mode"].types == {"string"}
    assert shape.props["one"].enum == (1,)


def test_a_reference_is_what_it_points_to() -> None:
    shape = shape_of({"$defs": {"a/b": {"type": "integer"}}, "properties": {"n": {"$ref": "#/$defs/a~1b"}}})
    assert shape.props["n"].types == {"integer"}


@every(
    "inner",
    [
        {"$ref": "#/$defs/n"},
        {"$ref": "#/$defs/n", "description": "the rest"},
        {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}], "description": "the rest"},
        {"allOf": [{"$ref": "#/$defs/n"}]},
    ],
)
def test_a_schema_that_holds_itself_has_a_shape_that_holds_itself(inner: dict[str, Any]) -> None:
    shape = shape_of({"$defs": {"n": named(next=inner, v={"type": "integer"})}, "$ref": "#/$defs/n"})
    for _ in range(20):
        shape = shape.props["next"]
    assert shape.props["v"].types == {"integer"}
    assert shape.words == inner.get("description", "")


@every("ref", ["#/$defs/none", "other.json#/a", "https://example.com/s.json", "#/$defs/x/99"])
def test_a_reference_that_leads_nowhere_leaves_the_place_open(ref: str) -> None:
    assert shape_of({"$defs": {"x": []}, "properties": {"n": {"$ref": ref}}}).props["n"].types == frozenset()


def test_the_root_can_be_referred_to() -> None:
    assert shape_of(named(child={"$ref": "#"}, n={"type": "integer"})).props["child"].props["n"].types == {"integer"}


def test_all_of_puts_together() -> None:
    shape = shape_of({"allOf": [named(a=TEXT) | {"required": ["a"]}, named(b=NUMBER)], "properties": {"c": TEXT}})
    assert set(shape.props) == {"a", "b", "c"}
    assert shape.required == {"a"}


def test_of_one_thing_or_nothing_the_thing_shows() -> None:
    shape = shape_of({"anyOf": [named(a=TEXT), {"type": "null"}]})
    assert (set(shape.props), shape.types, shape.options) == ({"a"}, {"object", "null"}, ())


def test_of_several_things_each_is_an_option() -> None:
    shape = shape_of({"anyOf": [TEXT, {"type": "array", "items": TEXT}, {"type": "null"}]})
    assert [sorted(option.types) for option in shape.options] == [["string"], ["array"]]
    assert shape.types == {"string", "array", "null"}
    assert not shape.verbatim


def test_an_option_without_a_type_leaves_the_place_open() -> None:
    assert shape_of({"anyOf": [{"minLength": 1}, {"type": "integer"}]}).types == frozenset()
    assert shape_of({"type": "string", "anyOf": [{"minLength": 1}, {"maxLength": 9}]}).types == {"string"}


def test_text_that_holds_json_knows_what_json() -> None:
    shape = shape_of({"type": "string", "contentMediaType": "application/json", "contentSchema": named(a=TEXT)})
    assert shape.json_text
    assert shape.text_content is not None
    assert set(shape.text_content.props) == {"a"}
    other = shape_of({"anyOf": [{"type": "array"}, {"type": "string", "contentMediaType": "application/json",
                                                    "contentSchema": named(b=TEXT)}]})  # fmt: skip
    assert other.text_content is not None
    assert set(other.text_content.props) == {"b"}


def test_only_text_and_nothing_else_is_verbatim() -> None:
    assert shape_of(TEXT).verbatim
    assert shape_of({"type": ["string", "null"]}).verbatim
    assert not shape_of({"type": ["string", "integer"]}).verbatim
    assert not ANY.verbatim


def test_an_object_is_closed_unless_the_schema_says_otherwise() -> None:
    assert shape_of(named(a=TEXT)).closed
    assert shape_of(named(a=TEXT) | {"additionalProperties": False}).closed
    assert not shape_of(named(a=TEXT) | {"additionalProperties": True}).closed
    assert not shape_of(named(a=TEXT) | {"patternProperties": {"^x": TEXT}}).closed
    assert not shape_of({"type": "object"}).closed


def test_a_whole_number_is_a_number_too() -> None:
    assert shape_of(NUMBER).allows("integer")
    assert not shape_of({"type": "integer"}).allows("number")
    assert ANY.allows("object")


@every("schema", [True, None, 5, [], "x", {}])
def test_what_says_nothing_allows_anything(schema: Any) -> None:
    shape = shape_of(schema)
    assert isinstance(shape, Shape)
    assert (shape.types, shape.props, shape.enum) == (frozenset(), {}, None)


def test_bottomless_schemas_have_a_bottom() -> None:
    schema: dict[str, Any] = TEXT
    for _ in range(500):
        schema = named(a=schema)
    shape, depth = shape_of(schema), 0
    while shape.props:
        shape, depth = shape.props["a"], depth + 1
    assert 0 < depth < 100


@pytest.mark.promise("N-05")
@every(
    ("value", "schema", "loses"),
    [
        ({"v": 1.1}, named(v=TEXT), True),
        ({"v": 11}, named(v=TEXT), False),
        ({"v": 1.1}, named(v=NUMBER), False),
        ({"o": {"v": [1.1]}}, named(o=named(v={"type": "array", "items": TEXT})), True),
        ({"o": {"x": 1.1}}, named(o={"type": "object", "additionalProperties": TEXT}), True),
        ([["a", 1.1]], {"type": "array", "items": {"type": "array", "prefixItems": [TEXT, TEXT]}}, True),
        ([["a", 1.1]], {"type": "array", "items": {"type": "array", "prefixItems": [TEXT, NUMBER]}}, False),
        (1.1, {}, False),
    ],
)
def test_a_fraction_on_its_way_to_text_loses_digits(value: Any, schema: Any, loses: bool) -> None:
    assert loses_digits(value, shape_of(schema)) is loses
