"""Asking a model once: whatever answers, in time, and what went wrong as words. And what it replied, whatever API it
came through, as the turn that stands in the conversation.

The turn is what the model said, field by field, with the least change that lets any API take it back: every native
call has an id of its own, a name an API accepts, and arguments that are an object.
"""

import inspect
import logging
import os
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast
from uuid import uuid4

from msgspec import Struct, json

from rightcall.base.json.marks import is_object
from rightcall.base.secrets import Redactor
from rightcall.base.text import escaped, wire_name
from rightcall.errors import ConfigError, ModelError, RightCallError
from rightcall.executor.messages import Outcome
from rightcall.gate.recover.machine import CLOSES, REASONING
from rightcall.gate.recover.native import (
    UNREAD,
    NativeCall,
    NativeText,
    dumped,
    field,
    is_many,
    is_thing,
    kind_of,
    text_of,
    unpack,
)
from rightcall.types import Reading, Verdict

if TYPE_CHECKING:
    from concurrent.futures import Future

Shape = Literal["text", "openai", "anthropic"]

_KEPT = ("content", "refusal", "reasoning", "reasoning_content", "reasoning_details", "thinking", "tool_plan")
"""Fields of a message that its API wants to see again."""

_ANTHROPIC = {"tool_use", "thinking", "redacted_thinking", "server_tool_use"}


class NativeId(Struct, frozen=True):
    """A native call as it goes back: `at` is its place among the calls of the reading."""

    at: int
    id: str
    name: str
    arguments: Any


class Turn(Struct, frozen=True):
    """The model's turn, and in which shape its native calls are answered."""

    message: dict[str, Any]
    shape: Shape = "text"
    natives: tuple[NativeId, ...] = ()
    prose: str = ""
    """The text as the model wrote it, with everything in it."""
    misread: bool = False
    """The API says that it could not read a call of the model's."""


def turn_of(written: Any, reading: Reading, taken: Collection[str] = ()) -> Turn:
    """The turn in which the model wrote this. `taken` are ids of calls that the conversation has already.

    >>> turn_of("Hello.", Reading((), "Hello.")).message
    {'role': 'assistant', 'content': 'Hello.'}
    """
    text = text_of(written)
    if text is not None:
        return Turn({"role": "assistant", "content": text}, prose=text)
    unpacked = unpack(written)
    prose = "".join(part.text for part in unpacked.parts if isinstance(part, NativeText) and not part.reasoning)
    natives = _identified([part for part in unpacked.parts if isinstance(part, NativeCall)], reading, taken)
    said = _message(written)
    blocks = written if is_many(written) else field(said, "content")
    misread = unpacked.finish in UNREAD
    if is_many(blocks) and any(kind_of(block) in _ANTHROPIC for block in blocks):
        return Turn(_anthropic(blocks, natives, prose), "anthropic", natives, prose, misread)
    return Turn(_openai(said, natives, prose), "openai", natives, prose, misread)


def last_turn(turn: Turn, text: str) -> dict[str, Any] | None:
    """A turn after which nothing follows: no call in it would ever be answered, so it holds none. None when nothing
    is left of it."""
    kept = {key: value for key, value in turn.message.items() if key not in ("content", "tool_calls")}
    return {**kept, "content": text} if text.strip() else None


def answer_of(turn: Turn, reading: Reading, *, opened: bool = False) -> str:
    """What a reply says to people: its prose, without markers of calls that hold none, and without the reasoning that
    some models write first. `opened`: the prompt has opened that, so that only its closing tag may be there.

    >>> reading = Reading((), "<think>Should I call <tool_call>?</think>\\nNo.")
    >>> answer_of(turn_of(reading.text, reading), reading)
    'No.'
    """
    text, before = reading.text, None
    for marker in left_markers(turn, reading):
        text = text.replace(marker, "", 1)
    if opened and (close := CLOSES.pattern.search(text)) is not None:
        text = text[close.end() :].lstrip()
    while before != text:
        before, text = text, _after_reasoning(text)
    return text if text == turn.prose else text.strip()


def left_markers(turn: Turn, reading: Reading) -> list[str]:
    """Markers of calls that are followed by none, which reading leaves in the prose."""
    return [turn.prose[note.start : note.end] for note in reading.notes if note.code == "unreadable" and note.end]


def _after_reasoning(text: str) -> str:
    bare = text.lstrip()
    for opens, closes in REASONING.items():
        if bare.startswith(opens) and (end := bare.find(closes)) >= 0:
            return bare[end + len(closes) :].lstrip()
    return text


def _message(written: Any) -> Any:
    """The message inside all that an API answered."""
    choices = field(written, "choices")
    first = choices[0] if is_many(choices) and len(choices) else written
    inner = field(first, "message")
    return inner if is_thing(inner) else first


