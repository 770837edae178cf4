"""Native messages, as a model's API or SDK returned them, taken apart into calls and prose (R-02).

    unpack ─▶ a list, item by item │ a block │ an answer with messages inside │ a message │ a bare call

Which API it was is told from the fields, never asked. Nothing is parsed or repaired here, and nothing raises.
"""

from typing import Any

from rightcall.recover.native_blocks import is_others, kind_of, note_others, read_keyed, read_typed
from rightcall.recover.native_calls import is_call, read_call
from rightcall.recover.native_fields import dumped, field, is_empty, is_many, is_thing, text_of, word
from rightcall.recover.native_parts import DEEPEST, MOST, Basket, NativeCall, NativeText, Unpacked
from rightcall.text.escape import escaped
from rightcall.types import Call

__all__ = ["MOST", "NativeCall", "NativeText", "Unpacked", "unpack"]

FINISH = ("finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason")
UNREAD = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"}
"""Gemini's reasons to stop where it threw a call away."""
ANSWER = ("message", "content", "text", "parts", "tool_calls", "function_call")
MESSAGES = {"message", "message.output", "model_output", "ai", "AIMessageChunk", "assistant"}
OTHERS = {"user", "human", "system", "developer", "tool", "function"}
"""Who speaks in a message that is not the model's. What they quote is no call."""


def unpack(message: Any) -> Unpacked:
    """The calls and the prose of a message of any API, in order.

    >>> unpack({"role": "assistant", "content": "Well.", "tool_calls": [
    ...     {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}]}).parts
    (NativeText(text='Well.', reasoning=False), NativeCall(name='add', arguments='{}', id='c1', partial=False))
    """
    basket = Basket()
    try:
        _read(basket, message, 0)
    except Exception as error:  # noqa: BLE001 - what was gathered counts, and the note says that there was more
        basket.note("unreadable", f"the message could not be read to its end ({type(error).__name__})")
    return basket.unpacked()


def _read(basket: Basket, thing: Any, depth: int) -> None:
    if depth > DEEPEST:
        basket.note("unreadable", "the message is nested too deep, or holds itself")
    elif issubclass(type(thing), Call):
        basket.call(NativeCall(thing.name, thing.arguments, thing.id, partial=False))
    elif text_of(thing) is not None:
        basket.text(thing)
    elif is_many(thing):
        for item in basket.entries(thing):
            _read(basket, item, depth + 1)
    elif not is_thing(thing):
        basket.note("unreadable", f"a {escaped(type(thing).__name__, 60)} is no message")
    elif not _read_thing(basket, thing, depth + 1):
        data = dumped(thing)
        if data is None:
            kind = kind_of(thing) or type(thing).__name__
            basket.note("unreadable", f"`{escaped(kind, 60)}` is no message of a known API")
        else:
            _read(basket, data, depth + 1)


def _read_thing(basket: Basket, thing: Any, depth: int) -> bool:
    """Read one object by the first shape it has; False if it has none."""
    kind = kind_of(thing)
    if kind is not None and kind not in MESSAGES and read_typed(basket, thing, kind):
        return True
    return (
        _read_answer(basket, thing, depth)
        or _read_request(basket, thing)
        or _read_message(basket, thing, kind, depth)
        # what says a type that nobody knows may be a call that its provider runs
        or (kind is None and (read_keyed(basket, thing) or _read_bare(basket, thing)))
    )


def _read_answer(basket: Basket, thing: Any, depth: int) -> bool:
    """All that an API answered: the message is somewhere inside."""
    if (choices := field(thing, "choices", "candidates")) is not None:
        _read_first(basket, choices, depth)
    elif (output := field(thing, "output", "outputs", "steps")) is not None:
        _read(basket, output, depth)
        basket.finished(field(thing, "status"))
        basket.finished(field(field(thing, "incomplete_details"), "reason"))
    elif is_thing(field(thing, "message")):
        _read(basket, field(thing, "message"), depth)
    elif text_of(field(thing, "response")) is not None and field(thing, "done") is not None:
        basket.text(field(thing, "thinking"), reasoning=True)
        basket.text(field(thing, "response"))
    else:
        return False
    basket.finished(field(thing, *FINISH))
    return True


