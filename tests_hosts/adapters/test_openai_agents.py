"""OpenAI Agents with the SDK's own scripted model: what RightCall makes of a call, beside what happens without it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, FunctionTool, Model, RunConfig, Runner, RunState, function_tool
from agents.exceptions import ModelBehaviorError
from agents.mcp import MCPServerStdio
from agents.testing import ScriptedModel, assistant_message
from msgspec import json
from openai.types.responses import ResponseFunctionToolCall

from adapters.records import answered, example, records, statuses
from adapters.running import POLICY, RecordingTools
from rightcall.hosts.openai_agents import RightCall

QUIET = RunConfig(tracing_disabled=True)
IN_TEXT = 'Sure. <tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "hi"}}</tool_call>'


class Tools(RecordingTools):
    @property
    def all(self) -> list[Any]:
        return [function_tool(function, strict_mode=False) for function in self.functions]


def called(name: str, arguments: str, call_id: str = "c1", **more: Any) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(name=name, arguments=arguments, call_id=call_id, type="function_call", **more)


def scripted(*answers: Any) -> ScriptedModel:
    """Gives these answers one after the other, then "done"."""
    steps = [one if isinstance(one, list) else [one] for one in (*answers, "done")]
    return ScriptedModel([[assistant_message(i) if isinstance(i, str) else i for i in step] for step in steps])


def agent(tools: Tools, model: Model, rightcall: RightCall | None = None, **options: Any) -> Agent[Any]:
    plain: Agent[Any] = Agent(name="helper", model=model, tools=tools.all, **options)
    return plain if rightcall is None else rightcall.guard(plain)


async def finished(agent: Agent[Any], given: Any, streamed: bool) -> Any:
    if not streamed:
        return await Runner.run(agent, given, run_config=QUIET)
    result = Runner.run_streamed(agent, given, run_config=QUIET)
    async for _ in result.stream_events():
        pass
    return result


def run(agent: Agent[Any], given: Any = "go", *, streamed: bool = False) -> Any:
    return asyncio.run(finished(agent, given, streamed))


def told(result: Any) -> list[str]:
    """What the model read as results of its calls."""
    return [str(item.output) for item in result.new_items if item.type == "tool_call_output_item"]


@pytest.fixture
def tools() -> Tools:
    return Tools()


@pytest.fixture
def rightcall() -> Iterator[RightCall]:
    guard = RightCall(POLICY)
    yield guard
    guard.close()


@pytest.mark.promise("H-07")
@pytest.mark.parametrize(
    ("written", "without"),
    [
        (called("write_file", '{"file_path": "a", "text": "hi"}'), "An error occurred"),
        (called("write_file", "{'path': 'a', 'content': 'hi',}"), "An error occurred"),
        (IN_TEXT, ""),
    ],
    ids=["wrong argument", "broken JSON", "left in text"],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_damaged_call_runs_as_it_was_meant_and_fails_without(
    tools: Tools, rightcall: RightCall, written: Any, without: str, streamed: bool
) -> None:
    plain = run(agent(tools, scripted(written)), streamed=streamed)
    assert tools.ran == []
    assert without in "".join(told(plain))
    guarded = run(agent(tools, scripted(written), rightcall), streamed=streamed)
    assert tools.ran == [("write", "a", "hi")]
    assert (told(guarded), guarded.final_output) == (["wrote 2"], "done")
    [record] = records(rightcall.door)
    assert record.status == "success"
    assert record.repairs or written == IN_TEXT


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("streamed", [False, True])
def test_a_wrong_tool_name_ends_the_run_without_and_is_put_right_with_rightcall(
    tools: Tools, rightcall: RightCall, streamed: bool
) -> None:
    written = called("writeFile", '{"path": "a", "content": "hi"}')
    with pytest.raises(ModelBehaviorError, match="not found"):
        run(agent(tools, scripted(written)), streamed=streamed)
    run(agent(tools, scripted(written), rightcall), streamed=streamed)
    assert tools.ran == [("write", "a", "hi")]
    [record] = records(rightcall.door)
    assert record.tool == "write_file"
    assert record.repairs


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("streamed", [False, True])
def test_a_tool_that_nobody_has_ends_the_run_without_and_is_told_with_rightcall(
    tools: Tools, rightcall: RightCall, streamed: bool
) -> None:
    unknown = called("write_files_now", '{"path": "a"}')
    with pytest.raises(ModelBehaviorError, match="not found"):
        run(agent(tools, scripted(unknown)), streamed=streamed)
    model = scripted(unknown, called("write_file", '{"path": "a", "content": "hi"}', "c2"))
    result = run(agent(tools, model, rightcall), streamed=streamed)
    assert told(result)[0].startswith("Unknown tool `write_files_now`. Did you mean `write_file`")
    assert "format_disk" not in told(result)[0]  # which the policy denies
    assert (tools.ran, result.final_output) == ([("write", "a", "hi")], "done")
    first, _ = records(rightcall.door)
    assert (first.tool, first.status) == ("write_files_now", "failed")
    assert "write_files_now" in str(model.calls[1])
    assert "rightcall_no_such_tool" not in str(model.calls)


@pytest.mark.promise("H-07")
def test_a_misspelt_tool_that_lacks_something_is_told_what(tools: Tools, rightcall: RightCall) -> None:
    result = run(agent(tools, scripted(called("writeFile", '{"path": "a"}')), rightcall))
    assert "Missing required fields: content" in told(result)[0]
    assert statuses(rightcall.door) == [("write_file", "refused")]


@pytest.mark.promise("H-07")
def test_a_call_that_fits_stays_the_same_object(tools: Tools, rightcall: RightCall) -> None:
    right = called("write_file", '{ "path": "a",  "content": "hi" }')
    result = run(agent(tools, scripted(right), rightcall))
    assert tools.ran == [("write", "a", "hi")]
    assert result.new_items[0].raw_item.arguments == right.arguments


@pytest.mark.promise("H-07")
def test_a_missing_field_is_told_and_the_next_try_runs(tools: Tools, rightcall: RightCall) -> None:
    tries = (called("write_file", '{"path": "a"}'), called("write_file", '{"path": "a", "content": "hi"}', "c2"))
    result = run(agent(tools, scripted(*tries), rightcall))
    assert "Missing required fields: content" in told(result)[0]
    assert tools.ran == [("write", "a", "hi")]
    assert statuses(rightcall.door) == [("write_file", "refused"), ("write_file", "success")]


@pytest.mark.promise("H-07")
def test_what_the_policy_forbids_does_not_run(tools: Tools, rightcall: RightCall) -> None:
    result = run(agent(tools, scripted(called("format_disk", "{}")), rightcall))
    assert tools.ran == []
    assert "not whitelisted" in told(result)[0]


@pytest.mark.promise("H-07")
@pytest.mark.parametrize(
    "cut",
    [
        called("write_file", '{"path": "a", "content": "h'),
        called("launch", "", status="incomplete"),
        called("launch", "{", status="incomplete"),
        called("launch", '{"host": "a"}', status="incomplete"),
    ],
    ids=["inside a value", "before the first", "at the brace", "at the end"],
)
def test_a_truncated_call_is_told_asks_nobody_and_never_runs(
    tools: Tools, rightcall: RightCall, cut: ResponseFunctionToolCall
) -> None:
    result = run(agent(tools, scripted(cut), rightcall))
    assert (tools.ran, result.interruptions) == ([], [])
    assert "truncated" in told(result)[0]


@pytest.mark.promise("H-07")
def test_a_tool_without_arguments_runs_when_the_model_writes_nothing(tools: Tools) -> None:
    guard = RightCall()
    result = run(agent(tools, scripted(called("format_disk", "")), guard))
    assert (tools.ran, result.interruptions) == ([("format",)], [])
    guard.close()


@pytest.mark.promise("H-07", "P-06")
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("approved", [False, True])
def test_an_approval_interrupts_and_only_a_yes_lets_the_call_run(
    tools: Tools, rightcall: RightCall, streamed: bool, approved: bool
) -> None:
    asking = agent(tools, scripted(called("deleteFile", "{'path': 'a'}")), rightcall)
    asked = run(asking, streamed=streamed)
    [question] = asked.interruptions
    assert (question.tool_name, question.raw_item.arguments) == ("delete_file", '{"path":"a"}')
    state = asked.to_state()
    if approved:
        state.approve(question)
    else:
        state.reject(question)
    done = run(asking, state, streamed=streamed)
    assert tools.ran == ([("delete", "a")] if approved else [])
    assert done.final_output == "done"
    if approved:
        assert records(rightcall.door)[-1].status == "success"


@pytest.mark.promise("H-07", "P-06")
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("another_process", [False, True])
def test_a_no_is_recorded_and_nobody_can_say_yes_afterwards(
    tools: Tools, tmp_path: Path, streamed: bool, another_process: bool
) -> None:
    policy = tmp_path / "rightcall.toml"
    policy.write_text('version = 1\n[policy]\napproval = { tools = ["delete_file"] }\n')
    first = RightCall(policy)
    second = RightCall(policy) if another_process else first
    asked = run(agent(tools, scripted(called("delete_file", '{"path": "a"}')), first), streamed=streamed)
    after = agent(tools, scripted(called("delete_file", '{"path": "a"}', "c2")), second)

    async def resumed() -> Any:
        state: Any = await RunState.from_string(after, asked.to_state().to_string())
        state.reject(state.get_interruptions()[0])
        return await finished(after, state, streamed)

    done = asyncio.run(resumed())
    assert answered(second.door, records(second.door)[0]) == "denied"
    assert "A person denied this call" in told(done)[-1]
    assert tools.ran == []
    first.close()
    second.close()


@pytest.mark.promise("H-07", "P-06")
def test_a_yes_for_good_is_one_for_the_call_that_was_asked_about(tools: Tools, rightcall: RightCall) -> None:
    calls = (called("delete_file", '{"path": "a"}'), called("delete_file", '{"path": "b"}', "c2"))
    asking = agent(tools, scripted(*calls), rightcall)
    asked = run(asking)
    state = asked.to_state()
    state.approve(asked.interruptions[0], always_approve=True)
    done = run(asking, state)
    assert tools.ran == [("delete", "a")]
    assert "approvals approve" in told(done)[-1]


@pytest.mark.promise("H-07", "P-10")
def test_in_mode_warn_an_unsure_call_runs_as_the_model_wrote_it() -> None:
    ran: list[dict[str, Any]] = []
    warner = RightCall(mode="warn")
    schema: dict[str, Any] = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}

    async def note(_context: Any, raw: str) -> str:
        ran.append(json.decode(raw))
        return "did it"

    shell = FunctionTool("run_shell", "", schema, note, strict_json_schema=False)
    plain: Agent[Any] = Agent(name="a", model=scripted(called("run_shell", '{"extra": "reboot"}')), tools=[shell])
    result = run(warner.guard(plain))
    assert ran == [{"extra": "reboot"}]
    assert "use `command` if you meant it" in told(result)[0]
    warner.close()


@pytest.mark.promise("H-07", "P-06")
def test_a_run_that_goes_on_in_another_process_judges_the_same(tools: Tools, tmp_path: Path) -> None:
    policy = tmp_path / "rightcall.toml"
    policy.write_text('version = 1\n[policy]\napproval = { tools = ["delete_file"] }\n')
    first, second = RightCall(policy), RightCall(policy)
    asked = run(agent(tools, scripted(called("delete_file", '{"path": "a"}')), first))
    after = agent(tools, scripted(), second)

    async def resumed() -> Any:
        state: Any = await RunState.from_string(after, asked.to_state().to_string())
        state.approve(state.get_interruptions()[0])
        return await finished(after, state, False)

    assert asyncio.run(resumed()).final_output == "done"
    assert tools.ran == [("delete", "a")]
    assert records(second.door)[-1].status == "success"
    first.close()
    second.close()


@pytest.mark.promise("H-07", "P-06")
@pytest.mark.parametrize("answer", [False, True])
def test_the_tools_own_rule_is_asked_first_and_still_counts(rightcall: RightCall, answer: bool) -> None:
    asked: list[dict[str, Any]] = []

    async def own_rule(_context: Any, arguments: dict[str, Any], _call_id: str) -> bool:
        asked.append(arguments)
        return answer

    @function_tool(needs_approval=own_rule)
    def greet(name: str) -> str:
        return f"hello {name}"

    plain: Agent[Any] = Agent(name="greeter", model=scripted(called("greet", '{"name": "you"}')), tools=[greet])
    result = run(rightcall.guard(plain))
    assert asked == [{"name": "you"}]
    assert len(result.interruptions) == answer
    assert told(result) == ([] if answer else ["hello you"])


@pytest.mark.promise("H-07", "A-01")
def test_a_tool_that_fails_is_recorded_as_failed(tools: Tools, rightcall: RightCall) -> None:
    result = run(agent(tools, scripted(called("launch", "{}")), rightcall))
    assert "An error occurred" in told(result)[0]
    [record] = records(rightcall.door)
    assert record.status == "failed"


@pytest.mark.promise("H-07")
def test_calls_of_one_answer_are_judged_each_for_itself(tools: Tools, rightcall: RightCall) -> None:
    calls = [called("write_file", f"{{'file_path': '{n}', 'text': 'hi'}}", f"c{n}") for n in range(5)]
    result = run(agent(tools, scripted([*calls, called("format_disk", "{}", "c5")]), rightcall))
    assert sorted(tools.ran) == [("write", str(n), "hi") for n in range(5)]
    assert told(result)[:5] == ["wrote 2"] * 5
    assert "not whitelisted" in told(result)[5]


@pytest.mark.promise("H-07")
def test_runs_whose_models_give_the_same_ids_do_not_meet(tools: Tools, rightcall: RightCall) -> None:
    async def all_at_once() -> Any:
        runs = [
            finished(
                agent(tools, scripted(called("write_file", f"{{'path': '{n}', 'content': 'hi'}}")), rightcall),
                "go",
                False,
            )
            for n in range(8)
        ]
        return await asyncio.gather(*runs)

    asyncio.run(all_at_once())
    assert sorted(tools.ran) == [("write", str(n), "hi") for n in range(8)]
    assert statuses(rightcall.door) == [("write_file", "success")] * 8


@pytest.mark.promise("H-07")
def test_handing_over_still_works_and_the_other_agent_is_guarded_too(tools: Tools, rightcall: RightCall) -> None:
    other = agent(tools, scripted(called("format_disk", "{}")), rightcall)
    first: Agent[Any] = Agent(
        name="first", model=scripted(called("transfer_to_helper", "", "c0")), tools=tools.all, handoffs=[other]
    )
    result = run(rightcall.guard(first))
    assert (result.last_agent.name, result.final_output, tools.ran) == ("helper", "done", [])


@pytest.mark.promise("H-07")
def test_a_text_that_is_data_is_not_read_for_calls(tools: Tools, rightcall: RightCall) -> None:
    data = '{"response": ["' + IN_TEXT.replace('"', '\\"') + '"]}'
    model = ScriptedModel([[assistant_message(data)]])
    plain: Agent[Any] = Agent(name="data", model=model, tools=tools.all, output_type=list[str])
    assert run(rightcall.guard(plain)).final_output == [IN_TEXT]


@pytest.mark.promise("H-07")
def test_observing_changes_nothing_and_records_what_would_have_been(tools: Tools) -> None:
    observer = RightCall(POLICY, mode="observe")
    assert run(agent(tools, scripted(IN_TEXT), observer)).final_output == IN_TEXT
    result = run(agent(tools, scripted(called("write_file", "{'path': 'a'}")), observer))
    assert result.interruptions or "An error occurred" in told(result)[0]
    run(agent(tools, scripted(called("format_disk", "{}")), observer))
    assert tools.ran == [("format",)]
    assert "not whitelisted" in records(observer.door)[-1].reason
    observer.close()


@pytest.mark.promise("H-07")
def test_the_tools_of_an_mcp_server_are_guarded(rightcall: RightCall, npm_bin: Path, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("the note")
    written = called("readTextFile", f"{{'file_path': '{tmp_path}/note.txt'}}")

    async def go() -> Any:
        command: Any = {"command": str(npm_bin / "mcp-server-filesystem"), "args": [str(tmp_path)]}
        async with MCPServerStdio(params=command, client_session_timeout_seconds=200) as server:
            plain: Agent[Any] = Agent(name="reader", model=scripted(written), mcp_servers=[server])
            return await finished(rightcall.guard(plain), "go", False)

    assert "the note" in told(asyncio.run(go()))[0]
    [record] = records(rightcall.door)
    assert (record.tool, record.status) == ("read_text_file", "success")


@pytest.mark.promise("H-07")
def test_the_example_runs_and_says_what_happened() -> None:
    said = example("openai_agents_agent.py")
    assert "a person is asked:  book_table" in said
    assert "Tool 'wire_money' is not whitelisted" in said
    assert "Missing required fields: guests" in said
    assert said.endswith("Booked Da Enzo for 4.\nanswer:             Done: a table for four.\n")
