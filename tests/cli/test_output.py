"""What `--json` prints is JSON whatever a model wrote, and harmless on a terminal."""

import io
import json
import math
from typing import Any
from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st

from rightcall.cli.terminal import is_unicode
from rightcall.gate.records import json_text, verdict_record
from rightcall.types import Call, Problem, Repair, Verdict
from support.every import every

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_every_value_survives_and_no_control_character_does(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json_text(value, indent=indent, ascii_only=ascii_only)
    assert json.loads(text) == value
    assert not {category(character) for character in text if character != "\n"} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@every(
    ("value", "text"),
    [
        ({"n": math.nan}, '{"n": "NaN"}'),
        ([math.inf, -math.inf], '["Infinity", "-Infinity"]'),
        ({1: "a"}, '{"1": "a"}'),
        ({"s": {1, 2}}, '{"s": "(set)"}'),
        ({(1, 2): 3}, '{"(1, 2)": 3}'),
        ([10**9000], '["(an integer of 29898 bits)"]'),
        ("\ud800\u202e\U000e0041", '"\\ud800\\u202e\\udb40\\udc41"'),
    ],
)
def test_what_json_has_no_word_for_becomes_text(value: Any, text: str) -> None:
    assert json_text(value) == text


def test_nesting_beyond_what_json_can_write_is_cut_instead_of_failing() -> None:
    deep: Any = []
    for _ in range(50_000):
        deep = [deep]
    assert json.loads(json_text(deep))


def test_a_verdict_has_all_its_fields_in_the_documented_order() -> None:
    verdict = Verdict(
        ok=True,
        call=Call("add", {"n": 1}),
        found=Call("Add", {"n": "1"}),
        repairs=(Repair("n", "1", 1, "structure", "number_text", 0.9),),
        problems=(Problem("type", "n", "wrong"),),
        confidence=0.9,
    )
    record = verdict_record(verdict, "Add")
    assert list(record) == [
        "ok", "name", "arguments", "found", "repairs", "problems", "hint", "confidence", "truncated", "strategy",
        "retry", "mode",
    ]  # fmt: skip
    assert record["name"] == "add"
    assert record["found"] == {"name": "Add", "arguments": {"n": "1"}}
    assert record["repairs"][0]["rule"] == "number_text"
    assert verdict_record(Verdict(ok=False, call=None), "Add")["name"] == "Add"


def test_only_unicode_streams_get_more_than_ascii() -> None:
    assert is_unicode(io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert not is_unicode(io.TextIOWrapper(io.BytesIO(), encoding="cp1252"))
