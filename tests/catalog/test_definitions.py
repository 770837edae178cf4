"""A tool may be written in any common shape; what cannot be used is refused with what would be right."""

from pathlib import Path
from typing import Any

import pytest

from rightcall.catalog.catalog import build_catalog
from rightcall.catalog.tool import ALL_EFFECTS, PackTool
from rightcall.errors import ToolError
from rightcall.types import Rules
from support.every import every

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SHAPES: dict[str, Any] = {
    "openai": {"type": "function", "function": {"name": "w", "description": "d", "parameters": SCHEMA}},
    "openai responses": {"type": "function", "name": "w", "description": "d", "parameters": SCHEMA, "strict": True},
    "anthropic": {"name": "w", "description": "d", "input_schema": SCHEMA},
    "anthropic with a type": {"type": "custom", "name": "w", "description": "d", "input_schema": SCHEMA},
    "mcp": {"name": "w", "description": "d", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
    "bare": {"name": "w", "description": "d", "parameters": SCHEMA},
    "bare with schema": {"name": "w", "description": "d", "schema": SCHEMA},
    "bare with arguments_schema": {"name": "w", "description": "d", "arguments_schema": SCHEMA},
    "gemini": {"functionDeclarations": [{"name": "w", "description": "d", "parameters": SCHEMA}]},
    "bedrock": {"toolSpec": {"name": "w", "description": "d", "inputSchema": {"json": SCHEMA}}},
}


@pytest.mark.promise("V-01")
@every("shape", SHAPES)
def test_every_dict_shape_gives_the_same_tool(shape: str) -> None:
    tool = build_catalog([SHAPES[shape]]).tools["w"]
    assert (tool.name, tool.description, tool.schema) == ("w", "d", SCHEMA)
    assert tool.accepts({"city": "Bern"})
    assert not tool.accepts({"city": 1})
    assert not tool.accepts({})


def test_hints_of_a_server_never_loosen_the_effects() -> None:
    tool = build_catalog([SHAPES["mcp"] | {"effects": ["read"]}]).tools["w"]
    assert tool.effects == ALL_EFFECTS
    assert not tool.effects_declared


def test_a_dict_cannot_pass_itself_off_as_one_of_our_records() -> None:
    sly = {"name": "w", "parameters": SCHEMA, "effects": ["read"], "rules": {"required": []}, "pack": "policy"}
    assert build_catalog([sly]).tools["w"].effects == ALL_EFFECTS


@every(
    "one", [SHAPES["bare"], {"tools": [SHAPES["bare"]]}, [SHAPES["bare"]], (SHAPES["bare"],), iter([SHAPES["bare"]])]
)
def test_one_tool_a_list_or_an_answer_of_tools_list_all_do(one: Any) -> None:
    assert build_catalog(one).names == ("w",)


def test_nothing_given_is_an_empty_catalogue() -> None:
    assert build_catalog().names == build_catalog([]).names == ()


@pytest.mark.parametrize("built_in", [{"type": "web_search"}, {"type": "bash_20250124", "name": "bash"}])
def test_tools_that_the_provider_runs_itself_are_left_out(built_in: dict[str, Any]) -> None:
    assert build_catalog([built_in, SHAPES["bare"]]).names == ("w",)


def test_a_tool_without_a_schema_takes_any_arguments() -> None:
    tool = build_catalog([{"name": "w"}]).tools["w"]
    assert tool.accepts({"anything": [1, None]})
    assert tool.open


@every(
    ("tools", "words"),
    [
        ([SHAPES["bare"], SHAPES["mcp"]], "two tools have the name `w`"),
        ([SHAPES["bare"], {"description": "d", "parameters": SCHEMA}], "tool number 2 has no name"),
        ([{"name": "  ", "parameters": SCHEMA}], "tool number 1 has no name"),
        ([{"name": 3}], "has no name"),
        ([{"paramters": SCHEMA}], r"has no name \(it has only 'paramters'\); right is"),
        ([{"name": "w", "paramters": SCHEMA}], "tool `w`: unknown key 'paramters'; did you mean 'parameters'"),
        ([{"type": "function", "function": {"name": "w", "input_shema": {}}}], "did you mean 'input_schema'"),
        ([{"name": "w", "parameters": [1]}], "tool `w`: the schema must be a JSON Schema object"),
        ([{"name": "w", "parameters": {"type": "string"}}], "arguments of a tool are an object"),
        (
            [{"name": "w", "parameters": {"properties": {"n": {"type": "flaot"}}}}],
            r"`n` has type 'flaot'; right is str",
        ),
        ([{"name": "w", "parameters": {"properties": {"n": {"type": {"a": 1}}}}}], "`n` has type"),
        ([{"name": "w", "parameters": {"properties": {"n": 5}}}], "`n` must be a schema"),
        ([{"name": "w", "parameters": {"properties": [1]}}], "`properties` must map argument names"),
        ([{"name": "w", "parameters": {"type": "object", "required": 5}}], "`required` must be a list"),
        ([{"name": "w", "parameters": {"properties": {"n": {"minimum": "x"}}}}], "at `properties/n/minimum`"),
        ([{"name": "w", "parameters": {"properties": {"n": {"enum": 5}}}}], "not valid JSON Schema"),
        ([{"name": "w", "parameters": {"x": object()}}], "not valid JSON"),
        ([7], "got int"),
        (["tools.json"], r"must end in \.toml"),
        ([lambda city: city], "a lambda has no name"),
    ],
)
def test_what_cannot_be_used_is_refused_with_what_is_right(tools: list[Any], words: str) -> None:
    with pytest.raises(ToolError, match=words):
        build_catalog(tools)


def test_a_schema_nested_without_end_is_refused_instead_of_overflowing() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(150):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(ToolError, match="tool `w`: the schema is nested deeper than 64 levels"):
        build_catalog([{"name": "w", "parameters": schema}])
    for _ in range(20_000):
        schema = {"items": schema}
    with pytest.raises(ToolError):
        build_catalog([{"name": "w", "parameters": schema}])


TOML = """
[tools.forecast]
description = "The weather to come."
effects = ["read", "network"]
required = ["city"]
aliases = { town = "city" }
[tools.forecast.parameters]
type = "object"
properties.city.type = "string"
properties.days.type = "integer"
"""


@pytest.mark.promise("V-01")
def test_tools_can_be_written_in_toml(tmp_path: Path) -> None:
    file = tmp_path / "tools.toml"
    file.write_text(TOML, encoding="utf-8")
    for given in (file, str(file), [str(file)]):
        tool = build_catalog(given).tools["forecast"]
        assert tool.effects == {"read", "network"}
        assert tool.rules.aliases == {"town": "city"}
        assert tool.source == "given"
        assert tool.accepts({"city": "Bern", "days": 3})
        assert not tool.accepts({"city": " "})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tools.w]\nrequired = 5", r"\[tools\.w\].*required"),
        ("[tools.w]\nrequierd = ['a']", r"\[tools\.w\].*requierd"),
        ("tools = 5", r"needs a table \[tools\.NAME\]"),
        ("[tools", "not valid TOML"),
        ("[tools]\nw = 5", r"\[tools\.w\] must be a table"),
    ],
)
def test_a_wrong_toml_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "tools.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ToolError, match=words) as caught:
        build_catalog(str(file))
    assert caught.value.source == str(file)


def test_a_toml_file_that_is_not_there_is_named() -> None:
    with pytest.raises(ToolError, match=r"nowhere\.toml: the file of tools cannot be read"):
        build_catalog("nowhere.toml")


def test_tools_of_a_catalogue_can_be_given_again_with_all_they_have() -> None:
    first = build_catalog([PackTool("w", "d", SCHEMA, ("read",), Rules(aliases={"town": "city"}))]).tools["w"]
    again = build_catalog([first]).tools["w"]
    assert (again.schema, again.rules, again.effects) == (first.schema, first.rules, first.effects)
    assert again.effects_declared
