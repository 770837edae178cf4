"""How a reader waits: it yields where more text could change its answer, and only there."""

import re
from collections.abc import Callable, Generator
from typing import Any

import pytest

from rightcall.gate.recover.window import (
    Literals,
    Markers,
    Tools,
    Window,
    blank,
    closing,
    find,
    literal,
    matched,
    one_of,
    skip,
)
from support.every import every

pytestmark = pytest.mark.promise("R-09")
WORDS = Literals(["<tool>", "<tools>", "]"])
Reader = Callable[[Window], Generator[None, None, Any]]


def window(text: str, *, final: bool = False, cap: int = 1000) -> Window:
    made = Window(Tools(), Markers((), ()), cap)
    made.text, made.final = text, final
    return made


def waits(reader: Reader, text: str) -> bool:
    """Whether more text is needed for an answer."""
    try:
        next(reader(window(text)))
    except StopIteration:
        return False
    return True


def answer(reader: Reader, text: str) -> Any:
    """The answer when the text comes character by character; it must be that on the whole."""
    growing = window("")
    steps, rest = reader(growing), iter(text)
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            got = stop.value
            break
        char = next(rest, None)
        growing.text, growing.final = growing.text + (char or ""), char is None
    with pytest.raises(StopIteration) as whole:
        next(reader(window(text, final=True)))
    assert same(whole.value.value, got)
    return got


def same(one: Any, other: Any) -> bool:
    return one.span() == other.span() if isinstance(one, re.Match) and isinstance(other, re.Match) else one == other


def test_an_expression_prefers_the_longest_word() -> None:
    found = re.match(one_of(["a", "ab", "abc"]), "abcd")
    assert found
    assert found[0] == "abc"
    assert re.search(one_of([]), "anything") is None


@every(("text", "end"), [("<tool>x", 6), ("<tools>", 7), ("<toolx", -1), ("<to", -1), ("]", 1), ("x", -1), ("", -1)])
def test_a_word_ends_where_it_ends(text: str, end: int) -> None:
    assert answer(lambda window: literal(window, 0, WORDS), text) == end


@every(
    ("text", "waiting"),
    [("", True), ("<", True), ("<tool", True), ("<tool>", True), ("<tools>", False), ("<x", False), ("x", False)],
)
def test_a_word_waits_while_it_can_become_one_or_a_longer_one(text: str, waiting: bool) -> None:
    assert waits(lambda window: literal(window, 0, Literals(["<tool>", "<tool>!", "<tools>"])), text) is waiting


@every(("text", "at"), [("  \n x", 4), ("x", 0), ("   ", 3), ("", 0)])
def test_blanks_end_at_the_first_character_that_is_none(text: str, at: int) -> None:
    assert answer(lambda window: blank(window, 0), text) == at


@pytest.mark.parametrize(("text", "at"), [(" ] <tool> ] x", 12), ("<tool", 0), ("]]", 2), ("x", 0)])
def test_words_and_blanks_are_stepped_over(text: str, at: int) -> None:
    assert answer(lambda window: skip(window, 0, WORDS), text) == at


def test_a_needle_is_found_within_reach_only() -> None:
    assert answer(lambda window: find(window, "END", 0), "abcEND") == 3
    assert answer(lambda window: find(window, "END", 0), "abcEN") == -1
    assert answer(lambda window: find(window, "END", 0, 2), "abcEND") == -1


def test_a_needle_may_begin_at_the_very_end_of_the_reach() -> None:
    assert answer(lambda window: find(window, "END", 0, 3), "abcENDabc") == 3


def test_a_needle_that_is_not_there_is_not_found_later_either() -> None:
    text = window("a" * 100, final=True)
    for at in (0, 50):
        with pytest.raises(StopIteration) as stop:
            next(find(text, "END", at))
        assert stop.value.value == -1


def test_a_match_is_over_when_it_stops_before_the_text_does() -> None:
    word = re.compile(r"\w+")
    assert waits(lambda window: matched(window, word, 0), "abc")
    assert not waits(lambda window: matched(window, word, 0), "abc ")
    assert answer(lambda window: matched(window, word, 0), "abc d")[0] == "abc"
    assert answer(lambda window: matched(window, word, 0), " ") is None


def test_a_bracket_closes_outside_of_strings() -> None:
    assert answer(lambda window: closing(window, 0), '{"a": "}"} x') == 10
    assert answer(lambda window: closing(window, 0), '{"a": ') == -1


def test_what_may_be_the_beginning_of_a_word_is_counted() -> None:
    assert [WORDS.held(text) for text in ("abc<to", "abc", "<tool>", "a<", "a<tool")] == [3, 0, 0, 1, 5]
