"""Anthropic's messages, as Anthropic, Ollama, llama.cpp, LM Studio, vLLM and LiteLLM serve them."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct

from rightcall.base.http.answers import ServerSentEvents, payload, sse
from rightcall.proxy.teaching import as_text, result_text
from rightcall.proxy.wires.common import (
    DROP,
    SAME,
    Choice,
    Delta,
    Ending,
    Event,
    FaultKind,
    Kind,
    Object,
    Redo,
    Usage,
    Wire,
    a_list,
    a_number,
    add_counts,
    an_object,
    arguments_text,
    decode_object,
    encode,
    objects,
    random_id,
)
from rightcall.types import Call

# ── blocks ──
# What whole answers and streams of Anthropic's messages have in common: blocks, counts, reasons, and framing.

CUT_OFF = ("max_tokens", "model_context_window_exceeded", "refusal")
"""Ends that stay what they are, whatever was found before them."""

PROMPT_COUNTS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
"""The three together are the prompt: what is read from a cache, or kept in one, is not in the first."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


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
    given = call.id if call.id and _ID.fullmatch(call.id) else random_id(Anthropic.prefix)
    return {"type": "tool_use", "id": given, "name": call.name, "input": call.arguments}


def stop_reason(given: Any, ending: Ending) -> Any:
    """`tool_use` where there are calls, and only there; what was cut off stays cut off."""
    given = ending.reason or given
    if ending.has_calls:
        return given if given in CUT_OFF else "tool_use"
    return "end_turn" if given == "tool_use" else given


def usage_of(given: Any) -> Usage:
    """The tokens in a `usage` object.

    >>> usage_of({"input_tokens": 1, "cache_read_input_tokens": 20, "output_tokens": 3})
    Usage(prompt=21, completion=3)
    """
    usage = an_object(given) or {}
    prompt = [count for key in PROMPT_COUNTS if (count := a_number(usage.get(key))) is not None]
    return Usage(sum(prompt) if prompt else None, a_number(usage.get("output_tokens")))


def usage_with(usage: Object, extra: Usage) -> Object:
    """Counts with those of other tries added. What was read from a cache there counts as input here: the sum is right,
    and the cache's own counts stay those of this answer."""
    more = {"input_tokens": extra.prompt, "output_tokens": extra.completion}
    return add_counts(usage, more)


# ── framing ──────────────────────────────────────────────────────────────────────────────────────────────────────


def reframe(raw: bytes, data: Object) -> bytes:
    """An event with other data: its name, its line ends and whatever else stands beside the data stay."""
    old = payload(raw)
    if raw.count(old) == 1:
        return raw.replace(old, encode(data))
    return sse(encode(data), str(data.get("type")))


def event_of(data: Object) -> bytes:
    return sse(encode(data), data["type"])


def grows(place: int, piece: Object) -> bytes:
    return event_of({"type": "content_block_delta", "index": place, "delta": piece})


def text_piece(text: str) -> Object:
    return {"type": "text_delta", "text": text}


def input_piece(call: Call) -> Object:
    return {"type": "input_json_delta", "partial_json": arguments_text(call.arguments) or "{}"}


# ── the stream ──
# A stream of Anthropic's messages: blocks that begin, grow and end, each with a number.
#
# Where a block is left out, all later ones move up; calls that were lifted out of the text come after the last.


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
        data = decode_object(payload(event.raw)) or {}
        block = dict(an_object(data.get("content_block")) or {})
        whole = b""
        for delta in event.deltas:
            if delta.kind is Kind.TEXT and delta.new is not SAME:
                block["text"] = delta.new
            elif isinstance(delta.new, Call):
                block |= {"id": delta.new.id, "name": delta.new.name, "input": {}}
                whole = grows(place, input_piece(delta.new))
        return reframe(event.raw, {**data, "index": place, "content_block": block}) + whole

    def _write_piece(self, event: Event, index: int) -> bytes:
        place = self._places.get(index, index)
        if event.same or place is None:
            return self._placed(event.raw, index, place)
        delta = event.deltas[0]
        text = delta.text if delta.new is SAME else delta.new
        if delta.kind is not Kind.TEXT or not text:
            return b""
        data = decode_object(payload(event.raw)) or {}
        piece = an_object(data.get("delta")) or {}
        return reframe(event.raw, {**data, "index": place, "delta": {**piece, "text": text}})

    def _placed(self, raw: bytes, index: int, place: int | None) -> bytes:
        """An event of a block as it came, except for the block's number."""
        if place == index:
            return raw
        data = decode_object(payload(raw)) if place is not None else None
        return b"" if data is None else reframe(raw, {**data, "index": place})

    def _write_end(self, event: Event, usage: Usage | None) -> bytes:
        before = self._ended(event)
        if usage is None and self._ending is None:
            return event.raw
        data = decode_object(payload(event.raw))
        if data is None:
            return before + event.raw
        delta = an_object(data.get("delta"))
        if delta is not None and self._ending is not None and delta.get("stop_reason") is not None:
            data = {**data, "delta": {**delta, "stop_reason": stop_reason(delta["stop_reason"], self._ending)}}
        return before + reframe(event.raw, self._with_usage(data, usage))

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


