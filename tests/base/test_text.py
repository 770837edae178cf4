"""Nothing a model wrote can hide in what is shown of it."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.text import escaped, estimate, fault_text, render_json
from support.every import every


@every(
    ("value", "text"),
    [
        ("plain", '"plain"'),
        ("Grüße 你好 👍", '"Grüße 你好 👍"'),
        ('a"b\\c\n', '"a\\"b\\\\c\\n"'),
        ("\x1b[31mred", '"\\u001b[31mred"'),
        ("a\u202eb\u2066", '"a\\u202eb\\u2066"'),
        ("a\u200bb\ufeff", '"a\\u200bb\\ufeff"'),
        ("\u2028\u2029\x85", '"\\u2028\\u2029\\u0085"'),
        ("a\u00a0b", '"a\\u00a0b"'),
        ("\ud800", '"\\ud800"'),
        ("\U000e0041", '"\\udb40\\udc41"'),
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (5, "5"),
        (-1.5, "-1.5"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        pytest.param(10**5000, "a number of about 4983 digits", id="huge"),
        ([], "[]"),
        ({}, "{}"),
        ({"a": [1, None, {"b": "c"}]}, '{"a": [1, null, {"b": "c"}]}'),
        ({1: (2,)}, "{1: [2]}"),
        (b"x", "<bytes>"),
        (object(), "<object>"),
    ],
)
def test_a_value_is_shown_as_json_with_nothing_invisible(value: Any, text: str) -> None:
    assert render_json(value) == text


def test_long_values_are_cut() -> None:
    assert render_json("x" * 100) == '"' + "x" * 77 + '…"'
    assert render_json("x" * 78) == '"' + "x" * 78 + '"'
    assert len(render_json(["abc"] * 1_000_000)) == 80
    assert render_json({"k" * 10**6: 1}, 20) == '{"' + "k" * 17 + "…"
    assert escaped("x" * 50, 10) == "x" * 9 + "…"
    assert escaped("x" * 10, 10) == "x" * 10


def test_nesting_without_end_is_shown_in_short() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert render_json(deep) == "[[[[[…]]]]]"


class Sly:
    def __repr__(self) -> str:
        raise AssertionError("nothing of the value's own may run")

    __str__ = __repr__


def test_a_foreign_object_is_not_asked_to_describe_itself() -> None:
    assert render_json(Sly()) == "<Sly>"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


@given(JSON, st.integers(3, 200))
def test_shown_is_always_printable_and_within_its_limit(value: Any, limit: int) -> None:
    text = render_json(value, limit)
    assert text.isprintable()
    assert len(text) <= limit


@given(st.text())
def test_an_escaped_json_text_is_the_same_json(text: str) -> None:
    assert json.loads(escaped(json.dumps(text, ensure_ascii=False))) == text


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60))
def test_a_short_plain_text_is_shown_as_json_itself(text: str) -> None:
    assert render_json(text, 200) == json.dumps(text)


class BrokenError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@every(
    ("error", "text"),
    [
        (ValueError("no such day"), "ValueError: no such day"),
        (ValueError("two\n  lines\tand \x1b[31m red"), "ValueError: two lines and \\u001b[31m red"),
        (MemoryError(), "MemoryError"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyError("a"), "KeyError: 'a'"),
        (BrokenError(), "BrokenError"),
    ],
)
def test_an_exception_is_its_kind_and_its_message_on_one_line(error: BaseException, text: str) -> None:
    assert fault_text(error) == text


def test_a_long_message_is_cut() -> None:
    text = fault_text(ValueError("x" * 10_000_000), 50)
    assert len(text) == 50
    assert text.endswith("x…")


@pytest.mark.promise("X-02")
@given(st.text())
def test_four_characters_are_a_token(text: str) -> None:
    assert estimate(text) == math.ceil(len(text) / 4)
