"""The output of a response: its items, what they said, and what was decided about them.

Streams say everything several times: piece by piece, once more when a part, an item and the answer are over. What was
decided is kept here, so that all of them say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from rightcall.base.http.answers import payload
from rightcall.proxy.wires.common import (
    DROP,
    SAME,
    Delta,
    Event,
    Kind,
    Object,
    Usage,
    a_list,
    an_object,
    arguments_text,
    decode_object,
    objects,
    random_id,
    usage_of,
)
from rightcall.types import Call

MESSAGE, FUNCTION_CALL, OUTPUT_TEXT = "message", "function_call", "output_text"
COUNTS = ("input_tokens", "output_tokens")


class Part(Struct, eq=False):
    """One part of a message."""

    lane: int
    index: int
    read: bool = False  # its text came already: what repeats it is no news
    pieces: list[str] = []  # the text that the client was sent
    rewritten: bool = False
    dead: bool = False  # all of its text was lifted
    at: int | None = None  # the index the client knows it by

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


class Item(Struct, eq=False):
    """One item of the output."""

    number: int
    type: str
    index: int | None  # None: a server that does not count them
    id: str | None
    parts: dict[int, Part] = {}
    begun: bool = False  # a call began
    read: bool = False  # its arguments came
    over: bool = False  # it was told whole
    foreign: bool = False  # a call of a tool in a namespace, which is not among the functions that we know
    fate: Any = None  # of a call: SAME, DROP, or the `Call` in its place
    sent: bool = False  # the arguments of the call in its place left
    held: bytes | None = None  # the event that began it, while nothing of it is left to show
    at: int | None = None


class Output:
    """The items of one response, in the order in which they appeared."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.parts: list[Part] = []
        self._by_index: dict[int, Item] = {}
        self._by_id: dict[str, Item] = {}

    # ── who is who ───────────────────────────────────────────────────────────────────────────────────────────────

    def item(self, index: Any, id: Any, type: str) -> Item:
        """The item that an event is about. Some servers do not count, others give each event another id."""
        placed = self._by_index.get(index) if is_index(index) else None
        found = self._by_id.get(id) if isinstance(id, str) else None
        if found is None or (placed is not None and placed.id == id):
            found = placed
        if found is None and not is_index(index) and not id:
            found = next((item for item in reversed(self.items) if item.type == type and not item.over), None)
        if found is None or (type and found.type and found.type != type):
            return self.new(index, id, type)
        found.type = found.type or type
        return found

    def new(self, index: Any, id: Any, type: str) -> Item:
        own = id if isinstance(id, str) and id else None
        item = Item(len(self.items), type, index if is_index(index) else None, own)
        self.items.append(item)
        if item.index is not None:
            self._by_index[item.index] = item
        if item.id is not None:
            self._by_id[item.id] = item
        return item

    def part(self, item: Item, index: Any) -> Part:
        at = index if is_index(index) else 0
        part = item.parts.get(at)
        if part is None:
            part = item.parts[at] = Part(len(self.parts), at)
            self.parts.append(part)
        return part

    def matched(self, output: list[Any]) -> list[Item | None]:
        """Which item each of the final list is. Some servers change the ids on the way: then the next of its type."""
        given = [an_object(item) or {} for item in output]
        ids = {item["id"] for item in given if isinstance(item.get("id"), str)}
        known = dict(self._by_id)
        others = [item for item in self.items if item.id not in ids]
        found: list[Item | None] = []
        for place, item in enumerate(given):
            kind = str(item.get("type"))
            same = known.pop(item["id"], None) if isinstance(item.get("id"), str) else None
            if same is None or same.type != kind:
                same = next((other for other in others if other.type == kind), None)
                if same is not None:
                    others.remove(same)
            if same is None and kind in (MESSAGE, FUNCTION_CALL):
                same = self.new(place if place not in self._by_index else None, item.get("id"), kind)
            found.append(same)
        return found

    # ── what an item says ────────────────────────────────────────────────────────────────────────────────────────

    def told(self, item: Item, given: Object) -> Iterator[Delta]:
        """An item as a whole: what of it is news, and that it is over."""
        if item.over:
            return
        item.over = True
        if item.type == MESSAGE:
            content = [an_object(part) or {} for part in a_list(given.get("content"))]
            texts = [at for at, part in enumerate(content) if part.get("type") == OUTPUT_TEXT]
            for at in texts:
                yield from self.told_text(self.part(item, at), content[at].get("text"))
            if not texts:
                yield Delta(Kind.SHUT, lane=self.part(item, 0).lane)
        elif item.type == FUNCTION_CALL and not is_foreign(item, given):
            yield call_delta(item, given, None if item.read else given.get("arguments"))
            yield Delta(Kind.DONE, key=item.number)

    def told_text(self, part: Part, text: Any) -> Iterator[Delta]:
        """The text of a part as a whole."""
        if not part.read and isinstance(text, str) and text:
            part.read = True
            yield Delta(Kind.TEXT, lane=part.lane, text=text)
        yield Delta(Kind.SHUT, lane=part.lane)

    # ── what was decided ─────────────────────────────────────────────────────────────────────────────────────────

    def decided(self, delta: Delta) -> None:
        """Keeps what became of a delta. They are to be given in the order in which they were read."""
        if delta.kind is Kind.TEXT:
            part = self.parts[delta.lane]
            if delta.new is SAME:
                part.pieces.append(delta.text)
            else:
                part.pieces.append(delta.new)
                part.rewritten = True
        elif delta.kind is Kind.CALL:
            key: int = delta.key
            item = self.items[key]
            if item.fate is None:
                item.fate = delta.new
        elif delta.new is DROP and (delta.kind is Kind.OPEN or delta.kind is Kind.SHUT):
            self.parts[delta.lane].dead = True


