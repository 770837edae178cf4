"""The picture of one trace for docs/operate/telemetry.md, drawn from the spans of a real one.

A client calls a tool through a real gateway, with arguments that need a repair, and a person approves it; client and
server are played in memory and have spans of their own. Times differ from run to run, so they are replaced by fixed
ones, and the bars are not to scale.
"""

import asyncio
import sys
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from msgspec import json
from opentelemetry import trace
from opentelemetry.propagate import extract, inject
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind

from rightcall.mcp.messages import read
from support.gateways import ScriptedLink, asked, gateway_of, greeted, policy
from support.traces import ON, Kept, followed, id_of, parent_of

COLOURS = {
    "light": {"text": "#1f2328", "faint": "#656d76", "line": "#d0d7de", "bars": ("#8c959f", "#0969da", "#1a7f37")},
    "dark": {"text": "#e6edf3", "faint": "#8d96a0", "line": "#30363d", "bars": ("#6e7681", "#4493f8", "#3fb950")},
}
WIDTH, LEFT, ROW, TOP = 980, 420, 46, 34
LEAVES = {
    "rightcall.judge": (60, "1 ms"),
    "rightcall.approval": (230, "4.2 s"),
    "tools/call save SERVER": (70, "80 ms"),
}
"""By name: the width of the bar, and the time beside it."""
SHOWN = {
    "rightcall.repair.count": "repairs", "rightcall.decision": "decision", "rightcall.rule": "rule",
    "rightcall.approval.answer": "approval", "rightcall.server": "server",
}  # fmt: skip
"""The attributes that are drawn, and in short."""
TOOL = {"name": "save", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}


class Bar(NamedTuple):
    depth: int
    start: float
    end: float
    label: str
    about: str
    time: str
    side: int
    """0: the client, 1: RightCall, 2: the server."""


def answering(method: str, params: dict[str, Any]) -> Any:
    """The server, with a span of its own that belongs to what `_meta` names."""
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    tracer = trace.get_tracer("server")
    with tracer.start_as_current_span("tools/call save", extract(params["_meta"]), SpanKind.SERVER):
        return {"content": [{"type": "text", "text": "saved"}]}


async def client_calls() -> None:
    rules = policy("notes", **ON) | {"policy": {"approval": {"tools": ["notes/save"]}}}
    async with gateway_of(rules, notes=ScriptedLink(answering)) as gateway:
        heard: list[bytes] = []
        client = await greeted(gateway, capabilities={"elicitation": {}}, heard=heard)
        with trace.get_tracer("client").start_as_current_span("tools/call notes_save", kind=SpanKind.CLIENT):
            meta: dict[str, str] = {}
            inject(meta)
            broken = "{'text': 'buy milk',}"
            calling = asked(client, "tools/call", name="notes_save", arguments=broken, _meta=meta)
            running = asyncio.create_task(calling)
            while not heard:
                await asyncio.sleep(0)
            question = json.decode(heard[0])
            said = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"ok": True}}}
            message = read(json.encode(said))
            assert message is not None
            client.answered(message)
            await running


def one_trace() -> list[ReadableSpan]:
    with followed() as kept:
        asyncio.run(client_calls())
        return only_of_call(kept)


def only_of_call(kept: Kept) -> list[ReadableSpan]:
    (root,) = [one for one in kept.spans if one.name == "tools/call notes_save" and one.kind is SpanKind.CLIENT]
    assert root.context is not None
    return [one for one in kept.spans if one.context is not None and one.context.trace_id == root.context.trace_id]


def laid_out(spans: list[ReadableSpan]) -> list[Bar]:
    """Depth first, every child after the one before it."""
    children: dict[int | None, list[ReadableSpan]] = {}
    for span in spans:
        children.setdefault(parent_of(span), []).append(span)
    bars: list[Bar] = []

    def place(span: ReadableSpan, depth: int, start: float) -> float:
        at = len(bars)
        bars.append(bar(span, depth, start, start))
        end = start + 8
        for child in children.get(id_of(span), []):
            end = place(child, depth + 1, end) + 8
        width, time = LEAVES.get(span.name, LEAVES.get(f"{span.name} {span.kind.name}", (0, "")))
        end = max(end, start + width)
        bars[at] = bars[at]._replace(end=end, time=time)
        return end

    place(spans[0], 0, 0.0)
    return bars


def bar(span: ReadableSpan, depth: int, start: float, end: float) -> Bar:
    told = dict(span.attributes or {})
    about = " · ".join(f"{short}: {told[key]}" for key, short in SHOWN.items() if told.get(key))
    kind = "" if span.kind is SpanKind.INTERNAL else f" · {span.kind.name}"
    scope = span.instrumentation_scope.name if span.instrumentation_scope is not None else ""
    return Bar(depth, start, end, span.name + kind, about, "", {"client": 0, "server": 2}.get(scope, 1))


def draw_trace(theme: str) -> str:
    """The picture, without anything from elsewhere."""
    colours: Any = COLOURS[theme]
    bars = laid_out(one_trace())
    scale = (WIDTH - LEFT - 70) / max(one.end for one in bars)
    height = TOP + ROW * len(bars) + 10
    lines = [
        f'<svg viewBox="0 0 {WIDTH} {height}" xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif">',
        f"<title>One trace: {escape(bars[0].label)}</title>",
    ]
    for at, name in enumerate(("the client", "RightCall", "the server")):
        x = LEFT + at * 130
        lines.append(f'<rect x="{x}" y="8" width="12" height="12" rx="3" fill="{colours["bars"][at]}"/>')
        lines.append(f'<text x="{x + 18}" y="19" font-size="13" fill="{colours["faint"]}">{name}</text>')
    for row, one in enumerate(bars):
        y, indent = TOP + row * ROW, 8 + one.depth * 16
        x, wide = LEFT + one.start * scale, max((one.end - one.start) * scale, 6)
        fill = colours["bars"][one.side]
        lines += [
            f'<line x1="0" y1="{y}" x2="{WIDTH}" y2="{y}" stroke="{colours["line"]}"/>',
            words(indent, y + 20, 14, colours["text"], one.label),
            words(indent, y + 37, 11, colours["faint"], one.about),
            f'<rect x="{x:.0f}" y="{y + 12}" width="{wide:.0f}" height="18" rx="4" fill="{fill}"/>',
            words(round(x + wide + 6), y + 26, 12, colours["faint"], one.time),
        ]
    return "\n".join([*lines, "</svg>", ""])


def words(x: int, y: int, size: int, fill: str, text: str) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}">{escape(text)}</text>'
