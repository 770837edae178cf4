"""Design 001 at the hooks: what pack `guardrail`, or the policy's own rules, demand of a call is demanded there too,
also of tools whose schema no host tells."""

import json
import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rightcall.executor.door import Door
from rightcall.hosts.hooks.judgement import Hook, Hooks
from rightcall.hosts.hooks.wires import builtin_tools
from rightcall.record.memory import MemoryStore
from rightcall.record.notes import remember_tools
from support.every import every

PACK = '[gate]\npacks = ["guardrail"]\n[policy]\nrepeats = 0\nquarantine = 0\n'
RULES = """\
[policy]
repeats = 0
quarantine = 0
[gate.tools.Write]
required = ["file_path", "content"]
min_length = { content = 11 }
example = { file_path = "a.md", content = "More than ten." }
[gate.tools."composio/GMAIL_SEND_EMAIL"]
required = ["subject", "body"]
required_any = [["recipient_email", "to"]]
[gate.tools.mcp__notes__add]
required = ["text"]
"""
LONG = "x" * 11

ROWS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [  # tool, a wrong call, what is missing, a right call
    ("Write", {"file_path": "a.md"}, "content", {"file_path": "a.md", "content": LONG}),
    ("Write", {"file_path": "a.md", "content": " "}, "content", {"file_path": "a.md", "content": LONG, "mode": 1}),
    ("list_directory", {}, "path", {"path": "notes"}),
    ("list_directory", {"path": ""}, "path", {"path": "notes", "deep": True}),
    ("upload_to_composio", {"path": "a.pdf", "tool_slug": "X"}, "toolkit_slug",
     {"path": "a.pdf", "tool_slug": "X", "toolkit_slug": "gmail"}),
    ("mcp__toolkit__list_directory", {"path": None}, "path", {"path": "notes"}),
    ("mcp__toolkit__upload_to_composio", {"tool_slug": "X", "toolkit_slug": "g"}, "path",
     {"path": "a.pdf", "tool_slug": "X", "toolkit_slug": "gmail"}),
    ("mcp__toolkit__write_local_file", {"path": "a.md", "content": ""}, "content", {"path": "a.md", "content": LONG}),
    ("mcp__toolkit__read_local_file", {}, "path", {"path": "a.md"}),
    ("mcp__composio__GMAIL_SEND_EMAIL", {"subject": "a", "to": "b"}, "body", {"subject": "a", "body": "b", "to": "c"}),
    ("mcp__composio__GMAIL_SEND_EMAIL", {"subject": "a", "body": "b"}, "(recipient_email or to)",
     {"subject": "a", "body": "b", "recipient_email": "c", "cc": ["d"]}),
    ("mcp__composio__gmail_send_email", {"body": "b", "to": "c"}, "subject", {"subject": "a", "body": "b", "to": "c"}),
    ("mcp__composio__COMPOSIO_SEARCH_WEB", {"query": "  "}, "query", {"query": "tea"}),
    ("mcp__composio__composio_search_news", {}, "query", {"query": "tea", "when": "today"}),
    ("mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL", {}, "tools",
     {"tools": [{"tool_slug": "COMPOSIO_SEARCH_WEB", "arguments": {"query": "tea"}}]}),
]  # fmt: skip


@pytest.fixture(params=[False, True], ids=["alone", "in the server"])
def every_tool(request: pytest.FixtureRequest) -> bool:
    return request.param


def hooks_of(folder: Path, policy: str, every_tool: bool, host: str = "claude") -> Any:
    file = folder / "rightcall.toml"
    file.write_text(policy, encoding="utf-8")
    return closing(Hooks(Hook(host, str(file), str(folder), "block"), every_tool=every_tool, store=MemoryStore()))


def asked(hooks: Hooks, tool: str, arguments: Any) -> dict[str, Any]:
    before = "BeforeTool" if hooks.door.host == "gemini" else "PreToolUse"
    event = {"hook_event_name": before, "session_id": "s", "tool_use_id": tool, "tool_name": tool}
    answer = hooks.answer(json.dumps(event | {"tool_input": arguments, "mcp_context": None}).encode())
    return json.loads(answer) if answer else {}


def denial(answer: dict[str, Any]) -> str:
    said = answer.get("hookSpecificOutput", {})
    return said.get("permissionDecisionReason", "") if said.get("permissionDecision") == "deny" else ""


