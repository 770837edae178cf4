"""From a text to the value in it: strictly where it is JSON, else leniently, amid prose, fences and escapes."""

import pytest

from rightcall.base.json.find import read_value
from rightcall.base.json.shape import shape_of
from rightcall.errors import Unreadable

OBJECT = shape_of({"type": "object", "properties": {"a": {"type": "integer"}}})
LIST = shape_of({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}})


@pytest.mark.promise("N-01")
def test_valid_json_never_reaches_the_lenient_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("the lenient reader was asked")

    monkeypatch.setattr("rightcall.base.json.find.read_lenient", forbidden)
    assert read_value(' {"a": [1, {"b": "x, \\"y\\""}]} ').value == {"a": [1, {"b": 'x, "y"'}]}


@pytest.mark.promise("N-04")
@pytest.mark.parametrize("text", ['"{\\"a\\": 1}"', '"\\"{\\\\\\"a\\\\\\": 1}\\""', "'{\"a\": 1}'"])
def test_text_encoded_twice_is_opened_where_only_an_object_may_stand(text: str) -> None:
    read = read_value(text, OBJECT)
    assert read.value == {"a": 1}
    assert "double_encoded" in read.marks
    assert isinstance(read_value(text).value, str)


@pytest.mark.promise("N-13")
def test_a_string_that_holds_no_object_is_not_one() -> None:
    with pytest.raises(Unreadable, match="a string where an object is due"):
        read_value('"hello"', OBJECT)


@pytest.mark.promise("N-13")
def test_of_several_objects_a_tool_that_wants_one_gets_the_first_and_a_mark() -> None:
    read = read_value('{"a": 1} {"a": 2}', OBJECT)
    assert (read.value, "several_values" in read.marks) == ({"a": 1}, True)


def test_several_objects_are_a_list_where_a_list_is_wanted() -> None:
    read = read_value('{"a": 1} and {"a": 2}', LIST)
    assert (read.value, "several_values" in read.marks) == ([{"a": 1}, {"a": 2}], True)


def test_a_value_amid_prose_is_found_behind_what_only_looks_like_one() -> None:
    text = 'In [1] we use {x}, so the call is {"a": 1}, see [2].'
    read = read_value(text, OBJECT)
    assert (read.value, text[read.end :]) == ({"a": 1}, ", see [2].")


def test_nested_values_end_with_their_own_bracket() -> None:
    text = "{a: {b: [1, {c: 2}]}} }] tail"
    assert read_value(text).value == {"a": {"b": [1, {"c": 2}]}}


@pytest.mark.promise("N-13")
def test_nesting_has_a_limit_of_its_own() -> None:
    assert read_value("[" * 20 + "1," + "]" * 20, max_depth=20).value is not None
    with pytest.raises(Unreadable, match="nested deeper than 20 levels"):
        read_value("[" * 21 + "1," + "]" * 21, max_depth=20)


@pytest.mark.promise("N-13")
@pytest.mark.parametrize("text", ["{'a' 'b'," * 100_000, "[" + "{'a' 'b'}," * 90_000 + "]"])
def test_more_damage_than_can_be_mended_is_left(text: str) -> None:
    with pytest.raises(Unreadable):
        read_value(text)


@pytest.mark.promise("N-13")
def test_many_places_that_only_look_like_values_cost_no_more_than_one() -> None:
    text = "[1, 2,] and " + "{'a' 'b'," * 50_000
    assert read_value(text).value == [1, 2]  # five seconds of CPU are the limit for every test


def test_the_paths_of_keys_that_stand_twice_are_told() -> None:
    assert read_value("{a: 1, a: 2, b: [{c: 1, c: 2}]}").duplicates == ("a", "b[0].c")
