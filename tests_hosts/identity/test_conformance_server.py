"""The official conformance suite with our gateway as the protected server: every request brings a token of a provider,
and whatever passes without identity passes with it. The suite has no scenarios for the authorisation of servers."""

import warnings
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import httpx
import pytest
from mcp.shared.exceptions import MCPDeprecationWarning
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from conforming.server import app
from conforming.suite import REVISIONS, Found, lost, run_suite
from identity.guarded import guarded
from identity.providers import CERTIFIED, provider
from rightcall.server.app import running

pytestmark = pytest.mark.promise("I-06")
KEPT = ("content-type", "mcp-session-id", "mcp-protocol-version")


def bearing(url: str, token: str) -> Starlette:
    """Passes everything on, with the token that the suite cannot bring."""

    async def pass_on(request: Request) -> Response:
        assert request.scope["server"] is not None
        # Host and Origin name this port, and are meant for the other.
        own, theirs = ":{}".format(request.scope["server"][1]), f":{urlsplit(url).port}"
        headers = [
            (name, value.strip().replace(own, theirs)) for name, value in request.headers.items()
        ]  # Host and Origin
        headers.append(("authorization", f"Bearer {token}"))
        client = httpx.AsyncClient(timeout=None)
        asked = client.build_request(request.method, url, headers=headers, content=await request.body())
        answer = await client.send(asked, stream=True)

        async def told() -> AsyncGenerator[bytes]:
            try:
                async for part in answer.aiter_raw():
                    yield part
            finally:
                await answer.aclose()
                await client.aclose()

        kept = {name: answer.headers[name] for name in KEPT if name in answer.headers}
        return StreamingResponse(told(), answer.status_code, kept)

    return Starlette(routes=[Route("/mcp", pass_on, methods=["GET", "POST", "DELETE"])])


@pytest.fixture(scope="module", params=REVISIONS)
def compared(request: pytest.FixtureRequest, npm_bin: Path) -> Generator[tuple[Found, Found]]:
    """The suite with the server itself, and through the gateway with identity on."""
    with TemporaryDirectory() as folder, warnings.catch_warnings(), provider(CERTIFIED, npm_bin) as started:
        warnings.simplefilter("ignore", MCPDeprecationWarning)  # of what the older revision needs
        with running(app()) as (host, port):
            url = f"http://{host}:{port}/mcp"
            direct = run_suite(npm_bin, url, request.param, Path(folder, "direct"))
            behind = f'[servers.conforming]\nurl = "{url}"\nprefix = ""\neffects = ["read"]'
            (own := Path(folder, "gateway")).mkdir()
            with guarded(started.issuer, own, behind) as gateway:
                token = started.machine_token(gateway.mcp)
                with running(bearing(gateway.mcp, token)) as (host, port):
                    through = run_suite(npm_bin, f"http://{host}:{port}/mcp", request.param, Path(folder, "through"))
        yield direct, through


def test_what_passes_without_identity_passes_with_it(compared: tuple[Found, Found]) -> None:
    direct, through = compared
    assert direct.passed
    assert lost(direct, through) == {}
