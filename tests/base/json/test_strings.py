"""Where a string ends is decided by what follows the quote."""

import pytest

from rightcall.base.json.strings import Closing, Context, StringEnd, key_ahead


def closing(text: str, context: Context, brackets: str, quote: str = '"') -> Closing:
    """The end of the string that begins right behind the first quote."""
    return StringEnd(text, text.index(quote) + 1, context, brackets, ()).find(quote, 1000)


@pytest.mark.promise("N-04")
@pytest.mark.parametrize(
    ("text", "content", "rule"),
    [
        ('{"a": "x", "b": 1}', "x", None),
        ('{"a": "x"}', "x", None),
        ('{"a": "x"\n "b": 1}', "x", None),
        ('{"a": "x" // why\n}', "x", None),
        ('{"a": "x"y", "b": 1}', 'x"y', "inner_quotes"),
        ('{"a": "f("x")"}', 'f("x")', "inner_quotes"),
        ('{"a": "x", y", "b": 1}', 'x", y', "weak_quote"),
        ('{"a": "x, "b": 1}', "x", "missing_quote_unsure"),
        ('{"a": "x}', "x", "end_quote_at_end"),
        ('{"a": "x', "x", "cut_value"),
    ],
)
def test_the_end_of_a_member(text: str, content: str, rule: str | None) -> None:
    start = text.index(": ") + 3
    found = StringEnd(text, start, "member", "}", ()).find('"', 1000)
    assert (text[start : found.end], found.rule) == (content, rule)


@pytest.mark.promise("N-04")
@pytest.mark.parametrize(
    ("text", "content", "rule"),
    [
        ('["x", "y"]', "x", None),
        ('["x"]', "x", None),
        ('["x"\n"y"]', "x", "side_by_side"),
        ('["x" 5]', "x", None),
        ('["x", true]', "x", None),
        ('["x "y" z"]', 'x "y" z', "inner_quotes"),
        ('["x" "y"]', "x", "side_by_side"),
    ],
)
def test_the_end_of_an_item(text: str, content: str, rule: str | None) -> None:
    found = closing(text, "element", "]")
    assert (text[2 : found.end], found.rule) == (content, rule)


def test_a_bracket_that_was_opened_inside_the_string_ends_nothing() -> None:
    text = '{"a": "g["x"]", "b": 1}'
    start = 7
    found = StringEnd(text, start, "member", "}", ()).find('"', 1000)
    assert text[start : found.end] == 'g["x"]'


def test_a_string_that_is_everything_ends_at_its_last_quote() -> None:
    assert closing('"a "b" c"', "top", "").end == 8
    assert closing('"a" and "b', "top", "").end == 2


def test_patience_ends_the_search() -> None:
    text = '{"a": "' + 'x"y' * 50 + '", "b": 1}'
    patient = StringEnd(text, 7, "member", "}", ())
    assert patient.find('"', 1000).rule == "inner_quotes"
    hasty = StringEnd(text, 7, "member", "}", ())
    hasty.find('"', 5)
    assert hasty.seen < 10


@pytest.mark.parametrize(
    ("text", "is_key"),
    [
        ('"a": 1', True), ("'a' : 1", True), ("a: 1", True), ("$a-b.c: 1", True), ("“a”: 1", True), ('"a" => 1', True),
        ("12: 'a'", True), ("http://x", False), ("a, b", False), ('"a", "b"', False), ("12:30", False), ("", False),
    ],
)  # fmt: skip
def test_a_key_is_known_by_its_colon(text: str, is_key: bool) -> None:
    assert key_ahead(text, 0) is is_key
