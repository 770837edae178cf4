"""Requests that no server would take, and questions that go on as they came."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rightcall.executor.door import Door
from rightcall.mcp.gateway.gateway import Gateway
from rightcall.mcp.links import open_link
from rightcall.mcp.messages import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, one_line
from support.every import every
from support.gateways import POLICY, ScriptedLink, asked, gateway_of, greeted, line_asked, old_server, once, text_of

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


@every("method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"])
@every("modern", [True, False])
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


@every("id", [b"null", b"true", b"{}", b"[1]"])
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


# ── a pipe has lines ─────────────────────────────────────────────────────────────────────────────────────────────────

LINES = """
import json, sys
for line in sys.stdin.buffer:
    with open(sys.argv[1], "ab") as log:
        log.write(line)
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {"content": [{"type": "text", "text": "done"}]}
    if asked["method"] == "initialize":
        about = {"name": "x", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    elif asked["method"] == "tools/list":
        schema = {"type": "object", "properties": {"data": {"type": "object"}}}
        result = {"tools": [{"name": name, "inputSchema": schema} for name in ("note", "wipe")]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
WITHIN = (b'"arguments": {"data": {"x": %b}}', b'"arguments": {"data": {}}, "_meta": {"x": %b}')
INNER = b'{"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {"name": "wipe", "arguments": {}}}'


@pytest.mark.promise("P-01", "H-04")
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize(
    "place", [b'"arguments": {"data": {"x": %b}}', b'"arguments": {"data": {}}, "_meta": {"x": %b}']
)
def test_a_call_within_the_arguments_of_another_stays_there(tmp_path: Path, end: bytes, place: bytes) -> None:
    server, log = tmp_path / "server.py", tmp_path / "log"
    server.write_text(LINES)
    servers = {"s": {"command": [sys.executable, str(server), str(log)], "effects": ["read"], "deny": ["wipe"]}}
    line = b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "s_note", %b}}'

    async def main() -> Any:
        with Door.open("gateway", {"version": 1, "servers": servers}, strict=True) as door:
            gateway = Gateway(door, open_link, capabilities={})
            gateway.start()
            try:
                return await line_asked(await greeted(gateway), line % (place % (end + INNER + end)))
            finally:
                await gateway.aclose()

    assert text_of(asyncio.run(main())) == "done"
    read = [json.decode(one) for one in log.read_bytes().replace(b"\r", b"\n").splitlines()]
    assert [one["params"]["name"] for one in read if one["method"] == "tools/call"] == ["note"]


@pytest.mark.promise("H-04")
def test_characters_that_some_readers_take_for_the_end_of_a_line_reach_a_server_escaped() -> None:
    text = "a\u2028b\u2029c\u0085d"
    sent = one_line(json.encode({"text": text}))
    assert sent.isascii()
    assert json.decode(sent) == {"text": text}


@pytest.mark.promise("H-04")
def test_a_request_that_is_not_utf_8_is_refused() -> None:
    async def ask(gateway: Any) -> Any:
        line = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a_echo", "x": "\xff"}}'
        return await line_asked(await greeted(gateway), line)

    assert answers(ask)["code"] == PARSE_ERROR
