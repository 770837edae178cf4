"""Arguments written as tags."""

import pytest

from rightcall.base.json.find import looks_like_markup, read_markup
from rightcall.base.json.shape import ANY, shape_of
from rightcall.errors import Unreadable

CITY = shape_of({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}})


@pytest.mark.promise("N-04")
@pytest.mark.parametrize(
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
