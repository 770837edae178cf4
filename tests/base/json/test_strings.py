"""Strings: where one ends, what its escapes stand for, and where a bracket closes in a text that is still growing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.json.values import Balance, Closing, Context, StringEnd, key_ahead, unescape
from support.every import every


def closing(text: str, context: Context, brackets: str, quote: str = '"') -> Closing:
    """The end of the string that begins right behind the first quote."""
    return StringEnd(text, text.index(quote) + 1, context, brackets, ()).find(quote, 1000)


@pytest.mark.promise("N-04")
@every(
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
@every(
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


@every(
    ("text", "is_key"),
    [
        ('"a": 1', True), ("'a' : 1", True), ("a: 1", True), ("$a-b.c: 1", True), ("“a”: 1", True), ('"a" => 1', True),
        ("12: 'a'", True), ("http://x", False), ("a, b", False), ('"a", "b"', False), ("12:30", False), ("", False),
    ],
)  # fmt: skip
def test_a_key_is_known_by_its_colon(text: str, is_key: bool) -> None:
    assert key_ahead(text, 0) is is_key


def bracket_end(text: str) -> int:
    return Balance(0).advance(text, len(text))


@pytest.mark.promise("R-09")
@every(
    ("text", "end"),
    [
        ("{}", 2),
        ("{} x", 2),
        ("{[()]}", 6),
        ("{", -1),
        ("{[}", -1),
        ('{"}"}', 5),
        ('{"\\"}"}', 7),
        ('{"a\\\\"}', 7),
        ("{'}'}", 5),
        ("{a: it's}", 9),
        ("{'a': 'it\\'s }'}", 16),
        ("f(')')"[1:], 5),
        ('{"a', -1),
        ('{"a\\', -1),
        ("[1, {'a': \"]\"}]", 15),
        ("{”}”}", 3),
        ("{a 'b} c'}", 6),
    ],
)
def test_a_bracket_closes_outside_of_strings(text: str, end: int) -> None:
    """A single quote opens a string only where a value or a key may begin; elsewhere it is an apostrophe."""
    assert bracket_end(text) == end


@pytest.mark.promise("R-09")
@given(st.text(st.sampled_from("{}[]()\"'\\,: ab\n"), max_size=30).map("{".__add__), st.data())
def test_it_does_not_matter_in_which_pieces_the_text_comes(text: str, data: st.DataObject) -> None:
    balance, limit, end = Balance(0), 0, -1
    while end < 0 and limit < len(text):
        limit = data.draw(st.integers(limit + 1, len(text)))
        end = balance.advance(text[:limit], limit)
    assert end == bracket_end(text)


@pytest.mark.promise("R-09")
def test_the_string_it_stands_in_is_told() -> None:
    balance = Balance(0)
    balance.advance('{"a', 3)
    assert balance.quote == '"'
    balance.advance('{"a"', 4)
    assert balance.quote == ""


@pytest.mark.promise("N-04")
@every(
    ("raw", "text"),
    [
        (r"a\nb\tc\\d\/e\"f", 'a\nb\tc\\d/e"f'),
        (r"\u00e9\ud83d\ude00", "é😀"),
        (r"\b\f\r", "\b\f\r"),
        ("no escape at all", "no escape at all"),
    ],
)
def test_escapes_of_json_are_read_without_remark(raw: str, text: str) -> None:
    assert unescape(raw)[0:1] == (text,)
    assert not any(unescape(raw)[1:])


@pytest.mark.promise("N-04")
@every(
    ("raw", "text"),
    [
        (r"\s+", r"\s+"),
        (r"^\d{3}\.\w*$", r"^\d{3}\.\w*$"),
        (r"\bword\b|\s", r"\bword\b|\s"),
        (r"\(\[\{", r"\(\[\{"),
        (r"C:\Users\new", r"C:\Users\new"),
        (r"C:\\Users\pat\new", r"C:\Users\pat\new"),
        (r"\\server\share\new", r"\\server\share\new"),
        (r"100\%", r"100\%"),
    ],
)
def test_an_illegal_escape_keeps_its_backslash(raw: str, text: str) -> None:
    decoded = unescape(raw)
    assert (decoded.text, decoded.illegal) == (text, True)


@every(("raw", "text"), [(r"it\'s", "it's"), (r"\x41", "A"), ("a\\\nb", "a\nb"), (r"\`", "`")])
def test_escapes_of_other_languages_are_read_and_said(raw: str, text: str) -> None:
    decoded = unescape(raw)
    assert (decoded.text, decoded.foreign, decoded.illegal) == (text, True, False)


@pytest.mark.promise("N-11")
@every("raw", [r"\ud83d", r"\ude00", r"x\ud83dx", r"\ude00\ud83d"])
def test_half_a_pair_is_replaced_and_said(raw: str) -> None:
    decoded = unescape(raw)
    assert decoded.lone
    assert "\ufffd" in decoded.text
    decoded.text.encode()


@pytest.mark.parametrize("raw", [r"\u00", r"\u12g4", "\\u"])
def test_an_escape_without_its_digits_is_no_text(raw: str) -> None:
    assert unescape(raw).broken
