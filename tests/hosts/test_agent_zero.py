"""The warn-only gate as an Agent Zero user expects it: in place, in its own words, and never in the way."""

import asyncio
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightcall import Gate
from rightcall.hosts.agent_zero import MetaReasoningGate, agent_zero_gate
from support.every import every


class FakeLog:
    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def log(self, *, type: str, content: str) -> None:
        self.lines.append((type, content))


class FakeAgent:
    """What Agent Zero hands to an extension, as far as the gate uses it."""

    def __init__(self) -> None:
        self.context = self
        self.log = FakeLog()
        self.warnings: list[str] = []

    def hist_add_warning(self, message: str) -> None:
        self.warnings.append(message)


def run(arguments: dict[str, Any] | None, tool: str, agent: Any = None, gate: Any = None) -> FakeAgent:
    used = FakeAgent() if agent is None else agent
    asyncio.run(MetaReasoningGate(used, gate).execute(tool_args=arguments, tool_name=tool, loop_data=object()))
    return used


@pytest.mark.promise("V-04", "N-06")
def test_a_wrong_argument_name_is_corrected_in_the_same_dict() -> None:
    arguments = {"runtime": "python", "command": "print(1)"}
    held = arguments
    agent = run(arguments, "code_execution_tool")
    assert held is arguments
    assert arguments == {"runtime": "python", "code": "print(1)", "session": 0, "reset": False}
    assert agent.log.lines == [("info", "[MetaGate] Auto-corrected arg 'command' → 'code'")]
    assert agent.warnings == []


@pytest.mark.promise("V-04", "N-07")
def test_a_wrong_runtime_is_corrected_in_the_gates_own_words() -> None:
    arguments = {"runtime": "bash", "code": "echo hello"}
    agent = run(arguments, "code_execution_tool")
    assert arguments["runtime"] == "terminal"
    assert agent.log.lines == [("info", "[MetaGate] Auto-corrected runtime value 'bash' → 'terminal'")]


def test_the_value_in_the_log_is_the_one_that_was_looked_up() -> None:
    agent = run({"runtime": " PowerShell ", "code": "dir"}, "code_execution_tool")
    assert agent.log.lines == [("info", "[MetaGate] Auto-corrected runtime value 'powershell' → 'terminal'")]


@pytest.mark.promise("V-04", "V-02")
def test_a_missing_argument_is_logged_and_told_word_for_word_and_the_call_goes_on() -> None:
    arguments = {"runtime": "python"}
    agent = run(arguments, "code_execution_tool")
    assert agent.log.lines == [
        ("warning", "[MetaGate] Tool 'code_execution_tool' missing required args: ['code']"),
    ]
    assert agent.warnings == [
        "Tool 'code_execution_tool' is missing required arguments: code. Check the tool usage format and retry."
    ]
    assert arguments == {"runtime": "python", "session": 0, "reset": False}


def test_several_missing_arguments_are_told_at_once() -> None:
    agent = run({"session": 1}, "code_execution_tool")
    assert agent.log.lines == [
        ("warning", "[MetaGate] Tool 'code_execution_tool' missing required args: ['runtime', 'code']"),
    ]
    (warning,) = agent.warnings
    assert warning.startswith("Tool 'code_execution_tool' is missing required arguments: runtime, code. Check ")


@pytest.mark.promise("V-02")
@pytest.mark.parametrize("runtime", ["output", " Output "])
def test_waiting_for_output_needs_no_code(runtime: str) -> None:
    agent = run({"runtime": runtime, "session": 0}, "code_execution_tool")
    assert agent.warnings == []
    assert all(kind == "info" for kind, _ in agent.log.lines)


