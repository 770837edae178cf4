"""The extension file without the package: the pack's own rules, the engine's own words, and nothing that can fail."""

import asyncio
import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rightcall.hosts.agent_zero import CUT_OFF, EXTENSION, MetaReasoningGate, agent_zero_gate, tool_schemas, with_rules
from support.every import every


def load() -> ModuleType:
    """As Agent Zero loads it: by its path, under its file's name, and in no list of modules."""
    spec = importlib.util.spec_from_file_location(EXTENSION.stem, EXTENSION)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WITH_ENGINE: Any = load()
ALONE: Any = load()
ALONE._engine = lambda: None
GATE = agent_zero_gate()
TOOLS = sorted(ALONE.TOOL_SCHEMAS)


class Agent:
    """What Agent Zero hands to an extension, as far as the gate uses it: here all of it is one object."""

    def __init__(self, **more: Any) -> None:
        self.said: list[tuple[str, str]] = []
        self.context = SimpleNamespace(log=self)
        vars(self).update(more)

    def log(self, *, type: str, content: str) -> None:
        self.said.append((type, content))

    def hist_add_warning(self, text: str) -> None:
        self.said.append(("history", text))


def alone(tool: str, arguments: dict[str, Any]) -> list[tuple[str, str]]:
    agent = Agent()
    asyncio.run(ALONE.MetaReasoningGate(agent=agent).execute(tool_args=arguments, tool_name=tool))
    return agent.said


def engine(tool: str, arguments: dict[str, Any]) -> list[tuple[str, str]]:
    agent = Agent()
    asyncio.run(MetaReasoningGate(agent, GATE).execute(arguments, tool))
    return agent.said


def early(request: Any, last_response: str = "") -> tuple[dict[str, Any], Agent]:
    agent = Agent(loop_data=SimpleNamespace(last_response=last_response, params_temporary={}))
    data = {"args": (agent, request), "kwargs": {}, "result": "unset", "exception": None}
    asyncio.run(ALONE.MetaReasoningGate(agent=agent).execute(data=data))
    return data, agent


@pytest.mark.promise("H-06", "V-08")
def test_the_file_has_the_rules_of_the_pack() -> None:
    assert tool_schemas() == ALONE.TOOL_SCHEMAS
    text = EXTENSION.read_text(encoding="utf-8")
    assert with_rules(text) == text, "run `python -m rightcall.hosts.agent_zero`"


TEXTS = st.sampled_from(["", "  ", "bash", " PY ", "output", "terminal", "ls -la", "node"])


def own_names(tool: str) -> list[str]:
    schema = ALONE.TOOL_SCHEMAS[tool]
    # The engine takes `action` for a model's own remark where another argument can be meant.
    return [name for name in (*schema["required"], *schema["arg_aliases"]) if name != "action"]


CALLS = st.sampled_from(TOOLS).flatmap(
    lambda tool: st.tuples(st.just(tool), st.dictionaries(st.sampled_from(own_names(tool)), TEXTS, max_size=5))
)


@pytest.mark.promise("H-06")
@given(CALLS)
def test_alone_it_does_and_says_what_the_engine_does(call: tuple[str, dict[str, Any]]) -> None:
    tool, written = call
    assume(list(written.values()).count("") < 3)  # the engine takes arguments with equal values for one
    mine, theirs = dict(written), dict(written)
    said = alone(tool, mine)
    wanted = engine(tool, theirs)
    # The engine also knows the schema: runtimes that are none, and how the right ones are written.
    beyond = ("args that do not fit", "arguments that do not fit", "runtime (")
    assert said == [line for line in wanted if not any(words in line[1] for words in beyond)]
    assert {k: fold(v) for k, v in mine.items()} == {k: fold(v) for k, v in theirs.items()}


