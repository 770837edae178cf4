"""Clients over MCP, each in a context of its own, share the rooms that the policy names for them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rightcall.executor.executor import Executor
from rightcall.mcp.gateway.gateway import CodeTools
from support.gateways import gateway_of, once, text_of

pytestmark = pytest.mark.promise("X-84")

POLICY: dict[str, Any] = {
    "version": 1,
    "gate": {"packs": ["room"]},
    "callers": {"claude": {"rooms": ["debug"]}, "codex": {"rooms": ["debug"]}, "guest": {"deny": ["room/*"]}},
}


def test_two_clients_talk_in_a_named_room_and_a_third_does_not_hear_them(tmp_path: Path) -> None:
    async def main() -> None:
        own = CodeTools()
        async with Executor.open(tmp_path, POLICY, store="memory") as executor:
            own.executor = executor
            async with gateway_of(POLICY, {"own": own}) as gateway:

                async def call(caller: str, name: str, **arguments: Any) -> str:
                    return text_of(await once(gateway, "tools/call", caller, name=name, arguments=arguments))

                await call("claude", "room_post", text="The loop ends one row early.", room="debug")
                assert "The loop ends one row early." in await call("codex", "room_read", room="debug")
                assert "is not one of your rooms" in await call("mallory", "room_read", room="debug")
                assert "not whitelisted" in await call("guest", "room_read", room="debug")
                listed = {one["name"] for one in (await once(gateway, "tools/list", "codex"))["tools"]}
                assert {"room_post", "room_read", "room_list"} <= listed

    asyncio.run(main())
