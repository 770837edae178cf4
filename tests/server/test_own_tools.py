"""Tools of the policy's servers in the lists of the proxy: the model calls them, and they run here (X-01, T-10)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from rightcall import Executor, load_policy
from rightcall.proxy.gates import Options
from rightcall.record.memory import MemoryStore
from rightcall.record.tables import Store, read_call
from rightcall.server.access import Access
from rightcall.server.app import Parts, assemble
from rightcall.server.own_tools import OwnTools
from support.proxies import Got, Rig, post, serving
from support.scripted.server import Answer, Failure, NativeCall, ScriptedUpstream, Text
from support.tool_server import server
from support.wires.chat import TOOLS

pytestmark = pytest.mark.promise("X-01", "T-10")

CHAT, RESPONSES, MESSAGES, OLLAMA = "/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat"
ECHO = NativeCall("x_echo", '{"text": "seven geese"}')
WEATHER = NativeCall("weather", '{"city": "Bern"}')
SAID = Answer([Text("It said: seven geese.")])

Opened = Callable[..., Any]


@pytest.fixture
def store() -> Store:
    return MemoryStore()


@pytest.fixture
def opened(tmp_path: Path, store: Store) -> Opened:
    """`with opened(policy, **options) as rig`: the proxy, with the server `x` in its lists."""

    @contextmanager
    def opener(policy: Any = None, **settings: Any) -> Iterator[Rig]:
        whole = {"version": 1, "servers": {"x": server(tmp_path)}, **(policy or {})}
        own = OwnTools(Executor.open(tmp_path, whole, store=store, code=False))
        with ScriptedUpstream() as upstream:
            access = Access(None, bound_to="127.0.0.1")
            service = assemble(upstream.address, load_policy(whole), Options(**settings), access, Parts(own=own))
            with serving(service.app) as address:
                yield Rig(upstream, address, upstream.address)

    return opener


def ask(rig: Rig, path: str = CHAT, *, stream: bool = False, **more: Any) -> Got:
    said = [{"role": "user", "content": "What does it say?"}]
    body = {"model": "m", "stream": stream, "max_tokens": 99, "input" if path == RESPONSES else "messages": said}
    return post(rig.address, path, body | more)


def asked(rig: Rig, nth: int) -> Any:
    return json.decode(rig.upstream.requests[nth].body)


def recorded(store: Store) -> list[tuple[str, str]]:
    entries = [one for one in store.look(lambda t: list(t.entries())) if one.kind in ("begin", "waiting", "refused")]
    return [(body.tool, body.decision) for body in (read_call(one.body) for one in entries)]


@pytest.mark.parametrize("path", [CHAT, RESPONSES, MESSAGES, OLLAMA])
@pytest.mark.parametrize("stream", [False, True])
def test_over_every_api_the_model_is_offered_them_and_its_call_runs_here(
    opened: Opened, store: Store, path: str, stream: bool
) -> None:
    with opened() as rig:
        rig.upstream.play([Answer([Text("One moment. "), ECHO]), SAID])
        got = ask(rig, path, stream=stream)
        first, second = asked(rig, 0), asked(rig, 1)
    listed = [one.get("name") or one["function"]["name"] for one in first["tools"]]
    assert listed == ["x_echo", "x_fail", "x_save", "x_wait"]
    assert "seven geese" in json.encode(second["messages" if path != RESPONSES else "input"][-1]).decode()
    assert got.status == 200
    text = got.body.decode()
    assert "geese" in text
    seen = "function_call" if path == RESPONSES else "x_echo"  # Responses tell the request's tools in every answer
    assert seen not in text, "the client never sees the call"
    assert recorded(store) == [("x/echo", "allow")]
    if not stream:
        assert got.headers["x-rightcall"] == "ran=1"
    elif path != OLLAMA:
        assert ": rightcall ran=1" in text


def test_a_stream_ends_for_the_reason_of_the_last_answer(opened: Opened) -> None:
    with opened() as rig:
        rig.upstream.play([Answer([Text("One moment. "), ECHO]), SAID])
        lines = ask(rig, stream=True).body.decode().split("\n\n")
    events = [json.decode(one.removeprefix("data: ")) for one in lines if one.startswith("data: {")]
    reasons = [choice["finish_reason"] for event in events for choice in event["choices"] if choice["finish_reason"]]
    text = "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])
    assert (reasons, text) == (["stop"], "One moment. It said: seven geese.")


def test_a_broken_call_and_one_in_the_text_run_too(opened: Opened, store: Store) -> None:
    with opened() as rig:
        broken = Answer([NativeCall("X.echo", "{'text': 'seven geese',}")])
        written = Answer([Text('<tool_call>{"name": "x_echo", "arguments": {"text": "and a swan"}}</tool_call>')])
        rig.upstream.play([broken, written, SAID])
        got = ask(rig)
        assert "and a swan" in asked(rig, 2)["messages"][-1]["content"]
    message = got.json["choices"][0]["message"]
    assert (message["content"], message.get("tool_calls")) == ("It said: seven geese.", None)
    assert recorded(store) == [("x/echo", "allow")] * 2


def test_the_clients_own_calls_go_on_to_it_and_its_names_are_its_own(opened: Opened, store: Store) -> None:
    with opened() as rig:
        tools = json.decode(TOOLS)
        mine = {"type": "function", "function": {"name": "x_echo", "parameters": {"type": "object"}}}
        rig.upstream.play([Answer([ECHO])])
        got = ask(rig, tools=[*tools, mine])
        assert [call["function"]["name"] for call in got.json["choices"][0]["message"]["tool_calls"]] == ["x_echo"]
        assert recorded(store) == []
        rig.upstream.play([Answer([ECHO, WEATHER]), SAID])
        got = ask(rig, tools=tools)
    choice = got.json["choices"][0]
    assert [call["function"]["name"] for call in choice["message"]["tool_calls"]] == ["weather"]
    assert choice["finish_reason"] == "tool_calls"
    assert recorded(store) == [("x/echo", "allow")]


def test_the_policy_decides_who_is_offered_what_and_what_runs(opened: Opened, store: Store) -> None:
    with opened({"policy": {"deny": ["x/fail"]}}) as rig:
        rig.upstream.play([Answer([NativeCall("x_save", '{"text": "a"}')]), Answer([Text("It needs you.")])])
        got = ask(rig)
        assert "x_fail" not in json.encode(asked(rig, 0)["tools"]).decode()
        assert "approv" in json.encode(asked(rig, 1)["messages"][-1]).decode()
    assert got.json["choices"][0]["message"]["content"] == "It needs you."
    assert [decision for _, decision in recorded(store)] == ["ask"]


def test_a_model_that_never_stops_calling_gets_no_more_than_its_rounds(opened: Opened, store: Store) -> None:
    with opened({"policy": {"rounds": 2}}) as rig:
        rig.upstream.play([Answer([ECHO])] * 9)
        got = ask(rig)
        assert "used up (2)" in asked(rig, 3)["messages"][-1]["content"]
        assert len(rig.upstream.requests) == 4
    assert got.status == 502
    assert "tool rounds" in got.json["error"]["message"]
    assert len(recorded(store)) == 2


def test_a_server_that_fails_after_a_call_ran_is_an_error_not_half_an_answer(opened: Opened) -> None:
    with opened() as rig:
        rig.upstream.play([Answer([ECHO]), Failure(500, "oh no")])
        assert ask(rig).status == 502
        rig.upstream.play([Answer([Text("One moment. "), ECHO]), Failure(500, "oh no")])
        text = ask(rig, stream=True).body.decode()
    assert "gave no answer after its tool calls had run" in text
    assert "x_echo" not in text


@pytest.mark.parametrize(("settings", "more"), [({"observe": True}, {}), ({}, {"tool_choice": "none"}), ({}, {"n": 2})])
def test_nothing_is_added_where_nothing_may_change(opened: Opened, settings: Any, more: Any) -> None:
    with opened(**settings) as rig:
        rig.upstream.play([SAID])
        ask(rig, **more)
        assert "tools" not in asked(rig, 0)
