"""Servers that the gateway reaches over HTTP, of both eras, with clients of both: every pair gives the same answers."""

import asyncio
from typing import Any

import mcp_types
import pytest

from gatewaying.over_http import Forgetful, NewOnly, OldOnly, modern_server, served
from gatewaying.running import READS, gateway, texts

PAIRS = pytest.mark.parametrize(
    ("client_era", "server_era"),
    [("auto", "new"), ("auto", "old"), ("legacy", "new"), ("legacy", "old")],
)
pytestmark = pytest.mark.promise("X-07", "H-04")


def app_of(era: str) -> Any:
    app = modern_server().streamable_http_app()
    return OldOnly(app) if era == "old" else app


@PAIRS
def test_every_pair_of_eras(client_era: str, server_era: str) -> None:
    steps: list[float] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    async def main(url: str) -> dict[str, Any]:
        async with gateway({"web": {"url": url, **READS}}) as site, site.client(client_era) as client:
            found: dict[str, Any] = {"tools": [one.name for one in (await client.list_tools()).tools]}
            added = await client.call_tool("web_add", {"a": "1", "b": 2})
            found["add"] = added.structured_content
            found["count"] = texts(await client.call_tool("web_count", {}, progress_callback=heard))
            failed = await client.call_tool("web_fail", {})
            found["fail"] = failed.is_error, texts(failed)
            found["one"] = (await client.read_resource("memo://one")).contents[0].text  # type: ignore[union-attr]
            found["named"] = (await client.read_resource("memo://x y")).contents[0].text  # type: ignore[union-attr]
            found["prompt"] = (await client.get_prompt("web_ask", {"topic": "ö"})).messages[0].content.text  # type: ignore[union-attr]
            upstream = site.gateway.state()["web"]
            return found | {"protocol": upstream["protocol"], "state": upstream["state"]}

    with served(app_of(server_era)) as url:
        found = asyncio.run(main(url))
    assert found == {
        "tools": ["web_add", "web_count", "web_fail", "web_greet"],
        "add": {"result": 3},
        "count": "counted",
        "fail": (True, "Error executing tool fail"),
        "one": "a memo",
        "named": "memo x y",
        "prompt": "Tell me about ö",
        "protocol": "2026-07-28" if server_era == "new" else "2025-11-25",
        "state": "ready",
    }
    assert steps == [1, 2]


@pytest.mark.parametrize("client_era", ["auto", "legacy"])
def test_a_result_of_a_new_server_that_asks_is_answered_by_clients_of_both_eras(client_era: str) -> None:
    states: list[str | None] = []

    async def person(_: Any, params: Any) -> Any:
        return mcp_types.ElicitResult(action="accept", content={"name": f"{params.message} Ada"})

    async def main(url: str) -> str:
        servers = {"web": {"url": url, **READS}}
        async with gateway(servers) as site, site.client(client_era, elicitation_callback=person) as client:
            if client_era == "auto":
                asked = await client.session.call_tool("web_greet", {}, allow_input_required=True)
                states.append(asked.request_state)
            return texts(await client.call_tool("web_greet", {}))

    with served(NewOnly(modern_server().streamable_http_app())) as url:
        text = asyncio.run(main(url))
    assert text == "hello Who? Ada, state of the server"
    assert all(state and "state of the server" not in state for state in states)


def test_a_session_that_the_server_has_forgotten_is_opened_anew_and_the_call_made_again() -> None:
    async def main(url: str, server: Forgetful) -> tuple[list[str], int]:
        async with gateway({"web": {"url": url, **READS}}) as site, site.client("auto") as client:
            first = texts(await client.call_tool("web_add", {"a": 1, "b": 1}))
            server.forgets = True
            second = texts(await client.call_tool("web_add", {"a": 1, "b": 2}))
            return [first, second], site.gateway.state()["web"]["starts"]

    forgetful = Forgetful(app_of("old"))
    with served(forgetful) as url:
        assert asyncio.run(main(url, forgetful)) == (["2", "3"], 2)


def test_a_server_that_is_not_there_is_told_of_by_name() -> None:
    async def main() -> tuple[Any, str]:
        servers = {"web": {"url": "http://127.0.0.1:9/mcp", **READS}}
        async with gateway(servers) as site, site.client("auto") as client:
            await client.list_tools()
            return site.gateway.state()["web"], texts(await client.call_tool("web_add", {}))

    state, text = asyncio.run(main())
    assert "127.0.0.1 cannot be reached" in state["problem"]
    assert "Unknown tool 'web_add'" in text
