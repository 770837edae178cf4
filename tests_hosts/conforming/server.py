"""A server of the official SDK with everything that the official conformance suite asks for, in both eras, over
streamable HTTP (`app`) and over stdio (`over_stdio`). The suite says which names and which words it looks for."""

import asyncio
import json
import socket
import sys
import threading
from base64 import b64decode
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import anyio
import mcp_types as types
from mcp.server import MCPServer, ServerRequestContext
from mcp.server.mcpserver import Context, RequestStateSecurity
from mcp.server.mcpserver.prompts.base import Prompt, UserMessage
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, Field, create_model
from starlette.types import ASGIApp

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)  # fmt: skip
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
RETRY_MS = 100
STEP = 0.02
PICTURE = types.ImageContent(type="image", data=PIXEL, mime_type="image/png")
Answers = dict[str, Any]


class Events(EventStore):
    """What was sent on streams, so that they can be taken up again."""

    def __init__(self) -> None:
        self._sent: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        self._sent.append((stream_id, message))
        return str(len(self._sent))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        at = int(last_event_id)
        stream = self._sent[at - 1][0]
        for number, (name, message) in enumerate(self._sent[at:], at + 1):
            if name == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


def text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def embedded(uri: str, words: str, kind: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(
        type="resource", resource=types.TextResourceContents(uri=uri, mime_type=kind, text=words)
    )


def form(message: str, **properties: str) -> types.ElicitRequest:
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(words: str) -> types.CreateMessageRequest:
    said = types.SamplingMessage(role="user", content=text(words))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[said], max_tokens=50))


def asking(state: str | None = None, **questions: Any) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=questions, request_state=state)


def given(ctx: Context, *names: str) -> Answers | None:
    """The answers with these names; None where one is missing."""
    answers = ctx.input_responses or {}
    return {name: answers[name] for name in names} if all(name in answers for name in names) else None


def field(answer: Any, name: str) -> Any:
    return (answer.content or {}).get(name) if isinstance(answer, types.ElicitResult) else None


# ── tools that answer ────────────────────────────────────────────────────────────────────────────────────────────────


def add_contents(mcp: MCPServer) -> None:
    contents: dict[str, list[Any]] = {
        "test_simple_text": [text("This is a simple text response for testing.")],
        "test_image_content": [PICTURE],
        "test_audio_content": [types.AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")],
        "test_embedded_resource": [embedded("test://embedded-resource", "This is an embedded resource content.")],
        "test_multiple_content_types": [
            text("Multiple content types test:"),
            PICTURE,
            embedded("test://mixed-content-resource", '{"test": "data", "value": 123}', "application/json"),
        ],
    }
    for name, blocks in contents.items():

        def answer(blocks: list[Any] = blocks) -> Any:
            return types.CallToolResult(content=blocks)

        mcp.add_tool(without_arguments(answer), name=name, description=f"Answers with {name}")

    @mcp.tool()
    def test_error_handling() -> str:
        raise RuntimeError("This tool intentionally returns an error for testing")

    @mcp.tool()
    def test_x_mcp_header(
        region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "nowhere",
    ) -> str:
        return f"in {region}"

    @mcp.tool()
    async def test_missing_capability(ctx: Context) -> str:
        if ctx.client_capabilities is None or ctx.client_capabilities.sampling is None:
            raise MCPError(
                code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
                message="this tool needs a client that can sample",
                data={"requiredCapabilities": {"sampling": {}}},
            )
        return "the client can sample"


def without_arguments(work: Any) -> Any:
    def tool() -> Any:
        return work()

    return tool


# ── tools that speak while they run ──────────────────────────────────────────────────────────────────────────────────


def add_talking(mcp: MCPServer) -> None:
    @mcp.tool()
    async def test_tool_with_logging(ctx: Context) -> str:
        for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await ctx.info(words)
            await asyncio.sleep(STEP)
        return "logged"

    @mcp.tool()
    async def test_tool_with_progress(ctx: Context) -> str:
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100, f"Completed step {done} of 100")
            await asyncio.sleep(STEP)
        return "done"

    @mcp.tool()
    async def test_reconnection(ctx: Context) -> str:
        """Closes the stream in the middle of it, for the client to come back."""
        await ctx.close_sse_stream()
        await asyncio.sleep(2 * RETRY_MS / 1000)
        return "the client came back"

    @mcp.tool()
    async def test_sampling(prompt: str, ctx: Context) -> str:
        said = [types.SamplingMessage(role="user", content=text(prompt))]
        found = await ctx.session.create_message(messages=said, max_tokens=100, related_request_id=ctx.request_id)
        return f"LLM response: {found.content.text if found.content.type == 'text' else found.content.type}"

    @mcp.tool()
    async def test_elicitation(message: str, ctx: Context) -> str:
        return await asked(ctx, message, create_model("Answer", response=(str, Field(description="What you say"))))

    @mcp.tool()
    async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
        return await asked(ctx, "Who are you?", Defaults)

    @mcp.tool()
    async def test_elicitation_sep1330_enums(ctx: Context) -> str:
        return await asked(ctx, "Which of these?", Choices)

    @mcp.tool()
    async def test_trigger_tool_change(ctx: Context) -> str:
        mcp.add_tool(without_arguments(lambda: "hi"), name="test_coming_and_going")
        mcp.remove_tool("test_coming_and_going")
        await ctx.notify_tools_changed()
        return "changed"

    @mcp.tool()
    async def test_trigger_prompt_change(ctx: Context) -> str:
        mcp.add_prompt(Prompt.from_function(without_arguments(lambda: "hi"), name="test_coming_and_going"))
        mcp.remove_prompt("test_coming_and_going")
        await ctx.notify_prompts_changed()
        return "changed"


class Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: str = Field("active", json_schema_extra={"enum": ["active", "inactive", "pending"]})
    verified: bool = True


def titled(*values: str) -> Any:
    return [{"const": value, "title": value.title()} for value in values]


Choices = create_model(
    "Choices",
    untitledSingle=(str, Field(json_schema_extra={"enum": ["a", "b"]})),
    titledSingle=(str, Field(json_schema_extra={"oneOf": titled("a", "b")})),
    untitledMulti=(list[str], Field(json_schema_extra={"items": {"type": "string", "enum": ["a", "b"]}})),
    titledMulti=(list[str], Field(json_schema_extra={"items": {"anyOf": titled("a", "b")}})),
    legacyEnum=(str, Field(json_schema_extra={"enum": ["a", "b"], "enumNames": ["A", "B"]})),
)


async def asked(ctx: Context, message: str, schema: type[BaseModel]) -> str:
    found = await ctx.elicit(message=message, schema=schema)
    return f"action={found.action}, content={found.data.model_dump_json() if found.action == 'accept' else '{}'}"


# ── tools that ask by their result ───────────────────────────────────────────────────────────────────────────────────


def add_asking(mcp: MCPServer) -> None:
    @mcp.tool()
    async def test_input_required_result_elicitation(ctx: Context) -> Any:
        if (found := given(ctx, "user_name")) is None:
            return asking(user_name=form("What is your name?", name="string"))
        return f"Hello, {field(found['user_name'], 'name')}!"

    @mcp.tool()
    async def test_input_required_result_sampling(ctx: Context) -> Any:
        if (found := given(ctx, "capital_question")) is None:
            return asking(capital_question=sampling("What is the capital of France?"))
        return f"It said {found['capital_question'].content.text}"

    @mcp.tool()
    async def test_input_required_result_list_roots(ctx: Context) -> Any:
        if (found := given(ctx, "client_roots")) is None:
            return asking(client_roots=types.ListRootsRequest())
        return f"{len(found['client_roots'].roots)} roots"

    @mcp.tool()
    async def test_input_required_result_request_state(ctx: Context) -> Any:
        if given(ctx, "confirm") is None or ctx.request_state != "begun":
            return asking("begun", confirm=form("Is that right?", ok="boolean"))
        return "state-ok"


def add_asking_more(mcp: MCPServer) -> None:
    @mcp.tool()
    async def test_input_required_result_multiple_inputs(ctx: Context) -> Any:
        if given(ctx, "user_name", "greeting", "client_roots") is None:
            return asking(
                "several",
                user_name=form("What is your name?", name="string"),
                greeting=sampling("Generate a greeting"),
                client_roots=types.ListRootsRequest(),
            )
        return "all of them"

    @mcp.tool()
    async def test_input_required_result_multi_round(ctx: Context) -> Any:
        name = json.loads(ctx.request_state)["name"] if ctx.request_state else None
        if name and (found := given(ctx, "step2")):
            return f"{name} likes {field(found['step2'], 'color')}"
        if ctx.request_state and (found := given(ctx, "step1")):
            state = json.dumps({"name": field(found["step1"], "name")})
            return asking(state, step2=form("Step 2: What is your favorite color?", color="string"))
        return asking(json.dumps({"name": None}), step1=form("Step 1: What is your name?", name="string"))

    @mcp.tool()
    async def test_input_required_result_tampered_state(ctx: Context) -> Any:
        if ctx.request_state is None:
            return asking("sealed by the SDK", confirm=form("Is that right?", ok="boolean"))
        return "state-ok"

    @mcp.tool()
    async def test_input_required_result_capabilities(ctx: Context) -> Any:
        can = ctx.client_capabilities
        questions: Answers = {}
        if can is not None and can.sampling is not None:
            questions["sample"] = sampling("Say hello")
        if can is not None and can.elicitation is not None:
            questions["ask"] = form("What is your name?", name="string")
        return asking("by ability", **questions)

    @mcp.prompt()
    async def test_input_required_result_prompt(ctx: Context) -> Any:
        if (found := given(ctx, "user_context")) is None:
            return asking(user_context=form("In which context?", context="string"))
        return [UserMessage(text(f"In the context of {field(found['user_context'], 'context')}"))]


