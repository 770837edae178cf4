"""What the gateway says to clients, to people and in the record: by the right names, and safe to act on."""

import asyncio
import os
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import json

from rightcall.executor.door import Door
from rightcall.mcp.gateway.shared import SharedGateway
from rightcall.mcp.links import ProcessLink
from rightcall.mcp.serving import Client
from rightcall.policy.watch import load_policy
from rightcall.proxy.gates import Options
from rightcall.record.memory import MemoryStore
from rightcall.server.access import Access
from rightcall.server.app import Parts, assemble
from rightcall.server.mcp import Endpoint
from rightcall.server.recording import Backlog, Recording
from support.every import every
from support.gateways import (
    TOOL,
    ScriptedLink,
    Wrong,
    asked,
    gateway_of,
    greeted,
    old_server,
    once,
    policy,
    shared_of,
    text_of,
)

pytestmark = pytest.mark.promise("H-04")


def git(method: str, params: dict[str, Any]) -> Any:
    if method == "tools/list":
        return {"tools": [{**TOOL, "name": name} for name in ("git_log", "git_push", "edit_file")]}
    return old_server(method, params)


def records(door: Door, *kinds: str) -> list[Any]:
    door.store.transact(lambda _: None)
    entries = door.store.look(lambda tables: list(tables.entries()))
    return [json.decode(entry.body) for entry in entries if entry.kind in kinds]


@pytest.mark.promise("P-04")
@pytest.mark.parametrize("names", [("edit_file", "read_file"), ("NAME", "edit_file")])
def test_the_advice_on_effects_copied_as_it_stands_declares_no_tool(names: tuple[str, ...]) -> None:
    def answering(method: str, params: dict[str, Any]) -> Any:
        tools = {"tools": [{**TOOL, "name": name} for name in names]}
        return tools if method == "tools/list" else old_server(method, params)

    async def main() -> str:
        told: list[str] = []
        rules = {"version": 1, "servers": {"files": {"command": ["files"]}}}
        async with gateway_of(rules, {"news": told.append}, files=ScriptedLink(answering)) as gateway:
            await greeted(gateway)
        return told[0]

    told = asyncio.run(main())
    assert f"what 2 of them do, so each call asks a person: {', '.join(names)}\n" in told
    assert "in the table [servers.files] of the policy:" in told
    advice = told.splitlines()[-1]
    copied = f'[servers.files]\ncommand = ["files"]\n{advice}\n'
    server = load_policy({"version": 1, **tomllib.loads(copied)}).servers["files"]
    assert server.effects
    assert [server.effects_of(name) for name in names] == [None, None]


def test_a_refusal_calls_the_tool_as_the_client_knows_it_and_a_denied_one_is_recorded_as_denied() -> None:
    async def main() -> tuple[list[str], list[Any]]:
        rules = policy("git", policy={"deny": ["git/git_push"], "approval": {"tools": ["git/edit_file"]}})
        async with gateway_of(rules, git=ScriptedLink(git)) as gateway:
            client = await greeted(gateway)
            calls = [("git_git_log", {}), ("git_git_push", {"text": "x"}), ("git_edit_file", {"text": "x"})]
            answers = [await asked(client, "tools/call", name=name, arguments=given) for name, given in calls]
            return [text_of(one) for one in answers], records(gateway.door, "refused")

    (wrong, denied, waits), (_, refused) = asyncio.run(main())
    assert wrong == '⚠️ Invalid git_git_log call. Missing required fields: text. Example: {"text": "<text>"}'
    assert denied == "Error: Tool 'git_git_push' is not whitelisted for AI use"
    assert waits.startswith("Error: 'git_edit_file' always asks")
    assert (refused["tool"], refused["rule"], refused.get("problems")) == ("git/git_push", "policy:deny", None)


