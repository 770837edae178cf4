"""A LangChain agent with a scripted chat model, and the same with the middleware."""

from collections.abc import Sequence
from keyword import iskeyword
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.output_parsers.openai_tools import make_invalid_tool_call, parse_tool_call
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

from contract.cases import Case, Definition, policy_for
from contract.outcomes import Ran, Seen
from rightcall.hosts.langchain import RightCallMiddleware


class Scripted(GenericFakeChatModel):
    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self


def message(case: Case) -> AIMessage:
    """As LangChain's clients of OpenAI make it: calls that they cannot parse are put aside."""
    about = {"finish_reason": case.finish}
    if case.text:
        return AIMessage(case.text, response_metadata=about)
    [raw] = case.message["tool_calls"]
    try:
        parsed: Any = parse_tool_call(raw, return_id=True)
        return AIMessage("", tool_calls=[parsed], response_metadata=about)
    except Exception as error:  # noqa: BLE001 - as LangChain does
        return AIMessage("", invalid_tool_calls=[make_invalid_tool_call(raw, str(error))], response_metadata=about)


def as_tool(tool: Definition, ran: Ran) -> StructuredTool:
    """Where Python has no such name for an argument, LangChain takes the schema itself, and then checks nothing."""
    if all(name.isidentifier() and not iskeyword(name) for name in tool.parameters["properties"]):
        return StructuredTool.from_function(ran.function(tool))
    return StructuredTool(
        name=tool.name, description=tool.description, args_schema=tool.parameters, func=ran.function(tool)
    )


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    return [_drive(case, tools, guarded) for case in cases]


def _drive(case: Case, tools: tuple[Definition, ...], guarded: bool) -> Seen:
    ran = Ran()
    guard = RightCallMiddleware(policy_for(tools)) if guarded else None
    agent: Any = create_agent(
        Scripted(messages=iter([message(case), AIMessage("done")])),
        tools=[as_tool(tool, ran) for tool in tools],
        middleware=[guard] if guard else [],
        checkpointer=InMemorySaver(),
    )
    try:
        state = agent.invoke({"messages": [("user", "go")]}, {"configurable": {"thread_id": "one"}})
    except Exception as error:  # noqa: BLE001 - whatever ends the run
        return Seen(ran.taken(), str(error), raised=True)
    finally:
        if guard is not None:
            guard.close()
    read = [str(one.content) for one in state["messages"] if isinstance(one, ToolMessage)]
    return Seen(ran.taken(), "\n".join(read), "__interrupt__" in state)
