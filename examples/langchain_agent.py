"""A LangChain agent whose calls come out right: one line, `middleware=[RightCallMiddleware(...)]`.

in a checkout: pip install '.[langchain]'; python examples/langchain_agent.py
"""

from typing import Any

from rightcall.hosts.langchain import RightCallMiddleware  # first: without the framework it says what to install

# isort: split
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, InvalidToolCall, ToolCall
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

POLICY = {"policy": {"deny": ["wire_money"], "approval": {"tools": ["book_table"]}}}


@tool
def find_restaurant(city: str) -> str:
    """Finds a restaurant."""
    return f"Da Enzo, in {city}."


@tool
def book_table(restaurant: str, guests: int) -> str:
    """Books a table."""
    return f"Booked {restaurant} for {guests}."


@tool
def wire_money(amount: int) -> str:
    """Sends money."""
    return f"Sent {amount}."


def calls(name: str, **arguments: Any) -> AIMessage:
    return AIMessage(content="", tool_calls=[ToolCall(name=name, args=arguments, id=f"{name}{len(arguments)}")])


def broken(name: str, text: str) -> AIMessage:
    """As LangChain hands on arguments that are no JSON. Without RightCall the agent stops here, and says nothing."""
    unread = InvalidToolCall(name=name, args=text, id="1", error=None, type="invalid_tool_call")
    return AIMessage(content="", invalid_tool_calls=[unread])


ANSWERS = [
    broken("findRestaurant", "{'City': 'Rome',}"),
    calls("wire_money", amount=100),  # the policy says no
    calls("book_table", restaurant="Da Enzo"),  # something is missing
    calls("book_table", restaurant="Da Enzo", guests="four"),  # a person has to say yes
    AIMessage(content="Done: a table for four."),
]


class Canned(GenericFakeChatModel):
    """Plays a small model; in its place, any chat model: `create_agent("openai:…", …)`."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:  # noqa: ARG002
        return self


def main() -> None:
    rightcall = RightCallMiddleware(POLICY)
    agent = create_agent(
        Canned(messages=iter(ANSWERS)),
        tools=[find_restaurant, book_table, wire_money],
        middleware=[rightcall],
        checkpointer=InMemorySaver(),
    )
    thread: Any = {"configurable": {"thread_id": "1"}}
    state = agent.invoke({"messages": [HumanMessage("A table in Rome, please.")]}, thread)
    while "__interrupt__" in state:
        asked = state["__interrupt__"][0].value
        print(f"a person is asked:  {asked['name']} {asked['args']}, and says yes")
        state = agent.invoke(Command(resume={"type": "approve"}), thread)
    for message in state["messages"]:
        for call in getattr(message, "tool_calls", ()):
            print(f"call:               {call['name']} {call['args']}")
        if message.type in ("tool", "ai") and message.text:
            print(f"{'result:' if message.type == 'tool' else 'answer:':20}{message.text}")
    rightcall.close()


if __name__ == "__main__":
    main()
