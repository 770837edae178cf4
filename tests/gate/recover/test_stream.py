"""A stream gives what the whole text gives, and prose flows on at once (R-09)."""

import logging
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case
from rightcall import Gate
from rightcall.gate.recover.machine import REASONING, builtin_formats
from rightcall.gate.recover.section import BLOCKS
from rightcall.types import Verdict
from support.every import every, numbers
from support.recover.soup import EXAMPLES, TOOLS, mutated_example, pieces, random_soup, soup
from support.recover.strategies import SENTENCES
from support.recover.streaming import differences, parameters, streamed, whole

GATES = {"with tools": Gate(TOOLS), "without tools": Gate()}
either = pytest.mark.parametrize("gate", GATES.values(), ids=GATES.keys())
OPENING = sorted({word for one in builtin_formats() for word in one.opens if not one.ahead} | {*REASONING})
CALL = '<tool_call>{"name": "search", "arguments": {"query": "snow"}}</tool_call>'


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    """Every refusal is a log line, and a failed test would show hundreds."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def shown(gate: Gate, text: str) -> str:
    """What has been handed out when this much of a message has come, character by character."""
    feed = gate.stream()
    return "".join(event for char in text for event in feed.push(char) if isinstance(event, str))


# ── whatever the text, however it is cut ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.promise("R-09", "R-10")
@either
@given(text=soup)
def test_any_pieces_give_what_the_whole_gives(gate: Gate, text: str) -> None:
    assert differences(gate, text) == []


@either
@every("case", parameters("recover_pieces.jsonl"))
def test_texts_that_once_gave_something_else_in_pieces(gate: Gate, case: Case) -> None:
    """The smallest of each sort that a long run of the tests above and below has found."""
    assert differences(gate, case["text"]) == []


@pytest.mark.promise("R-09", "R-10")
@either
@pytest.mark.parametrize("make", [random_soup, mutated_example], ids=["soup", "examples with damage"])
@numbers(60, 250)
def test_seeded_texts_give_the_same_in_any_pieces(gate: Gate, make: Any, numbers: range) -> None:
    for number in numbers:
        text = make(Random(number))
        assert differences(gate, text, number, 1) == [], text


@pytest.mark.promise("R-06", "R-10")
@either
@given(text=soup)
def test_text_in_which_nothing_is_found_is_prose_and_nothing_else(gate: Gate, text: str) -> None:
    reading = gate.read(text)
    if not reading.calls:
        assert reading.text == text
    assert len(reading.places) == len(reading.calls)


@pytest.mark.promise("R-10")
@either
@given(text=st.text())
def test_any_text_at_all_is_read(gate: Gate, text: str) -> None:
    assert streamed(gate, list(text)) == whole(gate, text)


@pytest.mark.promise("R-09")
@either
def test_a_call_far_into_a_long_text_is_found_at_the_same_place(gate: Gate) -> None:
    """What lies behind is forgotten on the way; places are counted from the beginning all the same."""
    before = 'It\'s a long story, and "this" is a part of it.\n' * 400
    text = before + CALL + " That's it."
    for chunks in ([text], pieces(text, Random(1)), [text[at : at + 7] for at in range(0, len(text), 7)]):
        got = streamed(gate, chunks)
        assert [(place.start, place.end) for place in got.places] == [(len(before), len(before) + len(CALL) - 12)]
        assert got.text == before + " That's it."


# ── prose flows ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.promise("R-09")
@either
@every("sentence", SENTENCES)
def test_ordinary_prose_is_handed_out_character_by_character(gate: Gate, sentence: str) -> None:
    """From the second sentence on. Held back is only an ending that may begin a call."""
    feed = gate.stream()
    out = "".join(event for event in feed.push("Well now, ") if isinstance(event, str))
    sent = "Well now, "
    for char in sentence:
        sent += char
        out += "".join(event for event in feed.push(char) if isinstance(event, str))
        assert sent.startswith(out)
        assert may_begin_a_call(sent[len(out) :]), (sent, out)


def may_begin_a_call(ending: str) -> bool:
    """Nothing, the first characters of an opening word, or a bracket or fence with nothing decided yet."""
    words = (*OPENING, *REASONING.values(), *BLOCKS)
    if not ending or any(word.startswith(ending) for word in words):
        return True
    bracket = ending[0] in "{[" and not ending.rstrip().endswith(("}", "]"))
    return bracket or ending.startswith(("<|", "<｜", "```", "~~~", "Action:", "=functions."))


@pytest.mark.promise("R-09")
@either
@every("word", OPENING)
def test_every_beginning_of_an_opening_word_is_held_and_nothing_before_it(gate: Gate, word: str) -> None:
    for length in range(1, len(word)):
        assert shown(gate, f"So it is {word[:length]}") == "So it is ", word[:length]


@pytest.mark.promise("R-09")
@either
@every("word", OPENING)
def test_what_was_held_flows_on_as_soon_as_it_is_no_opening_word(gate: Gate, word: str) -> None:
    """At once, with the character that decides it; unless the shorter word is one itself."""
    for length in range(1, len(word)):
        text = f"So it is {word[:length]}\u2603"
        if any(other in text for other in (*OPENING, "{", "[", "```", "~~~", "<|", "<｜", '"""')):
            continue
        assert shown(gate, text) == text


