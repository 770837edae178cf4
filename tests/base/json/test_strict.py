"""JSON as the standard has it, and the keys that stand twice in it."""

from typing import Any

import pytest

from rightcall.base.json.strict import MAX_VALUES, NO_JSON, attempt, decode, duplicate_keys, unsound
from rightcall.errors import Unreadable
from support.every import every


@every(
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


@every("text", ["", "{'a': 1}", "[1,]", "NaN", "[1] [2]", '"\\ud83d"', "[" * 100_000])
def test_what_is_no_json_is_said_to_be_none(text: str) -> None:
    assert attempt(text) is NO_JSON
    with pytest.raises(Unreadable):
        decode(text)


@pytest.mark.promise("N-11")
@every(
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
        ('{"a": "::", "b": {"c": ":"}, "d": [":"]}', ()),
        ('{"a": "::", "b": {"c": ":", "c": ":"}}', ("b.c",)),
        ('{"a": "\\u003a", "b": 1, "b": 2}', ("b",)),
        ('{"a": "\\u003A", "b": {"c": ":", "c": ""}}', ("b.c",)),
        ('{"a": "\\u003a", "b": {"c": ":"}}', ()),
        ('{"a": 123456789012345678901234567890, "b": ":"}', ()),
        ('{"a": "b: c", "a": 123456789012345678901234567890}', ("a",)),
    ],
)
def test_keys_that_stand_twice_are_found_whatever_stands_in_strings(text: str, twice: tuple[str, ...]) -> None:
    assert duplicate_keys(text, attempt(text)) == twice


RESERVED = ("__proto__", "constructor")


def holding_itself() -> list[Any]:
    one: list[Any] = []
    one.append(one)
    return one


@pytest.mark.promise("N-11")
@every(
    ("value", "code", "path"),
    [
        ({"a": float("nan")}, "number", "a"),
        ({"a": [1, {"b": float("-inf")}]}, "number", "a[1].b"),
        ({"a": 10**1100}, "number", "a"),
        ({"a": "x\ud800"}, "text", "a"),
        ({"a": {"\udfff": 1}}, "text", "a"),
        ({"__proto__": 1}, "reserved_key", "__proto__"),
        ({"a": [{"constructor": 1}]}, "reserved_key", "a[0].constructor"),
        ({"a": {1: "x"}}, "type", "a"),
        ({"a": b"bytes"}, "type", "a"),
        ({"a": {1, 2}}, "type", "a"),
        ({"a": object()}, "type", "a"),
        (float("inf"), "number", ""),
        (holding_itself(), "too_large", ""),
        ([0] * (MAX_VALUES + 1), "too_large", ""),
    ],
)
def test_what_no_argument_may_hold_is_found_at_any_depth(value: Any, code: str, path: str) -> None:
    (problem,) = unsound(value, 50, RESERVED)
    assert (problem.code, problem.path) == (code, path)


@every(
    "value",
    [
        {"a": [1, 2.5, True, None, "Grüße 😀", {"b": []}]},
        {"a": 10**1000},
        {"proto": 1, "Constructor": 2},
        {},
        [],
        None,
        "text",
    ],
)
def test_json_values_are_sound(value: Any) -> None:
    assert unsound(value, 50, RESERVED) == ()


def test_nesting_counts_from_the_outside() -> None:
    nested: list[Any] = []
    for _ in range(9):
        nested = [nested]
    assert unsound(nested, 9) == ()
    assert [problem.code for problem in unsound(nested, 8)] == ["too_large"]


def test_no_more_than_twenty_problems_are_told() -> None:
    assert len(unsound({f"k{n}": float("nan") for n in range(100)}, 50)) == 20


@pytest.mark.promise("N-11")
def test_a_list_that_many_share_is_counted_every_time() -> None:
    shared: Any = "x"
    for _ in range(40):
        shared = [shared, shared]
    assert [problem.code for problem in unsound(shared, 50)] == ["too_large"]
