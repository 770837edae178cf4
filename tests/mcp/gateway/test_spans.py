"""One trace from a client's request through judgement, approval and server, and back: the gateway's spans."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from msgspec import json

from rightcall.mcp.gateway.gateway import Gateway
from rightcall.mcp.messages import read
from support.gateways import POLICY, ScriptedLink, asked, call, gateway_of, greeted, old_server, once, run
from support.traces import CONTENT, ON, PARENT, SPAN, TRACE, Kept, followed, id_of, parent_of, told, traceparent

pytestmark = pytest.mark.promise("H-11")

HTTP = "00-11111111111111111111111111111111-2222222222222222-01"


@pytest.fixture
def kept() -> Iterator[Kept]:
    with followed() as found:
        yield found


def through(
    ask: Callable[[Gateway], Awaitable[Any]], link: ScriptedLink | None = None, **more: Any
) -> Any:  # fmt: skip
    async def main() -> Any:
        async with gateway_of({**POLICY, **ON, **more}, a=link or ScriptedLink()) as gateway:
            return await ask(gateway)

    return asyncio.run(main())


def calling(**params: Any) -> Callable[[Gateway], Awaitable[Any]]:
    async def ask(gateway: Gateway) -> Any:
        given = {"name": "a_echo", "arguments": {"text": "hi"}, **params}
        return await asked(await greeted(gateway), "tools/call", **given)

    return ask


def test_one_trace_goes_from_the_client_to_the_server(kept: Kept) -> None:
    link = ScriptedLink()
    through(calling(_meta={"traceparent": PARENT, "tracestate": "a=1", "baggage": "user=ann"}), link)
    served, called = kept.one("tools/call a_echo", "SERVER"), kept.one("tools/call echo", "CLIENT")
    judged = kept.one("rightcall.judge")
    assert {one.context.trace_id for one in kept.spans if one.context} == {TRACE}
    assert (parent_of(served), parent_of(judged), parent_of(called)) == (SPAN, id_of(served), id_of(served))
    meta = link.said("tools/call")[0]["params"]["_meta"]
    assert (meta["traceparent"], meta["tracestate"], meta["baggage"]) == (traceparent(called), "a=1", "user=ann")
    assert told(served) == {
        "mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "a_echo",
        "mcp.protocol.version": "2025-11-25", "network.transport": "pipe", "jsonrpc.request.id": "1",
        "rightcall.caller": "gateway", "rightcall.repair.count": 0, "rightcall.decision": "allow",
        "rightcall.rule": told(served)["rightcall.rule"], "rightcall.record": told(served)["rightcall.record"],
    }  # fmt: skip
    assert told(called)["rightcall.server"] == "a"
    assert told(called)["network.transport"] == "pipe"


def test_the_older_name_of_the_context_is_read_too(kept: Kept) -> None:
    through(calling(_meta={"fastmcp.traceparent": PARENT}))
    assert parent_of(kept.one("tools/call a_echo")) == SPAN


@pytest.mark.parametrize("given", [{}, {"traceparent": "nonsense"}, {"traceparent": 7}, {"traceparent": "0" * 9000}])
def test_a_context_that_nobody_can_read_begins_a_new_trace(kept: Kept, given: Any) -> None:
    through(calling(_meta=given))
    assert kept.one("tools/call a_echo").parent is None


def test_a_request_of_the_new_era_is_followed_alike(kept: Kept) -> None:
    through(lambda gateway: once(gateway, "tools/call", name="a_echo", arguments={"text": "hi"}))
    assert told(kept.one("tools/call a_echo"))["mcp.protocol.version"] == "2026-07-28"


def test_repairs_of_a_call_are_told(kept: Kept) -> None:
    through(calling(arguments="{'text': 'hi',}"))
    assert told(kept.one("tools/call a_echo"))["rightcall.repair.rules"] == ("single_quotes", "trailing_comma")


def test_a_refused_call_is_a_tool_error_and_reaches_no_server(kept: Kept) -> None:
    through(calling(arguments={}))
    span = kept.one("tools/call a_echo")
    assert (told(span)["error.type"], told(span)["rightcall.decision"]) == ("tool_error", "deny")
    assert "CLIENT" not in {one.kind.name for one in kept.spans}


def test_a_name_that_is_no_tools_is_never_told(kept: Kept) -> None:
    through(calling(name="s3cret"))
    assert kept.names == ["tools/call"]
    assert "s3cret" not in str(told(kept.one("tools/call")))


def test_an_error_of_the_protocol_is_told_by_its_code(kept: Kept) -> None:
    through(calling(name=7))
    span = kept.one("tools/call")
    assert (told(span)["error.type"], told(span)["rpc.response.status_code"]) == ("-32602", "-32602")
    assert "params.name" in (span.status.description or "")


def test_a_result_that_says_it_is_an_error_is_one_on_both_sides(kept: Kept) -> None:
    def failing(method: str, params: dict[str, Any]) -> Any:
        return {"isError": True, "content": []} if method == "tools/call" else old_server(method, params)

    through(calling(), ScriptedLink(failing))
    errors = [told(one).get("error.type") for one in kept.spans if one.name.startswith("tools/call")]
    assert errors == ["tool_error", "tool_error"]


def test_the_wait_for_a_person_is_within_the_trace(kept: Kept) -> None:
    async def ask(gateway: Gateway) -> Any:
        heard: list[bytes] = []
        client = await greeted(gateway, capabilities={"elicitation": {}}, heard=heard)
        running = asyncio.create_task(asked(client, "tools/call", name="a_echo", arguments={"text": "hi"}))
        while not heard:
            await asyncio.sleep(0)
        question = json.decode(heard[0])
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"ok": True}}}
        message = read(json.encode(answer))
        assert message is not None
        client.answered(message)
        return await running

    answer = through(ask, policy={"approval": {"tools": ["a/echo"]}})
    assert answer["content"][0]["text"] == "hi"
    assert kept.names == [
        "tools/call a_echo", "rightcall.judge", "rightcall.approval", "rightcall.judge", "tools/call echo",
    ]  # fmt: skip
    waiting = kept.one("rightcall.approval")
    assert parent_of(waiting) == id_of(kept.spans[0])
    assert told(kept.spans[0])["rightcall.approval.id"] == told(waiting)["rightcall.approval.id"]


def test_other_requests_are_followed_by_their_method(kept: Kept) -> None:
    async def ask(gateway: Gateway) -> Any:
        client = await greeted(gateway)
        await asked(client, "tools/list")
        await asked(client, "resources/read", uri="file:///x")

    through(ask)
    assert kept.names[:2] == ["tools/list", "resources/read"]
    assert told(kept.one("resources/read", "SERVER"))["mcp.resource.uri"] == "file:///x"


def test_durations_of_both_sides_are_in_histograms(kept: Kept) -> None:
    through(calling())
    for side, name in (("server", "a_echo"), ("client", "echo")):
        points = kept.points(f"mcp.{side}.operation.duration")
        mine = [one for one in points if one.attributes.get("gen_ai.tool.name") == name]
        assert mine
        assert mine[0].explicit_bounds == (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)


def test_content_is_told_only_where_that_is_asked_for(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    through(calling(arguments={"text": "my words"}))
    assert "my words" not in str([told(one) for one in kept.spans])
    monkeypatch.setenv(CONTENT, "SPAN_ONLY")
    through(calling(arguments={"text": "my words, password=hunter2hunter2"}))
    span = kept.spans[-3]
    assert "my words" in told(span)["gen_ai.tool.call.arguments"]
    assert "my words" in told(span)["gen_ai.tool.call.result"]
    assert "hunter2" not in str([told(one) for one in kept.spans])


def test_an_http_request_around_it_is_a_link_or_the_parent_where_nothing_else_is_named(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")

    async def work(site: Any) -> None:
        own = await site.session()
        kept.exporter.clear()
        await site.ask(body=call(_meta={"traceparent": PARENT}), **own, traceparent=HTTP)
        await site.ask(body=call(id=2), **own, traceparent=HTTP)

    run(work)
    first, second = [one for one in kept.spans if one.kind.name == "SERVER"]
    assert parent_of(first) == SPAN
    assert [f"{link.context.span_id:016x}" for link in first.links] == ["2" * 16]
    assert (parent_of(second), second.links) == (int("2" * 16, 16), ())
    assert told(first)["network.transport"] == "tcp"


def test_nothing_is_told_to_servers_where_telemetry_is_off(kept: Kept) -> None:
    async def main() -> Any:
        link = ScriptedLink()
        async with gateway_of(POLICY, a=link) as gateway:
            await calling()(gateway)
        return link.said("tools/call")[0]["params"].get("_meta", {})

    assert "traceparent" not in asyncio.run(main())
    assert kept.names == []
