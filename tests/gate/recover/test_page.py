"""docs/reference/formats.md says what the code does. To renew its table: `python tests/gate/recover/test_page.py`."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from rightcall import Format, Gate, Verdict
from rightcall.gate.recover import window
from rightcall.gate.recover.machine import MOST_CALLS, REASONING, builtin_formats
from rightcall.gate.recover.native import DEEPEST, MOST
from rightcall.gate.recover.objects import _RECORDS as RECORDS
from rightcall.gate.recover.prose import _DATA as DATA_FENCES
from rightcall.gate.recover.prose import _TOOL as TOOL_FENCES
from rightcall.gate.recover.section import REACH
from rightcall.policy.settings import Policy
from rightcall.types import Place
from support.docs import Block, blocks
from support.every import every

FILE = Path(__file__).parents[3] / "docs" / "reference" / "formats.md"
PAGE = FILE.read_text(encoding="utf-8")
RULES = FILE.parents[1] / "concepts" / "what-counts-as-a-call.md"
BOTH = PAGE + RULES.read_text(encoding="utf-8")
SHOWN = 3  # opening words of a format; some have a dozen spellings
WEATHER = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "required": ["city"],
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    },
}


def table(formats: Iterable[Format]) -> str:
    """The formats as a Markdown table, in the order of the registry."""
    rows = [f"| `{one.name}` | {cell(one.about)} | {opening_words(one)} |" for one in formats]
    return "\n".join(["| format | written by, or what it is | opens with |", "|---|---|---|", *rows, ""])


def opening_words(one: Format) -> str:
    words = list(dict.fromkeys(one.opens))
    more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return " ".join(map(ticked, words[:SHOWN])) + more


def ticked(word: str) -> str:
    """In backticks; where the word itself has some, in more of them."""
    shown = cell(word.replace("\n", "\\n"))
    return f"```` {shown} ````" if "`" in shown else f"`{shown}`"


def cell(text: str) -> str:
    return text.replace("|", "\\|")  # GitHub's tables end a cell there, also inside backticks


def section(heading: str) -> str:
    """The page from this heading to the next one."""
    found = re.search(
        rf"^#+ {re.escape(heading)}$(.*?)(?=^#+ |\Z)", re.sub(r"^```.*?^```$", "", BOTH, flags=FENCED), FENCED
    )
    assert found, heading
    return found[1]


FENCED = re.MULTILINE | re.DOTALL


def in_backticks(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", text))


@pytest.mark.promise("R-01")
def test_the_table_has_every_format_of_the_registry_as_it_is() -> None:
    assert table(builtin_formats()) in PAGE


@pytest.mark.promise("R-06")
def test_the_page_names_every_tag_that_opens_reasoning() -> None:
    paragraph = section("Reasoning").split("The tags are ")[1].split(", each with")[0]
    assert in_backticks(paragraph) == set(REASONING)


@pytest.mark.promise("R-06")
def test_the_page_names_the_keys_of_records_and_the_languages_of_fences() -> None:
    records = section("Without a marker a known tool is needed").split("none of the keys ")[1].split(";")[0]
    assert in_backticks(records) == RECORDS
    rows = [line.split("|")[1] for line in section("Code fences").splitlines() if line.startswith("| ")]
    assert [in_backticks(row) for row in rows[1:]] == [DATA_FENCES - {""}, TOOL_FENCES]


@pytest.mark.promise("R-10")
def test_the_page_has_the_limits_of_the_code() -> None:
    limits = section("Limits")
    assert Policy().max_text == window.EFFORT == 1_000_000
    assert limits.count("a million characters") == 2
    assert f"| {MOST_CALLS:,} calls in one message |" in limits
    assert f"| {MOST:,} parts of a native message, {DEEPEST} levels |" in limits
    assert f"at most {REACH} characters back" in section("Quoted")


def example() -> tuple[Block, Format]:
    """The format with a reader of its own, as the page has it."""
    (block,) = [block for block in blocks(PAGE) if block.language == "python" and "def read(window" in block.body]
    names: dict[str, Any] = {}
    exec(block.body, names)  # noqa: S102  (our own documentation)
    return block, names["brackets"]


def test_a_format_of_ones_own_takes_no_more_than_twenty_lines() -> None:
    block, _ = example()
    assert len([line for line in block.body.splitlines() if line]) <= 20


def streamed(gate: Gate, pieces: Iterable[str]) -> tuple[str, tuple[Verdict, ...], list[Place]]:
    feed = gate.stream()
    events = [event for piece in pieces for event in feed.push(piece)] + feed.close()
    prose = "".join(event for event in events if isinstance(event, str))
    return prose, tuple(event for event in events if not isinstance(event, str)), feed.places


@every(
    ("text", "found", "prose"),
    [
        ("Well. ⟦get_weather city: Bern; days: 3⟧ Done.", [{"city": "Bern", "days": 3}], "Well.  Done."),
        ("⟦get_weather city: Bern⟧⟦get_weather city: Rome⟧", [{"city": "Bern"}, {"city": "Rome"}], ""),
        ("Write `⟦get_weather city: Bern⟧` there.", [], "Write `⟦get_weather city: Bern⟧` there."),
        ("From ⟦1⟧ to ⟦2⟧ and ⟦3", [], "From ⟦1⟧ to ⟦2⟧ and ⟦3"),
        ("So ⟦get_weather city: Be", [None], "So "),
        ("<think>⟦get_weather city: Bern⟧</think>⟦get_weather⟧", [None], "<think>⟦get_weather city: Bern⟧</think>"),
    ],
)
@pytest.mark.promise("R-01", "R-09")
def test_the_format_of_ones_own_reads_whole_texts_and_streams_alike(text: str, found: list[Any], prose: str) -> None:
    gate = Gate([WEATHER], formats=[example()[1]])
    reading = gate.read(text)
    assert [verdict.call.arguments if verdict.ok and verdict.call else None for verdict in reading.calls] == found
    assert reading.text == prose
    whole = (reading.text, reading.calls, list(reading.places))
    assert streamed(gate, text) == whole
    for cut in range(len(text) + 1):
        assert streamed(gate, (text[:cut], text[cut:])) == whole, cut


if __name__ == "__main__":
    old = re.compile(r"^\| format \| written by.*?(?=^$)", FENCED)
    FILE.write_text(old.sub(lambda _: table(builtin_formats()), PAGE, count=1), encoding="utf-8")
