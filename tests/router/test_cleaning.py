"""An answer is for people: no call in it, no marker, no reasoning; and what is none of these stays as it is."""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rightcall import Gate
from rightcall.gate.recover.machine import REASONING, builtin_formats
from rightcall.gate.recover.section import tagged
from rightcall.router.cleaning import Cleaner, clean_answer
from support.cleaning_cases import CLEANED, UNCHANGED
from support.every import every
from support.recover.soup import EXAMPLES, TOOLS, fragments
from support.recover.strategies import SENTENCES

pytestmark = pytest.mark.promise("T-07")

GATE = Gate(TOOLS)
CALL = '{"name": "search", "arguments": {"query": "a"}}'


def in_pieces(text: str, size: int, gate: Gate = GATE) -> str:
    cleaner = Cleaner(gate)
    pieces = [cleaner.push(text[at : at + size]) for at in range(0, len(text), size)]
    return ("".join(pieces) + cleaner.close()).strip()


@every("text", CLEANED)
def test_an_answer_holds_no_markup(text: str) -> None:
    assert clean_answer(GATE, text)[0] == CLEANED[text]
    assert {in_pieces(text, size) for size in (1, 3, 7)} == {CLEANED[text]}


@every("text", [*UNCHANGED, *(one.replace("TOOL", "search") for one in SENTENCES)])
def test_an_answer_without_markup_stays_byte_for_byte(text: str) -> None:
    assert clean_answer(GATE, text) == (text, 0)
    assert {in_pieces(text, size) for size in (1, 3, 7)} == {text}


@every("text", EXAMPLES)
def test_no_format_leaves_a_trace_of_its_call(text: str) -> None:
    gate = Gate([*TOOLS, {**TOOLS[0], "name": "get_time"}])
    left, _ = clean_answer(gate, f"It rains.\n{text}")
    assert left.removeprefix("It rains.").strip() in ("", "Final Answer: 21 °C", "Thought: I need the weather.")


WORDS = sorted({
    word
    for one in (*((*f.opens, *f.closes) for f in builtin_formats()), *REASONING.items())
    for word in one
    if len(word) > 4 and word[0] in "<[" and not word.endswith(("=", " "))
})  # fmt: skip


@pytest.mark.parametrize("change", [lambda word: word, lambda word: word[:-1]], ids=["whole", "cut off"])
def test_no_marker_of_any_format_is_left_at_the_end_whole_or_cut_off(change: Callable[[str], str]) -> None:
    left = {word: clean_answer(GATE, f"It rains. {change(word)}")[0] for word in WORDS}
    assert {word: text for word, text in left.items() if text != "It rains."} == {}


@pytest.mark.parametrize("tick", ["`", "``"])
def test_a_marker_that_is_cut_off_behind_a_backtick_without_a_partner_goes_too(tick: str) -> None:
    left = {word: clean_answer(GATE, f"It rains. {tick}{word[:-1]}")[0] for word in WORDS}
    assert {word: text for word, text in left.items() if text != f"It rains. {tick}"} == {}


@given(st.lists(fragments, max_size=12).map("".join), st.integers(0, 200), fragments, st.integers(1, 9))
@example("<|a|>", 1, "<|im_end|>", 1)
@example(f"<tool_call>{CALL}</tool_call>", 6, f"<tool_call>{CALL}</tool_call>", 3)
@example(CALL.replace("search", "sea<s>rch"), 0, "[[INST]TOOL_CALLS]", 2)
@example('{"name": "search", "arguments": {\0\xa0<longcat_tool_call>', 0, "", 1)
@example("\u2028Action:search.call(query='a')", 0, "", 1)
def test_whatever_a_model_writes_the_gate_finds_no_call_in_the_answer_and_pieces_do_not_matter(
    text: str, place: int, inside: str, size: int
) -> None:
    text = text[:place] + inside + text[place:]
    answer, _ = clean_answer(GATE, text)
    assert GATE.read(answer).calls == ()
    assert in_pieces(text, size) == answer


@every("depth", [1, 2, 3, 6, 20])
@every("halves", [("<tool_", "call>"), ("<|im_", "end|>"), ("[TOOL_", "CALLS]"), ("<", "s>")])
def test_calls_and_markers_in_each_other_never_come_together(depth: int, halves: tuple[str, str]) -> None:
    first, second = halves
    whole = f"Hi. {first * depth}<tool_call>{CALL}</tool_call>{(second + CALL) * depth}"
    answer, _ = clean_answer(GATE, whole)
    assert answer.startswith("Hi.")
    assert first + second not in answer
    assert CALL not in answer
    assert GATE.read(answer).calls == ()
    assert in_pieces(whole, 5) == answer


def test_the_markers_of_a_format_of_ones_own_go_too() -> None:
    gate = Gate(TOOLS, formats=[tagged("mine", "<my:call>", "</my:call>")])
    assert clean_answer(gate, f"It rains. <my:call>{CALL}</my:call>") == ("It rains.", 1)
    assert clean_answer(gate, "It rains.</my:call>") == ("It rains.", 0)


def test_cleaning_counts_no_call_and_tells_of_none() -> None:
    events: list[object] = []
    gate = Gate(TOOLS, on_event=events.append)
    assert clean_answer(gate, '<tool_call>{"name": "nobody", "arguments": {}}</tool_call>') == ("", 1)
    assert (events, gate.stats(), dict(gate.counters)) == ([], Gate(TOOLS).stats(), dict(Gate(TOOLS).counters))


def test_of_an_answer_with_more_markers_than_anybody_reads_the_rest_is_not_shown() -> None:
    text = "a<|im_end|>" * 1200
    assert clean_answer(GATE, text)[0] == in_pieces(text, 7) == "a" * 1001 + "..."


def test_prose_is_told_as_it_comes() -> None:
    cleaner = Cleaner(GATE)
    pieces = [cleaner.push(piece) for piece in ("It rains ", "in ", "Oslo", ", 4 < 5", " degrees.")]
    assert pieces == ["It rains ", "in ", "Oslo", ", 4 < 5", " degrees."]
    assert [cleaner.push(piece) for piece in (" Run `ls", "`", " or", " not.")] == [" Run ", "", "`ls` or", " not."]


@pytest.mark.promise("R-06")
def test_reasoning_that_the_prompt_opened_is_not_shown_and_an_answer_without_any_is() -> None:
    gate = Gate(reasoning="open")
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    for text, shown in ((f"Hm, {call}.</think>\nIt rains.", "It rains."), ("It rains.", "It rains.")):
        cleaner = Cleaner(gate)
        pieces = "".join(cleaner.push(char) for char in text) + cleaner.close()
        assert pieces.strip() == clean_answer(gate, text)[0] == shown
