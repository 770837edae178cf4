"""Reasoning and what follows it: nothing in closed reasoning reaches over its end, and where the prompt has opened it
(`reasoning="open"`), nothing before its closing tag counts (R-06, R-09)."""

import logging
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given

from rightcall import ConfigError, Gate, load_policy
from rightcall.gate.recover.machine import REASONING, builtin_formats
from support.every import numbers
from support.recover.soup import TOOLS as SOUP_TOOLS
from support.recover.soup import pieces, random_soup, soup
from support.recover.streaming import differences, streamed, whole

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [{"name": name, "parameters": SCHEMA} for name in ("get_weather", "get_time", "set_alarm")]
AUTO = (Gate(TOOLS), Gate())
OPEN = (Gate(TOOLS, reasoning="open"), Gate(reasoning="open"))
FORMATS = [one for one in builtin_formats() if "get_weather" in one.example]
CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Bern"}}</tool_call>'
DAMAGE = (
    "", "```", '```json\n{"a": ', "~~~\n",
    "[", "{", '{"', '("', '"""', "'''", '#"', "`", '"', 'say "', "> ", "# a\n# b\n# c\n",
    "Final Answer: x", "<|channel|>final<|message|>hi", "Action: get_weather\nAction Input: ", "Example: ",
    "User: x\nAssistant: y\n", "{% for %}", "<tool_call>", "[TOOL_CALLS]", "<|python_tag|>import os", ">>>python\nx",
    "<function=get_weather><parameter=city>", '<|tool_call>call:get_weather{city:<|"|>Be',
    '<tool_call>{"name": "get_weather", "arguments": {"city": "</', "[get_weather(city=", CALL, f"{CALL}\n{CALL}",
)  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def found(reading: Any) -> list[Any]:
    return [(one.ok, one.found and (one.found.name, one.found.arguments)) for one in reading.calls]


def real(example: str) -> str:
    """The example of a format, as a call that nothing in the reasoning can be taken for."""
    return example.replace("get_weather", "set_alarm").replace("get_time", "set_alarm")


def damaged(random: Random) -> Iterator[str]:
    """What may stand in reasoning: a call that is whole, cut off or torn, and what else opens and never closes."""
    example = random.choice(FORMATS).example
    yield example[: random.randrange(1, len(example))]
    yield random.choice((example.replace('"', "'", 1), example.replace("Bern", 'Be\nrn " x'), example.rstrip("]}>)|")))
    yield random.choice(DAMAGE)


@pytest.mark.promise("R-06", "R-09")
@pytest.mark.parametrize("known", [True, False])
def test_the_call_after_closed_reasoning_is_found_whatever_the_reasoning_holds(known: bool) -> None:
    gate, random = AUTO[not known], Random(1)
    for format_ in FORMATS:
        call = real(format_.example)
        alone = found(gate.read(call))
        for tag, close in REASONING.items():
            for inside in damaged(random):
                text = (
                    f"{tag}Well, {inside}{random.choice(('', ' ', chr(10)))}{close}{random.choice(('', chr(10)))}{call}"
                )
                assert found(gate.read(text)) == alone, text


@pytest.mark.promise("R-06", "R-09")
def test_what_opens_in_reasoning_does_not_hide_the_call_behind_its_end_in_any_pieces() -> None:
    for nth, inside in enumerate(DAMAGE):
        call = real(FORMATS[nth % len(FORMATS)].example)
        for gate in (AUTO[0], OPEN[0]):
            for text in (f"<think>{inside}</think>{call}", f"<think>\nHm. {inside}\n</think>\n\n{call}"):
                assert found(gate.read(text)) == found(gate.read(call)), text
                assert differences(gate, text, nth, 1) == []


@pytest.mark.promise("R-06", "R-09")
@pytest.mark.parametrize("known", [True, False])
def test_with_open_reasoning_calls_before_the_closing_tag_do_not_count(known: bool) -> None:
    gate, auto, random = OPEN[not known], AUTO[not known], Random(2)
    for nth, format_ in enumerate(FORMATS):
        call = real(format_.example)
        alone = found(auto.read(call))
        for close in REASONING.values():
            for inside in damaged(random):
                text = f"{random.choice(('', 'Well, '))}{inside}{close}{random.choice(('', chr(10)))}{call}"
                reading = gate.read(text)
                assert found(reading) == alone, text
                assert reading.text.startswith(text[: text.index(close) + len(close)]), "reasoning stays in the text"
        assert differences(gate, f"{format_.example}</think>{call}", nth, 1) == []


@pytest.mark.promise("R-06", "R-09")
def test_with_open_reasoning_a_stream_shows_the_reasoning_at_once_and_holds_back_its_calls() -> None:
    feed = OPEN[0].stream()
    assert feed.push("I could look. ") == ["I could look. "]
    assert feed.push(f"{CALL} Or not.") == []
    assert "".join(map(str, feed.push(" </think>"))) == f"{CALL} Or not. </think>"
    (verdict,) = [one for one in (*feed.push(CALL), *feed.close()) if not isinstance(one, str)]
    assert verdict.ok


