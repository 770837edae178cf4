"""JSON as the standard has it, and the keys that stand twice in it."""

import pytest

from rightcall.base.json.strict import NO_JSON, attempt, decode, duplicate_keys
from rightcall.errors import Unreadable


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, true, null]}', {"a": [1, 2.5, True, None]}),
        ("12345678901234567890", 12345678901234567890),
        ('"\\ud83d\\ude00"', "😀"),
        (" [] ", []),
    ],
)
def test_json_is_read_as_the_standard_says(text: str, value: object) -> None:
    assert attempt(text) == value
    assert decode(text) == value


@pytest.mark.parametrize("text", ["", "{'a': 1}", "[1,]", "NaN", "[1] [2]", '"\\ud83d"', "[" * 100_000])
def test_what_is_no_json_is_said_to_be_none(text: str) -> None:
    assert attempt(text) is NO_JSON
    with pytest.raises(Unreadable):
        decode(text)


@pytest.mark.promise("N-11")
@pytest.mark.parametrize(
    ("text", "twice"),
    [
        ('{"a": 1, "b": 2}', ()),
        ('{"a": 1, "a": 1}', ("a",)),
        ('{"a": 1, "\\u0061": 2}', ("a",)),
        ('{"x": {"a": 1}, "y": {"a": 1}}', ()),
        ('{"x": {"a": 1, "a": 2}, "x": 3}', ("x.a", "x")),
        ('[{"a": 1}, {"a": 1}]', ()),
        ('[{"a": 1, "a": 2, "a": 3}]', ("a", "a")),
        ('{"a": "x: y", "b": "{\\"a\\": 1, \\"a\\": 2}"}', ()),
        ('{"a:": 1, "a": "\\""}', ()),
    ],
)
def test_keys_that_stand_twice_are_found_whatever_stands_in_strings(text: str, twice: tuple[str, ...]) -> None:
    assert duplicate_keys(text, attempt(text)) == twice
