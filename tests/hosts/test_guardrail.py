"""The guardrail as a Claude user expects it: blocked with what is missing and an example, told at once."""

import asyncio
import logging
from typing import Any

import pytest

from rightcall import Event, Gate, Verdict
from rightcall.hosts.normalizer import SchemaGuardrail
from support.every import every

WRITE_EXAMPLE = '{"file_path": "notes/today.md", "content": "# Today\\n\\nWrote the first draft."}'


def check(tool: str, arguments: Any) -> Verdict:
    return SchemaGuardrail().check(tool, arguments)


def hook(tool: str, arguments: Any, guardrail: SchemaGuardrail | None = None) -> dict[str, Any]:
    event = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": arguments, "session_id": "s"}
    used = guardrail or SchemaGuardrail()
    output = asyncio.run(used.pre_tool_use_schema_guardrail(event, "toolu_1", {"signal": None}))
    if output:
        assert output["hookSpecificOutput"].pop("hookEventName") == "PreToolUse"
    return output.get("hookSpecificOutput", {})


@pytest.mark.promise("V-03", "G-75", "G-78")
@every(
    ("tool", "arguments", "missing", "example"),
    [
        ("write", {"file_path": "a.md"}, "content", WRITE_EXAMPLE),
        ("write", {"file_path": "a.md", "content": "   "}, "content", WRITE_EXAMPLE),
        ("write", {}, "file_path, content", WRITE_EXAMPLE),
        ("list_directory", {"path": ""}, "path", '{"path": "notes"}'),
        ("composio_search_web", {}, "query", '{"query": "open source licences compared"}'),
    ],
)
def test_the_refusal_is_word_for_word(tool: str, arguments: dict[str, Any], missing: str, example: str) -> None:
    verdict = check(tool, arguments)
    assert not verdict.ok
    assert verdict.hint == f"⚠️ Invalid {tool} call. Missing required fields: {missing}. Example: {example}"


@pytest.mark.promise("V-02")
def test_one_of_a_group_is_enough_and_none_is_told() -> None:
    mail = {"subject": "Report", "body": "See below."}
    assert check("gmail_send_email", {**mail, "to": "ann@example.com"}).ok
    assert check("gmail_send_email", {**mail, "recipient_email": "ann@example.com"}).ok
    hint = check("gmail_send_email", mail).hint or ""
    assert hint.startswith("⚠️ Invalid gmail_send_email call. Missing required fields: ")
    assert "recipient_email" in hint


@pytest.mark.promise("V-02")
@pytest.mark.parametrize(("length", "ok"), [(10, False), (11, True)])
def test_content_must_be_longer_than_ten_characters(length: int, ok: bool) -> None:
    assert check("write", {"file_path": "a.md", "content": "x" * length}).ok is ok


def test_zero_and_false_are_values() -> None:
    guardrail = SchemaGuardrail(packs=(), tools=[{"name": "seek", "parameters": SEEK}])
    assert guardrail.check("seek", {"at": 0, "wrap": False}).ok


SEEK = {
    "type": "object",
    "properties": {"at": {"type": "integer"}, "wrap": {"type": "boolean"}},
    "required": ["at", "wrap"],
}


@pytest.mark.promise("V-05")
def test_a_failure_is_a_structured_warning_in_the_log_and_for_the_callback(caplog: pytest.LogCaptureFixture) -> None:
    events: list[Event] = []
    with caplog.at_level(logging.INFO):
        SchemaGuardrail(on_event=events.append).check("write", {"file_path": "a.md"}, call_id="toolu_7")
    (event,) = events
    assert (event.name, event.level, event.tool, event.call_id) == (
        "tool_validation_failed",
        "warning",
        "write",
        "toolu_7",
    )
    assert [(problem.code, problem.path) for problem in event.problems] == [("missing", "content")]
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    fields = vars(record)
    assert (fields["event"], fields["tool"], fields["call_id"]) == ("tool_validation_failed", "write", "toolu_7")
    assert fields["problems"] == event.problems