@pytest.mark.promise("R-06")
def test_without_a_closing_tag_everything_is_read_as_ever() -> None:
    for opened, auto in zip(OPEN, AUTO, strict=True):
        for number in range(120):
            text = random_soup(Random(number))
            if not any(word in text for pair in REASONING.items() for word in pair):
                assert whole(opened, text) == whole(auto, text), text
        for format_ in FORMATS:
            assert whole(opened, format_.example) == whole(auto, format_.example)


@pytest.mark.promise("R-06", "R-08", "R-09")
def test_what_the_token_limit_cut_off_inside_of_open_reasoning_is_no_call() -> None:
    text = f"I could do this: {CALL} or that: {CALL} but"
    reading = whole(OPEN[0], text, "length")
    assert (reading.calls, reading.text, [note.code for note in reading.notes]) == ((), text, ["reasoning"] * 2)
    for chunks in (list(text), pieces(text, Random(3))):
        assert streamed(OPEN[0], chunks, "length") == reading
    assert len(OPEN[0].read(text).calls) == len(AUTO[0].read(text, "length").calls) == 2


@pytest.mark.promise("R-06")
def test_only_a_known_tag_closes_and_only_once() -> None:
    for text in (f"{CALL}</thought>{CALL}", f"{CALL}</think>{CALL}"):
        assert len(OPEN[0].read(text).calls) == 1
    assert len(OPEN[0].read(f"{CALL}</nothing>{CALL}").calls) == 2
    assert len(OPEN[0].read(f"a</think>{CALL} b</think>{CALL}").calls) == 2


@pytest.mark.promise("R-06")
def test_without_the_setting_a_lone_tag_changes_nothing() -> None:
    for word in (None, "auto", "closed"):
        assert len(Gate(TOOLS, reasoning=word).read(f"Hm. {CALL}</think>{CALL}").calls) == 2


@pytest.mark.promise("R-02", "R-06")
def test_a_native_message_begins_in_reasoning_once() -> None:
    native = {"type": "tool_use", "id": "c", "name": "get_time", "input": {"city": "Bern"}}
    blocks = [{"type": "text", "text": f"Hm. {CALL}</think>Now."}, native, {"type": "text", "text": f"{CALL}</think>"}]
    names = [one.call.name for one in OPEN[0].read({"role": "assistant", "content": blocks}).calls if one.call]
    assert names == ["get_time", "get_weather"]
    apart = {"role": "assistant", "reasoning_content": f"Hm. {CALL}", "content": CALL}
    assert len(OPEN[0].read(apart).calls) == 1


@pytest.mark.promise("R-09", "R-10")
@given(text=soup)
def test_any_pieces_give_what_the_whole_gives(text: str) -> None:
    for gate in (Gate(SOUP_TOOLS, reasoning="open"), OPEN[1]):
        assert differences(gate, text, chunkings=1) == []


@pytest.mark.promise("R-09", "R-10")
@numbers(50, 200)
def test_seeded_texts_give_the_same_in_any_pieces(numbers: range) -> None:
    gate = Gate(SOUP_TOOLS, reasoning="open")
    for number in numbers:
        text = (
            random_soup(Random(number))
            + Random(number).choice(tuple(REASONING.values()))
            + random_soup(Random(-number))
        )
        assert differences(gate, text, number, 1) == [], text


# ── who says so ──────────────────────────────────────────────────────────────────────────────────────────────────────

POLICY = {
    "gate": {
        "reasoning": "closed",
        "providers": {"Vllm": {"reasoning": "open"}, "anthropic": {"reasoning": "auto"}},
        "models": {"deepseek-*": {"reasoning": "auto"}, "DeepSeek-R1*": {"reasoning": "open"},
                   "deepseek-r1:70b": {"reasoning": "closed"}},
    }
}  # fmt: skip


@pytest.mark.promise("P-09")
@pytest.mark.parametrize(
    ("provider", "model", "word"),
    [
        (None, None, "closed"), ("ollama", "llama3", "closed"), ("vllm", None, "open"), ("VLLM", "llama3", "open"),
        ("vllm", "deepseek-v3", "auto"), ("ollama", "DEEPSEEK-R1:7b", "open"), ("vllm", "deepseek-r1:70b", "closed"),
    ],
)  # fmt: skip
def test_the_models_word_comes_first_then_the_providers_then_the_gates(
    provider: str | None, model: str | None, word: str
) -> None:
    assert load_policy(POLICY).reasoning_for(provider, model) == word
    assert Gate(policy=POLICY, provider=provider, model=model).reasoning == word
    assert Gate(policy=POLICY, provider=provider, model=model, reasoning="open").reasoning == "open"


@pytest.mark.promise("N-15")
def test_a_word_on_reasoning_says_nothing_of_repairs() -> None:
    assert not load_policy(POLICY).for_provider("anthropic").enabled
    assert load_policy(POLICY).for_provider("vllm").enabled


def test_a_wrong_word_is_an_error() -> None:
    with pytest.raises(ConfigError, match="invalid `reasoning` 'opened': expected one of auto, open, closed"):
        Gate(reasoning="opened")  # type: ignore[arg-type]
    for wrong in (
        {"reasoning": "opened"},
        {"models": {"m": {"reasonin": "open"}}},
        {"models": {" ": {}}},
        {"models": []},
    ):
        with pytest.raises(ConfigError):
            load_policy({"gate": wrong})
