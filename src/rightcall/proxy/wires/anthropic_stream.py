"""A stream of Anthropic's messages: blocks that begin, grow and end, each with a number.

Where a block is left out, all later ones move up; calls that were lifted out of the text come after the last.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct

from rightcall.proxy.events import DROP, SAME, Delta, Ending, Event, Kind
from rightcall.proxy.framing import ServerSentEvents, payload, sse
from rightcall.proxy.wire import Usage
from rightcall.proxy.wires.common import Object, a_number, added, an_object, decoded, encode, random_id
from rightcall.types import Call

CUT_OFF = frozenset({"max_tokens", "model_context_window_exceeded", "refusal"})
"""Ends that stay what they are, whatever was found before them."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


class _Block(Struct):
    type: str = ""
    text: Any = None
    id: Any = None
    name: Any = None
    input: Any = None


class _Piece(Struct):
    type: str | None = None
    text: Any = None
    partial_json: Any = None
    stop_reason: Any = None


class _Usage(Struct):
    input_tokens: Any = None


class _Message(Struct):
    usage: _Usage | None = None


class _Happened(Struct):
    """What matters of an event. The rest is not even decoded, as long as nothing changes."""

    type: str = ""
    index: int = 0
    content_block: _Block | None = None
    delta: _Piece | None = None
    message: _Message | None = None


_happened = msgspec.json.Decoder(_Happened)


class AnthropicStream:
    """Reads and writes events. Blocks of other types than `text` and `tool_use` pass, only their numbers may change."""

    def __init__(self) -> None:
        self.framing = ServerSentEvents()
        self._blocks: dict[int, tuple[Kind, int]] = {}  # index → what it ends with, and which block it is
        self._begun = 0
        self._finished = False
        self._prompt: int | None = None
        self._places: dict[int, int | None] = {}  # index → the one the client knows, None where it was left out
        self._moved = False
        self._next = 0
        self._ending: Ending | None = None

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────

    def read(self, raw: bytes) -> Event:
        data = payload(raw)
        if not data.startswith(b"{"):
            return Event(raw)
        try:
            happened = _happened.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return Event(raw)
        return Event(raw, self._read(happened), happened)

    def _read(self, happened: _Happened) -> list[Delta]:
        match happened.type:
            case "content_block_delta":
                return self._grown(happened)
            case "content_block_start":
                return self._started(happened)
            case "content_block_stop":
                end, block = self._blocks.pop(happened.index, (None, 0))
                return [Delta(end, lane=block, key=block)] if end is not None else []
            case "message_start":
                usage = happened.message.usage if happened.message is not None else None
                self._prompt = a_number(usage.input_tokens) if usage is not None else None
            case "message_delta" if happened.delta is not None and happened.delta.stop_reason is not None:
                return self._finish(str(happened.delta.stop_reason))
            case "message_stop" if not self._finished:  # a server that gives no reason
                return self._finish("")
            case _:
                pass
        return []

    def _finish(self, reason: str) -> list[Delta]:
        self._finished = True
        return [Delta(Kind.FINISH, text=reason)]

    def _started(self, happened: _Happened) -> list[Delta]:
        block = happened.content_block or _Block()
        self._begun += 1
        self._blocks.pop(happened.index, None)
        if block.type == "text":
            self._blocks[happened.index] = Kind.SHUT, self._begun
            text = [Delta(Kind.TEXT, lane=self._begun, text=block.text)] if type(block.text) is str else []
            return [Delta(Kind.OPEN, lane=self._begun), *text]
        if block.type == "tool_use":
            self._blocks[happened.index] = Kind.DONE, self._begun
            given = input_read(block.input) if block.input else ""  # an empty one is filled by the pieces
            return [Delta(Kind.CALL, key=self._begun, name=block.name, id=block.id, arguments=given)]
        return []

    def _grown(self, happened: _Happened) -> list[Delta]:
        piece = happened.delta
        end, block = self._blocks.get(happened.index, (None, 0))
        if piece is None:
            return []
        if end is Kind.SHUT and piece.type == "text_delta" and type(piece.text) is str:
            return [Delta(Kind.TEXT, lane=block, text=piece.text)]
        if end is Kind.DONE and piece.type == "input_json_delta" and type(piece.partial_json) is str:
            return [Delta(Kind.MORE, key=block, arguments=piece.partial_json)]
        return []

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────

    def write(self, event: Event, usage: Usage | None) -> bytes:
        happened = event.data
        if happened is None:
            return event.raw
        match happened.type:
            case "content_block_delta":
                return self._write_piece(event, happened.index)
            case "content_block_start":
                return self._write_start(event, happened.index)
            case "content_block_stop":
                place = self._places.get(happened.index, happened.index)
                return self._placed(event.raw, happened.index, place)
            case "message_delta":
                return self._write_end(event, usage)
            case "message_stop":
                return self._ended(event, reason=True) + event.raw
            case _:
                return event.raw

    def _write_start(self, event: Event, index: int) -> bytes:
        if event.deltas and event.deltas[0].new is DROP:
            self._places[index] = None
            self._moved = True
            return b""
        place = self._next if self._moved else index
        self._places[index] = place
        self._next = max(self._next, place + 1)
        if event.same:
            return self._placed(event.raw, index, place)
        data = decoded(payload(event.raw)) or {}
        block = dict(an_object(data.get("content_block")) or {})
        whole = b""
        for delta in event.deltas:
            if delta.kind is Kind.TEXT and delta.new is not SAME:
                block["text"] = delta.new
            elif isinstance(delta.new, Call):
                block |= {"id": delta.new.id, "name": delta.new.name, "input": {}}
                whole = _grows(place, _input_piece(delta.new))
        return reframed(event.raw, {**data, "index": place, "content_block": block}) + whole

    def _write_piece(self, event: Event, index: int) -> bytes:
        place = self._places.get(index, index)
        if event.same or place is None:
            return self._placed(event.raw, index, place)
        delta = event.deltas[0]
        text = delta.text if delta.new is SAME else delta.new
        if delta.kind is not Kind.TEXT or not text:
            return b""
        data = decoded(payload(event.raw)) or {}
        piece = an_object(data.get("delta")) or {}
        return reframed(event.raw, {**data, "index": place, "delta": {**piece, "text": text}})

    def _placed(self, raw: bytes, index: int, place: int | None) -> bytes:
        """An event of a block as it came, except for the block's number."""
        if place == index:
            return raw
        data = decoded(payload(raw)) if place is not None else None
        return b"" if data is None else reframed(raw, {**data, "index": place})

    def _write_end(self, event: Event, usage: Usage | None) -> bytes:
        before = self._ended(event)
        if usage is None and self._ending is None:
            return event.raw
        data = decoded(payload(event.raw))
        if data is None:
            return before + event.raw
        delta = an_object(data.get("delta"))
        if delta is not None and self._ending is not None and delta.get("stop_reason") is not None:
            data = {**data, "delta": {**delta, "stop_reason": stop_reason(delta["stop_reason"], self._ending)}}
        return before + reframed(event.raw, self._with_usage(data, usage))

    def _ended(self, event: Event, *, reason: bool = False) -> bytes:
        """What comes before the end: the text, and each call whole; and the reason where the server gives none."""
        ending = next((delta.new for delta in event.deltas if isinstance(delta.new, Ending)), None)
        if ending is None:
            return b""
        self._ending = ending
        written = [self._block({"type": "text", "text": ""}, _text_piece(ending.text))] if ending.text else []
        written += [self._block({**tool_use(call), "input": {}}, _input_piece(call)) for call in ending.calls]
        if reason:
            delta = {"stop_reason": stop_reason("end_turn", ending), "stop_sequence": None}
            written.append(_event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 0}}))
        return b"".join(written)

    def _block(self, block: Object, piece: Object) -> bytes:
        place = self._next
        self._next += 1
        start = _event({"type": "content_block_start", "index": place, "content_block": block})
        return start + _grows(place, piece) + _event({"type": "content_block_stop", "index": place})

    def _with_usage(self, data: Object, extra: Usage | None) -> Object:
        """Its counts are of the whole answer, and one that it leaves out is the one of the beginning."""
        given = an_object(data.get("usage"))
        if given is None or extra is None:
            return data
        if given.get("input_tokens") is None and self._prompt is not None:
            given = {**given, "input_tokens": self._prompt}
        return {**data, "usage": usage_with(given, extra)}