@pytest.mark.promise("R-09")
@either
@every(
    ("text", "held"),
    [
        ("A set {a, b} and", ""),
        ("See [1] and [note] too", ""),
        ("See [1]", "]"),
        ("a {", "{"),
        ("a { ", "{ "),
        ('a {"', '{"'),
        ("a [", "["),
        ("a < b", ""),
        ("a <", "<"),
        ("a <b", ""),
        ("a <t", "<t"),
        ("a <tz", ""),
        ("a `code`", "`"),
        ("a `code`.", ""),
        ("a ``", "``"),
        ("a <|", "<|"),
        ("a <|im_start|>", ">"),
        ("a <|im_start|>a", ""),
        ("a Act", "Act"),
        ("a Acts", ""),
        ("a >>", ">>"),
        ("a >> b", ""),
        ('a {"b": 1}', '{"b": 1}'),
        ('a {"b": 1} ', '{"b": 1} '),
        ('a {"b": 1} x', ""),
        ('a {"name": "Ada"}.', ""),
        ("a <b>bold</b> x", ""),
        ("<think>hm so", ""),
    ],
)
def test_exactly_this_much_is_held(gate: Gate, text: str, held: str) -> None:
    before = "Well now, it is like this: "
    assert (before + text).removeprefix(shown(gate, before + text)) == held


@pytest.mark.promise("R-09")
@either
@pytest.mark.parametrize(
    ("text", "held"),
    [("ge", "ge"), ("ge ", "ge "), ("ge t", ""), ("ge,", ""), ("\nget", "\nget"), ("1", ""), ("</think>\nge", "\nge")],
)
def test_the_first_word_of_a_message_is_held_until_more_than_a_word_is_there(gate: Gate, text: str, held: str) -> None:
    """It may be the name of a call whose marker got lost: `get_weather`, a new line, JSON."""
    assert text.removeprefix(shown(gate, text)) == held


@pytest.mark.promise("R-09")
@pytest.mark.parametrize("word", ["Hi", "Hi ", "Sure!", "\nWell", "The", "weather", "</think>\nHi", "getting"])
def test_a_first_word_that_begins_no_name_of_a_tool_is_shown_at_once(word: str) -> None:
    tool = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
    assert shown(Gate([tool]), word) == word


