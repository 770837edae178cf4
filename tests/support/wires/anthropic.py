"""What the tests of the Anthropic wire share: tools, answers as streams or whole, and how a real client reads them."""

from collections.abc import Iterable
from importlib import import_module
from itertools import pairwise
from typing import Any

import anthropic
from msgspec import json

from rightcall.policy.watch import load_policy
from rightcall.proxy.flow import Editor, Flow
from rightcall.proxy.gates import Gates, Settler
from rightcall.proxy.wires.anthropic import Anthropic
from rightcall.proxy.wires.common import Event
from support.scripted import anthropic as scripted_anthropic
from support.scripted.parts import Answer, Part, event

TOOLS = [
    {
        "name": "weather",
        "description": "The weather of a city.",
        "input_schema": {
            "type": "object",
            "required": ["city"],
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        },
    },
    {"name": "now", "input_schema": {"type": "object", "properties": {}}},
    {"type": "web_search_20250305", "name": "web_search"},
]
WIRE = Anthropic()
_gates = Gates(load_policy(None), "local")
_gate = _gates.of(json.encode(TOOLS))
assert _gate is not None
GATE = _gate
REQUEST = {"model": "claude-test"}

httpx: Any = import_module(anthropic.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
"""What the official client is built on: one of two packages, by its version."""

LIFTED_CALL = '<tool_call>{"name": "weather", "arguments": {"city": "Bern", "days": "3"}}</tool_call>'


def flow(**settings: Any) -> Flow:
    return Flow(Settler(GATE, new_id=WIRE.new_id), **settings)


def streamed(answer: Answer) -> bytes:
    return b"".join(scripted_anthropic.events(answer, REQUEST))


def editor(**settings: Any) -> Editor:
    return Editor(WIRE.stream(), flow(**settings))


def through(data: bytes, cuts: Iterable[int] = (), **settings: Any) -> bytes:
    """What the client gets of a stream that arrives in these pieces."""
    running = editor(**settings)
    places = [0, *sorted(cuts), len(data)]
    pieces = [running.feed(data[start:end]) for start, end in pairwise(places)]
    return b"".join(pieces) + running.close()


def through_whole(answer: dict[str, Any], **settings: Any) -> tuple[dict[str, Any], Event]:
    """What the client gets of a whole answer, and the event it was."""
    event = WIRE.whole(answer)
    assert event is not None
    running = flow(**settings)
    running.take(event)
    running.end()
    assert running.ready() == [event]
    return WIRE.written(event), event


def message_of(*parts: Part, **settings: Any) -> dict[str, Any]:
    return json.decode(scripted_anthropic.whole(Answer(list(parts), **settings), REQUEST))


def data_of(stream: bytes) -> list[dict[str, Any]]:
    """The events of a stream, which must be framed as the service frames them."""
    found: list[dict[str, Any]] = []
    for one in stream.split(b"\n\n")[:-1]:
        name, data = one.split(b"\n")
        found.append(json.decode(data.removeprefix(b"data: ")))
        assert name.decode() == f"event: {found[-1]['type']}"
    return found


def accumulated(stream: bytes) -> dict[str, Any]:
    """The message that the official client puts together from these bytes."""
    reply = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=stream)
    transport = httpx.MockTransport(lambda _: reply)
    with (
        httpx.Client(transport=transport) as http,
        anthropic.Anthropic(api_key="none", base_url="http://127.0.0.1:1", http_client=http) as client,
        client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "?"}]) as running,
    ):
        return running.get_final_message().to_dict()


def told(message: dict[str, Any]) -> list[Any]:
    """A message in short: texts, calls as (name, input), other blocks by their type; and why it ended."""
    return [*[_told(block) for block in message["content"]], message["stop_reason"]]


def _told(block: dict[str, Any]) -> Any:
    if block["type"] == "text":
        return block["text"]
    return (block["name"], block["input"]) if block["type"] == "tool_use" else block["type"]


def happened(*events: dict[str, Any]) -> bytes:
    return b"".join(event(one["type"], one) for one in events)


def block_events(index: int, block: dict[str, Any], *pieces: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *[{"type": "content_block_delta", "index": index, "delta": piece} for piece in pieces],
        {"type": "content_block_stop", "index": index},
    ]


BEGIN: dict[str, Any] = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 1},
    },
}


def answered(*events: dict[str, Any]) -> bytes:
    end = {"stop_reason": "tool_use", "stop_sequence": None}
    last = [{"type": "message_delta", "delta": end, "usage": {"output_tokens": 9}}, {"type": "message_stop"}]
    return happened(BEGIN, *events, *last)