@pytest.mark.promise("G-70", "G-71", "G-72", "G-73", "G-74", "G-75", "H-05")
def test_every_row_of_the_design_is_demanded_at_the_hook(tmp_path: Path, every_tool: bool) -> None:
    with hooks_of(tmp_path, PACK, every_tool) as hooks:
        for tool, wrong, missing, right in ROWS:
            told = denial(asked(hooks, tool, wrong))
            assert told.startswith(f"⚠️ Invalid {tool} call. Missing required fields: {missing}. Example: {{"), tool
            assert asked(hooks, tool, right) == {}, tool


@pytest.mark.promise("G-74")
def test_content_of_ten_characters_is_too_short_for_a_native_write(tmp_path: Path, every_tool: bool) -> None:
    with hooks_of(tmp_path, PACK, every_tool) as hooks:
        told = denial(asked(hooks, "Write", {"file_path": "a.md", "content": LONG[:-1]}))
        assert told.startswith("⚠️ Invalid Write call. `content` must have at least 11 characters, has 10. Example: {")


@pytest.mark.promise("G-73", "V-06")
def test_calls_inside_a_batch_are_checked_at_the_hook(tmp_path: Path, every_tool: bool) -> None:
    batch = {"tools": [{"tool_slug": "GMAIL_SEND_EMAIL", "arguments": {"subject": "a"}}]}
    with hooks_of(tmp_path, PACK, every_tool) as hooks:
        told = denial(asked(hooks, "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL", batch))
        assert "in `tools[0]` (GMAIL_SEND_EMAIL): `body` is missing" in told


@pytest.mark.promise("G-73", "V-06")
def test_the_same_holds_however_a_batch_is_written(tmp_path: Path, every_tool: bool) -> None:
    wrong, right = {"subject": "a"}, {"subject": "a", "body": "b", "to": "c"}
    name = "mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL"
    with hooks_of(tmp_path, PACK, every_tool) as hooks:
        for written in (lambda call: json.dumps([call]), lambda call: call):
            told = denial(asked(hooks, name, {"tools": written({"tool_slug": "GMAIL_SEND_EMAIL", "arguments": wrong})}))
            assert told.startswith(
                "⚠️ Invalid mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL call. in `tools[0]` (GMAIL_SEND_EMAIL): "
            )
        call = {"tool_slug": "GMAIL_SEND_EMAIL", "arguments": right}
        assert asked(hooks, name, {"tools": json.dumps([call])}) == {}
        fixed = asked(hooks, name, {"tools": call})["hookSpecificOutput"]
        assert fixed["updatedInput"] == {"tools": [call]}
        for other, shown in (("garbage", 'the text "garbage"'), (5, "the number 5"), (None, None)):
            told = denial(asked(hooks, name, {"tools": other}))
            why = "Missing required fields: tools" if shown is None else f"`tools` must be a list, got {shown}"
            assert told.startswith(f"⚠️ Invalid mcp__composio__COMPOSIO_MULTI_EXECUTE_TOOL call. {why}. Example: {{")


@pytest.mark.promise("G-73", "P-01")
@every(
    "rule",
    [
        {"policy": {"deny": ["GMAIL_SEND_EMAIL"]}},
        {"policy": {"deny": ["composio/gmail*"]}},
        {"servers": {"composio": {"command": ["x"], "deny": ["GMAIL_*"]}}},
        {"servers": {"composio": {"command": ["x"], "allow": ["COMPOSIO_*"]}}},
        {"callers": {"codex": {"only": ["composio/COMPOSIO_*"]}}},
    ],
)
def test_a_batch_runs_no_tool_that_is_denied_alone(rule: dict[str, Any]) -> None:
    batch = {
        "tools": [{"tool_slug": "GMAIL_SEND_EMAIL", "arguments": {"subject": "a", "body": "b", "to": "c"}}],
    }
    for policy, action in (({}, "allow"), (rule, "deny")):
        said = {"gate": {"packs": ["guardrail"]}, **policy}
        with Door.open("codex", said, mode="block", fixed_names=True) as door:
            assert door.judge("COMPOSIO_MULTI_EXECUTE_TOOL", batch, space="composio").action == action


