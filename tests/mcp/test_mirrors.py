"""Headers that repeat a part of a request (2026-07-28): how they are written and read, and when they differ."""

import asyncio
from typing import Any

import pytest
from msgspec import Raw, json

from rightcall.mcp.messages import header_text, header_value, mirrors, mismatch
from rightcall.mcp.serving import Client
from support.every import every
from support.gateways import (
    META,
    ROUTED,
    TOOL,
    Answer,
    ScriptedLink,
    Site,
    asked,
    call,
    gateway_of,
    old_server,
    policy,
    run,
)

pytestmark = pytest.mark.promise("H-50")

SCHEMA = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "X-Count.1"},
        "deep": {"properties": {"on": {"type": "boolean", "x-mcp-header": "On"}}},
    },
}
PATHS = mirrors(Raw(json.encode({"name": "t", "inputSchema": SCHEMA})))


@every("text", ["a.txt", "", "ä", " padded ", "line\nline", "=?base64?literal?=", "a\tb", "世界"])
def test_what_is_written_into_a_header_is_read_from_it(text: str) -> None:
    assert header_text(header_value(text).encode("latin-1")) == text


def test_what_can_be_read_in_two_ways_is_not_read() -> None:
    readings = {
        b"  a \t": "a",
        b"=?base64?SGVsbG8=?=": "Hello",
        b"=?base64?SGVsbG8?=": None,
        b"=?base64?SGVs!!!bG8=?=": None,
        b"=?base64?SGVsbG9=?=": None,  # another way to write the same letters
        b"=?base64?/w==?=": None,
        b"=?BASE64?SGVsbG8=?=": "=?BASE64?SGVsbG8=?=",
        b"caf\xe9": None,
        b"a\x00b": None,
    }
    assert {given: header_text(given) for given in readings} == readings


def test_only_marks_that_the_protocol_allows_count() -> None:
    marked: dict[str, Any] = {
        "number": {"type": "number", "x-mcp-header": "Number"},
        "blank": {"type": "string", "x-mcp-header": "a b"},
        "empty": {"type": "string", "x-mcp-header": ""},
        "no_text": {"type": "string", "x-mcp-header": 1},
        "one": {"type": "string", "x-mcp-header": "Twice"},
        "two": {"type": "string", "x-mcp-header": "tWICE"},
        "listed": {"type": "array", "items": {"type": "string", "x-mcp-header": "Listed"}},
    }
    found = mirrors(Raw(json.encode({"name": "t", "inputSchema": {"properties": marked}})))
    assert found == ((("one",), "Twice"),)


@every(
    ("arguments", "headers", "wrong"),
    [
        ({}, {}, None),
        ({"region": None, "deep": 5}, {}, None),
        ({"region": "eu", "count": 3, "deep": {"on": True}}, {"region": "eu", "x-count.1": "3", "on": "true"}, None),
        ({"count": 42}, {"x-count.1": "42.0"}, None),
        ({"count": -7}, {"x-count.1": " -7 "}, None),
        ({"region": "ä"}, {"region": "=?base64?w6Q=?="}, None),
        ({"region": "eu"}, {"other": "us", "region": "eu"}, None),
        ({"region": "eu"}, {}, "Mcp-Param-Region is missing, but the call has the argument region"),
        ({"region": "eu"}, {"region": "us"}, "Mcp-Param-Region does not match the argument region"),
        ({"region": "eu"}, {"region": "EU"}, "Mcp-Param-Region does not match the argument region"),
        ({"region": "eu"}, {"region": "=?base64?ZXU?="}, "Mcp-Param-Region does not match the argument region"),
        ({"deep": {"on": True}}, {"on": "True"}, "Mcp-Param-On does not match the argument deep.on"),
        ({"count": 2**53 + 1}, {"x-count.1": f"{2**53}"}, "Mcp-Param-X-Count.1 does not match the argument count"),
        ({"count": 1}, {"x-count.1": "1e0"}, "Mcp-Param-X-Count.1 does not match the argument count"),
        (
            {},
            {"region": "us"},
            "Mcp-Param-Region is there, but the call has no argument region that could be sent as a header",
        ),
    ],
)
def test_headers_say_what_the_arguments_say(
    arguments: dict[str, Any], headers: dict[str, str], wrong: str | None
) -> None:
    given = [(f"mcp-param-{name}".encode(), text.encode()) for name, text in headers.items()]
    assert mismatch(PATHS, arguments, given) == (wrong and f"Header mismatch: {wrong}")


