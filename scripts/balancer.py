"""A small balancer on loopback, for where there is no HAProxy: `python scripts/balancer.py PORT NODE_PORT …`.

Each connection goes to the next node that answers. A connection of an MCP session goes to the node that has it, as
HAProxy does with the lines that `docs/operate/runbook.md` shows. For trying things out: it knows no TLS and no limits.
"""

import asyncio
import re
import signal
import sys
from collections import OrderedDict
from contextlib import suppress

_SESSION = re.compile(rb"\r\nmcp-session-id:[ \t]*([^\r\n]+)", re.IGNORECASE)
_MOST_HEAD = 65_536
_MOST_SESSIONS = 10_000
_CONNECT_SECONDS = 1.0
_HEAD_SECONDS = 30.0

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Balancer:
    def __init__(self, ports: list[int]) -> None:
        self._ports = ports
        self._next = 0
        self._sessions: OrderedDict[bytes, int] = OrderedDict()
        """The node of each MCP session."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            found = await self._connect(_SESSION.search(head))
            if found is None:
                writer.write(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                return
            port, (from_node, to_node) = found
            to_node.write(head)
            both = (self._pump(reader, to_node, None), self._pump(from_node, writer, port))
            await asyncio.gather(*both)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever it was has left
        finally:
            writer.close()

    async def _connect(self, session: "re.Match[bytes] | None") -> tuple[int, Streams] | None:
        """The node of that session, else the next one that answers."""
        own = self._sessions.get(session[1].strip()) if session else None
        if own is None:
            self._next = (self._next + 1) % len(self._ports)
        others = self._ports[self._next :] + self._ports[: self._next]
        for port in others if own is None else [own, *others]:
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(_CONNECT_SECONDS):
                    return port, await asyncio.open_connection("127.0.0.1", port)
        return None

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, node: int | None) -> None:
        try:
            while data := await source.read(_MOST_HEAD):
                if node is not None and (named := _SESSION.search(data)):
                    self._sessions[named[1].strip()] = node
                    if len(self._sessions) > _MOST_SESSIONS:
                        self._sessions.popitem(last=False)
                target.write(data)
                await target.drain()
        finally:
            target.close()


async def balance(port: int, nodes: list[int]) -> None:
    over = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    server = await asyncio.start_server(Balancer(nodes).serve, "127.0.0.1", port, limit=_MOST_HEAD)
    print(f"listening on 127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await over.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(balance(int(sys.argv[1]), [int(one) for one in sys.argv[2:]]))
