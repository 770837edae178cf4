"""An official MCP client in front of the contract's server: directly, or through a door that speaks MCP."""

import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import mcp_types
from mcp import Client
from mcp.shared.exceptions import MCPError
from msgspec import json

from contract.cases import Case, Definition
from contract.outcomes import UNSEEN, Seen

BY_CLIENT = ("broken JSON", "left in text", "truncated")
"""What a client has read before it speaks MCP: arguments arrive as an object."""


class Site:
    """A folder with the tools, the log of what ran, and a policy file if there is one."""

    def __init__(self, folder: Path, tools: tuple[Definition, ...], policy: str = "") -> None:
        self.tools = folder / "tools.json"
        self.tools.write_bytes(json.encode(tools))
        self.log = folder / "ran.jsonl"
        self.log.touch()
        self.policy = folder / "rightcall.toml"
        if policy:
            self.policy.write_text(policy)
        self._read = 0

    @property
    def server(self) -> list[str]:
        return [sys.executable, "-m", "contract.server", str(self.tools), str(self.log)]

    def ran(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """What ran since it was last asked."""
        lines = self.log.read_bytes().splitlines()
        new, self._read = lines[self._read :], len(lines)
        return tuple(json.decode(line, type=tuple[str, dict[str, Any]]) for line in new)


class Person:
    """Is asked, and says no."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, context: Any, params: Any) -> Any:
        self.asked.append(params.message)
        return mcp_types.ElicitResult(action="decline")


async def called(
    client: AbstractAsyncContextManager[Client], person: Person, site: Site, cases: Sequence[Case], prefix: str = ""
) -> list[Seen | None]:
    """Each case, one after the other; tools have `prefix` before their names."""
    seen: list[Seen | None] = []
    async with client as session:
        await session.list_tools()
        for case in cases:
            if case.failure in BY_CLIENT:
                seen.append(UNSEEN)
                continue
            assert isinstance(case.arguments, dict)
            person.asked.clear()
            read = await _read(session, prefix + case.name, case.arguments)
            seen.append(Seen(site.ran(), read, bool(person.asked)))
    return seen


async def _read(session: Client, name: str, arguments: dict[str, Any]) -> str:
    try:
        result = await session.call_tool(name, arguments)
    except MCPError as error:
        return str(error)
    return "\n".join(block.text for block in result.content if isinstance(block, mcp_types.TextContent))
