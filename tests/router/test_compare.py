"""A request and a tool as numbers: T-02 and T-03."""

import math
import subprocess
import sys
from time import process_time

import pytest

from rightcall.router.lexical import ToolText
from rightcall.router.ranking import BY_MEANING, BY_WORDS, ask, compare, compare_all, know
from support.decisions import CALLS, ODD_TEXTS, ODD_TOOLS, TOOLS, WEATHER

pytestmark = pytest.mark.promise("T-02", "T-03")

REQUEST = "What is the weather forecast for Oslo?"


def named(text: str, tool: ToolText, meaning: bool = True) -> dict[str, float]:
    numbers = compare(ask(text, meaning=meaning), know(tool, meaning=meaning))
    return dict(zip((*BY_WORDS, *BY_MEANING) if meaning else BY_WORDS, numbers, strict=True))


def test_each_number_has_a_name_and_says_what_its_name_says() -> None:
    numbers = named(REQUEST, WEATHER)
    assert numbers["name_said"] < 1.0  # `get` is not said
    assert named("get weather", WEATHER)["name_said"] == pytest.approx(1.0)
    assert numbers["in_name"] < numbers["in_description"] <= numbers["in_any"] < 1.0
    assert (numbers["required"], numbers["arguments"], numbers["missing"]) == (1.0, 2.0, 0.0)
    assert (numbers["filled"], numbers["least_filled"]) == (1.0, 1.0)
    assert numbers["aligned"] >= max(numbers[f"aligned_{part}"] for part in ("name", "description", "arguments"))
    assert numbers["near_argument"] >= numbers["near_arguments"]
    assert numbers["rarest_aligned"] <= 1.0001


def test_what_has_nothing_in_common_is_nowhere_near() -> None:
    near, far = named(REQUEST, WEATHER), named("My cat sleeps.", WEATHER)
    for name in ("bm25", "in_any", "description_said", "near_short", "near_whole", "aligned", "worst_aligned"):
        assert near[name] > far[name] + 0.05, name
    assert far["in_any"] == far["bm25"] == 0.0
    assert far["unaligned"] > near["unaligned"]


@pytest.mark.parametrize("meaning", [True, False])
def test_tools_compared_together_get_the_numbers_of_each_alone(meaning: bool) -> None:
    """Also where some have no words, no arguments or no description, whose places others must not take."""
    known = [know(tool, meaning=meaning) for tool in (*TOOLS, *ODD_TOOLS)]
    for text in (*CALLS, "", "to the 天気"):
        asked = ask(text, meaning=meaning)
        together = compare_all(asked, known)
        for one, numbers in zip(known, together, strict=True):
            assert numbers == pytest.approx(compare(asked, one), abs=1e-5), one.tool.name[:20]


def test_a_tool_without_words_is_at_no_distance_at_all() -> None:
    numbers = named(REQUEST, ToolText("", "", {}))
    assert {numbers[name] for name in BY_MEANING if name.startswith(("aligned", "worst", "near_arg"))} == {0.0}
    assert (numbers["unaligned"], numbers["verbs"], numbers["least_required"]) == (1.0, 0.5, 1.0)


@pytest.mark.parametrize("meaning", [True, False])
def test_no_request_and_no_tool_is_too_odd_and_none_takes_long(meaning: bool) -> None:
    started = process_time()
    known = [know(tool, meaning=meaning) for tool in (*ODD_TOOLS, WEATHER)]
    for text in ODD_TEXTS:
        for numbers in compare_all(ask(text, meaning=meaning), known):
            assert all(map(math.isfinite, numbers))
    assert process_time() - started < 3.0


def test_without_numpy_everything_goes_by_words() -> None:
    code = """
import sys
sys.modules["numpy"] = None
from importlib import util
find = util.find_spec
util.find_spec = lambda name, package=None: None if name == "numpy" else find(name, package)
import rightcall
from rightcall import Router
tools = [{"name": "get_weather", "description": "The weather of a city."}, {"name": "play_music"}]
router = Router(tools + [{"name": f"tool{n}", "description": "Does something else."} for n in range(30)])
assert router.candidates("the weather in Oslo")[0].name == "get_weather"
assert router.needs_tool("the weather in Oslo").scores
assert Router(tools).candidates("play some music")[0].name == "play_music"
assert "rightcall.router.nearest" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
