"""LangChain agents with LangChain's own fake model: what RightCall makes of a call, beside what happens without it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from adapters.records import example, records, statuses
from adapters.running import POLICY, RecordingTools
from rightcall.hosts.langchain import RightCallMiddleware

LENGTH = {"finish_reason": "length"}
DONE = AIMessage(content="done")


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


class Streamed(Scripted):
    """Streams the calls of its messages too, each in two pieces, as APIs do."""

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[Any]:
        message = next(self.messages)
        assert isinstance(message, AIMessage)
        for at, call in enumerate(message.invalid_tool_calls):
            text = call["args"] or ""
            for piece in (text[:5], text[5:]):
                first = {"name": call["name"], "id": call["id"]} if piece == text[:5] else {"name": None, "id": None}
                chunk: Any = {**first, "args": piece, "index": at, "type": "tool_call_chunk"}
                yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[chunk]))
        last = AIMessageChunk(content=message.content, response_metadata=message.response_metadata)
        yield ChatGenerationChunk(message=last)


class Tools(RecordingTools):
    @property
    def all(self) -> list[BaseTool]:
        return [StructuredTool.from_function(function) for function in self.functions]


def called(name: str, arguments: dict[str, Any], call_id: str = "1", **more: Any) -> AIMessage:
    return AIMessage(content="", tool_calls=[{"name": name, "args": arguments, "id": call_id}], **more)


def broken(name: str, text: str, call_id: str = "1", **more: Any) -> AIMessage:
    """As LangChain hands on arguments that it could not read."""
    call = {"name": name, "args": text, "id": call_id, "error": "not JSON", "type": "invalid_tool_call"}
    return AIMessage(content="", invalid_tool_calls=[call], **more)


IN_TEXT = AIMessage(
    content='Sure. <tool_call>{"name": "write_file", "arguments": {"path": "a", "content": "hi"}}</tool_call>'
)


def agent(tools: Tools, answers: list[AIMessage], *middleware: Any, model: Any = Scripted, **options: Any) -> Any:
    return create_agent(model(messages=iter([*answers, DONE])), tools=tools.all, middleware=list(middleware), **options)


def invoke(agent: Any, given: Any = None, thread: str | None = None) -> Any:
    config = {"configurable": {"thread_id": thread}} if thread else {}
    return agent.invoke(given or {"messages": [("user", "go")]}, config)


def told(state: Any) -> list[str]:
    """What the model read as results of its calls."""
    return [message.text for message in state["messages"] if isinstance(message, ToolMessage)]


@pytest.fixture
def tools() -> Tools:
    return Tools()


@pytest.fixture
def rightcall() -> Iterator[RightCallMiddleware]:
    middleware = RightCallMiddleware(POLICY)
    yield middleware
    middleware.close()


@pytest.mark.promise("H-07")
@pytest.mark.parametrize(
    ("written", "without"),
    [
        (called("write_file", {"file_path": "a", "text": "hi"}), ["Field required"]),
        (called("writefile", {"path": "a", "content": "hi"}), ["not a valid tool"]),
        (broken("write_file", "{'path': 'a', 'content': 'hi',}"), []),
        (IN_TEXT, []),
    ],
    ids=["wrong argument", "wrong tool", "broken JSON", "left in text"],
)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_damaged_call_runs_as_it_was_meant_and_fails_without(
    tools: Tools, rightcall: RightCallMiddleware, written: AIMessage, without: list[str], asynchronous: bool
) -> None:
    plain = told(invoke(agent(tools, [written])))
    assert tools.ran == []
    assert [text for text, expected in zip(plain, without, strict=True) if expected not in text] == []
    guarded = agent(tools, [written], rightcall)
    go = {"messages": [("user", "go")]}
    state = asyncio.run(guarded.ainvoke(go)) if asynchronous else guarded.invoke(go)
    assert tools.ran == [("write", "a", "hi")]
    assert told(state) == ["wrote 2"]
    assert state["messages"][-1].text == "done"
    [record] = records(rightcall.door)
    assert record.status == "success"
    assert record.repairs or written is IN_TEXT


@pytest.mark.promise("H-07")
def test_the_record_holds_what_the_model_wrote_and_the_history_what_ran(
    tools: Tools, rightcall: RightCallMiddleware
) -> None:
    state = invoke(agent(tools, [broken("writefile", "{'path': 'a', 'content': 'hi'}")], rightcall))
    [call] = state["messages"][1].tool_calls
    assert (call["name"], call["args"]) == ("write_file", {"path": "a", "content": "hi"})
    [record] = records(rightcall.door)
    assert record.tool == "write_file"
    assert "'path': 'a'" in str(record.emission)


@pytest.mark.promise("H-07")
def test_an_answer_whose_calls_fit_stays_the_same_object(tools: Tools, rightcall: RightCallMiddleware) -> None:
    right = called("write_file", {"path": "a", "content": "hi"})
    state = invoke(agent(tools, [right], rightcall))
    assert tools.ran == [("write", "a", "hi")]
    assert state["messages"][1].tool_calls[0]["args"] is right.tool_calls[0]["args"]


@pytest.mark.promise("H-07")
def test_a_missing_field_is_told_and_the_next_try_runs(tools: Tools, rightcall: RightCallMiddleware) -> None:
    tries = [called("write_file", {"path": "a"}), called("write_file", {"path": "a", "content": "hi"}, "2")]
    state = invoke(agent(tools, tries, rightcall))
    assert "Missing required fields: content" in told(state)[0]
    assert state["messages"][2].status == "error"
    assert tools.ran == [("write", "a", "hi")]
    assert statuses(rightcall.door) == [("write_file", "refused"), ("write_file", "success")]


@pytest.mark.promise("H-07")
def test_what_the_policy_forbids_does_not_run(tools: Tools, rightcall: RightCallMiddleware) -> None:
    state = invoke(agent(tools, [called("format_disk", {})], rightcall))
    assert tools.ran == []
    assert "not whitelisted" in told(state)[0]


@pytest.mark.promise("H-07")
@pytest.mark.parametrize(
    "cut",
    [
        broken("write_file", '{"path": "a", "content": "h', response_metadata=LENGTH),
        called("write_file", {"path": "a", "content": "h"}, response_metadata=LENGTH),
        called("launch", {}, response_metadata=LENGTH),
        broken("write_file", "…", response_metadata={}),
    ],
    ids=["inside a value", "closed by LangChain", "before the first", "unreadable"],
)
def test_a_truncated_or_unreadable_call_is_answered_and_never_runs(
    tools: Tools, rightcall: RightCallMiddleware, cut: AIMessage
) -> None:
    state = invoke(agent(tools, [cut], rightcall))
    assert tools.ran == []
    assert len(told(state)) == 1
    assert state["messages"][-1].text == "done"


@pytest.mark.promise("H-07")
@pytest.mark.parametrize("guarded", [False, True])
def test_a_streamed_call_that_was_cut_runs_closed_without_and_not_at_all_with_rightcall(
    tools: Tools, rightcall: RightCallMiddleware, guarded: bool
) -> None:
    cut = broken("write_file", '{"path": "a", "content": "h', response_metadata=LENGTH)
    middleware = [rightcall] if guarded else []
    list(
        agent(tools, [cut], *middleware, model=Streamed).stream({"messages": [("user", "go")]}, stream_mode="messages")
    )
    assert tools.ran == ([] if guarded else [("write", "a", "h")])


@pytest.mark.promise("H-07")
def test_streamed_calls_are_put_right(tools: Tools, rightcall: RightCallMiddleware) -> None:
    written = broken("writefile", "{'path': 'a', 'content': 'hi'}")
    streaming = agent(tools, [written], rightcall, model=Streamed)
    list(streaming.stream({"messages": [("user", "go")]}, stream_mode="messages"))
    assert tools.ran == [("write", "a", "hi")]


@pytest.mark.promise("H-07", "P-06")
@pytest.mark.parametrize(
    ("said", "ran"),
    [
        ({"type": "approve"}, [("delete", "a")]),
        ({"decisions": [{"type": "approve"}]}, [("delete", "a")]),
        ({"type": "reject", "message": "not today"}, []),
        ({"type": "edit", "edited_action": {"name": "delete_file", "args": {"path": "b"}}}, []),
        ("anything else", []),
    ],
)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_approval_interrupts_and_only_a_yes_lets_the_call_run(
    tools: Tools, rightcall: RightCallMiddleware, said: Any, ran: Any, asynchronous: bool
) -> None:
    asking = agent(tools, [called("delete_file", {"path": "a"})], rightcall, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}

    def go(given: Any) -> Any:
        return asyncio.run(asking.ainvoke(given, config)) if asynchronous else asking.invoke(given, config)

    [asked] = go({"messages": [("user", "go")]})["__interrupt__"]
    assert (asked.value["name"], asked.value["args"]) == ("delete_file", {"path": "a"})
    assert tools.ran == []
    state = go(Command(resume=said))
    assert tools.ran == ran
    assert told(state) == (["deleted"] if ran else [told(state)[0]])
    if said == {"type": "reject", "message": "not today"}:
        assert told(state) == ["A person refused this call: not today"]


@pytest.mark.promise("H-07", "P-06")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_approval_is_for_the_call_that_was_asked_about(
    tools: Tools, rightcall: RightCallMiddleware, asynchronous: bool
) -> None:
    """Whoever resumes a thread may have changed it first."""
    asking = agent(tools, [called("delete_file", {"path": "a"})], rightcall, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}

    def go(given: Any) -> Any:
        return asyncio.run(asking.ainvoke(given, config)) if asynchronous else asking.invoke(given, config)

    state = go({"messages": [("user", "go")]})
    other = called("delete_file", {"path": "everything"}, id=state["messages"][-1].id)
    asking.update_state(config, {"messages": [other]}, as_node="model")
    state = go(Command(resume={"type": "approve"}))
    assert tools.ran == []
    assert "approvals approve" in told(state)[0]


@pytest.mark.promise("H-07", "P-06")
def test_without_a_thread_the_model_reads_under_which_id_the_call_waits(
    tools: Tools, rightcall: RightCallMiddleware
) -> None:
    state = invoke(agent(tools, [called("delete_file", {"path": "a"})], rightcall))
    assert tools.ran == []
    assert "rightcall approvals approve" in told(state)[0]


@pytest.mark.promise("H-07", "P-06")
def test_a_thread_that_goes_on_in_another_process_asks_and_judges_the_same(tools: Tools, tmp_path: Path) -> None:
    """Another middleware object, which has seen no model: the question is still open, the tool is known."""
    policy = tmp_path / "rightcall.toml"
    policy.write_text('version = 1\n[policy]\napproval = { tools = ["delete_file"] }\n')
    first, second = RightCallMiddleware(policy), RightCallMiddleware(policy)
    saver = InMemorySaver()
    calls = [{"name": "deleteFile", "args": {"path": "a"}, "id": "1"}]
    invoke(agent(tools, [AIMessage(content="", tool_calls=calls)], first, checkpointer=saver), thread="t")
    state = invoke(agent(tools, [], second, checkpointer=saver), Command(resume={"type": "approve"}), thread="t")
    assert tools.ran == [("delete", "a")]
    assert told(state) == ["deleted"]
    assert any(record.repairs for record in records(second.door) if record.status == "success")
    first.close()
    second.close()


@pytest.mark.promise("H-07", "A-01")
def test_a_tool_that_fails_is_recorded_as_failed(tools: Tools, rightcall: RightCallMiddleware) -> None:
    with pytest.raises(RuntimeError, match="no route"):
        invoke(agent(tools, [called("launch", {})], rightcall))
    [record] = records(rightcall.door)
    assert (record.status, record.error) == ("failed", "RuntimeError: no route")


@pytest.mark.promise("H-07")
def test_calls_of_one_answer_are_judged_each_for_itself(tools: Tools, rightcall: RightCallMiddleware) -> None:
    calls = [{"name": "write_file", "args": {"file_path": str(n), "text": "hi"}, "id": str(n)} for n in range(5)] + [
        {"name": "format_disk", "args": {}, "id": "5"}
    ]
    unread = {
        "name": "write_file",
        "args": "{path: 'x', content: 'hi'}",
        "id": "6",
        "error": "",
        "type": "invalid_tool_call",
    }
    answer = AIMessage(content="", tool_calls=calls, invalid_tool_calls=[unread])
    state = invoke(agent(tools, [answer], rightcall))
    assert sorted(tools.ran) == [("write", str(n), "hi") for n in (*range(5), "x")]
    assert sorted(told(state))[1:] == ["wrote 2"] * 6


@pytest.mark.promise("H-07")
def test_observing_changes_nothing_and_records_what_would_have_been(tools: Tools) -> None:
    observer = RightCallMiddleware(POLICY, mode="observe")
    unread = broken("write_file", "{'path': 'a', 'content': 'hi'}")
    assert invoke(agent(tools, [unread], observer))["messages"][-1].invalid_tool_calls == unread.invalid_tool_calls
    assert invoke(agent(tools, [IN_TEXT], observer))["messages"][-1].text == IN_TEXT.text
    invoke(agent(tools, [called("format_disk", {})], observer))
    assert tools.ran == [("format",)]
    assert "not whitelisted" in records(observer.door)[-1].reason
    observer.close()


@pytest.mark.promise("H-07")
def test_the_example_runs_and_says_what_happened() -> None:
    said = example("langchain_agent.py")
    assert "a person is asked:  book_table" in said
    assert "Tool 'wire_money' is not whitelisted" in said
    assert "Missing required fields: guests" in said
    assert said.endswith("Booked Da Enzo for 4.\nanswer:             Done: a table for four.\n")
