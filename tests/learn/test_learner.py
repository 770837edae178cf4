"""What a history teaches: planted mistakes are found, noise is not, and no call that worked is changed."""

import pytest
from msgspec import json

from rightcall import Gate
from rightcall.catalog import read_pack_text
from rightcall.learn import Bench, Learned, Safety, learn, logged, pack_text
from rightcall.policy.settings import DEFAULT_POLICY
from support.damaged_histories import World
from support.drawn_histories import Drawn
from support.lessons import RIGHT, call, corrected, headlines, rules, taught, working

SOURCES = [("ann", "1"), ("bob", "2"), ("ann", "3"), ("cyd", "4"), ("bob", "5")]
PEOPLE = working("ann", "bob", "cyd")


def learned_from(world: World | Drawn) -> tuple[Learned, list[bytes]]:
    lines = [json.encode(line) for line in world.lines()]
    bench = Bench(world.tools, DEFAULT_POLICY)
    return learn(lambda: logged(iter(enumerate(lines, 1)), bench, print), bench, Safety(bench)), lines


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(World(21, 130), id="damaged"),
        pytest.param(Drawn(21, 110, poison=60), id="drawn", marks=pytest.mark.long),
    ],
)
@pytest.mark.promise("L-02")
def test_planted_mistakes_are_found_and_noise_is_not(world: World | Drawn) -> None:
    learned, lines = learned_from(world)
    missed, false = world.score([json.decode(json.encode(one)) for one in learned.proposed])
    assert len(missed) <= 4, missed
    assert len(false) <= 2, false
    before, after = Gate(world.tools), Gate(world.tools, packs=[read_pack_text(pack_text(learned.rules, "learned"))])
    for line in map(json.decode, lines):
        if line.get("ok") and not (verdict := before.check(line["name"], line["arguments"])).repairs:
            assert after.check(line["name"], line["arguments"]).call == verdict.call


def test_an_argument_that_is_misnamed_again_and_again_becomes_an_alias() -> None:
    learned = taught(PEOPLE + headlines(SOURCES))
    assert rules(learned) == [("alias", "subject", "cargo", "subject")]
    [one] = learned.rules
    assert (one.seen, one.counted, one.sources, one.models) == (5, 5, 3, {"m": 5})
    assert (one.measured.saved, one.measured.tested, one.measured.changed) == (5, 5, 0)
    assert one.effects == ("undeclared",)


def test_the_same_history_gives_the_same_answer() -> None:
    lines = PEOPLE + headlines(SOURCES)
    assert json.encode(taught(lines)) == json.encode(taught(lines))


def test_a_value_a_name_a_default_and_a_form_are_learned() -> None:
    lines = list(PEOPLE)
    for number, (caller, context) in enumerate(SOURCES):
        right = {**RIGHT, "subject": f"s{number}", "copies": 12 * (number + 1)}
        lines += corrected(caller, f"{context}v", {**right, "urgency": "yesterday"}, {**right, "urgency": "now"})
        lines += corrected(caller, f"{context}n", ("jot_down", right), right)
        lines += corrected(caller, f"{context}f", {**right, "copies": f"{number + 1} gross"},
                           {**right, "copies": 144 * (number + 1)})  # fmt: skip
        forgotten = {name: value for name, value in right.items() if name != "folder"}
        lines += corrected(caller, f"{context}d", forgotten, {**right, "folder": "inbox"})
    assert rules(taught(lines)) == [
        ("name", "", "jot_down", "send_note"),
        ("value", "urgency", "yesterday", "now"),
        ("form", "copies", "gross * 144", "gross * 144"),
        ("default", "folder", "", "inbox"),
    ]


def test_two_mistakes_in_one_call_are_learned_one_after_the_other() -> None:
    lines = PEOPLE + headlines(SOURCES)
    for number, (caller, context) in enumerate(SOURCES):
        right = {**RIGHT, "subject": f"both {number}", "urgency": "now"}
        wrong = {"cargo": f"both {number}", "folder": "b", "urgency": "yesterday"}
        lines += corrected(caller, f"{context}b", wrong, right)
    assert ("value", "urgency", "yesterday", "now") in rules(taught(lines))


