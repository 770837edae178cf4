"""A catalogue is a snapshot, the same one for the same definitions."""

from typing import Any

import pytest

from rightcall.catalog.catalog import build_catalog
from rightcall.catalog.tool import PackTool
from rightcall.types import Rules
from support.every import every
from support.pace import process_time

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"enum": ["c", "f"]}},
    "required": ["city"],
}
TOOLS = [{"name": f"tool_{n}", "description": "d" * 80, "parameters": SCHEMA} for n in range(20)]


@pytest.mark.promise("V-01")
def test_the_same_definitions_give_the_same_catalogue_at_once() -> None:
    first = build_catalog(TOOLS)
    again = build_catalog([dict(tool) for tool in TOOLS])
    assert again is first
    best = min(_cpu(lambda: build_catalog(TOOLS)) for _ in range(200))
    assert best < 100e-6


def _cpu(work: Any) -> float:
    start = process_time()
    work()
    return process_time() - start


def test_what_differs_has_another_digest() -> None:
    first = build_catalog(TOOLS)
    variants = [
        build_catalog(TOOLS[:-1]),
        build_catalog([*TOOLS[:-1], TOOLS[-1] | {"description": "e"}]),
        build_catalog(TOOLS, [PackTool("tool_0", rules=Rules(required=("days",)))]),
        build_catalog(TOOLS, unknown_argument="keep"),
    ]
    assert len({first.digest, *(one.digest for one in variants)}) == 5
    assert variants[0].tools["tool_0"] is first.tools["tool_0"]
    assert variants[1].tools["tool_19"].digest != first.tools["tool_19"].digest


def test_changing_a_definition_afterwards_changes_nothing() -> None:
    mine: dict[str, Any] = {"name": "w", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}
    tool = build_catalog([mine]).tools["w"]
    mine["parameters"]["properties"]["a"]["type"] = "integer"
    assert tool.schema["properties"]["a"] == {"type": "string"}
    assert build_catalog([mine]).tools["w"].accepts({"a": 1})


def test_a_catalogue_cannot_be_changed() -> None:
    catalog = build_catalog(TOOLS)
    with pytest.raises(TypeError):
        catalog.tools["x"] = catalog.tools["tool_0"]  # type: ignore[index]
    with pytest.raises(AttributeError):
        catalog.tools["tool_0"].name = "x"  # type: ignore[misc]


def test_get_is_exact() -> None:
    catalog = build_catalog(TOOLS)
    assert catalog.get("tool_0") is catalog.tools["tool_0"]
    assert catalog.get("Tool_0") is None


@pytest.mark.promise("V-01")
@every("pattern", ["^(?=a)", "(a)\\1", "a{1,1000}{1,1000}{1,1000}", "^(a{1,100}){1,100}$", "((a{9}){9}b){99}"])
def test_a_pattern_the_linear_engine_cannot_do_is_unchecked_and_says_so(pattern: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}, "b": {"pattern": "^b"}}}
    tool = build_catalog([{"name": "w", "parameters": schema}]).tools["w"]
    assert tool.accepts({"a": "x"})
    assert not tool.accepts({"b": "x"})
    assert len(tool.unchecked) == 1
    assert tool.unchecked[0].startswith("pattern of `a`: ")
    assert "pattern" not in tool.schema["properties"]["a"]


def test_a_hard_pattern_for_keys_leaves_the_keys_free() -> None:
    schema = {"type": "object", "patternProperties": {"(?=a)": {"type": "string"}}, "additionalProperties": False}
    tool = build_catalog([{"name": "w", "parameters": schema}]).tools["w"]
    assert tool.accepts({"abc": 1})
    assert "patternProperties" in tool.unchecked[0]


@every("pattern", ["^[a-z]{1,500}$", "^([a-z]{1,63}\\.){1,10}$", "^(\\(a{9}\\)[{99}]){9}$", "^.{0,4000}$"])
def test_counts_as_people_write_them_are_checked(pattern: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    assert build_catalog([{"name": "w", "parameters": schema}]).tools["w"].unchecked == ()


@pytest.mark.promise("V-01")
def test_patterns_are_matched_in_linear_time() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    tool = build_catalog([{"name": "w", "parameters": schema}]).tools["w"]
    assert not tool.accepts({"a": "a" * 100_000 + "!"})


@pytest.mark.parametrize("text", ["not-a-date", "2025-02-30"])
def test_formats_are_notes_and_are_not_asserted(text: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "format": "date"}}}
    assert build_catalog([{"name": "w", "parameters": schema}]).tools["w"].accepts({"a": text})


def test_the_shape_is_that_of_the_schema() -> None:
    assert list(build_catalog(TOOLS).tools["tool_0"].shape.props) == ["city", "days", "unit"]
