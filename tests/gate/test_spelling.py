"""An answer counts only where it spells what was written: the same names and values, in the same order, all of them."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.json.shape import shape_of
from rightcall.gate.spelling import NotSpelled, WrittenText, check_spelling
from support.every import every
from support.fuzzing.invariants import same
from support.fuzzing.tools import a_tool, a_value
from support.rescue import damage, dumped, lie

NAMES = {name: {} for name in ("city", "days", "note", "cmd", "path", "tags")}
PLACE = {"type": "object", "properties": {"place": {"type": "object", "properties": {"city": {}, "zip": {}}}}}


def spelled(written: str, answer: str, schema: dict[str, Any] | None = None) -> Any:
    """The value of the answer, or why it is refused."""
    shape = shape_of(schema or {"type": "object", "properties": NAMES})
    try:
        return check_spelling(WrittenText(written), answer, shape, "forecast")
    except NotSpelled as why:
        return str(why)


@pytest.mark.promise("L-04")
@every(
    ("written", "answer"),
    [
        ('{"city": "Bern, "days": 3}', '{"city": "Bern", "days": 3}'),
        ("{city: Bern, days: 3}", '{"city": "Bern", "days": 3}'),
        ("{'city' = 'Bern'; 'days' = 3}", '{"city": "Bern", "days": 3}'),
        ("city: New York\ndays: 3\n", '{"city": "New York", "days": 3}'),
        ("forecast(city='Bern', days=3)", '{"city": "Bern", "days": 3}'),
        ('{"name": "forecast", "arguments": {"city": "Bern"}}', '{"city": "Bern"}'),
        ('```json\n{"city": "Bern"}\n```', '{"city": "Bern"}'),
        ('{"arguments": {"city": "Bern"}, "name": "forecast"}', '{"city": "Bern"}'),
        ('{"city": "Bern", "tags": ["x"]}</tool_call>', '{"city": "Bern", "tags": ["x"]}'),
        ('{"city": "say "hi" to me"}', '{"city": "say \\"hi\\" to me"}'),
        ('{"city": "a\\nb", "note": "\\u00e9"}', '{"city": "a\\nb", "note": "é"}'),
        ('{"city": True, "note": None}', '{"city": true, "note": null}'),
        ('{"city": ""}', '{"city": ""}'),
    ],
)
def test_another_structure_is_taken(written: str, answer: str) -> None:
    assert isinstance(spelled(written, answer), dict)


@pytest.mark.promise("L-04")
def test_an_object_may_be_put_around_what_was_written_flat() -> None:
    assert spelled('{"city": "Bern", "zip": "3000"}', '{"place": {"city": "Bern", "zip": "3000"}}', PLACE) == {
        "place": {"city": "Bern", "zip": "3000"}
    }


@pytest.mark.promise("L-04")
@every(
    ("written", "answer"),
    [
        ('{"city": "Bern"}', '{"city": "Basel"}'),
        ('{"city": "Bern"}', '{"city": "Bern", "days": 3}'),
        ('{"city": "Bern", "days": 3}', '{"city": "Bern"}'),
        ('{"city": "a", "note": "b"}', '{"city": "b", "note": "a"}'),
        ('{"city": "a", "note": "b"}', '{"note": "a", "city": "b"}'),
        ('{"cmd": "rm -rf /tmp/x"}', '{"cmd": "rm -rf /"}'),
        ('{"cmd": "rm -rf /tmp/x", oops}', '{"cmd": "rm -rf /tmp/x"}'),
        ('{"city": "New York, NY"}', '{"city": "New York", "note": "NY"}'),
        ('{"tags": "a, b"}', '{"tags": ["a", "b"]}'),
        ('{"tags": ["a", "b"]}', '{"tags": ["a, b"]}'),
        ('{"tags": ["a", "b"]}', '{"tags": ["a\\", \\"b"]}'),
        ('{"city": "x", "note": "y"}', '{"city": "x\\", \\"note\\": \\"y"}'),
        ("{city: x, note: y}", '{"city": "x, note: y"}'),
        ('{"city": "[draft] x"}', '{"city": "draft] x"}'),
        ('{"city": " x "}', '{"city": "x"}'),
        ('{"days": -3}', '{"days": 3}'),
        ('{"days": 3}', '{"days": "3"}'),
        ('{"days": "3"}', '{"days": 3}'),
        ('{"days": 1.10}', '{"days": 1.1}'),
        ('{"days": 01}', '{"days": 1}'),
        ('{"days": 1,250}', '{"days": [1, 250]}'),
        ('{"days": 5 km}', '{"days": 5}'),
        ('{"city": null}', '{"city": "null"}'),
        ('{"path": "C:\\new"}', '{"path": "C:\\new"}'),
        ('{"path": "C:\\new"}', '{"path": "C:\\\\new"}'),
        ('{"city": "Bern", "days": ', '{"city": "Bern"}'),
        ('{"city": "Bern"', '{"city": "Bern"}'),
        ('{"city": "Be', '{"city": "Be"}'),
        ('{"city": "Bern}', '{"city": "Bern"}'),
        ('{"city": "Bern"} {"days": 3}', '{"city": "Bern"}'),
        ('{"city": "Bern"} and more', '{"city": "Bern"}'),
        ('{"city": Id("Bern")}', '{"city": "Bern"}'),
        ('{"city": [{"days": 1}, {"note": 2}]}', '{"city": [{"days": 1, "note": 2}]}'),
        ('{"city": {"days": 1}, "note": 2}', '{"city": {"days": 1, "note": 2}}'),
        ('{"city": []}', '{"city": {}}'),
        ('{"city": }', '{"city": {}}'),
        ('{"city": "Bern"}', '{"city": "Bern", "city": "Basel"}'),
        ('{"city": NaN}', '{"city": NaN}'),
        ('{"city": "Bern"}', '["Bern"]'),
        ('{"city": "Bern"}', 'Sure! {"city": "Bern"}'),
        ('{"city": "Bern"}', "[" * 5000),
        ('{"tags": ["x"\n"name"]}', '{"tags": ["x"]}'),
        ('{"tags": ["x", "json", "forecast"]}', '{"tags": ["x"]}'),
        ("{tags: ['x', name]}", '{"tags": ["x"]}'),
        ('{"tags": [["x"], "name"]}', '{"tags": [["x"]]}'),
        ('city: "x"\n"name"', '{"city": "x"}'),
    ],
)
def test_anything_else_is_refused(written: str, answer: str) -> None:
    assert isinstance(spelled(written, answer), str)


@pytest.mark.promise("L-04")
def test_a_value_is_not_moved_to_another_object_of_a_list() -> None:
    items = {"type": "array", "items": {"type": "object", "properties": {"name": {}, "size": {}}}}
    schema = {"type": "object", "properties": {"items": items}}
    written = '{"items": [{"name": "a", "size": 1}, {"name": "b"]}'
    assert isinstance(spelled(written, '{"items": [{"name": "a"}, {"size": 1, "name": "b"}]}', schema), str)


@pytest.mark.promise("L-04")
def test_words_around_the_arguments_are_no_arguments_unless_the_tool_has_them() -> None:
    with_name = {"type": "object", "properties": {"name": {}, "city": {}}}
    written = '{"name": "forecast", "city": "Bern"}'
    assert isinstance(spelled(written, '{"city": "Bern"}', with_name), str)


@pytest.mark.promise("L-04")
def test_a_schema_that_holds_itself_is_not_followed_for_ever() -> None:
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {
        name: {"$ref": "#/$defs/a"} for name in "abcdefghij"}}}}  # fmt: skip
    assert isinstance(spelled('{"a": "x" "b": "y"}', '{"a": {"b": "y"}}', schema), str)


@pytest.mark.promise("L-04")
@given(st.randoms(use_true_random=False))
def test_whatever_a_model_makes_of_readable_arguments_is_what_they_were(random: Random) -> None:
    tool = a_tool(random)
    value = a_value(random, tool["parameters"])
    answer = lie(value, random) if random.random() < 0.8 else value
    try:
        shape = shape_of(tool["parameters"])
        got = check_spelling(WrittenText(dumped(value), raw=False), dumped(answer), shape, tool["name"])
    except NotSpelled:
        return
    assert same(got, value)


WORDS = ("Bern", "New York", "a", "b: c", 'say "hi"', "it's", "/tmp/x", "a=b", "z)", "1;2", "äö")


@pytest.mark.promise("L-04")
@given(st.dictionaries(st.sampled_from(list(NAMES)), st.sampled_from((*WORDS, 3, -1, 0.5, True, None)), min_size=1),
       st.randoms(use_true_random=False))  # fmt: skip
def test_whatever_a_model_makes_of_damaged_arguments_is_what_they_were(value: dict[str, Any], random: Random) -> None:
    written, answer = damage(dumped(value), random), lie(value, random)
    got = spelled(written, dumped(answer))
    assert isinstance(got, str) or same(got, value), written
