"""What one server or one client does holds up no other, and changes nothing behind anybody's back."""

import asyncio
import threading
from typing import Any

import pytest
from msgspec import json

from rightcall.mcp import upstream as upstream_greeting
from rightcall.mcp.gateway import gateway as gateway_following
from rightcall.mcp.gateway import joining, library
from rightcall.mcp.gateway.joining import Looks
from rightcall.mcp.session import ServerGone
from support.gateways import (
    TOOL,
    Raws,
    ScriptedLink,
    asked,
    gateway_of,
    greeted,
    line_asked,
    old_server,
    once,
    policy,
    text_of,
)

TOOLS = "notifications/tools/list_changed"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(joining, "SHARE", 0)
    monkeypatch.setattr(gateway_following, "EVERY", 0.01)


def described(text: str, *more: Any) -> dict[str, Any]:
    return {"tools": [{**TOOL, "description": text}, *more]}


@pytest.mark.promise("P-08")
def test_a_list_that_takes_long_to_learn_never_comes_after_the_one_that_followed_it() -> None:
    lists = [described("good"), described("good", {**TOOL, "name": "more"}), described("EVIL")]
    link = ScriptedLink(lambda method, params: lists.pop(0) if method == "tools/list" else old_server(method, params))
    learnt: list[str] = []
    shown: list[str] = []
    go_on = threading.Event()

    async def main() -> tuple[str, str]:
        def know(definitions: list[Any], space: str) -> None:
            if len(definitions) == 2:
                go_on.wait(25)
            shown.append(str(len(gateway.table.of("a"))))
            gateway.door.know(definitions, space)
            learnt.append(definitions[0]["description"])

        async with gateway_of(policy("a"), a=link) as gateway:
            gateway.know = know
            client = await greeted(gateway)
            assert text_of(await asked(client, "tools/call", name="a_echo", arguments={"text": "1"})) == "1"
            link.say({"method": TOOLS})
            while len(link.said("tools/list")) < 2:
                await asyncio.sleep(0.001)
            link.say({"method": TOOLS})
            await asyncio.sleep(0.02)
            before = str(len(link.said("tools/list")))
            go_on.set()
            while learnt != ["good", "good", "EVIL"]:
                await asyncio.sleep(0.001)
            return before, text_of(await asked(client, "tools/call", name="a_echo", arguments={"text": "2"}))

    before, told = asyncio.run(main())
    assert before == "2"
    assert shown == ["0", "1", "2"]  # the door knew each list before clients could see it
    assert "The definition of 'a_echo' has changed" in told


@pytest.mark.promise("X-07")
def test_however_often_a_server_says_that_its_list_has_changed_it_is_looked_at_a_few_times() -> None:
    link = ScriptedLink()

    async def main() -> tuple[int, int]:
        async with gateway_of(policy("a"), a=link) as gateway:
            client = await greeted(gateway)
            for _ in range(50):
                for _ in range(200):
                    link.say({"method": TOOLS})
                await asyncio.sleep(0)
            waiting = len(asyncio.all_tasks())
            await asked(client, "tools/call", name="a_echo", arguments={"text": "still here"})
            return len(link.said("tools/list")), waiting

    looks, waiting = asyncio.run(main())
    assert looks <= 10
    assert waiting < 20


def test_looks_of_many_are_shared_and_a_failure_is_told_to_each() -> None:
    async def main() -> tuple[int, list[Any]]:
        looked = 0
        gate = asyncio.Event()

        async def look() -> None:
            nonlocal looked
            looked += 1
            await gate.wait()
            if looked == 2:
                raise ServerGone("it ended")

        looks = Looks(look)
        asking = [asyncio.create_task(looks.fresh()) for _ in range(20)]
        await asyncio.sleep(0)
        gate.set()
        return looked, await asyncio.gather(*asking, return_exceptions=True)

    _, found = asyncio.run(main())
    assert [str(one) for one in found] == ["None", *["it ended"] * 19]