def fold(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


@pytest.mark.promise("H-06")
def test_warnings_are_the_designs_word_for_word() -> None:
    assert alone("code_execution_tool", {"runtime": "bash", "language": "x"}) == [
        ("info", "[MetaGate] Auto-corrected runtime value 'bash' → 'terminal'"),
        ("warning", "[MetaGate] Tool 'code_execution_tool' missing required args: ['code']"),
        (
            "history",
            "Tool 'code_execution_tool' is missing required arguments: code. Check the tool usage format and retry.",
        ),
    ]


@pytest.mark.promise("H-06")
@every(
    ("tool", "written"),
    [
        ("code_execution_tool", {"runtime": "terminal", "workdir": "/"}),
        ("search_engine", {"engine": "google"}),
        ("search_engine", {"engine": "google", "q": "tea"}),
        ("response", {"txt": "hi"}),
    ],
)
def test_an_argument_that_nobody_declared_is_never_taken_for_another(tool: str, written: dict[str, Any]) -> None:
    mine, theirs = dict(written), dict(written)
    assert alone(tool, mine) == engine(tool, theirs)
    assert mine == theirs
    aliases = ALONE.TOOL_SCHEMAS[tool]["arg_aliases"]
    assert {key: value for key, value in mine.items() if key in written} == {
        key: value for key, value in written.items() if key not in aliases
    }


@pytest.mark.promise("H-06")
@pytest.mark.parametrize("written", [{"command": "ls", "lang": "bash"}, {"lang": "bash", "command": "ls"}])
def test_corrections_are_logged_in_the_order_of_the_rules(written: dict[str, Any]) -> None:
    said = [
        ("info", "[MetaGate] Auto-corrected arg 'command' → 'code'"),
        ("info", "[MetaGate] Auto-corrected arg 'lang' → 'runtime'"),
        ("info", "[MetaGate] Auto-corrected runtime value 'bash' → 'terminal'"),
    ]
    assert alone("code_execution_tool", dict(written)) == said
    assert engine("code_execution_tool", dict(written)) == said


WHOLE = [
    '{"thoughts": ["I will."], "tool_name": "response", "tool_args": {"text": "a {b"}}',
    '```json\n{"tool_name": "response", "tool_args": {"text": "it\'s \\"so\\""}}\n``` and more',
    "{'tool_name': 'response', 'tool_args': {'text': 'hi',}}",
    '{tool_name: "response", tool_args: {text: """many\n"lines""""}}',
    '{"tool_name": "response", "tool_args": {"text": "the last brace is missing"}',
    "no call at all, it's only text: “",
    "",
]


@every("answer", WHOLE)
def test_a_whole_answer_is_not_taken_for_one_that_was_cut(answer: str) -> None:
    assert not ALONE.is_cut(answer)


@pytest.mark.promise("H-06")
@every("answer", WHOLE[:4])
def test_an_answer_that_ends_inside_its_call_is_cut_wherever_that_is(answer: str) -> None:
    start, end = answer.index("tool_args") + 13, answer.rindex("}}")
    assert [at for at in range(start, end + 1) if not ALONE.is_cut(answer[:at])] == []


@pytest.mark.promise("H-06")
def test_half_a_call_does_not_run_and_the_model_reads_why() -> None:
    assert ALONE.CUT_OFF == CUT_OFF
    for run in (ALONE, WITH_ENGINE):
        agent = Agent(loop_data=SimpleNamespace(last_response=WHOLE[0][:-6]))
        with pytest.raises(RuntimeError, match=f"Tool 'response' {CUT_OFF}"):
            asyncio.run(run.MetaReasoningGate(agent=agent).execute(tool_args={"text": "a"}, tool_name="response"))
        assert agent.said == [("warning", "[MetaGate] Tool 'response' was cut off")]


def test_a_fault_is_logged_and_the_call_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(ALONE, "correct", fail)
    arguments = {"message": "hi"}
    assert alone("response", arguments) == [("warning", "[MetaGate] Error (passthrough): the disk is full")]
    assert arguments == {"message": "hi"}


def test_a_fault_under_a_policy_that_blocks_stops_the_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    policy = tmp_path / "rightcall.toml"
    policy.write_text('[gate.hosts.agent-zero]\nmode = "block"\non_failure = "allow"\n', encoding="utf-8")
    monkeypatch.setenv("RIGHTCALL_POLICY", str(policy))
    assert ("info", "[MetaGate] Auto-corrected arg 'message' → 'text'") in alone("response", {"message": "hi"})
    policy.write_text('[gate.hosts.agent-zero]\nmode = "block"\n', encoding="utf-8")
    with pytest.raises(RuntimeError, match="No tool may run: the package rightcall is not installed"):
        alone("response", {"message": "hi"})


def test_a_request_is_told_of_once_however_often_agent_zero_asks() -> None:
    agent = Agent(loop_data=SimpleNamespace(last_response="", params_temporary={}))
    for _ in range(2):
        request = {"tool": "response", "args": {"text": "hi"}}
        asyncio.run(ALONE.MetaReasoningGate(agent=agent).execute(data={"args": (agent, request), "kwargs": {}}))
    assert [line for _, line in agent.said] == [
        "[MetaGate] Auto-corrected request field 'tool' → 'tool_name'",
        "[MetaGate] Auto-corrected request field 'args' → 'tool_args'",
    ]


def test_a_request_that_is_right_is_left_as_it_is() -> None:
    arguments = {"text": "hi", "tool": "x", "name": "y"}
    request = {"thoughts": ["name"], "headline": "input", "tool_name": "response", "tool_args": arguments, "args": {}}
    copy = dict(request)
    data, agent = early(request)
    assert request == copy
    assert request["tool_args"] is arguments
    assert (agent.said, data["result"], data["exception"]) == ([], "unset", None)


def test_what_a_model_wrote_cannot_disguise_a_line_of_the_log() -> None:
    _, agent = early({"to\x1b[31mol": "response", "args": {"text": "hi"}})
    assert all(line.isprintable() for _, line in agent.said)


KEYS = st.sampled_from(
    ["tool_name", "tool", "name", "function", "tool_calls", "tool_args", "args", "arguments", "text"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(request=st.dictionaries(KEYS, VALUES | st.just("response"), max_size=5))
def test_whatever_the_request_nothing_is_raised_and_a_second_look_changes_nothing(request: dict[str, Any]) -> None:
    data, agent = early(request)
    assert not any("passthrough" in line for _, line in agent.said)
    if data["exception"] is None:
        once = repr(request)
        _, again = early(request)
        assert repr(request) == once
        assert not any(kind == "info" for kind, _ in again.said)
