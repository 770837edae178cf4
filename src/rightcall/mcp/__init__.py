"""MCP, the protocol between clients and tool servers: a server (`serving`), a gateway to many servers (`gateway/`) and
a wrapper around one (`wrap/`).

    client ─▶ serving ─▶ gateway/ ─▶ upstream ─▶ servers      judged and recorded by a door
    client ─▶ wrap/ (a byte pump) ─────────────▶ one server

`upstream` starts a server and keeps it open, `session` speaks with it, `links` carries the bytes. `messages` and
`approvals` do no I/O and are shared by all of them.
"""

from typing import TYPE_CHECKING

from rightcall import front

if TYPE_CHECKING:
    from rightcall.mcp.approvals import Approver
    from rightcall.mcp.gateway.gateway import CodeTools, Gateway
    from rightcall.mcp.gateway.names import server_name
    from rightcall.mcp.gateway.shared import SharedGateway
    from rightcall.mcp.links import HttpLink, ProcessLink
    from rightcall.mcp.messages import Answer, Message, ToolCall
    from rightcall.mcp.serving import Client, StdioServer
    from rightcall.mcp.session import Link, ServerGone, ServerSlow, Session
    from rightcall.mcp.upstream import Upstream
    from rightcall.mcp.wrap.wrap import Pump
else:
    __getattr__, __dir__ = front(
        __name__,
        {
            "approvals": "Approver",
            "gateway.gateway": "CodeTools Gateway",
            "gateway.names": "server_name",
            "gateway.shared": "SharedGateway",
            "messages": "Answer Message ToolCall",
            "serving": "Client StdioServer",
            "links": "HttpLink ProcessLink",
            "session": "Link ServerGone ServerSlow Session",
            "upstream": "Upstream",
            "wrap.wrap": "Pump",
        },
    )

__all__ = [
    "Answer", "Approver", "Client", "CodeTools", "Gateway", "HttpLink", "Link", "Message", "ProcessLink", "Pump",
    "ServerGone", "ServerSlow", "Session", "SharedGateway", "StdioServer", "ToolCall", "Upstream", "server_name",
]  # fmt: skip
