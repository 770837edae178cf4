"""Ollama's own chat, `/api/chat`. Its calls come whole, with an object for arguments and, from older servers, no id."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from rightcall.base.http.answers import JsonLines
from rightcall.proxy.teaching import as_text, messages_taught
from rightcall.proxy.wires.common import (
    DROP,
    SAME,
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
    usage_of,
)
from rightcall.types import Call

# ── the stream ──
# A stream of Ollama's chat: one JSON object a line, each with a piece of the text or with whole calls.

_OF_THE_END = frozenset(
    {
        "done_reason", "total_duration", "load_duration", "prompt_eval_count", "prompt_eval_duration", "eval_count",
        "eval_duration", "context", "logprobs",
    }
)  # fmt: skip
"""What only the last line says, or only the line whose text it belongs to."""


class _Message(Struct):
    content: Any = None
    tool_calls: Any = None


class _Line(Struct):
    """What matters of a line. The rest is not even decoded, as long as nothing changes."""

    message: _Message | None = None
    done: Any = False
    done_reason: Any = None
    prompt_eval_count: Any = None
    eval_count: Any = None


_line = msgspec.json.Decoder(_Line)


class OllamaStream:
    """Reads and writes lines."""

    text_alone = False  # each has a time of its own

    def __init__(self) -> None:
        self.framing = JsonLines()
        self.usage = Usage()
        self._read = 0
        self._sent = 0

    def read(self, raw: bytes) -> Event:
        try:
            line = _line.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return Event(raw)
        deltas: list[Delta] = []
        message = line.message
        if message is not None:
            if type(message.content) is str and message.content:
                deltas.append(Delta(Kind.TEXT, text=message.content))
            for call in a_list(message.tool_calls):
                deltas += call_deltas(self._read, call)
                self._read += 1
        if line.done is True:
            self.usage = Usage(a_number(line.prompt_eval_count), a_number(line.eval_count))
            deltas.append(Delta(Kind.FINISH, text=str(line.done_reason or "")))
        return Event(raw, deltas)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────

    def write(self, event: Event, usage: Usage | None) -> bytes:
        for delta in event.deltas:
            if delta.kind is Kind.CALL and delta.new is not DROP:
                self._sent = max(self._sent, delta.key) + 1
        if event.same and (usage is None or not (bool(event.deltas) and event.deltas[-1].kind is Kind.FINISH)):
            return event.raw
        line = decode_object(event.raw)
        if line is None:
            return event.raw
        if event.same:
            return _written(with_usage(line, usage))
        if event.again:
            return _rest(line, event.deltas[0])
        return self._rewritten(line, event.deltas, usage)

    def _rewritten(self, line: Object, deltas: list[Delta], usage: Usage | None) -> bytes:
        given = an_object(line.get("message")) or {}
        message = rewritten_message(given, deltas)
        ending = deltas[-1].new
        before = b""
        if isinstance(ending, Ending):
            if given.get("content") or given.get("tool_calls"):  # the last line is the message: then all of it
                message = with_ending(message, ending, self._sent)
            else:
                own = with_ending({"role": "assistant", "content": ""}, ending, self._sent)
                before = _between(line, own)
            self._sent += len(ending.calls)
        if line.get("done") is not True and not any(value for key, value in message.items() if key != "role"):
            return before
        written = {**line, "message": message} if "message" in line else line
        if isinstance(ending, Ending) and ending.reason and "done_reason" in line:
            written = {**written, "done_reason": ending.reason}
        return before + _written(with_usage(written, usage))


def call_deltas(key: int, given: Any) -> list[Delta]:
    """A call, complete at once. What is none in shape passes."""
    call = an_object(given)
    function = an_object(call.get("function")) if call is not None else None
    if call is None or function is None:
        return []
    arguments = function.get("arguments")
    if isinstance(arguments, str):  # clients take nothing but an object, so a text must not pass for right
        arguments = encode(arguments).decode()
    begin = Delta(
        Kind.CALL, key=key, name=function.get("name"), id=call.get("id"),
        arguments="" if arguments is None else arguments,
    )  # fmt: skip
    return [begin, Delta(Kind.DONE, key=key)]


def rewritten_message(given: Object, deltas: list[Delta]) -> Object:
    """A message as decided, but for what comes at the end of the answer."""
    message = dict(given)
    decided = iter([delta for delta in deltas if delta.kind is Kind.CALL])
    calls: list[Any] = []
    for call in a_list(message.pop("tool_calls", None)):
        delta = next(decided, None) if call_deltas(0, call) else None
        if delta is None or delta.new is SAME:
            calls.append(call)
        elif isinstance(delta.new, Call):
            calls.append(_rewritten_call(call, delta.new))
    if calls:
        message["tool_calls"] = calls
    for delta in deltas:
        if delta.kind is Kind.TEXT and delta.new is not SAME:
            message["content"] = delta.new
    return message


def with_ending(message: Object, ending: Ending, sent: int | None = None) -> Object:
    """The message with the text and the calls that come at its end. `sent` is how many calls came before."""
    calls = a_list(message.get("tool_calls"))
    first = len(calls) if sent is None else sent
    more = [tool_call(call, first + nth) for nth, call in enumerate(ending.calls)]
    ended = {**message, "content": f"{message.get('content') or ''}{ending.text}"}
    return {**ended, "tool_calls": [*calls, *more]} if more else ended


def tool_call(call: Call, index: int) -> Object:
    written: Object = {"function": {"index": index, "name": call.name, "arguments": call.arguments}}
    return {"id": call.id, **written} if call.id else written


def _rewritten_call(given: Object, call: Call) -> Object:
    function = an_object(given.get("function")) or {}
    written = {**given, "function": {**function, "name": call.name, "arguments": call.arguments}}
    return {**written, "id": call.id} if call.id else written


def _rest(line: Object, delta: Delta) -> bytes:
    """The rest of a text whose beginning was sent; what else the line said was said then."""
    text = delta.text if delta.new is SAME else delta.new
    return _between(line, {"role": "assistant", "content": text}) if text else b""


def _between(line: Object, message: Object) -> bytes:
    """A line of ours, which says of itself what the line beside it says."""
    kept = {key: value for key, value in line.items() if key not in _OF_THE_END}
    return _written({**kept, "message": message, "done": False})


def _written(line: Object) -> bytes:
    return encode(line) + b"\n"


# ── teaching ──
# Asking Ollama otherwise: once more with a hint, or with the tools in the prompt.


def _arguments(call: Call) -> Object | None:
    given: Any = call.arguments
    return an_object(given) or decode_object(arguments_text(given).encode(errors="surrogatepass"))


def _native(call: Call, arguments: Any) -> Object:
    written: Object = {"function": {"name": call.name, "arguments": arguments}}
    return {"id": call.id, **written} if call.id else written


def _hint(call: Call, hint: str) -> Object:
    message: Object = {"role": "tool", "tool_name": call.name, "content": hint}
    return {**message, "tool_call_id": call.id} if call.id else message


def with_usage(answer: Object, extra: Usage | None) -> Object:
    """An answer or a line with tokens of other tries added to its own, where it tells any."""
    if extra is None:
        return answer
    return add_counts(answer, {"prompt_eval_count": extra.prompt, "eval_count": extra.completion})


class Ollama(Wire):
    """`/api/chat`."""

    name = "ollama"
    path = "/api/chat"
    streams = True
    counts = ("prompt_eval_count", "eval_count")

    def new_id(self) -> str:
        return ""

    def stream(self) -> OllamaStream:
        return OllamaStream()

    # ── whole answers ────────────────────────────────────────────────────────────────────────────────────────────

    def whole(self, answer: Any) -> Event | None:
        given = an_object(answer)
        message = an_object(given.get("message")) if given is not None else None
        if given is None or message is None:
            return None
        deltas: list[Delta] = []
        content = message.get("content")
        if isinstance(content, str):
            deltas.append(Delta(Kind.TEXT, text=content))
        for at, call in enumerate(a_list(message.get("tool_calls"))):
            deltas += call_deltas(at, call)
        deltas.append(Delta(Kind.FINISH, text=str(given.get("done_reason") or "")))
        return Event(b"", deltas, answer)

    def written(self, event: Event) -> Any:
        answer: Object = dict(event.data)
        if event.same:
            return answer
        message = rewritten_message(an_object(answer.get("message")) or {}, event.deltas)
        ending = event.deltas[-1].new
        if isinstance(ending, Ending):
            message = with_ending(message, ending)
            if ending.reason and "done_reason" in answer:
                answer["done_reason"] = ending.reason
        return {**answer, "message": message}

    def usage(self, answer: Any) -> Usage:
        return usage_of(answer, self.counts)

    def with_usage(self, answer: Any, extra: Usage | None) -> Any:
        return with_usage(answer, extra)

    # ── asking otherwise ─────────────────────────────────────────────────────────────────────────────────────────

    def again(self, request: Object, redo: Redo) -> Object:
        """Ollama refuses a call whose arguments are no object: a message with such a call is told in text."""
        messages = list(a_list(request.get("messages")))
        calls = [(call, _arguments(call)) for call in redo.calls]
        if calls and all(arguments is not None for _, arguments in calls):
            written = [_native(call, arguments) for call, arguments in calls]
            messages.append({"role": "assistant", "content": redo.prose, "tool_calls": written})
            messages += [_hint(call, hint) for call, hint in zip(redo.calls, redo.hints, strict=True)]
        else:
            told = as_text([(call.name, call.arguments) for call in redo.calls])
            messages.append({"role": "assistant", "content": f"{redo.prose}\n{told}".strip()})
            messages.append({"role": "user", "content": "\n\n".join(redo.hints) or redo.text})
        return {**request, "messages": messages, "stream": False}

    def taught(self, request: Object, prompt: str) -> Object:
        return messages_taught(request, prompt, ("tools",))

    # ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────

    def error(self, status: int, kind: FaultKind, message: str) -> bytes:  # noqa: ARG002 - other APIs name them
        return encode({"error": message})

    def stream_error(self, kind: FaultKind, message: str) -> bytes:
        return self.error(502, kind, message) + b"\n"
