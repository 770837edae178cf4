"""OpenAI's chat completions, as OpenAI, Ollama, llama.cpp, LM Studio, vLLM and most others serve them."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from rightcall.base.http.answers import ServerSentEvents, payload, sse
from rightcall.proxy.teaching import messages_taught
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
    an_object,
    arguments_text,
    decode_object,
    encode,
    objects,
    usage_of,
    with_tokens,
)
from rightcall.types import Call

# ── the stream ──
# A stream of OpenAI's chat completions: chunks, each with pieces of one or more answers.


class _Function(Struct):
    name: str | None = None
    arguments: Any = None


class _ToolCall(Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(Struct):
    content: Any = None
    tool_calls: list[_ToolCall] | None = None
    function_call: _Function | None = None


class _Choice(Struct):
    index: int = 0
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(Struct):
    """What matters of a chunk. The rest is not even decoded, as long as nothing changes."""

    choices: list[_Choice] | None = None
    usage: Any = None


_chunk = msgspec.json.Decoder(_Chunk)

DONE = b"[DONE]"


class OpenAIChatStream:
    """Reads and writes chunks. A native call is complete when its answer is: pieces of several may alternate."""

    text_alone = True

    def __init__(self) -> None:
        self.framing = ServerSentEvents()
        self.usage = Usage()
        self._keys: dict[int, int] = {}  # answer → the index of its last call
        self._ids: dict[tuple[int, str], int] = {}  # answer, id → which call that is
        self._begun: dict[tuple[int, int | None], str] = {}  # answer, the server's index → the id its call began with
        self._taken: set[tuple[int, int]] = set()  # answer, which call
        self._latest: dict[tuple[int, int | None], int] = {}  # answer, the server's index → the last call it was for
        self._calls: dict[int, int] = {}  # answer → how many calls the client has been sent
        self._numbers: dict[tuple[int, int], int] = {}  # answer, which call → the index the client knows it by
        self._open: dict[int, bytes] = {}  # answer that no reason has ended yet → its last chunk

    def read(self, raw: bytes) -> Event:
        data = payload(raw)
        if data == DONE:  # a server that gives no reason
            return Event(raw, [Delta(Kind.FINISH, answer) for answer in self._open])
        if not data.startswith(b"{"):
            return Event(raw)
        try:
            chunk = _chunk.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return Event(raw)
        if chunk.usage is not None:
            self.usage = usage_of(chunk.usage, OpenAIChat.counts)
        deltas: list[Delta] = []
        for choice in chunk.choices or ():
            if choice.delta is not None:
                self._open[choice.index] = raw
                self._read(choice.index, choice.delta, deltas)
            if choice.finish_reason:
                self._open.pop(choice.index, None)
                deltas.append(Delta(Kind.FINISH, choice.index, text=choice.finish_reason))
        return Event(raw, deltas)

    def _read(self, answer: int, given: _Delta, deltas: list[Delta]) -> None:
        if type(given.content) is str and given.content:
            deltas.append(Delta(Kind.TEXT, answer, text=given.content))
        for call in given.tool_calls or ():
            function = call.function or _Function()
            key = self._key(answer, call)
            deltas.append(
                Delta(
                    Kind.CALL, answer, key=key, name=function.name, id=call.id,
                    arguments="" if function.arguments is None else function.arguments,
                )
            )  # fmt: skip
            deltas[-1].index = call.index
        if given.function_call is not None:
            arguments = given.function_call.arguments
            legacy = Delta(Kind.CALL, answer, key="function_call", name=given.function_call.name, id="-")
            legacy.arguments = "" if arguments is None else arguments
            deltas.append(legacy)

    def _key(self, answer: int, call: _ToolCall) -> int:
        """Which call a piece belongs to: the server's index says it, but where a server leaves it out, or gives all of
        its calls the same one, a new id with a name is a new call."""
        named = call.id is not None and call.function is not None and bool(call.function.name)
        given = (answer, call.index)
        twin = named and call.index is not None and given not in self._latest  # some servers give two calls one id
        if call.id and (answer, call.id) in self._ids and not twin:
            if self._begun.get(given) != call.id:
                self._latest[given] = self._ids[answer, call.id]
        elif given not in self._latest or (named and call.id):
            last = self._keys.get(answer, -1)
            taken = call.index is None or (answer, call.index) in self._taken
            key = last + 1 if taken or call.index is None else call.index
            self._latest[given] = key
            self._taken.add((answer, key))
            self._keys[answer] = max(last, key)
            if call.id:
                self._ids[answer, call.id] = key
                self._begun[given] = call.id
        return self._latest[given]

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────

    def write(self, event: Event, usage: Usage | None) -> bytes:
        for delta in event.deltas:
            if delta.kind is Kind.CALL and delta.new is not DROP and isinstance(delta.key, int):
                delta.number = self._number(delta)
        if event.same and usage is None and not _renumbers(event):
            return event.raw
        chunk = decode_object(payload(event.raw))
        if chunk is None:
            return self._unended(event) + event.raw
        if event.same and not _renumbers(event):
            return (
                event.raw if chunk.get("usage") is None else sse(encode(with_tokens(chunk, usage, OpenAIChat.counts)))
            )
        if event.again:
            return _text_chunk(chunk, event.deltas[0])
        return self._rewritten(chunk, event.deltas, usage)

    def _number(self, delta: Delta) -> int:
        """The index that the client is told: calls are numbered as they leave, without a gap."""
        number = self._numbers.get((delta.answer, delta.key))
        if number is None:
            number = self._numbers[delta.answer, delta.key] = self._calls.get(delta.answer, 0)
            self._calls[delta.answer] = number + 1
        return number

    def _rewritten(self, chunk: Object, deltas: list[Delta], usage: Usage | None) -> bytes:
        before: list[bytes] = []
        kept: list[Object] = []
        for choice in objects(chunk.get("choices")):
            index = choice.get("index", 0)
            own = [delta for delta in deltas if delta.answer == index]
            ending = next((delta.new for delta in own if isinstance(delta.new, Ending)), None)
            written = _choice_stream(choice, own, ending)
            if ending is not None and written is not None:
                if written["delta"]:  # what it says comes before what the end brings
                    before.append(_with_choice(chunk, {**written, "finish_reason": None}))
                    nothing: Object = {}
                    written = {"index": index, "delta": nothing, "finish_reason": written["finish_reason"]}
                before += [_with_choice(chunk, piece) for piece in self._ended(index, ending)]
            if written is not None:
                kept.append(written)
        if not kept and chunk.get("usage") is None:
            return b"".join(before)
        return b"".join(before) + sse(encode(with_tokens({**chunk, "choices": kept}, usage, OpenAIChat.counts)))

    def _unended(self, event: Event) -> bytes:
        """What comes before the end of a stream that gave no reason to end."""
        written: list[bytes] = []
        for delta in event.deltas:
            chunk = decode_object(payload(self._open.get(delta.answer, b"")))
            if chunk is not None and isinstance(delta.new, Ending):
                last: Object = {"index": delta.answer, "delta": {}, "finish_reason": finish_reason("stop", delta.new)}
                written += [_with_choice(chunk, piece) for piece in (*self._ended(delta.answer, delta.new), last)]
        return b"".join(written)

    def _ended(self, index: int, ending: Ending) -> list[Object]:
        """What comes before the end: the text, and each call whole."""
        pieces: list[Object] = [{"content": ending.text}] if ending.text else []
        for call in ending.calls:
            at = self._calls.get(index, 0)
            self._calls[index] = at + 1
            pieces.append({"tool_calls": [{"index": at, **tool_call(call)}]})
        return [{"index": index, "delta": piece, "finish_reason": None} for piece in pieces]


def _renumbers(event: Event) -> bool:
    """Whether the server gave a call another index than the client is told."""
    return any(delta.index is not None and delta.number not in (None, delta.index) for delta in event.deltas)


def tool_call(call: Call) -> Object:
    function = {"name": call.name, "arguments": arguments_text(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _choice_stream(choice: Object, deltas: list[Delta], ending: Ending | None) -> Object | None:
    """A choice as decided; None where nothing is left of it."""
    given = dict(an_object(choice.get("delta")) or {})
    calls: list[Object] = []
    pieces = iter([delta for delta in deltas if delta.kind is Kind.CALL and delta.key != "function_call"])
    for piece in a_list(given.pop("tool_calls", None)):
        delta = next(pieces, None)
        if delta is None or (delta.new is SAME and delta.index is None):
            calls.append(piece)
        elif delta.new is SAME:
            calls.append({**piece, "index": delta.number})
        elif isinstance(delta.new, Call):  # the piece that began the call brings all of it
            call = tool_call(delta.new)
            calls.append({**piece, "index": delta.number, "id": call["id"], "function": call["function"]})
    if calls:
        given["tool_calls"] = calls
    for delta in deltas:
        if delta.kind is Kind.TEXT and delta.new is not SAME:
            _set_text(given, delta.new)
        elif delta.key == "function_call" and delta.new is not SAME:
            _set_legacy(given, delta)
    finish = finish_reason(choice.get("finish_reason"), ending)
    if not given and finish is None:
        return None
    return {**choice, "delta": given, "finish_reason": finish}


def finish_reason(given: Any, ending: Ending | None) -> Any:
    """The reason that fits what was sent: what was cut off or forbidden stays so."""
    if ending is None:
        return given
    given = ending.reason or given
    if given in ("length", "content_filter"):
        return given
    return "tool_calls" if ending.has_calls else "stop" if given == "tool_calls" else given


def _set_text(given: Object, text: str) -> None:
    if text or given.get("role"):
        given["content"] = text
    else:
        given.pop("content", None)


def _set_legacy(given: Object, delta: Delta) -> None:
    if isinstance(delta.new, Call):
        given["function_call"] = {"name": delta.new.name, "arguments": arguments_text(delta.new.arguments)}
    else:
        given.pop("function_call", None)


def _text_chunk(chunk: Object, delta: Delta) -> bytes:
    """The rest of a text whose beginning was sent; what else the chunk said was said then."""
    text = delta.text if delta.new is SAME else delta.new
    if not text:
        return b""
    return _with_choice(chunk, {"index": delta.answer, "delta": {"content": text}, "finish_reason": None})


def _with_choice(chunk: Object, choice: Object) -> bytes:
    return sse(encode({**{key: value for key, value in chunk.items() if key != "usage"}, "choices": [choice]}))


# ── teaching ──
# Asking an OpenAI-compatible server otherwise: once more with a hint, or with the tools in the prompt.

TOOL_SETTINGS = ("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call")


def without_stream(request: Object) -> Object:
    """The same request, to be answered at once."""
    return {key: value for key, value in request.items() if key != "stream_options"} | {"stream": False}


LEGACY = "function_call"
"""The key of the one call of OpenAI's older dialect."""


