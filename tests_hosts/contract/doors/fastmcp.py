"""A FastMCP server with the middleware, and an in-memory client that can show a person a form."""

import asyncio
from collections.abc import Sequence
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.client.elicitation import ElicitResult

from contract.cases import Case, Definition, policy_for
from contract.outcomes import UNSEEN, Ran, Seen
from rightcall.hosts.fastmcp import RightCall

BY_CLIENT = ("broken JSON", "left in text", "truncated")
"""What a client has read before it speaks MCP: arguments arrive as an object."""


def drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    return asyncio.run(_drive(cases, tools, guarded))


async def _drive(cases: Sequence[Case], tools: tuple[Definition, ...], guarded: bool) -> list[Seen | None]:
    ran = Ran()
    asked: list[str] = []

    async def ask(message: str, *_: Any) -> ElicitResult[Any]:
        asked.append(message)
        return ElicitResult(action="decline")

    guard = RightCall(policy_for(tools)) if guarded else None
    server = FastMCP("notes", middleware=[guard] if guard else [])
    for tool in tools:
        server.tool(ran.function(tool))
    seen: list[Seen | None] = []
    async with Client(server, elicitation_handler=ask) as client:
        for case in cases:
            if case.failure in BY_CLIENT:
                seen.append(UNSEEN)
                continue
            asked.clear()
            result = await client.call_tool(case.name, _object(case), raise_on_error=False)
            read = "\n".join(block.text for block in result.content if block.type == "text")
            seen.append(Seen(ran.taken(), read, bool(asked)))
    if guard is not None:
        guard.close()
    return seen


def _object(case: Case) -> dict[str, Any]:
    assert isinstance(case.arguments, dict)
    return case.arguments
