"""The practice model: what answers behind `rightcall serve` while it has no upstream. It is no model. It calls the
tools it is given, breaks every call on purpose, and says so, so that one can see what RightCall does about it."""

import re
from collections.abc import Awaitable, Callable, Iterator
from itertools import count, islice
from typing import Any, Protocol

from msgspec import Struct, json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from rightcall.base.json.marks import is_list, is_object
from rightcall.base.text import estimate
from rightcall.catalog.catalog import Catalog, build_catalog
from rightcall.catalog.tidy import as_schema, types
from rightcall.catalog.tool import Tool
from rightcall.errors import ToolError
from rightcall.gate.examples import example

# ── what the model says ──
# What the practice model says: a call of one of the request's tools, broken on purpose, in another way each time.
#
# Pure: a question and a number in, the parts of an answer out. The same question and number give the same answer.

MODEL = "rightcall-practice"
"""The name under which the practice model answers, whatever name it was called by."""

RIGHT, WRONG = "without a mistake", "beyond repair"
"""What a question may say: then the call is as it should be, or so empty that it has to be refused."""

_SHOWN = 200
"""Characters of what others wrote that an answer quotes."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?![\w.])")
_NAMED = re.compile(r"[\"'`]([^\"'`\n]{1,80})[\"'`]|(?<=[a-z,:] )([A-Z][a-z]+)")
_COMMON = frozenset(("the", "and", "for", "what", "how", "with", "you", "please", "this", "that", "from", "are", "can"))


class PracticeQuestion(Struct, frozen=True):
    """What a request comes down to. `result` is what a tool gave back, where that came last; `wanted` is the tool that
    must be called, where the request names one."""

    tools: list[Any]
    said: str
    result: str | None = None
    wanted: str | None = None


class Said(Struct, frozen=True):
    """Text, perhaps with a call left in it."""

    text: str


class Called(Struct, frozen=True):
    """A call in the wire's own form. `arguments` is text, which may be no JSON."""

    name: str
    arguments: str


Part = Said | Called


def answer(question: PracticeQuestion, turn: int) -> list[Part]:
    """
    >>> answer(PracticeQuestion([], "Hello"), 0)[0].text
    'This is rightcall-practice, not a real model. It was given no tools, so there is nothing to call.'
    """
    if question.result is not None:
        line = question.result.strip().partition("\n")[0][:_SHOWN]
        return [Said(f"{_WHO} The tool answered: {line}")]
    try:
        catalog = build_catalog(question.tools)
    except ToolError as fault:
        return [Said(f"{_WHO} The tools of the request cannot be read: {str(fault)[:_SHOWN]}")]
    tool = _chosen(catalog, question)
    if tool is None:
        return [Said(f"{_WHO} It was given no tools, so there is nothing to call.")]
    arguments = _arguments(tool, question.said)
    if WRONG in question.said:
        return [Said(f"{_WHO} It was asked for a call {WRONG}: every argument is left out."), Called(tool.name, "{}")]
    if RIGHT in question.said:
        return [Said(f"{_WHO} It was asked for a call {RIGHT}."), Called(tool.name, json.encode(arguments).decode())]
    return _broken(tool.name, arguments, turn)


_WHO = f"This is {MODEL}, not a real model."


def _chosen(catalog: Catalog, question: PracticeQuestion) -> Tool | None:
    """The tool asked for, else the one that shares most words with what was said, else the first."""
    if question.wanted is not None and (wanted := catalog.get(question.wanted)) is not None:
        return wanted
    said = _words(question.said)

    def shared(tool: Tool) -> int:
        return 3 * len(said & _words(tool.name)) + len(said & _words(tool.description))

    return max(catalog.tools.values(), key=shared, default=None)


def _words(text: str) -> set[str]:
    return {word for found in _WORD.findall(text) if len(word := found.lower()) > 2} - _COMMON


def _arguments(tool: Tool, said: str) -> dict[str, Any]:
    """An example of the tool's arguments, with what was said in the place of made-up texts and numbers."""
    made = example(tool) or {}
    properties = as_schema(tool.schema.get("properties"))
    names = iter([quoted or plain for quoted, plain in _NAMED.findall(said)])
    numbers = iter([int(found) for found in _NUMBER.findall(said)])
    for name, schema in properties.items():
        kinds = set(types(as_schema(schema)) or ())
        if name in made and made[name] == f"<{name}>":
            made[name] = next(names, name)
        elif kinds & {"integer", "number"}:
            for number in islice(numbers, 1):
                made = _if_accepted(tool, made, {name: number})
    return made


