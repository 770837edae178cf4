"""OpenAI's Responses, as OpenAI, Ollama, llama.cpp, LM Studio, vLLM and others serve them.

A server that keeps answers itself (`previous_response_id`, `conversation`) has kept this one as its model wrote it. A
call that only the proxy made native is unknown to it: a client that then sends no more than the call's result is told
so by the server. Clients that send the whole conversation each time, as with `store: false`, have no such trouble.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

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
    an_object,
    arguments_text,
    content_text,
    decode_object,
    encode,
    objects,
    with_tokens,
)
from rightcall.proxy.wires.response_items import (
    ARGUMENTS_DELTA,
    ARGUMENTS_DONE,
    COUNTS,
    FINAL,
    ITEM_ADDED,
    ITEM_DONE,
    MESSAGE,
    PART_ADDED,
    PART_DONE,
    TEXT_DELTA,
    TEXT_DONE,
    About,
    Item,
    Output,
    Part,
    Reader,
    call_written,
    ended,
    finish_reason,
    is_index,
    item_written,
    new_items,
    output_written,
    part_written,
)
from rightcall.types import Call

# ── teaching ──
# Asking a server of OpenAI's Responses otherwise: once more with a hint, or with the tools in the prompt.
#
# What the model wrote goes back among the `input`, without the ids of its items: an id refers to something that the
# server may have stored, and this call may not be what it stored. So it works with and without `store`, and together
# with `previous_response_id`, since a second answer to the same one is allowed. A `conversation` has kept the request
# and the answer already, so there only what answers them is sent.

TOOL_SETTINGS = ("tools", "tool_choice", "parallel_tool_calls", "max_tool_calls")
CALL, RESULT = "function_call", "function_call_output"


def items(given: Any) -> list[Any]:
    """The input as a list: one text is one message of the user."""
    return [{"role": "user", "content": given}] if isinstance(given, str) else a_list(given)


def without_stream(request: Object) -> Object:
    """The same request, to be answered at once."""
    kept = {key: value for key, value in request.items() if key not in ("stream_options", "background")}
    return kept | {"stream": False}


def _in_text(given: list[Any]) -> list[Any]:
    """The conversation without native calls: what they and their results said, as messages."""
    messages: list[Any] = []
    for kind, run in groupby(given, key=_type):
        if kind == CALL:
            written = as_text([(str(call.get("name")), call.get("arguments")) for call in run])
            messages.append({"role": "assistant", "content": written})
        elif kind == RESULT:
            results = [result_text(content_text(result.get("output"))) for result in run]
            messages.append({"role": "user", "content": "\n".join(results)})
        else:
            messages += run
    return messages


def _type(item: Any) -> str:
    return str((an_object(item) or {}).get("type"))


# ── the stream ──
# A stream of OpenAI's Responses.
#
# Events are numbered, and so are items and their parts. As long as nothing was added or dropped they leave as they
# came; from then on they are numbered anew.


class OpenAIResponsesStream:
    """Reads and writes events."""

    text_alone = False  # each has a number of its own

    def __init__(self) -> None:
        self.framing = ServerSentEvents()
        self._output = Output()
        self._reader = Reader(self._output)
        self._shift = 0  # how many events more, or fewer, the client was sent
        self._top = -1  # the last index of an item that the client knows
        self._gone = False  # an item was dropped
        self._touched = False

    @property
    def usage(self) -> Usage:
        return self._reader.usage

    def read(self, raw: bytes) -> Event:
        return self._reader.read(raw)

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────

    def write(self, event: Event, usage: Usage | None) -> bytes:
        about: About | None = event.data
        if about is None:
            return event.raw
        for delta in event.deltas:
            self._output.decided(delta)
            if delta.new is not SAME:
                self._touched = True
        if about.type in FINAL:
            return self._write_final(event, about, usage)
        item, part = about.item, about.part
        if item is None:
            return self._passed(event.raw, about)
        if about.type == TEXT_DELTA and event.deltas:
            return self._write_text(event, about)
        if part is not None and part.dead:
            return self._dropped()
        if about.type == ITEM_ADDED or about.type == ITEM_DONE:
            return self._write_item(event.raw, about, item)
        if part is not None and part.rewritten and about.type in (TEXT_DONE, PART_DONE):
            return self._write_done(event.raw, about, part)
        if isinstance(item.fate, Call) and about.type in (ARGUMENTS_DELTA, ARGUMENTS_DONE):
            return self._write_arguments(event.raw, about, item, item.fate)
        return self._dropped() if item.fate is DROP else self._passed(event.raw, about)

    def _write_text(self, event: Event, about: About) -> bytes:
        delta = event.deltas[0]
        text = delta.text if delta.new is SAME else delta.new
        if event.again:  # the rest of a text whose beginning was sent is an event more
            self._shift += bool(text)
            return self._passed(event.raw, about, {"delta": text, "logprobs": []}) if text else b""
        if delta.new is SAME and not (about.part is not None and about.part.dead):
            return self._passed(event.raw, about)
        return self._passed(event.raw, about, {"delta": text}) if text else self._dropped()

    def _write_item(self, raw: bytes, about: About, item: Item) -> bytes:
        first = item.parts.get(0)
        begins = about.type == ITEM_ADDED
        if begins and item.type == MESSAGE and first is not None and first.dead:
            item.held = raw  # another part of it may have something to say
            self._gone = True
            return self._dropped()
        if not self._touched:
            return self._passed(raw, about)
        given = an_object((decode_object(payload(raw)) or {}).get("item")) or {}
        written = item_written(given, item)
        if written is None:
            self._gone = True
            return self._dropped()
        if begins and isinstance(item.fate, Call) and (item.read or not given.get("arguments")):
            written["arguments"] = ""  # they come in other events
        return self._passed(raw, about, None if written is given else {"item": written})

    def _write_done(self, raw: bytes, about: About, part: Part) -> bytes:
        if about.type == TEXT_DONE:
            return self._passed(raw, about, {"text": part.text})
        given = (decode_object(payload(raw)) or {}).get("part")
        return self._passed(raw, about, {"part": part_written(given, part)})

    def _write_arguments(self, raw: bytes, about: About, item: Item, call: Call) -> bytes:
        """The first piece brings them all. A server that had no piece to send sends one more event."""
        arguments = arguments_text(call.arguments)
        begun, item.sent = item.sent, True
        if about.type == ARGUMENTS_DELTA:
            return self._dropped() if begun else self._passed(raw, about, {"delta": arguments})
        data = decode_object(payload(raw)) or {}
        before = b""
        if not begun:
            where = {key: data[key] for key in ("item_id", "output_index") if key in data}
            before = self._new(raw, data, ARGUMENTS_DELTA, {**where, "output_index": item.at, "delta": arguments})
        written = call_written(data, call)
        return before + self._passed(raw, about, {key: written[key] for key in ("name", "arguments")})

    def _write_final(self, event: Event, about: About, usage: Usage | None) -> bytes:
        if not self._touched and not self._shift and usage is None:
            return event.raw
        data = decode_object(payload(event.raw)) or {}
        ending = event.deltas[-1].new
        more = new_items(ending.text, ending.calls) if isinstance(ending, Ending) else []
        before = b"".join([self._new_item(event.raw, data, item) for item in more])
        response = an_object(data.get("response"))
        if response is None:
            return before + self._passed(event.raw, about)
        written = output_written(response, about.items, more) if self._touched else response
        written = with_tokens(written, usage, COUNTS)
        if isinstance(ending, Ending) and ending.reason:
            written = ended(written, ending.reason)
            kind = f"response.{written['status']}"
            number = self._number(data.get("sequence_number"))
            return before + sse(encode({**data, "type": kind, "sequence_number": number, "response": written}), kind)
        return before + self._passed(event.raw, about, {"response": written} if written is not response else None)

    # ── events that the server did not send ──────────────────────────────────────────────────────────────────────

    def _new_item(self, raw: bytes, like: Object, item: Object) -> bytes:
        """An item as the service would have streamed it."""
        self._top += 1
        where: Object = {"output_index": self._top}
        within = {"item_id": item["id"], **where}
        if item["type"] == MESSAGE:
            part = item["content"][0]
            within["content_index"] = 0
            empty: Object = {"content": []}
            middle: list[tuple[str, Object]] = [
                (PART_ADDED, {"part": {**part, "text": ""}}),
                (TEXT_DELTA, {"delta": part["text"], "logprobs": []}),
                (TEXT_DONE, {"text": part["text"], "logprobs": []}),
                (PART_DONE, {"part": part}),
            ]
        else:
            empty = {"arguments": ""}
            arguments = item["arguments"]
            middle = [(ARGUMENTS_DELTA, {"delta": arguments}), (ARGUMENTS_DONE, {"arguments": arguments})]
        events = [
            (ITEM_ADDED, where | {"item": {**item, "status": "in_progress", **empty}}),
            *[(kind, within | said) for kind, said in middle],
            (ITEM_DONE, where | {"item": item}),
        ]
        return b"".join([self._new(raw, like, kind, said) for kind, said in events])

    def _new(self, raw: bytes, like: Object, type: str, said: Object) -> bytes:
        numbered = {"sequence_number": self._number(like["sequence_number"])} if "sequence_number" in like else {}
        self._shift += 1
        return sse(encode({"type": type, **numbered, **said}), type if raw.startswith(b"event:") else "")

    # ── events that it did ───────────────────────────────────────────────────────────────────────────────────────

    def _dropped(self) -> bytes:
        self._shift -= 1
        return b""

    def _passed(self, raw: bytes, about: About, changes: Object | None = None) -> bytes:
        """The event with these changes, and with the numbers that fit what the client was sent."""
        before = self._place(raw, about.item, about.part) if about.item is not None else b""
        item, part = about.item, about.part
        moved = item is not None and item.index is not None and item.at != item.index
        if not changes and not self._shift and not moved and (part is None or part.at == part.index):
            return before + raw
        data = decode_object(payload(raw))
        if data is None:
            return before + raw
        now: Object = {"sequence_number": self._number(data.get("sequence_number"))}
        if item is not None:
            now["output_index"] = item.at
        if part is not None:
            now["content_index"] = part.at
        data |= {key: value for key, value in (now | (changes or {})).items() if key in data}
        return before + _framed(raw, data)

    def _place(self, raw: bytes, item: Item, part: Part | None) -> bytes:
        """Gives an item and a part their numbers when the first event about them leaves. Where the event that began the
        item was held back, it leaves first."""
        before = b""
        if item.at is None:
            item.at = self._top + 1 if self._gone or item.index is None else item.index
            self._top = max(self._top, item.at)
            held = decode_object(payload(item.held)) if item.held is not None else None
            if item.held is not None and held is not None:
                number = (decode_object(payload(raw)) or {}).get("sequence_number")
                now = {"output_index": item.at, "sequence_number": self._number(number)}
                before = _framed(item.held, held | {key: value for key, value in now.items() if key in held})
                self._shift += 1
        if part is not None and part.at is None:
            part.at = part.index - sum(1 for other in item.parts.values() if other.dead and other.index < part.index)
        return before

    def _number(self, given: Any) -> Any:
        return given + self._shift if is_index(given) else given


def _framed(raw: bytes, data: Object) -> bytes:
    """An event with other data; what else its lines say stays."""
    lines = [line for line in raw.splitlines() if line and not line.startswith(b"data:")]
    return b"".join([line + b"\n" for line in lines]) + b"data: %s\n\n" % encode(data)


class OpenAIResponses(Wire):
    """`/v1/responses`."""

    name = "openai_responses"
    text_arguments = True
    path = "/responses"
    counts = COUNTS

    def stream(self) -> OpenAIResponsesStream:
        return OpenAIResponsesStream()

    def choice(self, given: Any) -> Choice:
        """A tool that the server runs itself may be asked for; that is nothing that we could miss."""
        if given in ("none", "required"):
            return given
        choice = an_object(given) or {}
        required = choice.get("type") == "function" or choice.get("mode") == "required"
        return "required" if required else "auto"

    # ── whole answers ────────────────────────────────────────────────────────────────────────────────────────────

    def whole(self, answer: Any) -> Event | None:
        response = an_object(answer)
        if response is None or not isinstance(response.get("output"), list):
            return None
        return Event(b"", _read(response)[2], answer)

    def written(self, event: Event) -> Any:
        response: Object = event.data
        if event.same:
            return dict(response)
        output, items, _ = _read(response)
        more: list[Object] = []
        for delta in event.deltas:
            output.decided(delta)
            if isinstance(delta.new, Ending):
                more = new_items(delta.new.text, delta.new.calls)
                if delta.new.reason:
                    response = ended(response, delta.new.reason)
        return output_written(response, items, more)

    # ── asking otherwise ─────────────────────────────────────────────────────────────────────────────────────────

    def again(self, request: Object, redo: Redo) -> Object:
        told: list[Object] = []
        answers: list[Object] = []
        if redo.prose or not redo.calls:
            told.append({"role": "assistant", "content": redo.prose})
        for call, hint in zip(redo.calls, redo.hints, strict=True):
            arguments = arguments_text(call.arguments)
            told.append({"type": CALL, "call_id": call.id, "name": call.name, "arguments": arguments})
            answers.append({"type": RESULT, "call_id": call.id, "output": hint})
        if not redo.calls:
            answers.append({"role": "user", "content": redo.text})
        before = [] if request.get("conversation") else [*items(request.get("input")), *told]
        return without_stream({**request, "input": before + answers})

    def taught(self, request: Object, prompt: str) -> Object:
        kept = {key: value for key, value in request.items() if key not in TOOL_SETTINGS}
        if others := [tool for tool in objects(request.get("tools")) if tool.get("type") != "function"]:
            kept["tools"] = others
        given = request.get("instructions")
        kept["instructions"] = f"{given}\n\n{prompt}" if isinstance(given, str) and given else prompt
        if isinstance(request.get("input"), list):
            kept["input"] = _in_text(a_list(request["input"]))
        return kept

    # ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────

    def error(self, status: int, kind: FaultKind, message: str) -> bytes:  # noqa: ARG002 - other APIs name the status
        return encode({"error": _error(kind, message)})

    def stream_error(self, kind: FaultKind, message: str) -> bytes:
        """Both shapes that clients know: the documented one is flat, and the service itself sends an object."""
        error = _error(kind, message)
        flat = {"type": "error", "code": kind, "message": message, "param": None, "sequence_number": 0, "error": error}
        return b"event: error\ndata: %s\n\n" % encode(flat)


def _error(kind: FaultKind, message: str) -> Object:
    return {"message": message, "type": "rightcall_error", "param": None, "code": kind}


def _read(response: Object) -> tuple[Output, list[Item | None], list[Delta]]:
    """The output of a whole answer. Reading it twice gives the same numbers, so decisions can be put back."""
    output = Output()
    given = a_list(response.get("output"))
    items = output.matched(given)
    deltas: list[Delta] = []
    for told, item in zip(given, items, strict=True):
        if item is not None:
            deltas += output.told(item, an_object(told) or {})
    deltas.append(Delta(Kind.FINISH, text=finish_reason(response)))
    return output, items, deltas
