"""An agent of the Claude Agent SDK whose calls are judged by a policy, put right and recorded.

in a checkout: pip install '.[claude-agent-sdk]'; python examples/claude_sdk_agent.py "Book a table for four in Rome."
"""

import asyncio
import sys
from typing import Any

from rightcall.hosts.claude_sdk import RightCall  # first: without the framework it says what to install

# isort: split
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    TextBlock,
    ToolResultBlock,
    UserMessage,
    create_sdk_mcp_server,
    tool,
)

from rightcall.executor import Passage

POLICY = {"policy": {"deny": ["Bash", "desk/wire_money"], "approval": {"tools": ["desk/book_table"]}}}


@tool("find_restaurant", "Finds a restaurant.", {"city": str})
async def find_restaurant(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"Da Enzo, in {given['city']}."}]}


@tool("book_table", "Books a table.", {"restaurant": str, "guests": int})
async def book_table(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"Booked {given['restaurant']} for {given['guests']}."}]}


@tool("wire_money", "Sends money.", {"amount": int})
async def wire_money(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"Sent {given['amount']}."}]}


async def ask(passage: Passage) -> str | None:
    """Here a person would be asked; the name of who says yes goes into the record."""
    print(f"a person is asked:  {passage.name} {passage.arguments}, and says yes")
    return "Ada"


async def main(prompt: str) -> None:
    tools = [find_restaurant, book_table, wire_money]
    rightcall = RightCall(POLICY, servers={"desk": tools}, ask=ask)
    options = ClaudeAgentOptions(
        mcp_servers={"desk": create_sdk_mcp_server("desk", tools=tools)},
        hooks=rightcall.hooks,
        can_use_tool=rightcall.can_use_tool,
        setting_sources=[],
    )
    async with ClaudeSDKClient(options) as client:
        await client.query(prompt)
        async for message in client.receive_response():
            show(message)
    rightcall.close()


def show(message: Any) -> None:
    if not isinstance(message, AssistantMessage | UserMessage) or isinstance(message.content, str):
        return
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            text = (
                block.content if isinstance(block.content, str) else "".join(one["text"] for one in block.content or [])
            )
            print(f"{'refused' if block.is_error else 'result'}:  {text}")
        elif isinstance(block, TextBlock):
            print(f"answer:  {block.text}")


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "Book a table for four in Rome."))