def test_a_name_that_only_resembles_a_hidden_tool_is_answered_with_names_that_the_client_knows() -> None:
    names = ("commit_everything", "log_everything")

    def answering(method: str, params: dict[str, Any]) -> Any:
        tools = {"tools": [{**TOOL, "name": name} for name in names]}
        return tools if method == "tools/list" else old_server(method, params)

    async def main() -> tuple[str, list[Any]]:
        rules = policy("git", policy={"deny": ["git/commit_everything"]})
        async with gateway_of(rules, git=ScriptedLink(answering)) as gateway:
            client = await greeted(gateway)
            answer = await asked(client, "tools/call", name="git_commit_everythng", arguments={"text": "x"})
            return text_of(answer), records(gateway.door, "refused")

    told, (refused,) = asyncio.run(main())
    assert told == "Unknown tool 'git_commit_everythng'. Did you mean git_log_everything?"
    assert (refused["tool"], refused["rule"]) == ("git/commit_everythng", "unknown_tool")


@pytest.mark.promise("P-06")
@pytest.mark.parametrize("asking", ["ask", "allow"])
def test_a_tool_that_no_server_has_is_refused_and_no_question_whatever_is_allowed(asking: str) -> None:
    async def main() -> tuple[str, list[Any], list[Any], Any]:
        rules = policy("git", policy={"allow": ["*"], "write": asking, "execute": asking})
        async with gateway_of(rules, git=ScriptedLink(git)) as gateway:
            client = await greeted(gateway)
            answer = await asked(client, "tools/call", name="nobodys", arguments={"text": "x"})
            waiting = gateway.door.store.look(lambda tables: tables.approvals("waiting"))
            return text_of(answer), records(gateway.door, "refused"), records(gateway.door, "call"), waiting

    told, refused, begun, waiting = asyncio.run(main())
    assert told.startswith("Unknown tool 'nobodys'.")
    assert (len(refused), begun, list(waiting)) == (1, [], [])


@every("answered", ["foo", 7, [], [{}]])
def test_a_result_that_is_no_object_is_an_error_of_the_server_and_recorded_as_failed(answered: Any) -> None:
    def answering(method: str, params: dict[str, Any]) -> Any:
        return answered if method == "tools/call" else old_server(method, params)

    async def main() -> tuple[Any, list[Any]]:
        async with gateway_of(policy("a"), a=ScriptedLink(answering)) as gateway:
            client = await greeted(gateway)
            answer = await asked(client, "tools/call", name="a_echo", arguments={"text": "x"})
            return answer, records(gateway.door, "end")

    answer, (end,) = asyncio.run(main())
    assert answer == {"code": -32603, "message": "the server's answer is not a result: expected an object"}
    assert (end["status"], end["error"]) == ("failed", answer["message"])


def test_health_counts_the_calls_of_the_gateway_too() -> None:
    async def main() -> Any:
        store = MemoryStore()
        async with shared_of(policy("a"), lambda _: ScriptedLink()) as shared:
            recording = Recording(store, backlog=Backlog(0.0))
            access = Access(None, bound_to="127.0.0.1")
            endpoint = Endpoint(shared)
            service = assemble(
                "http://127.0.0.1:1", load_policy(None), Options(), access, Parts(recording, mcp=endpoint)
            )
            for capabilities in ({}, {"elicitation": {}}):
                client = await greeted(shared, capabilities=capabilities)
                for arguments in ({"text": "x"}, {}):
                    await asked(client, "tools/call", name="a_echo", arguments=arguments)
            await asked(client, "tools/call", name="nothing_like_it", arguments={})
            try:
                return await health(service.app)
            finally:
                endpoint.stop()
                await service.proxy.aclose()
                await asyncio.to_thread(recording.stop)

    told = asyncio.run(main())
    assert told["audit"]["recorded"] == 5


async def health(app: Any) -> Any:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1")]
    scope = {"type": "http", "method": "GET", "path": "/health", "query_string": b"", "headers": headers}
    await app({**scope, "raw_path": b"/health", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80)}, receive, send)
    return json.decode(b"".join(one.get("body", b"") for one in sent))


