"""What the events of a stream of OpenAI's Responses say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw, Struct

from rightcall.proxy.events import Delta, Event, Kind
from rightcall.proxy.wire import Usage
from rightcall.proxy.wires.common import Object, a_list, a_number, an_object, decoded
from rightcall.proxy.wires.openai_responses_items import (
    FUNCTION_CALL,
    MESSAGE,
    OUTPUT_TEXT,
    Item,
    Output,
    Part,
    call_delta,
    is_foreign,
    is_index,
)
from rightcall.text.framing import payload

ITEM_ADDED, ITEM_DONE = "response.output_item.added", "response.output_item.done"
PART_ADDED, PART_DONE = "response.content_part.added", "response.content_part.done"
TEXT_DELTA, TEXT_DONE = "response.output_text.delta", "response.output_text.done"
ARGUMENTS_DELTA, ARGUMENTS_DONE = "response.function_call_arguments.delta", "response.function_call_arguments.done"
FINAL = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})


class _Happened(Struct):
    """What matters of an event. The rest is not even decoded, as long as nothing changes."""

    type: str = ""
    output_index: Any = None
    content_index: Any = None
    item_id: Any = None
    delta: Any = None
    text: Any = None
    arguments: Any = None
    item: Any = None
    part: Any = None
    response: Raw = Raw()


_happened = msgspec.json.Decoder(_Happened)


class About:
    """What an event is about, for the time when it is written."""

    __slots__ = ("item", "items", "part", "type")

    def __init__(self, type: str, item: Item | None = None, part: Part | None = None) -> None:
        self.type = type
        self.item = item
        self.part = part
        self.items: list[Item | None] = []  # those of the final list


class Reader:
    """Reads events. A native call is complete when its item is."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.usage = Usage()
        self._where: Any = None
        self._last: About | None = None  # where the last piece of text belonged

    def read(self, raw: bytes) -> Event:
        data = payload(raw)
        if not data.startswith(b"{"):
            return Event(raw)
        try:
            happened = _happened.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return Event(raw)
        read = self._READ.get(happened.type)
        if read is not None:
            return read(self, raw, happened)
        if happened.type in FINAL:
            return self._read_final(raw, happened)
        about = About(happened.type)
        if happened.output_index is not None or happened.item_id is not None:
            about.item = self._output.item(happened.output_index, happened.item_id, "")
            if is_index(happened.content_index):
                about.part = about.item.parts.get(happened.content_index)
        return Event(raw, None, about)

    def _read_text(self, raw: bytes, happened: _Happened) -> Event:
        about = self._about_text(happened)
        part = about.part
        assert part is not None
        if type(happened.delta) is not str:
            return Event(raw, None, about)
        part.read = True
        return Event(raw, [Delta(Kind.TEXT, lane=part.lane, text=happened.delta)], about)

    def _read_text_done(self, raw: bytes, happened: _Happened) -> Event:
        item = self._output.item(happened.output_index, happened.item_id, MESSAGE)
        part = self._output.part(item, happened.content_index)
        return Event(raw, list(self._output.told_text(part, happened.text)), About(happened.type, item, part))

    def _about_text(self, happened: _Happened) -> About:
        """Most events are pieces of the same text as the one before."""
        where = (happened.output_index, happened.content_index, happened.item_id)
        if where != self._where or self._last is None:
            item = self._output.item(happened.output_index, happened.item_id, MESSAGE)
            self._where = where
            self._last = About(happened.type, item, self._output.part(item, happened.content_index))
        return self._last

    def _read_part(self, raw: bytes, happened: _Happened) -> Event:
        item = self._output.item(happened.output_index, happened.item_id, MESSAGE)
        if item.type != MESSAGE:
            return Event(raw, None, About(happened.type, item))
        part = self._output.part(item, happened.content_index)
        given = an_object(happened.part) or {}
        deltas: list[Delta] = []
        if happened.type == PART_DONE and given.get("type") == OUTPUT_TEXT:
            deltas += self._output.told_text(part, given.get("text"))
        elif happened.type == PART_ADDED:
            # another kind of part shows that the message has something to say, so nothing waits for text
            deltas.append(Delta(Kind.OPEN if given.get("type") == OUTPUT_TEXT else Kind.SHUT, lane=part.lane))
        return Event(raw, deltas, About(happened.type, item, part))

    def _read_item(self, raw: bytes, happened: _Happened) -> Event:
        given = an_object(happened.item)
        if given is None:
            return Event(raw, None, About(happened.type))
        self._last = None
        kind = str(given.get("type"))
        begins = happened.type == ITEM_ADDED
        item = None if begins else self._output.item(happened.output_index, given.get("id"), kind)
        if item is None or item.over or item.type != kind:
            item = self._output.new(happened.output_index, given.get("id"), kind)
        about = About(happened.type, item)
        if not begins:
            return Event(raw, list(self._output.told(item, given)), about)
        if kind == MESSAGE:
            return Event(raw, [Delta(Kind.OPEN, lane=self._output.part(item, 0).lane)], about)
        if kind == FUNCTION_CALL and not is_foreign(item, given):
            return Event(raw, [call_delta(item, given, None)], about)
        return Event(raw, None, about)

    def _read_arguments(self, raw: bytes, happened: _Happened) -> Event:
        item = self._output.item(happened.output_index, happened.item_id, FUNCTION_CALL)
        about = About(happened.type, item)
        if item.foreign or item.type != FUNCTION_CALL:
            return Event(raw, None, about)
        piece: Any = "" if item.read else happened.arguments
        if happened.type == ARGUMENTS_DELTA:
            piece = happened.delta
        item.read = item.read or piece is not None
        if not item.begun:
            return Event(raw, [call_delta(item, {}, piece)], about)
        return Event(raw, [Delta(Kind.MORE, key=item.number, arguments="" if piece is None else piece)], about)

    def _read_final(self, raw: bytes, happened: _Happened) -> Event:
        response = decoded(bytes(happened.response)) or {}
        self.usage = usage_of(response)
        about = About(happened.type)
        output = a_list(response.get("output"))
        about.items = self._output.matched(output)
        deltas: list[Delta] = []
        for given, item in zip(output, about.items, strict=True):
            if item is not None:
                deltas += self._output.told(item, an_object(given) or {})
        deltas.append(Delta(Kind.FINISH, text=finish_reason(response)))
        return Event(raw, deltas, about)

    _READ: dict[str, Callable[[Reader, bytes, _Happened], Event]] = {  # noqa: RUF012 - read only
        TEXT_DELTA: _read_text,
        TEXT_DONE: _read_text_done,
        PART_ADDED: _read_part,
        PART_DONE: _read_part,
        ITEM_ADDED: _read_item,
        ITEM_DONE: _read_item,
        ARGUMENTS_DELTA: _read_arguments,
        ARGUMENTS_DONE: _read_arguments,
    }


def finish_reason(response: Object) -> str:
    """Why a response is over: cut off, or as its status says."""
    details = an_object(response.get("incomplete_details")) or {}
    return str(details.get("reason") or response.get("status"))


def usage_of(response: Object) -> Usage:
    """The tokens that a response tells of."""
    usage = an_object(response.get("usage")) or {}
    return Usage(a_number(usage.get("input_tokens")), a_number(usage.get("output_tokens")))
