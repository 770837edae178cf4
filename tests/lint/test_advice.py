"""What a finding tells its reader to do: advice that keeps every valid call valid, and one voice for each argument."""

from typing import Any

import pytest

from rightcall.lint import Choice, Document, Finding, lint, view_tools
from rightcall.lint.rules import severity_of


def tool(name: str, **arguments: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": arguments}
    return {"name": name, "description": "Moves barges on the canal.", "inputSchema": schema}


def findings_of(*tools: dict[str, Any], notes: bool = False) -> list[Finding]:
    return lint(
        Document("case", "server", view_tools([((at,), raw) for at, raw in enumerate(tools)])), Choice(notes=notes)
    )


def advice(rule: str, *tools: dict[str, Any]) -> list[str]:
    return [one.remedy for one in findings_of(*tools) if one.rule == rule]


@pytest.mark.parametrize(
    ("argument", "remedy"),
    [
        ({"type": "string"}, 'add "enum": ["left", "right"]'),
        ({"type": "array", "items": {"type": "string"}}, 'add "enum": ["left", "right"] to `items`'),
        ({"type": ["string", "null"]}, 'add "enum": ["left", "right"], with null in it'),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 'add "enum": ["left", "right"] beside its `type: string`'),
    ],
)
def test_choices_are_proposed_where_they_belong(argument: dict[str, Any], remedy: str) -> None:
    assert advice("RC301", tool("tow_barge", side={**argument, "description": "One of: left, right"})) == [remedy]


def test_all_choices_are_proposed_and_nothing_else() -> None:
    names = [f"number_{at}_of_the_lock" for at in range(12)]
    text = f"Kind of the lock ({', '.join(names)}, optional)"
    proposed = 'add "enum": ["' + '", "'.join(names) + '"]'
    assert advice("RC301", tool("tow_barge", kind={"type": "string", "description": text})) == [proposed]


def test_a_reference_is_to_be_replaced_by_its_schema() -> None:
    lock = {"type": "object", "properties": {"gate": {"type": "string", "description": "Name of the gate"}}}
    for beside in ({}, {"type": "object"}):
        raw = tool("tow_barge", lock={**beside, "$ref": "#/$defs/Lock", "description": "Lock to pass"})
        raw["inputSchema"]["$defs"] = {"Lock": lock}
        assert advice("RC506", raw) == ["put the referenced schema in its place"]


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("ISO 8601 date, e.g. 2024-05-01", ['add "format": "date"']),
        ("ISO 8601 date, e.g. 2024-05-01T10:00:00Z", ['add "format": "date-time"']),
        ("Start date in ISO 8601", ['add "format": "date" or "date-time" (which needs a time zone)']),
        ("Date in ISO format (YYYY-MM-DD)", ['add "format": "date"']),
        ("RFC 3339 timestamp, e.g. 2024-05-01", []),
        ("Must be a valid IP address", ['add "format": "ipv4" or "ipv6"']),
        ("Must be a valid URL, e.g. canal.test/map", []),
    ],
)
def test_a_format_is_proposed_only_if_the_example_has_it(text: str, remedy: list[str]) -> None:
    assert advice("RC302", tool("tow_barge", since={"type": "string", "description": text})) == remedy


@pytest.mark.parametrize(
    ("argument", "remedy"),
    [
        ({"type": "integer", "description": "Between 1 and 9"}, ['add "minimum": 1, "maximum": 9']),
        ({"type": "integer", "description": "Between 1 and 9, 0 for all"}, []),
        ({"type": "integer", "description": "Between 1 and 9", "default": 0}, []),
        ({"type": "integer", "description": "Must be positive"}, ['add "minimum": 1']),
        ({"type": "number", "description": "Must be positive"}, ['add "minimum": 0']),
        (
            {"type": "integer", "description": "Must be greater than 0 and less than or equal to 9"},
            ['add "maximum": 9, "minimum": 1'],
        ),
    ],
)
def test_bounds_leave_room_for_the_values_that_the_text_tells(argument: dict[str, Any], remedy: list[str]) -> None:
    assert advice("RC304", tool("tow_barge", barges=argument)) == remedy


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Kind of the freight: coal, sand-and-gravel, or grain", '["coal", "sand-and-gravel", "grain"]'),
        ("Kind of the freight: coal, grain or sand", '["coal", "grain", "sand"]'),
    ],
)
def test_a_word_with_hyphens_is_one_value(text: str, values: str) -> None:
    assert advice("RC301", tool("tow_barge", freight={"type": "string", "description": text})) == [
        f'add "enum": {values}'
    ]


