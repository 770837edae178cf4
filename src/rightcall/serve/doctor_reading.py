"""What a client gets of an answer, and what it would have got through the proxy: the same bytes, read the same way."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from rightcall.gate import Gate
from rightcall.proxy.answering import Editor
from rightcall.proxy.events import Delta, Kind
from rightcall.proxy.flow import Flow
from rightcall.proxy.settle import Did, Settler
from rightcall.proxy.wire import Redo, Usage, Wire
from rightcall.proxy.wires.common import decoded
from rightcall.serve.asking import replacement
from rightcall.text.framing import TooLong
from rightcall.types import Call

Replacement = tuple[str, tuple[Call, ...], list[Did], str | None]


class Emission(Struct, frozen=True):
    """One answer of the server, as it came."""

    status: int
    raw: bytes
    stream: bool
    seconds: float = 0.0


class Native(Struct, frozen=True):
    """A native call as the client sees it."""

    name: Any
    arguments: Any
    id: Any = None


class Message(Struct, frozen=True):
    """What a client reads out of an answer."""

    calls: tuple[Native, ...] = ()
    text: str = ""
    finish: str = ""
    usage: Usage = Usage()
    readable: bool = True


class Through(Struct, frozen=True):
    """What leaves the proxy of an emission."""

    message: Message
    did: tuple[Did, ...] = ()
    redo: Redo | None = None
    """What the model would be told with --retry; None where nothing is broken that could be said again."""


def read(wire: Wire, emission: Emission) -> Message:
    """The answer as a client of this API reads it."""
    if emission.stream:
        return _read_stream(wire, emission.raw)
    answer = decoded(emission.raw)
    event = wire.whole(answer) if answer is not None else None
    if event is None:
        return Message(readable=False)
    return _message(event.deltas, wire.usage(answer))


def through(wire: Wire, gate: Gate, emission: Emission, *, lift: bool, taught: bool = False) -> Through:
    """The same answer, after the engine of the proxy."""
    flow = _flow(wire, gate, lift=lift, hold=False, taught=taught)
    edited = _edited(wire, flow, emission)
    held = _flow(wire, gate, lift=lift, hold=True, taught=taught)
    _edited(wire, held, emission)
    return Through(read(wire, edited), tuple(flow.did), held.redo() if held.broken else None)


def replaced(
    wire: Wire, gate: Gate, first: Emission, second: Emission, *, lift: bool, taught: bool = False
) -> Message | None:
    """What a client gets with --retry: what was right in the first answer stays, and the second stands in for what was
    broken. None where the second is no better, so that the first passes as it is."""
    answer = decoded(second.raw) if second.status < 400 else None
    event = wire.whole(answer) if answer is not None else None
    if event is None:
        return None
    better = _flow(wire, gate, lift=lift, hold=True, taught=taught)
    better.take(event)
    if better.broken:
        return None
    held = _flow(wire, gate, lift=lift, hold=True, taught=taught)
    return read(wire, _edited(wire, held, first, replacement(event, better)))


def _flow(wire: Wire, gate: Gate, *, lift: bool, hold: bool, taught: bool) -> Flow:
    return Flow(Settler(gate, taught=taught, new_id=wire.new_id if wire.new_id() else None), lift=lift, hold=hold)


def _edited(wire: Wire, flow: Flow, emission: Emission, other: Replacement | None = None) -> Emission:
    """What leaves the proxy; `other` stands in for what is broken in an answer that is held."""
    if emission.stream:
        editor = Editor(wire.stream(), flow)
        try:
            raw = editor.feed(emission.raw)
        except TooLong:
            return emission
        if flow.broken and other is not None:
            flow.replace(*other)
        return Emission(emission.status, raw + editor.close(), True)
    answer = decoded(emission.raw)
    event = wire.whole(answer) if answer is not None else None
    if event is None:
        return emission
    flow.take(event)
    if flow.broken and other is not None:
        flow.replace(*other)
    if flow.broken:
        return emission
    return Emission(emission.status, msgspec.json.encode(wire.written(event)), False)


def _read_stream(wire: Wire, raw: bytes) -> Message:
    reader = wire.stream()
    deltas: list[Delta] = []
    try:
        for event in reader.framing.feed(raw):
            deltas += reader.read(event).deltas
    except TooLong:
        return Message(readable=False)
    rest = reader.framing.rest()
    if rest.strip():
        deltas += reader.read(rest).deltas
    return _message(deltas, reader.usage)


def _message(deltas: list[Delta], usage: Usage) -> Message:
    text: list[str] = []
    names: dict[Any, Native] = {}
    pieces: dict[Any, list[Any]] = {}
    finish = ""
    for delta in deltas:
        if delta.kind is Kind.TEXT:
            text.append(delta.text)
        elif delta.kind is Kind.CALL:
            known = names.get(delta.key)
            names[delta.key] = Native((known and known.name) or delta.name, None, (known and known.id) or delta.id)
            pieces.setdefault(delta.key, []).append(delta.arguments)
        elif delta.kind is Kind.MORE:
            pieces.setdefault(delta.key, []).append(delta.arguments)
        elif delta.kind is Kind.FINISH:
            finish = delta.text
    calls = tuple(Native(call.name, _joined(pieces[key]), call.id) for key, call in names.items())
    return Message(calls, "".join(text), finish, usage)


def _joined(pieces: list[Any]) -> Any:
    """Arguments come as pieces of text, or as one object; Anthropic's streams begin with an empty object and go on as
    text."""
    text = "".join(piece for piece in pieces if isinstance(piece, str))
    whole = [piece for piece in pieces if not isinstance(piece, str)]
    return text if text or not whole else whole[-1]
