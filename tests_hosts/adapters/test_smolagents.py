"""smolagents' agent with a scripted model: what RightCall makes of a call, beside what happens without it."""

from collections.abc import Generator
from typing import Any

import pytest
from smolagents import ChatMessage, MessageRole, Model, Tool, ToolCallingAgent, tool
from smolagents.agents import ToolOutput
from smolagents.models import (
    ChatMessageStreamDelta,
    ChatMessageToolCall,
    ChatMessageToolCallFunction,
    ChatMessageToolCallStreamDelta,
)

from adapters.records import example, records, statuses
from rightcall.executor.door import Door
from rightcall.executor.passage import Passage
from rightcall.hosts.smolagents import GuardedAgent

pytestmark = pytest.mark.promise("H-07")

POLICY: dict[str, Any] = {"policy": {"deny": ["format_disk"], "approval": {"tools": ["delete_note"]}, "repeats": 0}}
IN_TEXT = "Sure. <tool_call>{'name': 'writeNote', 'arguments': {'noteTitle': 'a', 'text': 'hi'}}</tool_call>"

Said = str | list[tuple[str, Any]]


class Scripted(Model):
    """Says one thing after the other: a text, or calls; then it answers "done"."""

    def __init__(self, *said: Said) -> None:
        super().__init__()
        self.said = list(said)

    def next(self) -> ChatMessage:
        said = self.said.pop(0) if self.said else [("final_answer", {"answer": "done"})]
        if isinstance(said, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=said)
        calls = [
            ChatMessageToolCall(ChatMessageToolCallFunction(arguments, name), f"call_{at}", "function")
            for at, (name, arguments) in enumerate(said)
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=calls)

    def generate(self, *_: Any, **__: Any) -> ChatMessage:
        return self.next()


class Streaming(Scripted):
    def generate_stream(self, *_: Any, **__: Any) -> Generator[ChatMessageStreamDelta, None, None]:
        message = self.next()
        for piece in str(message.content or ""):
            yield ChatMessageStreamDelta(content=piece)
        for index, call in enumerate(message.tool_calls or []):
            head = ChatMessageToolCallFunction("", call.function.name)
            yield ChatMessageStreamDelta(
                tool_calls=[ChatMessageToolCallStreamDelta(index=index, id=call.id, type="function", function=head)]
            )
            for piece in str(call.function.arguments):
                more = ChatMessageToolCallFunction(piece, "")
                yield ChatMessageStreamDelta(tool_calls=[ChatMessageToolCallStreamDelta(index=index, function=more)])


