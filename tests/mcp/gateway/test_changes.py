"""Changes that a server tells of reach those who listen within a second; and what clients of the new era may say."""

import asyncio
from typing import Any

import pytest
from msgspec import json

from rightcall.mcp.gateway import joining
from rightcall.mcp.messages import read
from rightcall.mcp.serving import Client
from rightcall.mcp.session import ServerGone
from support.every import every
from support.gateways import META, TOOL, Answer, ScriptedLink, Site, call, gateway_of, old_server, policy, run

LISTS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}
DISCOVERED = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {"listChanged": True}, "prompts": {}},
    "resultType": "complete",
}


def new_server(method: str, params: dict[str, Any]) -> Any:
    match method:
        case "server/discover":
            return DISCOVERED
        case "subscriptions/listen":
            return None  # until it ends
        case "initialize":
            raise LookupError(method)
    return old_server(method, params)


def asked(method: str, id: int = 1, **params: Any) -> bytes:
    return json.encode({"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": META}})


class Listening:
    """A client of the new era that listens to all that changes."""

    def __init__(self, gateway: Any) -> None:
        self.heard: list[str] = []
        self._news = asyncio.Event()
        line = asked("subscriptions/listen", notifications=dict.fromkeys(LISTS.values(), True))
        message = read(line)
        assert message is not None
        self.task = asyncio.create_task(Client(gateway, "gateway", lambda _: None).request(line, message, self._hear))

    def _hear(self, message: bytes) -> None:
        self.heard.append(json.decode(message)["method"])
        self._news.set()

    async def next(self) -> str:
        async with asyncio.timeout(25):  # a busy machine is no reason to fail; what waits on purpose is below
            while not self.heard:
                self._news.clear()
                await self._news.wait()
        return self.heard.pop(0)


@pytest.mark.promise("H-51")
@every("server", [old_server, new_server])
@every("method", LISTS)
def test_a_change_that_a_server_tells_of_is_told_at_once_also_where_nothing_seems_different(
    method: str, server: Any
) -> None:
    async def main() -> list[str]:
        link = ScriptedLink(server)
        async with gateway_of(policy("a"), a=link) as gateway:
            await gateway.settled()
            client = Listening(gateway)
            heard = [await client.next()]
            link.say({"method": method})
            heard.append(await client.next())
            gateway.news.end()
            await client.task
            return heard

    assert asyncio.run(main()) == ["notifications/subscriptions/acknowledged", method]


@pytest.mark.promise("H-51")
def test_each_of_several_changes_is_told_and_none_waits_for_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    assert joining.FIRST_PAUSE <= joining.LONGEST_PAUSE < 1
    monkeypatch.setattr(joining, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(joining, "SHARE", 0)
    count = 0

    def growing(method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            return {"tools": [TOOL, *({**TOOL, "name": f"more{number}"} for number in range(count))]}
        return old_server(method, params)

    async def main() -> list[int]:
        nonlocal count
        link = ScriptedLink(growing)
        async with gateway_of(policy("a"), a=link) as gateway:
            await gateway.settled()
            client = Listening(gateway)
            await client.next()
            seen: list[int] = []
            for number in (1, 2, 3):
                count = number
                link.say({"method": "notifications/tools/list_changed"})
                await client.next()
                seen.append(len(gateway.table.of("a")))  # it is known before it is told
            gateway.news.end()
            await client.task
            return seen

    assert asyncio.run(main()) == [2, 3, 4]


@pytest.mark.promise("H-51")
@pytest.mark.parametrize("how", ["it breaks off", "it ends"])
def test_a_server_whose_news_have_ended_is_asked_for_them_again(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_AGAIN", 0.001)
    link = ScriptedLink(new_server)

    async def main() -> int:
        async with gateway_of(policy("a"), a=link) as gateway:
            await gateway.settled()
            async with asyncio.timeout(25):
                while not link.said("subscriptions/listen"):
                    await asyncio.sleep(0)
                listing = len(link.said("tools/list"))
                number = link.said("subscriptions/listen")[0]["id"]
                assert link.heard is not None
                if how == "it ends":
                    link.say({"id": number, "result": {"resultType": "complete"}})
                else:
                    link.heard.failed(number, ServerGone("it closed the stream without an answer"))
                while len(link.said("subscriptions/listen")) < 2 or len(link.said("tools/list")) == listing:
                    await asyncio.sleep(0.001)
            return len(link.said("subscriptions/listen"))

    assert asyncio.run(main()) == 2


# ── initialize, and answers that nobody asked for ────────────────────────────────────────────────────────────────────


@pytest.mark.promise("H-50")
@pytest.mark.parametrize("meta", [META, {**META, "io.modelcontextprotocol/protocolVersion": "1900-01-01"}])
def test_initialize_has_no_place_in_a_revision_without_sessions(meta: dict[str, Any]) -> None:
    version = meta["io.modelcontextprotocol/protocolVersion"]
    message = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {"_meta": meta}}

    async def work(site: Site) -> Answer:
        return await site.ask(body=message, mcp_protocol_version=version, mcp_method="initialize")

    answer = run(work)
    error = answer.json["error"]
    found = (answer.status, answer.json["id"], error["code"])
    assert found == ((404, 7, -32601) if version == "2026-07-28" else (400, 7, -32022))
    assert "mcp-session-id" not in answer.headers


@pytest.mark.promise("H-50")
def test_a_client_of_the_old_era_may_name_its_revision_when_it_shakes_hands() -> None:
    message = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}

    async def work(site: Site) -> Answer:
        return await site.ask(body=message, mcp_protocol_version="2025-11-25")

    assert run(work).json["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.promise("H-50")
@pytest.mark.parametrize(
    ("server", "method", "params"),
    [
        (new_server, "tools/call", {"name": "a_echo", "arguments": {"text": "hi"}}),
        (new_server, "prompts/get", {"name": "a_hello"}),
        (old_server, "tools/call", {"name": "a_echo", "arguments": {"text": "hi"}}),
    ],
)
def test_answers_to_a_server_pass_as_they_are_also_without_a_state_and_with_keys_that_nobody_knows(
    server: Any, method: str, params: dict[str, Any]
) -> None:
    answers = {"user_name": {"action": "accept", "content": {"name": "Ada"}}, "unknown": {"action": "decline"}}

    def asking(method: str, given: dict[str, Any]) -> Any:
        if method == "prompts/list":
            return {"prompts": [{"name": "hello"}]}
        return {"messages": []} if method == "prompts/get" else server(method, given)

    link = ScriptedLink(asking)

    async def work(site: Site) -> Answer:
        message = {**call(), "method": method, "params": {**params, "inputResponses": answers, "_meta": META}}
        routed = {"mcp_protocol_version": "2026-07-28", "mcp_method": method, "mcp_name": params["name"]}
        return await site.ask(body=message, **routed)

    answer = run(work, link)
    assert answer.status == 200, answer.body
    (sent,) = link.said(method)
    assert sent["params"].get("inputResponses") == (answers if server is new_server else None)
