"""Tools as model APIs want to be told of them, by names that come back as the same tool."""

from typing import Any

import pytest

from rightcall import Gate
from rightcall.base.text import wire_name
from rightcall.executor.present.messages import definition

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


@pytest.mark.promise("O-03")
@pytest.mark.parametrize("name", ["code/read", "add", "a.b:c", "mail/send-now"])
def test_a_wire_name_is_one_that_apis_take_and_comes_back_as_the_tool(name: str) -> None:
    gate = Gate([{"name": name, "parameters": SCHEMA}])
    assert wire_name(name).replace("-", "").replace("_", "").isalnum()
    assert gate.check(wire_name(name), {"path": "x"}).call.name == name  # type: ignore[union-attr]


@pytest.mark.promise("O-03")
@pytest.mark.parametrize(("shape", "place"), [("openai", ("function", "parameters")), ("anthropic", ("input_schema",))])
def test_a_definition_is_a_copy_in_the_shape_of_the_api(shape: Any, place: tuple[str, ...]) -> None:
    tool = Gate([{"name": "code/read", "description": "Read.", "parameters": SCHEMA}]).catalog.tools["code/read"]
    made: Any = definition(tool, shape)
    inner = made["function"] if shape == "openai" else made
    assert (inner["name"], inner["description"]) == ("code_read", "Read.")
    schema = made
    for key in place:
        schema = schema[key]
    assert schema["properties"] == {"path": {"type": "string"}}
    schema["properties"].clear()
    assert tool.schema["properties"]
    assert definition(tool, "mcp")["name"] == "code/read"
