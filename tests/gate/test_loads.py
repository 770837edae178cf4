"""`rightcall.loads`: broken JSON in, the value that was meant out, with or without a schema."""

import contextlib
import math
from typing import Any

import pytest

from cases import Case, exact, table
from rightcall import Gate, Parsed, Unreadable, loads
from support.every import every

CITY = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}


@every("case", table("loads_schema.jsonl"))
def test_a_schema_leads_the_reading(case: Case) -> None:
    if "refused" in case:
        with pytest.raises(Unreadable):
            loads(case["emitted"], case["schema"])
        return
    parsed = loads(case["emitted"], case["schema"])
    assert exact(parsed.value) == exact(case["expected"])
    assert [repair.rule for repair in parsed.repairs] == case["rules"]
    assert parsed.confidence == min((repair.confidence for repair in parsed.repairs), default=1.0)
    assert parsed.truncated is ("cut" in case)


@pytest.mark.promise("N-01")
def test_what_is_json_comes_back_as_json_says() -> None:
    text = '{"city": "Bern", "days": 3, "id": 12345678901234567890}'
    expected = {"city": "Bern", "days": 3, "id": 12345678901234567890}
    assert loads(text) == Parsed(expected, end=len(text))
    assert loads(text, CITY) == Parsed(expected, end=len(text))


@pytest.mark.promise("N-12")
def test_a_record_names_the_place_the_change_and_the_rule() -> None:
    (repair,) = loads('{"city": "Bern", "days": "3"}', CITY).repairs
    assert (repair.path, repair.before, repair.after) == ("days", "3", 3)
    assert (repair.strategy, repair.rule, repair.confidence) == ("structure", "number_text", 1.0)


@pytest.mark.promise("N-12")
def test_the_lowest_confidence_counts() -> None:
    parsed = loads("{'city': Bern, 'days': 'about 3'}", CITY)
    assert sorted(repair.confidence for repair in parsed.repairs) == [0.9, 0.9, 1.0]
    assert parsed.confidence == 0.9


@pytest.mark.promise("N-11")
@every("schema", [None, {"type": "object"}])
@every(
    ("text", "path"),
    [('{"a": 1, "a": 2}', "a"), ('{"x": {"a": 1, "a": 2}}', "x.a"), ('{"x": {"a": 1, "a": 2},}', "x.a")],
)
def test_of_a_key_that_stands_twice_the_last_is_kept_and_said(text: str, path: str, schema: Any) -> None:
    parsed = loads(text, schema)
    assert exact(parsed.value).count("2") == 1
    assert "1" not in exact(parsed.value)
    assert [repair.path for repair in parsed.repairs if repair.rule == "duplicate_key"] == [path]
    assert parsed.confidence == 0.5


@pytest.mark.promise("N-11", "N-12")
@pytest.mark.parametrize("text", ['{"a": 1e999}', '{"a": -Infinity}', '{"a": NaN}'])
def test_what_is_no_number_anybody_can_use_is_said(text: str) -> None:
    parsed = loads(text)
    assert [repair.rule for repair in parsed.repairs] == ["constant_form"]
    assert not math.isfinite(parsed.value["a"])


@pytest.mark.promise("R-08")
def test_a_text_that_was_cut_off_is_read_as_far_as_it_goes_and_said_to_be_cut() -> None:
    parsed = loads('{"city": "Bern", "note": "cut o')
    assert (parsed.value, parsed.truncated) == ({"city": "Bern", "note": "cut o"}, True)
    assert parsed.confidence < 0.5


@every(
    ("text", "rest"),
    [
        ('{"a": 1} and more', " and more"),
        ("{a: 1} and more", " and more"),
        ("  {a: 1}, and", ", and"),
        ("\ufeff{a: 1}x", "x"),
        ('Call: {"a": [1, 2]}. Then', ". Then"),
        ("f(a=1)", ""),
        (r"{\"a\": \"b\"} and more", " and more"),
        ("“a”", ""),
        ("<parameter name='a'>x</parameter>.", "."),
    ],
)
def test_the_end_is_where_the_value_ends(text: str, rest: str) -> None:
    assert text[loads(text).end :] == rest


def test_the_end_of_text_that_was_encoded_twice_is_its_own_end() -> None:
    text = ' "{\\"city\\": \\"Bern\\"}" '
    assert loads(text, CITY).end == len(text)


@pytest.mark.parametrize(("text", "position"), [('{"a": 1e}', 6), ('   {"a": 1e}', 9), ("", 0)])
def test_an_unreadable_text_says_where_reading_stopped(text: str, position: int) -> None:
    with pytest.raises(Unreadable) as caught:
        loads(text)
    assert caught.value.position == position


def test_only_text_is_read() -> None:
    with pytest.raises(TypeError, match="loads takes text, not dict"):
        loads({"a": 1})  # type: ignore[arg-type]


@pytest.mark.promise("N-13")
def test_broken_text_beyond_the_limit_is_not_read() -> None:
    with pytest.raises(Unreadable, match="more than the 50 allowed"):
        loads("{" + " " * 60, max_text=50)
    assert loads("[" + " " * 60 + "]", max_text=50).value == []  # JSON needs no repair, so no limit


@pytest.mark.promise("N-13")
@pytest.mark.parametrize("opening", ["[", '{"a":', "[{'a': "])
def test_bottomless_nesting_is_unreadable(opening: str) -> None:
    with pytest.raises(Unreadable, match="nested deeper"):
        loads(opening * 5000)


@pytest.mark.promise("N-17")
@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "{'a': __import__('os').system('true')}",
        "[open('rightcall_was_here', 'w')]",
        "{'a': exec('raise SystemExit')}",
    ],
)
def test_nothing_is_evaluated_while_a_text_is_read(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []

    def watched(name: str) -> Any:
        return lambda *_, **__: used.append(name)

    with monkeypatch.context() as patch:
        for name in ("eval", "exec", "compile", "open"):
            patch.setattr(f"builtins.{name}", watched(name))
        patch.setattr("os.system", watched("os.system"))
        with contextlib.suppress(Unreadable):
            loads(text)
    assert used == []


@pytest.mark.promise("N-12")
def test_a_repair_has_the_value_in_after_and_the_reason_in_note() -> None:
    (comma,) = loads('{"first": 1, "second": [2],}').repairs
    assert (comma.after, comma.note) == ({"first": 1, "second": [2]}, "a surplus comma dropped")
    (twice,) = [one for one in loads('{"a": {"b": 1, "b": 2}}').repairs if one.rule == "duplicate_key"]
    assert (twice.path, twice.after, twice.note) == ("a.b", 2, "given twice: the last one kept")
    tool = {"name": "t", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    repairs = Gate([tool]).check("T", "{'n': '5', 'colour': 'red'}").repairs
    assert {repair.rule: repair.after for repair in repairs if repair.rule in ("number_text", "dropped_argument")} == {
        "number_text": 5, "dropped_argument": None,
    }  # fmt: skip
    assert all(repair.note for repair in repairs)
