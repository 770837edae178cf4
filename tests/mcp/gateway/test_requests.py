"""Requests that no server would take, and questions that go on as they came."""

import asyncio
from typing import Any

import pytest
from msgspec import json

from rightcall.mcp.messages import INVALID_PARAMS, INVALID_REQUEST
from support.gateways import POLICY, ScriptedLink, asked, gateway_of, greeted, line_asked, old_server, once

pytestmark = pytest.mark.promise("H-04", "X-07")


def full_server(method: str, params: dict[str, Any]) -> Any:
    match method:
        case "initialize":
            return {**old_server(method, params), "capabilities": {"tools": {}, "resources": {}, "prompts": {}}}
        case "resources/list" | "resources/templates/list" | "prompts/list":
            return {}
    return old_server(method, params)


def answers(ask: Any) -> Any:
    async def main() -> Any:
        async with gateway_of(POLICY, a=ScriptedLink(full_server)) as gateway:
            return await ask(gateway)

    return asyncio.run(main())


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"])
@pytest.mark.parametrize("modern", [True, False])
def test_a_cursor_that_nobody_gave_is_refused(method: str, *, modern: bool) -> None:
    async def ask(gateway: Any) -> Any:
        return await (
            once(gateway, method, cursor="x") if modern else asked(await greeted(gateway), method, cursor="x")
        )

    assert answers(ask)["code"] == INVALID_PARAMS


def test_no_cursor_is_the_first_page() -> None:
    async def ask(gateway: Any) -> Any:
        return await asked(await greeted(gateway), "tools/list", cursor=None)

    assert [tool["name"] for tool in answers(ask)["tools"]] == ["a_echo"]


@pytest.mark.parametrize("id", [b"null", b"true", b"{}", b"[1]"])
def test_a_request_under_an_id_that_no_response_could_carry_is_refused(id: bytes) -> None:
    async def ask(gateway: Any) -> Any:
        return await line_asked(await greeted(gateway), b'{"jsonrpc": "2.0", "id": %b, "method": "tools/list"}' % id)

    assert answers(ask)["code"] == INVALID_REQUEST


@pytest.mark.parametrize("params", [None, {}, {"_meta": {"x": 1}}])
def test_a_question_without_params_reaches_the_client_without_any(params: Any) -> None:
    def asking(method: str, given: dict[str, Any]) -> Any:
        if method != "tools/call":
            return old_server(method, given)
        link.say({"id": 9, "method": "roots/list"} | ({} if params is None else {"params": params}))
        return {"content": []}

    link = ScriptedLink(asking)
    heard: list[bytes] = []

    async def main() -> None:
        async with gateway_of(POLICY, a=link) as gateway:
            client = await greeted(gateway, capabilities={"roots": {}}, heard=heard)
            await asked(client, "tools/call", name="a_echo", arguments={"text": "x"})
            while not any(b"roots/list" in line for line in heard):
                await asyncio.sleep(0)

    asyncio.run(main())
    question = next(json.decode(line) for line in heard if b"roots/list" in line)
    assert question.get("params") == params