def _read_first(basket: Basket, choices: Any, depth: int) -> None:
    """The first of several answers."""
    for number, choice in enumerate(basket.entries(choices)):
        if number:
            basket.note("too_many", "the model gave several answers; only the first is read")
            return
        if not is_thing(choice) or field(choice, *ANSWER) is not None:
            _read(basket, choice, depth)
        elif field(choice, "delta") is not None:
            basket.note("unreadable", "a piece of a stream is no whole message")
        basket.finished(field(choice, *FINISH))
        if basket.finish in UNREAD:
            why = text_of(field(choice, "finishMessage", "finish_message")) or basket.finish
            basket.note("unreadable", f"the API could not read the model's call: {escaped(why, 300)}")


def _read_request(basket: Basket, thing: Any) -> bool:
    """MCP: a JSON-RPC request."""
    method = text_of(field(thing, "method"))
    if method == "tools/call":
        basket.call(read_call(field(thing, "params"), call_id=field(thing, "id")))
    elif method is not None and field(thing, "jsonrpc") is not None:
        basket.note("unreadable", f"a request for `{escaped(method, 60)}` calls no tool")
    else:
        return False
    return True


def _read_message(basket: Basket, thing: Any, kind: str | None, depth: int) -> bool:
    """A message of a chat, or Gemini's content."""
    own = field(thing, "role", "parts", "tool_calls", "invalid_tool_calls", "reasoning_content")
    by_content = kind is None or kind in MESSAGES or kind in OTHERS
    if own is None and not (by_content and field(thing, "content") is not None):
        return False
    role = word(field(thing, "role")) or kind
    if role in OTHERS:
        basket.note("quoted", f"a message of the role `{role}` is not the model's")
        return True
    _read_reasoning(basket, thing)
    _read_content(basket, thing, depth)
    basket.finished(field(field(thing, "response_metadata"), *FINISH))
    basket.finished(field(thing, *FINISH))
    return True


def _read_reasoning(basket: Basket, thing: Any) -> None:
    thoughts = (
        field(thing, "reasoning_content", "reasoning", "thinking", "tool_plan"),
        field(field(thing, "additional_kwargs"), "reasoning_content"),
    )
    for thought in thoughts:
        if text_of(thought) is not None or is_many(thought):
            basket.text(thought, reasoning=True)


def _read_content(basket: Basket, thing: Any, depth: int) -> None:
    """Content first, then the calls beside it. Frameworks list the calls of the content once more: they count once."""
    calls = _listed_calls(basket, thing)
    basket.listed = frozenset((call.id, call.name) for call in calls if call.id and type(call.name) is str)
    content = field(thing, "parts", "content", "text")
    if content is not None:
        _read(basket, content, depth)
    basket.text(field(thing, "refusal"))
    basket.text(field(field(thing, "audio"), "transcript"))
    basket.listed = frozenset()
    for call in calls:
        basket.call(call)


def _listed_calls(basket: Basket, thing: Any) -> list[NativeCall]:
    calls = [*_calls_in(basket, thing, "tool_calls"), *_calls_in(basket, thing, "invalid_tool_calls")]
    legacy = field(thing, "function_call", "functionCall")
    if not calls and is_empty(legacy):  # LangChain keeps here what it did not understand
        calls = _calls_in(basket, field(thing, "additional_kwargs"), "tool_calls")
        legacy = field(field(thing, "additional_kwargs"), "function_call")
    if is_empty(legacy):
        return [*calls, read_call(thing)] if is_call(thing) else calls
    call = read_call(legacy)
    if any(_is_same(call, other) for other in calls):
        basket.note("repeated", "the message has the same call in `tool_calls` and in `function_call`")
        return calls
    return [*calls, call]


def _calls_in(basket: Basket, thing: Any, name: str) -> list[NativeCall]:
    calls: list[NativeCall] = []
    given = field(thing, name)
    for entry in () if is_empty(given) else basket.entries(given):
        kind = kind_of(entry)
        if kind is not None and is_others(kind):
            note_others(basket, kind)
        else:
            calls.append(read_call(entry))
    return calls


def _is_same(one: NativeCall, other: NativeCall) -> bool:
    """Servers that speak both of OpenAI's dialects send one call in both."""
    name, arguments = text_of(one.name), text_of(one.arguments)
    if name is None or name != text_of(other.name):
        return False
    return one.arguments is other.arguments or (arguments is not None and arguments == text_of(other.arguments))


def _read_bare(basket: Basket, thing: Any) -> bool:
    if not is_call(thing):
        return False
    basket.call(read_call(thing))
    return True
