"""Hostile emissions in the small: an answer in time, nothing raised, no fault of our own, and time that grows with the
size and no faster. `make hostile` does this at full size."""

from random import Random

import pytest

from rightcall import Gate
from support.every import every, numbers
from support.fuzzing.cases import cut_emission, read_call
from support.hostile.emissions import EMISSIONS
from support.hostile.kinds import BYTES_PER_SECOND, Kind, gate, judge_read, judge_stream
from support.pace import process_time
from support.recover.streaming import faults

SMALL = 8_000
QUADRATIC = 16
"""What four times the size costs when the time grows with its square; 4 is what it should cost."""

every_kind = every("kind", EMISSIONS, ids=lambda kind: kind.name, parts=16)


@pytest.mark.promise("R-10")
@every_kind
def test_a_hostile_emission_is_read_in_time_and_nothing_escapes(kind: Kind) -> None:
    assert judge_read(kind, SMALL // 2).complaints == []
    assert judge_stream(kind, SMALL // 8).complaints == []


def read_time(text: str) -> float:
    start = process_time()
    gate(True).read(text)
    return process_time() - start


def is_quadratic(kind: Kind, size: int) -> bool:
    """Whether four times the size takes far more than four times as long, three times in a row."""
    large, small = kind.make(4 * size), kind.make(size)
    at_once = 10 * len(large) / BYTES_PER_SECOND
    for _ in range(3):
        taken = read_time(large)
        if taken < at_once or taken < QUADRATIC * 0.6 * read_time(small):
            return False
    return True


@pytest.mark.long
@pytest.mark.promise("R-10")
@every_kind
def test_the_time_to_read_grows_with_the_size_and_no_faster(kind: Kind) -> None:
    """At two scales: where a text is nested too deep, it is read another way, and the time makes one step."""
    with faults():
        assert not (is_quadratic(kind, SMALL) and is_quadratic(kind, 4 * SMALL))


@pytest.mark.promise("R-10")
def test_no_more_than_a_thousand_calls_are_taken_from_one_message() -> None:
    call = '<tool_call>{"name": "note", "arguments": {"text": "x"}}</tool_call>'
    with faults():
        reading = gate(True).read(call * 1200)
    assert len(reading.calls) == 1000
    assert "too_many" in [note.code for note in reading.notes]
    assert reading.text.count("<tool_call>") == 200


@pytest.mark.promise("R-10")
@pytest.mark.parametrize("limit", [None, 2000])
def test_a_call_longer_than_the_limit_is_refused_and_the_limit_can_be_set(limit: int | None) -> None:
    policy = {"gate": {"max_text": limit}} if limit else None
    size = (limit or 1_000_000) + 5000
    text = '<tool_call>{"name": "note", "arguments": {"text": "' + "x" * size + '"}}</tool_call> Done.'
    with faults():
        (verdict,) = Gate(gate(True).catalog.tools.values(), policy=policy).read(text).calls
    assert not verdict.ok
    assert [problem.code for problem in verdict.problems] == ["too_large"]


@pytest.mark.promise("R-08", "R-09", "R-10")
@numbers(100, 400)
def test_random_emissions_break_no_promise(numbers: range) -> None:
    """The same that `make fuzz` does for as long as one likes."""
    for number in numbers:
        text, complaints = read_call(Random(number))
        assert complaints == [], text


@pytest.mark.promise("R-08")
@numbers(40, 150)
def test_a_call_cut_off_inside_a_value_is_never_ok(numbers: range) -> None:
    for number in numbers:
        text, complaints = cut_emission(Random(number))
        assert complaints == [], text