def test_the_format_of_a_list_belongs_to_its_items() -> None:
    barges = {"type": "array", "items": {"type": "string"}, "description": "Barge UUIDs, in their order"}
    assert advice("RC302", tool("tow_all", tows=barges)) == ['add "format": "uuid" to `items`']


def test_parts_of_all_of_are_to_be_merged() -> None:
    parts = [{"type": "object", "properties": {"at": {"type": "string", "description": "Where"}}}, {"required": ["at"]}]
    told = advice("RC504", tool("tow_barge", place={"allOf": parts, "description": "Place"}))
    assert told == ["merge the parts of `allOf` into one schema"]


def test_only_one_rule_speaks_of_the_spelling_of_an_argument() -> None:
    text = {"type": "string", "description": "Number of the lock"}
    mixed, other, plain = (
        tool("open_lock", lockId=text, canal_name={"type": "string", "description": "Which canal"}),
        tool("shut_lock", lockId=text),
        {"lock_id": text},
    )
    spoken = {
        tuple(one.rule for one in findings_of(mixed, *rest) if "lockId" in one.message + one.remedy)
        for rest in (
            [other],
            [other, other | {"name": "dry_lock"}],
            [tool("dry_lock", **plain)],
            [other, tool("dry_lock", **plain)],
        )
    }
    assert spoken == {("RC120",)}


def test_arguments_without_a_description_are_counted_by_their_full_names() -> None:
    branch = {"type": "object", "properties": {"crew": {"type": "string"}}}
    found = findings_of(tool("tow_barge", who={"anyOf": [branch, branch], "description": "Who tows"}))
    assert [one.message for one in found] == ["1 argument has no description, and nothing explains it: `who.crew`"]


def test_a_value_in_two_spellings_and_a_long_list_are_notes() -> None:
    ranks = {"type": "string", "enum": ["mate", "Mate", "captain"], "description": "Rank on the barge"}
    many = [tool(f"tow_{letter}{other}_barge") for letter in "abcdefg" for other in "hijklm"]
    for rule, tools in (("RC420", [tool("rank_mate", rank=ranks)]), ("RC604", many)):
        assert rule not in {one.rule for one in findings_of(*tools)}
        assert rule in {one.rule for one in findings_of(*tools, notes=True)}


def test_what_is_optional_is_not_to_be_listed_as_required() -> None:
    flagged = {"type": "integer", "description": "How many barges"}
    assert advice("RC422", tool("tow_barges", count={**flagged, "required": False})) == [
        "remove it: what `required` does not list is optional"
    ]
    assert advice("RC422", tool("tow_barges", count={**flagged, "required": True})) == [
        "list its name in `required` of the object around it"
    ]


def test_a_letter_is_written_out_to_the_word_of_its_text() -> None:
    assert advice(
        "RC113", tool("list_barges", f={"type": "string", "description": "Filter by owner, such as `ann`"})
    ) == ["rename it to `filter`"]


@pytest.mark.parametrize(
    ("text", "remedy", "levels"),
    [
        ("URL of the timetable", 'add "format": "uri"', ["note"]),
        ("Public https URL of the timetable", 'add "pattern": "^https?://"', ["warning"]),
        ("Must be a valid URL including the protocol", 'add "pattern": "^https?://"', ["warning"]),
        ("Email address of the skipper", 'add "format": "email"', ["warning"]),
    ],
)
def test_a_format_that_a_provider_refuses_is_no_more_than_a_note(text: str, remedy: str, levels: list[str]) -> None:
    found = findings_of(tool("tow_barge", timetable={"type": "string", "description": text}), notes=True)
    assert [(one.remedy, severity_of(one)) for one in found if one.rule == "RC302"] == [
        (remedy, level) for level in levels
    ]


def test_a_format_that_only_the_name_tells_is_told_so() -> None:
    found = findings_of(tool("tow_barge", skipper_email={"type": "string", "description": "Who steers it"}))
    assert [one.message for one in found] == ["only the name of `skipper_email` says that it is an email address"]


