"""An upstream scripted byte by byte: for every connection, what it writes after each request it has read."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, ParamSpec

from msgspec import json

CLOSE = b"<close>"
"""Closes the connection instead of writing."""
RESET = b"<reset>"

Script = Sequence[bytes]


class Scripted:
    """`requests` are the requests as they came, `connections` how many connections were opened."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        self.scripts = list(scripts)
        self.requests: list[bytes] = []
        self.connections = 0
        self.hung_up = asyncio.Event()
        self.tasks: set[asyncio.Task[None]] = set()
        self.url = ""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        script = self.scripts[min(self.connections, len(self.scripts) - 1)]
        self.connections += 1
        try:
            for step in script:
                self.requests.append(await read_request(reader))
                for piece in re.split(b"(<close>|<reset>)", step):
                    if piece in (CLOSE, RESET):
                        if piece == RESET:
                            writer.transport.abort()
                        return
                    writer.write(piece)
                    await writer.drain()
            await reader.read()  # until the client hangs up
            self.hung_up.set()
        except (ConnectionError, asyncio.IncompleteReadError):
            self.hung_up.set()
        finally:
            writer.close()


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return head + (await reader.readexactly(int(length[1])) if length else b"")


@asynccontextmanager
async def scripted(*scripts: Script) -> AsyncGenerator[Scripted]:
    """The last script serves every further connection as well."""
    upstream = Scripted(scripts)
    server = await asyncio.start_server(upstream.handle, "127.0.0.1", 0, limit=1 << 24)
    upstream.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield upstream
    finally:
        server.close()
        await server.wait_closed()
        for task in upstream.tasks:
            task.cancel()
        await asyncio.gather(*upstream.tasks, return_exceptions=True)


def answer(body: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = b"".join(header + b"\r\n" for header in headers)
    return b"HTTP/1.1 " + status + b"\r\ncontent-length: %d\r\n" % len(body) + lines + b"\r\n" + body


def chunked(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + end


P = ParamSpec("P")

HELLO = [{"role": "user", "content": "Hello"}]


def in_a_loop(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """A test that is a coroutine, with an end to its patience."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def limited() -> None:
            async with asyncio.timeout(60):
                await test(*args, **kwargs)

        asyncio.run(limited())

    return run


async def until(is_so: Callable[[], Any]) -> None:
    while not is_so():
        await asyncio.sleep(0)


def pass_time(seconds: float) -> None:
    """Sets the running loop's clock forward: whoever waited for that long is late now."""
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds  # the loop ends with the test


def said(text: Any = "Hi.", **more: Any) -> bytes:
    message = {"role": "assistant", "content": text}
    return json.encode({"choices": [{"message": message, "finish_reason": "stop"}], **more})


def refusal(status: str, error: Any, *headers: bytes) -> bytes:
    return answer(json.encode({"error": error}), *headers, status=status.encode())


def bodies(server: Scripted) -> list[Any]:
    """What was asked, question by question; of a list of models, None."""
    sent = [request.partition(b"\r\n\r\n")[2] for request in server.requests]
    return [json.decode(body) if body else None for body in sent]


def text(reply: dict[str, Any]) -> str:
    return reply["choices"][0]["message"]["content"]
