"""A name means one tool for certain, or none: then the near ones are suggested."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.catalog.catalog import build_catalog, slip
from rightcall.catalog.tool import PackTool
from rightcall.types import Rules
from support.every import every

NAMES = (
    "write", "get_weather", "delete_user", "delete_users_all", "get_x", "code/read", "mcp__files__list_dir",
    "searchWeb", "insert_row", "create_calendar_event", "send_email", "find_state_report",
    "list_stock_items",
)  # fmt: skip
OVERLAYS = (
    PackTool("send_email", rules=Rules(names=("mail_someone",)), pack="p"),
    PackTool("old_writer", rules=Rules(replaced_by="write"), pack="p"),
)
CATALOG = build_catalog([{"name": name} for name in NAMES], OVERLAYS)


@pytest.mark.promise("N-08")
@every(
    ("written", "kind", "meant"),
    [
        ("write", "exact", "write"),
        ("mail_someone", "alias", "send_email"),
        ("functions.write", "namespace", "write"),
        ("mcp__server__write", "namespace", "write"),
        ("mcp__server__Get-Weather", "namespace", "get_weather"),
        ("server/write", "namespace", "write"),
        ("functions.write:0", "namespace", "write"),
        ("default_api.get_weather()", "namespace", "get_weather"),
        ("a.b.c.mail_someone", "namespace", "send_email"),
        ("list_dir", "namespace", "mcp__files__list_dir"),
        ("files.list_dir", "namespace", "mcp__files__list_dir"),
        ("read", "namespace", "code/read"),
        (" write\n", "style", "write"),
        ('"write"', "style", "write"),
        ("`write`", "style", "write"),
        ("write:0", "style", "write"),
        ("Write", "style", "write"),
        ("getWeather", "style", "get_weather"),
        ("GET-WEATHER", "style", "get_weather"),
        ("get weather", "style", "get_weather"),
        ("search_web", "style", "searchWeb"),
        ("code_read", "style", "code/read"),
        ("MailSomeone", "style", "send_email"),
        ("get_wether", "typo", "get_weather"),
        ("get_weahter", "typo", "get_weather"),
        ("wirte", "typo", "write"),
        ("create_calender_event", "typo", "create_calendar_event"),
        ("sendEmial", "typo", "send_email"),
    ],
)
def test_another_way_to_write_a_name_finds_its_tool(written: str, kind: str, meant: str) -> None:
    match = CATALOG.find(written)
    assert (match.kind, match.tool.name if match.tool else None) == (kind, meant)
    assert 0.9 <= match.confidence <= 1


@pytest.mark.promise("V-09", "N-08")
@every(
    ("written", "suggested"),
    [
        ("overwrite", "write"),
        ("rewrite", "write"),
        ("writes", "write"),
        ("write_all", "write"),
        ("set_x", "get_x"),
        ("delete_users", "delete_user"),
        ("delete_user_all", "delete_users_all"),
        ("undelete_user", "delete_user"),
        ("invert_row", "insert_row"),
        ("find_stage_report", "find_state_report"),
        ("find_static_report", "find_state_report"),
        ("list_stack_items", "list_stock_items"),
        ("other__list_dir", "mcp__files__list_dir"),
        ("weather", "get_weather"),
        ("create_calendar_event_2", "create_calendar_event"),
    ],
)
def test_a_near_miss_is_suggested_and_never_taken(written: str, suggested: str) -> None:
    match = CATALOG.find(written)
    assert match.tool is None
    assert match.kind == "none"
    assert suggested in match.suggestions
    assert len(match.suggestions) <= 3


@every("written", ["", " ", "``", "x" * 1_000_000, "\x00", "зщх", "completely_different_thing_here"])
def test_a_name_like_none_gets_no_tool(written: str) -> None:
    assert CATALOG.find(written).tool is None


@pytest.mark.parametrize(
    ("written", "name"),
    [("fly", "analytics/tool-usage"), ("nosuch", "code/create-branch"), ("Write", "code/execute/javascript")],
)
def test_a_name_that_shares_no_word_is_not_suggested(written: str, name: str) -> None:
    assert build_catalog([{"name": name}]).find(written).suggestions == ()


def test_a_deprecated_tool_is_found_but_never_suggested() -> None:
    found = CATALOG.find("old_writer").tool
    assert found is not None
    assert found.deprecated
    assert "old_writer" not in CATALOG.find("old_writers").suggestions


@every(
    ("names", "written"),
    [
        (["get_weather", "getWeather"], "GET_WEATHER"),
        (["a__find", "b__find"], "find"),
        (["send_emails", "send_emaila"], "send_emailx"),
        (["show_weather", "show_weathers"], "show_wether"),
    ],
)
def test_two_tools_that_fit_equally_are_both_suggested(names: list[str], written: str) -> None:
    match = build_catalog([{"name": name} for name in names]).find(written)
    assert match.tool is None
    assert set(match.suggestions) == set(names)


def test_an_alias_that_two_tools_claim_is_no_certainty() -> None:
    tools = [{"name": "one"}, {"name": "two"}, {"name": "both_of_them"}]
    catalog = build_catalog(tools, [PackTool(name, rules=Rules(names=("both",)), pack="p") for name in ("one", "two")])
    assert catalog.find("both").tool is None
    assert catalog.find("both").suggestions[:2] == ("one", "two")


@given(st.text(max_size=40))
def test_finding_never_raises_and_is_certain_or_silent(name: str) -> None:
    match: Any = CATALOG.find(name)
    assert (match.tool is None) == (match.kind == "none")
    assert match.tool is None or match.suggestions == ()


@given(st.sampled_from(NAMES))
def test_a_tools_own_name_is_always_exact(name: str) -> None:
    match = CATALOG.find(name)
    assert match.tool is CATALOG.get(name)
    assert match.kind == "exact"


@pytest.mark.promise("V-09")
@every(
    ("written", "meant", "same"),
    [
        ("wether", "weather", True), ("waether", "weather", True), ("weathrr", "weather", True),
        ("calndr", "calendar", False), ("calendxx", "calendar", False), ("kalendxr", "calendar", False),
        ("caelndra", "calendar", False), ("calednra", "calendar", False), ("claendra", "calendar", False),
        ("caeldnar", "calendar", True), ("subscribtoin", "subscription", True), ("xubscribtion", "subscription", False),
        ("subscriptioxx", "subscription", False), ("abscd", "abcd", False), ("abscde", "abcde", True),
        ("users", "user", False), ("overwrite", "write", False), ("user1", "usera", False), ("stage", "state", False),
    ],
)  # fmt: skip
def test_two_slips_are_one_too_many_but_inside_a_long_word(written: str, meant: str, same: bool) -> None:
    assert slip(written, meant) is same
    assert slip(meant, written) is same
