"""A server that knows both eras is spoken to in that of its client, and each client's folders reach its own session."""

import asyncio
from typing import Any

import pytest
from msgspec import json

from rightcall.mcp import upstream
from rightcall.mcp.gateway import shared as gateway_shared
from rightcall.mcp.gateway.gateway import Gateway
from rightcall.mcp.messages import read
from rightcall.mcp.serving import Client
from rightcall.policy.settings import Server
from support.gateways import (
    TOOL,
    ScriptedLink,
    asked,
    gateway_of,
    greeted,
    old_server,
    once,
    policy,
    shared_of,
    text_of,
)

NEW = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "logging": {}}}
CALL: dict[str, Any] = {"name": "a_echo", "arguments": {"text": "hi"}}
ROOTS: dict[str, Any] = {"roots": {"listChanged": True}}
pytestmark = pytest.mark.promise("H-30")


def both_server(method: str, params: dict[str, Any]) -> Any:
    if method == "initialize":
        return {**old_server(method, params), "capabilities": {"tools": {"listChanged": True}, "logging": {}}}
    if method == "logging/setLevel":
        return {}
    return NEW if method == "server/discover" else old_server(method, params)


def new_server(method: str, params: dict[str, Any]) -> Any:
    if method == "initialize":
        raise LookupError("Method not found")
    return both_server(method, params)


SERVERS = {"both": both_server, "old": old_server, "new": new_server}


class Links:
    """Every session with every server, in the order they were opened."""

    def __init__(self, answering: Any = both_server) -> None:
        self._answering = answering
        self.opened: list[ScriptedLink] = []

    def __call__(self, server: Server) -> ScriptedLink:
        del server
        self.opened.append(ScriptedLink(self._answering))
        return self.opened[-1]

    def called(self) -> list[str]:
        """The eras in which tools were called."""
        calls = [one for link in self.opened for one in link.said("tools/call")]
        return ["new" if "_meta" in one["params"] else "old" for one in calls]


def told(client: Client, method: str) -> None:
    message = read(json.encode({"jsonrpc": "2.0", "method": method}))
    assert message is not None
    client.notified(message)


@pytest.mark.parametrize("knows", ["both", "old", "new"])
def test_a_server_is_spoken_to_in_the_era_of_its_client_where_it_knows_that(knows: str) -> None:
    links = Links(SERVERS[knows])

    async def main() -> tuple[list[str], int]:
        async with shared_of(policy("a"), links) as shared:
            old = await greeted(shared)
            found = [text_of(await asked(old, "tools/call", **CALL))]
            found += [text_of(await once(shared, "tools/call", **CALL))]
            assert found == ["hi", "hi"]
            return sorted(links.called()), len(links.opened)

    expected = {"both": (["new", "old"], 2), "old": (["old", "old"], 1), "new": (["new", "new"], 2)}
    assert asyncio.run(main()) == expected[knows]


@pytest.mark.parametrize("era", ["old", "new"])
def test_the_only_client_of_a_gateway_decides_the_era(era: str) -> None:
    link = ScriptedLink(both_server)

    async def main() -> Any:
        async with gateway_of(policy("a"), a=link) as made:
            alone = Gateway(made.door, lambda _: link)  # the capabilities are the client's to tell
            try:
                client = await greeted(alone) if era == "old" else None
                asking = asked(client, "tools/list") if client is not None else once(alone, "tools/list")
                assert (await asking)["tools"]
                session = alone.upstreams()[0].session
                assert session is not None
                return session.agreed
            finally:
                await alone.aclose()

    assert asyncio.run(main()).era == era


def test_a_server_that_is_silent_to_one_greeting_gets_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "SHAKING", 0.01)

    def deaf(method: str, params: dict[str, Any]) -> Any:
        return None if method == "initialize" else both_server(method, params)

    links = Links()

    async def main() -> list[str]:
        async with shared_of(policy("a"), links) as shared:
            await shared.first.settled()
            links._answering = deaf
            client = await greeted(shared)
            await asked(client, "tools/call", name="a_echo", arguments={"text": "hi"})
            return [one["method"] for one in links.opened[-1].sent]

    methods = asyncio.run(asyncio.wait_for(main(), 25))
    assert methods[:2] == ["initialize", "server/discover"]
    assert links.called() == ["new"]


def test_the_level_of_a_client_of_the_old_era_reaches_a_server_that_knows_both() -> None:
    links = Links()

    async def main() -> list[Any]:
        async with shared_of(policy("a"), links) as shared:
            client = await greeted(shared)
            await asked(client, "logging/setLevel", level="debug")
            return [one["params"] for link in links.opened for one in link.said("logging/setLevel")]

    assert asyncio.run(main()) == [{"level": "debug"}]


def test_a_level_is_refused_where_no_server_logs() -> None:
    async def main() -> Any:
        async with shared_of(policy("a"), Links(old_server)) as shared:
            return await asked(await greeted(shared), "logging/setLevel", level="debug")

    assert asyncio.run(main())["code"] == -32601


# ── folders ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def rooted_server(method: str, params: dict[str, Any]) -> Any:
    if method == "tools/list":
        return {"tools": [TOOL]}
    return old_server(method, params)


def asks_roots(link: ScriptedLink) -> None:
    link.say({"id": "r", "method": "roots/list"})


