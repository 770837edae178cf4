"""A request beside a few tools, in numbers."""

import msgspec
import pytest

from rightcall.route.index import ToolIndex
from rightcall.route.index_features import Features, Prepared
from rightcall.route.index_general import rarity

pytestmark = pytest.mark.promise("T-03")
TOOLS = [
    {
        "name": "weather_forecast",
        "description": "What the sky will do.",
        "parameters": {"properties": {"city": {"description": "A town"}, "days": {"description": "How many"}}},
    },
    {"name": "play_music"},
]


def features(text: str, meaning: bool = False) -> list[Features]:
    return Prepared(TOOLS, meaning=meaning).features(text)


def test_every_field_has_its_share_of_the_requests_words() -> None:
    found, other = features("weather city")
    assert found.in_name + found.in_arguments == pytest.approx(1.0)
    assert found.in_any == pytest.approx(1.0)
    assert found.in_description == found.in_argument_texts == 0.0
    assert found.arguments_said == 0.5
    assert found.name_said == pytest.approx(rarity("weath") / (rarity("weath") + rarity("forecast")))
    assert msgspec.structs.astuple(other)[1:] == (0.0,) * 11


def test_rare_words_count_more_than_common_ones() -> None:
    assert rarity("thyroid") > rarity("weath") > rarity("get")


def test_meanings_are_nearest_where_the_request_belongs() -> None:
    found, other = features("Will it be sunny in the town?", meaning=True)
    assert found.meaning_short > other.meaning_short
    assert found.meaning_whole > other.meaning_whole
    assert found.meaning_argument > 0.3
    assert other.meaning_argument == 0.0


def test_a_request_without_words_compares_with_nothing() -> None:
    assert [one.lexical for one in features("?!")] == [0.0, 0.0]
    assert Prepared([]).features("anything") == []


def test_an_index_gives_the_same_and_follows_its_changes() -> None:
    index = ToolIndex(TOOLS, meaning=False)
    assert index.features("weather in the city") == features("weather in the city")
    index.remove("play_music")
    index.add({"name": "city_weather"})
    assert [one.name for one in index.features("weather")] == ["weather_forecast", "city_weather"]