@pytest.mark.promise("R-09")
@pytest.mark.parametrize("name", ["get_weather", "getWeather", "functions.get_weather:0", "forecast", "open_weather"])
def test_a_first_word_that_is_a_tool_s_name_in_any_spelling_is_held_and_read_with_its_arguments(name: str) -> None:
    tool = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
    policy = {"gate": {"tools": {"get_weather": {"names": ["forecast", "open_weather"]}}}}
    gate = Gate([tool], policy=policy)
    text = f'{name}\n{{"city": "Bern"}}'
    for size in (1, 3, len(text)):
        feed = gate.stream()
        events = [event for start in range(0, len(text), size) for event in feed.push(text[start : start + size])]
        calls = [event for event in [*events, *feed.close()] if not isinstance(event, str)]
        assert [(call.ok, call.call and call.call.name) for call in calls] == [(True, "get_weather")]


@pytest.mark.promise("R-09")
@either
def test_prose_before_a_call_is_out_before_the_call_is_complete(gate: Gate) -> None:
    feed = gate.stream()
    assert feed.push("One moment. <tool_call>") == ["One moment. "]
    assert feed.push('{"name": "search", "arguments": {"query": "snow"') == []
    events = feed.push("}}</tool_call> Done") + feed.close()
    assert [type(event) for event in events] == [Verdict, str]
    assert events[1] == " Done"


@pytest.mark.promise("R-09")
def test_a_verdict_comes_with_the_piece_that_ends_its_call() -> None:
    feed = GATES["with tools"].stream()
    events = [feed.push(char) for char in CALL]
    (at,) = [at for at, got in enumerate(events) if got]
    assert at >= CALL.index("</tool_call>") - 1
    assert feed.close() == []


# ── the door itself ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.promise("R-09")
def test_after_close_nothing_can_be_pushed() -> None:
    feed = Gate().stream()
    feed.push("Hi")
    feed.close()
    with pytest.raises(ValueError, match=r"gate\.stream"):
        feed.push(" there")


@pytest.mark.promise("R-09")
def test_a_second_close_gives_nothing() -> None:
    feed = Gate().stream()
    assert feed.push("Hi you <tool_") == ["Hi you "]
    assert feed.close() == ["<tool_"]
    assert feed.close() == []


@pytest.mark.promise("R-09")
@pytest.mark.parametrize("chunk", [None, b"text", 7, ["text"], {"content": "text"}], ids=repr)
def test_only_text_can_be_pushed_and_a_mistake_costs_nothing(chunk: Any) -> None:
    feed = Gate().stream()
    out = feed.push("Hi, ")
    with pytest.raises(TypeError, match="text"):
        feed.push(chunk)
    assert out + feed.push("there") + feed.close() == ["Hi, ", "there"]


@pytest.mark.promise("R-09")
@either
@every("text", EXAMPLES)
def test_empty_pieces_change_nothing(gate: Gate, text: str) -> None:
    chunks = [piece for char in text for piece in ("", char, "")]
    assert streamed(gate, chunks) == whole(gate, text)


@pytest.mark.promise("R-09")
def test_a_stream_without_any_piece_gives_nothing() -> None:
    assert Gate().stream().close() == []


@pytest.mark.promise("R-08", "R-09")
def test_the_token_limit_is_told_at_the_end() -> None:
    """Plain text has no bracket that would show whether it is complete."""
    text = "Action: search\nAction Input: how much sn"
    gate = GATES["with tools"]
    assert [verdict.ok for verdict in streamed(gate, list(text)).calls] == [True]
    (verdict,) = streamed(gate, list(text), "length").calls
    assert (verdict.ok, verdict.truncated) == (False, True)
    assert streamed(gate, list(text), "length") == whole(gate, text, "length")


@pytest.mark.promise("R-09")
def test_streams_of_one_gate_do_not_know_of_each_other() -> None:
    gate = GATES["with tools"]
    one, other = gate.stream(), gate.stream()
    other.push("Some words. ")
    events: list[Any] = []
    for char in CALL:
        events += one.push(char)
        assert other.push("word ") == ["word "]
    events += one.close()
    assert [event.ok for event in events] == [True]
    assert other.close() == []
