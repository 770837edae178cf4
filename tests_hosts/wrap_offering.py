"""A server made with the official SDK that uses everything a server may do, in both eras of the protocol."""

from typing import Annotated, Any

import anyio
import mcp_types as types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("offering", instructions="Try everything.", log_level="CRITICAL")


class City(BaseModel):
    name: str


def which_city() -> Elicit[City]:
    return Elicit("Which city?", City)


@server.tool()
def read_file(path: str, limit: int = 10) -> str:
    """Read a file."""
    return f"{path}:{limit}"


@server.tool()
def delete_file(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


@server.tool()
async def count_up(steps: int, ctx: Context) -> str:
    """Tell of its progress."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return f"{steps} steps"


@server.tool()
async def greet_city(city: Annotated[City, Resolve(which_city)]) -> str:
    """Asks the person for a city."""
    return f"Hello, {city.name}!"


@server.tool()
async def ask_model(question: str, ctx: Context) -> str:
    """Asks the client's model (older clients only)."""
    words = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=question))
    answer = await ctx.session.create_message([words], max_tokens=10)
    return f"{answer.role} says {getattr(answer.content, 'text', '')}"


@server.tool()
async def wait_for_ever(reason: str) -> str:
    """Never answers."""
    await anyio.sleep_forever()
    return reason


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    """Has one tool more afterwards."""

    def grown(number: int) -> str:
        return f"{name} {number}"

    server.add_tool(grown, name=name, description="New here.")
    await ctx.session.send_tool_list_changed()
    await ctx.notify_tools_changed()
    return "grown"


@server.tool()
def fail(why: str) -> str:
    """Fails."""
    raise ValueError(why)


@server.resource("note://first", mime_type="text/plain")
def first() -> str:
    return "The first note."


@server.resource("note://by/{name}")
def by(name: str) -> str:
    return f"A note by {name}."


@server.prompt()
def summarise(text: str) -> str:
    return f"Summarise: {text}"


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> types.Completion:
    del ref, context
    return types.Completion(values=[f"{argument.value}{end}" for end in ("a", "b")], total=2, has_more=False)


if __name__ == "__main__":
    server.run()
