"""Who may teach: at least two callers in two contexts, each counted a few times, and no made-up ones."""

import pytest

from rightcall.learn import evidence
from rightcall.learn.evidence import matched
from support.every import every
from support.lessons import corrected, headlines, only, rules, taught, working

PEOPLE = working("ann", "bob", "cyd")


@pytest.mark.promise("L-03")
def test_one_caller_alone_cannot_teach() -> None:
    learned = taught(PEOPLE + headlines(("mallory", f"c{number}") for number in range(600)))
    assert rules(learned) == []
    one = only(learned, "alias")
    assert one.refused == "all of it comes from one source"
    assert (one.seen, one.counted, one.sources) == (600, 5, 0)


@pytest.mark.promise("L-03")
def test_one_caller_that_works_as_well_is_one_source() -> None:
    learned = taught(working("mallory", "ann", "bob") + headlines(("mallory", f"c{number}") for number in range(400)))
    assert only(learned, "alias").sources == 1
    assert rules(learned) == []


@pytest.mark.promise("L-03")
def test_one_context_alone_cannot_teach() -> None:
    callers = [f"user-{number}" for number in range(60)]
    learned = taught(working(*callers) + headlines((caller, "room") for caller in callers))
    assert only(learned, "alias").sources == 1
    assert rules(learned) == []


@pytest.mark.promise("L-03")
def test_made_up_callers_are_no_sources() -> None:
    learned = taught(PEOPLE + headlines((f"made-up-{number}", f"c{number}") for number in range(400)))
    one = only(learned, "alias")
    assert (one.sources, one.refused) == (0, "all of it comes from one source")
    assert one.made_up == 400
    assert rules(learned) == []


@pytest.mark.promise("L-03")
def test_many_made_up_callers_are_one_source_where_nobody_else_is() -> None:
    learned = taught(headlines((f"made-up-{number}", f"c{number}") for number in range(400)))
    assert only(learned, "alias").sources == 1
    assert rules(learned) == []


def test_two_callers_in_two_contexts_are_enough() -> None:
    learned = taught(headlines([("ann", "1"), ("bob", "2"), ("ann", "3")]))
    assert rules(learned) == [("alias", "subject", "cargo", "subject")]


def test_one_caller_can_neither_outvote_others_nor_be_ignored() -> None:
    honest = headlines((caller, f"{caller}{at}") for caller in ("ann", "bob", "cyd", "dan") for at in range(5))
    loud = headlines((("ann", f"x{at}") for at in range(300)), "cargo", "folder")
    learned = taught(PEOPLE + working("dan") + honest + loud)
    assert rules(learned) == []  # a word that means two things is left alone


@every(
    ("pairs", "sources"),
    [
        ([], 0),
        ([("a", "1"), ("a", "2"), ("a", "3")], 1),
        ([("a", "1"), ("b", "1"), ("c", "1")], 1),
        ([("a", "1"), ("a", "2"), ("b", "2")], 2),
        ([("a", "1"), ("b", "1"), ("b", "2"), ("c", "2")], 2),
        ([(str(at), str(at)) for at in range(100)], 20),
    ],
)
def test_sources_differ_in_caller_and_context(pairs: list[tuple[str, str]], sources: int) -> None:
    assert matched(pairs) == sources


def test_a_flood_of_clues_by_one_caller_leaves_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_MOST_OF_CALLER", 20)
    monkeypatch.setattr(evidence, "_MOST_CLUES", 30)
    flood = []
    for number in range(60):
        right = {"subject": f"s{number}", "folder": "b", "urgency": "low"}
        wrong = {f"w{number}x": f"s{number}", "folder": "b", "urgency": "low"}
        flood += corrected("mallory", f"f{number}", wrong, right)
    learned = taught(flood + PEOPLE + headlines([("ann", "1"), ("bob", "2"), ("cyd", "3")]))
    assert rules(learned) == [("alias", "subject", "cargo", "subject")]
    assert learned.left_out > 0
