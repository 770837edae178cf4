"""Clients of others log in by themselves at our gateway, with two different providers: they find everything by the
challenge and the metadata, and whoever logged in is in the record."""

import json
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest

from identity.clients import SDK_CLIENTS, call_by_inspector, call_by_sdk, login_by_claude_code
from identity.guarded import Guarded, guarded
from identity.person import Person
from identity.providers import Provider

pytestmark = pytest.mark.promise("I-06")
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture(scope="module")
def gateway(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Generator[Guarded]:
    with guarded(provider.issuer, tmp_path_factory.mktemp("gateway")) as started:
        yield started


def identities(gateway: Guarded) -> set[tuple[str, ...]]:
    """Who called `tools_echo`: the caller, and what the provider said."""
    calls = [json.loads(record["body"]) for record in gateway.records() if record["kind"] == "begin"]
    return {(call["caller"], *call.get("identity", ())) for call in calls}


@pytest.mark.parametrize("kind", SDK_CLIENTS)
def test_the_official_sdks_log_in_by_themselves(
    kind: str, gateway: Guarded, provider: Provider, alice: Person, npm_bin: Path
) -> None:
    assert call_by_sdk(kind, gateway.mcp, "tools_echo", alice, npm_bin) == "hello"
    assert ("staff/alice", provider.issuer, "alice") in identities(gateway)


def test_the_inspector_logs_in_by_itself(gateway: Guarded, alice: Person, npm_bin: Path, tmp_path: Path) -> None:
    assert call_by_inspector(gateway.mcp, "tools_echo", alice, npm_bin, tmp_path) == "hello"


def test_claude_code_logs_in_by_itself(gateway: Guarded, alice: Person, tmp_path: Path) -> None:
    before, after = login_by_claude_code(gateway.mcp, alice, tmp_path)
    assert "Needs authentication" in before
    assert "Connected" in after


def test_somebody_whom_the_map_does_not_name_gets_no_further(gateway: Guarded, npm_bin: Path) -> None:
    with Person("bob") as bob, pytest.raises((AssertionError, ExceptionGroup)):
        call_by_sdk("python", gateway.mcp, "tools_echo", bob, npm_bin)
    assert not any(caller == "staff/bob" for caller, *_ in identities(gateway))


def test_without_a_token_the_gateway_says_where_to_get_one(gateway: Guarded, provider: Provider) -> None:
    answer = httpx.post(gateway.mcp, json=HELLO)
    assert answer.status_code == 401
    where = answer.headers["www-authenticate"].partition('resource_metadata="')[2].partition('"')[0]
    metadata = httpx.get(where).json()
    assert metadata["resource"] == gateway.mcp
    assert metadata["authorization_servers"] == [provider.issuer]
    assert metadata["scopes_supported"] == ["mcp:read"]