def _identified(calls: list[NativeCall], reading: Reading, others: Collection[str]) -> tuple[NativeId, ...]:
    """Each native call beside its verdict. Answers find their call by its id, so no two may share one."""
    places = [at for at, place in enumerate(reading.places) if place.format == "native"]
    taken = set(others)
    found: list[NativeId] = []
    for at, call in zip(places, calls, strict=True):
        own = call.id if call.id and call.id not in taken else uuid4().hex[:9]  # nine: some models take no other length
        taken.add(own)
        found.append(NativeId(at, own, _name(call.name), _arguments(call.arguments, reading.calls[at])))
    return tuple(found)


def _name(given: Any) -> str:
    return wire_name(text_of(given) or "") or "unknown"


def _arguments(given: Any, verdict: Verdict) -> Any:
    """As the model gave them where they are an object or the JSON of one; else as far as they were understood."""
    for arguments in (given, *(call.arguments for call in (verdict.call, verdict.found) if call is not None)):
        try:
            plain = json.decode(arguments if isinstance(arguments, str) else json.encode(arguments))
        except (TypeError, ValueError, RecursionError):  # what no message could carry
            continue
        if is_object(plain):
            return arguments if isinstance(arguments, str) or plain == arguments else plain
    return {}


def _openai(said: Any, natives: tuple[NativeId, ...], prose: str) -> dict[str, Any]:
    kept = {key: value for key in _KEPT if (value := field(said, key)) is not None}
    content: Any = kept.pop("content", None)
    if text_of(content) is None:
        parts = [_plain(part) for part in content] if is_many(content) else []
        content = parts if parts and all(parts) else prose or ("" if not natives else None)
    message: dict[str, Any] = {"role": "assistant", "content": content, **kept}
    if natives:
        listed = field(said, "tool_calls")
        given = [_plain(entry) for entry in listed] if is_many(listed) else []
        known = len(given) == len(natives)
        message["tool_calls"] = [_openai_call(given[at] if known else {}, native) for at, native in enumerate(natives)]
    return message


def _openai_call(entry: dict[str, Any], native: NativeId) -> dict[str, Any]:
    own = entry.get("function")
    arguments = native.arguments
    if is_object(arguments) and not (is_object(own) and own.get("arguments") is arguments):
        arguments = json.encode(arguments).decode()  # OpenAI's own way; who sends objects gets objects back
    function = {**(own if is_object(own) else {}), "name": native.name, "arguments": arguments}
    return {**entry, "id": native.id, "type": "function", "function": function}


def _anthropic(blocks: Any, natives: tuple[NativeId, ...], prose: str) -> dict[str, Any]:
    plain = [_plain(block) for block in blocks]
    uses = [block for block in plain if block.get("type") == "tool_use"]
    if len(uses) != len(natives):
        plain = [{"type": "text", "text": prose}, *({"type": "tool_use"} for _ in natives)]
    waiting = iter(natives)
    content: list[dict[str, Any]] = []
    for block in plain:
        if block.get("type") == "tool_use":
            native = next(waiting)
            given = native.arguments
            inputs = json.decode(given) if isinstance(given, str) else given
            content.append({**block, "id": native.id, "name": native.name, "input": inputs})
        elif block.get("type") != "text" or str(block.get("text", "")).strip():  # the API refuses blank text
            content.append(block)
    return {"role": "assistant", "content": content}


def _plain(thing: Any) -> dict[str, Any]:
    """A block or an entry as a dict, without the fields that say nothing; empty when it cannot be told."""
    data: Any = dict(cast("Mapping[str, Any]", thing)) if isinstance(thing, Mapping) else dumped(thing)
    return {key: value for key, value in data.items() if value is not None} if is_object(data) else {}


# ── loop messages ──
# The conversation: how a request begins it, how the model is told of its tools, how its calls are answered.

Message = dict[str, Any]

_TOLD = ("unreadable", "too_many", "reasoning", "final")
"""What was left of a reply that a model can do better the next time."""

_UNREAD = "⚠️ Not run: {reasons}. Send the call again, complete and in the format you were given, or answer without it."


def opening(request: Any) -> list[Message]:
    """The messages that a request begins with.

    >>> opening("Where is the parser?")
    [{'role': 'user', 'content': 'Where is the parser?'}]
    """
    text = text_of(request)
    if text is not None:
        return [{"role": "user", "content": text}]
    if not is_many(request):
        kind = type(cast("object", request)).__name__
        raise ConfigError(f"`request` must be a text or a list of messages, not a {kind}")
    messages = [_message_loop_messages(given, at) for at, given in enumerate(request)]
    if not messages:
        raise ConfigError("`request` is an empty list: a conversation begins with a message")
    return messages


