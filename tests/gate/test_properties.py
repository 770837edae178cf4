"""What holds for all calls: never raises, never invents, a second pass changes nothing, what was right is identical."""

import logging
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall import Gate, Unreadable, loads
from support.fuzzing.cases import PACKS, case, lenient_call, pack_call
from support.fuzzing.invariants import any_call, cut_call, faithful, right_call, wild
from support.fuzzing.tools import a_tool, a_value

randoms = st.randoms(use_true_random=False)


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    """Every refusal is a log line, and a failed test would show thousands."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


def a_call(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    tool = a_tool(random)
    return tool, a_value(random, tool["parameters"])


@pytest.mark.promise("N-01")
@given(randoms)
def test_a_right_call_comes_back_as_the_same_object(random: Random) -> None:
    tool, value = a_call(random)
    assert right_call(tool, value, random) == []


@pytest.mark.promise("N-13")
@given(randoms)
def test_damage_that_leaves_no_doubt_is_undone_or_refused(random: Random) -> None:
    tool, value = a_call(random)
    name, damaged = faithful(tool, value, random)
    assert any_call(tool, damaged) == [], (name, damaged.emission, value)


@pytest.mark.promise("N-13")
@given(randoms)
def test_a_text_cut_off_inside_a_value_is_never_completed(random: Random) -> None:
    tool, value = a_call(random)
    text, found = cut_call(tool, value, random)
    assert found == [], text


@pytest.mark.promise("N-13", "N-17")
@given(randoms)
def test_wild_damage_never_raises_invents_or_is_accepted_unfit(random: Random) -> None:
    tool, value = a_call(random)
    damaged = wild(value, random)
    assert any_call(tool, damaged) == [], damaged.emission


@pytest.mark.promise("V-04")
@given(randoms)
def test_warn_lets_every_call_run_and_observe_changes_nothing(random: Random) -> None:
    tool, value = a_call(random)
    emission = random.choice((wild(value, random), faithful(tool, value, random)[1])).emission
    assert lenient_call(tool, emission, random) == [], emission


@pytest.fixture(scope="module", params=PACKS)
def packed(request: pytest.FixtureRequest) -> Gate:
    return Gate(packs=[request.param])


@pytest.mark.promise("V-08")
@given(randoms)
def test_whatever_is_sent_to_the_tools_of_a_pack_is_answered_and_settled_at_once(packed: Gate, random: Random) -> None:
    emission, found = pack_call(packed, random)
    assert found == [], emission


@pytest.mark.promise("N-01", "N-13", "N-17")
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 10))])
def test_two_thousand_random_calls_break_no_promise(seed: int) -> None:
    """Plain chance finds other things than hypothesis does; `make fuzz` goes on with it for as long as you like."""
    found = [finding for number in range(200) if (finding := case(f"suite-{seed}", number)[1])]
    assert [(one.sort, one.number, one.emission, one.complaints) for one in found] == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.text() | st.binary().map(lambda raw: raw.decode("latin-1")))
def test_the_reader_raises_nothing_but_unreadable(text: str) -> None:
    try:
        parsed = loads(text)
    except Unreadable:
        return
    assert 0 <= parsed.confidence <= 1


@given(randoms, st.dictionaries(st.text(), JSON, max_size=5) | JSON)
def test_the_gate_answers_whatever_the_arguments_are(random: Random, arguments: object) -> None:
    verdict = Gate([a_tool(random)]).check("do_it", arguments)
    assert verdict.ok or verdict.hint
    assert [problem for problem in verdict.problems if problem.code == "fault"] == []


@given(st.dictionaries(st.text(), st.text(), max_size=5), st.text())
def test_a_gate_without_tools_leaves_well_formed_arguments_as_they_are(arguments: dict[str, str], name: str) -> None:
    verdict = Gate().check(name or "tool", arguments)
    assert verdict.call is None or verdict.call.arguments is arguments