@pytest.mark.promise("P-14")
@pytest.mark.skipif(os.name != "posix", reason="the server is a shell's")
def test_what_a_server_wrote_to_standard_error_is_for_the_operator_and_without_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MINE", "a-value-of-our-own")
    key = "sk-0123456789abcdefABCDEF0123"
    script = f'echo "ada asked for 4711 with {key}" >&2; echo "MINE is $MINE" >&2; exit 3'
    rules = {"version": 1, "servers": {"s": {"command": ["sh", "-c", script], "env": {"MINE": "${MINE}"}}}}

    async def main() -> tuple[str, str, str]:
        told: list[str] = []
        with Door.open("gateway", rules, strict=True, store="memory") as door:
            shared = SharedGateway(door, ProcessLink, news=told.append)
            shared.start()
            try:
                client = await greeted(shared)
                answer = await asked(client, "tools/call", name="s_echo", arguments={"text": "x"})
                to_client = [answer, shared.first.upstreams()[0].told()]
                return json.encode(to_client).decode(), str(shared.state()), told[0]
            finally:
                await shared.aclose()

    to_client, to_operator, in_log = asyncio.run(main())
    assert "it ended with exit code" in to_client
    assert not [word for word in ("4711", "ada", key, "MINE", "last words") if word in to_client]
    for shown in (to_operator, in_log):
        assert "its last words: ada asked for 4711 with [redacted" in shown
        assert key not in shown
        assert "a-value-of-our-own" not in shown


def shelf(scheme: str, code: int) -> Callable[[str, dict[str, Any]], Any]:
    """A server of resources that says in its own words that it has none of an address."""

    def answering(method: str, params: dict[str, Any]) -> Any:
        match method:
            case "initialize":
                return {**old_server(method, params), "capabilities": {"resources": {}}}
            case "resources/list":
                return {"resources": [{"uri": f"{scheme}://one", "name": "one"}]}
            case "resources/templates/list":
                return {"resourceTemplates": [{"uriTemplate": f"{scheme}://by/{{id}}", "name": "by"}]}
            case "resources/read":
                raise Wrong(code, f"{scheme} has no {params['uri']}", uri=params["uri"])
        raise LookupError(method)

    return answering


@pytest.mark.promise("H-34")
@every(
    ("uri", "code", "who"),
    [
        ("b://nothing", -32602, "b"),
        ("b://by/7", -32602, "b"),
        ("a://nothing", -32002, "a"),
        ("other://x", -32002, "a"),
    ],
)
def test_a_resource_that_nobody_has_is_refused_in_the_words_of_the_likeliest_server(
    uri: str, code: int, who: str
) -> None:
    async def main() -> list[Any]:
        links = {"a": ScriptedLink(shelf("a", -32002)), "b": ScriptedLink(shelf("b", -32602))}
        async with gateway_of(policy("a", "b"), **links) as gateway:
            client = await greeted(gateway)
            return [await asked(client, "resources/read", uri=uri), await once(gateway, "resources/read", uri=uri)]

    expected = {"code": code, "message": f"{who} has no {uri}", "data": {"uri": uri}}
    assert asyncio.run(main()) == [expected, expected]


@pytest.mark.promise("H-34")
@every(
    ("method", "params"),
    [
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "x://1"}),
        ("prompts/list", {}),
        ("prompts/get", {"name": "x"}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}}),
    ],
)
def test_what_no_server_has_is_no_method_as_it_would_be_without_us(method: str, params: dict[str, Any]) -> None:
    async def main() -> list[Any]:
        async with gateway_of(policy("a", "b"), a=ScriptedLink(), b=ScriptedLink()) as gateway:
            client = await greeted(gateway)
            return [await asked(client, method, **params), await once(gateway, method, **params)]

    assert asyncio.run(main()) == [{"code": -32601, "message": "Method not found"}] * 2


@pytest.mark.promise("H-34")
def test_a_resource_to_be_watched_is_no_method_where_no_server_has_any() -> None:
    async def main() -> Any:
        async with gateway_of(policy("a"), a=ScriptedLink()) as gateway:
            return await asked(await greeted(gateway), "resources/subscribe", uri="x://1")

    assert asyncio.run(main()) == {"code": -32601, "message": "Method not found"}


