"""A pydantic-ai agent whose calls come out right: one line, `capabilities=[RightCall(...)]`.

in a checkout: pip install '.[pydantic-ai]'; python examples/pydantic_ai_agent.py
"""

import asyncio

from rightcall.hosts.pydantic_ai import RightCall  # first: without the framework it says what to install

# isort: split
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

POLICY = {"policy": {"deny": ["wire_money"], "approval": {"tools": ["book_table"]}}}


def book_table(restaurant: str, guests: int) -> str:
    """Books a table."""
    return f"Booked {restaurant} for {guests}."


def find_restaurant(city: str) -> str:
    """Finds a restaurant."""
    return f"Da Enzo, in {city}."


def wire_money(amount: int) -> str:
    """Sends money."""
    return f"Sent {amount}."


ANSWERS = [
    "<tool_call>{'name': 'findRestaurant', 'arguments': {'City': 'Rome',}}</tool_call>",  # left in the text, damaged
    ToolCallPart("wire_money", {"amount": 100}),  # the policy says no
    ToolCallPart("book_table", {"restaurant": "Da Enzo"}),  # something is missing
    ToolCallPart("book_table", '{"restaurant": "Da Enzo", "guests": "four"}'),  # a person has to say yes
    "Done: a table for four.",
]


def canned() -> FunctionModel:
    """Plays a small model; in its place, any model that pydantic-ai knows: `Agent("openai:…", …)`."""
    answers = iter(ANSWERS)

    def answer(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        given = next(answers)
        return ModelResponse(parts=[TextPart(given) if isinstance(given, str) else given])

    return FunctionModel(answer)


async def main() -> None:
    rightcall = RightCall(POLICY)
    agent = Agent(
        canned(),
        tools=[find_restaurant, book_table, wire_money],
        capabilities=[rightcall],
        output_type=[str, DeferredToolRequests],
    )
    result = await agent.run("A table in Rome, please.")
    while isinstance(result.output, DeferredToolRequests):
        for call in result.output.approvals:
            print(f"a person is asked:  {call.tool_name} {call.args}, and says yes")
        answers = DeferredToolResults(approvals={call.tool_call_id: True for call in result.output.approvals})
        result = await agent.run(message_history=result.all_messages(), deferred_tool_results=answers)
    for message in result.all_messages():
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                print(f"call:               {part.tool_name} {part.args}")
            elif isinstance(part, ToolReturnPart):
                print(f"result:             {part.content}")
    print(f"answer:             {result.output}")
    rightcall.close()


if __name__ == "__main__":
    asyncio.run(main())
