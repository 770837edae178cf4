"""The text a refused model reads is the design's, ends with a right call, and names nothing it may not know."""

import json
from typing import Any

import pytest

from rightcall import Gate
from rightcall.base.text import rename_hint
from rightcall.catalog.catalog import build_catalog
from rightcall.catalog.tool import PackTool, Tool
from rightcall.gate.examples import deprecated_hint, hint, unknown_tool_hint
from rightcall.gate.explain import problems
from rightcall.gate.stream import refuse_cut
from rightcall.types import Call, Problem, Rules, Verdict
from support.every import every


def tool_of(name: str = "write", schema: dict[str, Any] | None = None, **rules: Any) -> Tool:
    return build_catalog(overlays=[PackTool(name, schema=schema, rules=Rules(**rules), pack="p")]).tools[name]


TEXTS = {"type": "object", "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}}}
EXAMPLE = {"file_path": "notes.md", "content": "Grüße an alle"}


@pytest.mark.promise("V-03")
def test_missing_fields_give_the_text_of_the_design_word_for_word() -> None:
    tool = tool_of(schema=TEXTS, required=("file_path", "content"), example=EXAMPLE)
    assert hint(tool, problems(tool, {"file_path": "a"})) == (
        "⚠️ Invalid write call. Missing required fields: content. "
        'Example: {"file_path": "notes.md", "content": "Grüße an alle"}'
    )


FORECAST = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "api_key": {"type": "string"},
    },
    "required": ["city"],
}


@pytest.mark.promise("V-03")
@every(
    ("given", "example"),
    [
        ({"city": "Rome", "days": 30}, {"city": "Rome", "days": 7}),  # the nearest bound
        ({"unit": "kelvin", "city": "Rome"}, {"unit": "celsius", "city": "Rome"}),
        ({"days": 3}, {"days": 3, "city": "<city>"}),
        ({"days": 30}, {"city": "<city>"}),  # nothing of it is right
        ({"days": 30, "city": "x" * 2000}, {"city": "<city>"}),  # too long to show
        ({"days": 30, "city": "Rome", "api_key": "hunter2"}, {"city": "<city>"}),  # a secret is not repeated
    ],
)
def test_the_example_keeps_what_was_right(given: dict[str, Any], example: dict[str, Any]) -> None:
    tool = tool_of("forecast", FORECAST)
    text = hint(tool, problems(tool, given), given=Call("forecast", given))
    assert json.loads(text.partition("Example: ")[2]) == example
    assert tool.accepts(example)


@pytest.mark.promise("V-03")
def test_the_example_of_a_pack_stays_as_it_is() -> None:
    tool = tool_of(schema=TEXTS, required=("file_path", "content"), example=EXAMPLE)
    given = Call("write", {"file_path": "a"})
    assert json.loads(hint(tool, problems(tool, {"file_path": "a"}), given=given).partition("Example: ")[2]) == EXAMPLE


@pytest.mark.promise("V-03")
def test_a_group_and_other_problems_have_their_places() -> None:
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("subject", "body", "recipient_email", "to")},
    }
    tool = tool_of("gmail_send_email", schema, required=("subject", "body"), required_any=(("recipient_email", "to"),),
                   min_length={"body": 3})  # fmt: skip
    assert hint(tool, problems(tool, {"body": "x"})) == (
        "⚠️ Invalid gmail_send_email call. Missing required fields: subject, (recipient_email or to). "
        "`body` must have at least 3 characters, has 1. "
        'Example: {"subject": "<subject>", "body": "<body>", "recipient_email": "<recipient_email>"}'
    )


def test_without_a_missing_field_the_sentences_stand_alone() -> None:
    tool = tool_of("add", {"type": "object", "properties": {"n": {"type": "integer"}}})
    assert hint(tool, problems(tool, {"n": "x"})) == (
        '⚠️ Invalid add call. `n` must be an integer, got the text "x". Example: {"n": 1}'
    )


