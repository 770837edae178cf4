"""The official SDK's clients of both eras through `wrap`: the same answers as without; broken calls come out right."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.session import ClientSession

from wrap_talking import ROOT, scripted, wrapped

pytestmark = [
    pytest.mark.promise("H-04"),
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),  # the older era is our subject
]

OFFERING = [sys.executable, str(ROOT / "tests_hosts" / "wrap_offering.py")]
MODES = ["legacy", "auto", "2026-07-28"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Desk:
    """A client with a person and a model at hand; remembers what the server sent by itself."""

    def __init__(self, answer: Callable[[Any], Any] | None = None) -> None:
        self.notices: list[str] = []
        self.progress: list[Any] = []
        self.questions: list[str] = []
        self._answer = answer or (lambda _: types.ElicitResult(action="accept", content={"name": "Bonn"}))

    async def elicited(self, context: Any, params: Any) -> Any:
        del context
        self.questions.append(params.message)
        return self._answer(params)

    async def sampled(self, context: Any, params: Any) -> Any:
        del context
        words = params.messages[0].content.text
        text = types.TextContent(type="text", text=f"you said {words}")
        return types.CreateMessageResult(role="assistant", content=text, model="none", stop_reason="endTurn")

    async def noticed(self, message: Any) -> None:
        self.notices.append(type(message).__name__)

    async def progressed(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))

    @asynccontextmanager
    async def at(self, command: list[str], mode: str, folder: Path, *, asked: bool = True) -> AsyncIterator[Client]:
        server = StdioServerParameters(
            command=command[0], args=command[1:], cwd=folder, env={"PYTHONPATH": str(ROOT / "src")}
        )
        client = Client(
            server, mode=mode, message_handler=self.noticed, sampling_callback=self.sampled,
            elicitation_callback=self.elicited if asked else None, read_timeout_seconds=200,
        )  # fmt: skip
        async with client:
            yield client


def text(result: Any) -> str:
    return result.content[0].text


async def everything(desk: Desk, client: Client) -> list[Any]:
    """One of each thing that a client can ask for."""
    legacy = client.protocol_version < "2026"
    answers: list[Any] = [client.protocol_version, client.server_capabilities, client.instructions]
    steps: list[Callable[[], Any]] = [
        lambda: client.list_tools(),
        lambda: client.call_tool("read_file", {"path": "a", "limit": 3}),
        lambda: client.call_tool("count_up", {"steps": 3}, progress_callback=desk.progressed),
        lambda: client.call_tool("greet_city", {}),
        lambda: client.call_tool("fail", {"why": "because"}),
        lambda: client.call_tool("no_such_tool", {"x": 1}),
        lambda: client.list_resources(),
        lambda: client.list_resource_templates(),
        lambda: client.read_resource("note://first"),
        lambda: client.read_resource("note://by/Ada"),
        lambda: client.read_resource("note://nowhere/at/all"),
        lambda: client.list_prompts(),
        lambda: client.get_prompt("summarise", {"text": "all"}),
        lambda: client.get_prompt("summarise", {}),
        lambda: client.complete(
            types.PromptReference(type="ref/prompt", name="summarise"), {"name": "text", "value": "x"}
        ),
    ]
    if legacy:
        steps += [client.send_ping, lambda: client.call_tool("ask_model", {"question": "why?"})]
    for step in steps:
        try:
            answers.append((await step()).model_dump(by_alias=True, exclude_unset=True))
        except MCPError as error:
            answers.append((error.error.code, error.error.message))
    return [*answers, desk.progress, desk.questions, desk.notices]


@pytest.mark.parametrize("mode", MODES)
async def test_every_answer_is_the_same_as_without(mode: str, tmp_path: Path) -> None:
    found: list[list[Any]] = []
    for command in (OFFERING, wrapped(OFFERING)):
        desk = Desk()
        async with desk.at(command, mode, tmp_path) as client:
            found.append(await everything(desk, client))
    direct, through = found
    assert len(direct) > 20
    for without, within in zip(direct, through, strict=True):
        assert within == without


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_broken_calls_come_out_right_or_with_a_hint_and_cancelled_ones_end(mode: str, tmp_path: Path) -> None:
    desk = Desk()
    async with desk.at(wrapped(OFFERING), mode, tmp_path) as client:
        assert text(await client.call_tool("read_file", {"file": "a", "limit": "3"})) == "a:3"
        assert text(await client.call_tool("readFile", {"path": "a"})) == "a:10"
        refused = await client.call_tool("read_file", {"limit": 3})
        assert refused.is_error
        assert "Missing required fields: path" in text(refused)
        with anyio.move_on_after(0.1) as scope:
            await client.call_tool("wait_for_ever", {"reason": "x"})
        assert scope.cancelled_caught
        assert text(await client.call_tool("read_file", {"path": "b"})) == "b:10"
        if mode == "legacy":  # in the new era a client must ask to be told
            assert text(await client.call_tool("grow", {"name": "shoot"})) == "grown"
            assert "ToolListChangedNotification" in desk.notices
            assert text(await client.call_tool("shoot", {"number": "4"})) == "shoot 4"


def policy(folder: Path) -> Path:
    file = folder / "rightcall.toml"
    file.write_text('version = 1\n[policy.approval]\ntools = ["delete_file", "greet_city"]\n')
    return file


def says(action: Any, **content: Any) -> Callable[[Any], Any]:
    return lambda params: types.ElicitResult(
        action=action,
        content={name: content.get(name, "Bonn") for name in params.requested_schema["properties"]}
        if content
        else None,
    )


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_person_answers_in_the_client(mode: str, tmp_path: Path) -> None:
    policy(tmp_path)
    answers = [
        says("accept", ok=True),
        says("decline"),
        says("cancel"),
        says("accept", ok=False),
        says("accept", ok=True),
    ]
    desk = Desk(lambda params: answers.pop(0)(params))
    async with desk.at(wrapped(scripted(), "--name", "files"), mode, tmp_path) as client:
        done = await client.call_tool("delete_file", {"file": "a"})
        assert (done.is_error, text(done)) == (False, '{"path": "a"}')
        assert '"files/delete_file"' in desk.questions[0]
        for path in ("b", "c", "d"):
            refused = await client.call_tool("delete_file", {"path": path})
            assert (refused.is_error, text(refused)) == (True, "Error: A person denied this call")
        assert text(await client.call_tool("delete_file", {"path": "a"})) == '{"path": "a"}'
        assert len(desk.questions) == 5  # a yes is for one call


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_server_may_ask_as_well_in_a_call_that_was_approved(mode: str, tmp_path: Path) -> None:
    policy(tmp_path)
    desk = Desk(says("accept", ok=True))
    async with desk.at(wrapped(OFFERING), mode, tmp_path) as client:
        assert text(await client.call_tool("greet_city", {})) == "Hello, Bonn!"
        assert [question.splitlines()[0] for question in desk.questions] == [
            "A tool call waits for your yes or no.",
            "Which city?",
        ]


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_that_cannot_ask_gets_the_id_and_a_person_answers_elsewhere(mode: str, tmp_path: Path) -> None:
    import os
    import re

    file = policy(tmp_path)
    async with Desk().at(wrapped(scripted()), mode, tmp_path, asked=False) as client:
        refused = await client.call_tool("delete_file", {"path": "x"})
        assert refused.is_error
        (about,) = re.findall(r"approvals approve ([0-9a-f]+)", text(refused))
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, "-m", "rightcall", "approvals"]
        shown = await anyio.run_process([*command, "show", about, "--full", "--policy", str(file)], env=environment)
        (digest,) = re.findall(rb"digest +([0-9a-f]{64})", shown.stdout)
        yes = ["approve", about, "--digest", digest.decode(), "--by", "Ada", "--policy", str(file)]
        await anyio.run_process([*command, *yes], env=environment)
        assert text(await client.call_tool("delete_file", {"path": "x"})) == '{"path": "x"}'


@pytest.mark.promise("P-06")
async def test_an_answer_that_nobody_gave_is_refused(tmp_path: Path) -> None:
    policy(tmp_path)
    yes = types.ElicitResult(action="accept", content={"ok": True})
    async with Desk().at(wrapped(scripted()), "auto", tmp_path) as client:

        async def call(path: str, **more: Any) -> Any:
            session: ClientSession = client.session
            return await session.call_tool("delete_file", {"path": path}, allow_input_required=True, **more)

        forged = await call("x", input_responses={"rightcall.approval": yes})
        assert isinstance(forged, types.InputRequiredResult)
        answers = dict.fromkeys(forged.input_requests or {}, yes)
        swapped = await call("y", input_responses=answers, request_state=forged.request_state)
        assert isinstance(swapped, types.InputRequiredResult)
        tampered = await call("x", input_responses=answers, request_state=f"{forged.request_state}0")
        assert isinstance(tampered, types.InputRequiredResult)
        allowed = await call("x", input_responses=answers, request_state=forged.request_state)
        assert text(allowed) == '{"path": "x"}'
        replayed = await call("x", input_responses=answers, request_state=forged.request_state)
        assert isinstance(replayed, types.InputRequiredResult)
