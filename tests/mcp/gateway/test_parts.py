"""The small parts of the gateway: names, templates, environments, states that nobody can make up, who hears what."""

import asyncio
from itertools import islice, product
from typing import Any

import pytest
from msgspec import Raw, json

from rightcall.executor.door import Door
from rightcall.mcp.gateway.forward import MARK, Continuations, KeptCall, binding_of
from rightcall.mcp.gateway.gateway import Gateway
from rightcall.mcp.gateway.library import fits
from rightcall.mcp.gateway.names import Naming, Table, Unsure
from rightcall.mcp.links import Tail
from rightcall.mcp.messages import mirrored, mirrors, read, value
from rightcall.mcp.serving import Client
from rightcall.mcp.session import ServerGone, ServerSlow, Session
from rightcall.mcp.upstream import Hello, environment, filled, greet, listed
from rightcall.policy.settings import Server
from support.every import every
from support.gateways import TOOL, Absent, ScriptedLink, old_server, opening

HELLO = Hello({"name": "t", "version": "1"}, {})


def raw(**fields: Any) -> Raw:
    return Raw(json.encode(fields))


@pytest.mark.promise("H-04")
def test_tools_of_two_servers_have_names_of_their_own_and_other_spellings_are_found_where_they_mean_one() -> None:
    table = Table()
    table.put("a", [raw(name="read_file", own=1), raw(name="x")])
    table.put("b", [raw(name="read_file"), raw(name="x_y"), raw(name=""), raw(other=1)])
    names = [value(one)["name"] for one in table.listed(lambda _: True, ["b", "a"])]
    assert names == ["b_read_file", "b_x_y", "a_read_file", "a_x"]
    found = {name: table.find(name) for name in ("a_read_file", "a/read_file", "B.Read-File", "read_file", "x_y", "no")}
    assert {name: entry and (entry.space, entry.name) for name, entry in found.items()} == {
        "a_read_file": ("a", "read_file"),
        "a/read_file": ("a", "read_file"),
        "B.Read-File": ("b", "read_file"),
        "read_file": None,
        "x_y": ("b", "x_y"),
        "no": None,
    }
    assert table.find(None) is None
    assert not table.put("a", [raw(name="read_file", own=1), raw(name="x")])
    assert table.put("a", [raw(name="read_file", own=2), raw(name="x")])


@every(
    ("uri", "template", "fit"),
    [
        ("file:///a/b", "file:///{+path}", True),
        ("db://y/1", "db://x/{id}", False),
        ("x://1/end", "x://{a}/end", True),
        ("x://1/other", "x://{a}/end", False),
        ("x://plain", "x://plain", True),
        ("", "{any}", True),
    ],
)
def test_an_address_fits_a_template(uri: str, template: str, fit: bool) -> None:
    assert fits(uri, template) is fit


@pytest.mark.promise("P-06")
def test_a_state_counts_once_for_its_own_request_and_nobody_can_make_one_up() -> None:
    async def main() -> list[Any]:
        kept, forgotten = Continuations(), list[str]()
        binding = binding_of("ada", "tools/call", {"name": Raw(b'"t"'), "_meta": Raw(b'{"a":1}')})
        same = binding_of("ada", "tools/call", {"name": Raw(b' "t" '), "requestState": Raw(b'"x"')})
        assert binding == same
        one = kept.keep(KeptCall(binding, state="server's", forget=lambda: forgotten.append("one")), "ada")
        two = kept.keep(KeptCall(binding, forget=lambda: forgotten.append("two")), "ada")
        assert one.startswith(MARK)
        assert "server's" not in one
        found = [kept.take(MARK + "x", binding, "ada"), kept.take(one, binding, "ada"), kept.take(one, binding, "ada")]
        assert kept.take(two, binding, "eve") is None  # and it is still there for its caller
        other = binding_of("eve", "tools/call", {"name": Raw(b'"t"')})
        found += [kept.take(two, other, "ada"), kept.take(two, binding, "ada"), forgotten]
        kept.clear()
        return found

    made_up, right, again, others, used_up, forgotten = asyncio.run(main())
    assert right.state == "server's"
    assert [made_up, again, others, used_up] == [None] * 4
    assert forgotten == ["two"]