class OpenAIChat(Wire):
    """`/v1/chat/completions`."""

    name = "openai_chat"
    path = "/chat/completions"
    text_arguments = True

    def choice(self, given: Any) -> Choice:
        if given == "none":
            return "none"
        allowed = an_object((an_object(given) or {}).get("allowed_tools"))
        if allowed is not None:
            return "required" if allowed.get("mode") == "required" else "auto"
        return "auto" if given is None or given == "auto" else "required"

    def stream(self) -> OpenAIChatStream:
        return OpenAIChatStream()

    # ── whole answers ────────────────────────────────────────────────────────────────────────────────────────────

    def whole(self, answer: Any) -> Event | None:
        choices = objects((an_object(answer) or {}).get("choices"))
        if not choices:
            return None
        deltas: list[Delta] = []
        for nth, choice in enumerate(choices):
            message = an_object(choice.get("message")) or {}
            content = message.get("content")
            if isinstance(content, str):
                deltas.append(Delta(Kind.TEXT, nth, text=content))
            for at, given in enumerate(a_list(message.get("tool_calls"))):
                deltas += _native(nth, at, an_object(given))
            deltas += _native(nth, LEGACY, an_object(message.get(LEGACY)))
            deltas.append(Delta(Kind.FINISH, nth, text=str(choice.get("finish_reason"))))
        return Event(b"", deltas, answer)

    def written(self, event: Event) -> Any:
        answer: Object = dict(event.data)
        answer["choices"] = [
            _choice_written(choice, [delta for delta in event.deltas if delta.answer == nth])
            for nth, choice in enumerate(objects(answer["choices"]))
        ]
        return answer

    # ── asking otherwise ─────────────────────────────────────────────────────────────────────────────────────────

    def again(self, request: Object, redo: Redo) -> Object:
        messages = list(a_list(request.get("messages")))
        if redo.calls:
            calls = [tool_call(call) for call in redo.calls]
            messages.append({"role": "assistant", "content": redo.prose or None, "tool_calls": calls})
            messages += [
                {"role": "tool", "tool_call_id": call.id, "content": hint}
                for call, hint in zip(redo.calls, redo.hints, strict=True)
            ]
        else:
            messages.append({"role": "assistant", "content": redo.prose})
            messages.append({"role": "user", "content": redo.text})
        return without_stream({**request, "messages": messages})

    def taught(self, request: Object, prompt: str) -> Object:
        return messages_taught(request, prompt, TOOL_SETTINGS)

    # ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────

    def error(self, status: int, kind: FaultKind, message: str) -> bytes:  # noqa: ARG002 - other APIs name the status
        return encode({"error": {"message": message, "type": "rightcall_error", "param": None, "code": kind}})

    def stream_error(self, kind: FaultKind, message: str) -> bytes:
        return b"data: %s\n\n" % self.error(502, kind, message)


