"""https upstreams: trusted, not trusted, and not speaking TLS at all. `localhost.pem` is a key for these tests only."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop

from rightcall.base.http.answers import HttpError
from rightcall.base.http.client import HttpLimits
from rightcall.server.addresses import Upstream
from support.raw_server import answer, read_request

PEM = Path(__file__).parents[2] / "support" / "localhost.pem"


@asynccontextmanager
async def listening(*, tls: bool) -> AsyncGenerator[str]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if tls:
            for _ in range(2):
                await read_request(reader)
                writer.write(answer(b"secret"))
        else:
            writer.write(answer(b"plain", status=b"400 Bad Request"))
            await reader.read(1)
        writer.close()

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(PEM)
    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context if tls else None)
    try:
        yield f"https://localhost:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()


async def ask(url: str, trust: ssl.SSLContext | None) -> bytes:
    upstream = Upstream(url, HttpLimits(connect_seconds=10), trust=trust)
    body = b""
    try:
        for _ in range(2):
            incoming = await upstream.send("GET", "/", [])
            body = await incoming.read_all()
            incoming.release()
        return body
    finally:
        await upstream.aclose()


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_an_upstream_with_a_trusted_certificate_is_asked_over_tls(loop: type[asyncio.AbstractEventLoop]) -> None:
    async def test() -> None:
        async with asyncio.timeout(60), listening(tls=True) as url:
            assert await ask(url, ssl.create_default_context(cafile=str(PEM))) == b"secret"

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(test())


@pytest.mark.parametrize("tls", [True, False])
def test_an_upstream_that_cannot_be_trusted_or_speaks_no_tls_gets_no_request(tls: bool) -> None:
    async def test() -> None:
        async with asyncio.timeout(60), listening(tls=tls) as url:
            with pytest.raises(HttpError, match="localhost cannot be trusted or does not speak TLS") as raised:
                await ask(url, None)
            assert raised.value.kind == "tls"

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(test())