def test_a_server_sees_little_of_our_environment_and_names_stand_for_our_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET_KEY", "s3cret")
    seen = environment(Server("x", command=("p",), env={"TOKEN": "Bearer ${SECRET_KEY}", "PLAIN": "$5"}))
    assert (seen["TOKEN"], seen["PLAIN"]) == ("Bearer s3cret", "$5")
    assert "SECRET_KEY" not in seen
    assert "PATH" in seen
    with pytest.raises(ServerGone, match=r"\[servers.x\] headers wants the environment variable NO_SUCH_NAME"):
        filled({"a": "${NO_SUCH_NAME}"}, "[servers.x] headers")


def test_the_last_words_of_a_server_are_few_and_harmless() -> None:
    tail = Tail()
    for number in range(100_000):
        tail.add(b"line %d\n" % number)
    tail.add(b"\x1b[2J" + b"x" * 100_000)
    told = tail.told()
    assert told.startswith("; its last words: line 99998 | line 99999 | ")
    assert len(told) < 500
    assert "\x1b" not in told
    assert Tail().told() == ""


def test_arguments_that_a_server_wants_as_headers_are_taken_from_the_schema() -> None:
    schema = {
        "properties": {
            "city": {"type": "string", "x-mcp-header": "City"},
            "deep": {"properties": {"on": {"type": "boolean", "x-mcp-header": "On"}}},
            "wrong": {"type": "string", "x-mcp-header": "a b\r\n"},
        }
    }
    found = mirrors(raw(name="t", inputSchema=schema))
    arguments = {"city": "Zürich", "deep": {"on": True}, "wrong": "x"}
    assert mirrored(found, arguments) == {"mcp-param-city": "=?base64?WsO8cmljaA==?=", "mcp-param-on": "true"}
    assert mirrored(found, {"city": None}) == {}


# ── a whole gateway, with servers in memory ──────────────────────────────────────────────────────────────────────────

SERVERS = {"a": {"command": ["a"], "effects": ["read"]}, "gone": {"command": ["gone"]}}


async def asked(client: Client, method: str, **params: Any) -> Any:
    line = json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    message = read(line)
    assert message is not None
    answer = await client.request(line, message, lambda _: None)
    found = value(answer or b"")
    return found.get("result", found.get("error"))


@pytest.mark.promise("H-04", "X-07")
def test_a_gateway_repairs_forwards_and_refuses_and_says_what_it_has() -> None:
    link = ScriptedLink()

    async def main() -> list[Any]:
        told: list[str] = []
        with Door.open("gateway", {"version": 1, "servers": SERVERS}, strict=True) as door:
            gateway = Gateway(door, opening(a=link, gone=Absent()), capabilities={}, news=told.append)
            client = Client(gateway, "gateway", lambda _: None)
            try:
                early = await asked(client, "tools/list")
                hello = await asked(client, "initialize", protocolVersion="2025-06-18", capabilities={})
                tools = await asked(client, "tools/list")
                right = await asked(client, "tools/call", name="a_echo", arguments={"txt": "hi"})
                wrong = await asked(client, "tools/call", name="a_echo", arguments={})
                unknown = await asked(client, "nothing/such")
                return [early, hello, tools, right, wrong, unknown, told, gateway.state()]
            finally:
                await gateway.aclose()

    early, hello, tools, right, wrong, unknown, told, state = asyncio.run(main())
    assert early["code"] == -32602
    assert hello["protocolVersion"] == "2025-06-18"
    assert hello["serverInfo"]["name"] == "rightcall"
    assert [tool["name"] for tool in tools["tools"]] == ["a_echo"]
    assert right == {"content": [{"type": "text", "text": "hi"}]}
    assert link.said("tools/call")[0]["params"] == {"name": "echo", "arguments": {"text": "hi"}}
    assert wrong["isError"]
    assert "Missing required fields: text" in wrong["content"][0]["text"]
    assert unknown["code"] == -32601
    assert sorted(one.partition(":")[2].split()[0] for one in told) == ["a", "gone"]
    assert state["gone"]["problem"] == "there is no such program"
    assert link.closed


