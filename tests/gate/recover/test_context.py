"""Talk about a call, or a call: what stands before the markup decides."""

import pytest

from rightcall.gate.recover.section import REACH, in_code, placeholder, quoted, sample, starts_line
from support.every import every

pytestmark = pytest.mark.promise("R-06")


@every(
    ("before", "ends"),
    [
        ("`", "`"),
        ('"', '"'),
        ("'", "'"),
        ("“", "”"),
        ("‘", "’"),
        ("«", "»"),
        ("「", "」"),
        ("say `a ", "`"),
        ('say "a ', '"'),
        ("a`b`c`", "`"),
        ("x = 'abc ", "'"),
        ("f('", "'"),
        ("> ", "\n"),
        ("# ", "\n"),
        ("// ", "\n"),
        (" * ", "\n"),
        ("-- ", "\n"),
        ("run(); // ", "\n"),
        ('"\\n', '"'),
        ("'\\n\\n", "'"),
        ("line one\n> ", "\n"),
    ],
)
def test_what_stands_before_opens_a_quotation_and_says_what_ends_it(before: str, ends: str) -> None:
    until = quoted(before + "<tool_call>", len(before))
    assert until is not None
    assert ends in until.words


@every(
    "before",
    [
        "",
        "Hi. ",
        "it's ",
        "I don't know, let's see: ",
        'a "b" c ',
        "a `b` c ",
        "`a`\n",
        '"open\n',
        "they're 'here' ",
        "a > b ",
        "a # b ",
        "1. ",
        "\n",
        "\\n",
    ],
)
def test_ordinary_words_open_no_quotation(before: str) -> None:
    assert quoted(before + "<tool_call>", len(before)) is None


def test_quotes_of_the_call_before_do_not_count() -> None:
    text = 'x"y"z" <tool_call>'
    at = text.index("<")
    assert quoted(text, at) is not None
    assert quoted(text, at, since=at - 1) is None


def test_a_header_is_quoted_only_by_a_quote_right_before_it() -> None:
    text = 'an odd " quote <|start|>'
    assert quoted(text, text.index("<"), headed=True) is None
    assert quoted('"<|start|>', 1, headed=True) is not None


def test_a_quote_further_away_than_the_reach_is_forgotten() -> None:
    text = '"' + "x" * (REACH + 1)
    assert quoted(text, len(text)) is None
    assert quoted(text, REACH) is not None


@every(
    "before",
    [
        "For example:\n",
        "An example call:\n\n",
        "The format looks like this:\n",
        "in the following format.\n",
        "such as: ",
        "## Usage\n",
        "The syntax:\n",
        "models write it like this:\n",
    ],
)
def test_an_introduction_makes_a_sample(before: str) -> None:
    assert sample(before + "<tool_call>", len(before))


@every(
    "before",
    [
        "",
        "Here is the call:\n",
        "Let me look it up:\n",
        "I looked at an example. Now:\n",
        "For example: yes.\nNow then:\n",
        "The weather, for example, is fine. ",
        "Let me check like this:\n",
    ],
)
def test_an_announcement_makes_no_sample(before: str) -> None:
    assert not sample(before + "<tool_call>", len(before))


@every("before", ["x = ", "f(", "return ", "print(json ", "a +", "calls.append(", "\\", "run(1, ", "I called "])
def test_a_bracket_in_an_expression_or_a_sentence_is_source(before: str) -> None:
    assert in_code(before + "{", len(before))


@every("before", ["", "Here: ", "x = 1\n", "Sure, ", "- ", "done. "])
def test_a_bracket_that_stands_alone_is_no_source(before: str) -> None:
    assert not in_code(before + "{", len(before))


@every(
    "name",
    [
        "...",
        "…",
        "<tool>",
        "$NAME",
        "{{name}}",
        "example_function",
        "your_tool",
        "function_name",
        "tool_name2",
        "name_of_tool",
        "tool here",
    ],
)
def test_what_stands_for_a_name_is_none(name: str) -> None:
    assert placeholder(name)


@every(
    "name",
    ["get_weather", "tool", "name", "function", "sampler", "yours", "examples", "rename", "a.b", "toolbox_names"],
)
def test_a_name_is_a_name(name: str) -> None:
    assert not placeholder(name)


def test_the_start_of_a_line_may_be_indented_or_quoted() -> None:
    assert starts_line("```", 0)
    assert starts_line("a\n  ```", 4)
    assert starts_line("a\n> ```", 4)
    assert not starts_line("a ```", 2)