# ── what whole answers need too ──────────────────────────────────────────────────────────────────────────────────


def input_read(given: Any) -> Any:
    """The arguments of a block. APIs give an object; a text in its place is a mistake that the gate has to see, so it
    is shown what stands there: the JSON of a text.

    >>> input_read({"n": 1}), input_read("{}")
    ({'n': 1}, '"{}"')
    """
    if isinstance(given, str):
        return encode(given).decode()
    return "" if given is None else given


def tool_use(call: Call) -> Object:
    """A block for a call. Ids that models write into their text may be none that the API takes back."""
    given = call.id if call.id and _ID.fullmatch(call.id) else new_id()
    return {"type": "tool_use", "id": given, "name": call.name, "input": call.arguments}


def new_id() -> str:
    return random_id("toolu_")


def stop_reason(given: Any, ending: Ending) -> Any:
    """`tool_use` where there are calls, and only there; what was cut off stays cut off."""
    if ending.calls:
        return given if given in CUT_OFF else "tool_use"
    return "end_turn" if given == "tool_use" else given


def usage_with(usage: Object, extra: Usage) -> Object:
    """Counts with those of other tries added. What was read from a cache there counts as input here: the sum is right,
    and the cache's own counts stay those of this answer."""
    more = {"input_tokens": extra.prompt, "output_tokens": extra.completion}
    return {**usage, **{key: added(usage[key], count) for key, count in more.items() if key in usage}}


# ── framing ──────────────────────────────────────────────────────────────────────────────────────────────────────


def reframed(raw: bytes, data: Object) -> bytes:
    """An event with other data: its name, its line ends and whatever else stands beside the data stay."""
    old = payload(raw)
    if raw.count(old) == 1:
        return raw.replace(old, encode(data))
    return sse(encode(data), str(data.get("type")))


def _event(data: Object) -> bytes:
    return sse(encode(data), data["type"])


def _grows(place: int, piece: Object) -> bytes:
    return _event({"type": "content_block_delta", "index": place, "delta": piece})


def _text_piece(text: str) -> Object:
    return {"type": "text_delta", "text": text}


def _input_piece(call: Call) -> Object:
    return {"type": "input_json_delta", "partial_json": encode(call.arguments).decode()}
