"""A request and a tool as numbers: T-02 and T-03."""

import math
import subprocess
import sys

import pytest

from rightcall.router.lexical import ToolText
from rightcall.router.ranking import BY_MEANING, NUMBERS, ask, compare, know
from support.decisions import ODD_TEXTS, ODD_TOOLS, WEATHER
from support.pace import process_time

pytestmark = pytest.mark.promise("T-02", "T-03")

REQUEST = "What is the weather forecast for Oslo?"


def named(text: str, tool: ToolText) -> dict[str, float]:
    return dict(zip(NUMBERS, compare(ask(text), know(tool)), strict=True))


def test_each_number_has_a_name_and_says_what_its_name_says() -> None:
    numbers = named(REQUEST, WEATHER)
    assert numbers["name_said"] < 1.0  # `get` is not said
    assert named("get weather", WEATHER)["name_said"] == pytest.approx(1.0)
    assert numbers["in_name"] < numbers["in_description"] <= numbers["in_any"] < 1.0
    assert (numbers["required"], numbers["arguments"], numbers["missing"]) == (1.0, 2.0, 0.0)
    assert (numbers["filled"], numbers["least_filled"]) == (1.0, 1.0)


def test_what_has_nothing_in_common_is_nowhere_near() -> None:
    near, far = named(REQUEST, WEATHER), named("My cat sleeps.", WEATHER)
    for name in ("bm25", "in_any", "description_said", "near", "near_examples"):
        assert near[name] > far[name] + 0.05, name
    assert far["in_any"] == far["bm25"] == 0.0


def test_examples_bring_a_tool_nearer_to_requests_of_their_kind() -> None:
    bare = ToolText("lookup", "Query the register.", {})
    shown = ToolText("lookup", "Query the register.", {}, ("who owns the red bicycle", "whose dog is this"))
    near = named("whose cat is that", shown)
    assert near["nearest_example"] > near["near"]
    assert near["near_examples"] > near["near"]
    assert near["example_words"] > 0.0
    assert near["example_pairs"] > 0.0
    assert named("my cat sleeps", shown)["example_pairs"] == 0.0
    numbers = named("whose cat is that", bare)
    assert numbers["nearest_example"] == numbers["nearest_three"] == numbers["near_examples"] == numbers["near"]
    assert numbers["example_words"] == numbers["example_pairs"] == 0.0


def test_a_tool_without_words_is_at_no_distance_at_all() -> None:
    numbers = named("", ToolText("", "", {}))
    assert {numbers[name] for name in BY_MEANING} == {0.0}


def test_no_request_and_no_tool_is_too_odd_and_none_takes_long() -> None:
    started = process_time()
    known = [know(tool) for tool in (*ODD_TOOLS, WEATHER)]
    for text in ODD_TEXTS:
        for one in known:
            assert all(map(math.isfinite, compare(ask(text), one)))
    assert process_time() - started < 3.0


def test_without_numpy_a_few_tools_are_found_by_meaning_too() -> None:
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
print(router.candidates("the weather in Oslo")[0].name, bool(router.needs_tool("the weather in Oslo").scores))
print(*(Router(tools).candidates(text)[0].name for text in ("play some music", "will it rain in Oslo")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ["get_weather True", "play_music get_weather"]
