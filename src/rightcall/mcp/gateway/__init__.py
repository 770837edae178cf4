"""Many MCP servers behind one, under one policy, for any number of clients.

    request ─▶ gateway ─▶ calls (judged, approved, recorded) ─▶ forward ─▶ upstream

`joining` follows servers that come, go and change, `names` tells their tools apart, `search` offers two tools in place
of too many, `library` joins resources and prompts, `news` passes on what servers say unasked, `tasks` keeps calls open
whose result comes later. `shared` is one gateway for clients that can do different things.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.mcp.gateway.gateway import CodeTools, Gateway
    from rightcall.mcp.gateway.names import Naming, WireNames, server_name
    from rightcall.mcp.gateway.shared import SharedGateway
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "gateway": "CodeTools Gateway",
            "names": "Naming WireNames server_name",
            "shared": "SharedGateway",
        },
    )

__all__ = [
    "CodeTools", "Gateway", "Naming", "SharedGateway", "WireNames", "server_name",
]  # fmt: skip
