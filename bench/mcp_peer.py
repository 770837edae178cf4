"""FastMCP's own proxy before the same server, over HTTP, with one connection that is kept open."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastmcp import Client  # pyright: ignore[reportMissingImports] - it runs where FastMCP is
from fastmcp.client.transports import StdioTransport  # pyright: ignore[reportMissingImports] - as above
from fastmcp.server.providers.proxy import FastMCPProxy  # pyright: ignore[reportMissingImports] - as above

server = str(Path(__file__).with_name("mcp_server.py"))
client = Client(StdioTransport(sys.executable, [server], keep_alive=True))


@asynccontextmanager
async def life(_: Any) -> AsyncIterator[dict[str, Any]]:
    async with client:
        yield {}


proxy = FastMCPProxy(client_factory=lambda: client, name="peer", lifespan=life)
proxy.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False, log_level="ERROR")
