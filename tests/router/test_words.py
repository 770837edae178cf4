"""What is read of tools and requests before any of them is looked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.catalog.catalog import build_catalog
from rightcall.errors import ToolError
from rightcall.router.lexical import (
    Fields,
    ToolText,
    fields_of,
    name_words,
    spelled_words,
    stem,
    tool_texts,
    words,
)
from support.every import every

SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "description": "Where to look."}}}
WEATHER = ToolText("get_weather", "The forecast.", SCHEMA)


def get_weather(city: str) -> str:
    """The forecast.

    Args:
        city: Where to look.
    """
    return city


@pytest.mark.promise("T-03")
@every(
    "definition",
    [
        {"type": "function", "function": {"name": "get_weather", "description": "The forecast.", "parameters": SCHEMA}},
        {"name": "get_weather", "description": "The forecast.", "input_schema": SCHEMA},
        {"name": "get_weather", "description": "The forecast.", "inputSchema": SCHEMA},
        {"name": "get_weather", "description": "The forecast.", "parameters": SCHEMA},
        {"functionDeclarations": [{"name": "get_weather", "description": "The forecast.", "parameters": SCHEMA}]},
        WEATHER,
    ],
)
def test_a_tool_reads_the_same_in_every_shape_of_definition(definition: object) -> None:
    assert tool_texts([definition]) == [WEATHER]


@pytest.mark.promise("T-03")
def test_functions_and_tools_of_a_catalogue_are_read_too() -> None:
    compiled = build_catalog([{"name": "get_weather", "description": "The forecast.", "parameters": SCHEMA}])
    (from_function,), (from_catalogue,) = tool_texts([get_weather]), tool_texts([*compiled.tools.values()])
    for tool in (from_function, from_catalogue):
        assert fields_of(tool) == Fields("get_weather", "The forecast.", (("city", "Where to look."),))


def test_a_tool_without_a_name_is_refused_with_what_would_be_right() -> None:
    with pytest.raises(ToolError, match=r"tool number 2 has no name .*; right is"):
        tool_texts([{"name": "add"}, {"description": "nameless"}])


def test_arguments_inside_objects_lists_and_alternatives_are_found() -> None:
    tool = ToolText(
        "book",
        parameters={
            "type": "object",
            "properties": {
                "guest": {"type": "object", "properties": {"surname": {"description": "Family name"}}},
                "rooms": {"type": "array", "items": {"properties": {"beds": {"enum": ["single", "double", 3]}}}},
                "pay": {"anyOf": [{"properties": {"card": True}}, {"properties": {"cash": {}}}]},
            },
        },
    )
    fields = fields_of(tool)
    assert [name for name, _ in fields.arguments] == ["guest", "rooms", "pay", "surname", "beds", "cash"]
    assert fields.choices == ("single", "double")


def test_a_bare_table_of_arguments_is_read_as_one() -> None:
    assert fields_of(ToolText("add", parameters={"first": {"type": "integer", "description": "one"}})).arguments == (
        ("first", "one"),
    )


def test_a_schema_that_refers_to_itself_by_value_ends() -> None:
    endless: dict[str, object] = {"type": "object"}
    endless["properties"] = {"again": endless}
    assert {name for name, _ in fields_of(ToolText("loop", parameters=endless)).arguments} == {"again"}


@every(
    ("name", "expected"),
    [
        ("getUserByID", ["get", "user", "by", "id"]),
        ("get_user_by_id", ["get", "user", "by", "id"]),
        ("github/get-user.byId", ["github", "get", "user", "by", "id"]),
        ("HTTPServer2", ["http", "serv", "2"]),
    ],
)
def test_names_are_split_however_they_are_joined(name: str, expected: list[str]) -> None:
    assert name_words(name) == expected


def test_forms_of_a_word_meet_and_other_words_do_not() -> None:
    for family in (
        ("city", "cities"),
        ("book", "books", "booking", "booked"),
        ("calculate", "calculation", "calculating"),
    ):
        assert len({stem(word) for word in family}) == 1
    assert len({stem(word) for word in ("status", "state", "address", "add", "class", "clasp")}) == 6


def test_a_text_without_spaces_is_read_in_pairs() -> None:
    assert words("查询天气 in Paris") == ["查询", "询天", "天气", "paris"]
    assert name_words("查询天气_now") == ["查询", "询天", "天气", "now"]


def test_words_remember_how_they_were_written() -> None:
    assert dict(spelled_words("The Forecasts of getWeather")) == {
        "forecast": "Forecasts",
        "get": "get",
        "weath": "Weather",
    }


@given(st.text())
def test_no_text_breaks_the_reading(text: str) -> None:
    assert all(word in text and found for found, word in spelled_words(text))
    assert all(name_words(text))
