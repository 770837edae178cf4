"""What `--fix` writes keeps every valid call valid (L-05), changes only what it says, and is stable."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.catalog.schema import validator
from rightcall.catalog.tidy import tidy_arguments
from rightcall.errors import RightCallError
from rightcall.hosts.install.edits import apply, read
from rightcall.lint import Choice, Document, lint, load_rules, read_file, view_tools
from rightcall.lint.definitions import view_tool
from rightcall.lint.fixes import FIXED, _differences, fix_document, fix_tool, write_fixes

ALL = Choice(select=("RC",))
NAMES = ("path", "limit", "tags", "mode")
TYPES = ("string", "integer", "number", "boolean", "str", "int", "float", "bool", "list", "dict")
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from((0.5, 1.0, "a", "b", "", "1")),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
    max_leaves=4,
)
TEXTS = st.sampled_from(
    (
        "",
        "How many. Defaults to 2.",
        "The mode\u200b to use, default: 'a'",
        "One of: a, b",
        "Default: true",
        "An amount, default 0.5",
    )
)


def leaves() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(TYPES) | st.just(["string", "null"]),
            "title": st.sampled_from(("Path", "Limit", "Other")),
            "description": TEXTS,
            "enum": st.lists(st.sampled_from(("a", "b", 1, 2)), min_size=1, max_size=3, unique=True),
            "const": st.sampled_from(("a", 1)),
            "minimum": st.integers(-2, 2),
            "exclusiveMinimum": st.integers(-2, 2),
            "exclusiveMaximum": st.integers(-2, 2),
            "default": VALUES,
            "examples": st.lists(VALUES, max_size=2),
            "nullable": st.booleans(),
            "required": st.booleans(),
        },
    )


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    branches = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("array")}, optional={"items": inner, "description": TEXTS}),
        st.fixed_dictionaries({"oneOf": branches}, optional={"anyOf": branches, "description": TEXTS}),
        st.fixed_dictionaries({"not": inner}, optional={"oneOf": branches}),
        st.fixed_dictionaries({"if": inner, "then": inner}, optional={"oneOf": branches}),
        st.fixed_dictionaries({"anyOf": branches}),
        st.builds(lambda name: {"$ref": f"#/$defs/{name}", "description": "What is meant"}, st.sampled_from("AB")),
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=2)},
            optional={
                "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
                "additionalProperties": st.booleans() | inner,
            },
        ),
    )


PARTS = st.recursive(leaves(), nested, max_leaves=8)


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, Any]:
    properties = draw(st.dictionaries(st.sampled_from(NAMES), PARTS, max_size=3))
    schema: dict[str, Any] = {"properties": properties, "$defs": {"A": draw(PARTS), "B": draw(leaves())}}
    if draw(st.booleans()):
        schema = {"type": "object", **schema}
    if draw(st.booleans()):
        schema["required"] = draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
    if draw(st.booleans()):
        schema["additionalProperties"] = draw(st.booleans())
    text = draw(st.sampled_from(("Does it.", "Does it.\n\nArgs:\n    path: where it is\n    limit: how many\n")))
    hints = draw(st.sampled_from(({}, {"annotations": {"read_only_hint": "true"}})))
    return {"name": "do_it", "description": text, "inputSchema": schema, **hints}


def accepts(raw: dict[str, Any], call: dict[str, Any]) -> bool | None:
    """Whether a call fits a definition as RightCall reads it; None where nobody can read it."""
    try:
        return validator(tidy_arguments(raw["inputSchema"])).is_valid(call)
    except (RightCallError, ValueError):
        return None


CALLS = st.dictionaries(st.sampled_from((*NAMES, "other")), VALUES, max_size=4)


@pytest.mark.promise("L-05")
@given(definitions(), st.lists(CALLS, min_size=1, max_size=8), st.sets(st.sampled_from(sorted(FIXED))))
def test_every_call_that_was_valid_stays_valid(
    raw: dict[str, Any], calls: list[dict[str, Any]], rules: set[str]
) -> None:
    before = json.dumps(raw)
    fixed = fix_tool(view_tool(raw), rules or FIXED)
    assert json.dumps(raw) == before
    for call in calls:
        if accepts(raw, call):
            assert accepts(fixed, call), (raw, fixed, call)


@given(definitions())
def test_fixing_twice_changes_nothing_more(raw: dict[str, Any]) -> None:
    once = fix_tool(view_tool(raw), FIXED)
    assert fix_tool(view_tool(once), FIXED) == once


@pytest.mark.promise("L-05")
@pytest.mark.parametrize("rule", [rule for rule in load_rules().values() if rule.fixable], ids=lambda rule: rule.id)
def test_a_fix_removes_its_finding(rule: Any) -> None:
    tools = rule.bad_tools()
    document = Document("example", "server", view_tools([((number,), raw) for number, raw in enumerate(tools)]))
    findings = lint(document, ALL)
    fixes = fix_document(document, [one for one in findings if one.rule == rule.id])
    assert [fix.rules for fix in fixes] == [(rule.id,)]
    fixed = Document("example", "server", view_tools([((0,), fixes[0].fixed)]))
    assert rule.id not in {one.rule for one in lint(fixed, ALL)}


FILE = """\
// the tools of the shop
[
    {"name": "find_goods", "description": "Finds goods in the shop.",
     "inputSchema": {"type": "object",
                     "properties": {"tags": {"type": "array", "description": "Tags"},   // free words
                                    "count": {"type": "int", "description": "How many"}},
                     "required": ["tags"]}},
    {"name": "buy_goods", "description": "Buys goods for a customer.",
     "inputSchema": {"type": "object", "properties": {}}},
]
"""


def test_only_what_differs_is_written_anew() -> None:
    document = read_file("tools.json", FILE)
    new = write_fixes(document, fix_document(document, lint(document, ALL)))
    assert new == FILE.replace('"description": "Tags"}', '"description": "Tags", "items": {}}').replace(
        '"int"', '"integer"'
    )


def test_lines_and_compact_files_keep_their_layout() -> None:
    one = '{"name":"find","parameters":{"type":"object","properties":{"tags":{"type":"array"}}}}'
    other = '{"name": "buy", "description": "Buys goods for a customer."}'
    document = read_file("tools.jsonl", f"{one}\n\n{other}\n")
    findings = [finding for finding in lint(document, ALL) if finding.rule == "RC404"]
    assert [finding.line for finding in findings] == [1]
    assert (
        write_fixes(document, fix_document(document, findings))
        == one.replace('"array"', '"array","items":{}') + f"\n\n{other}\n"
    )


COMMENTED = """[{"name": "book_room", "description": "Books a room of a hotel for the user.",
  "parameters": {
    "type": "object",
    "properties": {
      // the hotel, see HOTEL-12
      "hotel_id": {"type":"string","title":"Hotel Id","description":"ID of the hotel"}, // in capitals
      "guests":   {"type":"integer","maximum":1e2,"title": "Guests"},
      "nights": {"type": "integer", "exclusiveMinimum": 0, "title": "Nights"} // at least one
    }, "required": ["gone"] // left over
  }}]