def library(lists: bool = True) -> Any:
    """Resources and prompts, of which it lists nothing, tells no news and completes nothing, unless `lists`."""

    def answering(method: str, params: dict[str, Any]) -> Any:
        match method:
            case "initialize":
                can: dict[str, Any] = {"resources": {}, "prompts": {}, "completions": {}, "tools": {}}
                return {**old_server(method, params), "capabilities": can}
            case "resources/list" | "resources/templates/list" | "prompts/list" if lists:
                return {"resources": [{"uri": "b://1", "name": "1"}], "resourceTemplates": [], "prompts": []}
            case "tools/list" | "tools/call":
                return old_server(method, params)
        raise Wrong(-32050, f"not now: {method}", at=7)

    return answering


@pytest.mark.promise("H-34")
@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list", "prompts/list"])
def test_a_list_that_every_server_refuses_is_refused_in_its_words(method: str) -> None:
    async def main() -> list[Any]:
        async with gateway_of(policy("a"), a=ScriptedLink(library(lists=False))) as gateway:
            client = await greeted(gateway)
            return [await asked(client, method), await once(gateway, method)]

    assert asyncio.run(main()) == [{"code": -32050, "message": f"not now: {method}", "data": {"at": 7}}] * 2


@pytest.mark.promise("H-34")
def test_an_argument_of_a_prompt_is_not_completed_where_no_server_has_prompts() -> None:
    async def main() -> Any:
        async with gateway_of(policy("a"), a=ScriptedLink(shelf("a", -32002))) as gateway:
            ref, argument = {"type": "ref/prompt", "name": "x"}, {"name": "x", "value": ""}
            return await asked(await greeted(gateway), "completion/complete", ref=ref, argument=argument)

    assert asyncio.run(main()) == {"code": -32601, "message": "Method not found"}


def test_a_list_that_one_server_refuses_is_that_of_the_others() -> None:
    async def main() -> list[Any]:
        links = {"a": ScriptedLink(library(lists=False)), "b": ScriptedLink(library())}
        async with gateway_of(policy("a", "b"), **links) as gateway:
            return await asked(await greeted(gateway), "resources/list")

    assert asyncio.run(main()) == {"resources": [{"uri": "b://1", "name": "1"}]}


@pytest.mark.promise("H-34")
def test_what_a_server_does_not_complete_is_refused_in_its_words() -> None:
    async def main() -> Any:
        async with gateway_of(policy("a"), a=ScriptedLink(library())) as gateway:
            ref, argument = {"type": "ref/resource", "uri": "b://{x}"}, {"name": "x", "value": ""}
            return await asked(await greeted(gateway), "completion/complete", ref=ref, argument=argument)

    assert asyncio.run(main()) == {"code": -32050, "message": "not now: completion/complete", "data": {"at": 7}}


@pytest.mark.promise("H-34")
def test_a_server_that_tells_no_news_of_a_resource_says_so_to_each_who_asks() -> None:
    link = ScriptedLink(library())

    async def main() -> list[Any]:
        async with gateway_of(policy("a"), a=link) as gateway:
            clients = [await greeted(gateway), await greeted(gateway)]
            return [await asked(one, "resources/subscribe", uri="b://1") for one in clients]

    words = {"code": -32050, "message": "not now: resources/subscribe", "data": {"at": 7}}
    assert asyncio.run(main()) == [words, words]
    assert len(link.said("resources/subscribe")) == 2
    assert not link.said("resources/unsubscribe")


@pytest.mark.promise("H-34")
def test_the_end_of_news_that_nobody_asked_for_is_the_servers_to_answer() -> None:
    link = ScriptedLink(library())

    async def main() -> Any:
        async with gateway_of(policy("a"), a=link) as gateway:
            return await asked(await greeted(gateway), "resources/unsubscribe", uri="b://1")

    assert asyncio.run(main()) == {"code": -32050, "message": "not now: resources/unsubscribe", "data": {"at": 7}}
    assert len(link.said("resources/unsubscribe")) == 1


