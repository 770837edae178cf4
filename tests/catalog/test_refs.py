"""References are followed inside the schema and nowhere else: nothing is ever fetched."""

import sys
from typing import Any

import pytest

from rightcall.catalog.catalog import build_catalog
from rightcall.catalog.tool import Tool
from rightcall.errors import ToolError
from support.every import every

POINT = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}


def tool_with(part: Any, **root: Any) -> Tool:
    schema = {"type": "object", "properties": {"a": part}, "required": ["a"], **root}
    return build_catalog([{"name": "w", "parameters": schema}]).tools["w"]


@pytest.mark.promise("V-01")
@every(
    ("part", "root"),
    [
        ({"$ref": "#/$defs/P"}, {"$defs": {"P": POINT}}),
        ({"$ref": "#/definitions/P"}, {"definitions": {"P": POINT}}),
        ({"$ref": "#/$defs/O/properties/p"}, {"$defs": {"O": {"properties": {"p": POINT}}}}),
        ({"$ref": "#/$defs/A"}, {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": POINT}}),
        ({"$ref": "#point"}, {"$defs": {"P": POINT | {"$anchor": "point"}}}),
        ({"$dynamicRef": "#point"}, {"$defs": {"P": POINT | {"$dynamicAnchor": "point"}}}),
        ({"$ref": "https://example.com/p"}, {"$defs": {"P": POINT | {"$id": "https://example.com/p"}}}),
        ({"$ref": "#/$defs/Page%5Bint%5D"}, {"$defs": {"Page[int]": POINT}}),
        ({"$ref": "#/$defs/a~1b"}, {"$defs": {"a/b": POINT}}),
        ({"$ref": "#/$defs/größe"}, {"$defs": {"größe": POINT}}),
        ({"$id": "own", "$ref": "#/$defs/P", "$defs": {"P": POINT}}, {"$defs": {"P": {"type": "string"}}}),
    ],
)
def test_a_reference_inside_the_schema_is_followed(part: Any, root: dict[str, Any]) -> None:
    tool = tool_with(part, **root)
    assert tool.accepts({"a": {"x": 1}})
    assert not tool.accepts({"a": {"x": "1"}})
    assert not tool.accepts({"a": {}})
    assert not tool.accepts({"a": {"x": 1, "y": 2}})


@pytest.mark.promise("V-01")
@every("ref", ["https://example.com/schema.json", "file:///etc/passwd", "other.json", "//host/x", "urn:uuid:1", "a#/b"])
def test_a_reference_that_leads_out_is_refused_and_nothing_is_opened(ref: str) -> None:
    opened: list[str] = []
    watching = True

    def watch(event: str, _arguments: tuple[Any, ...]) -> None:
        if watching and (event == "open" or event.startswith("socket.")):
            opened.append(event)

    sys.addaudithook(watch)  # stays for good, hence the switch
    with pytest.raises(ToolError, match="leads out of the schema"):
        tool_with({"$ref": ref})
    watching = False
    assert opened == []


@every("ref", ["#/$defs/none", "#none", "#/properties/a/minimum", "#/required/0"])
def test_a_reference_that_leads_nowhere_is_refused(ref: str) -> None:
    with pytest.raises(ToolError, match="is broken"):
        tool_with({"$ref": ref})


def test_a_reference_that_is_no_text_is_refused() -> None:
    with pytest.raises(ToolError, match=r"`\$ref` must be text"):
        tool_with({"$ref": 5})


@pytest.mark.parametrize(
    "defs",
    [
        {"A": {"$ref": "#/$defs/A"}},
        {"A": {"$ref": "#/$defs/B"}, "B": {"allOf": [{"$ref": "#/$defs/A"}]}},
        {"A": {"anyOf": [{"type": "string"}, {"not": {"$ref": "#/$defs/A"}}]}},
    ],
)
def test_a_circle_that_gets_nowhere_is_refused(defs: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="refers to itself"):
        tool_with({"$ref": "#/$defs/A"}, **{"$defs": defs})


def test_a_handful_of_lines_cannot_ask_for_years_of_checking() -> None:
    defs = {f"A{n}": {"anyOf": [{"$ref": f"#/$defs/A{n + 1}"}] * 2} for n in range(40)} | {"A40": {"type": "string"}}
    with pytest.raises(ToolError, match="more than 5,000 checks of one value"):
        tool_with({"$ref": "#/$defs/A0"}, **{"$defs": defs})


TREE = {"type": "object", "properties": {"child": {"$ref": "#/$defs/T"}, "n": {"type": "integer"}}}


@pytest.mark.parametrize(
    "schema", [{"$ref": "#/$defs/T", "$defs": {"T": TREE}}, {"properties": {"child": {"$ref": "#"}}}]
)
def test_a_schema_that_holds_itself_works_and_endless_nesting_cannot_crash_it(schema: dict[str, Any]) -> None:
    tool = build_catalog([{"name": "w", "parameters": schema}]).tools["w"]
    assert tool.accepts({"child": {"child": {}}})
    assert not tool.accepts({"child": {"child": {"other": 1}}})
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"child": deep}
    assert not tool.accepts(deep)


def test_a_root_that_only_refers_becomes_what_it_refers_to() -> None:
    tool = build_catalog([{"name": "w", "parameters": {"$ref": "#/$defs/P", "$defs": {"P": POINT}}}]).tools["w"]
    assert tool.schema == POINT
