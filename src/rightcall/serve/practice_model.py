"""What the practice model says: a call of one of the request's tools, broken on purpose, in another way each time.

Pure: a question and a number in, the parts of an answer out. The same question and number give the same answer.
"""

import re
from collections.abc import Callable
from itertools import islice
from typing import Any

from msgspec import Struct, json

from rightcall.catalog import Catalog, Tool, build_catalog
from rightcall.catalog.keywords import as_schema, types
from rightcall.errors import ToolError
from rightcall.validate.example import example

MODEL = "rightcall-practice"
"""The name under which the practice model answers, whatever name it was called by."""

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
    return _broken(tool.name, _arguments(tool, question.said), turn)


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
    return Said(f"<tool_call>\n{_written(name, arguments)}\n</tool_call>")


def _number_as_text(name: str, arguments: dict[str, Any]) -> Part | None:
    texts = {key: str(value) for key, value in arguments.items() if type(value) in (int, float)}
    return Called(name, json.encode(arguments | texts).decode()) if texts else None


def _fenced_json(name: str, arguments: dict[str, Any]) -> Part | None:
    return Said(f"```json\n{_written(name, arguments)}\n```")


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


def _written(name: str, arguments: dict[str, Any]) -> str:
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