# ── teaching ──
# Asking a server of Anthropic's messages otherwise: once more with a hint, or with the tools in the prompt.

TOOL_SETTINGS = ("tools", "tool_choice")
SHOWN = 4_000
"""Characters of arguments that nobody can read, shown to the model that wrote them."""

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


# ── once more ────────────────────────────────────────────────────────────────────────────────────────────────────


def _append(messages: list[Any], role: str, blocks: list[Object]) -> None:
    """One more message, or more of the last one where it has the same role: roles take turns."""
    last = an_object(messages[-1]) if messages else None
    if not blocks:
        return
    if last is not None and last.get("role") == role:
        messages[-1] = {**last, "content": _blocks(last.get("content")) + blocks}
    else:
        messages.append({"role": role, "content": blocks})


def _as_written(call: Call) -> Object:
    """A call as the model wrote it, as far as the API can carry it."""
    name = _NOT_IN_A_NAME.sub("_", call.name)[:128] or "unnamed"
    return {"type": "tool_use", "id": call.id, "name": name, "input": _object(call.arguments) or {}}


def _refused(call: Call, hint: str) -> Object:
    """What is wrong with a call; with its arguments, where the API could not carry them."""
    if _object(call.arguments) is None:
        hint = f"{hint}\n\nThe arguments as you wrote them:\n{arguments_text(call.arguments)[:SHOWN]}"
    return {"type": "tool_result", "tool_use_id": call.id, "content": hint, "is_error": True}


def _object(arguments: Any) -> Object | None:
    return decode_object(arguments.encode(errors="replace")) if isinstance(arguments, str) else an_object(arguments)


def _unthinking(request: Object) -> Object:
    """Without the model's thinking: with it, the API wants the signed thoughts before the calls, and no client has
    been sent them yet. What manages thoughts goes with them."""
    kept = {key: value for key, value in request.items() if key != "thinking"}
    managed = an_object(kept.get("context_management"))
    if managed is not None:
        edits = [edit for edit in objects(managed.get("edits")) if "thinking" not in str(edit.get("type"))]
        kept["context_management"] = {**managed, "edits": edits}
        if not edits:
            del kept["context_management"]
    return kept


# ── the tools in the prompt ──────────────────────────────────────────────────────────────────────────────────────


def _instructed(system: Any, prompt: str) -> Any:
    if isinstance(system, list):
        return [*a_list(system), _text(prompt)]
    return f"{system}\n\n{prompt}" if isinstance(system, str) and system else prompt


