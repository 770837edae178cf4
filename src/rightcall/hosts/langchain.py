"""LangChain: a middleware that puts an agent's tool calls right, judges them by the policy and records them.

    agent = create_agent(model, tools=[...], middleware=[RightCallMiddleware(policy="rightcall.toml")])

A call that a person must see is an interrupt, as LangChain's own human-in-the-loop middleware makes one per call:
`Command(resume={"type": "approve"})` or `{"type": "reject", "message": …}`. Without a thread to resume, the model reads
under which id the call waits. Name it last in the list, so that it judges what the other middlewares made of a call.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Any, cast

from rightcall.hosts.adapter import (
    Guarded,
    Steps,
    Turn,
    Written,
    arun_recorded,
    as_written,
    asettle,
    atake_steps,
    awas_asked,
    draft_of,
    missing,
    put_right,
    run_recorded,
    settle,
    take_steps,
    was_asked,
)

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, ToolCall, ToolMessage
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.types import Command, interrupt
except ImportError as error:
    raise missing("langchain", "LangChain") from error

if TYPE_CHECKING:
    from rightcall.executor.passage import Passage


# ── messages ──
# LangChain's messages: the calls of an answer, before and after they are put right; what is said beside a result.

DRAFTS = "rightcall"
"""Where an answer keeps what the model wrote of calls that were corrected, in its `response_metadata`, which no model
is sent: a thread that goes on in another process judges the same."""

MOST_TOOLS = 1000


def calls_of(message: AIMessage) -> list[Written]:
    """Those that LangChain could read, then those that it could not."""
    every = (*message.tool_calls, *message.invalid_tool_calls)
    return [Written(call["id"] or f"call_{token_hex(12)}", call["name"] or "", call["args"]) for call in every]


class Definitions:
    """What models are told of tools, worked out once for each."""

    def __init__(self) -> None:
        self._told: dict[int, tuple[Any, dict[str, Any] | None]] = {}

    def of(self, tools: Iterable[Any]) -> list[dict[str, Any]]:
        """Without those that the provider runs itself."""
        told = {id(tool): self._told.get(id(tool)) or (tool, _definition(tool)) for tool in tools}
        # The tool is kept beside it: as long as it is, no other has its id.
        self._told = told if len(self._told) >= MOST_TOOLS else self._told | told
        return [definition for _, definition in told.values() if definition is not None]


def _definition(tool: Any) -> dict[str, Any] | None:
    told = cast("dict[str, Any]", tool) if isinstance(tool, dict) else convert_to_openai_tool(tool)
    function = told.get("function")
    return {"parameters": {"type": "object"}} | function if function else None


def finish(message: AIMessage) -> str | None:
    said = cast("dict[str, Any]", message.response_metadata)
    return said.get("finish_reason") or said.get("stop_reason") or said.get("done_reason")


def rewritten(message: AIMessage, turn: Turn, left: Collection[str]) -> AIMessage:
    """The answer with its calls put right. Those with an id in `left` stay unreadable, as they are."""
    calls = [call for call in turn.calls if call.id not in left]
    drafts = {call.id: draft_of(call, call.name, call.as_dict()) for call in calls if call.changed}
    return message.model_copy(
        update={
            "content": _content(message, turn),
            "tool_calls": [ToolCall(name=c.name, args=c.as_dict(), id=c.id, type="tool_call") for c in calls],
            "invalid_tool_calls": [call for call in message.invalid_tool_calls if call["id"] in left],
            "response_metadata": {**message.response_metadata, DRAFTS: drafts},
        }
    )


def _content(message: AIMessage, turn: Turn) -> str | list[str | dict[str, Any]]:
    """Only a text that held a call changes; blocks beside it, such as thoughts, stay."""
    if turn.text == message.text:
        return cast("str | list[str | dict[str, Any]]", message.content)
    prose = turn.text.strip()
    if isinstance(message.content, str):
        return prose
    others = [block for block in message.content if isinstance(block, dict) and block.get("type") != "text"]
    return [*([{"type": "text", "text": prose}] if prose else []), *others]


def draft_in(state: Any, call_id: str | None) -> Any:
    """What the model wrote of a call of the last answer, if that was corrected."""
    answer = next((one for one in reversed(_messages(state)) if isinstance(one, AIMessage)), None)
    kept: dict[str, Any] = {} if answer is None else answer.response_metadata.get(DRAFTS, {})
    return kept.get(call_id or "")


def _messages(state: Any) -> list[Any]:
    """An agent's state is a dict, a model, or nothing but its messages."""
    if isinstance(state, list):
        return cast("list[Any]", state)
    kept: Any = cast("Any", state).get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    return kept or []


def failure(answer: Any) -> str | None:
    return answer.text if isinstance(answer, ToolMessage) and answer.status == "error" else None


def warned(answer: Any, warning: str) -> Any:
    """The result, with a warning beside it for the model."""
    if not warning or not isinstance(answer, ToolMessage):
        return answer
    content: Any = answer.content
    told = f"{content}\n\n{warning}" if isinstance(content, str) else [*content, {"type": "text", "text": warning}]
    return answer.model_copy(update={"content": told})


