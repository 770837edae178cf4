"""A FastMCP server whose calls are put right, judged by a policy and recorded.

in a checkout: pip install '.[fastmcp]'
python examples/fastmcp_server.py          a client calls it, right and wrong
fastmcp run examples/fastmcp_server.py     the server for any MCP client
"""

import asyncio

from rightcall.hosts.fastmcp import RightCall  # first: without the framework it says what to install

# isort: split
from fastmcp import Client, FastMCP

POLICY = {"policy": {"deny": ["delete_note"]}}
guard = RightCall(POLICY)  # or the path of a policy file
mcp = FastMCP("notes", middleware=[guard])


@mcp.tool
def write_note(note_title: str, text: str) -> str:
    """Write a note."""
    return f"wrote {note_title}: {text}"


@mcp.tool
def delete_note(note_title: str) -> str:
    """Delete a note."""
    return f"deleted {note_title}"


async def main() -> None:
    async with Client(mcp) as client:
        for name, arguments in (
            ("write_note", {"noteTitle": "shopping", "text": "milk"}),
            ("write_note", {"note_title": "shopping"}),
            ("delete_note", {"note_title": "shopping"}),
        ):
            result = await client.call_tool(name, arguments, raise_on_error=False)
            print(name, "failed:" if result.is_error else "ran:", result.content[0].text)
    guard.close()


if __name__ == "__main__":
    asyncio.run(main())
