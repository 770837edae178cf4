"""What escapes in a string stand for, also where JSON does not have them."""

import pytest

from rightcall.base.json.strings import unescape


@pytest.mark.promise("N-04")
@pytest.mark.parametrize(
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
@pytest.mark.parametrize(
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


@pytest.mark.parametrize(("raw", "text"), [(r"it\'s", "it's"), (r"\x41", "A"), ("a\\\nb", "a\nb"), (r"\`", "`")])
def test_escapes_of_other_languages_are_read_and_said(raw: str, text: str) -> None:
    decoded = unescape(raw)
    assert (decoded.text, decoded.foreign, decoded.illegal) == (text, True, False)


@pytest.mark.promise("N-11")
@pytest.mark.parametrize("raw", [r"\ud83d", r"\ude00", r"x\ud83dx", r"\ude00\ud83d"])
def test_half_a_pair_is_replaced_and_said(raw: str) -> None:
    decoded = unescape(raw)
    assert decoded.lone
    assert "\ufffd" in decoded.text
    decoded.text.encode()


@pytest.mark.parametrize("raw", [r"\u00", r"\u12g4", "\\u"])
def test_an_escape_without_its_digits_is_no_text(raw: str) -> None:
    assert unescape(raw).broken
