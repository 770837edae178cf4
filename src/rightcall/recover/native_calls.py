"""One entry of a list of calls, in the words of any API. A malformed one is a call too: the gate says what is wrong."""

from typing import Any

from rightcall.parse.kinds import is_object
from rightcall.recover.native_fields import dumped, field, identifier, is_thing, text_of, word
from rightcall.recover.native_parts import NativeCall

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