@pytest.mark.promise("H-34")
def test_news_cannot_be_ended_where_no_server_has_resources() -> None:
    async def main() -> Any:
        async with gateway_of(policy("a"), a=ScriptedLink(old_server)) as gateway:
            return await asked(await greeted(gateway), "resources/unsubscribe", uri="b://1")

    assert asyncio.run(main()) == {"code": -32601, "message": "Method not found"}


def test_news_that_another_client_hears_go_on_when_one_has_enough() -> None:
    def answering(method: str, params: dict[str, Any]) -> Any:
        return {} if method.endswith("subscribe") else library()(method, params)

    link = ScriptedLink(answering)

    async def main() -> list[int]:
        async with gateway_of(policy("a"), a=link) as gateway:
            one, two = await greeted(gateway), await greeted(gateway)
            for client in (one, two):
                assert await asked(client, "resources/subscribe", uri="b://1") == {}
            ended: list[int] = []
            for client in (one, two):
                assert await asked(client, "resources/unsubscribe", uri="b://1") == {}
                ended.append(len(link.said("resources/unsubscribe")))
            return ended

    assert asyncio.run(main()) == [0, 1]


@pytest.mark.promise("H-34")
def test_a_client_that_asks_for_news_while_the_server_still_thinks_hears_its_words_too() -> None:
    def answering(method: str, params: dict[str, Any]) -> Any:
        return None if method == "resources/subscribe" else library()(method, params)

    link = ScriptedLink(answering)

    async def main() -> list[Any]:
        async with gateway_of(policy("a"), a=link) as gateway:
            clients = [await greeted(gateway), await greeted(gateway)]
            asking = [asyncio.ensure_future(asked(one, "resources/subscribe", uri="b://1")) for one in clients]
            for number in range(2):
                async with asyncio.timeout(10):
                    while len(link.said("resources/subscribe")) <= number:  # whether they may is judged in a thread
                        await asyncio.sleep(0)
                assert not all(one.done() for one in asking)  # and either may be the first
                asking_it = link.said("resources/subscribe")[number]["id"]
                link.say({"id": asking_it, "error": {"code": -32050, "message": "no news"}})
            return await asyncio.gather(*asking)

    assert asyncio.run(main()) == [{"code": -32050, "message": "no news"}] * 2


@pytest.mark.promise("H-34")
@pytest.mark.parametrize("watched", [False, True])
def test_news_of_a_resource_that_nobody_watches_reach_the_client_whose_call_they_come_with(*, watched: bool) -> None:
    def answering(method: str, params: dict[str, Any]) -> Any:
        if method == "tools/call":
            link.say({"method": "notifications/resources/updated", "params": {"uri": "b://1"}})
        return {} if method == "resources/subscribe" else library()(method, params)

    link = ScriptedLink(answering)

    async def main() -> tuple[int, int]:
        async with gateway_of(policy("a"), a=link) as gateway:
            heard: tuple[list[bytes], list[bytes]] = ([], [])
            calling, other = [await greeted(gateway, heard=one) for one in heard]
            if watched:
                await asked(other, "resources/subscribe", uri="b://1")
            await asked(calling, "tools/call", name="a_echo", arguments={"text": "x"})
            one, two = (sum(b"resources/updated" in line for line in lines) for lines in heard)
            return one, two

    assert asyncio.run(main()) == ((0, 1) if watched else (1, 0))


