"""Native messages, as a model's API or SDK returned them, taken apart into calls and prose (R-02).

    unpack ─▶ a list, item by item │ a block │ an answer with messages inside │ a message │ a bare call

Which API it was is told from the fields, never asked. Nothing is parsed or repaired here, and nothing raises.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, cast

from rightcall.base.json.marks import is_object
from rightcall.base.text import escaped
from rightcall.types import Call, Note, NoteCode

# ── fields ──
# Looking into whatever an SDK hands over: dicts, models, dataclasses, plain objects. Nothing here raises.
#
# Fields are read one by one and never dumped as a whole, so that the arguments of a call stay the object they were.

_TEXTS = (str, bytes, bytearray, memoryview)
_METHODS = (FunctionType, MethodType, BuiltinMethodType)
# An exception has `args`, a class and a module have all sorts: none of them is a message.
_NO_MESSAGE = (*_TEXTS, *_METHODS, int, float, complex, list, tuple, set, frozenset, type, ModuleType, BaseException)

_COMMON = (dict, list, str, type(None))  # JSON, which is what nearly everything is
_plain_get = dict[str, Any].get  # a subclass may have another idea of `get`


def field(thing: Any, *names: str) -> Any:
    """The first of these fields that is there and not None."""
    if thing is None:
        return None
    kind: type[object] = type(cast("object", thing))
    get: Callable[[str], Any] = thing.get if kind is dict else _getter(thing)
    for name in names:
        try:
            value = get(name)
        except Exception:  # noqa: BLE001 - a field that cannot be read is a field that is not there
            continue
        if value is not None:
            return value
    return None


def _getter(thing: Any) -> Callable[[str], Any]:
    """How to ask anything but a plain dict for a field."""
    if issubclass(type(thing), dict):
        return lambda name: _plain_get(cast("dict[str, Any]", thing), name)
    if issubclass(type(thing), _NO_MESSAGE):
        return lambda _: None
    return (lambda name: thing.get(name)) if _is_a(thing, Mapping) else lambda name: _attribute(thing, name)


def _attribute(thing: Any, name: str) -> Any:
    value = getattr(thing, name, None)
    return None if type(value) in _METHODS or _is_unset(value) else value


def _is_a(value: Any, base: type[object]) -> bool:
    try:
        return issubclass(type(value), base)
    except Exception:  # noqa: BLE001 - a class that will not say what it is
        return False


def _is_unset(value: Any) -> bool:
    """SDKs fill a field that was not sent with an object of their own, which is neither None nor true."""
    kind: type[object] = type(cast("object", value))
    if kind in (bool, int, float, complex) or not hasattr(kind, "__bool__") or hasattr(kind, "__len__"):
        return False
    try:
        return not value
    except Exception:  # noqa: BLE001 - whatever it is, it is something
        return False


def is_many(value: Any) -> bool:
    """A list, a tuple, or an SDK's own sequence."""
    if type(value) in _COMMON:
        return type(value) is list
    return _is_a(value, Sequence) and not issubclass(type(value), _TEXTS)


def is_empty(value: Any) -> bool:
    """Nothing, as some servers write it: null, an empty object, an empty text."""
    return value is None or (type(value) in (str, dict, bool, int) and not value)


def is_thing(value: Any) -> bool:
    """Something with fields."""
    if type(value) in _COMMON:
        return type(value) is dict
    return not issubclass(type(value), _NO_MESSAGE) and not is_many(value)


def text_of(value: Any) -> str | None:
    """A plain string, also from a subclass with methods of its own; None for anything else."""
    if value is None or type(value) is str:
        return value
    return str.__str__(value) if issubclass(type(value), str) else None


def word(value: Any) -> str | None:
    """A word of the API's vocabulary: a string, or an SDK's enum of them."""
    if issubclass(type(value), str) or not issubclass(type(value), Enum):
        return text_of(value)
    return text_of(field(value, "value")) or text_of(field(value, "name"))


