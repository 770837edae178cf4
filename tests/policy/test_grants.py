"""Which calls a grant covers: those that are clearly meant, and no other."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.policy.decide import LONGEST, can_match, grant_matches, matches_pattern
from rightcall.policy.types import Grant
from support.every import every
from support.pace import process_time

pytestmark = pytest.mark.promise("P-06")


def covers(where: dict[str, Any], arguments: dict[str, Any]) -> bool:
    return grant_matches(Grant("g", "teacher", "t", where, 1, 1, "anna", ""), arguments)


@every(
    ("wanted", "value", "covered"),
    [
        (1, 1, True), (1, True, False), (1, 1.0, False), (1, "1", False), (True, 1, False), (None, None, True),
        (None, False, False), (0, -0.0, False), ([1, 2], [1, 2], True), ([1, 2], [2, 1], False), ([1], [1, 1], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True), ({"a": 1}, {"a": 1, "b": 2}, False), ({"a": 1}, {"a": True}, False),
        ("a", "a", True), ("a", "A", False), ("a", "a ", False), ("\u00e9", "e\u0301", False), ("a", ["a"], False),
        (["*"], ["anything"], False), ({"a": "*"}, {"a": "x"}, False), ("", "", True), ("x\ny", "x\ny", True),
        ("../x", "../x", True),
    ],
)  # fmt: skip
def test_a_value_is_the_same_in_type_and_letter(wanted: Any, value: Any, covered: bool) -> None:
    assert covers({"a": wanted}, {"a": value}) is covered


def test_an_argument_that_is_named_must_be_there_and_others_may_be_anything() -> None:
    assert covers({}, {"anything": 1})
    assert covers({"a": 1}, {"a": 1, "b": "anything"})
    assert not covers({"a": 1}, {"A": 1})
    assert not covers({"a": None}, {})
    assert not covers({"a": 1, "b": 2}, {"a": 1})


@every(
    ("pattern", "value", "covered"),
    [
        ("docs/*", "docs/a.md", True),
        ("docs/*", "docs/a/b.md", False),
        ("docs/**", "docs/a/b.md", True),
        ("docs/*.md", "docs/a.md", True),
        ("docs/*.md", "docs/a.md.exe", False),
        ("*.md", "a.md", True),
        ("**/a.md", "x/y/a.md", True),
        ("docs/*", "docsX/a", False),
        ("docs/*", "Docs/a", False),
        ("*", "anything at all", True),
        ("a*c*e", "abcde", True),
        ("a*c*e", "abde", False),
        ("**a*b", "a/ab", True),  # the first way to match is not the right one
        ("team-*@example.com", "team-a@example.com", True),
        ("é*", "été", True),
    ],
)
def test_a_star_stands_for_what_it_is_meant_for(pattern: str, value: str, covered: bool) -> None:
    assert matches_pattern(pattern, value) is covered


@every(
    "value",
    [
        "docs/../secrets", "docs/..", "docs/./../x", "docs/a/../../x", "docs\\..\\x", "docs/a\\..\\x", "docs/.../x",
        "docs/.. /x", "docs/%2e%2e/x", "docs/%2E%2E/x", "docs/..%2fx", "docs/%252e%252e/x", "docs/a%00b", "docs/a%0ab",
        "docs/．．/x", "docs/‥/x", "docs/․․/x", "docs/a\nb", "docs/a\rb", "docs/a\0b", "docs/a\x1b[2K", "docs/a\u202eb",
        "docs/a\u200bb", "docs/a\u00a0b", "docs/a\tb", "docs/.env", "docs/a/.git/config", "docs/", "docs/a/",
        "docs/a;rm -rf ~", "docs/$(id)", "docs/`id`", "docs/a|sh", "docs/a&b", "docs/a>b", "docs/" + "a" * LONGEST,
        "/docs/a", "~/docs/a", "C:docs/a", "", 1, True, None, ["docs/a"], {"docs/a": 1},
    ],
)  # fmt: skip
def test_a_star_never_stands_for_what_could_lead_elsewhere(value: Any) -> None:
    assert not covers({"path": "docs/**"}, {"path": value})
    assert not covers({"path": "**"}, {"path": value})


def test_what_the_pattern_spells_out_is_meant() -> None:
    assert matches_pattern("docs/.*", "docs/.env")
    assert matches_pattern("/etc/*", "/etc/hosts")
    assert matches_pattern("a*/", "ab/")
    assert matches_pattern("echo * | wc", "echo a | wc")
    assert not matches_pattern("docs/../*", "docs/../x")


@every("pattern", ["docs/../*", "a\n*", "\u202e*", "a%2e*"])
def test_a_pattern_that_can_never_match_is_known(pattern: str) -> None:
    assert not can_match(pattern)
    assert can_match("docs/*")


def obvious(pattern: str, value: str) -> bool:
    """All ways to match, tried one after the other."""
    if not pattern:
        return not value
    if pattern[0] != "*":
        return value[:1] == pattern[0] and obvious(pattern[1:], value[1:])
    wide = pattern.startswith("**")
    rest = pattern.lstrip("*")
    for length in range(len(value) + 1):
        if not wide and "/" in value[:length]:
            return False
        if obvious(rest, value[length:]):
            return True
    return False


@given(st.text("a*/b", min_size=1, max_size=8), st.text("ab/", min_size=1, max_size=10))
def test_matching_agrees_with_trying_all_ways(pattern: str, value: str) -> None:
    if value[0] == "/" or value[-1] == "/":
        return
    assert matches_pattern(pattern, value) is obvious(pattern, value)


def test_no_pattern_takes_long() -> None:
    before = process_time()
    assert not matches_pattern("*a" * 500 + "b", "a" * LONGEST)
    assert not matches_pattern("**a" * 500 + "b", "a/" * (LONGEST // 2))
    assert process_time() - before < 1
