"""What each host sends and takes: three wires, none of which can stand for another."""

from typing import Any

import pytest
from msgspec import json
from msgspec.structs import astuple

from rightcall.executor.door import Door
from rightcall.executor.passage import Passage
from rightcall.hosts.hooks.wires import CLAUDE, CODEX, GEMINI, WrongEvent, builtin_tools, text_of, tool_and_space
from support.every import every

pytestmark = pytest.mark.promise("H-05")

POLICY = {"policy": {"deny": ["Bash"], "approval": {"tools": ["files/send"]}}}
WRITE = {
    "name": "write",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
        "required": ["path", "text"],
        "additionalProperties": False,
    },
}
SEND = WRITE | {"name": "send"}


def passage(name: str, arguments: Any, space: str = "", mode: Any = None, approved: bool = False) -> Passage:
    with Door.open("claude-code", POLICY, mode=mode, fixed_names=True) as door:
        door.know([WRITE, SEND], "files")
        door.know(builtin_tools("claude"))
        judged = door.judge(name, arguments, space=space)
        if approved:
            door.answer(judged, "approved", by="Ada")
            judged = door.judge(name, arguments, space=space)
        return judged


FINE = ("write", {"path": "a", "text": "b"}, "files")
WRONG = ("write", {"file": "a", "text": "b"}, "files")
LACKS = ("write", {"path": "a"}, "files")
ASKED = ("send", {"file": "a", "text": "b"}, "files")
RIGHT = {"path": "a", "text": "b"}
HINT = '⚠️ Invalid write call. Missing required fields: text. Example: {"path": "a", "text": "<text>"}'


def claude(**fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}


def test_a_call_that_passes_gets_no_word() -> None:
    for wire in (CLAUDE, CODEX, GEMINI):
        assert wire.answer_before(passage(*FINE)) is None
        assert wire.answer_before(passage("Read", {"file_path": "/a", "of_a_later_version": 1})) is None
        assert wire.answer_before(passage("of_a_later_version", {})) is None


def test_a_denial_carries_its_reason_where_the_model_reads_it() -> None:
    denied = passage("Bash", {"command": "ls"})
    reason = "Error: Tool 'Bash' is not whitelisted for AI use"
    assert CLAUDE.answer_before(denied) == claude(permissionDecision="deny", permissionDecisionReason=reason)
    assert CODEX.answer_before(denied) == claude(permissionDecision="deny", permissionDecisionReason=reason)
    assert GEMINI.answer_before(denied) == {"decision": "deny", "reason": reason}
    assert CLAUDE.answer_before(passage(*LACKS)) == claude(permissionDecision="deny", permissionDecisionReason=HINT)


def test_input_that_was_put_right_leaves_the_decision_to_the_host_where_that_takes_it() -> None:
    changed = passage(*WRONG)
    assert CLAUDE.answer_before(changed) == claude(updatedInput=RIGHT)
    assert CODEX.answer_before(changed) == claude(permissionDecision="allow", updatedInput=RIGHT)
    assert GEMINI.answer_before(changed) == {"hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": RIGHT}}


