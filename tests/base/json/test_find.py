"""From a text to the value in it: strictly where it is JSON, else leniently, amid prose, fences and escapes."""

import pytest

from rightcall.base.json.find import looks_like_markup, read_markup, read_value
from rightcall.base.json.shape import ANY, shape_of
from rightcall.errors import Unreadable
from support.every import every

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


CITY = shape_of({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}})


@pytest.mark.promise("N-04")
@every(
    "text",
    [
        '<parameter name="city">Bern</parameter><parameter name="days">3</parameter>',
        "<parameter name='city'>Bern</parameter>\n<parameter name=days>3</parameter>",
        "<parameter=city>Bern</parameter>\n<parameter=days>\n3\n</parameter>",
        '<param name="city">Bern</param><arg name="days" type="integer">3</arg>',
        "<arg_key>city</arg_key>\n<arg_value>Bern</arg_value>\n<arg_key>days</arg_key><arg_value>3</arg_value>",
        "<city>Bern</city>\n<days>3</days>",
        "<parameters>\n<parameter=city>Bern</parameter>\n<days>3</days>\n</parameters>",
    ],
)
def test_every_style_of_tags_is_an_object(text: str) -> None:
    assert looks_like_markup(text, CITY)
    read = read_markup(text, CITY)
    assert (read.value, read.cut, read.duplicates) == ({"city": "Bern", "days": 3}, "", ())


@pytest.mark.promise("N-05")
def test_text_stays_verbatim_and_the_rest_is_read_as_json() -> None:
    text = "<city> 03000 </city><days>3</days>"
    assert read_markup(text, CITY).value == {"city": " 03000 ", "days": 3}
    assert read_markup('<parameter name="x">3</parameter>', ANY).value == {"x": "3"}


def test_a_value_may_hold_tags_of_its_own() -> None:
    html = "<p>a</p> <b>x</b>"
    assert read_markup(f"<city>{html}</city>", CITY).value == {"city": html}


def test_a_tag_that_is_no_argument_is_no_markup() -> None:
    assert not looks_like_markup("<p>hello</p>", CITY)
    with pytest.raises(Unreadable, match="no parameter tags"):
        read_markup("<p>hello</p>", CITY)


@pytest.mark.promise("R-08")
def test_a_tag_without_its_end_is_cut_off() -> None:
    read = read_markup("<city>Ber", CITY)
    assert (read.cut, "cut_value" in read.marks) == ("value", True)


@pytest.mark.promise("N-11")
def test_a_tag_that_stands_twice_is_told() -> None:
    assert read_markup("<city>Bern</city><city>Rom</city>", CITY).duplicates == ("city",)
