"""Resources, prompts and completion through the gateway: the emergency stop, the caller's rights and the path rules
hold for them as for tools."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from rightcall.executor.door import Door
from rightcall.mcp.gateway.gateway import Gateway
from rightcall.mcp.messages import INVALID_PARAMS
from rightcall.policy.types import PAUSED
from rightcall.record.tables import read_call
from support.gateways import ScriptedLink, Wrong, asked, greeted, line_asked, old_server, once, opening
from support.wrapping import Wrapped, line


class Library(ScriptedLink):
    """A server with resources and prompts, which gives whatever it is asked for."""

    def __init__(self, name: str, *, tools: bool = True) -> None:
        super().__init__(self._answer)
        self._name, self._has_tools = name, tools

    def _answer(self, method: str, params: dict[str, Any]) -> Any:
        match method:
            case "initialize":
                able: dict[str, Any] = {"resources": {"subscribe": True}, "prompts": {}, "completions": {}}
                able |= {"tools": {}} if self._has_tools else {}
                return {**old_server(method, params), "capabilities": able}
            case "resources/list":
                return {"resources": [{"uri": f"{self._name}://one", "name": "one"}]}
            case "resources/templates/list":
                return {"resourceTemplates": [{"uriTemplate": f"{self._name}://{{id}}", "name": "any"}]}
            case "prompts/list":
                return {"prompts": [{"name": "tell", "arguments": [{"name": "path"}]}]}
            case "resources/read":
                if "missing" in params["uri"]:
                    raise Wrong(-32002, "never heard of it")
                return {"contents": [{"uri": params["uri"], "text": "READ"}]}
            case "prompts/get":
                return {"messages": [{"role": "user", "content": {"type": "text", "text": "READ"}}]}
            case "completion/complete":
                return {"completion": {"values": ["READ"]}}
            case "resources/subscribe" | "resources/unsubscribe":
                return {}
        return old_server(method, params)

    @property
    def looked_up(self) -> list[str]:
        methods = ("resources/read", "resources/subscribe", "prompts/get", "completion/complete")
        return [one["method"] for one in self.sent if one.get("method") in methods]


POLICY: dict[str, Any] = {
    "version": 1,
    "policy": {"paths": {"deny": ["private/**"]}, "urls": {"deny": ["blocked.example"]}, "quarantine": 0},
    "servers": {name: {"command": [name], "effects": ["read"]} for name in ("a", "b")},
    "callers": {"bob": {"only": ["b/*"]}, "cat": {"only": ["a/echo"]}, "eve": {"deny": ["a/*"]}},
}
NOT_FOUND = -32002


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = (tmp_path / "work").resolve()
    (root / "private").mkdir(parents=True)
    (root / "link.txt").symlink_to("private/plan.md")
    return root


class Asked:
    """A gateway with two servers, asked by clients of both eras."""

    def __init__(self, root: Path) -> None:
        self.a, self.b = Library("a"), Library("b", tools=False)
        self.door = Door.open("gateway", POLICY, strict=True, store="memory", root=root)

    def __call__(self, ask: Callable[[Gateway], Awaitable[Any]]) -> Any:
        async def main() -> Any:
            gateway = Gateway(self.door, opening(a=self.a, b=self.b), capabilities={})
            gateway.start()
            try:
                return await ask(gateway)
            finally:
                await gateway.aclose()

        return asyncio.run(main())

    @property
    def looked_up(self) -> list[str]:
        return self.a.looked_up + self.b.looked_up

    @property
    def refused(self) -> list[tuple[str, str]]:
        entries = self.door.store.look(lambda tables: tables.newest(1000, ("refused",)))
        return [(body.tool, body.rule) for body in (read_call(entry.body) for entry in reversed(entries))]


@pytest.fixture
def servers(root: Path) -> Asked:
    return Asked(root)


def requests(path: str) -> list[tuple[str, dict[str, Any]]]:
    """Every request that names this path."""
    prompt: dict[str, Any] = {"type": "ref/prompt", "name": "a_tell"}
    return [
        ("resources/read", {"uri": path}),
        ("resources/subscribe", {"uri": path}),
        ("prompts/get", {"name": "a_tell", "arguments": {"path": path}}),
        ("completion/complete", {"ref": prompt, "argument": {"name": "path", "value": path}}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": path}, "argument": {"name": "x", "value": ""}}),
    ]


@pytest.mark.promise("P-03", "P-15")
def test_what_the_path_rules_refuse_reaches_no_server_and_is_recorded(servers: Asked, root: Path) -> None:
    paths = [
        ".env", f"file://{root}/.env", "sub/../.env", "%2eenv", f"file://{root}/private/plan.md", "private/plan.md",
        f"file://{root}/link.txt", "link.txt", f"{root}/.rightcall/audit.db", f"file:{root}/.ssh/id_rsa",
    ]  # fmt: skip

    async def ask(gateway: Gateway) -> list[Any]:
        client = await greeted(gateway)
        found = [await asked(client, method, **params) for path in paths for method, params in requests(path)]
        return found + [
            await once(gateway, method, **params)
            for path in paths
            for method, params in requests(path)
            if method != "resources/subscribe"
        ]

    found = servers(ask)
    assert {one["message"].partition(":")[2].partition(":")[0] for one in found} == {" No such file or folder"}
    assert {one["code"] for one in found} == {NOT_FOUND, INVALID_PARAMS}
    assert servers.looked_up == []
    assert len(servers.refused) == len(found)
    assert {tool for tool, _ in servers.refused} == {
        f"a/{method}" for method, _ in requests("x")
    } | {"a/resources/read"}  # fmt: skip
    assert {rule for _, rule in servers.refused} == {"path:secret", "path:deny"}


@pytest.mark.promise("P-17")
def test_while_everything_is_paused_nothing_is_looked_up(servers: Asked) -> None:
    servers.door.pause(by="eva")

    async def ask(gateway: Gateway) -> list[Any]:
        client = await greeted(gateway)
        return [await asked(client, method, **params) for method, params in requests("a://one")]

    found = servers(ask)
    assert all(PAUSED.reason in one["message"] for one in found)
    assert servers.looked_up == []
    assert {rule for _, rule in servers.refused} == {"paused"}
    servers.door.resume(by="eva")
    assert servers(ask)[0]["contents"][0]["text"] == "READ"


@pytest.mark.promise("P-01")
@pytest.mark.parametrize(("caller", "rule"), [("bob", "allowlist"), ("eve", "caller:deny")])
def test_a_caller_whose_rights_leave_out_a_server_gets_nothing_of_it(servers: Asked, caller: str, rule: str) -> None:
    async def ask(gateway: Gateway) -> list[Any]:
        client = await greeted(gateway, caller)
        found = [await asked(client, method, **params) for method, params in requests("a://one")]
        lists = [
            (await asked(client, f"{kind}/list"))[key]
            for kind, key in (
                ("resources", "resources"),
                ("prompts", "prompts"),
                ("resources/templates", "resourceTemplates"),
            )
        ]
        return [found, lists, await asked(client, "resources/read", uri="b://one")]

    found, lists, own = servers(ask)
    assert [one.get("code") for one in found[:4]] == [NOT_FOUND, NOT_FOUND, INVALID_PARAMS, INVALID_PARAMS]
    assert found[4] == {"completion": {"values": []}}
    assert servers.a.looked_up == []
    assert [[one["name"] for one in listed] for listed in lists] == [["one"], ["b_tell"], ["any"]]
    assert own["contents"][0]["uri"] == "b://one"
    assert {one for one in servers.refused if one[0] == "a/resources/read"} == {("a/resources/read", rule)}


def test_who_may_use_one_tool_of_a_server_may_look_up_what_it_has(servers: Asked) -> None:
    async def ask(gateway: Gateway) -> list[Any]:
        client = await greeted(gateway, "cat")
        return [await asked(client, "resources/read", uri=uri) for uri in ("a://one", "b://one")]

    first, second = servers(ask)
    assert first["contents"][0]["text"] == "READ"
    assert second == {"code": NOT_FOUND, "message": "Resource not found", "data": {"uri": "b://one"}}


def test_what_no_rule_is_about_passes_with_the_servers_own_words(servers: Asked, root: Path) -> None:
    uris = [
        "a://one",
        "notes://x/.env",
        "memo:insights",
        f"file://{root}/README.md",
        "https://example.com/.env",
        "urn:a:b",
    ]

    async def ask(gateway: Gateway) -> list[Any]:
        client = await greeted(gateway)
        read = [await asked(client, "resources/read", uri=uri) for uri in uris]
        missing = await asked(client, "resources/read", uri="a://missing")
        told = {"path": "README.md", "command": "rm -rf /", "text": "What about .env?", "url": "http://169.254.169.254"}
        return [*read, await asked(client, "prompts/get", name="a_tell", arguments=told), missing]

    *found, missing = servers(ask)
    assert all("READ" in str(one) for one in found)
    assert missing == {"code": NOT_FOUND, "message": "never heard of it", "data": {}}
    assert servers.refused == []


def test_an_address_that_the_policy_denies_is_not_read(servers: Asked) -> None:
    async def ask(gateway: Gateway) -> Any:
        return await asked(await greeted(gateway), "resources/read", uri="https://blocked.example/x")

    assert "blocked.example" in servers(ask)["message"]
    assert servers.looked_up == []


@pytest.mark.parametrize(
    "params",
    [b'{"uri": "a://one", "uri": ".env"}', b'{"uri": "a://one", "Uri": ".env"}', b'{"uri": "a://one", "n": 1e999}'],
)
def test_a_request_that_can_be_read_in_two_ways_is_refused(servers: Asked, params: bytes) -> None:
    sent = b'{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": %b}' % params

    async def ask(gateway: Gateway) -> Any:
        return await line_asked(await greeted(gateway), sent)

    assert servers(ask)["code"] == INVALID_PARAMS
    assert servers.looked_up == []
    with Door.open("wrap", POLICY, store="memory") as door:
        wrapped = Wrapped(door)
        wrapped.client(sent + b"\n")
        assert wrapped.server_got == []


@pytest.mark.promise("P-15")
def test_news_of_a_refused_resource_is_not_listened_for(servers: Asked, root: Path) -> None:
    async def ask(gateway: Gateway) -> list[bytes]:
        heard: list[bytes] = []
        uris = ["a://one", f"file://{root}/.env"]
        client = await greeted(gateway)
        client.send = heard.append
        listening = asyncio.ensure_future(
            once(gateway, "subscriptions/listen", notifications={"resourceSubscriptions": uris})
        )
        while not gateway.news.watched():
            await asyncio.sleep(0)
        found = [uri.encode() for uri in gateway.news.watched()]
        gateway.news.end()
        await listening
        return found

    assert servers(ask) == [b"a://one"]


@pytest.mark.promise("P-15", "P-17")
def test_the_same_holds_behind_wrap(root: Path) -> None:
    with Door.open("wrap", POLICY, store="memory", root=root) as door:
        wrapped = Wrapped(door)
        passing = line({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "memo://x"}})
        hidden = [
            {"jsonrpc": "2.0", "id": 2, "method": method, "params": params}
            for path in (".env", f"file://{root}/link.txt") for method, params in requests(path)
        ]  # fmt: skip
        hidden += [{**hidden[0], "method": "Resources/Read "}, [hidden[0]]]
        wrapped.client(passing)
        for one in hidden:
            wrapped.client(line(one))
        wrapped.client(
            b'{"jsonrpc":"2.0","id":3,"method":"resources\\/list","params":{"uri":".env"},"method":"resources/read"}\n'
        )
        wrapped.client(b'{"jsonrpc":"2.0","method":"resources/read","params":{"uri":".env"}}\n')
        assert wrapped.server_got == [passing]
        assert len(wrapped.client_got) == len(hidden) + 1
        door.pause(by="eva")
        wrapped.client(passing)
        assert wrapped.server_got == [passing]
        assert PAUSED.reason.encode() in wrapped.client_got[-1]
        refused = door.store.look(lambda tables: tables.newest(100, ("refused",)))
        assert len(refused) == len(hidden) + 1
