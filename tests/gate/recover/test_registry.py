"""The registry: every format's example is read, names are unique, and a user's own format is one line."""

import re
from collections.abc import Iterator

import pytest

import rightcall
from rightcall import Gate
from rightcall.gate.recover.machine import REASONING, builtin_formats, scanner_for
from rightcall.gate.recover.section import tagged
from rightcall.gate.recover.window import Format, Steps, Take, Window, find
from support.every import every
from support.recover.soup import TOOLS
from support.recover.streaming import differences, faults

WITHOUT_A_CALL = {"final_answer", "hallucinated"}
FORMATS = [one for one in builtin_formats() if one.name not in WITHOUT_A_CALL]
BERN = ("get_weather", {"city": "Bern"})
CALL = '{"name": "get_weather", "arguments": {"city": "Bern"}}'


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with faults():
        yield


def found(gate: Gate, text: str) -> list[tuple[str, object] | None]:
    return [verdict.found and (verdict.found.name, verdict.found.arguments) for verdict in gate.read(text).calls]


@pytest.mark.promise("R-01")
@every("one", FORMATS, ids=lambda one: one.name)
def test_the_example_of_a_format_is_a_call_with_and_without_tools(one: Format) -> None:
    assert found(Gate(TOOLS), one.example)[0] == BERN
    assert found(Gate(), one.example)[0] == BERN


@pytest.mark.promise("R-01")
@every("one", FORMATS, ids=lambda one: one.name)
def test_a_place_names_the_format_it_was_found_in(one: Format) -> None:
    assert Gate(TOOLS).read(one.example).places[0].format == one.name


@pytest.mark.promise("R-01")
def test_names_are_unique_and_every_format_says_what_it_is() -> None:
    names = [one.name for one in builtin_formats()]
    assert len(names) == len(set(names)) >= 40
    for one in builtin_formats():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", one.name)
        assert one.example
        assert one.opens
        assert all(word in one.example for word in one.opens[:1]) or any(word in one.example for word in one.opens)


@pytest.mark.promise("R-06")
def test_no_two_kinds_of_reasoning_close_each_other() -> None:
    assert len(set(REASONING.values())) == len(REASONING)
    assert not set(REASONING) & set(REASONING.values())


@pytest.mark.promise("R-01")
@pytest.mark.parametrize(
    "body",
    [
        CALL,
        f"[{CALL}]",
        'get_weather(city="Bern")',
        "<function=get_weather><parameter=city>Bern</parameter></function>",
    ],
    ids=["JSON", "a list", "Python", "tags"],
)
def test_a_format_of_ones_own_is_one_line(body: str) -> None:
    gate = Gate(TOOLS, formats=[rightcall.tagged("mine", "<<", ">>")])
    text = f"Well. <<{body}>> Done."
    reading = gate.read(text)
    assert found(gate, text) == [BERN]
    assert reading.text == "Well.  Done."
    assert [place.format for place in reading.places] == ["mine"]
    assert differences(gate, text) == []
    assert found(Gate(TOOLS, formats=[tagged("mine", "<<", ">>")]), f"<tool_call>{CALL}</tool_call>") == [BERN]


@pytest.mark.promise("R-04", "R-06")
def test_a_format_of_ones_own_tolerates_and_refrains_as_the_others_do() -> None:
    gate = Gate(TOOLS, formats=[tagged("mine", "@@call", "@@end")])
    assert found(gate, f"@@call{CALL}") == [BERN]
    assert found(gate, f"{CALL}@@end") == [BERN]
    assert found(gate, f"`@@call{CALL}@@end`") == []
    assert found(gate, f"<think>@@call{CALL}@@end</think>") == []
    assert found(Gate(TOOLS), "@@call get_weather @@end") == []


def arrows(window: Window, start: int, at: int) -> Steps:
    """`→ get_weather city=Bern ←`"""
    end = yield from find(window, "←", at, 200)
    if end < 0:
        return -1
    name, *pairs = window.text[at:end].split()
    yield Take(start, end + 1, name, dict(pair.split("=", 1) for pair in pairs))
    return end + 1


@pytest.mark.promise("R-01", "R-09")
def test_a_format_with_a_reader_of_its_own_works_whole_and_in_pieces() -> None:
    mine = Format("arrows", "arrows", ("→",), arrows, "→ get_weather city=Bern ←")
    gate = Gate(TOOLS, formats=[mine])
    text = f"Go: {mine.example} and {mine.example}, then → nothing"
    assert found(gate, text) == [BERN, BERN]
    assert gate.read(text).text == "Go:  and , then → nothing"
    assert differences(gate, text) == []


@pytest.mark.promise("R-10")
def test_a_reader_that_fails_loses_nothing() -> None:
    def broken(window: Window, start: int, at: int) -> Steps:
        raise RuntimeError("broken")
        yield

    gate = Gate(TOOLS, formats=[Format("broken", "", ("→",), broken, "→")])
    text = f"a → b <tool_call>{CALL}</tool_call>"
    with faults() as errors:
        assert found(gate, text) == [BERN]
        assert gate.read(text).text == "a → b "
    assert len(errors) == 2


def test_one_scanner_serves_all_gates_with_the_same_formats() -> None:
    assert scanner_for() is scanner_for()
