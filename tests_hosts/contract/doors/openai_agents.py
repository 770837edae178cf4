"""An agent of the OpenAI Agents SDK with a scripted model, and the same guarded."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from agents import Agent, FunctionTool, Model, ModelResponse, Runner, Usage, function_tool
from agents.exceptions import AgentsException
from agents.run import RunConfig
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from contract.cases import Case, Definition, policy_for
from contract.outcomes import Ran, Seen
from rightcall.hosts.openai_agents import RightCall


class Scripted(Model):
    """Says what the case says, then ends; `heard` are the items of the second request."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.heard: list[Any] = []
        self.turns = 0

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        self.turns += 1
        case = self.case
        if self.turns > 1:
            self.heard = list(input)
            return ModelResponse([_text("done")], Usage(), None)
        if case.text:
            return ModelResponse([_text(case.text)], Usage(), None)
        call = ResponseFunctionToolCall(
            type="function_call", call_id=case.call_id, name=case.name, arguments=case.written
        )
        return ModelResponse([call], Usage(), None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


def _text(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[content])


def as_tool(tool: Definition, ran: Ran) -> FunctionTool:
    return function_tool(ran.function(tool), strict_mode=False)


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    return [asyncio.run(_drive(case, tools, guarded)) for case in cases]


async def _drive(case: Case, tools: tuple[Definition, ...], guarded: bool) -> Seen:
    ran = Ran()
    model = Scripted(case)
    agent = Agent(name="notes", model=model, tools=[as_tool(tool, ran) for tool in tools])
    guard = RightCall(policy_for(tools)) if guarded else None
    try:
        result = await Runner.run(
            guard.guard(agent) if guard else agent, "go", run_config=RunConfig(tracing_disabled=True)
        )
    except AgentsException as error:
        return Seen(ran.taken(), str(error), raised=True)
    finally:
        if guard is not None:
            guard.close()
    outputs = [item for item in model.heard if isinstance(item, dict) and item.get("type") == "function_call_output"]
    return Seen(ran.taken(), "\n".join(str(item["output"]) for item in outputs), bool(result.interruptions))