@pytest.mark.promise("X-07")
def test_of_a_list_without_end_so_many_tools_are_taken_and_the_rest_is_told_of() -> None:
    many = {"tools": [{"name": f"t{number}", "inputSchema": {"type": "object"}} for number in range(2_005)]}
    link = ScriptedLink(lambda method, params: many if method == "tools/list" else old_server(method, params))
    told: list[str] = []

    async def main() -> Any:
        async with gateway_of(policy("a"), {"news": told.append}, a=link) as gateway:
            gateway.know = lambda definitions, space: None
            await greeted(gateway)
            return gateway.state()["a"]

    state = asyncio.run(main())
    assert state["tools"] == 2_000
    assert state["left_out"] == "tools after the first 2000"
    assert told[-1] == "mcp: a lists more than 2,000 tools: those after them are left out"


@pytest.mark.promise("X-07")
def test_requests_that_are_too_large_are_refused_before_anybody_reads_them() -> None:
    link = ScriptedLink()

    async def main() -> list[Any]:
        async with gateway_of(policy("a"), a=link) as gateway:
            client = await greeted(gateway)
            return [
                await asked(client, "tools/call", name="a_echo", arguments={"text": "x" * 4_000_000}),
                await asked(client, "tools/call", name="n" * 257, arguments={}),
                await asked(client, "tools/call", name=["a_echo"], arguments={}),
                await asked(client, "tools/call", name="a_echo", arguments={"text": "x" * 100_000}),
            ]

    large, long, no_name, big = asyncio.run(main())
    assert large == {"code": -32602, "message": "the params of a request are 4 MB at most"}
    assert long["message"] == no_name["message"] == "params.name must be the name of a tool, of 256 characters at most"
    assert len(text_of(big)) == 100_000
    assert len(link.said("tools/call")) == 1


@pytest.mark.promise("X-07")
def test_a_large_call_is_judged_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    link = ScriptedLink()

    async def main() -> list[bool]:
        async with gateway_of(policy("a"), a=link) as gateway:
            judged: list[bool] = []
            judge = gateway.door.judge
            here = threading.get_ident()

            def judged_where(*args: Any, **given: Any) -> Any:
                judged.append(threading.get_ident() == here)
                return judge(*args, **given)

            monkeypatch.setattr(gateway.door, "judge", judged_where)
            client = await greeted(gateway)
            await asked(client, "tools/call", name="a_echo", arguments={"text": "x" * 100_000})
            return judged

    assert asyncio.run(main()) == [False]


@pytest.mark.promise("H-04")
def test_keys_that_almost_are_the_protocols_are_refused() -> None:
    link = ScriptedLink()

    async def main() -> list[Any]:
        async with gateway_of(policy("a"), a=link) as gateway:
            client = await greeted(gateway)
            call = {"name": "a_echo", "arguments": {"text": "x"}}
            given: list[dict[str, Any]] = [{"Name": "pay"}, {"ARGUMENTS": {}}, {"_META": {}}, {"requeststate": "x"}]
            found = [await asked(client, "tools/call", **call, **one) for one in given]
            return [*found, await asked(client, "resources/read", uri="x://1", URI="x://2")]

    *calls, read = asyncio.run(main())
    assert [one["code"] for one in calls] == [-32602] * 4
    assert link.said("tools/call") == []
    assert read["code"] == -32601  # no server has resources here


@pytest.mark.promise("H-04")
def test_the_first_call_of_a_client_that_shakes_no_hands_waits_for_servers_that_start() -> None:
    async def main() -> str:
        slow = Late()
        async with gateway_of(policy("a"), a=slow) as gateway:
            call = asyncio.create_task(once(gateway, "tools/call", name="a_echo", arguments={"text": "there"}))
            await asyncio.sleep(0.02)
            slow.answer("initialize")
            return text_of(await call)

    assert asyncio.run(main()) == "there"


class Late(ScriptedLink):
    """Answers `server/discover` never, and `initialize` when it is told to."""

    def __init__(self) -> None:
        super().__init__(lambda method, params: None if method == "initialize" else old_server(method, params))

    def answer(self, method: str, result: Any = None) -> None:
        (asked,) = self.said(method)
        self.say({"id": asked["id"], "result": result or old_server(method, {})})


