"""Many clients of one gateway: what is one's is never another's, and nothing stays behind that nobody uses."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec import json

from rightcall.executor.door import Door
from rightcall.mcp.gateway import forward
from rightcall.mcp.gateway import gateway as gateway_following
from rightcall.mcp.gateway import shared as gateway_shared
from rightcall.mcp.gateway.forward import Continuations, KeptCall
from rightcall.mcp.gateway.shared import Known, SharedGateway
from rightcall.mcp.messages import MOST_ROUNDS, Refused, read
from rightcall.policy.settings import Server
from rightcall.policy.trust import put_stop
from rightcall.policy.types import Pause
from rightcall.record.notes import remembered_tools
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

ASKABLE = {"elicitation": {"form": {}}}
SAMPLING: dict[str, Any] = {"sampling": {}}
OVER_HTTP = {"version": 1, "servers": {"a": {"url": "http://127.0.0.1:9/mcp", "effects": ["read"]}}}
FILE = 'version = 1\n[servers.{}]\ncommand = ["x"]\neffects = ["read"]\n'


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_following, "EVERY", 0.01)


class Links:
    """Every session with every server."""

    def __init__(self, answering: Any = old_server) -> None:
        self._answering = answering
        self.opened: list[tuple[str, ScriptedLink]] = []

    def __call__(self, server: Server) -> ScriptedLink:
        link = ScriptedLink(self._answering)
        self.opened.append((server.name, link))
        return link

    def running(self) -> list[str]:
        return [name for name, link in self.opened if not link.closed]


@pytest.mark.promise("P-09")
def test_a_server_that_is_taken_out_stops_for_every_kind_of_client_without_any_request(tmp_path: Any) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text(FILE.format("a") + '[servers.b]\ncommand = ["x"]\neffects = ["read"]\n')
    links = Links()

    async def main() -> tuple[list[str], Any]:
        async with shared_of(file, links) as shared:
            for able in ({}, ASKABLE, SAMPLING):
                await greeted(shared, capabilities=able)
            before = links.running()
            file.write_text(FILE.format("b"))
            while "a" in links.running():
                await asyncio.sleep(0.01)
            return before, shared.state()

    before, state = asyncio.run(asyncio.wait_for(main(), 25))
    assert sorted(before) == ["a"] * 3 + ["b"] * 3
    assert links.running() == []
    assert list(state) == ["b"]
    groups = state["b"]["groups"]
    assert sorted(groups) == ["elicitation (form), client 1 alone", "sampling, client 2 alone"]
    assert groups["sampling, client 2 alone"]["state"] == "ready"


def test_a_server_hears_from_clients_that_show_its_pages_which_they_show_and_from_others_nothing() -> None:
    links = Links()
    shows = {"mimeTypes": ["text/html;profile=mcp-app"]}
    able = {"extensions": {gateway_shared.PAGES: shows, "org.example/other": {}}}
    long = {"extensions": {gateway_shared.PAGES: {"mimeTypes": ["x" * 1_000]}}}

    async def main() -> list[str]:
        async with shared_of(policy("a"), links) as shared:
            for capabilities in ({}, able, able, long):
                await asked(await greeted(shared, capabilities=capabilities), "tools/list")
            return list(shared.state()["a"]["groups"])

    assert asyncio.run(main()) == ["pages"]
    told = [link.said("initialize")[0]["params"]["capabilities"] for _, link in links.opened]
    assert told == [{}, {"extensions": {gateway_shared.PAGES: shows}}]


@pytest.mark.promise("X-07")
def test_a_group_that_nobody_uses_any_more_ends_with_its_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_shared, "UNUSED", 0.05)
    links = Links()

    async def main() -> list[list[str]]:
        async with shared_of(policy("a"), links) as shared:
            stays = await greeted(shared, capabilities=SAMPLING)
            await once(shared, "tools/list", capabilities=ASKABLE)
            found = [links.running()]
            while len(links.running()) > 2:
                await asyncio.sleep(0.01)
            found.append(links.running())
            shared.gone(stays)
            while len(links.running()) > 1:
                await asyncio.sleep(0.01)
            answer = await once(shared, "tools/call", capabilities=ASKABLE, name="a_echo", arguments={"text": "back"})
            return [*found, [text_of(answer)]]

    assert asyncio.run(asyncio.wait_for(main(), 25)) == [["a"] * 3, ["a"] * 2, ["back"]]


def test_a_client_that_shakes_hands_again_is_heard_of_in_one_group_only() -> None:
    async def main() -> list[int]:
        async with shared_of(OVER_HTTP, Links()) as shared:
            client = await greeted(shared)
            await asked(client, "initialize", protocolVersion="2025-11-25", capabilities=ASKABLE)
            message = read(b'{"method": "notifications/initialized"}')
            assert message is not None
            client.notified(message)
            counts = [len(shared.group_of(able).news.sessions) for able in ({}, ASKABLE)]
            shared.gone(client)
            return [*counts, len(shared.group_of(ASKABLE).news.sessions)]

    assert asyncio.run(main()) == [0, 1, 0]


@pytest.mark.promise("H-30")
def test_a_question_over_pipes_reaches_the_client_whose_call_it_is_of_while_others_call_too() -> None:
    """It names no call. So clients that can be asked share no server that speaks over pipes."""
    links = Links(lambda method, params: None if method == "tools/call" else old_server(method, params))
    heard: dict[str, list[bytes]] = {"one": [], "two": []}
    question = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}

    def called() -> dict[str, ScriptedLink]:
        pairs = [(one["params"]["arguments"]["text"], link) for _, link in links.opened for one in link.sent
                 if one.get("method") == "tools/call"]  # fmt: skip
        return dict(pairs)

    async def main() -> None:
        async with shared_of(policy("a"), links) as shared:
            calls: list[asyncio.Task[Any]] = []
            for word, own in heard.items():
                client = await greeted(shared, capabilities=SAMPLING, heard=own)
                calls.append(asyncio.create_task(asked(client, "tools/call", name="a_echo", arguments={"text": word})))
            while len(called()) < 2:
                await asyncio.sleep(0.001)
            for word, link in called().items():
                link.say({**question, "id": word})
            while not all(heard.values()):
                refused = [one for link in called().values() for one in link.sent if "error" in one]
                assert not refused  # in a client's place
                await asyncio.sleep(0.001)
            for one in calls:
                one.cancel()

    asyncio.run(asyncio.wait_for(main(), 25))


@pytest.mark.promise("X-07")
def test_a_log_message_reaches_the_client_whose_call_it_is_of_and_never_a_stranger() -> None:
    link = ScriptedLink(lambda method, params: None if method == "tools/call" else old_server(method, params))
    heard: dict[str, list[bytes]] = {"alice": [], "bob": [], "carol": []}

    def log(text: str) -> None:
        link.say({"method": "notifications/message", "params": {"level": "info", "data": text}})

    def words(name: str) -> list[str]:
        return [json.decode(one)["params"]["data"] for one in heard[name] if b"notifications/message" in one]

    async def main() -> None:
        async with gateway_of(policy("a"), a=link) as gateway:
            clients = [await greeted(gateway, name, heard=heard[name]) for name in ("alice", "bob", "carol")]
            await asked(clients[2], "tools/list")
            calls = []
            for client in clients[:2]:
                calls.append(asyncio.create_task(asked(client, "tools/call", name="a_echo", arguments={"text": "x"})))
                while len(link.said("tools/call")) < len(calls):
                    await asyncio.sleep(0.001)
                log("alone" if len(calls) == 1 else "of one of two")
            for call in link.said("tools/call"):
                link.say({"id": call["id"], "result": {}})
            await asyncio.gather(*calls)
            log("of nobody")

    asyncio.run(main())
    assert {name: words(name) for name in heard} == {"alice": ["alone"], "bob": [], "carol": []}


def test_a_log_message_of_no_call_reaches_the_only_client_there_ever_was() -> None:
    link = ScriptedLink()
    heard: list[bytes] = []

    async def main() -> None:
        async with gateway_of(policy("a"), a=link) as gateway:
            client = await greeted(gateway, heard=heard)
            await asked(client, "tools/list")
            heard.clear()
            link.say({"method": "notifications/message", "params": {"level": "info", "data": 1}})

    asyncio.run(main())
    assert len(heard) == 1


@pytest.mark.promise("X-07")
def test_addresses_that_are_no_text_are_nobodys_and_break_nothing(caplog: pytest.LogCaptureFixture) -> None:
    link = ScriptedLink()

    async def main() -> list[Any]:
        async with gateway_of(policy("a"), a=link) as gateway:
            client = await greeted(gateway)
            client.subscribed.add("x://1")
            link.say({"method": "notifications/resources/updated", "params": {"uri": ["x"]}})
            return [
                await asked(client, "resources/unsubscribe", uri=["x"]),
                await asked(client, "resources/subscribe", uri={"x": 1}),
                await asked(client, "tools/call", name="a_echo", arguments={"text": "fine"}),
            ]

    unsubscribed, subscribed, called = asyncio.run(main())
    assert (unsubscribed["code"], subscribed["code"]) == (-32602, -32602)
    assert text_of(called) == "fine"
    assert caplog.records == []


# ── calls that go on ─────────────────────────────────────────────────────────────────────────────────────────────────


def asking_server(method: str, params: dict[str, Any]) -> Any:
    """Of the new era: it wants to know something before it runs."""
    match method:
        case "server/discover":
            return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call" if "inputResponses" not in params:
            question = {"method": "elicitation/create", "params": {"message": "sure?"}}
            return {"resultType": "input_required", "inputRequests": {"q": question}, "requestState": "own"}
        case "tools/call":
            return {"resultType": "complete", "content": [{"type": "text", "text": "it ran"}]}
    raise LookupError(method)


def late_asking_server(method: str, params: dict[str, Any]) -> Any:
    return None if method == "tools/call" else old_server(method, params)


async def continued(shared: SharedGateway, first: Any) -> str:
    answers = {key: {"action": "accept", "content": {}} for key in first["inputRequests"]}
    more = {"inputResponses": answers, "requestState": first["requestState"]}
    call: dict[str, Any] = {"name": "a_echo", "arguments": {"text": "x"}}
    return text_of(await once(shared, "tools/call", capabilities=ASKABLE, **call, **more))


@pytest.mark.promise("P-09", "P-06")
@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ("", "it ran"),
        ("[policy]\nrepeats = 0\n", "it ran"),
        ('[policy]\ndeny = ["echo"]\n', "The policy has changed while this call waited"),
        ('[policy.approval]\ntools = ["a/echo"]\n', "The policy has changed while this call waited"),
    ],
)
def test_a_call_goes_on_only_where_the_policy_of_now_lets_it(tmp_path: Any, edit: str, told: str) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text(FILE.format("a"))
    links = Links(asking_server)

    async def main() -> tuple[str, int]:
        async with shared_of(file, links) as shared:
            call: dict[str, Any] = {"name": "a_echo", "arguments": {"text": "x"}}
            first = await once(shared, "tools/call", capabilities=ASKABLE, **call)
            before = shared.door.policy.digest
            if edit:
                file.write_text(FILE.format("a").replace("version = 1\n", f"version = 1\n{edit}"))
                while shared.door.policy.digest == before:
                    await asyncio.sleep(0.01)
            found = await continued(shared, first)
            return found, sum(len(link.said("tools/call")) for _, link in links.opened)

    found, sent = asyncio.run(main())
    assert found.startswith(told)
    assert sent == (2 if told == "it ran" else 1)


def refusals(shared: Any) -> list[str]:
    entries = shared.door.store.look(lambda tables: list(tables.entries()))
    return [json.decode(one.body)["rule"] for one in entries if one.kind == "refused"]


@pytest.fixture
def stops() -> Iterator[Callable[[Door, bool], None]]:
    """The emergency stop, of one store or everywhere; it ends with the test."""

    def stop(door: Door, everywhere: bool) -> None:
        if everywhere:
            put_stop(Pause("ada", "2026-01-01T00:00:00Z"))
        else:
            door.pause(by="ada")

    yield stop
    put_stop(None)


@pytest.mark.promise("P-17")
@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("name", ["a_echo", "tools_run"])
def test_an_emergency_stop_holds_for_a_call_that_would_go_on(
    stops: Callable[[Door, bool], None], everywhere: bool, name: str
) -> None:
    links = Links(asking_server if name == "a_echo" else late_asking_server)
    plain: dict[str, Any] = {"name": "a_echo", "arguments": {"text": "x"}}
    call = plain if name == "a_echo" else {"name": name, "arguments": plain}
    rules = policy("a", "b", **({} if name == "a_echo" else {"router": {"search": 1}}))

    def sent() -> list[dict[str, Any]]:
        return [one for _, link in links.opened for one in link.sent]

    async def main() -> None:
        async with shared_of(rules, links) as shared:
            begun = asyncio.create_task(once(shared, "tools/call", capabilities=ASKABLE, **call))
            while not (called := [link for _, link in links.opened if link.said("tools/call")]):
                await asyncio.sleep(0.001)
            if name == "tools_run":
                called[0].say({"id": "q", "method": "elicitation/create", "params": {"message": "sure?"}})
            first = await begun
            stops(shared.door, everywhere)
            answers = {key: {"action": "accept", "content": {}} for key in first["inputRequests"]}
            more = {"inputResponses": answers, "requestState": first["requestState"]}
            found = await once(shared, "tools/call", capabilities=ASKABLE, **call, **more)
            assert "paused by the operator" in text_of(found)
            assert refusals(shared) == ["paused"]
            assert len([one for one in sent() if one.get("method") == "tools/call"]) == 1
            assert not [one for one in sent() if one.get("id") == "q" and "result" in one]
            put_stop(None)
            shared.door.resume(by="ada")
            going_on = asyncio.create_task(once(shared, "tools/call", capabilities=ASKABLE, **call, **more))
            while len([one for one in sent() if one.get("method") == "tools/call" or one.get("id") == "q"]) < 2:
                assert not going_on.done(), going_on.result()  # neither its state nor what let it through is used up
                await asyncio.sleep(0.001)
            going_on.cancel()

    asyncio.run(asyncio.wait_for(main(), 25))


@pytest.mark.promise("P-17")
def test_an_emergency_stop_holds_while_a_client_of_the_old_era_is_asked_for_a_new_server() -> None:
    links, heard = Links(asking_server), list[bytes]()

    async def main() -> tuple[Any, list[str]]:
        async with shared_of(policy("a"), links) as shared:
            client = await greeted(shared, capabilities=ASKABLE, heard=heard)
            begun = asyncio.create_task(asked(client, "tools/call", name="a_echo", arguments={"text": "x"}))
            while not heard:
                await asyncio.sleep(0.001)
            shared.door.pause(by="ada")
            answer = {"id": json.decode(heard[0])["id"], "result": {"action": "accept", "content": {}}}
            message = read(json.encode(answer))
            assert message is not None
            client.answered(message)
            return await begun, refusals(shared)

    found, rules_of = asyncio.run(asyncio.wait_for(main(), 25))
    assert "paused by the operator" in text_of(found)
    assert rules_of == ["paused"]
    assert sum(len(link.said("tools/call")) for _, link in links.opened) == 1


@pytest.mark.promise("P-07")
@pytest.mark.parametrize("era", ["old", "new"])
def test_a_server_that_never_stops_asking_is_stopped(era: str) -> None:
    question = {"method": "elicitation/create", "params": {"message": "sure?"}}

    def greedy(method: str, params: dict[str, Any]) -> Any:
        if method != "tools/call":
            return (asking_server if era == "new" else old_server)(method, params)
        more = {"resultType": "input_required", "inputRequests": {"q": question}, "requestState": "own"}
        return more if era == "new" else None

    links = Links(greedy)
    call: dict[str, Any] = {"name": "a_echo", "arguments": {"text": "x"}}

    async def main() -> tuple[Any, int]:
        async with shared_of(policy("a", policy={"repeats": 3}), links) as shared:
            more: dict[str, Any] = {}
            for number in range(1, 61):
                begun = asyncio.create_task(once(shared, "tools/call", capabilities=ASKABLE, **call, **more))
                while era == "old" and not begun.done():
                    called = [link for _, link in links.opened if link.said("tools/call")]
                    if called and len([one for one in called[0].sent if "result" in one]) == number - 1:
                        called[0].say({"id": f"q{number}", **question})
                        await begun
                    await asyncio.sleep(0.001)
                found = await begun
                if found["resultType"] != "input_required":
                    return found, number
                answers = {key: {"action": "accept", "content": {}} for key in found["inputRequests"]}
                more = {"inputResponses": answers, "requestState": found["requestState"]}
        raise AssertionError("it asks for ever")

    found, number = asyncio.run(asyncio.wait_for(main(), 25))
    assert number == 3 * MOST_ROUNDS + 1, "judged anew after so many rounds, and a loop the third time"
    assert "Identical call repeated within a minute" in text_of(found)


@pytest.mark.promise("P-09")
def test_a_call_that_an_old_server_has_stopped_to_ask_goes_on_only_where_the_policy_lets_it(tmp_path: Any) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text(FILE.format("a"))
    links = Links(late_asking_server)

    async def main() -> tuple[str, list[Any]]:
        async with shared_of(file, links) as shared:
            call: dict[str, Any] = {"name": "a_echo", "arguments": {"text": "x"}}
            first = asyncio.create_task(once(shared, "tools/call", capabilities=ASKABLE, **call))
            while not any(link.said("tools/call") for _, link in links.opened):
                await asyncio.sleep(0.001)
            link = next(link for _, link in links.opened if link.said("tools/call"))
            link.say({"id": "q", "method": "elicitation/create", "params": {"message": "sure?"}})
            asked_first = await first
            before = shared.door.policy.digest
            file.write_text(FILE.format("a").replace("version = 1\n", 'version = 1\n[policy]\ndeny = ["echo"]\n'))
            while shared.door.policy.digest == before:
                await asyncio.sleep(0.01)
            found = await continued(shared, asked_first)
            while not link.said("notifications/cancelled"):
                await asyncio.sleep(0.001)
            return found, [one for one in link.sent if one.get("id") == "q" and "result" in one]

    found, answered = asyncio.run(asyncio.wait_for(main(), 25))
    assert found.startswith("The policy has changed while this call waited")
    assert answered == []


@pytest.mark.promise("P-06")
def test_a_call_goes_on_with_the_server_it_began_with_or_not_at_all(tmp_path: Any) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text(FILE.format("a"))
    links = Links(asking_server)

    async def main() -> str:
        async with shared_of(file, links) as shared:
            call: dict[str, Any] = {"name": "a_echo", "arguments": {"text": "x"}}
            first = await once(shared, "tools/call", capabilities=ASKABLE, **call)
            before = shared.door.policy.digest
            file.write_text(FILE.format("a").replace('"x"', '"another"'))
            while shared.door.policy.digest == before:
                await asyncio.sleep(0.01)
            return await continued(shared, first)

    assert asyncio.run(main()).startswith("The server of this call is no longer the one")


@pytest.mark.promise("X-07")
def test_calls_that_wait_are_bounded_for_each_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "MOST_OF_ONE", 3)
    monkeypatch.setattr(forward, "MOST", 5)

    async def main() -> list[Any]:
        kept = Continuations()
        mine = kept.keep(KeptCall("b"), "ada")
        others = [kept.keep(KeptCall("b"), "eve") for _ in range(10)]
        found: list[Any] = [kept.take(one, "b", "ada") is not None for one in (mine, others[-1])]
        found.append([kept.take(one, "b", "eve") is not None for one in others[-4:]])
        for number in range(5):
            kept.keep(KeptCall("b"), f"caller {number}")
        with pytest.raises(Refused):
            kept.keep(KeptCall("b"), "one more")
        kept.clear()
        return found

    assert asyncio.run(main()) == [True, False, [False, True, True, True]]


@pytest.mark.promise("X-07")
def test_those_who_listen_are_bounded_for_each_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "MOST_LISTENS_OF_ONE", 2)
    monkeypatch.setattr(forward, "MOST_WATCHED", 3)

    async def main() -> list[Any]:
        async with gateway_of(policy("a"), a=ScriptedLink()) as gateway:
            wanted = {"toolsListChanged": True}
            listening = [
                asyncio.create_task(once(gateway, "subscriptions/listen", caller, notifications=wanted))
                for caller in ("eve", "eve", "ada")
            ]
            await asyncio.sleep(0.01)
            third = await once(gateway, "subscriptions/listen", "eve", notifications=wanted)
            many = {"resourceSubscriptions": ["x://1"] * 4}
            found = [third, await once(gateway, "subscriptions/listen", "bob", notifications=many)]
            gateway.news.end()
            await asyncio.gather(*listening)
            return found

    third, many = asyncio.run(main())
    assert third["message"] == "too many clients listen already"
    assert many["code"] == -32602


@pytest.mark.promise("P-08")
def test_what_groups_learn_of_one_server_at_the_same_time_is_learnt_one_after_the_other(tmp_path: Any) -> None:
    (tmp_path / "rightcall.toml").write_text(FILE.format("a"))
    inside: list[str] = []
    together: list[int] = []

    with Door.open("gateway", tmp_path / "rightcall.toml", strict=True, root=tmp_path) as door:
        know = door.know

        def slowly(tools: Any, space: str = "") -> None:
            inside.append(space)
            together.append(len(inside))
            know(tools, space)
            inside.pop()

        door.know = slowly
        known = Known(door)
        groups: list[Any] = [(("elicitation", (f"way {number}",)),) for number in range(8)]
        with ThreadPoolExecutor(8) as threads:
            for _ in threads.map(lambda group: known.take(group, [{**TOOL, "name": group[0][1][0]}], "a"), groups):
                pass
        names = {tool["name"] for tool in remembered_tools(door.store, "a")}
    assert max(together) == 1
    assert names == {f"way {number}" for number in range(8)}
