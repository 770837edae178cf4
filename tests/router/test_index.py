"""Finding tools: T-03."""

import re
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.router.lexical import Lexicon, ToolText, read_request
from rightcall.router.toolset import Hit, ToolIndex
from support.every import every

pytestmark = pytest.mark.promise("T-03")


def schema(**arguments: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": text} for name, text in arguments.items()},
    }


TOOLS = [
    ToolText("get_weather", "The forecast for a city.", schema(city="Where to look.", days="How many days.")),
    ToolText("bookHotelRoom", "Reserves a room in a hotel.", schema(guest="Family name.", nights="How long.")),
    ToolText("convert.currency", "Changes an amount of money.", schema(amount="How much.", to="The currency wanted.")),
    ToolText("play_music", "Plays a song or an album.", schema(artist="Who sings.")),
    ToolText("sendMail", "Sends a message to somebody.", schema(recipient="Whom it goes to.", subject="Its headline.")),
]
REQUESTS = {
    "Will there be rain in Oslo, what does the forecast say?": "get_weather",
    "I need a hotel for three nights": "bookHotelRoom",
    "How many dollars in the currency of Japan?": "convert.currency",
    "put on something by this artist": "play_music",
    "write a message to my boss": "sendMail",
}


@pytest.fixture(params=[True, False], ids=["meaning", "words"])
def index(request: pytest.FixtureRequest) -> ToolIndex:
    return ToolIndex(TOOLS, meaning=request.param)


def names(hits: list[Hit]) -> list[str]:
    return [hit.name for hit in hits]


@pytest.mark.parametrize("text", REQUESTS)
def test_the_right_tool_comes_first(index: ToolIndex, text: str) -> None:
    assert index.search(text)[0].name == REQUESTS[text]


COLOURS = ["crimson", "teal", 7, None]


@every(
    "colour",
    [
        {"enum": COLOURS},
        {"anyOf": [{"enum": COLOURS}, {"type": "null"}]},
        {"oneOf": [{"const": "crimson", "description": "Red."}, {"const": "teal"}, False]},
    ],
)
@every("meaning", [True, False])
def test_a_tool_is_found_by_the_values_that_an_argument_may_have_also_within_alternatives(
    colour: dict[str, Any], meaning: bool
) -> None:
    paint = ToolText("paint", "", {"type": "object", "properties": {"shade": colour}})
    assert ToolIndex([*TOOLS, paint], meaning=meaning).search("make it teal", 1)[0].name == "paint"


def test_it_comes_first_among_a_thousand_others_too(index: ToolIndex) -> None:
    index.add_all([ToolText(f"device{n}_reset", f"Resets device number {n}.") for n in range(1_000)])
    assert {text: index.search(text, 1)[0].name for text in REQUESTS} == REQUESTS


def test_a_hit_says_why() -> None:
    (hit,) = ToolIndex(TOOLS).search("Forecasts for the city of Oslo, three days", 1)
    assert hit.why[:2] == ("words: Forecasts, city", "argument: days")
    assert re.fullmatch(r"meaning 0\.\d\d", hit.why[2])
    assert 0 < hit.lexical < 1
    assert hit.meaning > 0.2


def test_meaning_finds_what_shares_no_word() -> None:
    text = "Is it going to be sunny?"
    assert ToolIndex(TOOLS, meaning=False).search(text) == []
    assert ToolIndex(TOOLS).search(text)[0].name == "get_weather"


def test_few_tools_are_told_apart_by_what_words_say_in_general() -> None:
    """`find` stands in one tool and `thyroid` in one: which of them tells more, no catalogue of two knows."""
    index = ToolIndex([{"name": "find_record"}, {"name": "thyroid_record"}], meaning=False)
    assert names(index.search("find the thyroid value")) == ["thyroid_record", "find_record"]


def test_a_tool_of_the_same_name_is_replaced(index: ToolIndex) -> None:
    index.add({"name": "get_weather", "description": "Counts sheep."})
    assert len(index) == len(TOOLS)
    assert index.search("count my sheep")[0].name == "get_weather"
    assert "words: forecast" not in [reason for hit in index.search("forecast") for reason in hit.why]


def test_a_tool_that_was_removed_is_not_found_and_its_place_is_taken(index: ToolIndex) -> None:
    assert index.remove("get_weather")
    assert not index.remove("get_weather")
    assert "get_weather" not in index
    assert "get_weather" not in names(index.search("weather forecast city", 10))
    index.add(ToolText("tell_joke", "Makes people laugh."))
    assert index.search("a joke")[0].name == "tell_joke"
    assert len(index) == len(index.tools()) == len(TOOLS)


def test_what_was_added_one_by_one_is_found_like_what_came_together(index: ToolIndex) -> None:
    slowly = ToolIndex(meaning=index.meaning)
    slowly.add(ToolText("gone", "Weather of the hotel."))
    for tool in TOOLS:
        slowly.add(tool)
    slowly.remove("gone")
    for text in REQUESTS:
        assert names(slowly.search(text)) == names(index.search(text))


def test_only_wanted_tools_take_places(index: ToolIndex) -> None:
    hits = index.search(
        "weather, hotel, currency, music, mail", 2, wanted=lambda name: name in ("play_music", "sendMail")
    )
    assert sorted(names(hits)) == ["play_music", "sendMail"]


def test_an_empty_index_and_an_empty_request_find_nothing_to_go_by() -> None:
    assert ToolIndex().search("anything") == []
    assert ToolIndex(TOOLS, meaning=False).search("the of and") == []
    assert len(ToolIndex(TOOLS).search("", 2)) == 2


def test_a_limit_below_one_is_an_error(index: ToolIndex) -> None:
    with pytest.raises(ValueError, match="limit must be 1 or more; got 0"):
        index.search("weather", 0)


def test_threads_search_while_others_add_and_remove(index: ToolIndex) -> None:
    faults: list[Exception] = []

    def change() -> None:
        for number in range(60):
            index.add(ToolText(f"extra{number}", "The weather of another hotel."))
            if number % 2:
                index.remove(f"extra{number}")

    def look() -> None:
        try:
            for _ in range(60):
                assert len(index.search("the weather in the hotel", 3)) >= 2
        except Exception as fault:  # noqa: BLE001 - told after the threads have ended
            faults.append(fault)

    threads = [Thread(target=work) for work in (change, look, look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert len(index) == len(TOOLS) + 30


WORDS = st.lists(st.sampled_from("ash birch cedar elm fir hazel larch maple oak pine".split()), max_size=8)  # noqa: SIM905


@given(
    tools=st.lists(st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.1, 2.0)), max_size=12),
    limit=st.integers(1, 4),
)
def test_leaving_out_what_cannot_win_changes_no_result(tools: list[dict[str, float]], limit: int) -> None:
    lexicon = Lexicon()
    for number, counted in enumerate(tools):
        lexicon.add(number, counted)
    weights = lexicon.weights(read_request("b c d e f g h"))
    whole = sorted(lexicon.scores(weights).values(), reverse=True)[:limit]
    assert [score for _, score in lexicon.best(weights, limit)] == pytest.approx(whole)


@given(st.text(), WORDS)
def test_no_request_breaks_a_search(text: str, more: list[str]) -> None:
    index = ToolIndex(TOOLS, meaning=False)
    assert all(hit.name in index for hit in index.search(" ".join((text, *more))))