# ── resources, prompts, and what has no decorator ────────────────────────────────────────────────────────────────────


def add_library(mcp: MCPServer) -> None:
    @mcp.resource("test://static-text")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @mcp.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        return b64decode(PIXEL)

    @mcp.resource("test://template/{id}/data")
    def template(id: str) -> str:
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @mcp.resource("test://watched-resource")
    def watched() -> str:
        return "watched"

    @mcp.prompt()
    def test_simple_prompt() -> list[UserMessage]:
        return [UserMessage(text("This is a simple prompt for testing."))]

    @mcp.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> list[UserMessage]:
        return [UserMessage(text(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))]

    @mcp.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803 - its name there
        return [UserMessage(embedded(resourceUri, "Embedded")), UserMessage(text("Please process it."))]

    @mcp.prompt()
    def test_prompt_with_image() -> list[UserMessage]:
        return [UserMessage(PICTURE), UserMessage(text("Please look at it."))]

    @mcp.completion()
    async def complete(ref: Any, argument: Any, context: Any) -> types.Completion:
        return types.Completion(values=["one", "two"], total=2, has_more=False)


KEYWORDS: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"city": {"type": "string"}}}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def add_the_rest(mcp: MCPServer) -> None:
    """What the SDK has no public way for."""
    name = "json_schema_2020_12_tool"
    mcp.add_tool(without_arguments(lambda: "never called"), name=name)
    mcp._tool_manager._tools[name].parameters = KEYWORDS
    for one in (*mcp._tool_manager.list_tools(), *mcp._prompt_manager.list_prompts()):
        one.description = one.description or f"The suite looks for {one.name}"

    async def nothing(ctx: ServerRequestContext, params: Any) -> types.EmptyResult:
        return types.EmptyResult()

    for method, kind in {
        "logging/setLevel": types.SetLevelRequestParams,
        "resources/subscribe": types.SubscribeRequestParams,
        "resources/unsubscribe": types.UnsubscribeRequestParams,
    }.items():
        mcp._lowlevel_server.add_request_handler(method, kind, nothing)


def server() -> MCPServer:
    sealing = RequestStateSecurity(keys=[b"k" * 32])
    mcp = MCPServer("conforming", version="1", request_state_security=sealing, log_level="CRITICAL")
    for add in (add_contents, add_talking, add_asking, add_asking_more, add_library, add_the_rest):
        add(mcp)
    return mcp


def app() -> ASGIApp:
    return server().streamable_http_app(event_store=Events(), retry_interval=RETRY_MS)


RELAY = """
import os, socket, sys, threading
there = socket.socket(socket.AF_UNIX)
there.connect(sys.argv[1])
def up():
    while data := os.read(0, 65536):
        there.sendall(data)
    there.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while data := there.recv(65536):
    os.write(1, data)
"""
"""A process over stdio whose other end is here: one that imported the SDK would take seconds for each session."""


@contextmanager
def over_stdio(folder: Path) -> Generator[list[str]]:
    """The command of a server over stdio, which can be started many times."""
    path = folder / "server"
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(path))
    bound.listen()
    threads: list[threading.Thread] = []

    def accept() -> None:
        while True:
            try:
                there = bound.accept()[0]
            except OSError:
                return
            threads.append(threading.Thread(target=lambda there=there: asyncio.run(_served(there))))
            threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield [sys.executable, "-ISc", RELAY, str(path)]
    finally:
        bound.shutdown(socket.SHUT_RDWR)
        bound.close()
        for thread in (accepting, *threads):
            thread.join()


async def _served(there: socket.socket) -> None:
    with there, there.makefile("r", encoding="utf-8") as source, there.makefile("w", encoding="utf-8") as sink:
        low = server()._lowlevel_server
        async with stdio_server(anyio.wrap_file(source), anyio.wrap_file(sink)) as (reading, writing):
            await low.run(reading, writing, low.create_initialization_options())