@pytest.mark.promise("X-07")
@pytest.mark.parametrize(("first", "era"), [("initialize", "old"), ("server/discover", "new")])
def test_a_server_that_says_nothing_to_the_new_way_is_asked_in_the_old_way_too(
    monkeypatch: pytest.MonkeyPatch, first: str, era: str
) -> None:
    monkeypatch.setattr(upstream_greeting, "PROBING", 0.01)
    silent = ("initialize", "server/discover")
    link = ScriptedLink(lambda method, params: None if method in silent else old_server(method, params))
    discovered = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}

    async def main() -> str:
        async with gateway_of(policy("a"), a=link) as gateway:
            while not link.said("initialize"):
                await asyncio.sleep(0.001)
            (sent,) = link.said(first)
            link.say({"id": sent["id"], "result": discovered if era == "new" else old_server(first, {})})
            await gateway.settled()
            upstream = gateway.upstream("a")
            assert upstream is not None
            assert upstream.session is not None
            assert upstream.session.agreed is not None
            return upstream.session.agreed.era

    assert asyncio.run(main()) == era


class SlowAtFirst(ScriptedLink):
    """Knows both eras, and reads nothing before it was greeted in both; after a handshake it refuses what has an
    envelope, as a server may."""

    def __init__(self) -> None:
        super().__init__(self._reply)
        self.opened = 0

    async def open(self, heard: Any) -> None:
        self.opened += 1
        self.is_greeted = False
        await super().open(heard)

    def _reply(self, method: str, params: dict[str, Any]) -> Any:
        discovered = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        if method == "server/discover":
            return None if self.opened == 1 else discovered
        if method == "initialize":
            self.is_greeted = True
            self.say({"id": self.said("server/discover")[0]["id"], "result": discovered})
        elif self.is_greeted and "_meta" in params:
            raise LookupError("this session began with a handshake")
        return old_server(method, params)


@pytest.mark.promise("X-07")
def test_a_slow_server_that_answers_in_both_eras_is_reached_anew_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_greeting, "PROBING", 0.01)
    link = SlowAtFirst()

    async def main() -> list[str]:
        async with gateway_of(policy("a"), a=link) as gateway:
            return [one["name"] for one in (await once(gateway, "tools/list"))["tools"]]

    assert asyncio.run(main()) == ["a_echo"]
    assert link.opened == 2


@pytest.mark.promise("X-07")
def test_a_server_that_does_not_list_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "LISTING", 0.02)

    def mute(method: str, params: dict[str, Any]) -> Any:
        if method == "initialize":
            able = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
            return {"protocolVersion": "2025-11-25", "capabilities": able, "serverInfo": {}}
        return None if "list" in method and method != "tools/list" else old_server(method, params)

    link = ScriptedLink(mute)

    async def main() -> list[Any]:
        async with gateway_of(policy("a"), a=link) as gateway:
            client = await greeted(gateway)
            for _ in range(3):
                assert await asked(client, "prompts/list") == {"prompts": []}
            return [await asked(client, "prompts/get", name="none"), await asked(client, "resources/list")]

    unknown, resources = asyncio.run(main())
    assert unknown["code"] == -32602
    assert resources == {"resources": []}
    assert [len(link.said(one)) for one in ("prompts/list", "resources/list")] == [1, 1]


@pytest.mark.promise("H-04")
def test_an_unchanged_call_keeps_the_bytes_of_its_arguments_and_a_repaired_one_does_not() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number"}, "on": {"type": "boolean"}}}
    tools = {"tools": [{"name": "t", "inputSchema": schema}]}

    def answering(method: str, params: dict[str, Any]) -> Any:
        return tools if method == "tools/list" else {} if method == "tools/call" else old_server(method, params)

    link = Raws(answering)

    async def main() -> None:
        async with gateway_of(policy("a"), a=link) as gateway:
            client = await greeted(gateway)
            for written in (b'{"n": 1.10, "on":true}', b'{"n": "1.10"}', b'{"on": 1}', b"null"):
                body = b'{"id":1,"method":"tools/call","params":{"name":"a_t","arguments":%b}}' % written
                await line_asked(client, body)

    asyncio.run(main())
    sent = [one.partition(b'"arguments":')[2] for one in link.bodies if b"tools/call" in one]
    assert sent == [b'{"n": 1.10, "on":true}}}', b'{"n":1.1}}}', b'{"on":true}}}', b"{}}}"]


