"""Cutting a list of tools to a request, and a tool that finds tools: of those that the caller may use."""

from pathlib import Path
from typing import Any

import pytest

from rightcall import Executor, tool
from rightcall.errors import ConfigError
from rightcall.models.loop import run_loop, run_loop_sync
from rightcall.router.lexical import ToolText
from rightcall.router.toolset import SEARCH, FollowingIndex, Offering, search_tool

pytestmark = pytest.mark.promise("T-03")


@tool(effects=["read"])
def forecast(city: str) -> str:
    """The weather of tomorrow in a city."""
    return f"sun in {city}"


@tool(effects=["read"])
def translate(sentence: str) -> str:
    """Translate a sentence into another language."""
    return sentence


@tool(effects=["read"], name="mail/inbox")
def inbox() -> str:
    """List the letters that have arrived."""
    return ""


RULES = {"version": 1, "callers": {"guest": {"deny": ["forecast"]}}}


@pytest.fixture
def executor(tmp_path: Path) -> Any:
    with Executor.open_sync(tmp_path, RULES, tools=[forecast, translate, inbox], store="memory", code=False) as made:
        yield made


def names(definitions: list[Any]) -> list[str]:
    return [one.get("name") or one["function"]["name"] for one in definitions]


def test_the_nearest_tools_come_first_and_no_more_than_asked_for(executor: Any) -> None:
    offering = Offering(executor)
    assert names(offering.definitions("tomorrow's weather in Bern", shape="mcp"))[0] == "forecast"
    assert names(offering.definitions("letters that have arrived", limit=1)) == ["mail_inbox"]
    assert names(offering.definitions("letters that have arrived", shape="anthropic", limit=1)) == ["mail_inbox"]
    prompt = offering.prompt("translate this sentence", limit=1)
    assert "translate" in prompt
    assert "forecast" not in prompt


def test_examples_of_requests_speak_louder_than_a_shared_word(tmp_path: Path) -> None:
    @tool(effects=["read"])
    def grab(thing: str) -> str:
        """Put an umbrella into the basket."""
        return thing

    rules = {"gate": {"tools": {"forecast": {"examples": ["do I need an umbrella on monday?", "will it be dry"]}}}}
    with Executor.open_sync(tmp_path, rules, tools=[grab, forecast], store="memory", code=False) as one:
        asked = "umbrella or not today?"
        assert names(Offering(one).definitions(asked, limit=1)) == ["forecast"]
        one.register(search_tool(one))
        found = one.run({"name": SEARCH, "arguments": {"query": asked, "limit": 1}})
        assert [tool["name"] for tool in found.result["tools"]] == ["forecast"]


def test_without_a_request_the_list_is_whole_and_names_cut_it_in_their_order(executor: Any) -> None:
    assert names(executor.definitions(shape="mcp")) == ["forecast", "translate", "mail/inbox"]
    assert names(executor.definitions(shape="mcp", only=["mail/inbox", "rm", "forecast"])) == ["mail/inbox", "forecast"]
    assert names(executor.definitions("guest", "mcp", only=["forecast"])) == []


def test_a_hit_says_why_it_matches(executor: Any) -> None:
    (hit,) = Offering(executor).nearest("the weather", limit=1)
    assert hit.name == "forecast"
    assert "weather" in " ".join(hit.why)


def test_a_caller_is_offered_only_what_it_may_use_and_others_take_nobodys_place(executor: Any) -> None:
    offering = Offering(executor)
    assert [hit.name for hit in offering.nearest("translate the weather", "guest", limit=1)] == ["translate"]
    assert "forecast" not in [hit.name for hit in offering.nearest("weather", "guest")]


