"""Pack `agent-zero` against the tables of the Meta-Reasoning Gate's design, in both directions."""

from typing import Any

import pytest
from msgspec import Struct

from rightcall.catalog.packs import load_pack
from rightcall.catalog.tool import PackTool
from rightcall.types import Rules


class Row(Struct, frozen=True):
    """One tool of the design: what its schema map says, and the further arguments its signature takes."""

    required: tuple[str, ...]
    aliases: dict[str, str]
    optional: tuple[str, ...] = ()
    values: dict[str, dict[str, str]] = {}
    defaults: dict[str, Any] = {}
    skip_when: dict[str, dict[str, tuple[str, ...]]] = {}


DESIGN = {
    "code_execution_tool": Row(
        required=("runtime", "code"),
        aliases={"command": "code", "script": "code", "cmd": "code", "language": "runtime", "lang": "runtime"},
        optional=("session", "reset"),
        values={
            "runtime": {
                "bash": "terminal",
                "shell": "terminal",
                "sh": "terminal",
                "zsh": "terminal",
                "cmd": "terminal",
                "powershell": "terminal",
                "node": "nodejs",
                "js": "nodejs",
                "javascript": "nodejs",
                "py": "python",
                "python3": "python",
            }
        },
        defaults={"session": 0, "reset": False},
        skip_when={"code": {"runtime": ("output",)}},
    ),
    "response": Row(
        required=("text",),
        aliases=dict.fromkeys(("message", "content", "response", "answer", "reply"), "text"),
    ),
    "call_subordinate": Row(
        required=("message",),
        aliases=dict.fromkeys(("task", "instruction", "instructions", "text", "query", "prompt"), "message"),
        optional=("reset", "profile"),
    ),
    "memory_load": Row(
        required=("query",),
        aliases=dict.fromkeys(("search", "text", "question", "lookup"), "query"),
        optional=("threshold", "limit", "filter"),
    ),
    "memory_save": Row(
        required=("text",),
        aliases=dict.fromkeys(("content", "memory", "data", "message"), "text"),
        optional=("area",),
    ),
    "search_engine": Row(
        required=("query",),
        aliases=dict.fromkeys(("search", "text", "question", "q"), "query"),
    ),
    "browser_agent": Row(
        required=("message",),
        aliases=dict.fromkeys(("task", "instruction", "text", "query", "url"), "message"),
        optional=("reset",),
    ),
    "skills_tool": Row(
        required=("method",),
        aliases=dict.fromkeys(("action", "command", "operation"), "method"),
    ),
}

# What the pack says beyond the design: every tool has an example, and keeps arguments it does not name, since Agent
# Zero's tools take any (`**kwargs`). Code is a command for the policy's sake, and waiting for output may repeat.
ADDITIONS = {
    "code_execution_tool": {"commands": ("code",), "repeatable": True},
}

TOOLS = {tool.name: tool for tool in load_pack("agent-zero").tools}


@pytest.mark.promise("V-08")
def test_the_tools_are_those_of_the_design() -> None:
    assert set(TOOLS) == set(DESIGN)


@pytest.mark.parametrize("name", DESIGN)
@pytest.mark.promise("V-08", "V-02")
def test_a_tool_says_what_the_design_says_and_nothing_more(name: str) -> None:
    row, rules = DESIGN[name], TOOLS[name].rules
    expected = Rules(
        aliases=row.aliases,
        values=row.values,
        defaults=row.defaults,
        required=row.required,
        required_unless=row.skip_when,
        example=rules.example,
        unknown_argument="keep",
        **ADDITIONS.get(name, {}),
    )
    assert rules == expected


@pytest.mark.parametrize("name", DESIGN)
@pytest.mark.promise("V-08")
def test_a_tool_has_exactly_the_arguments_of_its_signature(name: str) -> None:
    schema = schema_of(TOOLS[name])
    assert set(schema["properties"]) == {*DESIGN[name].required, *DESIGN[name].optional}
    # Blank texts and the exception for `output` are the rules' part; the schema names what is always needed.
    assert schema["required"] == [name_ for name_ in DESIGN[name].required if name_ not in DESIGN[name].skip_when]


@pytest.mark.promise("V-08")
def test_a_runtime_is_one_of_four() -> None:
    runtime = schema_of(TOOLS["code_execution_tool"])["properties"]["runtime"]
    assert runtime["enum"] == ["terminal", "python", "nodejs", "output"]


def schema_of(tool: PackTool) -> dict[str, Any]:
    assert tool.schema is not None
    return tool.schema
