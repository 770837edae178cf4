"""Does a request need a tool, by which heuristics, and which of the required values does it seem to hold? T-02."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightcall import Router
from rightcall.router.lexical import ToolText
from rightcall.router.ranking import Ranker, compare, load_weights, order_tools
from rightcall.router.router import ask_numbers, by_pattern, by_words, judge_intent
from rightcall.router.slots import FILLED, filled_shares, values_in, wanted_arguments
from support.decisions import CALLS, IDLE, ODD_TEXTS, ODD_TOOLS, TABLE, TOOLS, tool
from support.every import every
from support.pace import process_time

pytestmark = pytest.mark.promise("T-02")


@pytest.fixture
def ranker() -> Ranker:
    return Ranker()


@pytest.mark.parametrize("text", CALLS)
def test_a_request_for_a_tools_job_with_its_values_is_a_call(ranker: Ranker, text: str) -> None:
    intent = judge_intent(text, TOOLS, ranker=ranker)
    assert (intent.answer, intent.sure, intent.missing) == ("call", True, ())
    assert intent.probability > 0.65
    assert intent.why[0].startswith(f"likeliest tool: {CALLS[text]} (")


@pytest.mark.parametrize("text", IDLE)
def test_a_request_that_has_nothing_to_do_with_the_tools_is_none(ranker: Ranker, text: str) -> None:
    intent = judge_intent(text, TOOLS, ranker=ranker)
    assert intent.answer == "none"
    assert intent.probability < 0.35


@pytest.mark.parametrize("text", CALLS)
def test_it_depends_on_the_tools_that_are_there(ranker: Ranker, text: str) -> None:
    others = [tool for tool in TOOLS if tool.name != CALLS[text]]
    with_it, without = judge_intent(text, TOOLS, ranker=ranker), judge_intent(text, others, ranker=ranker)
    assert with_it.probability > without.probability + 0.1


@pytest.mark.parametrize("text", ["Book a table", "Book a table, please", "I'd like to book a table"])
@pytest.mark.parametrize("tools", [TOOLS, [TABLE]], ids=["six", "one"])
def test_a_request_without_any_of_the_values_is_never_a_call(ranker: Ranker, text: str, tools: Any) -> None:
    intent = judge_intent(text, tools, ranker=ranker)
    assert intent.answer != "call"
    assert intent.scores["call"] < 0.3
    assert intent.scores["ask"] > intent.scores["call"]
    assert "no value seen for: " in " ".join(intent.why)
    assert (intent.missing != ()) == (intent.answer == "ask")


def test_a_value_is_less_likely_missing_where_another_likely_tool_lacks_none(ranker: Ranker) -> None:
    reserve = tool("reserve_room", "Reserve a room in a city", city="string", start_date="string")
    search = tool("search_rooms", "Search for rooms in a city", city="string")
    asked = ranker.ask("I would like a room in Oslo")
    known = [ranker.know(one) for one in (reserve, search)]
    rows = [compare(asked, one) for one in known]
    alone = order_tools(known[:1], rows[:1], [0.0])
    beside = order_tools(known, rows, [0.3, 0.0])
    missing = load_weights().need.ask.score
    assert missing(ask_numbers(1.0, asked.values, beside)) < missing(ask_numbers(1.0, asked.values, alone)) - 0.5


@pytest.mark.parametrize("text", [*CALLS, *IDLE, "Book a table"])
def test_the_three_answers_share_one_probability(ranker: Ranker, text: str) -> None:
    intent = judge_intent(text, TOOLS, ranker=ranker)
    assert sum(intent.scores.values()) == pytest.approx(1.0, abs=0.001)
    assert intent.probability == pytest.approx(intent.scores["call"] + intent.scores["ask"], abs=0.001)


def test_without_tools_none_is_needed() -> None:
    for text in (*CALLS, *IDLE):
        assert Router([]).needs_tool(text).answer == "none"
    assert Router([]).needs_tool("weather").why == ("there are no tools",)


def test_where_nothing_is_known_of_tools_the_text_alone_is_judged() -> None:
    router = Router(None)
    wish, chat = (
        router.needs_tool("Can you recommend a restaurant nearby?"),
        router.needs_tool("How do volcanoes form?"),
    )
    assert (wish.answer, chat.answer) == ("call", "none")
    assert wish.probability > chat.probability + 0.3
    assert wish.why == ("by the text alone: no tools are known",)
    assert wish.missing == ()


def test_the_heuristics_of_the_design_answer_by_name() -> None:
    words, pattern = (Router([TABLE], policy={"router": {"mode": mode}}) for mode in ("keywords", "regex"))
    assert words.needs_tool("My parrot sings.").why == ("keywords: tools are available",)
    assert words.needs_tool("show me the log").why == ("keywords: show ",)
    assert pattern.needs_tool("open the notes.md").why == ("regex: open the notes.md",)
    none = pattern.needs_tool("Book a table")
    assert (none.answer, none.probability, none.scores, none.why) == ("none", 0.0, {}, ("regex: nothing found",))
    assert judge_intent("My parrot sings.", None, "keywords").answer == "none"


def test_nothing_odd_raises_or_takes_long(ranker: Ranker) -> None:
    started = process_time()
    for text in ODD_TEXTS:
        for tools in ([*ODD_TOOLS, TABLE], ODD_TOOLS[:1], None):
            intent = judge_intent(text, tools, ranker=ranker)
            assert 0.0 <= intent.probability <= 1.0
    assert process_time() - started < 3.0


@pytest.mark.promise("T-02")
def test_a_request_that_names_a_file_is_never_surely_without_a_tool() -> None:
    reader = ToolText("read_file", "Read a file", {"properties": {"path": {"type": "string"}}, "required": ["path"]})
    found = judge_intent("What does notes/mail.md say?", [reader])
    assert found.answer != "none" or not found.sure
    assert judge_intent("Thanks, that was all.", [reader]).sure


@pytest.mark.promise("T-02", "T-09")
def test_the_need_for_one_of_a_hundred_tools_is_told_in_milliseconds() -> None:
    tools = [ToolText(f"tool_{number}", f"Does the thing number {number} for a city") for number in range(100)]
    router = Router(tools)
    router.needs_tool("Do the thing for Oslo")  # weights and tools are read once
    times: list[float] = []
    for number in range(10):
        started = process_time()
        router.needs_tool(f"Do the thing number {number} for Oslo")
        times.append(process_time() - started)
    assert min(times) < 0.005


WORDS = (
    "read ", "open ", "show ", "view ", "cat ", "write ", "save ", "create file", ".md", ".txt", ".json", ".py",
    ".yaml", ".yml", "/gaia", "/knowledge", "/app", "/docs", "run ", "execute ", "shell ", "command ", "ls ", "pwd",
    "git ", "docker ", "search ", "find ", "look for ", "where is ", "semantic search", "query ",
)  # fmt: skip


@every("word", WORDS)
def test_every_word_of_the_design_is_one(word: str) -> None:
    assert by_words(f"QQ {word.upper()}QQ", has_tools=False) is not None
    assert by_words(f"QQ {word.strip()[:-1]}QQ", has_tools=False) is None


def test_where_there_are_tools_everything_needs_one() -> None:
    assert by_words("My parrot sings.", has_tools=True) == "tools are available"
    assert by_words("My parrot sings.", has_tools=False) is None


@every(
    ("text", "found"),
    [
        ("Please READ the file now", "read the file"),
        ("read document", "read document"),
        ("show me the docs/plan.md", "show me the docs/plan.md"),
        ("display a.json", "display a.json"),
        ("execute the script", "execute the script"),
        ("run command", "run command"),
        ("search for cats", "search for "),
        ("find the document", "find the document"),
        ("open the door", None),
        ("running commands", None),
        ("", None),
    ],
)
def test_the_patterns(text: str, found: str | None) -> None:
    assert by_pattern(text) == found


def test_a_megabyte_does_not_take_long() -> None:
    started = process_time()
    assert by_pattern("show " + "a/" * 500_000) is None
    assert by_pattern("read the " * 100_000) is None
    assert by_words("x" * 1_000_000, has_tools=False) is None
    assert process_time() - started < 1.0


def missing(text: str, **kinds: str) -> list[str]:
    needs = wanted_arguments(tool("x", "", **kinds))
    return [one.name for one, held in zip(needs, filled_shares(needs, values_in(text)), strict=True) if held < FILLED]


@every(
    ("text", "kinds", "expected"),
    [
        ("add 3 and 4", {"first": "number", "second": "number"}, []),
        ("add them up", {"first": "number", "second": "number"}, ["first", "second"]),
        ("mail anna@example.org", {"email": "string"}, []),
        ("mail her", {"email": "string"}, ["email"]),
        ("open https://example.org/a", {"url": "string"}, []),
        ("open it", {"url": "string"}, ["url"]),
        ("on 2024-05-01", {"date": "string"}, []),
        ("some day", {"date": "string"}, ["date"]),
        ("at 7:30", {"time": "string"}, []),
        ("the weather in Oslo", {"city": "string"}, []),
        ("the weather", {"city": "string"}, ["city"]),
    ],
)
def test_a_value_is_seen_where_one_of_its_kind_stands(text: str, kinds: dict[str, str], expected: list[str]) -> None:
    assert missing(text, **kinds) == expected


def test_one_value_serves_one_argument() -> None:
    assert missing("wait 5 seconds", first="integer", second="integer") == ["second"]


@pytest.mark.parametrize(("text", "expected"), [("paint it teal", []), ("paint it", ["shade"])])
def test_a_value_of_a_list_is_seen_also_where_null_or_another_list_would_do(text: str, expected: list[str]) -> None:
    shade = {"anyOf": [{"enum": ["crimson"]}, {"enum": ["teal"]}, {"type": "null"}]}
    painting = ToolText("paint", "", {"type": "object", "properties": {"shade": shade}, "required": ["shade"]})
    needs = wanted_arguments(painting)
    assert [one.choices for one in needs] == [("crimson", "teal")]
    held = filled_shares(needs, values_in(text))
    assert [one.name for one, share in zip(needs, held, strict=True) if share < FILLED] == expected


def test_only_what_is_required_and_described_is_wanted() -> None:
    assert [one.name for one in wanted_arguments(TABLE)] == ["restaurant", "date", "time", "people"]
    assert wanted_arguments(tool("x", "", "absent", a="string")) == ()


def test_nothing_odd_raises_and_all_is_between_none_and_sure() -> None:
    for text in ODD_TEXTS:
        values = values_in(text)
        for one in ODD_TOOLS:
            assert all(0.0 <= held <= 1.0 for held in filled_shares(wanted_arguments(one), values))


@settings(max_examples=30)
@given(st.text(max_size=60))
def test_any_text_can_be_looked_at(text: str) -> None:
    assert len(filled_shares(wanted_arguments(TABLE), values_in(text))) == 4
