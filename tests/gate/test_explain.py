"""Every problem of a call is said at once, of the argument it concerns, in plain words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.catalog.catalog import build_catalog
from rightcall.catalog.tool import PackTool, Tool
from rightcall.gate.examples import can_retry
from rightcall.gate.explain import problems
from rightcall.types import Problem, Rules
from support.every import every
from support.pace import process_time

SIZED = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 2},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "items": {"type": "array", "items": SIZED},
        "when": {"anyOf": [{"type": "string", "pattern": "^\\d{4}$"}, {"type": "integer"}, {"type": "null"}]},
    },
    "required": ["city", "days"],
}  # fmt: skip


def tool_of(schema: dict[str, Any] = SCHEMA, **rules: Any) -> Tool:
    overlays = [PackTool("w", rules=Rules(**rules))]
    return build_catalog([{"name": "w", "parameters": schema}], overlays).tools["w"]


def said(tool: Tool, arguments: Any, **options: Any) -> list[str]:
    return [problem.message for problem in problems(tool, arguments, **options)]


@pytest.mark.promise("V-03")
def test_all_problems_come_at_once_missing_first_then_in_the_schemas_order() -> None:
    call = {"when": "soon", "unit": "kelvin", "items": [{"size": "x"}, {}], "days": "three-ish"}
    assert said(tool_of(), call) == [
        "`city` is missing",
        "`items[1].size` is missing",
        '`days` must be an integer, got the text "three-ish"',
        '`unit` must be one of celsius, fahrenheit; got "kelvin"',
        '`items[0].size` must be an integer, got the text "x"',
        '`when` must match the pattern ^\\d{4}$, got "soon"',
    ]
    assert [problem.code for problem in problems(tool_of(), call)] == [
        "missing", "missing", "type", "value", "type", "value",
    ]  # fmt: skip


@pytest.mark.promise("V-03")
@every(
    ("part", "value", "message"),
    [
        ({"type": "integer"}, None, "`a` must be an integer, got null"),
        ({"type": "boolean"}, "yes", '`a` must be true or false, got the text "yes"'),
        ({"type": "string"}, 5, "`a` must be a text, got the number 5"),
        ({"type": "array"}, {"b": 1}, '`a` must be a list, got the object {"b": 1}'),
        ({"type": ["integer", "null"]}, [1], "`a` must be an integer or null, got the list [1]"),
        ({"type": "object"}, True, "`a` must be an object, got true"),
        ({"minimum": 3}, 2, "`a` must be at least 3, got 2"),
        ({"maximum": 3}, 4.5, "`a` must be at most 3, got 4.5"),
        ({"exclusiveMinimum": 3}, 3, "`a` must be more than 3, got 3"),
        ({"exclusiveMaximum": 3}, 3, "`a` must be less than 3, got 3"),
        ({"multipleOf": 5}, 3, "`a` must be a multiple of 5, got 3"),
        ({"minLength": 3}, "ab", "`a` must have at least 3 characters, has 2"),
        ({"maxLength": 1}, "ab", "`a` must have at most 1 character, has 2"),
        ({"minItems": 1}, [], "`a` must have at least 1 item, has 0"),
        ({"maxItems": 1}, [1, 2], "`a` must have at most 1 item, has 2"),
        ({"uniqueItems": True}, [1, 1], "`a` must not contain duplicate items, got [1, 1]"),
        ({"minProperties": 1}, {}, "`a` must have at least 1 entry, has 0"),
        ({"const": "x"}, "y", '`a` must be "x", got "y"'),
        ({"not": {"type": "null"}}, None, "`a` must not be null"),
        ({"enum": [*range(20)]}, 99, "`a` must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 … (20 in all); got 99"),
        ({"enum": ["a b", "a, b", "", None]}, 9, '`a` must be one of a b, "a, b", "", null; got 9'),
        ({"anyOf": [{"const": "x"}, {"const": "y"}]}, "z", '`a` must be one of x, y; got "z"'),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "z", '`a` must be an integer or null, got the text "z"'),
        ({"oneOf": [{"minimum": 0}, {"type": "number"}]}, 1,
         "`a` matches several alternatives; exactly one must match; got 1"),
        (False, 1, "`a` must be left out, got 1"),
    ],
)  # fmt: skip
def test_each_rule_of_a_schema_has_its_words(part: Any, value: Any, message: str) -> None:
    tool = tool_of({"type": "object", "properties": {"a": part}})
    assert said(tool, {"a": value}) == [message]


CAT = {"kind": {"const": "cat"}, "lives": {"type": "integer"}}
DOG = {"kind": {"const": "dog"}, "name": {"type": "string"}}
ANIMALS = {"oneOf": [{"type": "object", "properties": one, "required": list(one)} for one in (CAT, DOG)]}


def test_alternatives_are_explained_by_the_one_that_comes_closest() -> None:
    tool = tool_of({"type": "object", "properties": {"pet": ANIMALS}})
    assert said(tool, {"pet": {"kind": "dog", "name": 5}}) == ["`pet.name` must be a text, got the number 5"]
    assert said(tool, {"pet": {"kind": "cat", "name": "x"}}) == ["`pet.lives` is missing"]
    assert said(tool, {"pet": "dog"}) == ['`pet` must be an object, got the text "dog"']


@pytest.mark.promise("V-02", "V-03")
def test_rules_are_explained_like_the_schema_and_nothing_twice() -> None:
    tool = tool_of(
        required=("city", "days"),
        required_any=(("unit", "when"),),
        required_unless={"items": {"unit": ("none",)}},
        min_length={"city": 5},
        values={"unit": {"c": "celsius"}},
    )
    assert said(tool, {"city": " ", "days": None}) == [
        "`city` is blank, but it is required",
        "`days` is null, but it is required",
        "one of `unit`, `when` is required",
        '`items` is missing (not needed when `unit` is "none")',
    ]
    assert said(tool, {"city": "Bern", "days": 1, "items": [], "unit": "C"}) == [
        "`city` must have at least 5 characters, has 4",
        '`unit` is "C"; expected "celsius"',
        '`unit` must be one of celsius, fahrenheit; got "C"',
    ]


def test_text_that_must_hold_json_is_looked_into() -> None:
    tool = tool_of({"type": "object", "properties": {"ops": {"type": "string"}}}, json_text=("ops",))
    assert said(tool, {"ops": "[{'a': 1}]"}) == ["`ops` must be text containing valid JSON, got \"[{'a': 1}]\""]
    assert said(tool, {"ops": '[{"a": 1}]'}) == []


def test_unknown_arguments_are_problems_only_where_they_are_refused() -> None:
    call = {"city": "Bern", "days": 1, "town": "x", "items": [{"size": 1, "colour": 2}]}
    assert said(tool_of(), {**call, "days": "x"}) == ['`days` must be an integer, got the text "x"']
    assert said(tool_of(), call, unknown="refuse") == [
        "`items[0].colour` is not allowed: `items[0]` has no such key",
        "`town` is not an argument of w; it has city, days, unit, items, when",
    ]
    assert said(tool_of(), call) == said(tool_of(), call, unknown="refuse")  # nothing else explains the refusal


@pytest.mark.promise("N-11")
@every(
    ("arguments", "code", "path"),
    [
        ([1], "type", ""),
        ("text", "type", ""),
        (None, "type", ""),
        ({"a": float("nan")}, "number", "a"),
        ({"a": [{"b": float("-inf")}]}, "number", "a[0].b"),
        ({"a": 10**400}, "number", "a"),
        ({"a": "\ud800"}, "text", "a"),
        ({"a": {"\udfff": 1}}, "text", "a.\\udfff"),
        ({"a": b"x"}, "type", "a"),
        ({"a": {1, 2}}, "type", "a"),
        ({"a": object()}, "type", "a"),
        ({1: 2}, "type", ""),
        ({"a": {"b": {"__proto__": 1}}}, "reserved_key", "a.b.__proto__"),
        ({"__class__": 1}, "reserved_key", "__class__"),
    ],
)
def test_what_is_no_json_or_reserved_is_named(arguments: Any, code: str, path: str) -> None:
    (problem,) = problems(tool_of({"type": "object"}), arguments)
    assert (problem.code, problem.path) == (code, path)


def test_values_are_quoted_short_and_harmless() -> None:
    (message,) = said(
        tool_of({"type": "object", "properties": {"a": {"type": "integer"}}}), {"a": "\x1b[31m\u202e" + "x" * 500}
    )
    assert message.startswith('`a` must be an integer, got the text "\\u001b[31m\\u202exxx')
    assert len(message) < 130
    assert message.isprintable()


def test_many_problems_end_in_a_count() -> None:
    schema = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}}}}
    found = problems(tool_of(schema), {"l": ["x"] * 50})
    assert len(found) == 21
    assert found[-1].message == "and 30 more problems of this kind"


def test_a_million_wrong_values_are_explained_in_no_time() -> None:
    schema = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "integer"}, "minItems": 300}}}
    start = process_time()
    found = problems(tool_of(schema), {"l": ["x"] * 1_000_000})
    assert process_time() - start < 3
    assert {problem.code for problem in found} == {"type", "schema"}


def test_nesting_without_end_is_named_and_not_walked() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    (problem,) = problems(tool_of({"type": "object"}), {"a": deep})
    assert problem.code == "too_large"


def test_only_a_fault_of_our_own_cannot_be_helped_by_another_try() -> None:
    assert can_retry(problems(tool_of(), {}))
    assert not can_retry([Problem("fault", "", "x")])


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["city", "days", "unit", "items", "size", "when", "x", "__proto__"]), inner, max_size=4
        )
        | st.dictionaries(st.integers(0, 2), inner, max_size=1)
    ),
    max_leaves=8,
)


@given(ANYTHING)
def test_explaining_never_raises_never_repeats_and_agrees_with_the_check(arguments: Any) -> None:
    tool = tool_of(required=("city",), required_any=(("unit", "when"),))
    found = problems(tool, arguments)
    try:
        fits = tool.accepts(arguments)
    except ValueError:
        fits = False
    if not fits:
        assert found
    assert len(set(found)) == len(found)
    assert all(problem.message.isprintable() for problem in found)
    assert found == problems(tool, arguments)


@pytest.mark.promise("V-03")
@every(
    ("schema", "value", "message"),
    [
        ({"maxItems": 200}, list(range(201)), "`a` must have at most 200 items, has 201"),
        ({"maxItems": 1000}, list(range(5000)), "`a` must have at most 1000 items, has 5000"),
        ({"maxItems": 100}, list(range(5000)), "`a` must have at most 100 items, has 5000"),
        ({"maxProperties": 300}, dict.fromkeys(map(str, range(301)), 1), "`a` must have at most 300 entries, has 301"),
    ],
)
def test_a_limit_is_named_also_where_it_is_beyond_what_is_explained_of_a_long_list(
    schema: dict[str, Any], value: Any, message: str
) -> None:
    assert said(tool_of({"type": "object", "properties": {"a": schema}}), {"a": value}) == [message]
