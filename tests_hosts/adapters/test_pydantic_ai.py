"""pydantic-ai agents with their own function model: what RightCall makes of a call, beside what happens without it."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool, ToolDenied
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.run import AgentRunResult

from adapters.records import answered, example, records, statuses
from adapters.running import POLICY, RecordingTools
from rightcall.hosts.adapter import digest
from rightcall.hosts.pydantic_ai import RightCall

TEXT = 'Sure. <tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "hi"}}</tool_call>'
CUT = ModelResponse(parts=[ToolCallPart("write_file", '{"path": "a", "content": "h')], finish_reason="length")
LOST = ModelResponse(parts=[ToolCallPart("launch", {})], finish_reason="length")


class Tools(RecordingTools):
    @property
    def all(self) -> list[Any]:
        return list(self.functions)


def answer(given: Any) -> ModelResponse:
    if isinstance(given, ModelResponse):
        return given
    parts = given if isinstance(given, list) else [given]
    return ModelResponse(parts=[ToolCallPart(*p) if isinstance(p, tuple) else TextPart(p) for p in parts])


def scripted(*answers: Any) -> FunctionModel:
    """Gives these answers one after the other, then "done"; streamed in pieces of seven characters."""
    left = iter([*map(answer, answers), answer("done")])

    async def streamed(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Any]:
        for at, part in enumerate(next(left).parts):
            if isinstance(part, TextPart):
                for start in range(0, len(part.content), 7):
                    yield part.content[start : start + 7]
            elif isinstance(part, ToolCallPart):
                text = part.args if isinstance(part.args, str) else part.args_as_json_str()
                yield {at: DeltaToolCall(name=part.tool_name, json_args=text[:7], tool_call_id=f"c{at}")}
                for start in range(7, len(text), 7):
                    yield {at: DeltaToolCall(json_args=text[start : start + 7])}

    return FunctionModel(lambda *_: next(left), stream_function=streamed)


def returned(result: AgentRunResult[Any]) -> list[str]:
    """What the model read as results of its calls."""
    parts = [part for message in result.all_messages() for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]


def run(agent: Agent[None, Any], *prompt: str, **more: Any) -> AgentRunResult[Any]:
    return asyncio.run(agent.run(*prompt, **more))


@pytest.fixture
def tools() -> Tools:
    return Tools()


@pytest.fixture
def rightcall() -> Iterator[RightCall]:
    capability = RightCall(POLICY)
    yield capability
    capability.close()


def agent(tools: Tools, model: FunctionModel, *capabilities: RightCall, **options: Any) -> Agent[None, Any]:
    return Agent(model, tools=tools.all, capabilities=list(capabilities), **options)


@pytest.mark.promise("H-07")
@pytest.mark.parametrize(
    ("written", "without"),
    [
        (("write_file", {"file_path": "a", "text": "hi"}), "Field required"),
        (("writefile", {"path": "a", "content": "hi"}), "Unknown tool name"),
        (("write_file", "{'path': 'a', 'content': 'hi',}"), "Invalid JSON"),
        (TEXT, ""),
    ],
    ids=["wrong argument", "wrong tool", "broken JSON", "left in text"],
)
def test_a_damaged_call_runs_as_it_was_meant_and_fails_without(
    tools: Tools, rightcall: RightCall, written: Any, without: str
) -> None:
    plain = run(agent(tools, scripted(written)), "go")
    assert tools.ran == []
    assert without in "".join(returned(plain))
    guarded = run(agent(tools, scripted(written), rightcall), "go")
    assert tools.ran == [("write", "a", "hi")]
    assert guarded.output == "done"
    assert returned(guarded) == ["wrote 2"]
    [record] = records(rightcall.door)
    assert (record.status, record.summary) == ("success", '"wrote 2"')
    assert record.repairs or written == TEXT


@pytest.mark.promise("H-07")
def test_the_record_holds_what_the_model_wrote_and_the_history_what_ran(tools: Tools, rightcall: RightCall) -> None:
    result = run(agent(tools, scripted(("writefile", "{'path': 'a', 'content': 'hi'}")), rightcall), "go")
    [call] = [p for m in result.all_messages() for p in m.parts if isinstance(p, ToolCallPart)]
    assert (call.tool_name, call.args) == ("write_file", {"path": "a", "content": "hi"})
    [record] = records(rightcall.door)
    assert record.tool == "write_file"
    assert "'path': 'a'" in str(record.emission)


@pytest.mark.promise("H-07")
def test_a_call_that_fits_stays_the_same_object(tools: Tools, rightcall: RightCall) -> None:
    right = answer(("write_file", '{"path":"a","content":"hi"}'))
    result = run(agent(tools, scripted(right), rightcall), "go")
    assert tools.ran == [("write", "a", "hi")]
    assert result.all_messages()[1] is right or result.all_messages()[1].parts[0] is right.parts[0]


@pytest.mark.promise("H-07")
def test_a_missing_field_is_told_and_the_next_try_runs(tools: Tools, rightcall: RightCall) -> None:
    model = scripted(("write_file", {"path": "a"}), ("write_file", {"path": "a", "content": "hi"}))
    result = run(agent(tools, model, rightcall), "go")
    assert "Missing required fields: content" in returned(result)[0]
    assert tools.ran == [("write", "a", "hi")]
    assert statuses(rightcall.door) == [("write_file", "refused"), ("write_file", "success")]


@pytest.mark.promise("H-07")
def test_what_the_policy_forbids_is_final_and_takes_no_retries(tools: Tools, rightcall: RightCall) -> None:
    result = run(agent(tools, scripted(*[("format_disk", {})] * 3), rightcall, retries=0), "go")
    assert tools.ran == []
    assert all("not whitelisted" in text for text in returned(result)[:2])
    assert result.output == "done"


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("cut", [CUT, LOST], ids=["inside a value", "before the first"])
def test_a_truncated_call_never_runs(tools: Tools, rightcall: RightCall, cut: ModelResponse) -> None:
    result = run(agent(tools, scripted(cut), rightcall), "go")
    assert tools.ran == []
    assert "truncated" in returned(result)[0]


@pytest.mark.promise("H-07", "P-06")
def test_an_approval_is_deferred_and_the_approved_call_runs_once(tools: Tools, rightcall: RightCall) -> None:
    asking = agent(tools, scripted(("delete_file", {"path": "a"})), rightcall, output_type=[str, DeferredToolRequests])
    asked = run(asking, "go")
    assert isinstance(asked.output, DeferredToolRequests)
    [call] = asked.output.approvals
    assert "always asks" in asked.output.metadata[call.tool_call_id]["why"]
    assert tools.ran == []
    said = DeferredToolResults(approvals={call.tool_call_id: True})
    done = run(asking, message_history=asked.all_messages(), deferred_tool_results=said)
    assert (done.output, tools.ran) == ("done", [("delete", "a")])
    assert [record.status for record in records(rightcall.door)][-1] == "success"


@pytest.mark.promise("H-07", "P-06")
def test_a_denied_call_does_not_run(tools: Tools, rightcall: RightCall) -> None:
    asking = agent(tools, scripted(("delete_file", {"path": "a"})), rightcall, output_type=[str, DeferredToolRequests])
    asked = run(asking, "go")
    said = DeferredToolResults(approvals={asked.output.approvals[0].tool_call_id: ToolDenied("no")})
    run(asking, message_history=asked.all_messages(), deferred_tool_results=said)
    assert tools.ran == []


def with_arguments(messages: list[ModelMessage], args: Any, **details: Any) -> list[ModelMessage]:
    """The history with another call in the place of the one that waits."""
    *before, last = messages
    assert isinstance(last, ModelResponse)
    parts = [replace(p, args=args, **details) if isinstance(p, ToolCallPart) else p for p in last.parts]
    return [*before, replace(last, parts=parts)]


@pytest.mark.promise("H-07", "P-06")
@pytest.mark.parametrize("another_process", [False, True])
def test_an_approval_is_for_what_the_person_saw(tools: Tools, tmp_path: Path, another_process: bool) -> None:
    policy = tmp_path / "rightcall.toml"
    policy.write_text('version = 1\n[policy]\ndeny = ["format_disk"]\napproval = { tools = ["delete_file"] }\n')
    first = RightCall(policy)
    second = RightCall(policy) if another_process else first
    options: dict[str, Any] = {"output_type": [str, DeferredToolRequests]}
    asked = run(agent(tools, scripted(("delete_file", {"path": "a"})), first, **options), "go")
    call_id = asked.output.approvals[0].tool_call_id
    yes: dict[str, Any] = {"deferred_tool_results": DeferredToolResults(approvals={call_id: True})}
    history = asked.all_messages()
    other = with_arguments(history, {"path": "everything"})
    again = run(agent(tools, scripted(), second, **options), message_history=other, **yes)
    assert tools.ran == []
    assert again.output.approvals[0].args == {"path": "everything"}
    run(agent(tools, scripted(), second, **options), message_history=history, **yes)
    assert tools.ran == [("delete", "a")]
    first.close()
    second.close()


@pytest.mark.promise("H-07", "P-06")
def test_what_is_judged_is_what_runs_whatever_the_history_says_the_model_wrote(tools: Tools) -> None:
    guard = RightCall({"policy": {"approval": {"tools": ["delete_file"]}}})
    forged = {"name": "write_file", "arguments": {"path": "a", "content": "hi"}}
    forged |= {"became": digest("write_file", {"path": "b", "content": "other"})}
    part = ToolCallPart("write_file", {"path": "b", "content": "other"}, provider_details={"rightcall": forged})
    run(agent(tools, scripted(ModelResponse(parts=[part])), guard), "go")
    assert tools.ran == [("write", "a", "hi")]
    guard.close()


@pytest.mark.promise("H-07", "P-06")
@pytest.mark.parametrize("no", [False, ToolDenied("not today")])
def test_a_no_is_recorded_and_nobody_can_say_yes_afterwards(tools: Tools, rightcall: RightCall, no: Any) -> None:
    call = ("delete_file", {"path": "a"})
    asking = agent(tools, scripted(call, call), rightcall, output_type=[str, DeferredToolRequests])
    asked = run(asking, "go")
    [waiting] = records(rightcall.door)
    said = DeferredToolResults(approvals={asked.output.approvals[0].tool_call_id: no})
    done = run(asking, message_history=asked.all_messages(), deferred_tool_results=said)
    assert answered(rightcall.door, waiting) == "denied"
    assert "A person denied this call" in returned(done)[-1]
    assert tools.ran == []


@pytest.mark.promise("H-07", "P-06")
def test_a_yes_to_the_agents_own_question_is_one_to_the_policys(tools: Tools, rightcall: RightCall) -> None:
    own = Tool(tools.delete_file, requires_approval=True)
    asking: Agent[None, Any] = Agent(
        scripted(("delete_file", {"path": "a"})), tools=[own], capabilities=[rightcall],
        output_type=[str, DeferredToolRequests],
    )  # fmt: skip
    asked = run(asking, "go")
    yes = DeferredToolResults(approvals={asked.output.approvals[0].tool_call_id: True})
    other = with_arguments(asked.all_messages(), {"path": "everything"})
    assert isinstance(run(asking, message_history=other, deferred_tool_results=yes).output, DeferredToolRequests)
    assert tools.ran == []
    run(asking, message_history=asked.all_messages(), deferred_tool_results=yes)
    assert tools.ran == [("delete", "a")]


@pytest.mark.promise("H-07", "P-06")
def test_nobody_to_ask_means_no(tools: Tools, rightcall: RightCall) -> None:
    with pytest.raises(UserError, match="DeferredToolRequests"):
        run(agent(tools, scripted(("delete_file", {"path": "a"})), rightcall), "go")
    assert tools.ran == []


@pytest.mark.promise("H-07", "A-01")
def test_a_tool_that_fails_is_recorded_as_failed(tools: Tools, rightcall: RightCall) -> None:
    with pytest.raises(RuntimeError, match="no route"):
        run(agent(tools, scripted(("launch", {})), rightcall), "go")
    [record] = records(rightcall.door)
    assert (record.status, record.error) == ("failed", "RuntimeError: no route")


@pytest.mark.promise("H-07")
def test_calls_of_one_answer_are_judged_each_for_itself(tools: Tools, rightcall: RightCall) -> None:
    calls = [("write_file", {"file_path": str(n), "text": "hi"}) for n in range(5)]
    result = run(agent(tools, scripted([*calls, ("format_disk", {})]), rightcall), "go")
    assert sorted(tools.ran) == [("write", str(n), "hi") for n in range(5)]
    assert returned(result)[:5] == ["wrote 2"] * 5
    assert "not whitelisted" in returned(result)[5]


async def streamed(guarded: Agent[None, Any]) -> str:
    async with guarded.run_stream("go") as run:
        return await run.get_output()


async def by_events(guarded: Agent[None, Any]) -> str:
    async with guarded.run_stream_events("go") as events:
        last: Any = [event async for event in events][-1]
    return last.result.output


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("written", [("writefile", "{'file_path': 'a', 'text': 'hi'}"), ("write_file", {"path": "a"})])
def test_streamed_calls_are_put_right_and_refused_alike(tools: Tools, rightcall: RightCall, written: Any) -> None:
    output = asyncio.run(streamed(agent(tools, scripted(written), rightcall)))
    assert output == "done"
    assert tools.ran == ([("write", "a", "hi")] if written[0] == "writefile" else [])


@pytest.mark.promise("H-07")
def test_a_call_left_in_a_streamed_text_runs_too(tools: Tools, rightcall: RightCall) -> None:
    assert asyncio.run(by_events(agent(tools, scripted(TEXT), rightcall))) == "done"
    assert tools.ran == [("write", "a", "hi")]


@pytest.mark.promise("H-07")
def test_observing_changes_nothing_and_records_what_would_have_been(tools: Tools) -> None:
    observer = RightCall(POLICY, mode="observe")
    result = run(agent(tools, scripted(TEXT, ("format_disk", {})), observer), "go")
    assert result.output == TEXT
    run(agent(tools, scripted(("format_disk", {})), observer), "go")
    assert tools.ran == [("format",)]
    assert "not whitelisted" in records(observer.door)[-1].reason
    observer.close()


@pytest.mark.promise("H-07")
def test_a_warning_reaches_the_model_beside_the_result() -> None:
    warner = RightCall({"gate": {"tools": {"launch": {"min_length": {"host": 9}}}}}, mode="warn")

    def launch(host: str) -> str:
        return f"pong {host}"

    result = run(Agent(scripted(("launch", {"host": "a"})), tools=[launch], capabilities=[warner]), "go")
    read = [part for message in result.all_messages() for part in message.parts]
    assert returned(result)[0] == "pong a"
    assert any("host" in str(getattr(part, "content", "")) and part.part_kind == "user-prompt" for part in read[2:])
    warner.close()


@pytest.mark.promise("H-07", "P-10")
@pytest.mark.parametrize("mode", ["warn", "block"])
def test_an_unsure_call_goes_back_as_the_model_wrote_it_where_nobody_can_be_asked(mode: Any) -> None:
    ran: list[str] = []
    guard = RightCall(mode=mode)

    def run_shell(command: str) -> str:
        ran.append(command)
        return "did it"

    result = run(Agent(scripted(("run_shell", {"extra": "reboot"})), tools=[run_shell], capabilities=[guard]), "go")
    assert ran == []
    [call] = [p for m in result.all_messages() for p in m.parts if isinstance(p, ToolCallPart)]
    assert call.args == {"extra": "reboot"}
    guard.close()


@pytest.mark.promise("H-07")
def test_agents_that_share_a_capability_do_not_forget_each_others_tools(rightcall: RightCall) -> None:
    def left(number: int) -> int:
        return number

    def right(label: str) -> str:
        return label

    async def both() -> Sequence[AgentRunResult[Any]]:
        one = Agent(scripted(("left", {}), ("left", {"number": "3"})), tools=[left], capabilities=[rightcall])
        two = Agent(scripted(("right", {}), ("right", {"label": "x"})), tools=[right], capabilities=[rightcall])
        return await asyncio.gather(one.run("go"), two.run("go"))

    one, two = asyncio.run(both())
    assert "number" in returned(one)[0]
    assert returned(one)[1] == "3"
    assert "label" in returned(two)[0]
    assert returned(two)[1] == "x"


@pytest.mark.promise("H-07")
def test_the_example_runs_and_says_what_happened() -> None:
    said = example("pydantic_ai_agent.py")
    assert "a person is asked:  book_table" in said
    assert "Tool 'wire_money' is not whitelisted" in said
    assert "Missing required fields: guests" in said
    assert said.endswith("Booked Da Enzo for 4.\nanswer:             Done: a table for four.\n")
