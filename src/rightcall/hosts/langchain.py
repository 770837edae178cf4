"""LangChain: a middleware that puts an agent's tool calls right, judges them by the policy and records them.

    agent = create_agent(model, tools=[...], middleware=[RightCallMiddleware(policy="rightcall.toml")])

A call that a person must see is an interrupt, as LangChain's own human-in-the-loop middleware makes one per call:
`Command(resume={"type": "approve"})` or `{"type": "reject", "message": …}`. Without a thread to resume, the model reads
under which id the call waits. Name it last in the list, so that it judges what the other middlewares made of a call.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from rightcall.hosts.adapting import (
    Known,
    Steps,
    afinished,
    arun_recorded,
    as_written,
    door_for,
    finished,
    missing,
    put_right,
    run_recorded,
)
from rightcall.hosts.answering import asettle, awas_asked, settle, was_asked

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, ToolCall, ToolMessage
    from langgraph.prebuilt.tool_node import ToolCallRequest
    from langgraph.types import Command, interrupt

    from rightcall.hosts.langchain_messages import Definitions, calls_of, draft_in, failure, finish, rewritten, warned
except ImportError as error:
    raise missing("langchain", "LangChain") from error

if TYPE_CHECKING:
    from typing import Unpack

    from rightcall.door import Door, DoorSettings
    from rightcall.door_passage import Passage
    from rightcall.executor import PolicySource

HOST = "langchain"
Answer = ToolMessage | Command[Any]


class RightCallMiddleware(AgentMiddleware[Any, Any, Any]):
    """`policy` is a path, a dict of the same shape or None; a `door` takes its place, with a policy of its own.

    `settings` are those of `Door.open`, such as `caller`: who calls, as `[callers.NAME]` of the policy knows them.
    `space` comes before the tools' names there (`researcher/search`), for agents whose tools of one name differ. Close
    it when its agents are done.
    """

    def __init__(
        self,
        policy: "PolicySource" = None,
        *,
        door: "Door | None" = None,
        space: str = "",
        **settings: "Unpack[DoorSettings]",
    ) -> None:
        super().__init__()
        self.door = door_for(HOST, policy, door, **settings)
        self.space = space
        self._known = Known(self.door, space)
        self._definitions = Definitions()

    def close(self) -> None:
        self.door.close()

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        return self._corrected(request, handler(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        return self._corrected(request, await handler(request))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Answer]) -> Answer:
        passage = finished(self._judged(request))
        if isinstance(passage, ToolMessage):
            return passage
        answer = run_recorded(self.door, passage, lambda: handler(_to_run(request, passage)), failure)
        return warned(answer, passage.message)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Answer]]
    ) -> Answer:
        passage = await afinished(self._judged(request))
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
        if passage.action == "ask" and _can_ask(request):
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


def _can_ask(request: ToolCallRequest) -> bool:
    """Whether an interrupt could be resumed: there is a thread."""
    return "thread_id" in _configurable(request)


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
