"""A pydantic-ai agent with a `FunctionModel`, and the same with the capability."""

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, Tool
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import FunctionModel

from contract.cases import Case, Definition, policy_for
from contract.outcomes import Ran, Seen
from rightcall.hosts.pydantic_ai import RightCall

FINISH: Any = {"stop": "stop", "tool_calls": "tool_call", "length": "length"}


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    return [asyncio.run(_drive(case, tools, guarded)) for case in cases]


async def _drive(case: Case, tools: tuple[Definition, ...], guarded: bool) -> Seen:
    ran = Ran()
    heard: list[ModelMessage] = []

    def model(messages: list[ModelMessage], _: Any) -> ModelResponse:
        if len(messages) > 1:
            heard[:] = messages
            return ModelResponse(parts=[TextPart("done")])
        part: Any = TextPart(case.text) if case.text else ToolCallPart(case.name, case.written, case.call_id)
        return ModelResponse(parts=[part], finish_reason=FINISH[case.finish])

    guard = RightCall(policy_for(tools)) if guarded else None
    agent = Agent(
        FunctionModel(model),
        tools=[Tool(ran.function(tool), name=tool.name) for tool in tools],
        capabilities=[guard] if guard else [],
        output_type=[str, DeferredToolRequests],
    )
    try:
        result = await agent.run("go")
    except AgentRunError as error:
        return Seen(ran.taken(), str(error), raised=True)
    finally:
        if guard is not None:
            guard.close()
    return Seen(ran.taken(), _read(heard), isinstance(result.output, DeferredToolRequests))


def _read(heard: list[ModelMessage]) -> str:
    parts = [part for message in heard[1:] if isinstance(message, ModelRequest) for part in message.parts]
    return "\n".join(str(part.content) for part in parts if isinstance(part, (ToolReturnPart, RetryPromptPart)))