def _message_loop_messages(given: Any, at: int) -> Message:
    data: Any = dict(cast("Mapping[str, Any]", given)) if isinstance(given, Mapping) else dumped(given)
    if not isinstance(data, dict) or text_of(cast("Message", data).get("role")) is None:
        raise ConfigError(f"`request[{at}]` is not a message; expected {{'role': 'user', 'content': '…'}}")
    return cast("Message", data)


def with_prompt(messages: list[Message], prompt: str) -> list[Message]:
    """The conversation as a model without native tools reads it: the tools stand in the system message, after what
    the user's own says.

    >>> with_prompt([{"role": "system", "content": "Be brief."}], "You have tools.")
    [{'role': 'system', 'content': 'Be brief.\\n\\nYou have tools.'}]
    """
    if not prompt:
        return messages
    first = messages[0]
    if first.get("role") not in ("system", "developer"):
        return [{"role": "system", "content": prompt}, *messages]
    said = first.get("content")
    if isinstance(said, list):
        content: Any = [*cast("list[Any]", said), {"type": "text", "text": prompt}]
    else:
        content = f"{said}\n\n{prompt}" if said else prompt
    return [{**first, "content": content}, *messages[1:]]


def unread(turn: Turn, reading: Reading) -> str:
    """What the model should be told of calls that could not even be found; empty when there is nothing to tell.

    An answer with prose is an answer: notes on odd parts of its message are no reason to ask again.
    """
    told = [note.message for note in reading.notes if note.code in _TOLD]
    lost = turn.misread or left_markers(turn, reading) or reading.calls or not reading.text.strip()
    return _UNREAD.format(reasons="; ".join(dict.fromkeys(told))) if told and lost else ""


def answers(turn: Turn, outcomes: list[Outcome], last: str) -> list[Message]:
    """The messages after the model's turn: a result for each call, in the shape of the call, then `last`."""
    native = {found.at for found in turn.natives}
    blocks = [
        (outcome.message("text") if outcome.tool else outcome.content)
        for at, outcome in enumerate(outcomes)
        if at not in native
    ]
    text = "\n\n".join(part for part in (*blocks, last) if part)
    if not turn.natives:
        return [{"role": "user", "content": text}]
    results = [_result(outcomes[found.at], turn.shape, found.id) for found in turn.natives]
    if turn.shape == "anthropic":
        return [{"role": "user", "content": [*results, *([{"type": "text", "text": text}] if text else [])]}]
    if text:  # not as a message of its own: templates of some models take none of the user's after a tool's
        results[-1] = {**results[-1], "content": f"{results[-1]['content']}\n\n{text}"}
    return results


# what could not be read names no tool


def _result(outcome: Outcome, shape: Any, id: str) -> Message:
    key = "tool_use_id" if shape == "anthropic" else "tool_call_id"
    return {**outcome.message(shape), key: id}


Native = Literal["openai", "anthropic"]
Model = Callable[..., Any]

_log = logging.getLogger("rightcall")
_NO_TOOLS: dict[Native, Any] = {"openai": "none", "anthropic": {"type": "none"}}


class Failed(Struct, frozen=True):
    """A model that did not answer, and why."""

    error: str


class Asker(Struct, frozen=True):
    """A model, and how it wants to be asked."""

    model: Model
    native: Native | None
    """The shape of the definitions it takes as `tools=`; None: it is told of its tools in words."""
    chooses: bool
    """Whether it can be told by `tool_choice=` that it may not call any."""
    asynchronous: bool
    seconds: float | None

    def options(self, definitions: list[Message], *, last: bool) -> dict[str, Any]:
        """The keywords of one question. The last has the tools too: some APIs refuse a history of calls without."""
        if self.native is None or not definitions:  # an empty list is refused by most APIs
            return {}
        choice = {"tool_choice": _NO_TOOLS[self.native]} if last and self.chooses else {}
        return {"tools": definitions, **choice}


class Chatting:
    """A model object with `create_chat_completion`, such as llama-cpp-python's, as a function of messages. It is told
    of its tools in words, unless `native` says otherwise: most chat formats there ignore `tools=` without a word."""

    def __init__(self, model: Any) -> None:
        self._create = model.create_chat_completion

    def __call__(self, messages: list[Message], **options: Any) -> Any:
        if "schema" in options:
            options["response_format"] = {"type": "json_object", "schema": options.pop("schema")}
        return self._create(messages, **options_taken(self._create, options))


def as_model(model: Any) -> Any:
    """A model as a function of messages. llama-cpp-python's objects can be called too, but with a bare prompt."""
    return Chatting(model) if callable(getattr(model, "create_chat_completion", None)) else model