def is_index(value: Any) -> bool:
    return type(value) is int


def is_foreign(item: Item, given: Object) -> bool:
    item.foreign = item.foreign or bool(given.get("namespace"))
    return item.foreign


def call_delta(item: Item, given: Object, arguments: Any) -> Delta:
    item.begun = True
    return Delta(
        Kind.CALL, key=item.number, name=given.get("name"), id=given.get("call_id"),
        arguments="" if arguments is None else arguments,
    )  # fmt: skip


# ── writing items ────────────────────────────────────────────────────────────────────────────────────────────────


def item_written(given: Object, item: Item) -> Object | None:
    """An item as it was decided; None where nothing of it is left, the very object where nothing changed."""
    if item.type == FUNCTION_CALL:
        return None if item.fate is DROP else call_written(given, item.fate) if isinstance(item.fate, Call) else given
    if item.type != MESSAGE or not any(part.dead or part.rewritten for part in item.parts.values()):
        return given
    content = a_list(given.get("content"))
    kept = [part_written(part, item.parts.get(at)) for at, part in enumerate(content)]
    if kept == content:
        return given
    left = [part for part in kept if part is not None]
    return {**given, "content": left} if left or item.at is not None else None


def part_written(given: Any, part: Part | None) -> Any:
    told = an_object(given)
    if told is None or part is None or told.get("type") != OUTPUT_TEXT:
        return given
    if part.dead:
        return None
    return {**told, "text": part.text} if part.rewritten and told.get("text") != part.text else told


def call_written(given: Object, call: Call) -> Object:
    arguments: Any = call.arguments
    if not isinstance(given.get("arguments"), dict):  # a server that sends objects has clients that expect them
        arguments = arguments_text(arguments)
    return {**given, "name": call.name, "call_id": call.id, "arguments": arguments}


def output_written(response: Object, matched: list[Item | None], more: list[Object]) -> Object:
    """A response with its output as decided, and further items at its end."""
    given = response.get("output")
    if not isinstance(given, list):
        return response  # clients put it together from the items that came before
    output: list[Any] = []
    for told, item in zip(a_list(given), matched, strict=True):
        written = told if item is None or not isinstance(told, dict) else item_written(an_object(told) or {}, item)
        if written is not None:
            output.append(written)
    written = {**response, "output": output + more}
    if isinstance(response.get("output_text"), str):
        written["output_text"] = _output_text(written["output"])
    return written


def _output_text(output: list[Any]) -> str:
    """What the official clients call `output_text`, and some servers send."""
    parts = [part for item in objects(output) if item.get("type") == MESSAGE for part in objects(item.get("content"))]
    return "".join(str(part.get("text")) for part in parts if part.get("type") == OUTPUT_TEXT)


def new_items(text: str, calls: tuple[Call, ...]) -> list[Object]:
    """Items for what the server did not send as such."""
    said = [message_item(text)] if text else []
    return said + [call_item(call) for call in calls]


def message_item(text: str) -> Object:
    content: list[Object] = [{"type": OUTPUT_TEXT, "annotations": [], "logprobs": [], "text": text}]
    return {"id": random_id("msg_"), "type": MESSAGE, "status": "completed", "content": content, "role": "assistant"}


def call_item(call: Call) -> Object:
    return {
        "id": random_id("fc_"),
        "type": FUNCTION_CALL,
        "status": "completed",
        "arguments": arguments_text(call.arguments),
        "call_id": call.id,
        "name": call.name,
    }


def ended(response: Object, reason: str) -> Object:
    """The response with another reason to end: that of the answer which stands in for a part of it."""
    if reason in ("completed", "None"):
        return {**response, "status": "completed", "incomplete_details": None}
    return {**response, "status": "incomplete", "incomplete_details": {"reason": reason}}


# ── reading ──
# What the events of a stream of OpenAI's Responses say.

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


class About(Struct, eq=False):
    """What an event is about, for the time when it is written."""

    type: str
    item: Item | None = None
    part: Part | None = None
    items: list[Item | None] = []  # those of the final list


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
        response = decode_object(bytes(happened.response)) or {}
        self.usage = usage_of(response.get("usage"), COUNTS)
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
