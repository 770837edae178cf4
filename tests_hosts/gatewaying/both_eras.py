"""A server of the official SDK that knows both eras, and asks its client for everything a server may ask for."""

import mcp_types
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

mcp = MCPServer("both")


class Name(BaseModel):
    name: str


@mcp.tool()
async def greet(ctx: Context) -> str:
    return repr(await ctx.elicit("Who?", Name))


@mcp.tool()
async def think(ctx: Context) -> str:
    asked = mcp_types.SamplingMessage(role="user", content=mcp_types.TextContent(type="text", text="why?"))
    answer = await ctx.session.create_message([asked], max_tokens=5)
    return repr(answer.content)


@mcp.tool()
async def folders(ctx: Context) -> str:
    found = await ctx.session.list_roots()
    return ", ".join(str(one.uri) for one in found.roots)


@mcp.tool()
async def log(ctx: Context) -> str:
    await ctx.info("a line of the log")
    return "logged"


@mcp.resource("memo://one")
def one() -> str:
    return "a memo"


if __name__ == "__main__":
    mcp.run("stdio")
