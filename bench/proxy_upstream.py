"""The scripted model server, a process of its own: python -m bench.proxy_upstream prints its port."""

import asyncio
import sys

import uvloop
from httptools import HttpRequestParser

from bench.proxy_script import answer, asked, stream

PLAIN = answer("plain", 0)
HIGH = 65_536


class Server(asyncio.Protocol):
    """One request at a time on a connection, as our proxy and LiteLLM's both ask."""

    def __init__(self) -> None:
        self.writable = asyncio.Event()
        self.writable.set()
        self.task: asyncio.Task[None] | None = None
        self.body: list[bytes] = []
        self.parser = HttpRequestParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.transport.set_write_buffer_limits(HIGH)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if self.task is not None:
            self.task.cancel()

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    # what httptools calls

    def on_body(self, body: bytes) -> None:
        self.body.append(body)

    def on_message_complete(self) -> None:
        body = b"".join(self.body)
        self.body = []
        kind, number, chunks, gap = asked(body)
        if chunks:
            self.task = asyncio.ensure_future(self._stream(stream(kind, number, chunks), gap / 1e6))
        else:
            whole = answer(kind, number) if body else PLAIN
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(whole)
            self.transport.write(head + whole)

    async def _stream(self, events: list[bytes], gap: float) -> None:
        """Every event a chunk and a write of its own, as model servers send them. The gaps are kept on the whole: who
        comes late for one event is early for the next."""
        loop = asyncio.get_running_loop()
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        self.transport.write(head)
        due = loop.time()
        for event in events:
            self.transport.write(b"%x\r\n%b\r\n" % (len(event), event))
            due += gap
            await asyncio.sleep(max(due - loop.time(), 0))
            if not self.writable.is_set():
                await self.writable.wait()
        self.transport.write(b"0\r\n\r\n")


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
