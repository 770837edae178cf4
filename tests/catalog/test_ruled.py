"""Rules beside the schema are part of the one compiled check."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall.catalog.catalog import build_catalog
from rightcall.catalog.tool import PackTool, Tool
from rightcall.gate.explain import problems
from rightcall.types import Batch, Rules
from support.every import every

TEXT = {"type": "string"}
SCHEMA = {
    "type": "object",
    "properties": {
        "runtime": TEXT,
        "code": TEXT,
        "session": {"type": "integer"},
        "reset": {"type": "boolean"},
        "any": {},
        "maybe": {"type": ["string", "null"]},
    },
}


def tool_with(schema: dict[str, Any] | None = SCHEMA, **rules: Any) -> Tool:
    return build_catalog(overlays=[PackTool("w", schema=schema, rules=Rules(**rules), pack="p")]).tools["w"]


@pytest.mark.promise("V-02")
@every(
    ("rules", "right", "wrong"),
    [
        ({"required": ("code",)}, [{"code": "x"}], [{}, {"code": ""}, {"code": " \n\t\u3000\x1c"}]),
        ({"required": ("session", "reset")}, [{"session": 0, "reset": False}], [{"session": 0}, {"reset": False}]),
        ({"required": ("any",)}, [{"any": 0}, {"any": False}, {"any": []}], [{"any": None}, {"any": " "}, {}]),
        ({"required": ("maybe",)}, [{"maybe": "x"}], [{"maybe": None}, {"maybe": ""}]),
        ({"required_any": (("code", "maybe"),)}, [{"code": "x"}, {"maybe": "x", "code": ""}], [{}, {"code": " "}]),
        (
            {"required": ("runtime", "code"), "required_unless": {"code": {"runtime": ("output", "none")}}},
            [{"runtime": "output"}, {"runtime": " Output "}, {"runtime": "NONE"}, {"runtime": "python", "code": "x"}],
            [{"runtime": "python"}, {"runtime": "outputs"}, {"code": "x"}, {"runtime": "python", "code": " "}],
        ),
        (
            {"required_unless": {"code": {"session": (0,), "reset": (True,)}}},
            [{"session": 0}, {"reset": True}, {"code": "x"}],
            [{}, {"session": 1}, {"reset": False}],
        ),
        ({"min_length": {"code": 3}}, [{"code": "abc"}, {}, {"code": "äöü"}], [{"code": "ab"}, {"code": ""}]),
        (
            {"values": {"runtime": {"bash": "terminal", "py": "python", "terminal": "terminal"}}},
            [{"runtime": "terminal"}, {"runtime": "ruby"}, {"runtime": "bash script"}],
            [{"runtime": "bash"}, {"runtime": " BASH "}, {"runtime": "Py"}],
        ),
        (
            {"values": {"runtime": {"c++ (x)": "cpp", "a|b": "c"}}},
            [{"runtime": "c"}, {"runtime": "a"}],
            [{"runtime": "C++ (X)"}],
        ),
        ({"defaults": {"session": 0}}, [{"session": 1}], [{}]),
    ],
)
def test_the_compiled_check_knows_the_rules(rules: dict[str, Any], right: Any, wrong: Any) -> None:
    tool = tool_with(**rules)
    for call in right:
        assert tool.accepts(call), call
        assert problems(tool, call) == ()
    for call in wrong:
        assert not tool.accepts(call), call
        assert problems(tool, call) or set(rules) == {"defaults"}, call


def test_rules_hold_on_a_schema_that_is_put_together() -> None:
    schema = {
        "$defs": {"A": SCHEMA},
        "allOf": [{"$ref": "#/$defs/A"}, {"type": "object", "properties": {"more": TEXT}}],
    }
    tool = tool_with(schema, required=("code",), min_length={"more": 2})
    assert tool.accepts({"code": "x", "more": "ab"})
    assert not tool.accepts({"code": " "})
    assert not tool.accepts({"code": "x", "more": "a"})
    assert not tool.accepts({"code": "x", "other": "a"})


def test_a_pack_tool_without_a_schema_is_known_by_its_rules_alone() -> None:
    tool = tool_with(None, required=("path",), min_length={"content": 3}, aliases={"file": "path"})
    assert tool.accepts({"path": "a", "whatever": 1})
    assert not tool.accepts({"path": ""})
    assert not tool.accepts({"path": "a", "content": "ab"})
    assert list(tool.schema["properties"]) == ["path", "content"]


@every(
    ("rules", "exact"),
    [
        ({}, True),
        ({"required": ("code",)}, True),
        ({"json_text": ("code",)}, False),
        ({"batch": Batch("any")}, False),
        ({"replaced_by": "v"}, False),
    ],
)
def test_a_tool_says_where_more_than_the_schema_decides(rules: dict[str, Any], exact: bool) -> None:
    assert tool_with(**rules).exact is exact


def test_a_schema_can_say_itself_that_a_text_holds_json() -> None:
    schema = {"type": "object", "properties": {"ops": {"type": "string", "contentMediaType": "application/json"}}}
    tool = build_catalog([{"name": "w", "parameters": schema}]).tools["w"]
    assert tool.rules.json_text == ("ops",)
    assert not tool.exact


@given(
    st.dictionaries(
        st.sampled_from([*SCHEMA["properties"]]),
        st.sampled_from(["", " ", "output", "bash", "terminal", "x", 0, 1, None, True, False]),
    )
)
def test_the_check_and_its_explanation_agree(call: dict[str, Any]) -> None:
    tool = tool_with(
        required=("runtime", "code"),
        required_unless={"code": {"runtime": ("output",)}},
        required_any=(("maybe", "session"),),
        min_length={"code": 1},
        values={"runtime": {"bash": "terminal"}},
    )
    assert tool.accepts(call) == (problems(tool, call) == ())