def options_taken(model: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options that a callable takes."""
    kinds = parameters_of(model)
    if not kinds or inspect.Parameter.VAR_KEYWORD in kinds.values():
        return options
    return {name: value for name, value in options.items() if name in kinds}


def asker(model: Any, native: Any = None, seconds: float | None = None) -> Asker:
    """What a model's signature says of it. Only a parameter called `tools` counts, not `**options`: who takes anything
    may still send on what his server refuses."""
    model = as_model(model)
    if not callable(model):
        raise ConfigError(f"`model` must be callable with a list of messages, not a {type(model).__name__}")
    if native not in (None, "openai", "anthropic"):
        raise ConfigError(f"`native` must be 'openai' or 'anthropic' (or left out), not {native!r}")
    if seconds is not None and not seconds > 0:
        raise ConfigError(f"`model_seconds` must be more than 0 (or None for no limit), not {seconds!r}")
    parameters = parameters_of(model)
    named = {name for name, kind in parameters.items() if kind != inspect.Parameter.VAR_KEYWORD}
    if native is None and "tools" in named:
        native = "openai"
    if native is not None and parameters and named == set(parameters) and "tools" not in named:
        raise ConfigError(f"`native` is {native!r}, but `model` takes no keyword `tools`")
    own = getattr(type(model), "__call__", None)  # noqa: B004 - not whether it can be called, but how
    asynchronous = inspect.iscoroutinefunction(model) or inspect.iscoroutinefunction(own)
    return Asker(model, native, "tool_choice" in named, asynchronous, seconds)


def parameters_of(model: Model) -> dict[str, Any]:
    """The kind of each parameter by its name; empty where it cannot be told."""
    try:
        return {name: one.kind for name, one in inspect.signature(model).parameters.items()}
    except (TypeError, ValueError):  # built-in callables do not always say
        return {}


async def ask(asker: Asker, messages: list[Message], options: dict[str, Any]) -> Any:
    """The model's reply, or `Failed`. A synchronous model is asked in a thread: others go on meanwhile. One that does
    not obey when its time is over is left alone, and its reply is dropped."""
    if asker.seconds is None:
        return await _ask_model(asker, messages, options)
    import asyncio
    from contextvars import copy_context

    from rightcall.tools.run import Stopped, in_task

    async def work() -> Any:
        try:
            return await _ask_model(asker, messages, options)
        except asyncio.CancelledError:  # whoever told it to end does not listen any more
            return Failed("the model was cancelled")

    deadline = asyncio.get_running_loop().time() + asker.seconds
    reply = await in_task(work, deadline, copy_context())
    return _late(asker) if isinstance(reply, Stopped) else reply


async def _ask_model(asker: Asker, messages: list[Message], options: dict[str, Any]) -> Any:
    import asyncio

    try:
        if asker.asynchronous:
            return await asker.model(messages, **options)
        reply = await asyncio.wrap_future(_in_thread(asker.model, messages, options))
        return await reply if inspect.isawaitable(reply) else reply
    except Exception as error:  # noqa: BLE001 - whatever a model raises, what was done so far is kept
        return describe_failure(error)


def ask_sync(asker: Asker, messages: list[Message], options: dict[str, Any]) -> Any:
    """The same for code without an event loop. A thread only where there is a time limit."""
    if asker.seconds is None:
        reply = _attempt(asker.model, messages, options)
    else:
        try:
            reply = _in_thread(asker.model, messages, options).result(asker.seconds)
        except TimeoutError:  # ours: what the model raises comes as a value
            return _late(asker)
    if inspect.iscoroutine(reply):
        reply.close()
        return Failed("the model is asynchronous: use `await run_loop(…)`")
    return reply


def _attempt(model: Model, messages: list[Message], options: dict[str, Any]) -> Any:
    try:
        return model(messages, **options)
    except Exception as error:  # noqa: BLE001 - as above
        return describe_failure(error)


def describe_failure(error: Exception) -> Failed:
    """What a model raised, as a value, without the secrets that clients like to repeat. A `ModelError` is a whole
    sentence already. Only what nobody expects is logged with its traceback."""
    if not isinstance(error, RightCallError):
        _log.warning("rightcall: the model failed", exc_info=error)
    said = str(error) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
    return Failed(escaped(Redactor(os.urandom(32)).text(said), 2000))


def _late(asker: Asker) -> Failed:
    return Failed(f"the model gave no answer within {round(asker.seconds or 0, 2):g} s")


def _in_thread(model: Model, messages: list[Message], options: dict[str, Any]) -> "Future[Any]":

    from rightcall.base.http.client import in_own_thread

    return in_own_thread(partial(_attempt, model, messages, options), "rightcall-model")


def failure_of(written: Any) -> str | None:
    """Why this is no reply; None when it is one."""
    if isinstance(written, Failed):
        return written.error
    if not (text_of(written) is not None or is_thing(written) or is_many(written)):
        what = "nothing" if written is None else f"a value of type {type(written).__name__}"
        return f"the model returned {what}; a text or a message is due"
    return None
