"""Requests to models in a trace, through the real server; and the same figures at `/metrics`."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rightcall import Executor, load_policy
from rightcall.base.telemetry.conventions import MODEL
from rightcall.executor.door import Door
from rightcall.mcp.gateway.shared import SharedGateway
from rightcall.mcp.links import open_link
from rightcall.proxy.gates import Options
from rightcall.server.access import Access
from rightcall.server.app import Parts, assemble
from rightcall.server.mcp import Endpoint
from rightcall.server.own_tools import OwnTools
from rightcall.server.spans import FirstEvent
from support.gateways import HELLO
from support.proxies import Rig, post, proxied, request, serving
from support.scripted.server import Answer, Dies, Failure, NativeCall, ScriptedUpstream, Text
from support.tool_server import server
from support.traces import CONTENT, ON, PARENT, SPAN, Kept, followed, id_of, parent_of, told, traceparent
from support.wires.chat import TOOLS

pytestmark = pytest.mark.promise("H-11")

CHAT, RESPONSES, MESSAGES, OLLAMA = "/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat"
BROKEN = Answer([NativeCall("weather", "{'city': 'Bern',}")])


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    with followed() as found:
        yield found


def ask(address: str, path: str = CHAT, *, stream: bool = False, tools: bool = True, **headers: str) -> Any:
    said = [{"role": "user", "content": "my words"}]
    body: dict[str, Any] = {"model": "tiny", "stream": stream, "input" if path == RESPONSES else "messages": said}
    body |= {"stream_options": {"include_usage": True}} if stream else {}
    return post(address, path, body | ({"tools": json.decode(TOOLS)} if tools else {}), headers)


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_to_a_model_is_one_span_and_the_upstream_is_told_of_it(kept: Kept, stream: bool) -> None:
    with proxied() as rig:
        rig.upstream.play([BROKEN])
        ask(rig.address, stream=stream, traceparent=PARENT, baggage="user=ann")
        sent = dict(rig.upstream.requests[0].headers)
    span = kept.one("chat tiny")
    assert (span.kind.name, parent_of(span)) == ("CLIENT", SPAN)
    assert (sent["traceparent"], sent["baggage"]) == (traceparent(span), "user=ann")
    found = told(span)
    assert found["gen_ai.operation.name"] == "chat"
    assert (found["gen_ai.request.model"], found["gen_ai.usage.input_tokens"]) == ("tiny", 21)
    assert found["gen_ai.response.finish_reasons"] == ("tool_calls",)
    assert found["rightcall.repair.count"] == 2
    assert found["http.response.status_code"] == 200
    assert {"gen_ai.response.id", "gen_ai.response.model"} <= found.keys()


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES, OLLAMA])
def test_a_streamed_answer_tells_its_id_and_model_as_a_whole_one_does(kept: Kept, path: str) -> None:
    with proxied() as rig:
        rig.upstream.play([Answer([Text("Hi")]), Answer([Text("Hi")])])
        for stream in (False, True):
            ask(rig.address, path, stream=stream)
    whole, streamed = ({key for key in told(one) if key.startswith("gen_ai.response.")} for one in kept.spans)
    assert "gen_ai.response.model" in whole
    assert whole <= streamed


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_the_first_event_is_heard_however_it_is_cut(size: int) -> None:
    stream = b'event: message_start\ndata: {"type": "message_start", "message": {"id": "m1", "model": "tiny"}}\n\n'
    stream += b'event: ping\ndata: {"id": "later"}\n\n'
    first = FirstEvent()
    for at in range(0, len(stream), size):
        first.hear(stream[at : at + size])
    assert first.answer == {"id": "m1", "model": "tiny"}, "and nothing after it"


@pytest.mark.parametrize("path", [RESPONSES, MESSAGES, OLLAMA])
def test_every_api_is_followed(kept: Kept, path: str) -> None:
    with proxied() as rig:
        rig.upstream.play([Answer([Text("Hi")])])
        ask(rig.address, path, tools=False)
    assert told(kept.one("chat tiny"))["rightcall.wire"]


def test_what_went_wrong_is_told_in_one_word(kept: Kept) -> None:
    with proxied() as rig:
        rig.upstream.play([Failure(429, "slow down"), Dies(Answer([Text("Hi")]), 0)])
        ask(rig.address)
        ask(rig.address)
    assert [told(one)["error.type"] for one in kept.spans] == ["429", "broken"]
    assert {one.status.status_code.name for one in kept.spans} == {"ERROR"}


def test_other_paths_are_none_of_its_business(kept: Kept) -> None:
    with proxied() as rig:
        request("GET", rig.address, "/v1/models")
    assert kept.names == []


def test_messages_are_told_only_where_that_is_asked_for(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    with proxied() as rig:
        rig.upstream.play([Answer([Text("their words")])])
        ask(rig.address)
    assert "words" not in str([told(one) for one in kept.spans])
    kept.exporter.clear()
    monkeypatch.setenv(CONTENT, "SPAN_ONLY")
    with proxied() as rig:
        rig.upstream.play([Answer([Text("their words, key sk-ant-api03-0123456789abcdefghijklmnopqrstuv")])])
        ask(rig.address)
    found = told(kept.one("chat tiny"))
    asked = json.decode(found["gen_ai.input.messages"])
    assert asked == [{"role": "user", "parts": [{"type": "text", "content": "my words"}]}]
    assert "their words" in found["gen_ai.output.messages"]
    assert "sk-ant-api03" not in str(found)


def test_instructions_and_tools_are_content_too(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"model": "tiny", "system": "be brief", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9}
    tools = [
        {"name": "weather", "description": "key sk-ant-api03-0123456789abcdefghijklmnopqrstuv", "input_schema": {}}
    ]
    for content in ("", "SPAN_ONLY"):
        monkeypatch.setenv(CONTENT, content)
        with proxied() as rig:
            rig.upstream.play([Answer([Text("hello")])])
            post(rig.address, MESSAGES, {**body, "tools": tools}, {})
    without, found = map(told, kept.spans)
    assert not {"gen_ai.system_instructions", "gen_ai.tool.definitions"} & set(without)
    assert json.decode(found["gen_ai.system_instructions"]) == [{"type": "text", "content": "be brief"}]
    assert json.decode(found["gen_ai.tool.definitions"])[0]["name"] == "weather"
    assert "sk-ant-api03" not in str(found)


@pytest.mark.parametrize("stream", [False, True])
def test_tokens_are_counted_by_their_type_and_model(kept: Kept, stream: bool) -> None:
    def counted() -> dict[str, int]:
        points = [one for one in kept.points("gen_ai.client.token.usage") if one.attributes[MODEL] == model]
        assert all(one.attributes["gen_ai.operation.name"] == "chat" for one in points)
        assert all(one.explicit_bounds[:3] == (1, 4, 16) for one in points)
        return {one.attributes["gen_ai.token.type"]: one.sum for one in points}

    model = f"counted-{stream}"
    with proxied() as rig:
        rig.upstream.play([BROKEN])
        said = {"model": model, "stream": stream, "messages": [{"role": "user", "content": "hi"}]}
        more = {"stream_options": {"include_usage": True}} if stream else {}
        post(rig.address, CHAT, said | more | {"tools": json.decode(TOOLS)}, {})
    usage = told(kept.one(f"chat {model}"))
    assert counted() == {
        "input": usage["gen_ai.usage.input_tokens"], "output": usage["gen_ai.usage.output_tokens"],
    }  # fmt: skip


def test_the_duration_has_the_name_that_is_asked_for(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked_once() -> None:
        with proxied() as rig:
            rig.upstream.play([Answer([Text("Hi")])])
            ask(rig.address)

    asked_once()
    assert "tiny" in {one.attributes["gen_ai.request.model"] for one in kept.points("gen_ai.client.operation.duration")}
    assert not kept.points("gen_ai.client.inference.duration")
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "http, gen_ai_latest_experimental")
    asked_once()
    assert kept.points("gen_ai.client.inference.duration")


@contextmanager
def whole_server(folder: Path, policy: Any) -> Iterator[Rig]:
    """The proxy with the tools of a server in its lists, and the gateway beside it."""
    whole = {"version": 1, "servers": {"x": server(folder)}, **policy}
    own = OwnTools(Executor.open(folder, whole, store="memory", code=False))
    door = Door.open("gateway", whole, strict=True, store="memory")
    mcp = Endpoint(SharedGateway(door, open_link))
    with ScriptedUpstream() as upstream:
        access = Access(None, bound_to="127.0.0.1")
        parts = Parts(own=own, mcp=mcp)
        service = assemble(upstream.address, load_policy(whole), Options(), access, parts)
        with serving(service.app) as address:
            yield Rig(upstream, address, upstream.address)


def test_the_tools_that_the_proxy_runs_belong_to_the_same_trace(kept: Kept, tmp_path: Path) -> None:
    with whole_server(tmp_path, ON) as rig:
        rig.upstream.play([Answer([NativeCall("x_echo", '{"text": "geese"}')]), Answer([Text("It said geese.")])])
        ask(rig.address, tools=False, traceparent=PARENT)
    chat, call = kept.one("chat tiny"), kept.one("execute_tool x_echo")
    assert (parent_of(chat), parent_of(call)) == (SPAN, id_of(chat))
    assert (told(call)["mcp.method.name"], told(call)["rightcall.server"]) == ("tools/call", "x")
    assert "CLIENT" not in {one.kind.name for one in kept.spans if one.name.startswith("tools/call")}


def test_the_figures_for_prometheus_cover_the_same_without_telemetry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OTEL_TRACES_EXPORTER", raising=False)
    with whole_server(tmp_path, {}) as rig:
        rig.upstream.play([Answer([NativeCall("x_echo", "{'text': 'geese',}")]), Answer([Text("It said geese.")])])
        ask(rig.address, tools=False)
        hello = post(rig.address, "/mcp", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
        params = {"name": "x_echo", "arguments": "{'text': 'hi',}"}
        own = {"mcp-session-id": hello.headers["mcp-session-id"]}
        post(rig.address, "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, own)
        shown = request("GET", rig.address, "/metrics").body.decode()
    for line in (
        'gen_ai_execute_tool_duration_seconds_count{gen_ai_tool_name="x_echo"} 1',
        'mcp_client_operation_duration_seconds_bucket{gen_ai_operation_name="execute_tool",gen_ai_tool_name="echo",',
        'gen_ai_tool_name="x_echo",mcp_method_name="tools/call",mcp_protocol_version="2025-11-25"',
        'gen_ai_client_operation_duration_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name=',
        'rightcall_repairs_total{rule="single_quotes"} 2',
        'rightcall_decisions_total{decision="allow",rule=',
    ):
        assert line in shown


@pytest.mark.long
def test_promtool_reads_the_figures_and_has_nothing_to_complain_of(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    assert promtool, "promtool is missing: run `make tests-long`, which fetches it"
    with whole_server(tmp_path, {}) as rig:
        rig.upstream.play([BROKEN, Failure(500, "no")])
        ask(rig.address)
        ask(rig.address, MESSAGES)
        hello = post(rig.address, "/mcp", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
        params = {"name": "x_echo", "arguments": "{'text': 'hi',}"}
        own = {"mcp-session-id": hello.headers["mcp-session-id"]}
        post(rig.address, "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, own)
        shown = request("GET", rig.address, "/metrics").body
    assert b"mcp_server_operation_duration_seconds_bucket" in shown
    done = subprocess.run([promtool, "check", "metrics"], input=shown, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