@pytest.mark.parametrize(("words", "level"), [(20, "warning"), (50, "note")])
def test_what_a_long_text_lists_is_a_note(words: int, level: str) -> None:
    text = f"Side of the canal. One of: left, right. {'Mind the gates on the way. ' * (words // 6)}"
    found = findings_of(tool("tow_barge", side={"type": "string", "description": text}), notes=True)
    assert [severity_of(one) for one in found if one.rule == "RC301"] == [level]


@pytest.mark.parametrize(("levels", "level"), [(6, "note"), (7, "warning")])
def test_one_level_too_many_is_a_note(levels: int, level: str) -> None:
    part: dict[str, Any] = {"type": "string", "description": "Innermost"}
    for at in range(levels - 1):
        part = {"type": "object", "description": "Parts of it", "properties": {f"part_{at}": part}}
    found = findings_of(tool("tow_barge", whole=part), notes=True)
    assert [severity_of(one) for one in found if one.rule == "RC411"] == [level]


def test_a_tool_that_is_even_in_its_own_style_is_noted_only() -> None:
    text = {"type": "string", "description": "Which one, as the office calls it"}
    others = [tool(name, barge_name=text, lock_name=text) for name in ("tow_barge", "free_barge")]
    even = tool("paint_barge", bargeName=text, hullColour=text, newFlag=text)
    alone = tool("paint_barge", bargeName=text)
    for one, level in ((even, "note"), (alone, "warning")):
        found = findings_of(*others, one, notes=True)
        assert [severity_of(hit) for hit in found if hit.rule == "RC114"] == [level]


@pytest.mark.parametrize(("verb", "needed"), [("get", "owner"), ("get", "barge"), ("sink", "canal")])
def test_a_letter_for_the_plural_is_a_warning_whatever_two_tools_need(verb: str, needed: str) -> None:
    text = {"type": "string", "description": "Which one, as the office calls it"}
    single, several = tool(f"{verb}_barge", barge=text), tool(f"{verb}_barges", **{needed: text})
    single["inputSchema"]["required"], several["inputSchema"]["required"] = ["barge"], [needed]
    found = findings_of(single, several, notes=True)
    assert [severity_of(one) for one in found if one.rule == "RC101"] == ["warning"]


def test_an_array_inside_of_an_array_is_told_as_its_item() -> None:
    rows = {"type": "array", "description": "Rows of berths", "items": {"type": "array"}}
    assert [one.message for one in findings_of(tool("plan_berths", rows=rows))] == [
        "an item of `rows` is an array without `items`"
    ]


def test_positions_of_a_list_are_to_become_items() -> None:
    corner = {"type": "array", "description": "Corner of the dock", "prefixItems": [{"type": "number"}] * 2}
    assert advice("RC504", tool("plan_berths", corner=corner)) == [
        "write `items` for `prefixItems`, or make it an object"
    ]


@pytest.mark.parametrize(
    ("text", "level"), [("ISO datetime to sail at", "note"), ("When to sail, as ISO 8601 timestamp", "warning")]
)
def test_a_time_that_may_be_local_is_a_note(text: str, level: str) -> None:
    found = findings_of(tool("tow_barge", sails={"type": "string", "description": text}), notes=True)
    assert [severity_of(one) for one in found if one.rule == "RC302"] == [level]


def test_one_side_of_a_short_pair_is_not_written_out_alone() -> None:
    text = {"type": "string", "description": "Lock, by its name on the map"}
    assert advice("RC113", tool("tow_barge", src_lock=text, dst_lock=text)) == []
    assert advice("RC113", tool("tow_barge", dst_lock=text)) == ["rename it to `destination_lock`"]


@pytest.mark.parametrize(
    ("name", "text", "pattern"),
    [
        ("opens_at", "Time in HH:MM", "^([01]\\d|2[0-3]):[0-5]\\d$"),
        ("time_spent", "Duration in HH:MM", ""),  # 40:00 is one, too
        ("airport", "IATA code of the airport", "^[A-Za-z]{3}$"),
        ("carrier", "IATA airline code", "^[A-Za-z0-9]{2}$"),
    ],
)
def test_a_pattern_is_proposed_that_takes_every_value_of_the_kind(name: str, text: str, pattern: str) -> None:
    proposed = f'add "pattern": "{pattern}"' if pattern else "add a `pattern` that says so, anchored with `^` and `$`"
    assert advice("RC303", tool("tow_barge", **{name: {"type": "string", "description": text}})) == [proposed]
