"""FastMCP servers with the middleware, and FastMCP's own client in both eras of the protocol."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import mcp_types as types
import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.elicitation import ElicitResult
from mcp.shared.exceptions import MCPError

from adapters.records import example, records, statuses
from rightcall.executor.door import Door
from rightcall.hosts.fastmcp import RightCall

pytestmark = pytest.mark.promise("H-07")

POLICY: dict[str, Any] = {"policy": {"deny": ["format_disk"], "approval": {"tools": ["delete_note"]}, "repeats": 0}}
NOTE = {"note_title": "a", "text": "hi"}
ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])


class Notes:
    """A server that writes down what was run."""

    def __init__(self, policy: Any = POLICY, **settings: Any) -> None:
        self.ran: list[tuple[str, ...]] = []
        self.guard = RightCall(policy, **settings)
        self.server = FastMCP("notes", middleware=[self.guard])
        for function in (self.write_note, self.delete_note, self.format_disk, self.launch):
            self.server.tool(function)

    def write_note(self, note_title: str, text: str) -> str:
        self.ran.append(("write", note_title, text))
        return f"wrote {len(text)}"

    def delete_note(self, note_title: str) -> str:
        self.ran.append(("delete", note_title))
        return "deleted"

    def format_disk(self) -> str:
        self.ran.append(("format",))
        return "formatted"

    def launch(self) -> str:
        raise RuntimeError("no route")

    def client(self, era: str = "auto", **options: Any) -> Client[Any]:
        return Client(self.server, mode=era, **options)

    def call(self, name: str, arguments: dict[str, Any], era: str = "auto", **options: Any) -> tuple[bool, str]:
        async def once() -> tuple[bool, str]:
            async with self.client(era, **options) as client:
                return await said(client, name, arguments)

        return asyncio.run(once())


async def said(client: Client[Any], name: str, arguments: dict[str, Any]) -> tuple[bool, str]:
    """Whether it ran, and what the model reads."""
    await client.list_tools()
    result = await client.call_tool(name, arguments, raise_on_error=False)
    return not result.is_error, "\n".join(block.text for block in result.content if block.type == "text")


@pytest.fixture
def notes() -> Iterator[Notes]:
    made = Notes()
    yield made
    made.guard.close()


def person(answer: Any) -> Callable[..., Coroutine[Any, Any, Any]]:
    async def asked(message: str, *_: Any) -> Any:
        assert "delete_note" in message
        return answer

    return asked


@ERAS
def test_a_wrong_name_and_wrong_arguments_are_put_right(notes: Notes, era: str) -> None:
    assert notes.call("writeNote", {"noteTitle": "a", "text": "hi"}, era) == (True, "wrote 2")
    assert notes.ran == [("write", "a", "hi")]


def test_a_call_that_lacks_something_is_the_tools_error_with_an_example(notes: Notes) -> None:
    ok, text = notes.call("write_note", {"note_title": "a"})
    assert not ok
    assert "Missing required fields: text. Example:" in text
    assert notes.ran == []


def test_a_denied_tool_does_not_run(notes: Notes) -> None:
    ok, text = notes.call("format_disk", {})
    assert not ok
    assert "not whitelisted" in text
    assert notes.ran == []


@ERAS
def test_a_person_is_asked_through_the_client_and_the_call_runs_once(notes: Notes, era: str) -> None:
    yes = person(ElicitResult(action="accept", content={"ok": True}))
    assert notes.call("delete_note", {"note_title": "a"}, era, elicitation_handler=yes) == (True, "deleted")
    assert notes.ran == [("delete", "a")]


@ERAS
@pytest.mark.parametrize(
    "answer", [ElicitResult(action="accept", content={"ok": False}), ElicitResult(action="decline")]
)
def test_a_person_who_does_not_say_yes_says_no(notes: Notes, era: str, answer: Any) -> None:
    ok, text = notes.call("delete_note", {"note_title": "a"}, era, elicitation_handler=person(answer))
    assert not ok
    assert "denied" in text
    assert notes.ran == []


@ERAS
def test_without_a_client_that_asks_the_model_reads_the_id_of_the_approval(notes: Notes, era: str) -> None:
    ok, text = notes.call("delete_note", {"note_title": "a"}, era)
    (waiting,) = records(notes.guard.door)
    assert not ok
    assert waiting.approval
    assert f"rightcall approvals approve {waiting.approval}" in text


YES = {"rightcall.approval": types.ElicitResult(action="accept", content={"ok": True})}


async def send(client: Client[Any], title: str, state: str | None, answers: Any = YES) -> Any:
    """A call with an answer beside it, as only a client that does what it likes sends it."""
    arguments = {"note_title": title}
    return await client.session.call_tool(
        "delete_note", arguments, input_responses=answers, request_state=state, allow_input_required=True
    )


@pytest.mark.promise("P-06")
def test_an_answer_that_nobody_asked_for_is_none(notes: Notes) -> None:
    """A client that sends a yes at once, and one that makes up what it should have been given."""

    async def forged() -> Any:
        async with notes.client("2026-07-28", elicitation_handler=person(None)) as client:
            with pytest.raises(MCPError):
                await send(client, "a", "rightcall1.e30=.e30=")
            return await send(client, "a", None)

    assert isinstance(asyncio.run(forged()), types.InputRequiredResult)
    assert notes.ran == []


@pytest.mark.promise("P-06")
def test_a_yes_counts_once_and_for_that_call_alone(notes: Notes) -> None:
    """What the client was given to bring back is brought back twice, and for another call."""

    async def replayed() -> list[Any]:
        async with notes.client("2026-07-28", elicitation_handler=person(None)) as client:
            asked = await send(client, "a", None, None)
            yes = dict.fromkeys(asked.input_requests, next(iter(YES.values())))
            with pytest.raises(MCPError):
                await send(client, "b", asked.request_state, yes)
            return [await send(client, "a", asked.request_state, yes) for _ in range(2)]

    first, second = asyncio.run(replayed())
    assert isinstance(first, types.CallToolResult)
    assert isinstance(second, types.InputRequiredResult)
    assert notes.ran == [("delete", "a")]


def test_calls_are_recorded_with_what_came_of_them(notes: Notes) -> None:
    notes.call("write_note", {"noteTitle": "a", "text": "hi"})
    notes.call("launch", {})
    notes.call("format_disk", {})
    assert statuses(notes.guard.door) == [("write_note", "success"), ("launch", "failed"), ("format_disk", "refused")]
    wrote, launched, _ = records(notes.guard.door)
    assert "wrote 2" in wrote.summary
    assert "no route" in (launched.error or "")


def test_observing_changes_nothing_and_records_what_would_have_been() -> None:
    notes = Notes(POLICY, mode="observe")
    ok, text = notes.call("write_note", {"noteTitle": "a", "text": "hi"})
    assert not ok
    assert "noteTitle" in text  # FastMCP's own words
    assert notes.call("format_disk", {}) == (True, "formatted")
    assert "not whitelisted" in records(notes.guard.door)[-1].reason
    notes.guard.close()


def test_a_warning_stands_beside_the_result() -> None:
    policy = {"gate": {"tools": {"write_note": {"min_length": {"text": 3}, "mode": "warn"}}}}
    notes = Notes(policy)
    ok, text = notes.call("write_note", NOTE)
    assert ok
    assert text.startswith("wrote 2\n⚠️ Invalid write_note call.")
    notes.guard.close()


def test_a_tool_that_is_added_while_the_server_runs_is_known(notes: Notes) -> None:
    async def grown() -> tuple[bool, str]:
        async with notes.client() as client:
            await client.list_tools()

            def count_notes(note_title: str) -> str:
                return f"one {note_title}"

            notes.server.tool(count_notes)
            return await said(client, "count_notes", {"noteTitle": "a"})

    assert asyncio.run(grown()) == (True, "one a")


def test_many_clients_at_once_each_get_their_own_answer(notes: Notes) -> None:
    async def one(number: int) -> tuple[bool, str]:
        async with notes.client() as client:
            return await said(client, "write_note", {"noteTitle": str(number), "text": "x" * number})

    async def all_of_them() -> list[tuple[bool, str]]:
        return await asyncio.gather(*(one(number) for number in range(8)))

    assert asyncio.run(all_of_them())[1:] == [(True, f"wrote {number}") for number in range(1, 8)]


def test_a_server_that_calls_its_own_tool_is_judged_too(notes: Notes) -> None:
    result = asyncio.run(notes.server.call_tool("write_note", {"noteTitle": "a", "text": "hi"}))
    assert result.structured_content == {"result": "wrote 2"}


def test_a_door_takes_the_place_of_a_policy() -> None:
    with Door.open("fastmcp", POLICY) as door:
        assert RightCall(door=door).door is door
        with pytest.raises(TypeError, match="a `door` has its own policy"):
            RightCall(POLICY, door=door)


def test_the_example_runs_and_says_what_happened() -> None:
    wrote, missing, denied = example("fastmcp_server.py").splitlines()
    assert wrote == "write_note ran: wrote shopping: milk"
    assert missing.startswith("write_note failed: ⚠️ Invalid write_note call. Missing required fields: text.")
    assert denied == "delete_note failed: Error: Tool 'delete_note' is not whitelisted for AI use"
