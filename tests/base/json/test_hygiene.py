"""What no argument may hold, whatever the schema says."""

from typing import Any

import pytest

from rightcall.base.json.strict import MAX_VALUES, unsound

RESERVED = ("__proto__", "constructor")


def holding_itself() -> list[Any]:
    one: list[Any] = []
    one.append(one)
    return one


@pytest.mark.promise("N-11")
@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
