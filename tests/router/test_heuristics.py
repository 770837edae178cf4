"""The two heuristics of the design: T-02. Their tables bind."""

from time import process_time

import pytest

from rightcall.router.intent import by_pattern, by_words
from support.every import every

pytestmark = pytest.mark.promise("T-02")

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


@pytest.mark.parametrize(
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
