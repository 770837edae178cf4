"""The values at a place, also where the place goes on inside a text that holds JSON."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from rightcall.base.json.strict import found_at, values_at
from support.every import every
from support.pace import process_time

pytestmark = pytest.mark.promise("P-03", "P-06")

SHAPE = [{"path": "a", "parts": [{"at": "g"}]}, {"path": "b", "parts": [{"at": "h"}, {"at": "i"}]}]


def as_text(value: Any) -> str:
    return json.dumps(value)


def items_as_text(value: list[Any]) -> list[str]:
    return [json.dumps(item) for item in value]


def text_of_texts(value: list[Any]) -> str:
    return json.dumps([json.dumps(item) for item in value])


def twice(value: Any) -> str:
    return json.dumps(json.dumps(value))


def parts_as_text(value: list[Any]) -> str:
    return json.dumps([{**item, "parts": json.dumps(item["parts"])} for item in value])


@every("written", [as_text, items_as_text, text_of_texts, twice, parts_as_text])
def test_a_text_is_opened_where_the_place_goes_on_inside_it(written: Callable[[Any], Any]) -> None:
    arguments = {"ops": written(SHAPE)}
    assert values_at(arguments, "ops[].path") == ["a", "b"]
    assert values_at(arguments, "ops[].parts[].at") == ["g", "h", "i"]


def test_an_object_in_a_text_is_opened_too() -> None:
    assert values_at({"ws": '{"url": "x", "more": {"n": ["y", 1, "z"]}}'}, "ws.url") == ["x"]
    assert values_at({"ws": '{"url": "x", "more": {"n": ["y", 1, "z"]}}'}, "ws.more.n") == ["y", "z"]
    assert values_at({"ws": {"more": '{"n": "y"}'}}, "ws.more.n") == ["y"]


@every(
    ("value", "place"),
    [({"path": "a"}, "ops[].path"), ([{"path": "a"}], "ops.path"), ([[{"path": "a"}]], "ops[].path")],
)
@every("written", [as_text, twice, lambda value: value])
def test_one_instead_of_several_is_seen_as_well(value: Any, place: str, written: Callable[[Any], Any]) -> None:
    """What a tool makes of it nobody here knows: a path is seen in either case."""
    assert values_at({"ops": written(value)}, place) == ["a"]


def test_a_list_in_the_text_of_a_path_counts_beside_the_text_itself() -> None:
    assert values_at({"files": '["../x", ["y"]]'}, "files") == ['["../x", ["y"]]', "../x", "y"]
    assert values_at({"files": "[id].tsx"}, "files") == ["[id].tsx"], "a name like any other"


@every("value", ["5", "null", "[]", "{}", "[5, null, true]", '{"other": "x"}', '[{"path": 5}]'])
def test_json_without_such_a_path_has_none(value: str) -> None:
    assert values_at({"ops": value}, "ops[].path") == []


@every(
    "value",
    [
        "plain words",
        "",
        "[{'path': 'a'}]",
        '[{"path": "a"}] // and more',
        '[{"path": "a"}',
        '[{"path": "a", "size": NaN}]',
        '[{"path": "../a", "path": "b"}]',
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "\udc80",
        ["{'path': 'a'}"],
        '["plain"]',
    ],
)
@every("place", ["ops[].path", "ops.path"])
def test_a_text_that_cannot_be_read_is_a_path_that_nothing_allows(value: Any, place: str) -> None:
    (found,) = values_at({"ops": value}, place)
    assert "\0" in found


def test_a_list_behind_a_text_that_cannot_be_read_is_no_list() -> None:
    assert ["\0" in value for value in found_at({"ops": "words"}, "ops[]")] == [True]


@pytest.mark.parametrize("place", ["ops[].path", "ws.url"])
def test_an_argument_with_the_name_of_a_place_hides_nothing(place: str) -> None:
    arguments = {"ops": [{"path": "../x"}], "ws": {"url": "../x"}, place: "a"}
    assert values_at(arguments, place) == ["a", "../x"]


def test_a_plain_argument_is_found_once() -> None:
    assert values_at({"path": "a"}, "path") == ["a"]


@every(
    "value",
    [
        as_text([{"path": "a"}] * 20_000),
        as_text(["x"] * 50_000),
        as_text("[" * 125_000),
        as_text(["[" * 200] * 1_200),
        as_text(["[" * 100 + "]" * 100] * 1_200),
        "[" * 900 + as_text("[" * 900 + "]" * 900) + "]" * 900,
        "\\" * 250_000,
        '"' * 250_000,
        '{"a": 1, "a": 2},' * 12_000,
    ],
)
@every("place", ["ops[].path", "ops[][].path", "ops", "ops.path"])
def test_a_huge_or_deep_text_takes_no_longer_than_its_length(value: str, place: str) -> None:
    started = process_time()
    values_at({"ops": value}, place)
    assert process_time() - started < 1


def test_text_within_text_within_text_is_opened_to_the_bottom() -> None:
    value: Any = [{"path": "../x"}]
    for _ in range(12):
        value = json.dumps(value)
    assert values_at({"ops": value}, "ops[].path") == ["../x"]


@every(
    ("arguments", "found"),
    [
        ({"files": [{"path": "a"}]}, ["path", "a"]),
        ({"files": {"a": 1, "b": ["c"]}}, ["a", "b", "c"]),
        ({"files": {"value": {"more": "a"}}}, ["value", "more", "a"]),
        ({"files": '{"path": "a"}'}, ['{"path": "a"}', "path", "a"]),
        ({"Files": "a", "files": "b", "FILES": "c"}, ["b", "a", "c"]),
        ({"fi_les": "a", "fi-les": "b", "file": "c"}, ["a", "b"]),
    ],
)
def test_every_text_below_a_place_counts_and_every_spelling_of_its_name(arguments: Any, found: list[str]) -> None:
    assert values_at(arguments, "files") == found


def test_a_name_that_stands_further_down_is_found() -> None:
    assert values_at({"ops": {"1": {"path": "a"}, "2": [{"path": "b"}]}}, "ops[].path") == ["b", "a"]


def test_names_inside_are_compared_without_case_too() -> None:
    assert values_at({"Ops": [{"Path": "a", "path": "b"}]}, "ops[].path") == ["b", "a"]


def test_more_than_anybody_would_look_through_is_a_path_that_nothing_allows() -> None:
    assert "\0" in values_at({"files": [["a"]] * 30_000}, "files")[-1]
