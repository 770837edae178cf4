"""Which of the tools is the right one, and how sure that is: T-03."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rightcall import Router
from rightcall.catalog.packs import load_pack
from rightcall.router.lexical import ToolText
from rightcall.router.packets import shipped_examples
from rightcall.router.ranking import FEW, Linear, Ranker, own_voices, relate_rows, score_rows
from support.decisions import CALLS, ODD_TEXTS, ODD_TOOLS, TOOLS, WEATHER
from support.every import every

pytestmark = pytest.mark.promise("T-03")

REQUEST = "What is the weather forecast for Oslo?"
OTHERS = [ToolText(f"reset_device_{n}", f"Resets device number {n}.") for n in range(300)]


@pytest.fixture
def ranker() -> Ranker:
    return Ranker()


@pytest.mark.parametrize("text", CALLS)
def test_a_tool_whose_job_is_asked_for_is_first_by_far(ranker: Ranker, text: str) -> None:
    first, second, *_ = ranker.rank(text, TOOLS, 6)
    assert first.name == CALLS[text]
    assert first.confidence > 0.8 > 0.2 > second.confidence
    assert first.score > second.score
    assert first.why


@pytest.mark.parametrize("text", [*CALLS, "My cat sleeps.", ""])
def test_all_confidences_together_are_no_more_than_one(ranker: Ranker, text: str) -> None:
    found = ranker.rank(text, TOOLS, len(TOOLS))
    assert sum(one.confidence for one in found) <= 1.001
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert {one.name for one in found} == {one.name for one in TOOLS}


def test_two_tools_that_are_nearly_the_same_share_the_confidence(ranker: Ranker) -> None:
    twin = ToolText("weather_get", WEATHER.description, WEATHER.parameters)
    alone, *_ = ranker.rank(REQUEST, TOOLS, 1)
    first, second, third = ranker.rank(REQUEST, [*TOOLS, twin], 3)
    assert {first.name, second.name} == {"get_weather", "weather_get"}
    assert first.confidence < alone.confidence - 0.1
    assert second.confidence > third.confidence


def test_a_request_that_fits_nothing_is_not_sure_of_any(ranker: Ranker) -> None:
    assert ranker.rank("xyzzy", TOOLS, 1)[0].confidence < 0.9
    assert ranker.rank("", TOOLS, 1)[0].confidence < 0.7


def test_the_only_tool_is_the_likeliest(ranker: Ranker) -> None:
    (one,) = ranker.rank("anything", [WEATHER], 5)
    assert (one.name, one.confidence) == ("get_weather", 1.0)
    assert ranker.rank("anything", [], 5) == []


def test_a_tool_of_the_same_name_is_read_anew(ranker: Ranker) -> None:
    before = ranker.rank("count my sheep", TOOLS, 1)[0]
    changed = [ToolText("get_weather", "Counts sheep."), *TOOLS[1:]]
    after = ranker.rank("count my sheep", changed, 1)[0]
    assert after.name == "get_weather"
    assert after.score > before.score


@every("text", CALLS)
def test_the_router_finds_them_among_hundreds_with_less_than_certainty(text: str) -> None:
    found = Router([*OTHERS, *TOOLS]).candidates(text)
    assert found[0].name == CALLS[text]
    assert 0.5 < found[0].confidence <= 0.97  # the index may have missed the right one
    assert len(found) == 5


def test_more_candidates_than_are_compared_can_be_asked_for() -> None:
    assert len(Router([*OTHERS, *TOOLS]).candidates(REQUEST, FEW + 5)) == FEW + 5


@pytest.mark.long
def test_ten_thousand_tools_are_no_hindrance() -> None:
    many = [ToolText(f"tool_{n}") for n in range(10_000)]
    router = Router([*many, WEATHER])
    assert router.candidates(REQUEST)[0].name == "get_weather"
    assert router.needs_tool(REQUEST).answer == "call"


def test_nothing_odd_raises(ranker: Ranker) -> None:
    for text in ODD_TEXTS:
        found = ranker.rank(text, [*ODD_TOOLS, WEATHER], 20)
        assert len(found) == len(ODD_TOOLS) + 1
        assert all(0.0 <= one.confidence <= 1.0 for one in found)


NUMBERS = st.sampled_from((-1.0, 0.0, 0.25, 0.5, 1.0, 7.0))


@settings(max_examples=30)
@given(
    rows=st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=5),
    weights=st.lists(NUMBERS, min_size=6, max_size=6),
)
def test_the_short_cut_is_the_sum_over_related_rows(rows: list[tuple[float, ...]], weights: list[float]) -> None:
    linear = Linear(weights, 0.5)
    assert score_rows(linear, rows) == pytest.approx([linear.score(row) for row in relate_rows(rows)])


def test_related_numbers_are_against_the_mean_and_the_best_of_the_others() -> None:
    assert relate_rows([[1.0], [4.0], [4.0]]) == [[-2.0, -3.0], [1.0, 0.0], [1.0, 0.0]]
    assert relate_rows([[1.0, 5.0]]) == [[0.0] * 4]


OWN = tuple(
    ToolText(tool.name, tool.description, tool.schema or {}, shipped_examples().get(tool.name, ()))
    for tool in load_pack("code").tools
)


@every(
    ("text", "name"),
    [
        ("whats inside pyproject.toml", "code/read"),
        ("is parse_rate still called from anywhere?", "code/search"),
        ("which folder do the helm charts live in", "code/list"),
        ("anything I haven't committed in api/views.py?", "code/diff"),
        ("what has Maria been committing since Monday", "code/log"),
        ("whose is line 88 of core/retry.rs", "code/blame"),
        ("what did 7fe21ab do to the parser", "code/show"),
    ],
)
def test_it_is_known_how_people_ask_for_our_own_tools(text: str, name: str) -> None:
    assert Ranker().rank(text, OWN, 3)[0].name == name


def test_another_tool_of_the_same_name_is_found_by_its_own_words() -> None:
    others = [replace(tool, examples=()) for tool in OWN]
    assert all(Ranker().know(tool).voice is None for tool in others)
    assert all(Ranker().know(tool).voice for tool in OWN if tool.name in own_voices())


def test_no_other_tool_loses_its_place_to_ours() -> None:
    theirs = ToolText("jira/search", "Find issues of the tracker by text, assignee or state.", {})
    alone = Ranker().rank("which tracker issues are assigned to me", (*OWN, theirs), 1)
    assert alone[0].name == "jira/search"