@pytest.mark.promise("H-04")
def test_where_calls_are_only_watched_they_go_on_as_they_are_but_a_tool_that_is_not_offered_does_not_run() -> None:
    link = Raws(lambda method, params: {} if method == "tools/call" else old_server(method, params))
    rules = policy("a", gate={"hosts": {"gateway": {"mode": "observe"}}}, policy={"deny": ["a/echo"]})
    hidden = {**rules, "servers": {"a": {**rules["servers"]["a"], "deny": ["echo"]}}}

    async def calls(given: Any, *written: bytes) -> list[Any]:
        async with gateway_of(given, a=link) as gateway:
            client = await greeted(gateway)
            found = [(await asked(client, "tools/list"))["tools"]]
            for one in written:
                body = b'{"id":1,"method":"tools/call","params":{"name":"a_echo"%b}}' % one
                found.append(await line_asked(client, body))
            return found

    given = (b',"arguments":[1, 2]', b',"arguments":null', b"", b',"arguments":{"text": 1.50,"x":1}')
    listed, *_ = asyncio.run(calls(rules, *given))
    assert [tool["name"] for tool in listed] == ["a_echo"]
    sent = [one.partition(b'"name":"echo"')[2] for one in link.bodies if b"tools/call" in one]
    assert sent == [one + b"}}" for one in given]
    link.bodies.clear()
    listed, refused = asyncio.run(calls(hidden, b',"arguments":{"text":"x"}'))
    assert listed == []
    assert text_of(refused) == "This tool is not offered here."
    assert not any(b"tools/call" in one for one in link.bodies)


@pytest.mark.promise("N-08", "H-04")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("functions.save_note", "a"),
        ("mcp__a__save_note", "a"),
        ("a.save_note", "a"),
        ("a__saveNote", "a"),
        ("SaveNote", "a"),
        ("a_save_documnet", "a"),
        ("functions.echo", None),
        ("b.echo", "b"),
        ("mcp__b__echo", "b"),
        ("b.save_note", None),
        ("drop_note", None),
    ],
)
def test_a_decorated_name_means_the_one_tool_it_can_mean(name: str, told: str | None) -> None:
    def server(called: str, *tools: str) -> ScriptedLink:
        offered = [{"name": one, "inputSchema": {"type": "object"}} for one in tools]
        answers: dict[str, Any] = {"tools/list": {"tools": offered}}
        said = {"content": [{"type": "text", "text": called}]}
        return ScriptedLink(
            lambda method, params: said if method == "tools/call" else answers.get(method) or old_server(method, params)
        )

    async def main() -> str:
        links = {"a": server("a", "save_note", "save_document", "echo"), "b": server("b", "echo")}
        async with gateway_of(policy("a", "b"), **links) as gateway:
            client = await greeted(gateway)
            return text_of(await asked(client, "tools/call", name=name, arguments={}))

    found = asyncio.run(main())
    assert found == told if told is not None else found.startswith("Unknown tool")


@pytest.mark.promise("P-09")
def test_an_edit_of_what_is_allowed_tells_clients_that_their_tools_have_changed(tmp_path: Any) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text('version = 1\n[servers.a]\ncommand = ["a"]\neffects = ["read"]\n')
    heard: list[bytes] = []

    async def main() -> None:
        async with gateway_of(file, a=ScriptedLink()) as gateway:
            await greeted(gateway, heard=heard)
            heard.clear()
            file.write_text(
                'version = 1\n[policy]\ndeny = ["echo"]\n[servers.a]\ncommand = ["a"]\neffects = ["read"]\n'
            )
            while not heard:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(main(), 25))
    assert json.decode(heard[0])["method"] == TOOLS