@pytest.mark.promise("H-04")
def test_a_request_in_which_a_key_stands_twice_is_refused_before_anything_happens() -> None:
    link = ScriptedLink()

    async def main() -> Any:
        with Door.open("gateway", {"version": 1, "servers": {"a": SERVERS["a"]}}, strict=True) as door:
            gateway = Gateway(door, opening(a=link), capabilities={})
            client = Client(gateway, "gateway", lambda _: None)
            try:
                await asked(client, "initialize", protocolVersion="2025-11-25", capabilities={})
                params = b'{"name": "a_echo", "name": "a_echo", "arguments": {}}'
                line = b'{"id": 1, "method": "tools/call", "params": %b}' % params
                message = read(line)
                assert message is not None
                return value(await client.request(line, message, lambda _: None) or b"")
            finally:
                await gateway.aclose()

    assert asyncio.run(main())["error"]["code"] == -32602
    assert link.said("tools/call") == []


@pytest.mark.promise("P-09")
def test_servers_follow_the_policy_file_while_the_gateway_runs(tmp_path: Any) -> None:
    file = tmp_path / "rightcall.toml"
    file.write_text('version = 1\n[servers.a]\ncommand = ["a"]\neffects = ["read"]\n')
    links = {"a": ScriptedLink(), "b": ScriptedLink(old_server)}

    async def main() -> tuple[list[str], list[str]]:
        with Door.open("gateway", file, strict=True, root=tmp_path, store="memory") as door:
            gateway = Gateway(door, opening(**links), capabilities={})
            client = Client(gateway, "gateway", lambda _: None)
            try:
                await asked(client, "initialize", protocolVersion="2025-11-25", capabilities={})
                before = [tool["name"] for tool in (await asked(client, "tools/list"))["tools"]]
                file.write_text('version = 1\n[servers.b]\ncommand = ["b"]\neffects = ["read", "write"]\n')
                while list(door.policy.servers) != ["b"]:
                    await asyncio.sleep(0.01)
                return before, [tool["name"] for tool in (await asked(client, "tools/list"))["tools"]]
            finally:
                await gateway.aclose()

    assert asyncio.run(main()) == (["a_echo"], ["b_echo"])
    assert links["a"].closed


@pytest.mark.promise("X-07")
def test_a_list_that_never_ends_keeps_nobody_waiting() -> None:
    def endless(method: str, params: dict[str, Any]) -> Any:
        if method == "tools/list" and "cursor" in params:
            return None
        return {"tools": [TOOL], "nextCursor": "more"} if method == "tools/list" else old_server(method, params)

    async def main() -> str:
        session = Session(ScriptedLink(endless), Deaf())
        await session.open()
        await greet(session, HELLO, 1.0)
        with pytest.raises(ServerSlow) as slow:
            await listed(session, HELLO, "tools/list", "tools", 0.02)
        return str(slow.value)

    assert asyncio.run(main()) == "did not list what it has within 0.02 seconds (tools/list)"


class Deaf:
    """Owns a session, and hears nothing of it."""

    async def asked(self, method: str, params: Raw, cause: Any) -> Any: ...

    def told_by_server(self, method: str, params: Raw, cause: Any) -> None: ...

    def lost(self, session: Session, why: str, words: str = "") -> None: ...


def test_tools_that_are_spelled_alike_cost_no_more_names_than_others() -> None:
    """However many share a spelling, a name that is almost one of theirs means none of them."""

    def made_ready(count: int) -> int:
        written = ("".join(letters) for letters in product(*((one, one.upper()) for one in "readpages")))
        table, _counted = Table(), 0
        table.put("files", [raw(name=name) for name in islice(written, count)])
        with Door.open("gateway") as door:
            naming = Naming(door, table)
            unsure = asyncio.run(naming.find("functions.Read-Pages"))
            assert isinstance(unsure, Unsure)
            assert len(unsure.names) == count
            assert asyncio.run(naming.find("raedpages")) is None
            assert naming._known is not None
            return len(naming._known[1].names.spelled)

    assert made_ready(400) < 5 * made_ready(100)
