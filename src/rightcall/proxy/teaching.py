"""Tools for models whose servers know none: described in the prompt, called in the text.

Small models do not follow a description of a format, however good; they follow examples. SmolLM2 (135M) wrote no usable
call in 16 answers with two system prompts alone, and four in 8 answers with examples as messages before the question.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from rightcall.catalog import Catalog, Tool
from rightcall.catalog.keywords import as_schema
from rightcall.present.marks import neutral
from rightcall.present.signature import signature
from rightcall.proxy.wire import Wire
from rightcall.proxy.wires.common import a_list, an_object
from rightcall.text.escape import escaped, render_json
from rightcall.validate.example import example

_OPENING = "You can call these tools:"
_SHOWN = "To call it, you reply like this:"
"""Who says it before a call shows a sample (R-06): a model that quotes its instructions calls nothing."""
_ANY_CALL = '<tool_call>{"name":"<tool>","arguments":{}}</tool_call>'
_CLOSING = """\
If a tool can help with what the user asks, reply with its <tool_call> line and nothing else, with values from the \
request. The result comes in the next message. Otherwise reply in words."""
_AGAIN = "Send the whole call again, corrected and in the same format, and nothing else."
NO_TOOLS = "No tools are available. Answer from what you know and what you were told; do not write tool calls."
_LONGEST, _LONGEST_ARGUMENT, _LONGEST_EXAMPLE, _LONGEST_ASKED = 1_000, 300, 1_000, 120


MOST_LESSONS = 4
"""Tools that are shown in use. More of them would cost a small context more than they help."""
_WORDS = ("sample-one", "sample-two", "sample-three", "sample-four")
_INSTRUCTS = ("system", "developer")


def taught(wire: Wire, request: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """The request for a model that knows no tools: they stand in its instructions, and examples before its messages."""
    return wire.taught(_with_lessons(request, catalog), tool_prompt(catalog))


def lessons(catalog: Catalog) -> list[dict[str, str]]:
    """Tools in use, as messages that come before the conversation: each asks for what a tool does and is answered with
    its call. They say that they are examples, and their values are words that nobody asks for (see `is_copied`)."""
    shown_tools = [tool for tool in _offered(catalog) if tool.description][:MOST_LESSONS]
    return [message for tool in shown_tools for message in _lesson(tool)]


def is_copied(arguments: Mapping[str, Any]) -> bool:
    """Whether arguments hold a value of our own examples: the model copied one, and meant nothing by it.

    >>> is_copied({"city": "sample-one"}), is_copied({"city": "<city>"}), is_copied({"city": "Bern"})
    (True, True, False)
    """
    return any(value in _WORDS or value == f"<{name}>" for name, value in arguments.items() if isinstance(value, str))


def _lesson(tool: Tool) -> list[dict[str, str]]:
    arguments = _values(tool)
    call = "" if arguments is None else neutral(_written(tool.name, arguments))
    if arguments is None or len(call) > _LONGEST_EXAMPLE:
        return []
    values = ", ".join(f"{name.replace('_', ' ')} {_value(value)}" for name, value in arguments.items())
    asked = _line(tool.description, _LONGEST_ASKED).rstrip(".") + (f", with {neutral(values)}" if values else "")
    answer = f"<tool_call>{call}</tool_call>"
    return [{"role": "user", "content": f"Example: {asked}"}, {"role": "assistant", "content": answer}]


def _values(tool: Tool) -> dict[str, Any] | None:
    """Arguments for an example. Blanks to fill in would be copied as they are: a model learns to take values from the
    request only where there are some."""
    blanks = example(tool)
    if blanks is None:
        return None
    words = iter(_WORDS)
    filled = {name: next(words, value) if value == f"<{name}>" else value for name, value in blanks.items()}
    try:
        return filled if tool.accepts({**tool.rules.defaults, **filled}) else None
    except ValueError:
        return None


def _value(value: Any) -> str:
    return escaped(value) if isinstance(value, str) else json.dumps(value)


def _with_lessons(request: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """Of every API's requests, the messages are in `messages`, or in `input`, which may be one text."""
    name = "messages" if "messages" in request else "input"
    given = request.get(name)
    messages: list[Any] = [{"role": "user", "content": given}] if isinstance(given, str) else a_list(given)
    begin = 0
    while begin < len(messages) and (an_object(messages[begin]) or {}).get("role") in _INSTRUCTS:
        begin += 1
    return {**request, name: [*messages[:begin], *lessons(catalog), *messages[begin:]]}


def _offered(catalog: Catalog) -> list[Tool]:
    return [tool for tool in catalog.tools.values() if not tool.deprecated]


def tool_prompt(catalog: Catalog) -> str:
    """What to tell a model about the tools it may call in its text: each tool in a few lines, with a call to copy.

    Descriptions may come from anywhere: each is one line, escaped and cut, and cannot pass for another tool.
    """
    offered = _offered(catalog)
    if not offered:
        return NO_TOOLS
    return "\n\n".join([_OPENING, *("\n".join(_described(tool)) for tool in offered), _CLOSING])


def _described(tool: Tool) -> Iterator[str]:
    yield f"{_name(tool)}: {_line(tool.description, _LONGEST)}" if tool.description else _name(tool)
    for name, argument in as_schema(tool.schema.get("properties")).items():
        about = as_schema(argument).get("description")
        written = neutral(signature(tool, [name])[2:-2])
        yield f"- {written} ({_line(about, _LONGEST_ARGUMENT)})" if isinstance(about, str) and about else f"- {written}"
    yield _SHOWN
    yield _sample(tool)


def _sample(tool: Tool) -> str:
    arguments = example(tool)
    call = "" if arguments is None else neutral(_written(tool.name, arguments))
    return f"<tool_call>{call}</tool_call>" if 0 < len(call) <= _LONGEST_EXAMPLE else _ANY_CALL


def _name(tool: Tool) -> str:
    return tool.name if tool.name.isprintable() and "<" not in tool.name else neutral(render_json(tool.name, 120))


def _line(text: str, limit: int) -> str:
    """One line, in which nothing is hidden and nothing special to a model."""
    return neutral(escaped(" ".join(text[: 4 * limit].split()), limit))


def as_text(calls: Iterable[tuple[str, Any]]) -> str:
    """Calls as the model was taught to write them.

    >>> as_text([("add", '{"n": 1}')])
    '<tool_call>{"name":"add","arguments":{"n":1}}</tool_call>'
    """
    return "\n".join(f"<tool_call>{_written(name, arguments)}</tool_call>" for name, arguments in calls)


def _written(name: str, arguments: Any) -> str:
    if isinstance(arguments, str):
        with suppress(msgspec.MsgspecError, UnicodeError):  # what is no JSON is shown as the model wrote it
            arguments = msgspec.json.decode(arguments)
    call = {"name": name, "arguments": arguments}
    try:
        return msgspec.json.encode(call).decode()
    except UnicodeEncodeError:  # half a character, which nothing but an escape can write
        return json.dumps(call)


def result_text(result: str) -> str:
    """The result of a call, as a message of the user."""
    return f"<tool_response>\n{result}\n</tool_response>"


def again_text(hints: Iterable[str]) -> str:
    """What a model is told of calls in its text that could not be read: the hints speak of the arguments alone.

    >>> print(again_text(["Missing required fields: city."]))
    Missing required fields: city.
    <BLANKLINE>
    Send the whole call again, corrected and in the same format, and nothing else.
    """
    return "\n\n".join([*filter(None, hints), _AGAIN])
