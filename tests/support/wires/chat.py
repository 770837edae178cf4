"""Chat completions to test the engine with: streams of any cut, and what a client makes of them."""

from typing import Any, NamedTuple

from msgspec import json

from rightcall.gate.gate import Gate
from rightcall.policy.watch import load_policy
from rightcall.proxy.flow import Editor, Flow
from rightcall.proxy.gates import Gates, Settler
from rightcall.proxy.wires.openai_chat import OpenAIChat

WIRE = OpenAIChat()


def tool(name: str, required: list[str], **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "required": required, "properties": properties}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


WEATHER = tool("weather", ["city"], city={"type": "string"}, days={"type": "integer"})
READ = tool("Read", ["file_path"], file_path={"type": "string"}, limit={"type": "number"})
TOOLS = json.encode([WEATHER, READ])


def gate_for(tools: bytes = TOOLS, policy: Any = None) -> Gate:
    gate = Gates(load_policy(policy), "local").of(tools)
    assert gate is not None
    return gate


GATE = gate_for()


class Seen(NamedTuple):
    """What a client has when the stream is over; ids are left out, since new ones are random."""

    text: str
    calls: list[tuple[str, Any]]
    finish: str | None
    ids: list[str]


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    body = {
        "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "x_unknown": {"k": [1]},
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
    }  # fmt: skip
    return b"data: " + json.encode(body | more) + b"\n\n"


def text_stream(pieces: list[str], finish: str = "stop") -> bytes:
    texts = b"".join(chunk({"content": piece}) for piece in pieces)
    return chunk({"role": "assistant", "content": ""}) + texts + chunk({}, finish) + b"data: [DONE]\n\n"


def call_stream(*calls: tuple[str, str, str | None], cut: int = 4) -> bytes:
    """Native calls: name, text of the arguments, id."""
    out = [chunk({"role": "assistant", "content": None})]
    for index, (name, arguments, call_id) in enumerate(calls):
        function = {"name": name, "arguments": ""}
        out.append(chunk({"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]}))
        for at in range(0, len(arguments), cut):
            piece = {"index": index, "function": {"arguments": arguments[at : at + cut]}}
            out.append(chunk({"tool_calls": [piece]}))
    return b"".join([*out, chunk({}, "tool_calls"), b"data: [DONE]\n\n"])


def settler(gate: Gate = GATE, *, observe: bool = False) -> Settler:
    return Settler(gate, observe=observe, new_id=WIRE.new_id)


def fed(data: bytes, sizes: list[int], flow: Flow) -> bytes:
    """The bytes through an editor, cut into pieces of these sizes; the last takes the rest."""
    editor = Editor(WIRE.stream(), flow)
    out: list[bytes] = []
    at = 0
    for size in sizes:
        out.append(editor.feed(data[at : at + size]))
        at += size
    return b"".join([*out, editor.feed(data[at:]), editor.close()])


def through(data: bytes, *sizes: int, **settings: Any) -> bytes:
    return fed(data, list(sizes), Flow(settler(), **settings))


def seen(data: bytes) -> Seen:
    """As a client adds up the chunks."""
    text, finish = "", None
    calls: dict[int, list[str]] = {}
    for event in data.split(b"\n\n"):
        if not event.startswith(b"data: {"):
            continue
        for choice in json.decode(event[6:])["choices"]:
            delta = choice["delta"]
            text += delta.get("content") or ""
            finish = choice["finish_reason"] or finish
            for piece in delta.get("tool_calls") or []:
                call = calls.setdefault(piece["index"], ["", "", ""])
                call[0] += piece.get("id") or ""
                call[1] += piece["function"].get("name") or ""
                call[2] += piece["function"].get("arguments") or ""
    return Seen(
        text, [(name, _decoded(arguments)) for _, name, arguments in calls.values()], finish,
        [call_id for call_id, _, _ in calls.values()],
    )  # fmt: skip


def whole_answer(text: str, finish: str = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "finish_reason": finish}]
    return {"id": "c1", "object": "chat.completion", "choices": choices, "x_unknown": 1}


def seen_whole(answer: dict[str, Any], **settings: Any) -> Seen:
    event = WIRE.whole(answer)
    assert event is not None
    flow = Flow(settler(), **settings)
    flow.take(event)
    flow.end()
    choice = WIRE.written(event)["choices"][0]
    calls = choice["message"].get("tool_calls") or []
    return Seen(
        choice["message"]["content"] or "",
        [(call["function"]["name"], _decoded(call["function"]["arguments"])) for call in calls],
        choice["finish_reason"],
        [call["id"] for call in calls],
    )


def _decoded(arguments: str) -> Any:
    try:
        return json.decode(arguments)
    except Exception:  # noqa: BLE001 - what no client could read
        return arguments