@every(
    ("tool", "given", "expected"),
    [
        ("response", {"message": "Done."}, {"text": "Done."}),
        ("response", {"answer": "Done."}, {"text": "Done."}),
        ("call_subordinate", {"task": "Look"}, {"message": "Look"}),
        ("memory_load", {"lookup": "keys"}, {"query": "keys"}),
        ("memory_save", {"memory": "metric"}, {"text": "metric"}),
        ("search_engine", {"q": "tea"}, {"query": "tea"}),
        ("browser_agent", {"url": "example.com"}, {"message": "example.com"}),
        ("skills_tool", {"action": "list"}, {"method": "list"}),
    ],
)
def test_every_tool_of_the_design_has_its_aliases(tool: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    agent = run(given, tool)
    assert given == expected
    assert agent.warnings == []


def test_an_alias_never_overwrites_what_was_given() -> None:
    arguments = {"text": "right", "message": "other"}
    agent = run(arguments, "response")
    assert arguments == {"text": "right", "message": "other"}
    assert agent.warnings == []


def test_a_blank_argument_counts_as_absent() -> None:
    arguments = {"text": "  ", "message": "right"}
    run(arguments, "response")
    assert arguments == {"text": "right"}


@pytest.mark.promise("N-06")
def test_two_aliases_for_one_argument_are_left_alone_and_both_are_named() -> None:
    arguments = {"message": "one", "content": "two"}
    agent = run(arguments, "response")
    assert arguments == {"message": "one", "content": "two"}
    assert agent.log.lines == [
        ("warning", "[MetaGate] Tool 'response' missing required args: ['text']"),
        ("warning", "[MetaGate] Tool 'response' has several args for 'text': ['message', 'content']"),
    ]
    assert agent.warnings == [
        "Tool 'response' is missing required arguments: text. Check the tool usage format and retry.",
        "Tool 'response' has several arguments for text: message, content. Give only text and retry.",
    ]


def test_arguments_nobody_declared_are_left_alone() -> None:
    arguments = {"text": "hi", "_id": 7, "mood": {"deep": [1]}}
    agent = run(arguments, "response")
    assert arguments == {"text": "hi", "_id": 7, "mood": {"deep": [1]}}
    assert agent.log.lines == []


def test_a_call_that_is_right_is_not_touched_and_not_mentioned() -> None:
    inner = ["kept"]
    arguments = {"query": "tea", "extra": inner}
    agent = run(arguments, "search_engine")
    assert arguments["extra"] is inner
    assert (agent.log.lines, agent.warnings) == ([], [])


@pytest.mark.promise("V-09")
@every("tool", ["my_tool", "Response", "response2", "mcp.response", "overwrite"])
def test_unknown_tools_pass_untouched(tool: str) -> None:
    arguments = {"message": "hi", "runtime": "bash"}
    agent = run(arguments, tool)
    assert arguments == {"message": "hi", "runtime": "bash"}
    assert (agent.log.lines, agent.warnings) == ([], [])


@pytest.mark.parametrize(("arguments", "tool"), [(None, "response"), ({}, "response"), ({"a": 1}, "")])
def test_nothing_to_check_is_nothing_to_say(arguments: dict[str, Any] | None, tool: str) -> None:
    agent = run(arguments, tool)
    assert (agent.log.lines, agent.warnings) == ([], [])


def test_a_value_that_does_not_fit_is_named_but_not_quoted_since_secrets_are_unmasked_here() -> None:
    arguments = {"runtime": "s3cr3t-value", "code": "x"}
    agent = run(arguments, "code_execution_tool")
    assert arguments["runtime"] == "s3cr3t-value"
    said = [content for _, content in agent.log.lines] + agent.warnings
    assert [line for line in said if "runtime" in line] == said != []
    assert not any("s3cr3t" in line for line in said)


class Broken:
    """A gate with a fault in it."""

    @property
    def catalog(self) -> Any:
        raise ValueError("the gate broke")


def test_a_fault_inside_is_logged_and_the_call_goes_on_as_it_was() -> None:
    arguments = {"message": "hi"}
    agent = run(arguments, "response", gate=Broken())
    assert arguments == {"message": "hi"}
    assert agent.log.lines == [("warning", "[MetaGate] Error (passthrough): the gate broke")]
    assert agent.warnings == []


def test_a_fault_the_gate_reports_is_a_passthrough_too() -> None:
    gate = agent_zero_gate()

    @gate.repair("response")
    def explode(arguments: dict[str, Any]) -> None:
        raise ValueError("no repair today")

    arguments = {"message": "hi"}
    agent = run(arguments, "response", gate=gate)
    assert arguments == {"message": "hi"}
    assert [content.startswith("[MetaGate] Error (passthrough): ") for _, content in agent.log.lines] == [True]


class NoLog(FakeAgent):
    """An agent whose log fails."""

    def __init__(self) -> None:
        super().__init__()
        self.log = self

    def __getattr__(self, name: str) -> Any:
        raise OSError(f"no {name}: the disk is full")


def test_even_a_failing_log_does_not_keep_the_correction_or_the_warning_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    arguments = {"runtime": "bash"}
    agent = run(arguments, "code_execution_tool", agent=NoLog())
    assert arguments == {"runtime": "terminal", "session": 0, "reset": False}
    assert len(agent.warnings) == 1
    assert "[MetaGate] Auto-corrected runtime value 'bash' → 'terminal'" in caplog.messages


def test_a_failing_history_is_a_passthrough() -> None:
    class NoHistory(FakeAgent):
        def hist_add_warning(self, message: str) -> None:
            raise RuntimeError("history is full")

    agent = run({"runtime": "python"}, "code_execution_tool", agent=NoHistory())
    assert agent.log.lines[-1] == ("warning", "[MetaGate] Error (passthrough): history is full")


def test_with_no_agent_at_all_and_a_log_that_raises_nothing_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: object, **_kwargs: object) -> None:
        raise OSError("no log either")

    monkeypatch.setattr(logging.Logger, "warning", fail)
    arguments = {"message": "hi"}
    asyncio.run(MetaReasoningGate().execute(arguments, "response"))
    assert arguments == {"text": "hi"}


def test_an_asynchronous_history_is_awaited() -> None:
    class Later(FakeAgent):
        async def hist_add_warning(self, message: str) -> None:
            self.warnings.append(message)

    assert len(run({"reset": True}, "call_subordinate", agent=Later()).warnings) == 1


def test_a_gate_that_is_kept_counts_over_many_calls() -> None:
    gate = agent_zero_gate()
    assert isinstance(gate, Gate)
    for _ in range(3):
        run({"message": "hi"}, "response", gate=gate)
    assert gate.stats()["tools"]["response"]["total_calls"] == 3


def test_checking_twice_changes_nothing_more() -> None:
    arguments = {"language": "py", "script": "1"}
    run(arguments, "code_execution_tool")
    once = dict(arguments)
    agent = run(arguments, "code_execution_tool")
    assert arguments == once
    assert agent.log.lines == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["text", "message", "code", "cmd", "runtime", "lang", "query", "reset", "session"])


@given(
    tool=st.sampled_from(["response", "code_execution_tool", "call_subordinate", "memory_load", "skills_tool"]),
    arguments=st.dictionaries(NAMES | st.text(max_size=6), VALUES, max_size=5),
)
def test_whatever_the_arguments_nothing_is_raised_and_nothing_has_to_be_passed_through(
    tool: str, arguments: dict[str, Any]
) -> None:
    agent = run(arguments, tool, gate=GATE)
    assert [content for _, content in agent.log.lines if "passthrough" in content] == []


GATE = agent_zero_gate()