def _native(answer: int, key: Any, call: Object | None) -> list[Delta]:
    """A call of a message. One that is not for a function is the provider's own affair."""
    function = call if key == LEGACY else an_object(call.get("function")) if call is not None else None
    if call is None or function is None:
        return []
    arguments = function.get("arguments")
    given_id = call.get("id") if key != LEGACY else "-"
    begin = Delta(
        Kind.CALL, answer, key=key, name=function.get("name"), id=given_id,
        arguments="" if arguments is None else arguments,
    )  # fmt: skip
    return [begin, Delta(Kind.DONE, answer, key=key)]


def _choice_written(choice: Object, deltas: list[Delta]) -> Object:
    if all(delta.new is SAME for delta in deltas):
        return choice
    message = dict(an_object(choice.get("message")) or {})
    calls = list(a_list(message.get("tool_calls")))
    dropped: set[int] = set()
    finish = choice.get("finish_reason")
    for delta in deltas:
        if delta.kind is Kind.TEXT and delta.new is not SAME:
            message["content"] = delta.new or None
        elif delta.kind is Kind.CALL and delta.key == LEGACY:
            _legacy_written(message, delta)
        elif delta.kind is Kind.CALL and isinstance(delta.new, Call):
            calls[delta.key] = _rewritten(calls[delta.key], delta.new)
        elif delta.kind is Kind.CALL and delta.new is DROP:
            dropped.add(delta.key)
        elif isinstance(delta.new, Ending):
            message["content"] = f"{message.get('content') or ''}{delta.new.text}" or None
            calls += [tool_call(call) for call in delta.new.calls]
            finish = finish_reason(finish, delta.new)
    kept = [call for at, call in enumerate(calls) if at not in dropped]
    if kept:
        message["tool_calls"] = kept
    elif dropped:  # clients take an empty list for calls
        message.pop("tool_calls", None)
    return {**choice, "message": message, "finish_reason": finish}


def _legacy_written(message: Object, delta: Delta) -> None:
    if delta.new is DROP:
        message.pop(LEGACY, None)
    elif isinstance(delta.new, Call):
        arguments = arguments_text(delta.new.arguments)
        message[LEGACY] = {**message[LEGACY], "name": delta.new.name, "arguments": arguments}


def _rewritten(given: Object, call: Call) -> Object:
    function = an_object(given.get("function")) or {}
    written = {**function, "name": call.name, "arguments": arguments_text(call.arguments)}
    return {**given, "id": call.id, "function": written}