def test_an_argument_the_caller_may_not_use_is_not_named() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    }
    tool = tool_of("add", schema)
    assert hint(tool, problems(tool, {}), allowed={"a"}) == "⚠️ Invalid add call. Missing required fields: a."


def test_a_very_long_example_is_left_out() -> None:
    tool = tool_of(schema=TEXTS, required=("content",), example={"content": "x" * 2000})
    assert hint(tool, problems(tool, {})) == "⚠️ Invalid write call. Missing required fields: content."


def test_an_example_cannot_carry_hidden_characters_and_stays_json() -> None:
    tool = tool_of(schema=TEXTS, required=("content",), example={"content": "a\u202eb\x1b[31m"})
    text = hint(tool, problems(tool, {}))
    assert text.replace("\ufe0f", "").isprintable()
    assert json.loads(text.split("Example: ")[1]) == {"content": "a\u202eb\x1b[31m"}


@pytest.mark.promise("V-09")
def test_an_unknown_tool_gets_did_you_mean_and_the_names() -> None:
    assert unknown_tool_hint("wether") == "Unknown tool `wether`."
    assert unknown_tool_hint("wether", ["weather"], ["search", "weather"]) == (
        "Unknown tool `wether`. Did you mean `weather`? Tools: search, weather"
    )
    assert unknown_tool_hint("x", ["a", "b", "c"]).endswith("Did you mean `a`, `b` or `c`?")
    assert unknown_tool_hint("x", (), map(str, range(35))).endswith("28, 29 and 5 more")
    assert unknown_tool_hint("a\n\x1b[0m`").isprintable()


@pytest.mark.promise("V-07")
def test_a_deprecated_tool_is_told_its_replacement() -> None:
    old = tool_of(
        "write_local_file",
        TEXTS,
        replaced_by="write",
        replacement_arguments={"path": "file_path", "content": "content"},
    )
    new = tool_of(schema=TEXTS, required=("file_path",), example=EXAMPLE)
    assert deprecated_hint(old, new) == (
        "⚠️ Invalid write_local_file call. This tool is deprecated. Use `write` instead. `path` is `file_path` there. "
        'Example: {"file_path": "notes.md", "content": "Grüße an alle"}'
    )
    assert deprecated_hint(old).endswith("`path` is `file_path` there.")
    told = {"replaced_by": "Read", "replacement_arguments": {"path": "file_path"}, "example": {"path": "a.md"}}
    old = tool_of("read_local_file", {"type": "object", "properties": {"path": {"type": "string"}}}, **told)
    bare = tool_of("Read", {"type": "object", "additionalProperties": True})
    for known in (None, bare):  # nothing is known of the new tool, or nothing of its arguments
        assert deprecated_hint(old, known).endswith(
            'Use `Read` instead. `path` is `file_path` there. Example: {"file_path": "a.md"}'
        )


def test_problems_of_the_call_as_a_whole_are_always_told() -> None:
    told = hint(tool_of(schema=TEXTS), [Problem("unreadable", "", "nothing could be read")], allowed=())
    assert told == "⚠️ Invalid write call. nothing could be read."


@every("name", ["write", "write_" + "very_" * 21, "write_" + "very_" * 30, "wri\u200bte", "wri\nte"])
def test_every_hint_is_renamed_however_long_or_odd_the_name_is(name: str) -> None:
    tool = tool_of(name, TEXTS, required=("content",), replaced_by="save")
    cut = Verdict(ok=True, call=Call(name, {}), confidence=1.0)
    hints = {
        "missing": hint(tool, problems(tool, {})),
        "replaced": deprecated_hint(tool),
        "cut": refuse_cut(cut).hint,
        "no tool to hold it against": Gate().check(name, "[1]").hint,
    }
    renamed = {kind: rename_hint(text or "", name, "files_write") for kind, text in hints.items()}
    assert [kind for kind, text in renamed.items() if not text.startswith("⚠️ Invalid files_write call. ")] == []
