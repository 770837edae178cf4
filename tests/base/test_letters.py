"""Text that a person decides about: everything in it can be seen, and no two texts look the same."""

import re
from unicodedata import bidirectional, category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.base.letters import folded, quoted, right_to_left_words, visible

pytestmark = pytest.mark.promise("P-06", "A-07")

ESCAPE = re.compile(r"\\(\\|n|r|t|u[0-9a-f]{4}(?:\\u[0-9a-f]{4})*|)", re.DOTALL)
NASTY = "\\nrtu\"' \t\r\n\x1b\x00\u200b\u202e\u2066\ud800a0é1\u0301\u05d0\u0661\ufe0f\u3164│≈─\U0001f600\U000e0041"
texts = st.text(st.one_of(st.sampled_from(NASTY), st.characters()), max_size=40)


def meant(shown: str) -> str:
    """What a reader takes a shown line for."""

    def one(match: re.Match[str]) -> str:
        word = match[1]
        if word[:1] == "u":
            return bytes.fromhex(word.replace("\\u", "")[1:]).decode("utf-16-be", "surrogatepass")
        return {"\\": "\\", "n": "\n", "r": "\r", "t": "\t", "": "\\"}[word]

    return ESCAPE.sub(one, shown)


@given(texts)
def test_what_is_shown_means_exactly_the_text(text: str) -> None:
    assert meant(visible(text)).encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")
    inside = quoted(text)[1:-1]
    assert '"' not in inside
    assert meant(inside).encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")


@given(texts)
def test_nothing_is_shown_that_hides_turns_or_moves(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert not {bidirectional(one) for one in shown} & {
        "R",
        "AL",
        "AN",
        "RLO",
        "LRO",
        "RLE",
        "LRE",
        "RLI",
        "LRI",
        "FSI",
    }
    assert not shown.endswith(" ")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("C:\\data\\x", "C:\\data\\x"),
        ("C:\\users\\new", "C:\\\\users\\\\new"),
        ("\\d+\\.py", "\\d+\\.py"),
        ("\x1b[2K\rsafe", "\\u001b[2K\\rsafe"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb\u00adc", "a\\u200bb\\u00adc"),
        ("a\u3164\u2800b", "a\\u3164\\u2800b"),
        ("a\u00a0b\u3000c", "a\\u00a0b\\u3000c"),
        ("naïve Привет 日本", "naïve Привет 日本"),
        ("⚠️", "⚠\\ufe0f"),
        ("אב", "\\u05d0\\u05d1"),
        ("end ", "end\\u0020"),
        ("a\\ ", "a\\\\\\u0020"),
        ("\U000e0041", "\\udb40\\udc41"),
    ],
)
def test_each_kind_of_character_is_shown_or_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_marks_stay_on_their_letter_but_do_not_pile_up() -> None:
    assert visible("x\u0301") == "x\u0301"
    assert visible("x\u0301\u0302\u0303") == "x\u0301\u0302\\u0303"
    assert visible("\u0301a") == "\\u0301a"
    assert visible(" \u0301a") == " \\u0301a"
    assert visible("a\u20dd") == "a\\u20dd"  # encloses what is around it
    assert sum(one == "\u0335" for one in visible("x" + "\u0335" * 1000)) == 2


@given(texts, st.integers(8, 40))
def test_rows_together_are_the_text_and_none_is_wider_than_the_terminal(text: str, width: int) -> None:
    shown = visible(text)
    rows = folded(shown, width)
    assert "".join(rows) == shown
    for row in rows:
        drawn = [one for one in row if category(one) not in ("Mn", "Mc")]
        assert sum(1 if one.isascii() else 2 for one in drawn) <= width


def test_a_mark_never_starts_a_row() -> None:
    rows = folded("aaaaaaa" + "x\u0301" * 10, 8)
    assert not any(row.startswith("\u0301") for row in rows)


def test_of_two_spellings_that_look_the_same_the_unusual_one_is_spelled_out() -> None:
    assert visible("\u00e9") == "\u00e9"
    assert visible("e\u0301") == "e\\u0301"
    assert visible("\u212b \u1112\u1161") == "\\u212b \u1112\\u1161"


def test_words_from_the_right_are_told_apart() -> None:
    assert right_to_left_words("x שלום/עולם 1") == ["שלום", "עולם"]
    assert right_to_left_words("plain") == []
    assert right_to_left_words("\u202e\u061c") == []
