"""Driving the wire of OpenAI's Responses by hand: a scripted stream in, what the client gets out."""

from importlib import import_module
from typing import Any, NamedTuple

import msgspec
import openai

from rightcall.base.http.answers import payload
from rightcall.policy.watch import load_policy
from rightcall.proxy.flow import Editor, Flow
from rightcall.proxy.gates import Gates, Settler
from rightcall.proxy.wires.openai_responses import OpenAIResponses
from support.scripted import responses as scripted_responses
from support.scripted.parts import Answer, Part, event

httpx: Any = import_module(openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
"""What the official client is built on: one of two packages, by its version."""

WIRE = OpenAIResponses()
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "name": "weather",
        "strict": False,
        "parameters": {
            "type": "object",
            "required": ["city"],
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        },
    },
    {"type": "function", "name": "now", "parameters": None, "strict": True},
    {"type": "web_search"},
    {"type": "custom", "name": "sql", "format": {"type": "text"}},
]
REQUEST: dict[str, Any] = {"model": "m", "input": "How is Bern?", "tools": TOOLS, "stream": True}
CALL = '<tool_call>{"name": "weather", "arguments": {"city": "Bern", "days": "3"}}</tool_call>'


_gate = Gates(load_policy(None), "local").of(msgspec.json.encode(TOOLS))
assert _gate is not None
GATE = _gate


def editor(**options: Any) -> Editor:
    return Editor(WIRE.stream(), Flow(Settler(GATE, new_id=WIRE.new_id), **options))


def through(data: bytes, *cuts: int, **options: Any) -> bytes:
    """The stream as the client gets it, when it arrives in pieces that end here."""
    used = editor(**options)
    out = [used.feed(data[start:end]) for start, end in zip((0, *cuts), (*cuts, len(data)), strict=True)]
    return b"".join(out) + used.close()


def stream(*parts: Part, **more: Any) -> bytes:
    return b"".join(scripted_responses.events(Answer(list(parts), **more), REQUEST))


def whole(*parts: Part, **more: Any) -> dict[str, Any]:
    return msgspec.json.decode(scripted_responses.whole(Answer(list(parts), **more), REQUEST))


def answered(answer: dict[str, Any], **options: Any) -> dict[str, Any]:
    """A whole answer as the client gets it."""
    event = WIRE.whole(answer)
    assert event is not None
    flow = Flow(Settler(GATE, new_id=WIRE.new_id), **options)
    flow.take(event)
    flow.end()
    assert flow.ready() == [event]
    return WIRE.written(event)


def events(data: bytes) -> list[dict[str, Any]]:
    pieces = [payload(piece + b"\n\n") for piece in data.split(b"\n\n") if piece]
    return [msgspec.json.decode(piece) for piece in pieces if piece.startswith(b"{")]


def sse(*happened: dict[str, Any], named: bool = True) -> bytes:
    return b"".join(event(one["type"] if named else None, one) for one in happened)


def numbered(*happened: dict[str, Any]) -> bytes:
    return sse(*[{**one, "sequence_number": number} for number, one in enumerate(happened)])


class Heard(NamedTuple):
    """What a client knows after a stream: the items when they were done, and the response at the end."""

    items: list[dict[str, Any]]
    final: dict[str, Any]


def heard(data: bytes) -> Heard:
    """Puts a stream together, and insists on everything that the service guarantees about one."""
    happened = events(data)
    assert [one["sequence_number"] for one in happened] == list(range(len(happened)))
    added: list[dict[str, Any]] = []
    pieces: dict[tuple[int, int], str] = {}
    done: dict[int, dict[str, Any]] = {}
    for one in happened:
        at, kind = one.get("output_index"), one["type"]
        if kind == "response.output_item.added":
            assert at == len(added)
            added.append(one["item"])
        elif at is not None:
            assert one.get("item_id", added[at]["id"]) == added[at]["id"]
        if at is None:
            continue
        here = at, one.get("content_index", 0)
        if kind in ("response.output_text.delta", "response.function_call_arguments.delta"):
            pieces[here] = pieces.get(here, "") + one["delta"]
        elif kind == "response.output_text.done":
            assert one["text"] == pieces[here]
        elif kind == "response.content_part.done" and one["part"]["type"] == "output_text":
            assert one["part"]["text"] == pieces[here]
        elif kind == "response.function_call_arguments.done":
            assert one["arguments"] == pieces[here]
        elif kind == "response.output_item.done":
            done[at] = one["item"]
    for at, begun in enumerate(added):
        item = done[at]
        assert (begun["id"], begun["type"]) == (item["id"], item["type"])
        if item["type"] == "function_call":
            assert (begun["name"], begun["call_id"], begun["arguments"]) == (item["name"], item["call_id"], "")
            assert item["arguments"] == pieces[at, 0]
        for nth, part in enumerate(item.get("content", ())):
            assert part["text"] == pieces[at, nth]
    items = [done[at] for at in sorted(done)]
    final = happened[-1]["response"]
    assert [strip(item) for item in final["output"]] == [strip(item) for item in items]
    return Heard(items, final)


def told(output: list[dict[str, Any]]) -> list[Any]:
    """An output in short: texts, calls as (name, arguments), other items by their type."""
    return [_told(item) for item in output]


def _told(item: dict[str, Any]) -> Any:
    if item["type"] == "message":
        return "|".join(part["text"] for part in item["content"])
    return (item["name"], item["arguments"]) if item["type"] == "function_call" else item["type"]


def strip(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != "status"}


def accumulated(data: bytes) -> dict[str, Any]:
    """The response as the official client's stream helper puts it together."""

    reply = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=data)
    with (
        httpx.Client(transport=httpx.MockTransport(lambda _: reply)) as http,
        openai.OpenAI(api_key="-", base_url="http://127.0.0.1:1", http_client=http) as client,
        client.responses.stream(model="m", input="x") as running,
    ):
        return running.get_final_response().to_dict()