def _in_text(message: Object) -> Object:
    """A message without native calls: what they said is in its text."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    return {**message, "content": [new for block in a_list(content) for new in _block_in_text(block)]}


def _block_in_text(given: Any) -> list[Any]:
    block = an_object(given) or {}
    if block.get("type") == "tool_use":
        said = _text(as_text([(str(block.get("name")), block.get("input"))]))
        return [said | _cached(block)]
    if block.get("type") != "tool_result":
        return [given]
    content = _blocks(block.get("content"))
    result = "\n".join(str(part["text"]) for part in content if part.get("type") == "text" and "text" in part)
    said = _text(result_text(f"Error: {result}" if block.get("is_error") is True else result))
    others = [part for part in content if part.get("type") != "text"]  # pictures
    return [*others, said | _cached(block)]


def _cached(block: Object) -> Object:
    return {"cache_control": block["cache_control"]} if "cache_control" in block else {}


def _blocks(content: Any) -> list[Object]:
    """A content as blocks: a text is one."""
    if isinstance(content, str):
        return [_text(content)] if content else []
    return objects(content)


def _text(text: str) -> Object:
    return {"type": "text", "text": text}


_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Anthropic(Wire):
    """`/v1/messages`. Counting tokens and batches, whose paths begin alike, are not for us."""

    name = "anthropic"
    path = "/v1/messages"
    prefix = "toolu_"

    def stream(self) -> AnthropicStream:
        return AnthropicStream()

    def choice(self, given: Any) -> Choice:
        kind = (an_object(given) or {}).get("type")
        if kind == "none":
            return "none"
        return "required" if kind in ("any", "tool") else "auto"

    # ── whole answers ────────────────────────────────────────────────────────────────────────────────────────────

    def whole(self, answer: Any) -> Event | None:
        given = an_object(answer) or {}
        if not isinstance(given.get("content"), list):
            return None
        deltas: list[Delta] = []
        for at, block in enumerate(a_list(given["content"])):
            deltas += _block_read(at, an_object(block) or {})
        deltas.append(Delta(Kind.FINISH, text=str(given.get("stop_reason"))))
        return Event(b"", deltas, answer)

    def written(self, event: Event) -> Any:
        answer: Object = dict(event.data)
        blocks: list[Any] = list(a_list(answer["content"]))
        left_out: set[int] = set()
        for delta in event.deltas:
            if delta.new is SAME:
                continue
            if isinstance(delta.new, Ending):
                blocks += [{"type": "text", "text": delta.new.text}] if delta.new.text else []
                blocks += [tool_use(call) for call in delta.new.calls]
                answer["stop_reason"] = stop_reason(answer.get("stop_reason"), delta.new)
            elif delta.new is DROP or _is_blank(delta):
                left_out.add(delta.lane)
            else:
                blocks[delta.lane] = _rewritten(blocks[delta.lane], delta)
        answer["content"] = [block for at, block in enumerate(blocks) if at not in left_out]
        return answer

    def usage(self, answer: Any) -> Usage:
        return usage_of((an_object(answer) or {}).get("usage"))

    def with_usage(self, answer: Any, extra: Usage | None) -> Any:
        usage = an_object((an_object(answer) or {}).get("usage"))
        return answer if usage is None or extra is None else {**answer, "usage": usage_with(usage, extra)}

    # ── asking otherwise ─────────────────────────────────────────────────────────────────────────────────────────

    def again(self, request: Object, redo: Redo) -> Object:
        messages = list(a_list(request.get("messages")))
        said = [_text(redo.prose)] if redo.prose.strip() else []
        if redo.calls:
            _append(messages, "assistant", said + [_as_written(call) for call in redo.calls])
            _append(messages, "user", [_refused(call, hint) for call, hint in zip(redo.calls, redo.hints, strict=True)])
        else:
            _append(messages, "assistant", said)
            _append(messages, "user", [_text(redo.text)])
        return _unthinking({**request, "messages": messages, "stream": False})

    def taught(self, request: Object, prompt: str) -> Object:
        kept = {key: value for key, value in request.items() if key not in TOOL_SETTINGS}
        messages = [_in_text(message) for message in objects(request.get("messages"))]
        return {**kept, "system": _instructed(request.get("system"), prompt), "messages": messages}

    # ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────

    def error(self, status: int, kind: FaultKind, message: str) -> bytes:
        by_status = _ERRORS.get(status, "invalid_request_error" if 400 <= status < 500 else "api_error")
        named = "timeout_error" if kind == "timeout" else by_status
        return encode({"type": "error", "error": {"type": named, "message": message}})

    def stream_error(self, kind: FaultKind, message: str) -> bytes:
        return sse(self.error(502, kind, message), "error")


def _block_read(at: int, block: Object) -> list[Delta]:
    """What a block says. Those of other types are the provider's own affair."""
    kind, text = block.get("type"), block.get("text")
    if kind == "text" and isinstance(text, str):
        return [Delta(Kind.TEXT, lane=at, text=text), Delta(Kind.SHUT, lane=at)]
    if kind != "tool_use":
        return []
    arguments = input_read(block.get("input"))
    begin = Delta(Kind.CALL, lane=at, key=at, name=block.get("name"), id=block.get("id"), arguments=arguments)
    return [begin, Delta(Kind.DONE, lane=at, key=at)]


def _is_blank(delta: Delta) -> bool:
    """Whether nothing is left of a text: APIs refuse such blocks when the client sends them back."""
    return delta.kind is Kind.TEXT and not delta.new.strip()


def _rewritten(block: Object, delta: Delta) -> Object:
    if isinstance(delta.new, Call):
        return {**block, "id": delta.new.id, "name": delta.new.name, "input": delta.new.arguments}
    return {**block, "text": delta.new}
