"""Lists written as one text: split only where every separator separates."""

from typing import Any

import pytest

from rightcall.base.json.shape import Shape, shape_of
from rightcall.gate.repair.choices import MOST_ATTEMPTS, Log
from rightcall.gate.repair.values import fit, parts_of
from support.every import every

TEXT = shape_of({"type": "string"})


@pytest.mark.promise("N-05")
@every(
    ("text", "parts"),
    [
        ("red, blue", ["red", "blue"]),
        ("red,blue", ["red", "blue"]),
        ("1, 2, 3", ["1", "2", "3"]),
        ("1,2,3", ["1", "2", "3"]),
        ("a; b", ["a", "b"]),
        ("a|b", ["a", "b"]),
        ("a@x.com, b@x.com", ["a@x.com", "b@x.com"]),
        ("Ann <a@x.com>, Bob <b@x.com>", ["Ann <a@x.com>", "Bob <b@x.com>"]),
        ("/data/a, /data/b", ["/data/a", "/data/b"]),
        ("a.txt,b.txt", ["a.txt", "b.txt"]),
        ("https://a.example/x", ["https://a.example/x"]),
        ("milk (fresh), eggs", ["milk (fresh)", "eggs"]),
        ("I, V, vi, IV", ["I", "V", "vi", "IV"]),
        ("CA, NY", ["CA", "NY"]),
        ("2015, 2021", ["2015", "2021"]),
        ("March, April", ["March", "April"]),
        ("Monday, Tuesday", ["Monday", "Tuesday"]),
    ],
)
def test_what_separates_is_split(text: str, parts: list[str]) -> None:
    assert parts_of(text, TEXT) == parts


@pytest.mark.promise("N-05", "N-13")
@every(
    "text",
    [
        "1,200", "1,2;3,4", "Smith, John <j@x.com>", "/data/a,b", "https://x.example/a,b", "a,b.txt", "May 5, 2026",
        "Due 5 May, 2026", "Monday, May 5", "f(a, b)", "size 1,5 m", "Acme, Inc.", "Boston, MA", "'a, b', c",
        "salt, pepper and basil", "--",
    ],
)  # fmt: skip
def test_a_separator_that_may_belong_to_an_item_splits_nothing(text: str) -> None:
    assert parts_of(text, TEXT) is None


@pytest.mark.promise("N-05", "N-13")
def test_two_figures_and_a_comma_may_be_a_fraction_where_fractions_are_allowed() -> None:
    assert parts_of("1,5", shape_of({"type": "number"})) is None
    assert parts_of("1,5", shape_of({"type": "integer"})) == ["1", "5"]


@pytest.mark.promise("N-05", "N-13")
@every(
    ("given", "fitted"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ("1, 2, 3", "1, 2, 3"),
        ("1,2;3,4", "1,2;3,4"),
        ([1], [[1]]),
        ([[1], 2], [[1], [2]]),
        (["[1, 2]", "[3]"], [[1, 2], [3]]),
        ("[[1, 2], [3]]", [[1, 2], [3]]),
    ],
)
def test_a_list_of_lists_is_not_guessed_from_loose_items(given: Any, fitted: Any) -> None:
    shape = shape_of({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}})
    assert fit(given, shape, "m", Log()) == fitted


def branches(count: int) -> Shape:
    return shape_of({"anyOf": [branch(number) for number in range(count)]})


def branch(number: int) -> dict[str, Any]:
    properties = {"type": {"const": f"act{number}"}, "n": {"type": "integer"}}
    return {"type": "object", "required": ["type", "n"], "additionalProperties": False, "properties": properties}


@pytest.mark.promise("N-13")
def test_among_many_alternatives_the_one_that_a_constant_names_is_tried() -> None:
    log = Log()
    assert fit({"type": "act7", "n": "5"}, branches(100), "a", log) == {"type": "act7", "n": 5}
    assert log.attempts == [MOST_ATTEMPTS - 1]


@pytest.mark.promise("N-13")
def test_many_alternatives_that_nothing_names_are_not_tried() -> None:
    log = Log()
    given = {"type": "ACT7", "n": "5"}
    assert fit(given, branches(100), "a", log) is given
    assert not log.repairs
    assert fit(given, branches(20), "a", log) == {"type": "act7", "n": 5}


@pytest.mark.promise("N-13")
def test_the_tries_of_one_call_are_counted_together() -> None:
    log, shape = Log(), shape_of({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}})
    fitted = fit(["5"] * (MOST_ATTEMPTS // 2 + 1), shape, "a", log)
    assert fitted == [5] * (MOST_ATTEMPTS // 2) + ["5"]


@pytest.mark.promise("N-13")
def test_trials_draw_from_the_same_store() -> None:
    log = Log()
    assert log.trial().may_try(MOST_ATTEMPTS)
    assert not log.may_try(1)
