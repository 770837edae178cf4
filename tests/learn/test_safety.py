"""What may not become a rule, however often it was corrected so; and what a written pack cannot be made to say."""

import tomllib
from typing import Any

import pytest

from rightcall import load_policy
from rightcall.catalog import read_pack_text
from rightcall.learn import pack_text
from rightcall.learn.packfile import read_lines
from rightcall.learn.proposals import Proposal
from support.every import every
from support.lessons import RIGHT, corrected, headlines, rules, taught, working

SOURCES = [("ann", "1"), ("bob", "2"), ("cyd", "3"), ("ann", "4")]
PEOPLE = working("ann", "bob", "cyd")


def lessons(wrong: Any, right: Any) -> list[dict[str, Any]]:
    """The same correction by everybody; `{}` in a text is another number each time."""
    lines = list(PEOPLE)
    for number, (caller, context) in enumerate(SOURCES):
        lines += corrected(caller, context, _filled(wrong, number), _filled(right, number))
    return lines


def _filled(value: Any, number: int) -> Any:
    if isinstance(value, tuple):
        return tuple(_filled(item, number) for item in value)
    if isinstance(value, dict):
        return {key: item.replace("{}", str(number)) if isinstance(item, str) else item for key, item in value.items()}
    return value


SUBJECT = {**RIGHT, "subject": "s{}"}
SAID = {
    "a secret's name": ({**SUBJECT, "password": "x{}"}, {**SUBJECT, "api_key": "x{}"}),
    "a safeguard": ({**SUBJECT, "confirm": "sure thing"}, {**SUBJECT, "confirm": True}),
    "a path for a command": ({**SUBJECT, "file_path": "rm {}"}, {**SUBJECT, "command": "rm {}"}),
    "a look-alike": (
        {"subj\u0435ct_of": "s{}", "folder": "b", "urgency": "low"},
        {"subject": "s{}", "folder": "b", "urgency": "low"},
    ),
    "a hidden sign": (
        {"cargo\u200b": "s{}", "folder": "b", "urgency": "low"},
        {"subject": "s{}", "folder": "b", "urgency": "low"},
    ),
    "a long name": ({"c" * 300: "s{}", "folder": "b", "urgency": "low"}, {**RIGHT, "subject": "s{}"}),
    "a line end": ({'x"]\n[gate]': "s{}", "folder": "b", "urgency": "low"}, {**RIGHT, "subject": "s{}"}),
    "a token": ({**SUBJECT, "urgency": "ghp_16C7e42F292c6912E7710c838347Ae178B4a"}, {**SUBJECT, "urgency": "now"}),
}


@every("case", SAID)
@pytest.mark.promise("L-02")
def test_nothing_dangerous_becomes_a_rule(case: str) -> None:
    assert rules(taught(lessons(*SAID[case]))) == []


@pytest.mark.promise("L-02")
def test_a_name_that_the_policy_speaks_of_never_means_another_tool() -> None:
    lines = lessons(("shell", SUBJECT), SUBJECT)
    assert rules(taught(lines)) == [("name", "", "shell", "send_note")]
    for policy in ({"deny": ["sh*"]}, {"allow": ["shell"]}, {"tools": {"shell": {"write": "ask"}}}):
        learned = taught(lines, policy=load_policy({"policy": policy}))
        assert rules(learned) == []
        assert learned.found[0].refused == "the policy speaks of a tool of this name"


def test_an_address_is_no_default() -> None:
    right = {"subject": "s{}", "urgency": "low", "folder": "ann@example.com"}
    learned = taught(lessons({"subject": "s{}", "urgency": "low"}, right))
    assert [one.refused for one in learned.found] == ["the value is an address"]


def test_what_a_policy_refused_teaches_nothing() -> None:
    lines = [line | ({"status": "denied"} if line.get("ok") is False else {}) for line in headlines(SOURCES)]
    assert taught(PEOPLE + lines).found == ()


def test_side_effects_are_told() -> None:
    [one] = taught(PEOPLE + headlines(SOURCES)).rules
    assert one.effects == ("undeclared",)
    assert "changes calls with side effects" in pack_text([one], "p")


def proposal(kind: Any, place: str, given: str, meant: Any, tool: str = "t") -> Proposal:
    return Proposal(
        id=f"{kind}-1", kind=kind, tool=tool, place=place, given=given, meant=meant, seen=3, counted=3, sources=2,
        callers=("a",), caller_count=1, contexts=2, models={'m"\n[tools.x]\nmode = "observe"': 3}, otherwise=0,
        examples=(),
    )  # fmt: skip


@every("text", ['x"]\n[gate]\nmode = "observe"', "a\\", "'''", "tab\tnul\0", "\U0001f600", "\u2028x", "#"])
@pytest.mark.promise("L-02")
def test_a_pack_holds_exactly_what_was_proposed(text: str) -> None:
    made = [
        proposal("name", "", text, "t", tool=text[:3] + "t"), proposal("alias", "p", text, "p"),
        proposal("value", "q", text, text), proposal("default", "r", "", {"k": [1, True, text]}),
        proposal("form", "s", "h * 60", "h * 60"),
    ]  # fmt: skip
    written = pack_text(made, text)
    document = tomllib.loads(written)
    assert set(document) == {"pack", "tools"}
    assert document["pack"]["name"] == text
    assert document["tools"]["t"] == {
        "aliases": {text: "p"}, "values": {"q": {text: text}}, "defaults": {"r": {"k": [1, True, text]}},
        "forms": {"s": ["h * 60"]},
    }  # fmt: skip
    assert all(line.isascii() and line.isprintable() for line in written.splitlines() if not line.startswith("#"))
    assert not read_pack_text(written).tools[0].rules.mode


def test_a_pack_that_is_written_again_keeps_its_rules_and_comments() -> None:
    first = pack_text([proposal("alias", "p", "old", "p"), proposal("name", "", "tt", "t")], "mine")
    second = pack_text([proposal("alias", "p", "new", "p"), proposal("name", "", "ttt", "t")], "mine", first)
    lines = read_lines(second)["t"]
    assert set(lines) == {'aliases."old"', 'aliases."new"', "names"}
    assert lines["names"].value == '["tt", "ttt"]'
    assert len(lines["names"].comments) == len(lines['aliases."old"'].comments)  # the same evidence is told once
    assert read_pack_text(second).tools[0].rules.names == ("tt", "ttt")
