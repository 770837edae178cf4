"""What a provider answers when it gives a token: whatever it is, it ends in a token or in an IdentityError."""

import asyncio
from typing import Any

import pytest
from msgspec import json

from rightcall.identity import flows
from rightcall.identity.discovery import Provider, Reach, Reply, read_url
from rightcall.identity.registration import Client
from support.every import every

_TOKEN = {"access_token": "abc", "token_type": "Bearer"}


def answer(**more: Any) -> Reply:
    return Reply(read_url("https://auth.example/token"), 200, [], json.encode({**_TOKEN, **more}))


@every("life", ["²", "٣x", "1e5", "-1", "", 0, -5, [60], {"s": 1}, True, None, 10**18])
def test_a_life_that_makes_no_sense_is_none(life: Any) -> None:
    assert flows.read_tokens(answer(expires_in=life)).until == 0.0


@every("interval", [10**400, -(10**400), 1e308, -1, True, "5", None], ids=range(7))
def test_a_pause_between_two_questions_is_always_one(interval: Any) -> None:
    assert 1.0 <= flows._between(interval, 5.0, 1.0, 60.0) <= 60.0


@pytest.mark.promise("I-01")
@every(
    "endpoint",
    [
        "\n\n https://auth.example/authorize",
        "https://auth.example/authorize\r\n",
        "https://AUTH.example:443/authorize#\x1b[2J",
        "https://auth.example/authorize#first",
    ],
)
def test_a_person_is_shown_the_page_to_log_in_in_one_spelling(endpoint: str) -> None:
    provider = Provider(issuer="https://auth.example", authorization_endpoint=endpoint)
    party = flows.Party(provider, Client("https://auth.example", "me"), "", Reach.of(["https://mcp.example/mcp"]))

    async def made() -> str:
        return flows.authorisation_link(party, (), flows.Redirect(), "verifier")

    link = asyncio.run(made())
    assert link.startswith("https://auth.example/authorize?response_type=code&")
    assert link.isprintable()
