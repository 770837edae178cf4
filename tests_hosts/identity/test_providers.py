"""The two providers and the two protected servers, with the official SDK's client: what the other tests stand on."""

import asyncio
from collections.abc import Generator
from pathlib import Path

import pytest

from gatewaying.running import texts
from identity.person import Person
from identity.protected import SDKS, Protected, protected
from identity.providers import Provider
from identity.sdk_client import Storage, sdk_client


@pytest.fixture(scope="module", params=SDKS)
def server(request: pytest.FixtureRequest, provider: Provider, npm_bin: Path) -> Generator[Protected]:
    with protected(request.param, provider.issuer, npm_bin) as started:
        yield started


def test_the_official_client_logs_in_with_either_provider(server: Protected, alice: Person) -> None:
    async def whoami() -> str:
        async with sdk_client(server.url, alice) as client:
            return texts(await client.call_tool("whoami", {}))

    assert asyncio.run(whoami()).startswith("alice mcp:read")


def test_a_login_that_the_provider_forgot_asks_the_person_again(
    server: Protected, provider: Provider, alice: Person
) -> None:
    storage = Storage()

    async def asked() -> tuple[int, str]:
        """How many pages the person saw for one call, and its answer."""
        before = len(alice.visited)
        async with sdk_client(server.url, alice, storage) as client:
            return len(alice.visited) - before, texts(await client.call_tool("whoami", {}))

    async def in_turn() -> list[tuple[int, str]]:
        first, second = await asked(), await asked()
        provider.order(forget=True)
        server.refuse_all()
        return [first, second, await asked()]

    (first, _), (second, again), (lost, answer) = asyncio.run(in_turn())
    assert first > 0
    assert second == 0
    assert lost > 0
    assert again.startswith("alice mcp:read")
    assert answer.startswith("alice mcp:read")