def answered(link: ScriptedLink) -> Any:
    return next((one.get("result", one.get("error")) for one in link.sent if one.get("id") == "r"), None)


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0.001)


@pytest.mark.promise("H-31")
def test_each_client_with_folders_has_sessions_of_its_own_and_answers_in_them_alone() -> None:
    links = Links(rooted_server)
    heard: dict[str, list[bytes]] = {"ada": [], "eve": []}

    def reply(client: Client, name: str) -> None:
        question = json.decode(next(one for one in heard[name] if b"roots/list" in one))
        message = read(json.encode({"id": question["id"], "result": {"roots": [{"uri": f"file:///{name}"}]}}))
        assert message is not None
        client.answered(message)

    async def main() -> tuple[Any, list[Any]]:
        async with shared_of(policy("a"), links) as shared:
            clients = {name: await greeted(shared, "gateway", ROOTS, heard[name]) for name in heard}
            plain = await greeted(shared)
            shown = [link.said("initialize")[0]["params"]["capabilities"] for link in links.opened]
            own = links.opened[1:]
            for link in own:
                asks_roots(link)
            for name, client in clients.items():
                await until(lambda name=name: any(b"roots/list" in one for one in heard[name]))
                reply(client, name)
            await until(lambda: all(map(answered, own)))
            told(clients["ada"], "notifications/roots/list_changed")
            changed = [len(link.said("notifications/roots/list_changed")) for link in links.opened]
            asks_roots(links.opened[0])
            await until(lambda: answered(links.opened[0]))
            told(plain, "notifications/roots/list_changed")
            found = [shown, [answered(link) for link in own], changed, answered(links.opened[0])["code"]]
            groups = list(shared.state()["a"]["groups"])
            shared.gone(clients["ada"])
            await until(lambda: links.opened[1].closed)
            return found, [groups, [link.closed for link in links.opened]]

    (shown, answers, changed, refused), (groups, closed) = asyncio.run(asyncio.wait_for(main(), 25))
    assert shown == [{}, ROOTS, ROOTS]
    assert answers == [{"roots": [{"uri": "file:///ada"}]}, {"roots": [{"uri": "file:///eve"}]}]
    assert changed == [0, 1, 0]
    assert refused == -32601
    assert groups == ["roots of client 1", "roots of client 2"]
    assert closed == [False, True, False]


@pytest.mark.promise("H-31")
def test_a_question_that_comes_before_its_client_has_shaken_hands_waits_for_that() -> None:
    links = Links(rooted_server)
    heard: list[bytes] = []

    async def main() -> tuple[int, int]:
        async with shared_of(policy("a"), links) as shared:
            client = Client(shared, "gateway", heard.append)
            await asked(client, "initialize", protocolVersion="2025-11-25", capabilities=ROOTS)
            asks_roots(links.opened[-1])
            await asyncio.sleep(0)
            before = len(heard)
            told(client, "notifications/initialized")
            await until(lambda: heard)
            return before, len([one for one in heard if b"roots/list" in one])

    assert asyncio.run(asyncio.wait_for(main(), 25)) == (0, 1)


@pytest.mark.promise("H-31")
def test_sessions_of_one_client_are_bounded_and_further_clients_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_shared, "MOST_OWN", 2)
    links = Links(rooted_server)

    async def main() -> list[Any]:
        async with shared_of(policy("a"), links) as shared:
            for _ in range(4):
                client = await greeted(shared, capabilities=ROOTS)
            answer = await asked(client, "tools/call", name="a_echo", arguments={"text": "hi"})
            return [len(links.opened), text_of(answer)]

    assert asyncio.run(main()) == [3, "hi"]


@pytest.mark.promise("H-31")
def test_the_sessions_of_a_client_that_asks_nothing_any_more_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_shared, "MOST_OWN", 1)
    links = Links(rooted_server)
    heard: list[bytes] = []

    async def main() -> list[Any]:
        async with shared_of(policy("a"), links) as shared:
            first = await greeted(shared, capabilities=ROOTS, heard=heard)
            await greeted(shared, capabilities=ROOTS)  # shares, since the first has just been here
            monkeypatch.setattr(gateway_shared, "UNUSED", 0.0)
            await greeted(shared, capabilities=ROOTS)
            await until(lambda: links.opened[1].closed)
            monkeypatch.setattr(gateway_shared, "UNUSED", 300.0)
            found = [len(links.opened), text_of(await asked(first, "tools/call", **CALL))]
            heard.clear()
            links.opened[0].say({"method": "notifications/prompts/list_changed"})  # it is heard of where it is now
            return [*found, len(heard)]

    assert asyncio.run(asyncio.wait_for(main(), 25)) == [3, "hi", 1]


def test_what_else_a_server_says_reaches_the_client_that_is_alone_with_it() -> None:
    heard: list[bytes] = []
    links = Links(rooted_server)

    async def main() -> None:
        async with shared_of(policy("a"), links) as shared:
            await greeted(shared, capabilities=ROOTS, heard=heard)
            for link in links.opened:
                link.say({"method": "notifications/elicitation/complete", "params": {"elicitationId": "e"}})

    asyncio.run(main())
    assert [json.decode(one)["params"] for one in heard if b"elicitation" in one] == [{"elicitationId": "e"}]
