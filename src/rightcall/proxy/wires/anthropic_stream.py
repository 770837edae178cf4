"""A stream of Anthropic's messages: blocks that begin, grow and end, each with a number.

Where a block is left out, all later ones move up; calls that were lifted out of the text come after the last.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from rightcall.proxy.events import DROP, SAME, Delta, Ending, Event, Kind
from rightcall.proxy.wire import Usage
from rightcall.proxy.wires.anthropic_blocks import (
    event_of,
    grows,
    input_piece,
    input_read,
    reframed,
    stop_reason,
    text_piece,
    tool_use,
    usage_of,
    usage_with,
)
from rightcall.proxy.wires.common import Object, an_object, decoded
from rightcall.text.framing import ServerSentEvents, payload
from rightcall.types import Call


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


class _Message(Struct):
    usage: Any = None


class _Happened(Struct):
    """What matters of an event. The rest is not even decoded, as long as nothing changes."""

    type: str = ""
    index: int = 0
    content_block: _Block | None = None
    delta: _Piece | None = None
    message: _Message | None = None
    usage: Any = None


_happened = msgspec.json.Decoder(_Happened)


class AnthropicStream:
    """Reads and writes events. Blocks of other types than `text` and `tool_use` pass, only their numbers may change."""

    text_alone = True

    def __init__(self) -> None:
        self.framing = ServerSentEvents()
        self._blocks: dict[int, tuple[Kind, int]] = {}  # index → what it ends with, and which block it is
        self._begun = 0
        self._finished = False
        self._usage: Object = {}
        self._places: dict[int, int | None] = {}  # index → the one the client knows, None where it was left out
        self._moved = False
        self._next = 0
        self._ending: Ending | None = None

    @property
    def usage(self) -> Usage:
        return usage_of(self._usage)

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
                self._count(happened.message.usage if happened.message is not None else None)
            case "message_delta":
                self._count(happened.usage)
                reason = happened.delta.stop_reason if happened.delta is not None else None
                return self._finish(str(reason)) if reason is not None else []
            case "message_stop" if not self._finished:  # a server that gives no reason
                return self._finish("")
            case _:
                pass
        return []

    def _count(self, usage: Any) -> None:
        """Counts are of the whole answer so far; one that is left out is still the one that was told before."""
        self._usage |= {key: count for key, count in (an_object(usage) or {}).items() if count is not None}

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
                whole = grows(place, input_piece(delta.new))
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
        written = [self._block({"type": "text", "text": ""}, text_piece(ending.text))] if ending.text else []
        written += [self._block({**tool_use(call), "input": {}}, input_piece(call)) for call in ending.calls]
        if reason:
            delta = {"stop_reason": stop_reason("end_turn", ending), "stop_sequence": None}
            written.append(event_of({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 0}}))
        return b"".join(written)

    def _block(self, block: Object, piece: Object) -> bytes:
        place = self._next
        self._next += 1
        start = event_of({"type": "content_block_start", "index": place, "content_block": block})
        return start + grows(place, piece) + event_of({"type": "content_block_stop", "index": place})

    def _with_usage(self, data: Object, extra: Usage | None) -> Object:
        """With tokens of other tries. Those of the prompt may have been told at the beginning only."""
        given = an_object(data.get("usage"))
        if given is None or extra is None:
            return data
        if given.get("input_tokens") is None and "input_tokens" in self._usage:
            given = {**given, "input_tokens": self._usage["input_tokens"]}
        return {**data, "usage": usage_with(given, extra)}