@pytest.mark.promise("H-34")
@pytest.mark.parametrize(("prefix", "others", "own_words"), [("", (), True), ("", ("b",), False), (None, (), False)])
def test_a_prompt_that_nobody_has_is_refused_by_the_server_whose_names_they_all_are(
    prefix: str | None, others: tuple[str, ...], own_words: bool
) -> None:
    def answering(method: str, params: dict[str, Any]) -> Any:
        match method:
            case "initialize":
                return {**old_server(method, params), "capabilities": {"prompts": {}, "completions": {}}}
            case "prompts/list":
                return {"prompts": [{"name": "greet"}]}
            case "prompts/get":
                raise Wrong(-32602, f"no prompt {params['name']}", name=params["name"])
            case "completion/complete":
                raise Wrong(-32602, f"no prompt {params['ref']['name']}")
        raise LookupError(method)

    async def main() -> list[Any]:
        rules = policy("a", *others)
        rules["servers"]["a"] |= {} if prefix is None else {"prefix": prefix}
        links = {name: ScriptedLink(answering) for name in ("a", *others)}
        async with gateway_of(rules, **links) as gateway:
            client = await greeted(gateway)
            ref, argument = {"type": "ref/prompt", "name": "nope"}, {"name": "x", "value": ""}
            return [
                await asked(client, "prompts/get", name="nope"),
                await once(gateway, "prompts/get", name="nope"),
                await asked(client, "completion/complete", ref=ref, argument=argument),
            ]

    found = asyncio.run(main())
    assert [one["code"] for one in found] == [-32602] * 3
    assert [one["message"] == "no prompt nope" for one in found] == [own_words] * 3
    assert [one.get("data") for one in found[:2]] == [{"name": "nope"} if own_words else None] * 2


def test_a_call_without_arguments_reaches_the_server_without_them() -> None:
    def answering(method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list":
            return {"tools": [{"name": "now", "inputSchema": {"type": "object"}}]}
        if method == "tools/call":
            return {"content": [{"type": "text", "text": ",".join(sorted(params))}]}
        return old_server(method, params)

    async def main() -> list[str]:
        async with gateway_of(policy("a"), a=ScriptedLink(answering)) as gateway:
            client = await greeted(gateway)
            bare = text_of(await asked(client, "tools/call", name="a_now"))
            return [bare, text_of(await asked(client, "tools/call", name="a_now", arguments={}))]

    assert asyncio.run(main()) == ["name", "arguments,name"]


def test_a_server_that_starts_slowly_is_in_the_first_list_and_may_have_more_than_tools(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rightcall.mcp.gateway.gateway.GREETING", 0.0)

    class Slow(ScriptedLink):
        async def open(self, heard: Any) -> None:
            await greeting.wait()
            await super().open(heard)

    greeting = asyncio.Event()

    async def main() -> tuple[Any, list[str]]:
        async with gateway_of(policy("a"), a=Slow()) as gateway:
            client = Client(gateway, "gateway", lambda _: None)
            said = await asked(client, "initialize", protocolVersion="2025-11-25", capabilities={})
            listing = asyncio.ensure_future(asked(client, "tools/list"))
            greeting.set()
            return said["capabilities"], [one["name"] for one in (await listing)["tools"]]

    capabilities, names = asyncio.run(main())
    assert names == ["a_echo"]
    assert set(capabilities) == {"tools", "prompts", "resources", "completions", "logging"}


@pytest.mark.parametrize("able", [False, True])
def test_a_server_that_starts_slowly_hears_which_log_messages_its_client_wants(
    monkeypatch: pytest.MonkeyPatch, *, able: bool
) -> None:
    monkeypatch.setattr("rightcall.mcp.gateway.gateway.GREETING", 0.0)

    def answering(method: str, params: dict[str, Any]) -> Any:
        if method == "initialize" and able:
            return {**old_server(method, params), "capabilities": {"tools": {}, "logging": {}}}
        return {} if method == "logging/setLevel" else old_server(method, params)

    class Slow(ScriptedLink):
        async def open(self, heard: Any) -> None:
            await greeting.wait()
            await super().open(heard)

    greeting = asyncio.Event()
    link = Slow(answering)

    async def main() -> Any:
        async with gateway_of(policy("a"), a=link) as gateway:
            client = await greeted(gateway)
            wanting = asyncio.ensure_future(asked(client, "logging/setLevel", level="debug"))
            greeting.set()
            return await wanting

    assert asyncio.run(main()) == {}
    assert [one["params"]["level"] for one in link.said("logging/setLevel")] == (["debug"] if able else [])