def identifier(value: Any) -> str | None:
    """The id of a call; JSON-RPC also counts with whole numbers."""
    if type(value) is int and value.bit_length() < 128:
        return str(value)
    return text_of(value) or None


def dumped(thing: Any) -> Any:
    """The plain data of an object that can give it, else None."""
    for name in ("model_dump", "to_dict"):
        try:
            data = getattr(thing, name)()
        except Exception:  # noqa: BLE001 - then it cannot
            continue
        if type(data) in (dict, list):
            return data
    return None


# ── parts ──
# What a native message is taken apart into, and the basket the parts are gathered in.

MOST = 10_000
"""So many parts are read from one message; a longer one gets a note."""
DEEPEST = 12
"""The deepest real nesting is four; more is a cycle or worse."""

CUT = {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
TEXT_FIELDS = ("text", "thinking", "reasoning", "refusal", "summary", "content", "reasoningText", "value")


class NativeCall(NamedTuple):
    """A call as the API gave it, also a malformed one: `name` and `arguments` are whatever stood there."""

    name: Any
    arguments: Any
    id: str | None
    partial: bool
    """The API itself says that this call is unfinished."""


class NativeText(NamedTuple):
    """Prose of the model, which may itself hold calls; `reasoning` never does."""

    text: str
    reasoning: bool = False


class Unpacked(NamedTuple):
    """The parts in order of appearance. `finish` is why the API stopped, `length` when the token limit cut it."""

    parts: tuple[NativeCall | NativeText, ...]
    finish: str | None
    notes: tuple[Note, ...]


def finish_word(given: str) -> str:
    """Why an API stopped; `length` in all the words that APIs have for the token limit."""
    return "length" if given.rsplit(".", 1)[-1].casefold() in CUT else given


class Basket:
    """Gathers the parts of one message, no more than `MOST` of them."""

    def __init__(self) -> None:
        self.parts: list[NativeCall | NativeText] = []
        self.notes: list[Note] = []
        self.finish: str | None = None
        self.listed: frozenset[tuple[str, str]] = frozenset()
        """Id and name of the calls that stand beside the content that is being read."""
        self._left = MOST

    def call(self, call: NativeCall) -> None:
        if type(call.name) is str and call.id is not None and (call.id, call.name) in self.listed:
            self.note("repeated", "the content repeats a call that the message lists")
            return
        self._add(call)

    def text(self, value: Any, *, reasoning: bool = False, depth: int = 0) -> None:
        """The text in this value: a string, a list of pieces, or an object around one."""
        text = text_of(value)
        if text is not None:
            if text:
                self._add(NativeText(text, reasoning))
        elif value is None:
            pass
        elif depth > DEEPEST:
            self.note("unreadable", "the text is nested too deeply or contains itself")
        elif is_many(value):
            for piece in self.entries(value):
                self.text(piece, reasoning=reasoning, depth=depth + 1)
        elif is_thing(value):
            self.text(field(value, *TEXT_FIELDS), reasoning=reasoning, depth=depth + 1)
        else:
            self.note("unreadable", f"expected text, got a {type(value).__name__}")

    def finished(self, reason: Any) -> None:
        """The last reason counts, but once cut off is cut off."""
        given = word(reason)
        if given and self.finish != "length":
            self.finish = finish_word(given)

    def entries(self, value: Any) -> Iterator[Any]:
        """The items of a list, as far as there is room; what is no list is its own only item."""
        if not is_many(value):
            yield value
            return
        try:
            for item in _iterator(value):
                if self._left <= 0:
                    self._full()
                    return
                self._left -= 1
                yield item
        except Exception:  # noqa: BLE001 - a list of an SDK that cannot be walked to its end
            self.note("unreadable", f"a value of type {type(value).__name__} cannot be read completely")

    def note(self, code: NoteCode, message: str) -> None:
        self.notes.append(Note(code, message))

    def unpacked(self) -> Unpacked:
        return Unpacked(tuple(self.parts), self.finish, tuple(dict.fromkeys(self.notes)))

    def _add(self, part: NativeCall | NativeText) -> None:
        if len(self.parts) < MOST:
            self.parts.append(part)
        else:
            self._full()

    def _full(self) -> None:
        self.note("too_many", f"the message has more than {MOST} parts; the rest was not read")


def _iterator(value: Any) -> Iterator[Any]:
    plain = next((kind for kind in (list, tuple) if issubclass(type(value), kind)), None)
    # A subclass of list may have another idea of how to walk through it.
    return iter(value) if plain is None else cast("Any", plain).__iter__(value)


# ── calls ──
# One entry of a list of calls, in the words of any API. A malformed one is a call too: the gate says what is wrong.

NAMES = ("name", "tool_name", "toolName", "tool", "action")
ARGUMENTS = (
    "arguments", "args", "input", "parameters", "params", "tool_args", "tool_input", "toolInput", "action_input",
)  # fmt: skip
# `call_id` first: an item of OpenAI's Responses has an `id` of its own, which no answer may carry.
IDS = ("call_id", "callId", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "id")
INNER = ("function", "custom", "functionCall", "function_call", "toolUse")
UNFINISHED = {"incomplete", "in_progress"}


def read_call(entry: Any, *, call_id: Any = None) -> NativeCall:
    """The call in this entry; `call_id` is the id where it stands outside, as in JSON-RPC."""
    if not is_thing(entry):
        return NativeCall(None, entry, identifier(call_id), partial=False)
    inner = field(entry, *INNER)
    source = inner if is_thing(inner) else entry
    name = field(source, *NAMES)
    if name is None:
        name = text_of(inner)  # {"function": "add", …}
    own_id = identifier(field(entry, *IDS)) or identifier(field(source, *IDS))
    return NativeCall(name, _arguments(source), own_id or identifier(call_id), _is_unfinished(entry, source))


def _arguments(source: Any) -> Any:
    given = field(source, *ARGUMENTS)
    data = dumped(given) if is_thing(given) and not is_object(given) else None
    return given if data is None else data


def _is_unfinished(entry: Any, source: Any) -> bool:
    if word(field(entry, "status")) in UNFINISHED:
        return True
    # Gemini sends long arguments in pieces where one asks for it; the last piece says nothing follows.
    return field(source, "willContinue", "will_continue") is True


def is_call(thing: Any) -> bool:
    """Whether a bare object is meant as a call: it has arguments, and something that may be a name."""
    inner = field(thing, *INNER)
    if is_thing(inner):
        return field(inner, *NAMES, "arguments", "args") is not None and not _is_definition(thing, inner)
    if field(thing, "arguments") is not None:
        return True
    named = field(thing, *NAMES) is not None or text_of(inner) is not None
    return named and field(thing, *ARGUMENTS) is not None and not _is_definition(thing, thing)


def _is_definition(thing: Any, inner: Any) -> bool:
    """A tool's definition has a name and parameters too, and says what the tool is for."""
    if field(inner, "arguments", "args", "input") is not None:
        return False
    schema = field(inner, "parameters")
    described = field(thing, "description"), field(inner, "description"), field(schema, "properties")
    return any(about is not None for about in described)


# ── blocks ──
# The blocks that the content of a message is made of: prose, reasoning, calls, and what is neither.
#
# A block either says its `type` (OpenAI, Anthropic, Gemini's interactions, LangChain, pydantic-ai) or is known by its
# only key (Gemini, Bedrock).

TEXTS = {"text": False, "output_text": False, "refusal": False, "summary_text": True, "reasoning_text": True}
THINKING = {"thinking", "reasoning", "thought"}
CALLS = {
    "function", "function.call", "function_call", "custom", "custom_tool_call", "tool_use", "tool_call", "tool-call",
    "invalid_tool_call",
}  # fmt: skip
OTHER_CALLS = ("_call", "-call", "_use", "_request", ".execution")
"""How the types of calls end that the provider runs itself, or that no declared tool stands for."""
RESULTS = ("_result", "-result", ".result", "_output", "-return", "_response")
SILENT = {
    "audio", "compaction", "container_upload", "document", "file", "image", "image_url", "input_audio",
    "input_image", "mcp_list_tools", "output_audio", "output_image", "redacted_thinking", "user_input", "video",
}  # fmt: skip

KEYED_CALLS = ("functionCall", "function_call", "toolUse")
KEYED_OTHER_CALLS = ("executableCode", "executable_code", "toolCall")
KEYED_SILENT = (
    "inlineData", "inline_data", "fileData", "file_data", "functionResponse", "function_response", "toolResult",
    "toolResponse", "codeExecutionResult", "code_execution_result", "image", "document", "video", "cachePoint",
)  # fmt: skip


def kind_of(thing: Any) -> str | None:
    """What a block says it is."""
    return word(field(thing, "type", "part_kind"))


def read_typed(basket: Basket, thing: Any, kind: str) -> bool:
    """Read a block that says its type; False if this type is not known."""
    if kind in CALLS:
        basket.call(read_call(thing))
    elif is_others(kind):
        note_others(basket, kind)
    elif kind in TEXTS:
        basket.text(thing, reasoning=TEXTS[kind])
    elif kind in THINKING:
        for name in ("thinking", "reasoning", "summary", "content", "text"):
            basket.text(field(thing, name), reasoning=True)
    else:
        return kind in SILENT or kind.endswith(RESULTS)
    return True


def read_keyed(basket: Basket, thing: Any) -> bool:
    """Read a block without a type; False if it has none of the known keys."""
    thought = field(thing, "thought") is True
    call = field(thing, *KEYED_CALLS)
    if call is not None and thought:
        basket.note("reasoning", "a call inside a thought")
    elif call is not None:
        basket.call(read_call(call))
    elif field(thing, "text") is not None:
        basket.text(field(thing, "text"), reasoning=thought)
    elif is_thing(field(thing, "reasoningContent")):
        basket.text(field(thing, "reasoningContent"), reasoning=True)
    else:
        other = next((key for key in KEYED_OTHER_CALLS if field(thing, key) is not None), None)
        if other is not None:
            note_others(basket, other)
        return other is not None or field(thing, *KEYED_SILENT) is not None
    return True


def is_others(kind: str | None) -> bool:
    """Whether a call of this type is not ours to run. An unknown one is not: it would run twice."""
    return kind is not None and kind not in CALLS and kind.endswith(OTHER_CALLS)


def note_others(basket: Basket, kind: str) -> None:
    basket.note("elsewhere", f"`{escaped(kind, 60)}` is not a call to a declared tool; its provider runs it")


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
        basket.note("unreadable", f"the message could not be read completely ({type(error).__name__})")
    return basket.unpacked()


def _read(basket: Basket, thing: Any, depth: int) -> None:
    if depth > DEEPEST:
        basket.note("unreadable", "the message is nested too deeply or contains itself")
    elif issubclass(type(thing), Call):
        basket.call(NativeCall(thing.name, thing.arguments, thing.id, partial=False))
    elif text_of(thing) is not None:
        basket.text(thing)
    elif is_many(thing):
        for item in basket.entries(thing):
            _read(basket, item, depth + 1)
    elif not is_thing(thing):
        basket.note("unreadable", f"a value of type {escaped(type(thing).__name__, 60)} is not a message")
    elif not _read_thing(basket, thing, depth + 1):
        data = dumped(thing)
        if data is None:
            kind = kind_of(thing) or type(thing).__name__
            basket.note("unreadable", f"`{escaped(kind, 60)}` is not a message of a known API")
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
            basket.note("unreadable", "a stream chunk is not a complete message")
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
        basket.note("unreadable", f"a request for `{escaped(method, 60)}` is not a tool call")
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