@pytest.mark.promise("V-05")
def test_a_repair_is_an_info_event() -> None:
    events: list[Event] = []
    SchemaGuardrail(on_event=events.append).check("list_directory", "{'path': 'src'}")
    assert [(event.name, event.level) for event in events] == [("tool_call_repaired", "info")]


@pytest.mark.promise("V-06")
def test_the_inner_calls_of_a_batch_are_checked_by_their_own_rules() -> None:
    tools = [
        {"tool_slug": "COMPOSIO_SEARCH_WEB", "arguments": {"query": "tea"}},
        {"tool_slug": "GMAIL_SEND_EMAIL", "arguments": {"subject": "Tea", "to": "ann@example.com"}},
        {"tool_slug": "SLACK_POST", "arguments": {}},
    ]
    verdict = check("composio_multi_execute_tool", {"tools": tools})
    assert not verdict.ok
    assert [(problem.code, problem.path) for problem in verdict.problems] == [("inner_call", "tools[1].body")]
    assert "GMAIL_SEND_EMAIL" in (verdict.hint or "")


@pytest.mark.promise("V-06")
def test_a_batch_that_is_right_passes_with_the_names_it_has() -> None:
    batch = {"tools": [{"tool_slug": "COMPOSIO_SEARCH_WEB", "arguments": {"query": "tea"}}]}
    verdict = check("composio_multi_execute_tool", batch)
    assert verdict.ok
    assert verdict.call is not None
    assert verdict.call.arguments == {"tools": [{"tool_slug": "COMPOSIO_SEARCH_WEB", "arguments": {"query": "tea"}}]}


@pytest.mark.promise("V-07")
def test_a_deprecated_tool_is_mapped_to_its_replacement_where_the_arguments_allow() -> None:
    verdict = check("write_local_file", {"path": "a.md", "content": "long enough text"})
    assert verdict.ok
    assert verdict.call is not None
    assert (verdict.call.name, verdict.call.arguments) == (
        "write",
        {"file_path": "a.md", "content": "long enough text"},
    )


@pytest.mark.promise("V-07")
@pytest.mark.parametrize(
    ("tool", "arguments", "replacement"),
    [("write_local_file", {"path": "a.md"}, "`write`"), ("read_local_file", {"path": "a.md"}, "`Read`")],
)
def test_a_deprecated_tool_is_told_its_replacement_where_they_do_not(
    tool: str, arguments: dict[str, Any], replacement: str
) -> None:
    verdict = check(tool, arguments)
    assert not verdict.ok
    assert f"Invalid {tool} call. This tool is deprecated. Use {replacement} instead" in (verdict.hint or "")
    assert "`path` is `file_path` there" in (verdict.hint or "")


@pytest.mark.promise("V-09")
@every("tool", ["overwrite", "rewrite", "writer", "my_tool"])
def test_tools_nobody_told_us_of_pass(tool: str) -> None:
    assert check(tool, {}).ok
    assert hook(tool, {}) == {}


def test_further_arguments_of_a_tool_stay() -> None:
    arguments = {"path": "src", "recursive": True, "glob": "*.py"}
    verdict = check("list_directory", arguments)
    assert verdict.call is not None
    assert verdict.call.arguments is arguments


@pytest.mark.promise("V-04")
def test_the_hook_says_nothing_of_a_call_that_is_right() -> None:
    assert hook("write", {"file_path": "a.md", "content": "long enough text"}) == {}
    assert hook("Write", {"file_path": "a.md", "content": "long enough text"}) == {}
    assert hook("mcp__local__list_directory", {"path": "src"}) == {}


@pytest.mark.promise("V-04", "V-03")
def test_the_hook_denies_with_the_reason_the_model_reads() -> None:
    assert hook("write", {"file_path": "a.md"}) == {
        "permissionDecision": "deny",
        "permissionDecisionReason": f"⚠️ Invalid write call. Missing required fields: content. Example: {WRITE_EXAMPLE}",
    }