def test_a_default_needs_the_same_value_every_time() -> None:
    lines = list(PEOPLE)
    for number, (caller, context) in enumerate([*SOURCES, *SOURCES]):
        folder = "inbox" if number else "other"
        lines += corrected(caller, f"{context}-{number}", {"subject": f"{number}", "urgency": "low"},
                           {"subject": f"{number}", "urgency": "low", "folder": folder})  # fmt: skip
    assert rules(taught(lines)) == []


def test_a_default_that_may_be_chance_is_not_proposed() -> None:
    lines = [call("ann", f"r{at}", "send_note", {**RIGHT, "folder": "ab"[at % 2]}, True) for at in range(40)]
    lines += PEOPLE
    for caller, context in SOURCES[:3]:
        lines += corrected(
            caller, context, {"subject": "x", "urgency": "low"}, {**RIGHT, "subject": "x", "folder": "a"}
        )
    learned = taught(lines)
    assert rules(learned) == []
    assert "by chance" in next(one for one in learned.found if one.kind == "default").refused


def test_a_word_that_means_two_things_is_not_learned() -> None:
    lines = PEOPLE + headlines(SOURCES, "spot", "subject") + headlines(SOURCES, "spot", "folder")
    assert rules(taught(lines)) == []


@pytest.mark.promise("L-02")
def test_a_rule_that_would_change_a_call_that_worked_is_not_proposed() -> None:
    worked = [call("ann", "w", "send_note", {**RIGHT, "cargo": "x", "subject": "y"}, True)]
    optional = []
    for number, (caller, context) in enumerate(SOURCES):
        right = {**RIGHT, "subject": f"{number}", "copies": number + 2}
        wrong = {**RIGHT, "subject": f"{number}", "note_count": number + 2}
        optional += corrected(caller, context, wrong, right)
    kept = [call("cyd", "k", "send_note", {**RIGHT, "note_count": 9}, True)]
    assert rules(taught(PEOPLE + optional)) == [("alias", "copies", "note_count", "copies")]
    refused = taught(PEOPLE + optional + kept + worked)
    assert rules(refused) == []
    assert "would change 1 calls that worked" in refused.found[0].refused


def test_tools_that_do_not_exist_are_told() -> None:
    lines = list(PEOPLE)
    for caller, context in SOURCES:
        lines.append(call(caller, context, "send_fax", {"to": "x", "page": 3}, False))
    learned = taught(lines)
    [one] = learned.proposed
    assert (one.kind, one.given, one.shown) == ("missing", "send_fax", ("page, to",))
    assert not learned.rules


def test_a_format_that_nobody_reads_is_told() -> None:
    lines = list(PEOPLE)
    for number, (caller, context) in enumerate(SOURCES):
        right = {**RIGHT, "subject": f"s{number}"}
        said = {"caller": caller, "context": context, "model": "m", "ok": False}
        lines += [{**said, "text": f"Ok. ##send_note## subject~s{number}; folder~b; urgency~low"}]
        lines += [call(caller, context, "send_note", right, True)]
    [one] = taught(lines).proposed
    assert (one.kind, one.given) == ("format", "##TOOL## ARG~VALUE")


def test_a_tool_that_is_called_for_another_is_told() -> None:
    tools = [
        {"name": name, "parameters": {"type": "object", "required": ["who"], "properties": {"who": {"type": "string"}}}}
        for name in ("find_person", "find_firm")
    ]
    lines = list(working("ann", "bob")[:0])
    for number, (caller, context) in enumerate([*SOURCES, *SOURCES]):
        who = {"who": f"name {number}"}
        lines += [call(caller, context, "find_person", {"who": f"other {number}"}, True)]
        lines += [call(caller, context, "find_person", who, False), call(caller, context, "find_firm", who, True)]
    [one] = taught(lines, tools).proposed
    assert (one.kind, one.given, one.meant) == ("switch", "find_person", "find_firm")


def test_an_argument_that_gets_ever_other_wrong_values_is_told() -> None:
    tools = [{"name": "charge", "parameters": {"type": "object", "required": ["account"], "properties":
              {"account": {"type": "string", "pattern": "^A-[0-9]+$"}}}}]  # fmt: skip
    lines = []
    for number, (caller, context) in enumerate(SOURCES * 3):
        lines += [call(caller, context, "charge", {"account": f"A-{number}"}, True)]
        lines += corrected(caller, context, {"account": f"Mr. {number}"}, {"account": f"A-{number}7"}, "charge")
    [one] = taught(lines, tools).proposed
    assert (one.kind, one.tool, one.place) == ("unclear", "charge", "account")