def _if_accepted(tool: Tool, made: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    return made | more if tool.accepts(made | more) else made


# ── the ways to break a call ─────────────────────────────────────────────────────────────────────────────────────────


def _single_quotes(name: str, arguments: dict[str, Any]) -> Part | None:
    return Called(name, repr(arguments)) if arguments else None


def _tool_call_tags(name: str, arguments: dict[str, Any]) -> Part | None:
    return Said(f"<tool_call>\n{_written_model(name, arguments)}\n</tool_call>")


def _number_as_text(name: str, arguments: dict[str, Any]) -> Part | None:
    texts = {key: str(value) for key, value in arguments.items() if type(value) in (int, float)}
    return Called(name, json.encode(arguments | texts).decode()) if texts else None


def _fenced_json(name: str, arguments: dict[str, Any]) -> Part | None:
    return Said(f"```json\n{_written_model(name, arguments)}\n```")


def _other_argument_names(name: str, arguments: dict[str, Any]) -> Part | None:
    renamed = {_other_style(key): value for key, value in arguments.items()}
    return Called(name, json.encode(renamed).decode()) if renamed.keys() != arguments.keys() else None


def _trailing_comma(name: str, arguments: dict[str, Any]) -> Part | None:
    return Called(name, json.encode(arguments).decode()[:-1] + ",}") if arguments else None


_WAYS: dict[str, Callable[[str, dict[str, Any]], Part | None]] = {
    "Python's quotes instead of JSON": _single_quotes,
    "left in the text, between tags": _tool_call_tags,
    "a number written as text": _number_as_text,
    "left in the text, as a block of code": _fenced_json,
    "argument names in another style": _other_argument_names,
    "a comma too many": _trailing_comma,
}


def _broken(name: str, arguments: dict[str, Any], turn: int) -> list[Part]:
    """The call, broken in the way whose turn it is; where that cannot be done to it, in the next way that can."""
    ways = list(_WAYS.items())
    for number in range(turn, turn + len(ways)):
        way, apply = ways[number % len(ways)]
        if (part := apply(name, arguments)) is not None:
            said = f"{_WHO} It breaks its calls on purpose; this time: {way}."
            return [Said(f"{said}\n{part.text}")] if isinstance(part, Said) else [Said(said), part]
    raise AssertionError("a call can always be left in the text")


def _written_model(name: str, arguments: dict[str, Any]) -> str:
    return json.encode({"name": name, "arguments": arguments}).decode()


def _other_style(name: str) -> str:
    """
    >>> _other_style("file_path"), _other_style("filePath"), _other_style("city")
    ('filePath', 'file_path', 'City')
    """
    if "_" in name.strip("_"):
        first, *rest = name.split("_")
        return first + "".join(word[:1].upper() + word[1:] for word in rest)
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
    return snake if snake != name else name[:1].upper() + name[1:]


# ── what the wires share ──
# What the wires of the practice model share: the question in any of the four requests, and the pieces of answers.

CREATED = 1_763_200_000
CREATED_AT = "2025-11-15T10:00:00Z"
_WORD_WIRES = re.compile(r"\S+\s*|\s+")


class PracticeWire(Protocol):
    """One API. `number` makes ids that differ from answer to answer; `tokens` are those of question and answer."""

    stream_type: str
    streams_unasked: bool

    def whole(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Any: ...

    def events(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Iterator[bytes]: ...

    def error(self, message: str) -> Any: ...


def question_of(body: dict[str, Any]) -> PracticeQuestion:
    """What any of the four requests comes down to."""
    # Only objects: in a list of tools a text would be the path of a file of them.
    tools = [tool for tool in _list(body.get("tools")) if is_object(tool)]
    choice = body.get("tool_choice")
    turns: Any = body.get("messages") or body.get("input")
    said, result = "", None
    for turn in turns if is_list(turns) else [{"role": "user", "content": turns}]:
        text, found = _turn(turn)
        said = text or said
        result = found if text or found is not None else result
    forbidden = choice in ("none", {"type": "none"})
    return PracticeQuestion([] if forbidden else tools, said, result, _wanted(choice))


def _list(value: Any) -> list[Any]:
    return value if is_list(value) else []


def _turn(turn: Any) -> tuple[str, str | None]:
    """What a user said in this turn, and what a tool gave back; a result is the later of the two."""
    if not is_object(turn):
        return "", None
    if turn.get("type") == "function_call_output":
        return "", _text(turn.get("output"))
    if turn.get("role") == "tool":
        return "", _text(turn.get("content"))
    if turn.get("role") != "user":
        return "", None
    content = turn.get("content")
    results = [block for block in _list(content) if is_object(block) and block.get("type") == "tool_result"]
    return ("", _text(results[-1].get("content"))) if results else (_text(content), None)


def _text(content: Any) -> str:
    if is_list(content):
        texts = [block.get("text") for block in content if is_object(block)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _wanted(choice: Any) -> str | None:
    """The tool a request insists on: OpenAI keeps the name one level deeper in chat completions than elsewhere."""
    if not is_object(choice):
        return None
    inner = choice.get("function")
    name = inner.get("name") if is_object(inner) else choice.get("name")
    return name if isinstance(name, str) else None


def pieces(text: str) -> list[str]:
    """Words, each with the blanks behind it: as a stream of tokens may look.

    >>> pieces("It is\\n so.")
    ['It ', 'is\\n ', 'so.']
    """
    return _WORD_WIRES.findall(text)


def server_event(name: str | None, data: Any) -> bytes:
    text = data if isinstance(data, bytes) else json.encode(data)
    return (b"event: %b\n" % name.encode() if name else b"") + b"data: %b\n\n" % text


def object_in(text: str) -> Any:
    """Arguments for wires that carry objects: the text itself where it is no JSON."""
    try:
        return json.decode(text)
    except ValueError:
        return text


def said_in(parts: list[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Said))


# ── OpenAI's wires ──
# The practice model on OpenAI's two wires.


class Chat:
    """OpenAI chat completions."""

    stream_type = "text/event-stream; charset=utf-8"
    streams_unasked = False

    def whole(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": said_in(parts)}
        if calls := self._calls(parts, number):
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self._finish(parts)}
        return self._head(number, "chat.completion") | {"choices": [choice], "usage": self._usage(tokens)}

    def events(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Iterator[bytes]:
        head = self._head(number, "chat.completion.chunk")

        def chunk(delta: dict[str, Any]) -> bytes:
            return server_event(None, head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})

        yield chunk({"role": "assistant", "content": ""})
        for piece in pieces(said_in(parts)):
            yield chunk({"content": piece})
        for place, call in enumerate(self._calls(parts, number)):
            arguments = call["function"]["arguments"]
            yield chunk({"tool_calls": [{"index": place, **call, "function": call["function"] | {"arguments": ""}}]})
            for piece in pieces(arguments):
                yield chunk({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
        last: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": self._finish(parts)}
        yield server_event(None, head | {"choices": [last], "usage": self._usage(tokens)})
        yield server_event(None, b"[DONE]")

    def error(self, message: str) -> Any:
        return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}

    def _head(self, number: int, kind: str) -> dict[str, Any]:
        return {"id": f"chatcmpl-practice-{number}", "object": kind, "created": CREATED, "model": MODEL}

    def _calls(self, parts: list[Part], number: int) -> list[dict[str, Any]]:
        return [
            {
                "id": f"call_practice_{number}_{place}",
                "type": "function",
                "function": {"name": part.name, "arguments": part.arguments},
            }
            for place, part in enumerate(parts)
            if not isinstance(part, Said)
        ]

    def _finish(self, parts: list[Part]) -> str:
        return "stop" if all(isinstance(part, Said) for part in parts) else "tool_calls"

    def _usage(self, tokens: tuple[int, int]) -> dict[str, int]:
        prompt, completion = tokens
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


class Responses:
    """OpenAI Responses."""

    stream_type = "text/event-stream; charset=utf-8"
    streams_unasked = False
    error = Chat.error

    def whole(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Any:
        items = [self._item(part, number, place, "completed") for place, part in enumerate(parts)]
        prompt, completion = tokens
        usage = {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": completion,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": prompt + completion,
        }
        return self._response(number, "completed") | {"output": items, "usage": usage}

    def events(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Iterator[bytes]:
        for order, event in enumerate(self._events(parts, number, tokens)):
            yield server_event(event["type"], {**event, "sequence_number": order})

    def _events(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Iterator[dict[str, Any]]:
        yield {"type": "response.created", "response": self._response(number, "in_progress")}
        for place, part in enumerate(parts):
            begun = self._item(part, number, place, "in_progress")
            yield {"type": "response.output_item.added", "output_index": place, "item": begun}
            yield from self._said_or_called(part, {"item_id": begun["id"], "output_index": place})
            ended = self._item(part, number, place, "completed")
            yield {"type": "response.output_item.done", "output_index": place, "item": ended}
        yield {"type": "response.completed", "response": self.whole(parts, number, tokens)}

    def _said_or_called(self, part: Part, at: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if not isinstance(part, Said):
            for piece in pieces(part.arguments):
                yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
            yield {"type": "response.function_call_arguments.done", **at, "arguments": part.arguments}
            return
        at = at | {"content_index": 0}
        yield {"type": "response.content_part.added", **at, "part": _output_text("")}
        for piece in pieces(part.text):
            yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
        yield {"type": "response.output_text.done", **at, "text": part.text, "logprobs": []}
        yield {"type": "response.content_part.done", **at, "part": _output_text(part.text)}

    def _response(self, number: int, status: str) -> dict[str, Any]:
        return {
            "id": f"resp_practice_{number}",
            "object": "response",
            "created_at": CREATED,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "model": MODEL,
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": None,
        }

    def _item(self, part: Part, number: int, place: int, status: str) -> dict[str, Any]:
        begun = status == "in_progress"
        if isinstance(part, Said):
            content = [] if begun else [_output_text(part.text)]
            about = {"type": "message", "role": "assistant", "content": content}
        else:
            arguments = "" if begun else part.arguments
            about = {"type": "function_call", "call_id": f"call_practice_{number}_{place}", "name": part.name}
            about["arguments"] = arguments
        kind = "msg" if isinstance(part, Said) else "fc"
        return {"id": f"{kind}_practice_{number}_{place}", "status": status, **about}


def _output_text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


# ── Anthropic's and Ollama's wires ──
# The practice model on Anthropic's wire and on Ollama's.


class Messages:
    """Anthropic messages."""

    stream_type = "text/event-stream; charset=utf-8"
    streams_unasked = False

    def whole(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Any:
        blocks = [self._block(part, number, place) for place, part in enumerate(parts)]
        return self._message(number, tokens) | {"content": blocks, "stop_reason": self._stop(parts)}

    def events(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Iterator[bytes]:
        for event in self._events(parts, number, tokens):
            yield server_event(event["type"], event)

    def _events(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Iterator[dict[str, Any]]:
        yield {"type": "message_start", "message": self._message(number, (tokens[0], 1))}
        for index, part in enumerate(parts):
            begun = self._block(part, number, index)
            if isinstance(part, Said):
                begun["text"] = ""
                deltas = [{"type": "text_delta", "text": text} for text in pieces(part.text)]
            else:
                begun["input"] = {}
                deltas = [{"type": "input_json_delta", "partial_json": text} for text in pieces(part.arguments)]
            yield {"type": "content_block_start", "index": index, "content_block": begun}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        stop = {"stop_reason": self._stop(parts), "stop_sequence": None}
        yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": tokens[1]}}
        yield {"type": "message_stop"}

    def error(self, message: str) -> Any:
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}

    def _message(self, number: int, tokens: tuple[int, int]) -> dict[str, Any]:
        about = {"id": f"msg_practice_{number}", "type": "message", "role": "assistant", "model": MODEL}
        usage = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
        return {**about, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}

    def _block(self, part: Part, number: int, place: int) -> dict[str, Any]:
        if isinstance(part, Said):
            return {"type": "text", "text": part.text}
        call_id = f"toolu_practice_{number}_{place}"
        return {"type": "tool_use", "id": call_id, "name": part.name, "input": object_in(part.arguments)}

    def _stop(self, parts: list[Part]) -> str:
        return "end_turn" if all(isinstance(part, Said) for part in parts) else "tool_use"


class OllamaChat:
    """Ollama's own chat."""

    stream_type = "application/x-ndjson"
    streams_unasked = True

    def whole(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": said_in(parts)}
        if calls := self._calls(parts, number):
            message["tool_calls"] = calls
        return self._line(message) | self._done(tokens)

    def events(self, parts: list[Part], number: int, tokens: tuple[int, int]) -> Iterator[bytes]:
        messages: list[dict[str, Any]] = [{"content": piece} for piece in pieces(said_in(parts))]
        messages += [{"content": "", "tool_calls": [call]} for call in self._calls(parts, number)]
        for message in messages:
            yield json.encode(self._line({"role": "assistant", **message})) + b"\n"
        yield json.encode(self._line({"role": "assistant", "content": ""}) | self._done(tokens)) + b"\n"

    def error(self, message: str) -> Any:
        return {"error": message}

    def _line(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"model": MODEL, "created_at": CREATED_AT, "message": message, "done": False}

    def _done(self, tokens: tuple[int, int]) -> dict[str, Any]:
        durations = dict.fromkeys(("total_duration", "load_duration", "prompt_eval_duration", "eval_duration"), 1)
        return {
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": tokens[0],
            "eval_count": tokens[1],
            **durations,
        }

    def _calls(self, parts: list[Part], number: int) -> list[dict[str, Any]]:
        return [
            {
                "id": f"call_practice_{number}_{place}",
                "function": {"index": 0, "name": part.name, "arguments": object_in(part.arguments)},
            }
            for place, part in enumerate(parts)
            if not isinstance(part, Said)
        ]


MOST = 8 * 1024 * 1024
"""Bytes of a question. Nobody practises with more."""

_WIRES: dict[str, PracticeWire] = {
    "/v1/chat/completions": Chat(),
    "/v1/responses": Responses(),
    "/v1/messages": Messages(),
    "/api/chat": OllamaChat(),
}


def practice_app() -> ASGIApp:
    """A new practice model, for all four wires. The way it breaks its calls changes with every call it makes."""
    answers, calls = count(), count()
    chats = [Route(path, _chat(wire, answers, calls), methods=["POST"]) for path, wire in _WIRES.items()]
    lists = [Route("/v1/models", _models), Route("/api/tags", _tags)]
    return Starlette(routes=[*chats, Route("/v1/messages/count_tokens", _count, methods=["POST"]), *lists])


def _chat(wire: PracticeWire, answers: "count[int]", calls: "count[int]") -> Callable[[Request], Awaitable[Response]]:
    async def chat(request: Request) -> Response:
        raw = await _body(request)
        if raw is None:
            return _json(wire.error(f"the request is larger than {MOST} bytes"), 413)
        body = _decoded(raw)
        if body is None:
            return _json(wire.error("the request must be a JSON object"), 400)
        question = question_of(body)
        number = next(answers)
        parts = answer(question, next(calls) if question.tools and question.result is None else 0)
        tokens = (
            max(1, len(raw) // 4),
            estimate("".join(part.text if isinstance(part, Said) else part.name + part.arguments for part in parts)),
        )
        if body.get("stream", wire.streams_unasked) is True:
            return StreamingResponse(wire.events(parts, number, tokens), media_type=wire.stream_type)
        return _json(wire.whole(parts, number, tokens))

    return chat


async def _body(request: Request) -> bytes | None:
    """None where it is too large."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST:
            return None
    return body


def _decoded(raw: bytes) -> dict[str, Any] | None:
    try:
        body = json.decode(raw)
    except (ValueError, RecursionError):
        return None
    return body if is_object(body) else None


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.encode(value), status, media_type="application/json")


async def _count(request: Request) -> Response:
    raw = await _body(request)
    if raw is None:
        return _json(Messages().error(f"the request is larger than {MOST} bytes"), 413)
    return _json({"input_tokens": max(1, len(raw) // 4)})


async def _models(_: Request) -> Response:
    one = {"id": MODEL, "object": "model", "type": "model", "created": 1_763_200_000, "owned_by": "rightcall"}
    one |= {"display_name": "RightCall's practice model", "created_at": "2025-11-15T10:00:00Z"}
    return _json({"object": "list", "data": [one], "has_more": False, "first_id": MODEL, "last_id": MODEL})


async def _tags(_: Request) -> Response:
    details = {"format": "none", "family": "practice", "parameter_size": "0", "quantization_level": "none"}
    one = {"name": MODEL, "model": MODEL, "modified_at": "2025-11-15T10:00:00Z", "size": 0, "digest": "0" * 64}
    return _json({"models": [one | {"details": details}]})