Answer = ToolMessage | Command[Any]


class RightCallMiddleware(Guarded, AgentMiddleware[Any, Any, Any]):
    host = "langchain"

    def _prepare(self) -> None:
        self._definitions = Definitions()

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        return self._corrected(request, handler(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        return self._corrected(request, await handler(request))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer:
        passage = take_steps(self._judged(request))
        if isinstance(passage, ToolMessage):
            return passage
        answer = run_recorded(self.door, passage, lambda: handler(_to_run(request, passage)), failure)
        return warned(answer, passage.message)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        passage = await atake_steps(self._judged(request))
        if isinstance(passage, ToolMessage):
            return passage
        answer = await arun_recorded(self.door, passage, lambda: handler(_to_run(request, passage)), failure)
        return warned(answer, passage.message)

    def _judged(self, request: ToolCallRequest) -> "Steps[Passage | ToolMessage]":
        """The passage of a call that is to run, or what the model reads instead."""
        door, call_id = self.door, request.tool_call["id"]
        name, written, about = self._about(request)
        judging = partial(door.judge, name, written, **about), partial(door.ajudge, name, written, **about)
        passage: Passage = yield judging
        if passage.action == "ask" and ("thread_id" in _configurable(request)):
            said = _answer(passage, request.tool_call)
            seen = yield partial(was_asked, door, passage, call_id), partial(awas_asked, door, passage, call_id)
            if not seen:  # the thread was changed since a person was asked
                return _message(request, passage.message)
            word = "denied" if said else "approved"
            settled = yield partial(settle, door, passage, word), partial(asettle, door, passage, word)
            if said or not settled:
                return _message(request, said if settled else passage.message)
            passage = yield judging
        if passage.action != "allow" or passage.name != request.tool_call["name"]:
            return _message(request, passage.message or f"Call {passage.name} instead.")
        return passage

    def _corrected(self, request: ModelRequest[Any], response: ModelResponse[Any]) -> ModelResponse[Any]:
        """The answer, with its calls put right; the same object where nothing needed it."""
        offered = self._known.offer(self._definitions.of(request.tools))
        if response.structured_response is not None or any(isinstance(one, ToolMessage) for one in response.result):
            return response  # the agent's structured output: data, not a call, and answered already
        result = [self._put_right(one, offered) if isinstance(one, AIMessage) else one for one in response.result]
        if all(new is old for new, old in zip(result, response.result, strict=True)):
            return response
        return replace(response, result=result)

    def _put_right(self, message: AIMessage, offered: frozenset[str]) -> AIMessage:
        calls = calls_of(message)
        turn = put_right(
            self.door, str(message.text), calls, offered=offered, finish_reason=finish(message), space=self.space
        )
        broken = turn.calls[len(message.tool_calls) : len(calls)]
        if not turn.changed and all(call.observed for call in broken):
            return message
        return rewritten(message, turn, {call.id for call in broken if call.observed})

    def _about(self, request: ToolCallRequest) -> tuple[str, Any, dict[str, Any]]:
        """The call as the model wrote it, and what else there is to say of it."""
        call = request.tool_call
        if request.tool is not None:  # a thread that is resumed has asked no model yet
            self._known.offer(self._definitions.of([request.tool]))
        name, written = as_written(draft_in(request.state, call["id"]), call["name"], call["args"])
        thread = _configurable(request).get("thread_id")
        about = {"call_id": call["id"], "step": call["id"], "space": self.space}
        return name, written, about | {"context": None if thread is None else str(thread)}


def _configurable(request: ToolCallRequest) -> dict[str, Any]:
    runtime = cast("Any", request).runtime
    config: Any = getattr(runtime, "config", None) or {}
    return config.get("configurable") or {}


def _answer(passage: "Passage", call: ToolCall) -> str:
    """Empty when a person said yes, else what the model should read. The first time, this interrupts the graph."""
    said: Any = interrupt(
        {
            "type": "tool_approval", "tool_call_id": call["id"], "name": passage.name, "args": passage.arguments,
            "description": passage.why, "approval": passage.approval, "allowed_decisions": ["approve", "reject"],
        }
    )  # fmt: skip
    match said:
        case True | "approve" | {"type": "approve"} | {"decisions": [{"type": "approve"}]}:
            return ""
        case {"message": str(why)} | {"decisions": [{"message": str(why)}]}:
            return f"A person refused this call: {why}"
        case _:
            return "A person refused this call. Do not make it again unless the user asks for it."


def _to_run(request: ToolCallRequest, passage: "Passage") -> ToolCallRequest:
    if request.tool_call["args"] == passage.arguments:
        return request
    return request.override(tool_call={**request.tool_call, "args": passage.arguments})


def _message(request: ToolCallRequest, text: str) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(content=text, tool_call_id=call["id"] or "", name=call["name"], status="error")