def test_two_sources_are_enough_where_one_off_mistakes_are_rare() -> None:
    pair = headlines([("ann", "1"), ("bob", "2")])
    assert rules(taught(PEOPLE + pair)) == [("alias", "subject", "cargo", "subject")]
    strays = [line for at in range(6) for line in headlines([("cyd", f"s{at}")], f"odd_{at}")]
    assert rules(taught(PEOPLE + pair + strays)) == []  # among many one-off mistakes, two alike may be chance
    assert rules(taught(PEOPLE + headlines([("ann", "1"), ("ann", "2")]))) == []


def test_a_value_that_is_always_passed_is_a_default_also_in_a_short_history() -> None:
    lines = [*PEOPLE, *(call("ann", f"r{at}", "send_note", RIGHT, True) for at in range(4))]
    for number, (caller, context) in enumerate(SOURCES[:4]):
        right = {**RIGHT, "subject": f"s{number}"}
        lines += corrected(caller, context, {name: right[name] for name in ("subject", "urgency")}, right)
    assert rules(taught(lines)) == [("default", "folder", "", "b")]


def test_a_word_for_not_knowing_is_no_value() -> None:
    lines = list(PEOPLE)
    for number, (caller, context) in enumerate(SOURCES):
        right = {**RIGHT, "subject": f"s{number}"}
        lines += corrected(caller, f"{context}q", {**right, "urgency": "??"}, right)
        lines += corrected(caller, f"{context}u", {**right, "urgency": "unknown"}, right)
    learned = taught(lines)
    assert rules(learned) == []
    assert {one.refused for one in learned.found} == {"it is written where a value is not known"}


@pytest.mark.parametrize("sign", [">=", "€"])
def test_a_sign_may_be_another_name_of_a_value(sign: str) -> None:
    lines = list(PEOPLE)
    for number, (caller, context) in enumerate(SOURCES):
        right = {**RIGHT, "subject": f"s{number}"}
        lines += corrected(caller, context, {**right, "urgency": sign}, right)
    assert rules(taught(lines)) == [("value", "urgency", sign, RIGHT["urgency"])]


def test_values_of_an_unclear_argument_agree_by_chance() -> None:
    lines = list(PEOPLE)
    words = ("soon", "later", "asap", "today", "weekly")
    for number, (caller, context) in enumerate([*SOURCES, *SOURCES, *SOURCES]):
        word = words[number // 3]
        meant = "high" if word == "soon" or number % 2 else "low"
        right = {**RIGHT, "subject": f"s{number}", "urgency": meant}
        lines += corrected(caller, f"{context}-{number}", {**right, "urgency": word}, right)
    learned = taught(lines)
    assert not [one for one in learned.rules if one.kind == "value"]
    assert "by chance" in next(one for one in learned.found if one.given == "soon").refused


def test_a_format_is_one_whether_its_last_value_is_a_text_or_a_number() -> None:
    lines = list(PEOPLE)
    for number, (caller, context) in enumerate([*SOURCES, *SOURCES]):
        right = {**RIGHT, "subject": f"s{number}", **({"copies": number} if number % 2 else {})}
        said = " | ".join(f"{name} = {json.encode(value).decode()}" for name, value in right.items())
        lines += [{"caller": caller, "context": context, "model": "m", "text": f"TOOL> send_note | {said}"}]
        lines += [call(caller, context, "send_note", right, True)]
    [one] = taught(lines).proposed
    assert (one.kind, one.seen) == ("format", 10)


def test_a_tool_that_is_called_for_another_is_told_by_its_words_as_well() -> None:
    tools = [
        {"name": name, "parameters": {"type": "object", "required": [key], "properties": {key: {"type": "string"}}}}
        for name, key in (("shell", "line"), ("show_page", "page"))
    ]
    lines = list(PEOPLE)
    for number, (caller, context) in enumerate(SOURCES):
        lines += [call(caller, context, "shell", {"line": f"open page{number}"}, False)]
        lines += [call(caller, context, "show_page", {"page": f"page{number}"}, True)]
    found = [one for one in taught(lines, tools).proposed if one.kind == "switch"]
    assert [(one.given, one.meant) for one in found] == [("shell", "show_page")]
