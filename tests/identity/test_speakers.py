"""For whom tokens of an identity provider speak, with a real provider on loopback."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from rightcall import load_policy
from rightcall.identity.callers import Refusal
from rightcall.identity.speakers import Speaker, Speakers
from support.openid import GATEWAY, OpenId


@pytest.fixture
def provider() -> Iterator[OpenId]:
    with OpenId() as found:
        yield found


def speakers(provider: OpenId, **more: Any) -> Speakers:
    table = {"issuer": provider.issuer, "audience": GATEWAY, "map": {"*": {"caller": "guest"}}, **more}
    policy = load_policy({"identity": table})
    return Speakers(lambda: policy)


def ask(found: Speakers, *tokens: str) -> list[str]:
    """The caller of each, or why there is none."""

    async def all_of_them() -> list[str]:
        said = [await found.of(token.encode()) for token in tokens]
        return [one.why if isinstance(one, Refusal) else one.caller for one in said]

    return asyncio.run(all_of_them())


def test_a_token_speaks_for_the_caller_of_its_group(provider: OpenId) -> None:
    found = speakers(provider, map={"group:platform": {"caller": "platform"}, "*": {"caller": "guest"}})
    tokens = provider.token(groups=["x", "platform"]), provider.token(groups=["x"]), provider.token()
    assert ask(found, *tokens) == ["platform", "guest", "guest"]
    speaker = asyncio.run(found.of(tokens[0].encode()))
    assert isinstance(speaker, Speaker)
    assert speaker.identity == (provider.issuer, "anna")