def test_a_question_is_asked_in_each_hosts_own_way() -> None:
    asked = passage(*ASKED)
    told = CLAUDE.answer_before(asked)
    assert told is not None
    assert told["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert told["hookSpecificOutput"]["updatedInput"] == RIGHT
    assert "`file` is `path`" in told["hookSpecificOutput"]["permissionDecisionReason"]
    told = CODEX.answer_before(asked)
    assert told == claude(permissionDecision="deny", permissionDecisionReason=asked.message)
    assert f"approvals approve {asked.approval}" in asked.message
    told = GEMINI.answer_before(asked)
    assert told is not None
    assert (told["decision"], told["systemMessage"]) == ("ask", asked.why)
    assert GEMINI.answer_before(asked, can_ask=False) == {"decision": "deny", "reason": asked.message}


def test_what_a_person_has_approved_is_allowed_without_another_question() -> None:
    told = CLAUDE.answer_before(passage(*ASKED, approved=True))
    assert told is not None
    assert told["hookSpecificOutput"]["permissionDecision"] == "allow"
    assert told["hookSpecificOutput"]["updatedInput"] == RIGHT
    assert GEMINI.answer_before(passage("send", RIGHT, "files", approved=True)) is None


def test_a_warning_goes_beside_the_call() -> None:
    warned = passage(*LACKS, mode="warn")
    assert CLAUDE.answer_before(warned) == claude(additionalContext=HINT)
    assert CODEX.answer_before(warned) == claude(additionalContext=HINT)
    assert GEMINI.answer_before(warned) is None
    after = GEMINI.answer_after(HINT)
    assert after == {"hookSpecificOutput": {"hookEventName": "AfterTool", "additionalContext": HINT}}


@every("call", [("Bash", {}, ""), LACKS, WRONG, ASKED], ids=["denied", "lacks", "wrong", "asked"])
def test_observing_says_nothing(call: tuple[Any, ...]) -> None:
    for wire in (CLAUDE, CODEX, GEMINI):
        assert wire.answer_before(passage(*call, mode="observe")) is None


def test_codex_takes_no_denial_without_a_reason() -> None:
    assert CODEX.deny(" ")["hookSpecificOutput"]["permissionDecisionReason"]


def test_a_server_and_its_tool_are_told_apart() -> None:
    assert tool_and_space("mcp__files__read__all") == ("read__all", "files")
    assert tool_and_space("mcp__my_server__v2__read", ["my_server", "my.server__v2"]) == ("read", "my.server__v2")
    for name in ("Read", "mcp__files", "mcp____read", "mcp__files__", "x_mcp__files__read"):
        assert tool_and_space(name) == (name, "")


def event(name: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "session_id": "s", "cwd": "/", **fields}


def test_claude_codes_events_are_read() -> None:
    call = {"tool_name": "mcp__files__write", "tool_input": {"path": "a"}, "tool_use_id": "t1"}
    before = CLAUDE.read(event("PreToolUse", **call))
    assert astuple(before)[:6] == ("before", "write", {"path": "a"}, "files", "s", "t1")
    answer = [{"type": "text", "text": "written"}]
    after = CLAUDE.read(event("PostToolUse", **call, tool_response=answer, duration_ms=1500))
    assert (after.kind, after.ok, after.summary, after.seconds) == ("after", True, "written", 1.5)
    failed = CLAUDE.read(event("PostToolUseFailure", **call, error="no such file"))
    assert (failed.kind, failed.ok, failed.error) == ("after", False, "no such file")
    assert CLAUDE.read(event("SessionEnd", reason="other")).kind == "over"
    assert CLAUDE.read(event("Stop", background_tasks=[])).kind == "over"
    assert CLAUDE.read(event("Stop", background_tasks=[{"id": "b1"}])).kind == "other"
    assert CLAUDE.read(event("UserPromptSubmit", prompt="hi")).kind == "other"


def test_geminis_events_name_the_server_beside_the_tool() -> None:
    call = {"tool_name": "mcp_my_files_write", "tool_input": {}, "mcp_context": {"server_name": "my_files", "tool_name": "write"}}  # fmt: skip  # noqa: E501
    assert astuple(GEMINI.read(event("BeforeTool", **call)))[:4] == ("before", "write", {}, "my_files")
    failed = GEMINI.read(event("AfterTool", **call, tool_response={"error": {"message": "full"}}))
    assert (failed.kind, failed.ok, failed.error) == ("after", False, "full")


def test_codexs_results_say_whether_they_are_errors() -> None:
    call = {"tool_name": "mcp__files__write", "tool_input": {}, "tool_use_id": "c1"}
    given = {"content": [{"type": "text", "text": "full"}], "isError": True}
    failed = CODEX.read(event("PostToolUse", **call, tool_response=given))
    assert (failed.kind, failed.ok, failed.error) == ("after", False, "full")
    assert CODEX.read(event("PostToolUse", **call, tool_response="fine")).ok


@every(
    "wrong",
    [{}, {"hook_event_name": 3}, event("PreToolUse"), event("BeforeTool"), event("PreToolUse", tool_name=["Read"])],
)
def test_an_event_without_what_it_must_hold_is_wrong(wrong: dict[str, Any]) -> None:
    for wire in (CLAUDE, CODEX, GEMINI):
        name = wrong.get("hook_event_name")
        if (wire is GEMINI and name == "PreToolUse") or (wire is not GEMINI and name == "BeforeTool"):
            assert wire.read(wrong).kind == "other"
        else:
            with pytest.raises(WrongEvent):
                wire.read(wrong)


def test_only_the_beginning_of_a_result_is_taken() -> None:
    assert text_of("x" * 1000) == "x" * 300
    assert text_of({"type": "text", "file": {"filePath": "/a", "content": "b"}}) == "b"
    assert text_of([{"text": "a"}, {"image": 1}, {"text": "b"}]) == "a b"
    assert text_of(3) == ""


def test_what_is_printed_is_one_line_of_json() -> None:
    told = json.encode(CLAUDE.answer_before(passage("Bash", {"command": "a\nb"})))
    assert b"\n" not in told