@pytest.mark.promise("V-06", "H-04")
@every("host", ["wrap", "gateway", "langchain"])
@every("rule", [{"packs": ["guardrail"]}, {"tools": {"GMAIL_SEND_EMAIL": {"required": ["body"]}}}])
def test_rules_of_tools_inside_a_batch_count_where_nobody_lists_those_tools(host: str, rule: dict[str, Any]) -> None:
    space = "" if host == "langchain" else "composio"
    listed = [{"name": "COMPOSIO_MULTI_EXECUTE_TOOL", "inputSchema": {"type": "object", "properties": {"tools": {}}}}]
    servers = {"composio": {"command": ["x"], "effects": ["read"]}}
    with Door.open(host, {"gate": rule, "servers": servers}, strict=host == "gateway") as door:
        door.know(listed, space)

        def told(tool: str, **arguments: str) -> str:
            batch = {"tools": [{"tool_slug": tool, "arguments": arguments}]}
            return door.judge("COMPOSIO_MULTI_EXECUTE_TOOL", batch, space=space).message

        for name in ("GMAIL_SEND_EMAIL", "gmail_send_email"):
            assert f"in `tools[0]` ({name}): `body` is missing" in told(name, subject="a")
        assert "Invalid" not in told("GMAIL_SEND_EMAIL", subject="a", body="b", to="c")
        assert "Invalid" not in told("GMAIL_SENT_EMAIL", subject="a")  # another tool, though it is almost called so
        assert "Invalid" not in door.judge("GMAIL_SEND_EMAIL", {"subject": "a"}, space=space).message


@pytest.mark.promise("G-71", "V-07")
def test_a_deprecated_tool_that_no_server_has_is_told_its_replacement(tmp_path: Path, every_tool: bool) -> None:
    with hooks_of(tmp_path, PACK, every_tool) as hooks:
        for old, new in (("write_local_file", "Write"), ("read_local_file", "Read")):
            for given in ({}, {"path": "a.md"}, {"path": "a.md", "content": LONG}):
                told = denial(asked(hooks, old, given))
                assert f"Use `{new}` instead" in told, (old, given)
                assert 'Example: {"file_path":' in told, (old, given)
    with hooks_of(tmp_path, PACK, every_tool, "codex") as hooks:  # which has neither
        for old, new in (("write_local_file", "write"), ("read_local_file", "Read")):
            told = denial(asked(hooks, old, {"path": "a.md"}))
            assert f"Use `{new}` instead" in told, old
            assert 'Example: {"file_path":' in told, old


@pytest.mark.promise("G-75", "V-05", "A-02")
def test_a_refusal_is_logged_and_recorded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with hooks_of(tmp_path, PACK, False) as hooks, caplog.at_level(logging.WARNING, "rightcall"):
        asked(hooks, "mcp__composio__GMAIL_SEND_EMAIL", {})
        (event,) = [one for one in caplog.records if getattr(one, "event", "") == "tool_validation_failed"]
        assert vars(event)["tool"] == "GMAIL_SEND_EMAIL"
        assert {problem.code for problem in vars(event)["problems"]} == {"missing", "missing_any"}
        kinds = hooks.door.store.look(lambda tables: [one.kind for one in tables.newest(9, ("refused", "begin"))])
        assert kinds == ["refused"]


@pytest.mark.promise("G-70", "G-72", "G-76")
def test_rules_of_the_policy_hold_where_no_schema_is_known(tmp_path: Path, every_tool: bool) -> None:
    with hooks_of(tmp_path, RULES, every_tool) as hooks:
        assert "Missing required fields: content. Example: " in denial(asked(hooks, "Write", {"file_path": "a"}))
        assert "Missing required fields: body" in denial(
            asked(hooks, "mcp__composio__GMAIL_SEND_EMAIL", {"subject": "a", "to": "b"})
        )
        assert denial(asked(hooks, "mcp__notes__add", {}))
        assert asked(hooks, "mcp__other__GMAIL_SEND_EMAIL", {}) == {}
        assert asked(hooks, "mcp__other__add", {}) == {}


@pytest.mark.promise("G-70")
def test_a_rule_for_write_holds_for_the_tool_that_the_host_writes_with_a_capital(
    tmp_path: Path, every_tool: bool
) -> None:
    with hooks_of(tmp_path, RULES.replace("[gate.tools.Write]", "[gate.tools.write]"), every_tool) as hooks:
        assert "Missing required fields: content. Example: " in denial(asked(hooks, "Write", {"file_path": "a"}))
        assert asked(hooks, "Write", {"file_path": "a", "content": "More than ten."}) == {}
    with hooks_of(tmp_path, '[gate.tools.write]\nrequired = ["where"]\n', every_tool) as hooks:
        assert asked(hooks, "Write", {"file_path": "a", "content": "x"}) == {}


