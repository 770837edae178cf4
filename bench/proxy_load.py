"""Clients of a proxy, a process of its own: python -m bench.proxy_load JOB prints what they saw as JSON.

Everything that arrives is kept, and looked at when all is over: byte for byte where nothing may have changed.
"""

import asyncio
import json
import sys
from time import perf_counter
from typing import Any, Literal

import msgspec
import uvloop

from bench.proxy_script import CALL, FIRST, Kind, answer, request, stream

Check = Literal["bytes", "text", "call", "status"]
LAST = b"0\r\n\r\n"


class Job(msgspec.Struct):
    port: int
    path: str = "/v1/chat/completions"
    headers: dict[str, str] = {}
    kind: Kind = "plain"
    chunks: int = 0
    """0: not streamed."""
    gap: int = 0
    """Microseconds between chunks."""
    count: int = 100
    connections: int = 1
    check: Check = "bytes"
    get: bool = False
    stall: float = 0
    """Seconds in which nobody reads what comes; then all go."""


class Seen(msgspec.Struct):
    wall: float
    wrong: int
    example: str
    """What was wrong first."""
    first: list[float]
    """Seconds until the first word of each answer."""
    took: list[float]


class Client(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, stalls: bool) -> None:
        self.stalls = stalls
        self.pieces: list[bytes] = []
        self.done: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]

    def connection_lost(self, exc: Exception | None) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_exception(exc or ConnectionError("closed in the middle"))

    async def ask(self, raw: bytes) -> None:
        self.pieces = []
        self.missing: int | None = None
        self.tail = b""
        self.first = 0.0
        self.done = asyncio.get_running_loop().create_future()
        self.sent = perf_counter()
        self.transport.write(raw)
        await self.done

    def data_received(self, data: bytes) -> None:
        if self.stalls:
            self.transport.pause_reading()
        if not self.first and FIRST in data:
            self.first = perf_counter() - self.sent
        self.pieces.append(data)
        if self.missing is None:
            self._head()
        elif self.missing >= 0:
            self.missing -= len(data)
        else:
            self.tail = (self.tail + data)[-5:]
        if (self.missing == 0 or self.tail == LAST) and self.done is not None and not self.done.done():
            self.done.set_result(None)

    def _head(self) -> None:
        head, end, rest = b"".join(self.pieces).partition(b"\r\n\r\n")
        if not end:
            return
        found = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        self.missing = int(found[0].split(b":")[1]) - len(rest) if found else -1
        self.tail = rest[-5:]


def raw_request(job: Job, number: int) -> bytes:
    body = b"" if job.get else request(job.kind, number, stream=job.chunks > 0, chunks=job.chunks, gap=job.gap)
    lines = [f"{'GET' if job.get else 'POST'} {job.path} HTTP/1.1", f"host: 127.0.0.1:{job.port}"]
    lines += [f"{name}: {value}" for name, value in job.headers.items()]
    if not job.get:
        lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def run(job: Job) -> Seen:
    """`count` requests over `connections` connections; all connected before the clock starts."""
    loop = asyncio.get_running_loop()
    pairs = [
        await loop.create_connection(lambda: Client(job.stall > 0), "127.0.0.1", job.port)
        for _ in range(job.connections)
    ]
    left = iter([(number, raw_request(job, number)) for number in range(1, job.count + 1)])
    got: list[tuple[int, bytes]] = []
    first: list[float] = []
    took: list[float] = []

    async def work(client: Client) -> None:
        for number, raw in left:
            await client.ask(raw)
            took.append(perf_counter() - client.sent)
            first.append(client.first)
            got.append((number, b"".join(client.pieces)))

    began = perf_counter()
    tasks = [asyncio.ensure_future(work(client)) for _, client in pairs]
    if job.stall:
        await asyncio.sleep(job.stall)
        for task in tasks:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=job.stall > 0)
    wall = perf_counter() - began
    for transport, _ in pairs:
        transport.abort()
    wrong = [what for number, raw in got if (what := complaint(job, number, raw))]
    return Seen(wall, len(wrong), wrong[0][:300] if wrong else "", first, took)


# ── looking at what came ─────────────────────────────────────────────────────────────────────────────────────────


def complaint(job: Job, number: int, raw: bytes) -> str:
    """What is wrong with an answer; empty where nothing is."""
    head, _, body = raw.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        return f"{head[:100]!r} {body[:200]!r}"
    if job.chunks and b"content-length" not in head.lower():
        body = unchunked(body)
    if job.check == "status":
        return ""
    if job.check == "bytes":
        sent = b"".join(stream(job.kind, number, job.chunks)) if job.chunks else answer(job.kind, number)
        return "" if body == (answer("plain", 0) if job.get else sent) else f"other bytes: {body[:200]!r}"
    text, arguments = said(body) if job.chunks else whole(body)
    if job.check == "call":
        right = [json.loads(one) for one in arguments] == [CALL]
        return "" if right else f"the call is {arguments!r}"
    sent = b"".join(stream(job.kind, number, job.chunks)) if job.chunks else answer(job.kind, number)
    return "" if text == (said(sent) if job.chunks else whole(sent))[0] else f"other text: {text[:200]!r}"


def unchunked(body: bytes) -> bytes:
    pieces: list[bytes] = []
    at = 0
    while True:
        end = body.index(b"\r\n", at)
        size = int(body[at:end], 16)
        if not size:
            return b"".join(pieces)
        pieces.append(body[end + 2 : end + 2 + size])
        at = end + 4 + size


def said(body: bytes) -> tuple[str, list[str]]:
    """Text and arguments of calls in a stream."""
    text: list[str] = []
    calls: dict[int, str] = {}
    for event in body.split(b"\n\n"):
        if not event.startswith(b"data: {"):
            continue
        for choice in json.loads(event[6:])["choices"]:
            delta: dict[str, Any] = choice["delta"]
            text.append(delta.get("content") or "")
            for call in delta.get("tool_calls") or ():
                calls[call["index"]] = calls.get(call["index"], "") + (call["function"].get("arguments") or "")
    return "".join(text), list(calls.values())


def whole(body: bytes) -> tuple[str, list[str]]:
    message = json.loads(body)["choices"][0]["message"]
    return message.get("content") or "", [call["function"]["arguments"] for call in message.get("tool_calls") or ()]


if __name__ == "__main__":
    seen = uvloop.run(run(msgspec.json.decode(sys.argv[1], type=Job)))
    sys.stdout.write(msgspec.json.encode(seen).decode())
