"""FastMCP's own proxy before the same server, over HTTP, with one connection that is kept open."""

import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.server.providers.proxy import FastMCPProxy

server = str(Path(__file__).with_name("mcp_server.py"))
client = Client(StdioTransport(sys.executable, [server], keep_alive=True))


@asynccontextmanager
async def life(_: Any) -> Any:
    async with client:
        yield {}


proxy = FastMCPProxy(client_factory=lambda: client, name="peer", lifespan=life)
proxy.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False, log_level="ERROR")