"""


def test_comments_numbers_and_layout_stay_where_keys_go() -> None:
    document = read_file("tools.json", COMMENTED)
    rules = {"RC403", "RC416", "RC504"}
    found = [finding for finding in lint(document, ALL) if finding.rule in rules]
    assert {finding.rule for finding in found} == rules
    assert write_fixes(document, fix_document(document, found)) == (
        COMMENTED.replace('"title":"Hotel Id",', "")
        .replace(',"title": "Guests"', "")
        .replace(', "exclusiveMinimum": 0, "title": "Nights"', ', "minimum": 1')
        .replace(', "required": ["gone"]', "")
    )


@given(
    st.dictionaries(st.sampled_from("abcd"), VALUES), st.dictionaries(st.sampled_from("abcd"), VALUES), st.booleans()
)
def test_what_differs_is_written_whatever_goes_and_comes(old: dict[str, Any], new: dict[str, Any], wide: bool) -> None:
    text = json.dumps(old, indent=2 if wide else None)
    assert json.loads(apply(text, _differences(text, read(text), old, new))) == new


def test_the_words_of_gemini_stay() -> None:
    note = {"type": "STRING", "nullable": True, "description": "Note to the driver"}
    stops = {"type": "ARRAY", "nullable": True, "description": "Places to stop at"}
    schema = {"type": "OBJECT", "properties": {"note": note, "stops": stops}, "required": ["note", "stops"]}
    tool = {"name": "book_taxi", "description": "Books a taxi to the office of the user.", "parameters": schema}
    fixed = fix_tool(view_tool(tool), FIXED)
    assert fixed == tool | {"parameters": schema | {"properties": {"note": note, "stops": stops | {"items": {}}}}}


def test_a_misspelt_name_in_required_is_left_to_a_person() -> None:
    schema = {"type": "object", "properties": {"hotel_id": {"type": "string"}}, "required": ["hotelId"]}
    tool = view_tool({"name": "find_hotel", "description": "Finds a hotel.", "inputSchema": schema})
    found = [one for one in lint(Document("case", "server", (tool,)), ALL) if one.rule == "RC403"]
    assert [(one.remedy, one.fixable) for one in found] == [("write `hotel_id`", False)]
    assert fix_tool(tool, {"RC403"}) == tool.raw
