"""What is and what is not a call, case by case: whole, character by character, and in random pieces.

A case has `text`, the `calls` as they stood there, `ok` for every verdict (also those that hold no call), and where it
matters the prose that is `left` (`squeezed`: but for white space at its ends), the codes of the `notes`, which calls
are `truncated`, the `format` they were found in, and whether the hint `names_tools`. `xfail` is a defect that is known.
"""

import json
import logging
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import pytest

from cases import HERE, Case, cases, exact
from rightcall import Gate
from support.every import every
from support.recover.soup import pieces
from support.recover.streaming import parameters, streamed, whole

FILES = (
    "recover_formats.jsonl", "recover_envelopes.jsonl", "recover_damage.jsonl", "recover_quoting.jsonl",
    "recover_reasoning.jsonl", "recover_truncated.jsonl", "recover_hallucinated.jsonl", "recover_none.jsonl",
)  # fmt: skip
SEED = 7


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    """Every refusal is a log line, and a failed test would show hundreds."""
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@cache
def gate(tools: str) -> Gate:
    return Gate(json.loads((HERE / "recover_tools.json").read_text(encoding="utf-8"))[tools])


def gate_of(case: Case) -> Gate:
    return gate(case.get("tools", "weather"))


@pytest.mark.promise("R-09")
@every("case", parameters(*FILES), parts=6)
def test_a_case_is_read_as_it_says_whole_and_in_any_pieces(case: Case) -> None:
    gate, text, finish = gate_of(case), case["text"], case.get("finish")
    reading = whole(gate, text, finish)
    found = [[verdict.found.name, verdict.found.arguments] for verdict in reading.calls if verdict.found]
    assert exact(found) == exact(case["calls"])
    assert [verdict.ok for verdict in reading.calls] == case["ok"]
    assert [verdict.truncated for verdict in reading.calls] == case.get("truncated", [False] * len(reading.calls))
    assert_said(case, reading)
    random = Random(SEED)
    for chunks in (list(text), pieces(text, random), pieces(text, random)):
        assert streamed(gate, chunks, finish) == reading, chunks


def assert_said(case: Case, reading: Any) -> None:
    """The prose, the notes, the places and the hints, as far as the case speaks of them."""
    if "left" in case:
        assert reading.text == case["left"]
    if "squeezed" in case:
        assert reading.text.strip() == case["squeezed"]
    if "notes" in case:
        assert [note.code for note in reading.notes] == case["notes"]
    if "format" in case:
        assert {place.format for place in reading.places} == {case["format"]}
    if "names_tools" in case:
        hints = [verdict.hint or "" for verdict in reading.calls if not verdict.ok]
        assert all(name in hint for hint in hints for name in gate_of(case).catalog.names)


@pytest.mark.promise("R-06")
def test_text_without_a_verdict_comes_back_unchanged() -> None:
    without = [case for name in FILES for case in cases(name) if not case["ok"] and "xfail" not in case]
    assert len(without) > 100
    for case in without:
        assert gate_of(case).read(case["text"]).text == case["text"]


@pytest.mark.promise("R-05")
def test_the_calls_and_the_prose_share_no_character() -> None:
    """But for markers that close: no character of a call is prose, and no prose is made up or out of order."""
    for case in cases("recover_formats.jsonl"):
        reading, outside, at = gate_of(case).read(case["text"]), "", 0
        for place in reading.places:
            assert at <= place.start < place.end <= len(case["text"])
            outside += case["text"][at : place.start]
            at = place.end
        rest = iter(outside + case["text"][at:])
        assert all(char in rest for char in reading.text)


def ends_by_itself(case: Case) -> bool:
    """Not so a text that is cut off, and plain text that is all one argument."""
    return bool(case["ok"]) and not {"xfail", "truncated", "finish", "open_ended"} & case.keys()


@pytest.mark.promise("R-06")
@every("case", [case for case in parameters(*FILES) if ends_by_itself(case.values[0])], parts=3)
def test_what_follows_a_call_does_not_change_what_was_found(case: Case) -> None:
    """The decision depends only on the text up to the end of the call."""
    gate, text = gate_of(case), case["text"]
    alone = [verdict.found for verdict in gate.read(text).calls]
    for tail in ("\n\nThat was an example.", "\n\n```\ncode\n```", '\n\n"quoted" and `so on`\n'):
        assert [verdict.found for verdict in gate.read(text + tail).calls] == alone, tail


def test_there_are_enough_cases_and_each_is_there_once() -> None:
    texts = [(case["text"], case.get("tools"), case.get("finish")) for name in FILES for case in cases(name)]
    assert len(texts) >= 250
    assert len(texts) - len(set(texts)) < 12  # the same emission may prove two things