def test_a_header_that_is_there_twice_is_refused_whatever_it_says() -> None:
    twice = [(b"mcp-param-region", b"eu")] * 2
    assert mismatch(PATHS, {"region": "eu"}, twice) == "Header mismatch: Mcp-Param-Region is there twice"


def marked_server(method: str, params: dict[str, Any]) -> Any:
    text = {"type": "string", "x-mcp-header": "Text"}
    tool = {**TOOL, "inputSchema": {"type": "object", "properties": {"text": text}, "required": ["text"]}}
    return {"tools": [tool]} if method == "tools/list" else old_server(method, params)


@every(
    ("named", "headers", "status", "code"),
    [
        ("a_echo", {"mcp_param_text": "hi"}, 200, None),
        ("a_echo", {"mcp_param_text": "  hi "}, 200, None),
        ("a_echo", {"mcp_param_text": "ho"}, 400, -32020),
        ("a_echo", {}, 400, -32020),
        ("functions.echo", {}, 400, -32020),  # another name for the same tool is no way round it
        ("a_echo", {"mcp_param_text": "hi", "mcp_name": "\t a_echo "}, 200, None),
        ("a_echo", {"mcp_param_text": "hi", "mcp_method": " tools/call"}, 200, None),
        ("a_echo", {"mcp_param_text": "hi", "mcp_protocol_version": "2026-07-28 "}, 200, None),
        ("a_echo", {"mcp_param_text": "hi", "mcp_name": "a_ech o"}, 400, -32020),
    ],
)
def test_a_call_through_the_gateway_has_the_headers_of_its_arguments(
    named: str, headers: dict[str, str], status: int, code: int | None
) -> None:
    async def work(site: Site) -> Answer:
        return await site.ask(body=call(_meta=META, name=named), **{**ROUTED, "mcp_name": named, **headers})

    answer = run(work, ScriptedLink(marked_server))
    assert (answer.status, answer.json.get("error", {}).get("code")) == (status, code)


def test_a_call_within_another_has_no_headers_of_its_own() -> None:
    def two_tools(method: str, params: dict[str, Any]) -> Any:
        found = marked_server(method, params)
        return {"tools": [*found["tools"], {**TOOL, "name": "other"}]} if method == "tools/list" else found

    async def main() -> Any:
        async with gateway_of(policy("a", router={"search": 1}), a=ScriptedLink(two_tools)) as gateway:
            client = Client(gateway, "gateway", lambda _: None)
            client.headers = []
            inner = {"name": "a_echo", "arguments": {"text": "hi"}}
            run = await asked(client, "tools/call", name="tools_run", arguments=inner, _meta=META)
            return run, await asked(client, "tools/call", **inner, _meta=META)

    run_within, directly = asyncio.run(main())
    assert run_within["content"] == [{"type": "text", "text": "hi"}]
    assert directly["code"] == -32020


def test_where_no_revision_wants_them_calls_need_no_such_headers() -> None:
    async def work(site: Site) -> Answer:
        return await site.ask(body=call(), **await site.session())

    assert run(work, ScriptedLink(marked_server)).json["result"]["content"][0]["text"] == "hi"


@pytest.mark.promise("P-01")
@every(
    ("rules", "code", "rule"),
    [
        ({}, -32020, "validation"),
        ({"policy": {"approval": {"tools": ["a/echo"]}}}, -32020, "validation"),
        ({"policy": {"deny": ["echo"]}}, None, "policy:deny"),
        ({"callers": {"gateway": {"deny": ["a/*"]}}}, None, "caller:deny"),
    ],
)
def test_headers_that_differ_are_recorded_and_tell_nothing_of_a_tool_that_is_denied(
    rules: dict[str, Any], code: int | None, rule: str
) -> None:
    async def main() -> tuple[Any, list[str], int]:
        async with gateway_of(policy("a", **rules), a=ScriptedLink(marked_server)) as gateway:
            client = Client(gateway, "gateway", lambda _: None)
            client.headers = []
            found = await asked(client, "tools/call", name="a_echo", arguments={"text": "hi"}, _meta=META)
            entries = gateway.door.store.look(lambda tables: list(tables.entries()))
            told = [json.decode(one.body)["rule"] for one in entries if one.kind in ("refused", "waiting")]
            return found, told, gateway.recorded

    found, recorded, count = asyncio.run(main())
    assert (found.get("code"), recorded, count) == (code, [rule], 1)
    assert ("Mcp-Param" in str(found)) is (code is not None)