class Notes:
    """Tools that write down what was run."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, ...]] = []

    @property
    def tools(self) -> list[Tool]:
        ran = self.ran

        @tool
        def write_note(note_title: str, text: str) -> str:
            """Write a note.

            Args:
                note_title: What it is about.
                text: What it says.
            """
            ran.append(("write", note_title, text))
            return f"wrote {len(text)}"

        @tool
        def delete_note(note_title: str) -> str:
            """Delete a note.

            Args:
                note_title: Which one.
            """
            ran.append(("delete", note_title))
            return "deleted"

        @tool
        def format_disk() -> str:
            """Format the disk."""
            ran.append(("format",))
            return "formatted"

        @tool
        def launch() -> str:
            """Launch."""
            raise RuntimeError("no route")

        return [write_note, delete_note, format_disk, launch]

    def agent(self, *said: Said, kind: type[Scripted] = Scripted, policy: Any = POLICY, **more: Any) -> GuardedAgent:
        return GuardedAgent(self.tools, kind(*said), policy=policy, verbosity_level=-1, max_steps=3, **more)


@pytest.fixture
def notes() -> Notes:
    return Notes()


def alone(notes: Notes, *said: Said) -> ToolCallingAgent:
    """The same agent without RightCall."""
    return ToolCallingAgent(notes.tools, Scripted(*said), verbosity_level=-1, max_steps=3)


def errors(agent: ToolCallingAgent) -> list[str]:
    """What the model is told it did wrong."""
    steps: list[Any] = agent.memory.steps
    return [step.error.message for step in steps if getattr(step, "error", None)]


def test_a_wrong_name_and_wrong_arguments_are_put_right(notes: Notes) -> None:
    wrong: Said = [("writeNote", "{'noteTitle': 'a', 'text': 'hi',}")]
    agent = notes.agent(wrong)
    assert agent.run("go") == "done"
    assert notes.ran == [("write", "a", "hi")]
    agent.close()
    bare = alone(notes, wrong)
    bare.run("go")
    assert errors(bare) == ["Unknown tool writeNote, should be one of: " + ", ".join(bare.tools) + "."]


def test_the_agents_memory_holds_the_call_that_ran(notes: Notes) -> None:
    agent = notes.agent([("writeNote", {"noteTitle": "a", "text": "hi"})])
    agent.run("go")
    step: Any = agent.memory.steps[1]
    (call,) = step.tool_calls
    assert (call.name, call.arguments) == ("write_note", {"note_title": "a", "text": "hi"})
    agent.close()


@pytest.mark.parametrize("kind", [Scripted, Streaming])
def test_a_call_left_in_the_text_runs_streamed_or_not(notes: Notes, kind: type[Scripted]) -> None:
    agent = notes.agent(IN_TEXT, kind=kind, stream_outputs=kind is Streaming)
    assert agent.run("go") == "done"
    assert notes.ran == [("write", "a", "hi")]
    agent.close()


def test_a_streamed_call_is_put_right(notes: Notes) -> None:
    agent = notes.agent([("writeNote", "{'noteTitle': 'a', 'text': 'hi'}")], kind=Streaming, stream_outputs=True)
    events: Any = agent.run("go", stream=True)
    outputs = [event for event in events if isinstance(event, ToolOutput)]
    assert outputs[0].output == "wrote 2"
    agent.close()


def test_text_without_a_call_is_smolagents_own_affair(notes: Notes) -> None:
    agent, bare = notes.agent("I do not know."), alone(notes, "I do not know.")
    assert agent.run("go") == bare.run("go") == "done"
    assert errors(agent) == errors(bare)
    agent.close()


def test_a_refused_call_is_the_steps_error(notes: Notes) -> None:
    agent = notes.agent([("format_disk", {})], [("write_note", {"note_title": "a"})])
    assert agent.run("go") == "done"
    denied, lacking = errors(agent)
    assert "not whitelisted" in denied
    assert "Missing required fields: text. Example:" in lacking
    assert notes.ran == []
    agent.close()


@pytest.mark.parametrize("yes", [True, False])
def test_a_person_decides_about_a_call_that_asks(notes: Notes, yes: bool) -> None:
    shown: list[str] = []

    def ask(passage: Passage) -> bool:
        shown.append(passage.why)
        return yes

    agent = notes.agent([("delete_note", {"note_title": "a"})], ask=ask)
    agent.run("go")
    assert "delete_note" in shown[0]
    assert notes.ran == ([("delete", "a")] if yes else [])
    assert bool(errors(agent)) is not yes
    agent.close()


def test_without_anybody_to_ask_the_model_reads_the_id_of_the_approval(notes: Notes) -> None:
    agent = notes.agent([("delete_note", {"note_title": "a"})])
    agent.run("go")
    assert f"rightcall approvals approve {records(agent.door)[0].approval}" in errors(agent)[0]
    agent.close()


def test_calls_are_recorded_with_what_came_of_them(notes: Notes) -> None:
    agent = notes.agent([("writeNote", {"noteTitle": "a", "text": "hi"})], [("launch", {})])
    agent.run("go")
    assert statuses(agent.door) == [("write_note", "success"), ("launch", "failed")]
    wrote, launched = records(agent.door)
    assert "wrote 2" in wrote.summary
    assert wrote.repairs
    assert "no route" in (launched.error or "")
    agent.close()


def test_parallel_calls_are_judged_each_by_what_was_written(notes: Notes) -> None:
    agent = notes.agent([("writeNote", {"noteTitle": str(at), "text": "hi"}) for at in range(4)])
    agent.run("go")
    assert sorted(notes.ran) == [("write", str(at), "hi") for at in range(4)]
    assert all(record.repairs for record in records(agent.door))
    agent.close()


def test_an_answer_is_no_call_however_often_it_is_given(notes: Notes) -> None:
    only_notes = {"callers": {"smolagents": {"only": ["write_note"]}}}
    agent = notes.agent([("final_answer", "42")], policy=only_notes)
    assert [agent.run("go"), *(agent.run("go") for _ in range(4))] == [42, *["done"] * 4]
    assert records(agent.door) == []
    agent.close()


def test_a_misspelt_answer_ends_the_run(notes: Notes) -> None:
    agent = notes.agent([("finalAnswer", "{'Answer': 42}")])
    assert agent.run("go") == 42
    agent.close()


def test_what_the_agent_keeps_for_the_model_is_judged_as_what_it_is(notes: Notes) -> None:
    """smolagents puts values in the place of their names: the policy sees the value."""
    agent = notes.agent([("write_note", {"note_title": "the_title", "text": "hi"})])
    agent.run("go", additional_args={"the_title": "a real one"})
    assert notes.ran == [("write", "a real one", "hi")]
    assert records(agent.door)[0].params["note_title"] == "a real one"
    agent.close()


def test_a_lone_value_goes_to_the_one_argument_as_in_smolagents(notes: Notes) -> None:
    said: Said = [("delete_note", "plans")]
    alone(notes, said).run("go")
    agent = notes.agent(said, policy=None)
    agent.run("go")
    assert notes.ran == [("delete", "plans")] * 2
    agent.close()


def test_broken_arguments_of_a_tool_with_one_argument_do_not_run_as_its_value(notes: Notes) -> None:
    said: Said = [("delete_note", "{'note_title': 'plans'}")]
    alone(notes, said).run("go")
    agent = notes.agent(said, policy=None)
    agent.run("go")
    assert notes.ran == [("delete", "{'note_title': 'plans'}"), ("delete", "plans")]
    agent.close()


def test_observing_changes_nothing_and_records_what_would_have_been(notes: Notes) -> None:
    agent = notes.agent([("format_disk", {})], [("writeNote", {})], settings={"mode": "observe"})
    agent.run("go")
    assert notes.ran == [("format",)]
    assert "Unknown tool writeNote" in errors(agent)[0]
    assert "not whitelisted" in records(agent.door)[0].reason
    agent.close()


def test_the_users_model_is_left_as_it_is(notes: Notes) -> None:
    model = Scripted(IN_TEXT)
    agent = GuardedAgent(notes.tools, model, verbosity_level=-1)
    assert type(model) is Scripted
    assert isinstance(agent.model, Scripted)
    assert type(agent.model).__name__ == "Scripted"
    agent.close()


def test_a_door_takes_the_place_of_a_policy(notes: Notes) -> None:
    with Door.open("smolagents", POLICY) as door:
        agent = GuardedAgent(notes.tools, Scripted([("format_disk", {})]), door=door, verbosity_level=-1)
        agent.run("go")
        assert statuses(door) == [("format_disk", "refused")]


def test_the_example_runs_and_says_what_happened() -> None:
    ran, answer, told = example("smolagents_agent.py").splitlines()
    assert ran == "ran: write_note shopping milk"
    assert answer == "answer: It is written."
    assert told.startswith("the model was told: ⚠️ Invalid write_note call. Missing required fields: text.")
