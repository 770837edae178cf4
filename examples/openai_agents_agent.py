"""An agent of the OpenAI Agents SDK whose calls come out right: one line, `rightcall.guard(agent)`.

in a checkout: pip install '.[openai-agents]'; python examples/openai_agents_agent.py
"""

import asyncio

from rightcall.hosts.openai_agents import RightCall  # first: without the framework it says what to install

# isort: split
from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message
from openai.types.responses import ResponseFunctionToolCall

POLICY = {"policy": {"deny": ["wire_money"], "approval": {"tools": ["book_table"]}}}


@function_tool
def find_restaurant(city: str) -> str:
    """Finds a restaurant."""
    return f"Da Enzo, in {city}."


@function_tool
def book_table(restaurant: str, guests: int) -> str:
    """Books a table."""
    return f"Booked {restaurant} for {guests}."


@function_tool
def wire_money(amount: int) -> str:
    """Sends money."""
    return f"Sent {amount}."


def call(id: str, name: str, arguments: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(name=name, arguments=arguments, call_id=id, type="function_call")


ANSWERS = [
    [call("1", "findRestaurant", "{'City': 'Rome',}")],  # without RightCall the run ends here, with an exception
    [call("2", "wire_money", '{"amount": 100}')],  # the policy says no
    [call("3", "book_table", '{"restaurant": "Da Enzo"}')],  # something is missing
    [assistant_message('[book_table(restaurant="Da Enzo", guests="four")]')],  # in the text; a person has to say yes
    [assistant_message("Done: a table for four.")],
]


async def main() -> None:
    rightcall = RightCall(POLICY)
    tools = [find_restaurant, book_table, wire_money]
    # In place of the scripted model any other, or the name of one: Agent(model="gpt-…", …).
    agent = rightcall.guard(Agent(name="host", model=ScriptedModel(ANSWERS), tools=list(tools)))
    quiet = RunConfig(tracing_disabled=True)
    result = await Runner.run(agent, "A table in Rome, please.", run_config=quiet)
    while result.interruptions:
        state = result.to_state()
        for asked in result.interruptions:
            print(f"a person is asked:  {asked.tool_name} {asked.arguments}, and says yes")
            state.approve(asked)
        result = await Runner.run(agent, state, run_config=quiet)
    for item in result.new_items:
        if item.type == "tool_call_item" and isinstance(item.raw_item, ResponseFunctionToolCall):
            print(f"call:               {item.raw_item.name} {item.raw_item.arguments}")
        elif item.type == "tool_call_output_item":
            print(f"result:             {item.output}")
    print(f"answer:             {result.final_output}")
    rightcall.close()


if __name__ == "__main__":
    asyncio.run(main())