def test_what_is_registered_later_is_found_and_what_is_replaced_is_found_anew(executor: Any) -> None:
    offering = Offering(executor)
    assert "dice" not in [hit.name for hit in offering.nearest("roll dice", limit=1)]

    @executor.tool(effects=["read"], name="dice")
    def dice() -> int:
        """Roll dice."""
        return 4

    assert [hit.name for hit in offering.nearest("roll dice", limit=1)] == ["dice"]
    executor.register(tool(dice, name="dice", description="Shuffle cards.", effects=["read"]))
    assert [hit.name for hit in offering.nearest("shuffle cards", limit=1)] == ["dice"]


def test_a_search_tool_gives_each_caller_what_it_may_use_with_all_it_takes_to_call_it(executor: Any) -> None:
    executor.register(search_tool(executor))
    ask = {"name": "tools_search", "arguments": {"query": "weather of a city", "limit": "1"}}
    mine, theirs = executor.run(ask), executor.run(ask, "guest")
    (found,) = mine.result["tools"]
    assert (mine.tool, mine.decision.rule) == (SEARCH, "stage:own")
    assert (found["name"], found["description"]) == ("forecast", "The weather of tomorrow in a city.")
    assert found["parameters"]["required"] == ["city"]
    assert found["why"]
    assert "forecast" not in [one["name"] for one in theirs.result["tools"]]
    assert SEARCH not in [
        one["name"] for one in executor.run(ask | {"arguments": {"query": "find tools"}}).result["tools"]
    ]


def test_a_model_cannot_say_who_it_is_in_a_search(executor: Any) -> None:
    executor.register(search_tool(executor))
    ask = {"name": SEARCH, "arguments": {"query": "weather", "caller": "default"}}
    assert "forecast" not in [one["name"] for one in executor.run(ask, "guest").result["tools"]]


def test_the_loop_shows_a_model_the_cut_list_and_runs_what_it_calls(executor: Any) -> None:
    shown: list[list[str]] = []

    def model(messages: list[Any], tools: Any = None) -> Any:
        shown.append(names(tools or []))
        if len(messages) > 1:
            return {"role": "assistant", "content": "sun"}
        call = {"name": "forecast", "arguments": '{"city": "Bern"}'}
        return {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", "function": call}]}

    request = "tomorrow's weather in Bern"
    executor.register(search_tool(executor))
    result = run_loop_sync(model, Offering(executor).cut(request, limit=1), request, caller="default")  # type: ignore[arg-type]
    assert shown[0] == ["forecast", "tools_search"]
    assert (result.text, result.outcomes[0].result) == ("sun", "sun in Bern")


async def _looped(root: Path) -> str:
    async with Executor.open(root, tools=[forecast, inbox], store="memory", code=False) as executor:
        seen: list[str] = []

        async def model(messages: list[Any]) -> str:
            seen.append(str(messages[0]["content"]))
            return "done"

        await run_loop(model, Offering(executor).cut("weather", limit=1), "weather", caller="default")
        return seen[0]


def test_a_model_without_native_calls_reads_the_cut_prompt(tmp_path: Path) -> None:
    import asyncio

    prompt = asyncio.run(_looped(tmp_path))
    assert "forecast" in prompt
    assert "mail/inbox" not in prompt


@pytest.mark.parametrize("limit", [0, -1, "3"])
def test_a_limit_that_is_none_is_named(executor: Any, limit: Any) -> None:
    with pytest.raises(ConfigError, match="`limit` must be a whole number from 1"):
        Offering(executor).nearest("x", limit=limit)


def test_only_what_came_went_or_changed_is_indexed_again() -> None:
    index = FollowingIndex()
    one, two = ToolText("one", "weather"), ToolText("two", "mail")
    assert index.follow({"one": one, "two": two}) == 2
    assert index.follow({"one": ToolText("one", "weather"), "two": two}) == 0
    assert index.follow({"one": ToolText("one", "dice"), "two": two}) == 1
    assert index.follow({"two": two}) == 1
    assert [hit.name for hit in index.search("mail dice weather", 5, lambda _: True)] == ["two"]