@pytest.mark.promise("G-76")
def test_another_tool_of_the_same_name_is_left_alone(tmp_path: Path, every_tool: bool) -> None:
    """A server's `write` may take anything; and Gemini CLI's `list_directory` has a `dir_path`."""
    with hooks_of(tmp_path, PACK, every_tool) as hooks:
        assert asked(hooks, "mcp__notes__write", {"path": "a"}) == {}
        other = {"name": "list_directory", "inputSchema": {"type": "object", "properties": {"folder": {}}}}
        remember_tools(hooks.door.store, "drive", [other])
        hooks.door.know([other], "drive")
        assert hooks.door.judge("list_directory", {"folder": "a"}, space="drive").action == "allow"
    with hooks_of(tmp_path, PACK, every_tool, "gemini") as hooks:
        assert asked(hooks, "list_directory", {"dir_path": "a"}) == {}


@pytest.mark.promise("G-76", "P-08")
def test_what_a_pack_demands_is_no_definition_of_the_tool(tmp_path: Path) -> None:
    """Learning the real schema later is no change of it; and nothing is said of what the tool does."""
    mail = {"subject": "a", "body": "b", "to": "c"}
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in (*mail, "recipient_email")}}
    with hooks_of(tmp_path, PACK, True) as hooks:
        passage = hooks.door.judge("GMAIL_SEND_EMAIL", mail, space="composio")
        assert passage.request is not None
        assert passage.request.effects == {"read", "write", "execute", "network"}
        hooks.door.know([{"name": "GMAIL_SEND_EMAIL", "inputSchema": schema}], "composio")
        assert hooks.door.judge("GMAIL_SEND_EMAIL", mail, space="composio").action == "allow"
        assert hooks.door.judge("GMAIL_SEND_EMAIL", {"subject": "a"}, space="composio").action == "deny"


@pytest.mark.promise("G-76", "P-13", "P-16")
@pytest.mark.parametrize("space", ["composio", "files"])
def test_rules_for_a_tool_take_no_other_rule_from_it(space: str) -> None:
    """Paths and commands are found in calls of a tool that nobody described, also where something is demanded of it."""
    mail: dict[str, Any] = {"subject": "a", "body": "b", "to": "c"}
    plain: dict[str, Any] = {"policy": {"paths": {"deny": ["private/**"]}}}
    said = (
        {},
        {"gate": {"packs": ["guardrail"]}},
        {"gate": {"tools": {f"{space}/GMAIL_SEND_EMAIL": {"required": ["to"]}}}},
    )
    for more in ({"attachment_path": "private/a"}, {"command": "rm -rf /"}):
        rules: list[str] = []
        for one in said:
            with Door.open("claude-code", {**plain, **one}, mode="block", fixed_names=True) as door:
                rules.append(door.judge("GMAIL_SEND_EMAIL", mail | more, space=space).decision.rule)
        assert rules[0].startswith(("path:", "command:"))
        assert len(set(rules)) == 1


def doors() -> Iterator[tuple[str, Door]]:
    for host, own in (("codex", "codex"), ("gemini-cli", "gemini"), ("claude-agent-sdk", "claude")):
        tools = builtin_tools(own)
        yield host, Door.open(host, {"gate": {"packs": ["guardrail"]}}, tools=tools, mode="block", fixed_names=True)
    yield "wrap", Door.open("wrap", {"gate": {"packs": ["guardrail"]}}, mode="block")


@pytest.mark.promise("G-72", "G-76")
def test_the_rules_hold_at_the_other_doors_too() -> None:
    for host, door in doors():
        with closing(door):
            if host == "wrap":  # a server that says nothing of its tool's arguments
                door.know([{"name": "GMAIL_SEND_EMAIL", "inputSchema": {"type": "object"}}], "composio")
            refused = door.judge("GMAIL_SEND_EMAIL", {"subject": "a"}, space="composio")
            assert (refused.action, refused.decision.rule) == ("deny", "validation"), host
            passed = door.judge("GMAIL_SEND_EMAIL", {"subject": "a", "body": "b", "to": "c", "x": 1}, space="composio")
            assert (passed.action, passed.changed) == ("allow", False), host