def test_the_hook_gives_the_corrected_input_and_leaves_the_permission_to_the_host() -> None:
    given = {"Path": "src", "depth": 2}
    assert hook("list_directory", given) == {"updatedInput": {"path": "src", "depth": 2}}
    assert given == {"Path": "src", "depth": 2}


@pytest.mark.parametrize("decision", ["allow", "ask"])
def test_the_hook_can_give_a_decision_with_the_corrected_input(decision: Any) -> None:
    said = hook("mcp__local__list_directory", {"Path": "src"}, SchemaGuardrail(when_repaired=decision))
    assert said == {
        "permissionDecision": decision,
        "permissionDecisionReason": "RightCall corrected the input: `Path` is `path`.",
        "updatedInput": {"path": "src"},
    }


@pytest.mark.parametrize("when_repaired", ["host", "allow"])
def test_a_repair_that_is_less_than_sure_is_shown_to_a_person(when_repaired: Any) -> None:
    said = hook("list_directory", {"directory_name": "notes"}, SchemaGuardrail(when_repaired=when_repaired))
    assert said["permissionDecision"] == "ask"
    assert said["updatedInput"] == {"path": "notes"}


@pytest.mark.promise("V-07")
def test_the_hook_cannot_run_another_tool_so_it_names_the_replacement() -> None:
    said = hook("mcp__local__write_local_file", {"path": "a.md", "content": "long enough text"})
    assert said == {
        "permissionDecision": "deny",
        "permissionDecisionReason": "⚠️ Invalid mcp__local__write_local_file call. It is deprecated: "
        "use `write` instead, with the fields file_path, content.",
    }


def test_a_tool_whose_name_is_only_alike_is_another_tool_to_the_hook() -> None:
    guardrail = SchemaGuardrail(packs=(), tools=[{"name": "search_archive", "parameters": SEEK}])
    assert guardrail.gate.catalog.find("search_archve").kind == "typo"
    assert hook("search_archve", {}, guardrail) == {}


@pytest.mark.promise("V-04")
def test_in_warn_mode_the_call_runs_and_the_model_reads_the_hint() -> None:
    gate = Gate(packs=["guardrail"], policy={"gate": {"mode": "warn", "unknown_tool": "pass"}})
    said = hook("write", {"file_path": "a.md"}, SchemaGuardrail(gate))
    assert list(said) == ["additionalContext"]
    assert said["additionalContext"].startswith("⚠️ Invalid write call. Missing required fields: content.")


@pytest.mark.promise("V-04")
def test_in_observe_mode_the_hook_is_silent() -> None:
    events: list[Event] = []
    gate = Gate(packs=["guardrail"], policy={"gate": {"mode": "observe"}}, on_event=events.append)
    guardrail = SchemaGuardrail(gate)
    assert hook("write", {"file_path": "a.md"}, guardrail) == {}
    assert hook("list_directory", {"Path": "src"}, guardrail) == {}
    assert [event.name for event in events] == ["tool_validation_failed", "tool_call_repaired"]


def test_a_fault_of_ours_blocks_the_call() -> None:
    gate = Gate(packs=["guardrail"])

    @gate.repair("write")
    def explode(arguments: dict[str, Any]) -> None:
        raise ValueError("no repair today")

    assert hook("write", {"path": "a.md"}, SchemaGuardrail(gate))["permissionDecision"] == "deny"


@pytest.mark.parametrize("event", [{}, {"tool_name": None}, {"tool_name": "list_directory", "tool_input": None}])
def test_an_event_without_name_or_input_is_no_reason_to_raise(event: dict[str, Any]) -> None:
    output = asyncio.run(SchemaGuardrail().pre_tool_use_schema_guardrail(event, None, None))
    assert output == {} or output["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_gate_and_what_it_is_made_of_are_not_given_together() -> None:
    with pytest.raises(TypeError, match="give them to the gate"):
        SchemaGuardrail(Gate(), on_event=print)
