"""The last resort at the proxy: a call that cannot be repaired is put together, or passes as it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from msgspec import json

from rightcall import load_policy
from rightcall.proxy.gates import Options
from rightcall.record.memory import MemoryStore
from rightcall.record.notes import RESCUE
from rightcall.server.access import Access
from rightcall.server.app import Parts, assemble
from rightcall.server.recording import Backlog, Recording
from support.proxies import Rig, post, serving
from support.scripted.server import Answer, NativeCall, ScriptedUpstream, Text

pytestmark = pytest.mark.promise("L-04")

CHAT = "/v1/chat/completions"
TOOLS = [{"type": "function", "function": {"name": "set_alarm", "parameters": {
    "type": "object", "required": ["new_time"],
    "properties": {"new_time": {"type": "string"}, "new_label": {"type": "string"}}}}}]  # fmt: skip
WRITTEN = '{"new_time": "17:00", "label": "Music"}'
RIGHT = '{"new_time": "17:00", "new_label": "Music"}'
MEANT = {"new_time": "17:00", "new_label": "Music"}


@contextmanager
def rig(says: str, store: MemoryStore | None = None, **settings: Any) -> Iterator[Rig]:
    """A proxy whose policy names a second scripted model as its last resort."""
    with ScriptedUpstream() as upstream, ScriptedUpstream() as other:
        other.play([Answer([Text(says)])])
        llm = {"url": f"{other.address}/v1", "model": "small", "side_effects": True, "timeout": 5}
        policy = load_policy({"gate": {"llm": llm}})
        recording = Recording(store, policy, owned=False, backlog=Backlog(0.0)) if store is not None else None
        access = Access(None, bound_to="127.0.0.1")
        service = assemble(upstream.address, policy, Options(**settings), access, Parts(recording))
        with serving(service.app) as address:
            yield Rig(upstream, address, other.address)


def ask(one: Rig, *parts: Any, stream: bool = False) -> Any:
    one.upstream.play([Answer(list(parts))])
    body = {"model": "m", "messages": [{"role": "user", "content": "Alarm!"}], "tools": TOOLS, "stream": stream}
    got = post(one.address, CHAT, body)
    return got, None if stream else got.json


def calls_of(body: Any) -> list[Any]:
    calls = body["choices"][0]["message"].get("tool_calls") or []
    return [json.decode(call["function"]["arguments"]) for call in calls]


def test_a_native_call_is_put_together_and_told() -> None:
    store = MemoryStore()
    with rig(RIGHT, store) as one:
        got, body = ask(one, NativeCall("set_alarm", WRITTEN))
    assert calls_of(body) == [MEANT]
    assert got.headers["x-rightcall"] == "repaired=1"
    entries = store.look(lambda tables: list(tables.entries()))
    assert sum(RESCUE.encode() in entry.body for entry in entries if entry.kind == "message") == 1
    assert any(b'"strategy":"llm"' in entry.body for entry in entries if entry.kind == "proxied")


def test_a_call_in_the_text_is_put_together() -> None:
    with rig(RIGHT) as one:
        text = f'<tool_call>{{"name": "set_alarm", "arguments": {WRITTEN}}}</tool_call>'
        assert calls_of(ask(one, Text(text))[1]) == [MEANT]


def test_an_answer_that_lies_changes_nothing() -> None:
    with rig('{"new_time": "18:00", "new_label": "Music"}') as one:
        assert calls_of(ask(one, NativeCall("set_alarm", WRITTEN))[1]) == [json.decode(WRITTEN)]


def test_where_it_only_watches_nobody_is_asked() -> None:
    with rig(RIGHT, observe=True) as one:
        assert calls_of(ask(one, NativeCall("set_alarm", WRITTEN))[1]) == [json.decode(WRITTEN)]


def test_a_stream_waits_for_it() -> None:
    with rig(RIGHT) as one:
        got, _ = ask(one, NativeCall("set_alarm", WRITTEN), stream=True)
    assert b"new_label" in got.body
    assert b'"label' not in got.body.replace(b"new_label", b"")
