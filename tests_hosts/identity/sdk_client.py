"""The official SDK's client in Python, which logs in by itself: a person opens the link that it shows."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from identity.person import Person

BACK = "http://127.0.0.1:9/callback"


class Storage:
    """What a program would write to a file."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def login_of(url: str, person: Person, storage: Storage) -> OAuthClientProvider:
    came_back: list[str] = []

    async def opened(link: str) -> None:
        came_back.append((await asyncio.to_thread(person.open, link, until=BACK)).url)

    async def answered() -> AuthorizationCodeResult:
        query = {name: values[0] for name, values in parse_qs(urlsplit(came_back[-1]).query).items()}
        assert "code" in query, came_back[-1]
        return AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))

    metadata = OAuthClientMetadata(client_name="SDK", redirect_uris=[AnyUrl(BACK)])
    return OAuthClientProvider(url, metadata, storage, redirect_handler=opened, callback_handler=answered)


@asynccontextmanager
async def sdk_client(url: str, person: Person, storage: Storage | None = None) -> AsyncGenerator[Client]:
    login = login_of(url, person, storage or Storage())
    async with (
        httpx2.AsyncClient(auth=login, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client
